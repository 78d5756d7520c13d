/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sobol's indices: how much of an answer's variance hangs on each of its inputs.
 *
 * The FIRST-ORDER index of an input is the part of the variance that would go if the
 * input were known: V(E(y | x_i)) / V(y). The TOTAL index is the part that would stay
 * if all others were known, so it counts what the input does together with others.
 * For an answer that is a sum, both are the same and add up to 1.
 *
 * Two sample matrices A and B come from one Sobol sequence of twice the dimensions;
 * AB_i is A with column i from B. With these N (k + 2) points
 *
 *   first_i = mean(y_B (y_ABi - y_A)) / V       (Saltelli et al. 2010, Computer Physics
 *   first_i = 1 - mean((y_B - y_ABi)^2) / 2V     Communications 181, table 2)
 *   total_i = mean((y_A - y_ABi)^2) / 2V         (Jansen 1999, as the one before)
 *
 * with y_B less the mean in the first, whose error grows with it. That one is good for
 * small indices, the second for large ones: the one with the narrower interval is
 * taken. Intervals are from rows drawn again with replacement.
 */
#ifndef FARWIRE_PREDICT_INDICES_H
#define FARWIRE_PREDICT_INDICES_H

#include "sim/result/result.h"

struct arena;

enum { INDICES_INPUTS_MAX = 20 };

struct index_estimate {
	struct estimate first, total; /* with their 90 % intervals; NaN: y does not vary */
};
struct indices_problem {
	size_t input_count;  /* at most INDICES_INPUTS_MAX */
	size_t sample_count; /* N */
	uint64_t seed;
	/* Answers at points of the unit cube, [count][input_count]; NaN: it fails
	 * there. False ends the estimation. */
	bool (*evaluate)(void *ctx, const double *points, size_t count, double *answers);
	void *ctx;
};
/* One for each input. *failed: rows left out because something fails in them. False
 * where evaluate ended it. */
bool indices_estimate(struct arena *arena, const struct indices_problem *problem,
		      struct index_estimate *indices, size_t *failed);

#endif
