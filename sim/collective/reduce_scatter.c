/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring reduce-scatter: the first lap of the ring all-reduce. Each rank gets the sum of its own part
 * (chunk channel * rank_count + rank). */
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_rings(arena, spec, COLLECTIVE_REDUCE_SCATTER, true, false);
}

/* Returns (n - 1) (L + S/(n k) (s + r)): n - 1 messages of S/(n k) with additions. */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	double chunk_B = spec->size_B / (double)(spec->rank_count * spec->channel_count);
	return (double)(spec->rank_count - 1) * pattern_message_s(link, chunk_B, 1, true);
}

const struct algorithm algorithm_reduce_scatter = {
	.name = "reduce_scatter",
	.help = "reduce-scatter on a ring: each rank gets the sum of its part",
	.collective = COLLECTIVE_REDUCE_SCATTER,
	.folds = true,
	.refuse = pattern_any_ring,
	.build = build,
	.ideal_s = ideal_s,
};
