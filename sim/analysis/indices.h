/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sobol's indices: the share of an answer's variance that each of its inputs causes.
 *
 * The FIRST-ORDER index of an input is the part of the variance that would go if the
 * input were known: V(E(y | x_i)) / V(y). The TOTAL index is the part that would stay
 * if all others were known, so it counts what the input does together with others.
 * For an answer that is a sum, both are the same and add up to 1.
 *
 * One half of the points is A, the other half is B. Both come from one Sobol sequence with
 * twice the dimensions. AB_i is A with column i from B; BA_i is B with column i from A.
 * With these N (k + 1) points (Azzini, Mara and Rosati 2021, Environmental Modelling &
 * Software 144),
 *
 *   first_i = 2 sum((y_BA_i - y_B) (y_A - y_AB_i)) / D
 *   total_i = sum((y_BA_i - y_B)^2 + (y_A - y_AB_i)^2) / D
 *   D       = sum((y_A - y_B)^2 + (y_AB_i - y_BA_i)^2)
 *
 * No first-order index is above its total one, and of a sum both are the same with any
 * points, which estimators from A, B and AB_i alone miss by their noise. Intervals are
 * from pairs drawn again with replacement.
 */
#ifndef FARWIRE_ANALYSIS_INDICES_H
#define FARWIRE_ANALYSIS_INDICES_H

#include "sim/result/result.h"

struct arena;

enum { INDICES_INPUTS_MAX = 20 };

struct index_estimate {
	struct estimate first, total; /* with their 90 % intervals; NaN: y does not vary */
};
struct indices_problem {
	size_t input_count; /* at most INDICES_INPUTS_MAX */
	size_t point_count; /* N, rounded up to an even number */
	uint64_t seed;
	/* Answers at points of the unit cube, [count][input_count]; NaN: it fails
	 * there. False ends the estimation. */
	bool (*evaluate)(void *ctx, const double *points, size_t count, double *answers);
	void *ctx;
};
/* One for each input. *failed: points left out because something fails in their pair.
 * False where evaluate ended it. */
bool indices_estimate(struct arena *arena, const struct indices_problem *problem,
		      struct index_estimate *indices, size_t *failed);

#endif
