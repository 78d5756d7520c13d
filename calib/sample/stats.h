/* SPDX-License-Identifier: Apache-2.0 */
/* Robust statistics. Timings have a lower bound and a long upper tail, so these functions use ranks
 * instead of moments.
 *
 * The interval of the median needs no assumption about the distribution. The number of n
 * independent samples below the true median is binomial(n, 1/2). So the probability that the k-th
 * smallest and the k-th largest sample enclose it depends only on n and k.
 */
#pragma once

#include <stddef.h>

struct stats_interval {
	double low, high;
};

void stats_sort(double *values, size_t count);
/* Returns the median of count > 0 values in ascending order. */
double stats_median_sorted(const double *sorted, size_t count);
/* Returns an interval that contains the median with at least 95 % probability, for six or more
 * values. For fewer values it is the range of all values, with a lower probability. */
struct stats_interval stats_median_interval(const double *sorted, size_t count);
/* Returns the median of the distances to `center`, for count > 0. Overwrites `values` with the
 * sorted distances. */
double stats_mad(double *values, size_t count, double center);
/* Returns the relative change, from the first to the last, of values that were measured at equal
 * distances of time, as far as it is certain: the slope nearest to 0 in the 95 % interval of the
 * Theil-Sen slope (the median of the slopes between all pairs), over the median of the values. It
 * is 0 if the interval contains 0, for fewer than STATS_CHANGE_LEAST values, and if memory runs
 * out. The interval is that of Sen (1968, "Estimates of the regression coefficient based on
 * Kendall's tau"). */
#define STATS_CHANGE_LEAST 4
double stats_change(const double *values, size_t count);
