/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/grid.h"

#include <math.h>

#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

const char *grid_refuse(const struct algorithm_spec *spec)
{
	struct arena *arena = arena_new();
	struct pattern_nodes nodes = pattern_nodes(arena, spec, 0);
	arena_free(arena);
	return nodes.most == nodes.least ? NULL : "the nodes must have equal numbers of ranks";
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

const struct schedule *grid_build(struct arena *arena, const struct algorithm_spec *spec,
				  size_t piece_count)
{
	size_t n = spec->rank_count, chunk_count = spec->channel_count * piece_count * n;
	struct schedule_builder *builder =
		schedule_builder_new(arena, COLLECTIVE_ALL_REDUCE, n, spec->channel_count,
				     chunk_count, pattern_cut(arena, chunk_count, spec->size_B));
	schedule_fold(builder, spec->fold);
	/* a flat ring of the same ranks moves as many chunks */
	schedule_reserve(builder, 4 * chunk_count * (n - 1), 4 * chunk_count * (n - 1));
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	uint32_t *column = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t i = 0; i < spec->channel_count * piece_count; i++) {
		struct pattern_nodes nodes = pattern_nodes(arena, spec, i / piece_count);
		struct grid grid = {.builder = builder,
				    .nodes = &nodes,
				    .channel = i / piece_count,
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

double grid_ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link,
		    size_t piece_count)
{
	struct arena *arena = arena_new();
	struct pattern_nodes nodes = pattern_nodes(arena, spec, 0);
	arena_free(arena);
	size_t m = nodes.count, g = nodes.most;
	double chunk_B =
		spec->size_B / (double)(spec->channel_count * piece_count * spec->rank_count);
	double scatter_s = (double)(g - 1) * pattern_message_s(link, chunk_B, m, true);
	double gather_s = (double)(g - 1) * pattern_message_s(link, chunk_B, m, false);
	double across_s = (double)(m - 1) * (pattern_message_s(link, chunk_B, 1, true) +
					     pattern_message_s(link, chunk_B, 1, false));
	double one_s = scatter_s + across_s + gather_s;
	double wire_s = chunk_B * link->spB * (double)piece_count * 2;
	double inside_busy_s = wire_s * (double)((g - 1) * m);
	double across_busy_s = wire_s * (double)(m - 1);
	if (g > 1)
		one_s = fmax(one_s, inside_busy_s + link->latency_s);
	if (m > 1)
		one_s = fmax(one_s, scatter_s + across_busy_s + link->latency_s + gather_s);
	return one_s;
}
