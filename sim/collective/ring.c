/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring all-reduce (Patarasuk and Yuan 2009) in two laps. In the first lap each rank's part collects
 * the contributions of all ranks; in the second lap the sums travel around. The first lap alone is
 * a reduce-scatter, the second one an all-gather: the part of a rank in a channel is chunk channel
 * * rank_count + rank. Several channels have separate rings with an equal share of the buffer:
 * rings over different NVLink sets or NICs run in parallel. */
#include "sim/collective/fold.h"
#include "sim/collective/pattern.h"

/* Largest number of messages of a rank in a lap if machines are alike at any place (fold->near). A
 * message then stands for several rounds. */
enum { ROUNDS_NEAR = 16 };

/* Refuses rings with more messages than the run allows. */
static const char *refuse(const struct algorithm_spec *spec)
{
	double ranks = (double)spec->rank_count;
	bool fits = ranks * (ranks - 1) * (double)spec->channel_count <= spec->steps_most;
	return fits || spec->steps_most <= 0
		       ? NULL
		       : "its messages alone are more events than case.events allows (write a "
			 "larger --events or fewer --gpus; with rdma on a switch, fat_tree or "
			 "rail_optimised network, equal machines are simulated once)";
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, k = spec->channel_count, rounds = n - 1;
	bool reduces = algorithm->collective != COLLECTIVE_ALL_GATHER;
	bool gathers = algorithm->collective != COLLECTIVE_REDUCE_SCATTER;
	if (spec->fold && spec->fold->near && rounds > ROUNDS_NEAR)
		rounds = ROUNDS_NEAR;
	double merged_count = n > 1 ? (double)(n - 1) / (double)rounds : 1;
	struct algorithm_spec merged = *spec;
	merged.size_B *= merged_count;
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, &merged, k, k * n,
			      2 * ((size_t)reduces + (size_t)gathers) * k * n * rounds);
	schedule_merge(builder, merged_count);
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t channel = 0; channel < k; channel++) {
		uint32_t *ranks = ARENA_ARRAY(arena, n, uint32_t);
		for (size_t i = 0; i < n; i++)
			ranks[i] = (uint32_t)pattern_rank(spec, channel, i);
		struct pattern_ring ring = {.channel = channel,
					    .count = n,
					    .rounds = rounds,
					    .ranks = ranks,
					    .part = ranks,
					    .chunk = channel * n,
					    .span = 1,
					    .last = pattern_last(arena, n),
					    .sends = sends};
		if (reduces)
			pattern_lap(builder, &ring, true);
		if (gathers)
			pattern_lap(builder, &ring, false);
	}
	return schedule_finish(builder);
}

const struct algorithm algorithm_ring = {
	.name = "ring",
	.help = "all-reduce in two laps on a ring of all ranks",
	.automatic = true,
	.collective = COLLECTIVE_ALL_REDUCE,
	.folds = true,
	.refuse = refuse,
	.build = build,
};

const struct algorithm algorithm_reduce_scatter = {
	.name = "reduce_scatter",
	.help = "reduce-scatter on a ring: each rank gets the sum of its part",
	.collective = COLLECTIVE_REDUCE_SCATTER,
	.folds = true,
	.refuse = refuse,
	.build = build,
};

const struct algorithm algorithm_all_gather = {
	.name = "all_gather",
	.help = "all-gather on a ring: each rank's part travels to all ranks",
	.collective = COLLECTIVE_ALL_GATHER,
	.folds = true,
	.refuse = refuse,
	.build = build,
};
