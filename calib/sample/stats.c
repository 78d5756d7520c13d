/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/sample/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

void stats_sort(double *values, size_t count)
{
	size_t sorted = 1; /* callers take several quantiles of the same values */
	while (sorted < count && values[sorted - 1] <= values[sorted])
		sorted++;
	if (sorted < count)
		qsort(values, count, sizeof(*values), compare);
}

double stats_median_sorted(const double *sorted, size_t count)
{
	return 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
}

struct stats_interval stats_median_interval(const double *sorted, size_t count)
{
	/* Finds the largest k with P(fewer than k below the median) <= 2.5 %. lgamma avoids
	 * overflow for large counts. */
	double n = (double)count, below = 0;
	size_t k = 0;
	while (k < count / 2) {
		double i = (double)k;
		below += exp(lgamma(n + 1) - lgamma(i + 1) - lgamma(n - i + 1) - n * log(2));
		if (below > 0.025)
			break;
		k++;
	}
	size_t low = k > 0 ? k - 1 : 0;
	return (struct stats_interval){sorted[low], sorted[count - 1 - low]};
}

double stats_mad(double *values, size_t count, double center)
{
	for (size_t i = 0; i < count; i++)
		values[i] = fabs(values[i] - center);
	stats_sort(values, count);
	return stats_median_sorted(values, count);
}

double stats_change(const double *values, size_t count)
{
	if (count < STATS_CHANGE_LEAST)
		return 0;
	double *slopes = malloc(count * count * sizeof(*slopes)), change = 0;
	size_t pairs = 0;
	for (size_t i = 0; slopes && i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			slopes[pairs++] = (values[j] - values[i]) / (double)(j - i);
	if (pairs > 0) {
		/* Kendall's variance of the number of pairs that rise, minus those that fall */
		double n = (double)count, spread = sqrt(n * (n - 1) * (2 * n + 5) / 18);
		double outside = floor(((double)pairs - 1.96 * spread) / 2);
		size_t low = outside > 1 ? (size_t)outside - 1 : 0;
		stats_sort(slopes, pairs);
		double slope = fmax(slopes[low], 0) + fmin(slopes[pairs - 1 - low], 0);
		memcpy(slopes, values, count * sizeof(*slopes));
		stats_sort(slopes, count);
		double median = stats_median_sorted(slopes, count);
		change = median > 0 ? slope * (n - 1) / median : 0;
	}
	free(slopes);
	return change;
}
