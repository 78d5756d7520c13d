/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of samples that are not normal: timings have a floor below and a
 * long tail above, so everything here goes by order, not by moments.
 *
 * The interval of the median by order statistics supposes no distribution: of n
 * independent samples the number below the true median is binomial(n, 1/2), so
 * the k-th smallest and the k-th largest hold it between them with a probability
 * that depends on n and k alone.
 */
#ifndef FARWIRE_CALIB_STATS_H
#define FARWIRE_CALIB_STATS_H

#include <stddef.h>

struct stats_interval {
	double low, high;
};

void stats_sort(double *values, size_t count);
/* Of count > 0 values in ascending order. */
double stats_median_sorted(const double *sorted, size_t count);
/* Contains the median with at least 95 %; from six values on. With fewer it is
 * from the least to the greatest, which is less sure. */
struct stats_interval stats_median_interval(const double *sorted, size_t count);
/* Median of the distances to `center`; sorts `values` (of count > 0) and writes
 * the distances over them. */
double stats_mad(double *values, size_t count, double center);
/* Theil-Sen: the median of the slopes between all pairs of points with unlike x;
 * 0 where there is no such pair. -1 in *failed where memory ran out. */
double stats_slope(const double *x, const double *y, size_t count, int *failed);

#endif
