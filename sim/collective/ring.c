/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring all-reduce (Patarasuk and Yuan 2009) in two laps. In the first lap each rank's part collects
 * the contributions of all ranks; in the second lap the sums travel around. Several channels have
 * separate rings with an equal share of the buffer: rings over different NVLink sets or NICs run in
 * parallel. */
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_rings(arena, spec, COLLECTIVE_ALL_REDUCE, true, true);
}

/* Returns the time of n - 1 messages of S/(n k) with additions, and as many without additions. */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	double chunk_B = spec->size_B / (double)(spec->rank_count * spec->channel_count);
	return (double)(spec->rank_count - 1) * (pattern_message_s(link, chunk_B, 1, true) +
						 pattern_message_s(link, chunk_B, 1, false));
}

const struct algorithm algorithm_ring = {
	.name = "ring",
	.help = "all-reduce in two laps on a ring of all ranks",
	.automatic = true,
	.collective = COLLECTIVE_ALL_REDUCE,
	.folds = true,
	.refuse = pattern_any_ring,
	.build = build,
	.ideal_s = ideal_s,
};
