/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduces over trees: sums go up to the root and the result comes down, in pipelined pieces.
 *
 * binary_tree: the parent of position i in the channel's order is position (i - 1) / 2. Nodes have
 * no influence.
 *
 * double_tree: two binary trees over the nodes carry half of the buffer each, as in NCCL since 2.4
 * (after Sanders, Speck and Traff 2009). A node with children in one tree is a leaf of the other,
 * so every NIC sends and receives about once. Inside a node the ranks form a chain in the order of
 * the channel's ring; its first rank is on both trees. Channel 2c is the first tree of pair c,
 * channel 2c + 1 the second.
 *
 * First tree, over nodes 0..m-1: take a node's lowest set bit. Its parent has the next higher bit
 * set instead (and that bit cleared); if that is beyond the end, the bit is only cleared. Node 0 is
 * the root and has one child. The second tree is the first one shifted by one node (m odd) or
 * mirrored (m even). Then a machine and its image are folded (pattern.c).
 *
 * nvls_tree: NVLink SHARP in each machine and the same trees between machines. The i-th GPU of each
 * machine is the head of part i of the buffer. The switch adds the values of the machine for the
 * head (servers.c). The heads of a part add theirs on a pair of trees over the machines. Each tree
 * has half of the part. The sums take the same way back. Channel 2 (c heads + i) is the first tree
 * of part i of channel c, the next one the second tree.
 *
 * collnet_direct and collnet_chain: NCCL's CollNet with switches of the network that add, such as
 * SHARP on InfiniBand. A head of each machine sends the machine's sum to the network and gets the
 * sum of all machines. In collnet_direct the i-th rank of each machine is the head of part i of the
 * buffer, and gets the values of its machine directly. In collnet_chain the ranks of a machine form
 * a chain to its first rank, which is the head of the channel's part.
 *
 * The schedule lets the heads add in place of the switches: the head of machine o adds the o-th of
 * equal pieces for all machines. So a head sends and receives 2 (m - 1) / m of its part, whereas
 * its adapter carries the part once in each direction (choose.c).
 *
 * Channel (c heads + i) m + o is the tree of channel c, part i and machine o. */
#include "sim/collective/pattern.h"

/* Returns true if each rank of a node is the head of a part of the buffer. */
static bool has_heads(const struct algorithm *algorithm)
{
	return algorithm->cost == COST_MULTICAST || (algorithm->in_network && !algorithm->variant);
}

static size_t tree_count(const struct algorithm *algorithm, const struct algorithm_spec *spec)
{
	struct pattern_nodes nodes = pattern_shape(spec);
	size_t heads = has_heads(algorithm) ? nodes.most : 1;
	size_t trees = algorithm->paired ? 2 : algorithm->in_network ? nodes.count : 1;
	return trees * heads * spec->channel_count;
}

static struct pattern_tree heap(const struct algorithm *algorithm, struct arena *arena,
				const struct algorithm_spec *spec, size_t channel)
{
	uint32_t *parent = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	for (size_t i = 0; i < spec->rank_count; i++)
		parent[pattern_rank(spec, channel, i)] =
			i ? (uint32_t)pattern_rank(spec, channel, (i - 1) / 2) : PATTERN_ROOT;
	return pattern_tree(arena, parent, spec->rank_count);
}

static size_t first_parent(size_t node, size_t count) /* returns count if there is none */
{
	size_t bit = node & (~node + 1);
	if (bit == 0)
		return count;
	size_t parent = (node ^ bit) | (bit << 1);
	return parent < count ? parent : node ^ bit;
}

/* Returns the parent of a node in the first or second of the two trees over count nodes, or count
 * for the root. */
static size_t double_tree_parent(size_t node, size_t count, bool second)
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

/* The heads of the nodes are on the tree; the other ranks of a node form a chain or are children of
 * the head. */
static struct pattern_tree tree_of(const struct algorithm *algorithm, struct arena *arena,
				   const struct algorithm_spec *spec, size_t channel)
{
	bool heads = has_heads(algorithm), adds = algorithm->in_network;
	size_t trees = adds ? pattern_shape(spec).count : 2, tree = channel % trees;
	struct pattern_nodes nodes = pattern_nodes(arena, spec, heads ? 0 : channel / trees);
	size_t head = heads ? channel / trees % nodes.most : 0;
	uint32_t *parent = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	for (size_t node = 0; node < nodes.count; node++) {
		size_t above = adds ? (node == tree ? nodes.count : tree)
				    : double_tree_parent(node, nodes.count, tree);
		const uint32_t *ranks = nodes.ranks + nodes.first[node];
		for (size_t i = 0; i < nodes.first[node + 1] - nodes.first[node]; i++)
			parent[ranks[i]] = ranks[heads || i == 0 ? head : i - 1];
		parent[ranks[head]] =
			above < nodes.count ? nodes.ranks[nodes.first[above] + head] : PATTERN_ROOT;
	}
	return pattern_tree(arena, parent, spec->rank_count);
}

#define OVER_TREES(tree)                                                                           \
	.collective = COLLECTIVE_ALL_REDUCE, .pipelined = true, .build = pattern_trees,            \
	.tree_count = tree_count, .tree_of = tree

const struct algorithm algorithm_binary_tree = {
	.name = "binary_tree",
	.help = "pipelined all-reduce up and down a binary tree of ranks",
	.cost = COST_TREE,
	.folds = true,
	OVER_TREES(heap),
};

const struct algorithm algorithm_double_tree = {
	.name = "double_tree",
	.help = "all-reduce over two complementary trees of nodes with half of the data each "
		"(NCCL's tree)",
	.automatic = true,
	.paired = true,
	.cost = COST_TREE,
	.folds = true,
	OVER_TREES(tree_of),
};

const struct algorithm algorithm_nvls_tree = {
	.name = "nvls_tree",
	.help = "all-reduce in the NVSwitch of each machine and over trees of machines (NCCL's "
		"NVLS tree)",
	.automatic = true,
	.paired = true,
	.cost = COST_MULTICAST,
	.folds = true,
	.refuse = pattern_equal_nodes,
	OVER_TREES(tree_of),
};

const struct algorithm algorithm_collnet_direct = {
	.name = "collnet_direct",
	.help = "all-reduce in the network's switches (SHARP), each GPU with a part of the buffer",
	.automatic = true,
	.in_network = true,
	.cost = COST_TREE,
	.refuse = pattern_equal_nodes,
	OVER_TREES(tree_of),
};

const struct algorithm algorithm_collnet_chain = {
	.name = "collnet_chain",
	.help = "all-reduce in the network's switches (SHARP), after a chain in each machine",
	.variant = true,
	.automatic = true,
	.in_network = true,
	.cost = COST_TREE,
	.refuse = pattern_equal_nodes,
	OVER_TREES(tree_of),
};
