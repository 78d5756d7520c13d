/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/interval.h"

enum { PASSES_MAX = 1000 };
static const double PULLED_IN = 3 * 1.4826;

/* Returns the median distance to the median. Distances grow outwards on both sides, so the two
 * sides are merged up to their middle. */
static double deviation(const double *sorted, size_t count, double median)
{
	size_t low = count / 2, high = low; /* next candidates: low - 1 and high */
	double distance = 0;
	for (size_t i = 0; i <= count / 2; i++) {
		double below = low > 0 ? median - sorted[low - 1] : INFINITY;
		double above = high < count ? sorted[high] - median : INFINITY;
		distance = fmin(below, above);
		if (below <= above)
			low--;
		else
			high++;
	}
	return distance;
}

double passes_mean(const double *sorted, size_t count)
{
	double median =
		count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
	double sum = 0;
	if (count < 3)
		return median;
	double most = PULLED_IN * deviation(sorted, count, median);
	for (size_t i = 0; i < count; i++)
		sum += fmin(fmax(sorted[i], median - most), median + most);
	return sum / (double)count;
}

static void by_student(const struct interval_spec *spec, struct estimate *intervals)
{
	double out[INTERVAL_OUTPUTS_MAX], sum[INTERVAL_OUTPUTS_MAX] = {0},
					  square[INTERVAL_OUTPUTS_MAX] = {0};
	unsigned char times[INTERVAL_PASSES_MIN];
	double n = 0;
	for (size_t pass = 0; pass < spec->pass_count; pass++) {
		memset(times, 0, sizeof times);
		times[pass] = 1;
		struct pass_draw draw = {times, spec->pass_count};
		if (!spec->estimate(&draw, out, spec->ctx))
			continue;
		n++;
		for (size_t i = 0; i < spec->output_count; i++) {
			double distance = out[i] - intervals[i].value;
			sum[i] += distance;
			square[i] += distance * distance;
		}
	}
	for (size_t i = 0; i < spec->output_count && n > 1; i++) {
		double variance = fmax(0, square[i] - sum[i] * sum[i] / n) / (n - 1);
		double half = num_student_quantile(0.5 + spec->confidence / 2, n - 1) *
			      sqrt(variance / n);
		intervals[i].low = intervals[i].value - half;
		intervals[i].high = intervals[i].value + half;
	}
}

static void by_bootstrap(const struct interval_spec *spec, struct estimate *intervals)
{
	struct arena *scratch = arena_new();
	double *values = ARENA_ARRAY(scratch, spec->output_count * (size_t)INTERVAL_DRAWS, double);
	unsigned char times[PASSES_MAX];
	double out[INTERVAL_OUTPUTS_MAX];
	struct rng rng = rng_named(spec->seed, spec->name);
	size_t made = 0;
	for (size_t i = 0; i < INTERVAL_DRAWS; i++) {
		memset(times, 0, spec->pass_count);
		for (size_t k = 0; k < spec->pass_count; k++) {
			size_t pass = (size_t)rng_below(&rng, spec->pass_count);
			times[pass] = (unsigned char)(times[pass] + (times[pass] < 255));
		}
		struct pass_draw draw = {times, spec->pass_count};
		if (!spec->estimate(&draw, out, spec->ctx))
			continue;
		for (size_t k = 0; k < spec->output_count; k++)
			values[k * INTERVAL_DRAWS + made] = out[k];
		made++;
	}
	double n = (double)spec->pass_count;
	double tail = num_normal(-sqrt(n / (n - 1)) *
				 num_student_quantile(0.5 + spec->confidence / 2, n - 1));
	for (size_t k = 0; k < spec->output_count && made > INTERVAL_DRAWS / 2; k++) {
		double *sorted = &values[k * INTERVAL_DRAWS];
		intervals[k].low = num_quantile(sorted, made, tail);
		intervals[k].high = num_quantile(sorted, made, 1 - tail);
	}
	arena_free(scratch);
}

bool interval_of_passes(const struct interval_spec *spec, struct estimate *intervals)
{
	unsigned char times[PASSES_MAX];
	double out[INTERVAL_OUTPUTS_MAX];
	FW_ASSERT(spec->output_count <= INTERVAL_OUTPUTS_MAX && spec->pass_count <= PASSES_MAX);
	memset(times, 1, spec->pass_count);
	struct pass_draw all = {times, spec->pass_count};
	if (!spec->estimate(&all, out, spec->ctx))
		return false;
	for (size_t i = 0; i < spec->output_count; i++)
		intervals[i] = (struct estimate){out[i], NAN, NAN};
	if (spec->pass_count >= INTERVAL_PASSES_MIN)
		by_bootstrap(spec, intervals);
	else if (spec->pass_count > 1)
		by_student(spec, intervals);
	return true;
}

/* ---- arithmetic ---- */

struct estimate interval_under(double numerator, struct estimate interval)
{
	double low = interval.low > 0 ? numerator / interval.low : INFINITY;
	return (struct estimate){numerator / interval.value, numerator / interval.high,
				 isnan(interval.low) ? NAN : low};
}

struct estimate interval_plus(struct estimate interval, double more)
{
	return (struct estimate){interval.value + more, interval.low + more, interval.high + more};
}

static struct estimate combine(struct estimate a, struct estimate b, double factor)
{
	double value = a.value + factor * b.value;
	double half = hypot((a.high - a.low) / 2, factor * (b.high - b.low) / 2);
	return (struct estimate){value, value - half, value + half};
}

struct estimate interval_less(struct estimate a, struct estimate b)
{
	return combine(a, b, -1);
}

struct estimate interval_mean(struct estimate a, struct estimate b)
{
	return estimate_scaled(combine(a, b, 1), 0.5);
}

struct estimate interval_at_most(struct estimate interval, double most)
{
	return interval.value > most ? estimate_scaled(interval, most / interval.value) : interval;
}
