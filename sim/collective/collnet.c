/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's CollNet: all-reduce with switches of the network that add, such as SHARP on InfiniBand. A
 * head of each machine sends the machine's sum to the network and gets the sum of all machines. In
 * collnet_direct the i-th rank of each machine is the head of part i of the buffer, and gets the
 * values of its machine directly. In collnet_chain the ranks of a machine form a chain to its first
 * rank, which is the head of the channel's part.
 *
 * The schedule lets the heads add in place of the switches: the head of machine o adds the o-th of
 * equal pieces for all machines. So a head sends and receives 2 (m - 1) / m of its part, whereas
 * its adapter carries the part once in each direction (choose.c).
 *
 * Channel (c heads + i) m + o is the tree of channel c, part i and machine o. */
#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

static size_t tree_count(const struct algorithm *algorithm, const struct algorithm_spec *spec)
{
	struct pattern_nodes nodes = pattern_shape(spec);
	return spec->channel_count * nodes.count * (algorithm->variant ? 1 : nodes.most);
}

static struct pattern_tree tree_of(const struct algorithm *algorithm, struct arena *arena,
				   const struct algorithm_spec *spec, size_t channel)
{
	bool chain = algorithm->variant;
	struct pattern_nodes nodes = pattern_nodes(arena, spec, 0);
	size_t heads = chain ? 1 : nodes.most, adder = channel % nodes.count;
	size_t head = channel / nodes.count % heads;
	if (chain)
		nodes = pattern_nodes(arena, spec, channel / nodes.count);
	uint32_t *parent = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	for (size_t node = 0; node < nodes.count; node++) {
		const uint32_t *ranks = nodes.ranks + nodes.first[node];
		for (size_t i = 0; i < nodes.most; i++)
			parent[ranks[i]] = ranks[chain && i > 0 ? i - 1 : head];
		parent[ranks[head]] =
			node == adder ? PATTERN_ROOT : nodes.ranks[nodes.first[adder] + head];
	}
	return pattern_tree(arena, parent, spec->rank_count);
}

const struct algorithm algorithm_collnet_direct = {
	.name = "collnet_direct",
	.help = "all-reduce in the network's switches (SHARP), each GPU with a part of the buffer",
	.automatic = true,
	.in_network = true,
	.cost = COST_TREE,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.refuse = pattern_equal_nodes,
	.build = pattern_trees,
	.tree_count = tree_count,
	.tree_of = tree_of,
};

const struct algorithm algorithm_collnet_chain = {
	.name = "collnet_chain",
	.help = "all-reduce in the network's switches (SHARP), after a chain in each machine",
	.variant = true,
	.automatic = true,
	.in_network = true,
	.cost = COST_TREE,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.refuse = pattern_equal_nodes,
	.build = pattern_trees,
	.tree_count = tree_count,
	.tree_of = tree_of,
};
