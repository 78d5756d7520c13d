/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring all-gather: the second lap of the ring all-reduce. Each rank's own part (chunk channel *
 * rank_count + rank) travels around to all ranks. */
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_rings(arena, spec, COLLECTIVE_ALL_GATHER, false, true);
}

/* Returns (n - 1) (L + S/(n k) s): n - 1 messages of S/(n k). */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	double chunk_B = spec->size_B / (double)(spec->rank_count * spec->channel_count);
	return (double)(spec->rank_count - 1) * pattern_message_s(link, chunk_B, 1, false);
}

const struct algorithm algorithm_all_gather = {
	.name = "all_gather",
	.help = "all-gather on a ring: each rank's part travels to all ranks",
	.collective = COLLECTIVE_ALL_GATHER,
	.folds = true,
	.refuse = pattern_any_ring,
	.build = build,
	.ideal_s = ideal_s,
};
