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
/* Returns the Theil-Sen estimator: the median of the slopes between all pairs of points with
 * different x, or 0 without such a pair. Sets *failed to -1 if memory runs out. */
double stats_slope(const double *x, const double *y, size_t count, int *failed);
