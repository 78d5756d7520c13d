/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduce over NVLink SHARP in each machine and trees between machines. The i-th GPU of each
 * machine is the head of part i of the buffer. The switch adds the values of the machine for the
 * head (nvls.c). The heads of a part add theirs on a pair of trees over the machines, as in
 * double_tree.c. Each tree has half of the part. The sums take the same way back.
 *
 * Channel 2 (c heads + i) is the first tree of part i of channel c, the next one the second tree.
 */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static struct pattern_nodes nodes_of(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_nodes(arena, spec, 0);
}

static const char *refuse(const struct algorithm_spec *spec)
{
	struct arena *arena = arena_new();
	struct pattern_nodes nodes = nodes_of(arena, spec);
	arena_free(arena);
	return nodes.least != nodes.most ? "machines must have the same number of ranks" : NULL;
}

static struct pattern_tree tree_of(struct arena *arena, const struct algorithm_spec *spec,
				   size_t channel)
{
	struct pattern_nodes nodes = nodes_of(arena, spec);
	uint32_t *parent = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	size_t head = channel / 2 % nodes.most;
	for (size_t node = 0; node < nodes.count; node++) {
		size_t above = double_tree_parent(node, nodes.count, channel % 2);
		const uint32_t *ranks = nodes.ranks + nodes.first[node];
		for (size_t i = 0; i < nodes.most; i++)
			parent[ranks[i]] = ranks[head];
		parent[ranks[head]] =
			above < nodes.count ? nodes.ranks[nodes.first[above] + head] : PATTERN_ROOT;
	}
	return pattern_tree(arena, parent, spec->rank_count);
}

static size_t tree_count(const struct algorithm_spec *spec)
{
	struct arena *arena = arena_new();
	size_t heads = nodes_of(arena, spec).most;
	arena_free(arena);
	return 2 * heads * spec->channel_count;
}

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_trees(arena, spec, tree_count(spec), tree_of);
}

/* Returns the time of the slowest tree, 2 D (L + m s) + (p - 1) m s without additions, with depth D
 * and m = S/(2 k g p) for g heads. */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	struct arena *arena = arena_new();
	size_t trees = tree_count(spec);
	double piece_B = spec->size_B / (double)(trees * spec->pipeline_count), ideal_s = 0;
	for (size_t channel = 0; channel < trees; channel++) {
		struct pattern_tree tree = tree_of(arena, spec, channel);
		ideal_s = fmax(ideal_s, pattern_tree_s(&tree, link, piece_B, spec->pipeline_count));
	}
	arena_free(arena);
	return ideal_s;
}

const struct algorithm algorithm_nvls_tree = {
	.name = "nvls_tree",
	.help = "all-reduce in the NVSwitch of each machine and over trees of machines (NCCL's "
		"NVLS tree)",
	.automatic = true,
	.paired = true,
	.cost = COST_MULTICAST,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.folds = true,
	.refuse = refuse,
	.build = build,
	.ideal_s = ideal_s,
};
