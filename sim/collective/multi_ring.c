/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-ring all-reduce along two dimensions, after IBM's PowerAI DDL (Cho et
 * al. 2017): rings inside the nodes and, for each place in a node, a ring across
 * the nodes that carries that place's part, all at the same time; the
 * fast dimension first, so that the slow one carries the least. In
 * pipeline_count pieces, between which nothing waits. (Rings of all ranks, one
 * for each NIC or NVLink set, are `ring` with several channels.) */
#include "sim/collective/algorithms.h"
#include "sim/collective/grid.h"

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return grid_build(arena, spec, spec->pipeline_count);
}

static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	return grid_ideal_s(spec, link, spec->pipeline_count);
}

const struct algorithm algorithm_multi_ring = {
	.name = "multi_ring",
	.help = "all-reduce on rings inside nodes and rings across them, pipelined (DDL's)",
	.collective = COLLECTIVE_ALL_REDUCE,
	.refuse = grid_refuse,
	.build = build,
	.ideal_s = ideal_s,
};
