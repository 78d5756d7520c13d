/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/algorithm.h"

#include <string.h>

#include "sim/base/diag.h"
#include "sim/collective/algorithms.h"

static const struct algorithm *const algorithms[] = {
#define ALGORITHM(name) &algorithm_##name,
#include "sim/collective/algorithms.def"
#undef ALGORITHM
};

size_t algorithm_count(void)
{
	return sizeof algorithms / sizeof algorithms[0];
}

const struct algorithm *algorithm_at(size_t index)
{
	FW_ASSERT(index < algorithm_count());
	return algorithms[index];
}

const struct algorithm *algorithm_find(const char *name)
{
	for (size_t i = 0; i < algorithm_count(); i++)
		if (strcmp(algorithms[i]->name, name) == 0)
			return algorithms[i];
	return NULL;
}

uint64_t algorithm_bit(const struct algorithm *algorithm)
{
	size_t i = 0;
	while (algorithms[i] != algorithm)
		i++;
	return (uint64_t)1 << i;
}
