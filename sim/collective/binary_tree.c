/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary tree all-reduce: sums go up to the root and the result comes down, in pipelined pieces.
 * The parent of position i in the channel's order is position (i - 1) / 2. Nodes have no influence.
 */
#include "sim/base/arena.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static struct pattern_tree heap(struct arena *arena, const struct algorithm_spec *spec,
				size_t channel)
{
	uint32_t *parent = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	for (size_t i = 0; i < spec->rank_count; i++)
		parent[pattern_rank(spec, channel, i)] =
			i ? (uint32_t)pattern_rank(spec, channel, (i - 1) / 2) : PATTERN_ROOT;
	return pattern_tree(arena, parent, spec->rank_count);
}

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_trees(arena, spec, spec->channel_count, heap);
}

/* Returns, without additions, 2 D (L + m s) + (p - 1) m s, with D = floor(log2 n) and m = S/(k
 * p). */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	struct arena *arena = arena_new();
	struct pattern_tree tree = heap(arena, spec, 0);
	double piece_B = spec->size_B / (double)(spec->channel_count * spec->pipeline_count);
	double ideal_s = pattern_tree_s(&tree, link, piece_B, spec->pipeline_count);
	arena_free(arena);
	return ideal_s;
}

const struct algorithm algorithm_binary_tree = {
	.name = "binary_tree",
	.help = "pipelined all-reduce up and down a binary tree of ranks",
	.cost = COST_TREE,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.folds = true,
	.refuse = pattern_any,
	.build = build,
	.ideal_s = ideal_s,
};
