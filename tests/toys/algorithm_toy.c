/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A copy of the ring with another name. */
#include "sim/collective/algorithm.h"

static const char *refuse(const struct algorithm_spec *spec)
{
	return algorithm_ring.refuse(spec);
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	return algorithm_ring.build(algorithm, arena, spec);
}

const struct algorithm algorithm_toy = {
	.name = "toy",
	.help = "an algorithm of tests/toys",
	.collective = COLLECTIVE_ALL_REDUCE,
	.cost = COST_RING,
	.refuse = refuse,
	.build = build,
};
