/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All-to-all by exchange in n - 1 rounds. In round i each rank sends to the rank i places further
 * on channel 0's ring and receives from the rank i places back. So no rank has two senders at the
 * same time. The rounds are distributed over the channels. On one channel, a rank continues
 * when its message has arrived and it has received the message sent to it. A rank's own part is
 * copied inside its memory. */
#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

static void exchange(struct schedule_builder *builder, const struct algorithm_spec *spec,
		     size_t distance, uint32_t *last, uint32_t *sends)
{
	size_t n = spec->rank_count, channel = (distance - 1) % spec->channel_count;
	last += channel * n * 2; /* for each rank: its last send and its last receive */
	for (size_t i = 0; i < n; i++) {
		size_t rank = pattern_rank(spec, 0, i);
		size_t peer = pattern_rank(spec, 0, (i + distance) % n);
		sends[rank] = schedule_send(builder, rank, peer, rank * n + peer, channel,
					    &last[rank * 2], 2);
	}
	for (size_t i = 0; i < n; i++) {
		size_t rank = pattern_rank(spec, 0, i);
		size_t from = pattern_rank(spec, 0, (i + n - distance) % n);
		last[rank * 2] = sends[rank];
		last[rank * 2 + 1] = schedule_copy(builder, rank, from * n + rank, channel,
						   sends[from], NULL, 0);
	}
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count;
	/* Each of the n ranks has a buffer that is divided into n parts. */
	struct algorithm_spec whole = *spec;
	whole.size_B *= (double)n;
	struct schedule_builder *builder = pattern_begin(
		algorithm, arena, &whole, spec->channel_count, n * n, n + 2 * n * (n - 1));
	uint32_t *last = pattern_last(arena, spec->channel_count * n * 2);
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t rank = 0; rank < n; rank++)
		schedule_copy(builder, rank, rank * n + rank, 0, NO_STEP, NULL, 0);
	for (size_t distance = 1; distance < n; distance++)
		exchange(builder, spec, distance, last, sends);
	return schedule_finish(builder);
}

const struct algorithm algorithm_all_to_all = {
	.name = "all_to_all",
	.help = "all-to-all in rounds, in each of which a rank sends to one peer",
	.collective = COLLECTIVE_ALL_TO_ALL,
	.build = build,
};
