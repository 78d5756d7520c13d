#include "sim/collective/algorithm.h"
/* SPDX-License-Identifier: GPL-3.0-or-later */

static const struct registry_row rows[] = {
#define ALGORITHM(name) REGISTRY_ROW(algorithm_##name),
#include "sim/collective/algorithms.def"
#undef ALGORITHM
};
const struct registry algorithm_registry = REGISTRY("algorithm", "algorithms", rows);

uint64_t algorithm_bit(const struct algorithm *algorithm)
{
	size_t i = 0;
	while (i < sizeof rows / sizeof rows[0] && rows[i].kind != algorithm)
		i++;
	return (uint64_t)1 << i;
}
