/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring all-reduce (Patarasuk and Yuan 2009): two laps. In the first each rank's
 * part gathers everybody's contribution on its way round, in the second the
 * sums go round. With several channels each has its own ring and an equal share
 * of the buffer: rings over different NVLink sets or NICs work side by side. */
#include "sim/collective/algorithms.h"
#include "sim/collective/pattern.h"

static const struct schedule *build(struct arena *arena, const struct algorithm_spec *spec)
{
	return pattern_rings(arena, spec, COLLECTIVE_ALL_REDUCE, true, true);
}

/* n - 1 messages of S/(n k) added, as many stored. */
static double ideal_s(const struct algorithm_spec *spec, const struct ideal_link *link)
{
	double chunk_B = spec->size_B / (double)(spec->rank_count * spec->channel_count);
	return (double)(spec->rank_count - 1) * (pattern_message_s(link, chunk_B, 1, true) +
						 pattern_message_s(link, chunk_B, 1, false));
}

const struct algorithm algorithm_ring = {
	.name = "ring",
	.help = "all-reduce round a ring of all ranks, twice",
	.automatic = true,
	.collective = COLLECTIVE_ALL_REDUCE,
	.folds = true,
	.refuse = pattern_any,
	.build = build,
	.ideal_s = ideal_s,
};
