/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Broadcasts down a tree.
 *
 * `broadcast` goes along the ring, from the root to the rank before it, in pipelined pieces. With
 * enough pieces every wire is always busy.
 *
 * In the linear and the binomial broadcast, a rank sends the whole buffer to all its children at
 * the same time, as MPI libraries do without segments. In the linear one all ranks are children of
 * the root. In the binomial one, the parent of the rank at place p, counted from the root, is at
 * the place that p becomes without its lowest bit. */
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

#define WITHOUT_PIECES                                                                             \
	.cost = COST_TREE, .collective = COLLECTIVE_BROADCAST, .refuse = refuse,                   \
	.build = pattern_trees, .tree_count = one_tree, .tree_of = whole_buffer

const struct algorithm algorithm_linear_broadcast = {
	.name = "linear_broadcast",
	.help = "broadcast from the root to each rank, all at the same time",
	WITHOUT_PIECES,
};

const struct algorithm algorithm_binomial_broadcast = {
	.name = "binomial_broadcast",
	.help = "broadcast down a binomial tree, to all children at the same time",
	.variant = true,
	WITHOUT_PIECES,
};
