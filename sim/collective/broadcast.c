/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Broadcasts down a tree.
 *
 * `broadcast` goes along the ring, from the root to the rank before it, in pipelined pieces. With
 * enough pieces every wire is always busy.
 *
 * In the linear and the binomial broadcast, a rank sends the whole buffer to all its children at
 * the same time, as MPI libraries do without segments. In the linear one all ranks are children of
 * the root. In the binomial one, the parent of the rank at place p, counted from the root, is at
 * the place that p becomes without its lowest bit.
 *
 * `binomial_tree` is for small messages: a rank sends one message at a time. In round i each rank
 * with the buffer sends it to the rank 2^i places further on, so there are ceil(log2 n) rounds.
 * Places are those of channel 0's ring, counted from the root. */
#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

static const char *refuse(const struct algorithm_spec *spec)
{
	return spec->root < spec->rank_count ? NULL : "the root must be one of the ranks";
}

static size_t one_tree(const struct algorithm *algorithm, const struct algorithm_spec *spec)
{
	return 1;
}

static size_t each_channel(const struct algorithm *algorithm, const struct algorithm_spec *spec)
{
	return spec->channel_count;
}

static struct pattern_tree chain(const struct algorithm *algorithm, struct arena *arena,
				 const struct algorithm_spec *spec, size_t channel)
{
	uint32_t *parent = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	for (size_t i = 0; i < spec->rank_count; i++)
		parent[pattern_rank(spec, channel, (i + 1) % spec->rank_count)] =
			(uint32_t)pattern_rank(spec, channel, i);
	parent[spec->root] = PATTERN_ROOT;
	return pattern_tree(arena, parent, spec->rank_count);
}

static struct pattern_tree whole_buffer(const struct algorithm *algorithm, struct arena *arena,
					const struct algorithm_spec *spec, size_t channel)
{
	size_t n = spec->rank_count;
	uint32_t *parent = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t place = 1; place < n; place++)
		parent[(spec->root + place) % n] =
			(uint32_t)((spec->root + (algorithm->variant ? place & (place - 1) : 0)) %
				   n);
	parent[spec->root] = PATTERN_ROOT;
	return pattern_tree(arena, parent, n);
}

static const struct schedule *build_rounds(const struct algorithm *algorithm, struct arena *arena,
					   const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, root_at = 0;
	struct schedule_builder *builder = pattern_begin(algorithm, arena, spec, 1, 1, 2 * n);
	uint32_t *last = pattern_last(arena, n);
	while (pattern_rank(spec, 0, root_at) != spec->root)
		root_at++;
	for (size_t distance = 1; distance < n; distance *= 2)
		for (size_t place = 0; place < distance && place + distance < n; place++) {
			size_t rank = pattern_rank(spec, 0, (root_at + place) % n);
			size_t peer = pattern_rank(spec, 0, (root_at + place + distance) % n);
			last[rank] = schedule_send(builder, rank, peer, 0, 0, &last[rank], 1);
			last[peer] = schedule_copy(builder, peer, 0, 0, last[rank], NULL, 0);
		}
	return schedule_finish(builder);
}

const struct algorithm algorithm_broadcast = {
	.name = "broadcast",
	.help = "broadcast along the ring in pieces",
	.collective = COLLECTIVE_BROADCAST,
	.pipelined = true,
	.folds = true,
	.refuse = refuse,
	.build = pattern_trees,
	.tree_count = each_channel,
	.tree_of = chain,
};

const struct algorithm algorithm_binomial_tree = {
	.name = "binomial_tree",
	.help = "broadcast in rounds that double the number of ranks with the data",
	.cost = COST_TREE,
	.collective = COLLECTIVE_BROADCAST,
	.folds = true,
	.refuse = refuse,
	.build = build_rounds,
};

const struct algorithm algorithm_linear_broadcast = {
	.name = "linear_broadcast",
	.help = "broadcast from the root to each rank, all at the same time",
	.cost = COST_TREE,
	.collective = COLLECTIVE_BROADCAST,
	.refuse = refuse,
	.build = pattern_trees,
	.tree_count = one_tree,
	.tree_of = whole_buffer,
};

const struct algorithm algorithm_binomial_broadcast = {
	.name = "binomial_broadcast",
	.help = "broadcast down a binomial tree, to all children at the same time",
	.variant = true,
	.cost = COST_TREE,
	.collective = COLLECTIVE_BROADCAST,
	.refuse = refuse,
	.build = pattern_trees,
	.tree_count = one_tree,
	.tree_of = whole_buffer,
};
