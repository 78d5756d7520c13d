/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intervals of what is estimated from passes.
 *
 * Samples of one pass are not independent of each other (the same pages, the
 * same clock, the same neighbours); passes, minutes apart and in another order,
 * nearly are. So what varies here is the pass.
 *
 * From ten passes on: bootstrap. Passes are drawn with replacement, the estimate
 * is made again for each draw, and its quantiles bound the interval; of n
 * passes the plain quantiles are too narrow by what a sample's spread lacks, so
 * they are taken further out, at the normal probability of
 * sqrt(n / (n - 1)) t(n - 1) (Hesterberg 2015, "What teachers should know about
 * the bootstrap": the expanded percentile interval).
 * Below ten (a bootstrap over three passes covers 75 % where it says 95): the
 * estimate is made of each pass alone, and Student's t of their spread bounds it.
 * One pass: there is no interval (low and high are NaN).
 */
#ifndef FARWIRE_CALIB_FIT_INTERVAL_H
#define FARWIRE_CALIB_FIT_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct interval {
	double value, low, high;
};

enum {
	INTERVAL_OUTPUTS_MAX = 16,
	INTERVAL_DRAWS = 999,
	INTERVAL_PASSES_MIN = 10, /* of a bootstrap */
};

/* What passes agree on: their mean, with those pulled in that lie further from the
 * median than 3 x 1.4826 median absolute deviations (a pass during which something
 * else ran). Of count > 0 values in ascending order. */
double passes_mean(const double *sorted, size_t count);

/* How often each pass counts: count entries that sum up to the number drawn. */
struct pass_draw {
	const unsigned char *times;
	size_t count;
};

/* Fills out[]; false: it cannot be estimated from these passes. */
typedef bool estimate_fn(const struct pass_draw *draw, double *out, void *ctx);

struct interval_spec {
	estimate_fn *estimate;
	void *ctx;
	size_t output_count, pass_count;
	double confidence; /* 0.9 */
	uint64_t seed;
	const char *name; /* of its random stream */
};

/* intervals[output_count]; false where not even all passes give an estimate. */
bool interval_of_passes(const struct interval_spec *spec, struct interval *intervals);

#endif
