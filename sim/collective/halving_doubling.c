/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recursive halving and doubling (Rabenseifner 2004; Thakur, Rabenseifner and Gropp 2005). In round
 * i each rank exchanges half of the part that it is responsible for with the rank 2^i away, and
 * adds what it receives. Then the rounds are repeated backwards, storing what is received. There
 * are 2 log2 n messages instead of the ring's 2(n - 1), with the same bytes. The first round has
 * the nearest partner and the largest message.
 *
 * If n is not a power of two, the first 2e ranks (e = n - 2^floor(log2 n)) are folded as in MPICH:
 * of each pair, the even rank sends its whole buffer to the odd one and receives the result at the
 * end. */
#include "sim/base/arena.h"
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

/* Consecutive chunks from one rank to another. */
struct message {
	size_t from, to, chunk, span;
};

struct recursion {
	struct schedule_builder *builder;
	size_t channel, folded; /* folded: the e of the comment above */
	size_t power;           /* the largest power of two <= n */
	uint32_t *last;         /* by rank */
	uint32_t *sends;        /* by rank * power */
};

static size_t power_below(size_t n)
{
	size_t power = 1;
	while (power * 2 <= n)
		power *= 2;
	return power;
}

/* Returns the rank that acts as rank v of the recursion. */
static size_t player(const struct recursion *r, size_t v)
{
	return v < r->folded ? 2 * v + 1 : v + r->folded;
}

static void send(const struct recursion *r, const struct message *m)
{
	for (size_t i = 0; i < m->span; i++)
		r->sends[m->from * r->power + i] = schedule_send(
			r->builder, m->from, m->to, r->channel * r->power + m->chunk + i,
			r->channel, &r->last[m->from], 1);
}

static void take(const struct recursion *r, const struct message *m, bool reduces)
{
	for (size_t i = 0; i < m->span; i++)
		r->last[m->to] = (reduces ? schedule_reduce : schedule_copy)(
			r->builder, m->to, r->channel * r->power + m->chunk + i, r->channel,
			r->sends[m->from * r->power + i], &r->last[m->to], 1);
}

static void fold(const struct recursion *r, bool back)
{
	for (size_t pair = 0; pair < r->folded; pair++) {
		struct message m = {2 * pair, 2 * pair + 1, 0, r->power};
		if (back)
			m = (struct message){2 * pair + 1, 2 * pair, 0, r->power};
		send(r, &m);
		take(r, &m, !back);
	}
}

/* After the halving rounds of distances 1 .. d, a rank is responsible for power / (2 d) consecutive
 * chunks at the place given by its bits 1 .. d. In halving, v sends the part that its partner will
 * be responsible for; in doubling, its own part. */
static struct message exchange(const struct recursion *r, size_t v, size_t distance, bool halves)
{
	size_t span = r->power / distance / 2, chunk = 0, mine = v ^ (halves ? distance : 0);
	for (size_t bit = 1, half = r->power / 2; bit <= distance; bit *= 2, half /= 2)
		chunk += mine & bit ? half : 0;
	return (struct message){player(r, v), player(r, v ^ distance), chunk, span};
}

static void round_of(const struct recursion *r, size_t distance, bool halves)
{
	for (size_t v = 0; v < r->power; v++) {
		struct message m = exchange(r, v, distance, halves);
		send(r, &m);
	}
	for (size_t v = 0; v < r->power; v++) {
		struct message m = exchange(r, v, distance, halves);
		take(r, &m, halves);
	}
}

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, power = power_below(n), folded = n - power;
	size_t chunk_count = spec->channel_count * power;
	struct schedule_builder *builder =
		schedule_builder_new(arena, COLLECTIVE_ALL_REDUCE, n, spec->channel_count,
				     chunk_count, pattern_cut(arena, chunk_count, spec->size_B));
	schedule_fold(builder, spec->fold);
	size_t send_count = spec->channel_count * 2 * power * (power - 1 + folded);
	schedule_reserve(builder, 2 * send_count, 2 * send_count);
	uint32_t *sends = ARENA_ARRAY(arena, n * power, uint32_t);
	for (size_t channel = 0; channel < spec->channel_count; channel++) {
		struct recursion r = {builder, channel, folded, power, pattern_last(arena, n),
				      sends};
		fold(&r, false);
		for (size_t distance = 1; distance < power; distance *= 2)
			round_of(&r, distance, true);
		for (size_t distance = power / 2; distance > 0; distance /= 2)
			round_of(&r, distance, false);
		fold(&r, true);
	}
	return schedule_finish(builder);
}

/* Returns the time of messages of S/2, S/4 ... S/n and back. Folding adds one message of S at
 * either end. */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	size_t power = power_below(spec->rank_count);
	double chunk_B = spec->size_B / (double)(power * spec->channel_count), sum_s = 0;
	for (size_t span = power / 2; span > 0; span /= 2)
		sum_s += pattern_message_s(link, chunk_B, span, true) +
			 pattern_message_s(link, chunk_B, span, false);
	if (power < spec->rank_count)
		sum_s += pattern_message_s(link, chunk_B, power, true) +
			 pattern_message_s(link, chunk_B, power, false);
	return sum_s;
}

const struct algorithm algorithm_halving_doubling = {
	.name = "halving_doubling",
	.help = "all-reduce by exchanging halves with increasingly distant ranks, and back",
	.collective = COLLECTIVE_ALL_REDUCE,
	.refuse = pattern_any,
	.build = build,
	.ideal_s = ideal_s,
};
