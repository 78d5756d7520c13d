/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-reduce over NVLink SHARP. Each rank is the head of one part of the buffer, in p pieces: it
 * gets the part's values of all other ranks, adds them and sends the sum to all. The switch does
 * both, so links carry fewer bytes than these messages have (generation.c). Channel 2c has the
 * values, channel 2c + 1 the sums. */
#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

static const char *refuse(const struct algorithm_spec *spec)
{
	return spec->node_count > 1 ? "a switch adds only the values of one machine's GPUs" : NULL;
}

/* Adds the steps of one piece of a head's part. */
static void serve(struct schedule_builder *builder, size_t n, size_t head, size_t chunk,
		  size_t channel, uint32_t *sends)
{
	uint32_t last = NO_STEP;
	for (size_t i = 1; i < n; i++) {
		size_t rank = (head + i) % n;
		sends[rank] = schedule_send(builder, rank, head, chunk, 2 * channel, NULL, 0);
	}
	for (size_t i = 1; i < n; i++)
		last = schedule_reduce(builder, head, chunk, 2 * channel, sends[(head + i) % n],
				       &last, 1);
	for (size_t i = 1; i < n; i++) {
		size_t rank = (head + i) % n;
		uint32_t sum = schedule_send(builder, head, rank, chunk, 2 * channel + 1, &last, 1);
		schedule_copy(builder, rank, chunk, 2 * channel + 1, sum, &sends[rank], 1);
	}
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, p = spec->pipeline_count;
	size_t chunk_count = spec->channel_count * n * p;
	struct schedule_builder *builder = pattern_begin(
		algorithm, arena, spec, 2 * spec->channel_count, chunk_count, 4 * n * chunk_count);
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t channel = 0; channel < spec->channel_count; channel++)
		for (size_t piece = 0; piece < p; piece++)
			for (size_t head = 0; head < n; head++)
				serve(builder, n, head, (channel * n + head) * p + piece, channel,
				      sends);
	return schedule_finish(builder);
}

const struct algorithm algorithm_nvls = {
	.name = "nvls",
	.help = "all-reduce in the NVSwitch of one machine, NVLink SHARP (NCCL's NVLS)",
	.automatic = true,
	.cost = COST_MULTICAST,
	.collective = COLLECTIVE_ALL_REDUCE,
	.pipelined = true,
	.refuse = refuse,
	.build = build,
};
