/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hierarchical all-reduce as in Horovod (HOROVOD_HIERARCHICAL_ALLREDUCE): a reduce-scatter inside
 * the node, then an all-reduce of each local rank with the same local rank of other nodes, then an
 * all-gather inside. These are three calls; each begins on a rank when the previous one has ended
 * there. */
#include "sim/collective/algorithms.h"
#include "sim/collective/grid.h"

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return grid_build(arena, spec, 1);
}

static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	return grid_ideal_s(spec, link, 1);
}

const struct algorithm algorithm_hierarchical = {
	.name = "hierarchical",
	.help = "all-reduce inside nodes and across them in three phases (Horovod's)",
	.collective = COLLECTIVE_ALL_REDUCE,
	.folds = true,
	.refuse = grid_refuse,
	.build = build,
	.ideal_s = ideal_s,
};
