/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-ring all-reduce in two dimensions, after IBM's PowerAI DDL (Cho et al. 2017). One
 * dimension has the rings inside the nodes. The other has a ring across the nodes for each place
 * in a node. The buffer has pipeline_count independent pieces (at most 8), so both dimensions
 * work at the same time. The fast dimension comes first in each piece, so that the slow one
 * carries the least data. For rings of all ranks, one for each NIC or NVLink set, use `ring`
 * with several channels. */
#include "sim/collective/algorithms.h"
#include "sim/collective/grid.h"

/* With p pieces, all but one p-th of the faster dimension's time is hidden behind the slower one,
 * so more than 8 gain little. Schedules must also fit in memory. */
static size_t piece_count(const struct algorithm_spec *spec)
{
	enum { PIECES_MOST = 8, PIECES_BY_RANKS_MOST = 4096 };
	size_t most = PIECES_BY_RANKS_MOST / spec->rank_count;
	most = most < 1 ? 1 : most > PIECES_MOST ? PIECES_MOST : most;
	return spec->pipeline_count < most ? spec->pipeline_count : most;
}

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return grid_build(arena, spec, piece_count(spec));
}

static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	return grid_ideal_s(spec, link, piece_count(spec));
}

const struct algorithm algorithm_multi_ring = {
	.name = "multi_ring",
	.help = "pipelined all-reduce on rings inside nodes and rings across them (DDL's)",
	.collective = COLLECTIVE_ALL_REDUCE,
	.folds = true,
	.refuse = grid_refuse,
	.build = build,
	.ideal_s = ideal_s,
};
