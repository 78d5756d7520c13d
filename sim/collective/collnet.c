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
#include <math.h>

#include "sim/base/arena.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static const char *refuse(const struct algorithm_spec *spec)
{
	struct arena *arena = arena_new();
	struct pattern_nodes nodes = pattern_nodes(arena, spec, 0);
	arena_free(arena);
	return nodes.least != nodes.most ? "machines must have the same number of ranks" : NULL;
}

static struct pattern_tree tree_of(struct arena *arena, const struct algorithm_spec *spec,
				   size_t channel, bool chain)
{
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

static struct pattern_tree direct_of(struct arena *arena, const struct algorithm_spec *spec,
				     size_t channel)
{
	return tree_of(arena, spec, channel, false);
}

static struct pattern_tree chain_of(struct arena *arena, const struct algorithm_spec *spec,
				    size_t channel)
{
	return tree_of(arena, spec, channel, true);
}

static size_t tree_count(const struct algorithm_spec *spec, bool chain)
{
	struct arena *arena = arena_new();
	struct pattern_nodes nodes = pattern_nodes(arena, spec, 0);
	arena_free(arena);
	return spec->channel_count * nodes.count * (chain ? 1 : nodes.most);
}

static const struct schedule *build_direct(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_trees(arena, spec, tree_count(spec, false), direct_of);
}

static const struct schedule *build_chain(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_trees(arena, spec, tree_count(spec, true), chain_of);
}

/* Returns 2 D (L + c s) + (p - 1) c s without additions. c is a piece of a tree; D is 2 (direct) or
 * the number of ranks of a machine (chain). */
static double tree_s(const struct algorithm_spec *spec, const struct ideal_link *link, bool chain)
{
	struct arena *arena = arena_new();
	size_t trees = tree_count(spec, chain);
	double piece_B = spec->size_B / (double)(trees * spec->pipeline_count), ideal_s = 0;
	for (size_t channel = 0; channel < trees; channel++) {
		struct pattern_tree tree = tree_of(arena, spec, channel, chain);
		ideal_s = fmax(ideal_s, pattern_tree_s(&tree, link, piece_B, spec->pipeline_count));
	}
	arena_free(arena);
	return ideal_s;
}

static double direct_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	return tree_s(spec, link, false);
}

static double chain_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	return tree_s(spec, link, true);
}

const struct algorithm algorithm_collnet_direct = {
	.name = "collnet_direct",
	.help = "all-reduce in the network's switches (SHARP), each GPU with a part of the buffer",
	.automatic = true,
	.in_network = true,
	.cost = COST_TREE,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.refuse = refuse,
	.build = build_direct,
	.ideal_s = direct_s,
};

const struct algorithm algorithm_collnet_chain = {
	.name = "collnet_chain",
	.help = "all-reduce in the network's switches (SHARP), after a chain in each machine",
	.automatic = true,
	.in_network = true,
	.cost = COST_TREE,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.refuse = refuse,
	.build = build_chain,
	.ideal_s = chain_s,
};
