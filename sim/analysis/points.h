/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One number of a case at many points: other settings, other draws.
 *
 * Searches and indices consist of such points. Points are predicted on all threads; the
 * answers are in the points' order and do not depend on how many threads there are.
 * Every point runs with the same seed, so that the answer is a smooth function of
 * what differs between points, and not of noise.
 */
#ifndef FARWIRE_ANALYSIS_POINTS_H
#define FARWIRE_ANALYSIS_POINTS_H

#include "sim/analysis/analysis.h"
#include "sim/analysis/reported.h"

struct case_point { /* besides what the request says */
	const struct setting *settings;
	size_t setting_count;
	const struct draw_value *draws;
	size_t draw_count;
};
struct case_answer {
	struct estimate number; /* NaN: it fails there, or is refused */
	bool refused;           /* no case at all */
	const char *reason;     /* of either; else NULL */
};
struct points {
	struct analysis_input input; /* options.draws_count: of each point's interval */
	const struct reported *reported;
};

/* False after a broken invariant, *broken. */
bool points_answer(struct arena *arena, const struct points *points, const struct case_point *list,
		   size_t count, struct case_answer *answers, const char **broken);

#endif
