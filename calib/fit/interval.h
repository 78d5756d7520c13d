/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals of estimates from several passes.
 *
 * Samples of one pass depend on each other (the same pages, clock and neighbours). Passes are
 * minutes apart and in different orders, so they are nearly independent. Therefore the pass is the
 * unit of variation.
 *
 * With ten or more passes, the interval is a bootstrap. Passes are drawn with replacement, the
 * estimate is repeated for each draw, and its quantiles bound the interval. For n passes the plain
 * quantiles are too narrow, so they are taken at the normal probability of sqrt(n / (n - 1)) t(n -
 * 1) (Hesterberg 2015, "What teachers should know about the bootstrap": the expanded percentile
 * interval).
 *
 * With fewer passes a bootstrap is unreliable (with three passes it covers 75 % instead of 95 %).
 * Then the estimate is made from each pass, and Student's t of their spread bounds it. A single
 * pass has no interval: low and high are NaN.
 */
#pragma once

#include "sim/result/result.h"

enum {
	INTERVAL_OUTPUTS_MAX = 16,
	INTERVAL_DRAWS = 999,
	INTERVAL_PASSES_MIN = 10, /* minimum for a bootstrap */
};

/* Returns a robust mean of the passes: values further from the median than 3 x 1.4826 median
 * absolute deviations are moved to that distance (a pass may have been disturbed). Takes count > 0
 * values in ascending order. */
double passes_mean(const double *sorted, size_t count);

/* Weights of the passes: count entries whose sum is the number of drawn passes. */
struct pass_draw {
	const unsigned char *times;
	size_t count;
};

/* Fills out[]. Returns false if these passes allow no estimate. */
typedef bool estimate_fn(const struct pass_draw *draw, double *out, void *ctx);

struct interval_spec {
	estimate_fn *estimate;
	void *ctx;
	size_t output_count, pass_count;
	double confidence; /* for example 0.9 */
	uint64_t seed;
	const char *name; /* name of its random stream */
};

/* Stores intervals[output_count]. Returns false if even all passes together allow no estimate. */
bool interval_of_passes(const struct interval_spec *spec, struct estimate *intervals);

/* ---- arithmetic ---- */

/* Return numerator / interval, and interval + more. */
struct estimate interval_under(double numerator, struct estimate interval);
struct estimate interval_plus(struct estimate interval, double more);
/* Returns a - b, with independent errors. */
struct estimate interval_less(struct estimate a, struct estimate b);
struct estimate interval_mean(struct estimate a, struct estimate b);
/* Returns the interval, scaled so that its value is at most `most`, which is above zero. */
struct estimate interval_at_most(struct estimate interval, double most);
