/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generates the single faults that `diagnose` simulates. */
#ifndef FARWIRE_ANALYSIS_SUSPECTS_H
#define FARWIRE_ANALYSIS_SUSPECTS_H

#include "sim/analysis/diagnose.h"

/* Returns "no fault", then the suspects of a collective benchmark. Only links over which it sends
 * bytes are suspects. */
struct suspect *suspects_of(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			    size_t *count);

#endif
