/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Broadcasts in which a rank sends the whole buffer to all its children at the same time, as MPI
 * libraries do without segments. In the linear one all ranks are children of the root. In the
 * binomial one, the parent of the rank at place p, counted from the root, is at the place that p
 * becomes without its lowest bit. */
#include "sim/base/arena.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static const char *refuse(const struct algorithm_spec *spec)
{
	return spec->root < spec->rank_count ? NULL : "the root must be one of the ranks";
}

static const struct schedule *build_tree(struct arena *arena, const struct algorithm_spec *spec,
					 bool binomial)
{
	size_t n = spec->rank_count;
	struct schedule_builder *builder = schedule_builder_new(
		arena, COLLECTIVE_BROADCAST, n, 1, 1, pattern_cut(arena, 1, spec->size_B));
	schedule_fold(builder, spec->fold);
	uint32_t *parent = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t place = 1; place < n; place++)
		parent[(spec->root + place) % n] =
			(uint32_t)((spec->root + (binomial ? place & (place - 1) : 0)) % n);
	parent[spec->root] = PATTERN_ROOT;
	struct pattern_tree tree = pattern_tree(arena, parent, n);
	pattern_climb(builder, &tree, &(struct pattern_chunks){.count = 1}, false);
	return schedule_finish(builder);
}

static const struct schedule *build_linear(struct arena *arena, const struct algorithm_spec *spec)
{
	return build_tree(arena, spec, false);
}

static const struct schedule *build_binomial(struct arena *arena, const struct algorithm_spec *spec)
{
	return build_tree(arena, spec, true);
}

/* Returns L + S s, because every wire is separate. */
static double linear_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	return spec->rank_count > 1 ? pattern_message_s(link, spec->size_B, 1, false) : 0;
}

/* Returns d (L + S s), where d is the largest number of bits of a place. */
static double binomial_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	size_t depth = 0;
	while (((size_t)2 << depth) - 1 < spec->rank_count)
		depth++;
	return (double)depth * pattern_message_s(link, spec->size_B, 1, false);
}

const struct algorithm algorithm_linear_broadcast = {
	.name = "linear_broadcast",
	.help = "broadcast from the root to each rank, all at the same time",
	.cost = COST_TREE,
	.collective = COLLECTIVE_BROADCAST,
	.refuse = refuse,
	.build = build_linear,
	.ideal_s = linear_s,
};

const struct algorithm algorithm_binomial_broadcast = {
	.name = "binomial_broadcast",
	.help = "broadcast down a binomial tree, to all children at the same time",
	.cost = COST_TREE,
	.collective = COLLECTIVE_BROADCAST,
	.refuse = refuse,
	.build = build_binomial,
	.ideal_s = binomial_s,
};
