/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binomial tree broadcast for small messages. In round i each rank with the buffer sends it to the
 * rank 2^i places further on, so there are ceil(log2 n) rounds. A rank sends one message at a time.
 * Places are those of channel 0's ring, counted from the root; the buffer is not divided. */
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static const char *refuse(const struct algorithm_spec *spec)
{
	return spec->root < spec->rank_count ? NULL : "the root must be one of the ranks";
}

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, root_at = 0;
	struct schedule_builder *builder = schedule_builder_new(
		arena, COLLECTIVE_BROADCAST, n, 1, 1, pattern_cut(arena, 1, spec->size_B));
	schedule_fold(builder, spec->fold);
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

/* Returns ceil(log2 n) (L + S s). */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	double sum_s = 0;
	for (size_t distance = 1; distance < spec->rank_count; distance *= 2)
		sum_s += pattern_message_s(link, spec->size_B, 1, false);
	return sum_s;
}

const struct algorithm algorithm_binomial_tree = {
	.name = "binomial_tree",
	.help = "broadcast in rounds that double the number of ranks with the data",
	.cost = COST_TREE,
	.collective = COLLECTIVE_BROADCAST,
	.folds = true,
	.refuse = refuse,
	.build = build,
	.ideal_s = ideal_s,
};
