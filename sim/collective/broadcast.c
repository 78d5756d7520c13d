/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Broadcast along the ring, from the root to the rank before it, in pipelined pieces. With enough
 * pieces every wire is always busy. */
#include "sim/base/arena.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static const char *refuse(const struct algorithm_spec *spec)
{
	return spec->root < spec->rank_count ? NULL : "the root must be one of the ranks";
}

static struct pattern_tree chain(struct arena *arena, const struct algorithm_spec *spec,
				 size_t channel)
{
	uint32_t *parent = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	for (size_t i = 0; i < spec->rank_count; i++)
		parent[pattern_rank(spec, channel, (i + 1) % spec->rank_count)] =
			(uint32_t)pattern_rank(spec, channel, i);
	parent[spec->root] = PATTERN_ROOT;
	return pattern_tree(arena, parent, spec->rank_count);
}

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	size_t pieces = spec->pipeline_count, chunk_count = spec->channel_count * pieces;
	struct schedule_builder *builder = schedule_builder_new(
		arena, COLLECTIVE_BROADCAST, spec->rank_count, spec->channel_count, chunk_count,
		pattern_cut(arena, chunk_count, spec->size_B));
	schedule_fold(builder, spec->fold);
	size_t step_count = 2 * chunk_count * (spec->rank_count - 1);
	schedule_reserve(builder, step_count, step_count);
	for (size_t channel = 0; channel < spec->channel_count; channel++) {
		struct pattern_tree tree = chain(arena, spec, channel);
		struct pattern_chunks chunks = {channel, channel * pieces, pieces};
		pattern_climb(builder, &tree, &chunks, false);
	}
	return schedule_finish(builder);
}

/* Returns (n - 1) (L + m s) + (p - 1) m s, with m = S/(k p). */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	double piece_B = spec->size_B / (double)(spec->channel_count * spec->pipeline_count);
	if (spec->rank_count < 2)
		return 0;
	return (double)(spec->rank_count - 1) * pattern_message_s(link, piece_B, 1, false) +
	       (double)(spec->pipeline_count - 1) * piece_B * link->spB;
}

const struct algorithm algorithm_broadcast = {
	.name = "broadcast",
	.help = "broadcast along the ring in pieces",
	.collective = COLLECTIVE_BROADCAST,
	.pipelined = true,
	.folds = true,
	.refuse = refuse,
	.build = build,
	.ideal_s = ideal_s,
};
