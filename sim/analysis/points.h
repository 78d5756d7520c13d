/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts one number of a case at many points, which differ in settings or draws.
 *
 * Searches and sensitivities consist of such points. Points are predicted on all threads. The
 * results are in the order of the points and do not depend on the number of threads. All points use
 * the same seed. Differences between results therefore come from differences between points, and
 * not from random numbers. */
#pragma once

#include "sim/analysis/analysis.h"
#include "sim/analysis/reported.h"

struct case_point { /* settings and draws in addition to those of the request */
	const struct setting *settings;
	size_t setting_count;
	const struct draw_value *draws;
	size_t draw_count;
	double rate_per_s; /* of requests; 0: the point is not about a load */
};
struct case_answer {
	struct estimate number;   /* NaN: the case fails or is refused */
	bool refused;             /* the settings are not a valid case */
	const char *reason;       /* reason of a failure or refusal; otherwise NULL */
	const char *load_refused; /* prediction_load_refused */
};
struct points {
	struct analysis_input input; /* options.draws_count is the number of draws for the interval
					of each point */
	const struct reported *reported;
};

/* Sets answers[count]. Returns false after a broken invariant, which *broken describes. */
bool points_answer(struct arena *arena, const struct points *points, const struct case_point *list,
		   size_t count, struct case_answer *answers, const char **broken);
