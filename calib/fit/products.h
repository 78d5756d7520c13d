/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits the law of kernel times (sim/gpu/kernel.h) to measured matrix products.
 *
 * Products of different shapes determine a rate for each number type, and the fill time and the
 * rate of loads that all types share. A fourth constant is the bandwidth of the operands. It
 * exceeds that of memory if a repeated product finds its operands in a cache, so it is not used
 * further. The fit minimises relative errors with Huber's loss: Nelder-Mead on the logarithms, then
 * steps of Gauss and Newton. Draws of passes repeat only the last step, which is linear.
 */
#pragma once

#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"

enum {
	PRODUCTS_TYPES = NUMBER_BF16 + 1,
	PRODUCTS_FILL = PRODUCTS_TYPES,
	PRODUCTS_LOAD,
	PRODUCTS_BANDWIDTH,
	PRODUCTS_CONSTANTS,
	PRODUCTS_POINTS_MAX = 1024,
};

struct products_point {
	struct kernel_work work;
	double time_s;
};

/* The work of a product of an m x k and a k x n matrix of that type. */
struct kernel_work products_work(enum number_type type, double m, double n, double k);

struct products {
	bool any_width;                         /* given: from Hopper on */
	double floor_s, sm_count;               /* given */
	double value[PRODUCTS_CONSTANTS];       /* flop/s for each type, s, B/s, B/s */
	double error_ratio[PRODUCTS_CONSTANTS]; /* standard error by the residuals; INFINITY: none
						 */
	double rms_ratio;                       /* of the relative errors of the fitted points */
	size_t count;
	const double *predicted_s, *gain; /* see products_step */
};

double products_at(const struct products *products, const struct kernel_work *work);
/* Fits all constants. floor_s and sm_count are set. Returns false if there are no more points than
 * constants or all have similar work. */
bool products_fit(struct arena *arena, const struct products_point *points, size_t count,
		  struct products *products);
/* Stores the constants for other times of the fitted points, by one linear step from the fit. */
void products_step(const struct products *products, const double *times_s, double *out);
