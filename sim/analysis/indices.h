/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sobol's indices: the share of a result's variance that each of its inputs causes.
 *
 * The FIRST-ORDER index of an input is the share by which the variance would decrease if the
 * input were known: V(E(y | x_i)) / V(y). The TOTAL index is the share that would remain if all
 * other inputs were known. It includes the effects of the input together with others. If the
 * result is a sum of functions of one input each, both indices are the same and add up to 1.
 *
 * One half of the points is A, the other half is B. Both come from one Sobol sequence with
 * twice the dimensions. AB_i is A with column i from B; BA_i is B with column i from A. With
 * these N (k + 1) points (Azzini, Mara and Rosati 2021, Environmental Modelling & Software 144),
 *
 *   first_i = 2 sum((y_BA_i - y_B) (y_A - y_AB_i)) / D
 *   total_i = sum((y_BA_i - y_B)^2 + (y_A - y_AB_i)^2) / D
 *   D       = sum((y_A - y_B)^2 + (y_AB_i - y_BA_i)^2)
 *
 * No first-order index exceeds its total index, and for a sum both are equal with any points.
 * Estimators that use only A, B and AB_i have neither property because of their noise. Intervals
 * come from pairs that are drawn again with replacement (bootstrap). */
#pragma once

#include "sim/result/result.h"

enum { INDICES_INPUTS_MAX = 20 };

struct index_estimate {
	struct estimate first, total; /* indices with 90 % intervals; NaN: y does not vary */
};
struct indices_problem {
	size_t input_count; /* at most INDICES_INPUTS_MAX */
	size_t point_count; /* N, rounded up to an even number */
	uint64_t seed;
	/* Computes the results at `count` points of the unit cube, points[count][input_count].
	 * NaN means that the case fails there. Returning false ends the estimation. */
	bool (*evaluate)(void *ctx, const double *points, size_t count, double *answers);
	void *ctx;
};
/* Sets one element for each input. *failed is the number of points that are left out because a
 * point of their pair fails. Returns false if evaluate returned false. */
bool indices_estimate(struct arena *arena, const struct indices_problem *problem,
		      struct index_estimate *indices, size_t *failed);
