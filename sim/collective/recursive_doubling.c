/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recursive doubling (Thakur, Rabenseifner and Gropp 2005). In round i each rank exchanges its
 * whole buffer with the rank 2^i away, and both add. This has the fewest messages, log2 n, but each
 * of them has all bytes. MPI libraries use it for small buffers.
 *
 * If n is not a power of two, the first 2e ranks (e = n - 2^floor(log2 n)) are folded: of each
 * pair, the even rank sends its buffer to the odd one and receives the result at the end. */
#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

static size_t player(size_t v, size_t folded)
{
	return v < folded ? 2 * v + 1 : v + folded;
}

/* The sum of a rank replaces what it sends, so it waits for its own message. */
static void round_of(struct schedule_builder *builder, size_t channel, size_t n, size_t distance,
		     uint32_t *last, uint32_t *sends)
{
	size_t power = pattern_power(n), folded = n - power;
	for (size_t v = 0; v < power; v++) {
		size_t rank = player(v, folded);
		sends[rank] = schedule_send(builder, rank, player(v ^ distance, folded), channel,
					    channel, &last[rank], 1);
	}
	for (size_t v = 0; v < power; v++) {
		size_t rank = player(v, folded);
		const uint32_t after[] = {last[rank], sends[rank]};
		last[rank] = schedule_reduce(builder, rank, channel, channel,
					     sends[player(v ^ distance, folded)], after, 2);
	}
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, power = pattern_power(n);
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, spec, spec->channel_count, spec->channel_count, 0);
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t c = 0; c < spec->channel_count; c++) {
		uint32_t *last = pattern_last(arena, n);
		for (size_t even = 0; even < 2 * (n - power); even += 2) {
			uint32_t sent = schedule_send(builder, even, even + 1, c, c, NULL, 0);
			last[even + 1] = schedule_reduce(builder, even + 1, c, c, sent, NULL, 0);
			last[even] = sent;
		}
		for (size_t distance = 1; distance < power; distance *= 2)
			round_of(builder, c, n, distance, last, sends);
		for (size_t even = 0; even < 2 * (n - power); even += 2) {
			uint32_t sent =
				schedule_send(builder, even + 1, even, c, c, &last[even + 1], 1);
			schedule_copy(builder, even, c, c, sent, &last[even], 1);
		}
	}
	return schedule_finish(builder);
}

const struct algorithm algorithm_recursive_doubling = {
	.name = "recursive_doubling",
	.help = "all-reduce by exchanging whole buffers with increasingly distant ranks",
	.collective = COLLECTIVE_ALL_REDUCE,
	.refuse = pattern_any,
	.build = build,
};
