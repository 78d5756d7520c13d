/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Double binary tree all-reduce, as in NCCL since 2.4 (after Sanders, Speck and Traff 2009). Two
 * binary trees over the nodes carry half of the buffer each. A node with children in one tree is a
 * leaf of the other, so every NIC sends and receives about once. Inside a node the ranks form a
 * chain in the order of the channel's ring; its first rank is on both trees.
 *
 * First tree, over nodes 0..m-1: take a node's lowest set bit. Its parent has the next higher bit
 * set instead (and that bit cleared); if that is beyond the end, the bit is only cleared. Node 0 is
 * the root and has one child. The second tree is the first one shifted by one node (m odd) or
 * mirrored (m even).
 *
 * Channel 2c is the first tree of pair c, channel 2c + 1 the second. */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static size_t first_parent(size_t node, size_t count) /* returns count if there is none */
{
	size_t bit = node & (~node + 1);
	if (bit == 0)
		return count;
	size_t parent = (node ^ bit) | (bit << 1);
	return parent < count ? parent : node ^ bit;
}

size_t double_tree_parent(size_t node, size_t count, bool second)
{
	if (!second)
		return first_parent(node, count);
	if (count % 2) {
		size_t parent = first_parent((node + count - 1) % count, count);
		return parent < count ? (parent + 1) % count : count;
	}
	size_t parent = first_parent(count - 1 - node, count);
	return parent < count ? count - 1 - parent : count;
}

static struct pattern_tree tree_of(struct arena *arena, const struct algorithm_spec *spec,
				   size_t channel)
{
	struct pattern_nodes nodes = pattern_nodes(arena, spec, channel / 2);
	uint32_t *parent = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	for (size_t node = 0; node < nodes.count; node++) {
		size_t above = double_tree_parent(node, nodes.count, channel % 2);
		uint32_t from = nodes.first[node];
		parent[nodes.ranks[from]] =
			above < nodes.count ? nodes.ranks[nodes.first[above]] : PATTERN_ROOT;
		for (uint32_t i = from + 1; i < nodes.first[node + 1]; i++)
			parent[nodes.ranks[i]] = nodes.ranks[i - 1];
	}
	return pattern_tree(arena, parent, spec->rank_count);
}

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_trees(arena, spec, 2 * spec->channel_count, tree_of);
}

/* Returns the time of the slowest tree. Without additions it is 2 D (L + m s) + (p - 1) m s,
 * with depth D and m = S/(2 k p). */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	struct arena *arena = arena_new();
	double piece_B = spec->size_B / (double)(2 * spec->channel_count * spec->pipeline_count);
	double ideal_s = 0;
	for (size_t channel = 0; channel < 2 * spec->channel_count; channel++) {
		struct pattern_tree tree = tree_of(arena, spec, channel);
		ideal_s = fmax(ideal_s, pattern_tree_s(&tree, link, piece_B, spec->pipeline_count));
	}
	arena_free(arena);
	return ideal_s;
}

const struct algorithm algorithm_double_tree = {
	.name = "double_tree",
	.help = "all-reduce over two complementary trees of nodes with half of the data each "
		"(NCCL's tree)",
	.automatic = true,
	.paired = true,
	.cost = COST_TREE,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.folds = true,
	.refuse = pattern_any,
	.build = build,
	.ideal_s = ideal_s,
};
