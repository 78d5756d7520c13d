/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/sample/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "calib/sample/stats.h"

#define LEAST_ON_TIME 3

const char *sampler_stop_name(enum sampler_stop stop)
{
	static const char *const names[] = {"interval", "count", "time", "deadline", "failed"};
	return names[stop];
}

static double median_of(const double *values, size_t count, double *space)
{
	memcpy(space, values, count * sizeof(*values));
	stats_sort(space, count);
	return stats_median_sorted(space, count);
}

static bool near(double a, double b, double ratio)
{
	return fabs(a - b) <= ratio * fabs(b);
}

/* Returns true if half the width of the median's interval is at most ratio of the median. `space`
 * has as much room as values. */
static bool narrow(const double *values, size_t count, double ratio, double *space)
{
	double median = median_of(values, count, space);
	struct stats_interval interval = stats_median_interval(space, count);
	return 0.5 * (interval.high - interval.low) <= ratio * fabs(median);
}

/* Discards samples until they have settled, or until a fifth of the time or of the maximum number
 * is used. */
static int warm_up(const struct sampler *sampler, double start_s, size_t *thrown)
{
	double last[2 * SAMPLER_WARM_UP_WINDOW], space[SAMPLER_WARM_UP_WINDOW];
	const size_t window = SAMPLER_WARM_UP_WINDOW;
	size_t most = sampler->warm_up_most;
	*thrown = 0;
	while (*thrown < most &&
	       sampler->now_s(sampler->context) - start_s < 0.2 * sampler->share_s) {
		if (*thrown >= 2 * window)
			memmove(last, last + 1, (2 * window - 1) * sizeof(*last));
		size_t place = *thrown < 2 * window ? *thrown : 2 * window - 1;
		int code = sampler->sample(sampler->context, &last[place]);
		if (code != 0)
			return code;
		++*thrown;
		if (*thrown >= 2 * window &&
		    near(median_of(last + window, window, space), median_of(last, window, space),
			 SAMPLER_WARM_UP_RATIO))
			break;
	}
	return 0;
}

static void collect(const struct sampler *sampler, double start_s, double *space,
		    struct sampler_result *result)
{
	size_t look = sampler->least > LEAST_ON_TIME ? sampler->least : LEAST_ON_TIME;
	while (result->count < sampler->most) {
		double spent_s = sampler->now_s(sampler->context) - start_s;
		if (spent_s >= sampler->deadline_s) {
			result->stop =
				result->count < LEAST_ON_TIME ? SAMPLER_DEADLINE : SAMPLER_TIME;
			return;
		}
		if (spent_s >= sampler->share_s && result->count >= LEAST_ON_TIME) {
			result->stop = SAMPLER_TIME;
			return;
		}
		result->code = sampler->sample(sampler->context, &result->values[result->count]);
		if (result->code != 0) {
			result->stop = SAMPLER_FAILED;
			return;
		}
		result->count++;
		if (result->count < look)
			continue;
		if (narrow(result->values, result->count, sampler->interval_ratio, space)) {
			result->stop = SAMPLER_INTERVAL;
			return;
		}
		look = result->count + 1 + result->count / 10;
	}
	result->stop = SAMPLER_COUNT;
}

int sampler_run(const struct sampler *sampler, struct sampler_result *result)
{
	*result = (struct sampler_result){0};
	double *values = malloc(2 * (sampler->most + 1) * sizeof(*values));
	if (!values)
		return -1;
	result->values = values;
	double start_s = sampler->now_s(sampler->context);
	result->code = warm_up(sampler, start_s, &result->thrown);
	if (result->code != 0)
		result->stop = SAMPLER_FAILED;
	else
		collect(sampler, start_s, values + sampler->most + 1, result);
	return 0;
}
