/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recursive halving and doubling (Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005). In round
 * i each rank exchanges half of the part that it is responsible for with the rank 2^i away, and
 * adds what it receives. Then the rounds are repeated backwards, storing what is received. There
 * are 2 log2 n messages instead of the ring's 2(n - 1), with the same bytes. The first round has
 * the nearest partner and the largest message.
 *
 * The rounds of halving are also a reduce-scatter, and those of doubling an all-gather, if n is a
 * power of two.
 *
 * If n is not a power of two, the first 2e ranks (e = n - 2^floor(log2 n)) are folded as in MPICH:
 * of each pair, the even rank sends its whole buffer to the odd one and receives the result at the
 * end.
 *
 * In recursive doubling each rank exchanges its whole buffer with the rank 2^i away in round i, and
 * both add. This has the fewest messages, log2 n, but each of them has all bytes. MPI libraries use
 * it for small buffers. */
#include "sim/collective/pattern.h"

/* Consecutive chunks from one rank to another. */
struct chunk_message {
	size_t from, to, chunk, span;
};

struct recursion {
	struct schedule_builder *builder;
	size_t channel;
	size_t folded;        /* pairs of which one rank only sends and receives the whole */
	size_t power;         /* chunks of the channel: the largest power of two <= n, or 1 */
	const uint32_t *part; /* by place in the buffer: the chunk there; NULL: the same */
	uint32_t *last;       /* by rank */
	uint32_t *sends;      /* by rank * power */
};

/* Returns the rank that acts as rank v of the recursion. */
static size_t player(size_t v, size_t folded)
{
	return v < folded ? 2 * v + 1 : v + folded;
}

static size_t chunk_at(const struct recursion *r, size_t place)
{
	return r->channel * r->power + (r->part ? r->part[place] : place);
}

static void send(const struct recursion *r, const struct chunk_message *m)
{
	for (size_t i = 0; i < m->span; i++)
		r->sends[m->from * r->power + i] =
			schedule_send(r->builder, m->from, m->to, chunk_at(r, m->chunk + i),
				      r->channel, &r->last[m->from], 1);
}

static void take(const struct recursion *r, const struct chunk_message *m, bool reduces)
{
	for (size_t i = 0; i < m->span; i++)
		r->last[m->to] = (reduces ? schedule_reduce : schedule_copy)(
			r->builder, m->to, chunk_at(r, m->chunk + i), r->channel,
			r->sends[m->from * r->power + i], &r->last[m->to], 1);
}

static void fold(const struct recursion *r, bool back)
{
	for (size_t pair = 0; pair < r->folded; pair++) {
		struct chunk_message m = {2 * pair, 2 * pair + 1, 0, r->power};
		if (back)
			m = (struct chunk_message){2 * pair + 1, 2 * pair, 0, r->power};
		send(r, &m);
		take(r, &m, !back);
	}
}

/* After the halving rounds of distances 1 .. d, a rank is responsible for power / (2 d) consecutive
 * chunks at the place given by its bits 1 .. d. In halving, v sends the part that its partner will
 * be responsible for; in doubling, its own part. */
static struct chunk_message exchange(const struct recursion *r, size_t v, size_t distance,
				     bool halves)
{
	size_t span = r->power / distance / 2, chunk = 0, mine = v ^ (halves ? distance : 0);
	for (size_t bit = 1, half = r->power / 2; bit <= distance; bit *= 2, half /= 2)
		chunk += mine & bit ? half : 0;
	return (struct chunk_message){player(v, r->folded), player(v ^ distance, r->folded), chunk,
				      span};
}

static void round_of(const struct recursion *r, size_t distance, bool halves)
{
	for (size_t v = 0; v < r->power; v++) {
		struct chunk_message m = exchange(r, v, distance, halves);
		send(r, &m);
	}
	for (size_t v = 0; v < r->power; v++) {
		struct chunk_message m = exchange(r, v, distance, halves);
		take(r, &m, halves);
	}
}

/* Returns the rank that is responsible for each place after all rounds of halving. */
static const uint32_t *owners(struct arena *arena, size_t power)
{
	struct recursion whole = {.power = power};
	uint32_t *part = ARENA_ARRAY(arena, power, uint32_t);
	for (size_t v = 0; v < power; v++)
		part[power > 1 ? exchange(&whole, v, power / 2, false).chunk : 0] = (uint32_t)v;
	return part;
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, power = pattern_power(n), folded = n - power;
	size_t send_count = spec->channel_count * 2 * power * (power - 1 + folded);
	enum collective collective = algorithm->collective;
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, spec, spec->channel_count,
			      spec->channel_count * power, 2 * send_count);
	uint32_t *sends = ARENA_ARRAY(arena, n * power, uint32_t);
	bool whole = collective == COLLECTIVE_ALL_REDUCE;
	const uint32_t *part = whole ? NULL : owners(arena, power);
	for (size_t channel = 0; channel < spec->channel_count; channel++) {
		struct recursion r = {builder, channel, folded, power, part, pattern_last(arena, n),
				      sends};
		fold(&r, false);
		for (size_t d = 1; d < power && collective != COLLECTIVE_ALL_GATHER; d *= 2)
			round_of(&r, d, true);
		for (size_t d = power / 2; d > 0 && collective != COLLECTIVE_REDUCE_SCATTER; d /= 2)
			round_of(&r, d, false);
		fold(&r, true);
	}
	return schedule_finish(builder);
}

static const char *refuse_odd(const struct algorithm_spec *spec)
{
	return pattern_power(spec->rank_count) == spec->rank_count
		       ? NULL
		       : "the number of ranks must be a power of two";
}

const struct algorithm algorithm_halving_doubling = {
	.name = "halving_doubling",
	.help = "all-reduce by exchanging halves with increasingly distant ranks, and back",
	.collective = COLLECTIVE_ALL_REDUCE,
	.build = build,
};

const struct algorithm algorithm_recursive_halving = {
	.name = "recursive_halving",
	.help = "reduce-scatter by exchanging halves with increasingly distant ranks",
	.collective = COLLECTIVE_REDUCE_SCATTER,
	.refuse = refuse_odd,
	.build = build,
};

const struct algorithm algorithm_doubling_all_gather = {
	.name = "doubling_all_gather",
	.help = "all-gather by exchanging all that a rank has with decreasingly distant ranks",
	.collective = COLLECTIVE_ALL_GATHER,
	.refuse = refuse_odd,
	.build = build,
};

/* ---- recursive doubling ---- */

/* The sum of a rank replaces what it sends, so it waits for its own message. */
static void add_round(struct schedule_builder *builder, size_t channel, size_t n, size_t distance,
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

static const struct schedule *build_doubling(const struct algorithm *algorithm, struct arena *arena,
					     const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, power = pattern_power(n);
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, spec, spec->channel_count, spec->channel_count, 0);
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t c = 0; c < spec->channel_count; c++) {
		struct recursion r = {builder, c, n - power, 1, NULL, pattern_last(arena, n),
				      sends};
		fold(&r, false);
		for (size_t distance = 1; distance < power; distance *= 2)
			add_round(builder, c, n, distance, r.last, sends);
		fold(&r, true);
	}
	return schedule_finish(builder);
}

const struct algorithm algorithm_recursive_doubling = {
	.name = "recursive_doubling",
	.help = "all-reduce by exchanging whole buffers with increasingly distant ranks",
	.collective = COLLECTIVE_ALL_REDUCE,
	.build = build_doubling,
};
