/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduce on a grid of ranks, whose rows are nodes and whose columns are places in a node. It
 * has three phases: reduce-scatter on a ring inside each node, all-reduce on a ring across the
 * nodes for each place, all-gather inside each node. With g ranks in each of m nodes, a rank sends
 * 2 (m - 1)/m of S/g across nodes. A node sends 2 (m - 1)/m of S through all its NICs at once.
 *
 * The buffer is divided into independent pieces. With one piece, the phases of each rank follow
 * each other, as in Horovod (HOROVOD_HIERARCHICAL_ALLREDUCE), which makes three calls. With several
 * pieces, one piece can use the network while another one is inside a node, as in the multi-ring of
 * IBM's PowerAI DDL (Cho et al. 2017). The fast dimension comes first in each piece, so that the
 * slow one carries the least data. For rings of all ranks, one for each NIC or NVLink set, use
 * `ring` with several channels. */
#include "sim/collective/pattern.h"

/* With p pieces, all but one p-th of the faster dimension's time is hidden behind the slower one,
 * so more than 8 gain little. Schedules must also fit in memory. */
static size_t piece_count(const struct algorithm *algorithm, const struct algorithm_spec *spec)
{
	enum { PIECES_MOST = 8, PIECES_BY_RANKS_MOST = 4096 };
	size_t most = algorithm->variant ? PIECES_BY_RANKS_MOST / spec->rank_count : 1;
	most = most < 1 ? 1 : most > PIECES_MOST ? PIECES_MOST : most;
	return spec->pipeline_count < most ? spec->pipeline_count : most;
}

/* One piece of one channel. */
struct grid {
	struct schedule_builder *builder;
	const struct pattern_nodes *nodes;
	size_t channel, chunk;    /* first of the piece's nodes * places chunks */
	uint32_t *last;           /* by rank */
	uint32_t *sends, *column; /* scratch */
};

static void inside(const struct grid *grid, bool reduces)
{
	const struct pattern_nodes *nodes = grid->nodes;
	for (size_t node = 0; node < nodes->count; node++) {
		struct pattern_ring ring = {.channel = grid->channel,
					    .count = nodes->most,
					    .ranks = nodes->ranks + nodes->first[node],
					    .chunk = grid->chunk,
					    .span = nodes->count,
					    .last = grid->last,
					    .sends = grid->sends};
		pattern_lap(grid->builder, &ring, reduces);
	}
}

static void across(const struct grid *grid)
{
	const struct pattern_nodes *nodes = grid->nodes;
	for (size_t place = 0; place < nodes->most; place++) {
		for (size_t node = 0; node < nodes->count; node++)
			grid->column[node] = nodes->ranks[nodes->first[node] + place];
		struct pattern_ring ring = {.channel = grid->channel,
					    .count = nodes->count,
					    .ranks = grid->column,
					    .chunk = grid->chunk + place * nodes->count,
					    .span = 1,
					    .last = grid->last,
					    .sends = grid->sends};
		pattern_lap(grid->builder, &ring, true);
		pattern_lap(grid->builder, &ring, false);
	}
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, pieces = spec->channel_count * piece_count(algorithm, spec);
	/* a flat ring of the same ranks moves as many chunks */
	struct schedule_builder *builder = pattern_begin(
		algorithm, arena, spec, spec->channel_count, pieces * n, 4 * pieces * n * (n - 1));
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	uint32_t *column = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t i = 0; i < pieces; i++) {
		size_t channel = i * spec->channel_count / pieces;
		struct pattern_nodes nodes = pattern_nodes(arena, spec, channel);
		struct grid grid = {.builder = builder,
				    .nodes = &nodes,
				    .channel = channel,
				    .chunk = i * n,
				    .last = pattern_last(arena, n),
				    .sends = sends,
				    .column = column};
		inside(&grid, true);
		across(&grid);
		inside(&grid, false);
	}
	return schedule_finish(builder);
}

const struct algorithm algorithm_hierarchical = {
	.name = "hierarchical",
	.help = "all-reduce inside nodes and across them in three phases (Horovod's)",
	.collective = COLLECTIVE_ALL_REDUCE,
	.folds = true,
	.refuse = pattern_equal_nodes,
	.build = build,
};

const struct algorithm algorithm_multi_ring = {
	.name = "multi_ring",
	.help = "pipelined all-reduce on rings inside nodes and rings across them (DDL's)",
	.variant = true,
	.collective = COLLECTIVE_ALL_REDUCE,
	.folds = true,
	.refuse = pattern_equal_nodes,
	.build = build,
};
