/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/indices.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"

enum { RESAMPLES = 400 };

/* Results by pair of points: of A, of B, then of AB_i and BA_i for each input. Pairs with a
 * failure are left out. */
struct pairs {
	const double *y;
	size_t width, count; /* width: 2 (inputs + 1) */
};

/* A relative change of a result below this is caused by rounding. */
static const double ROUNDING = 1e-12;

enum estimator { FIRST, TOTAL, ESTIMATORS };

/* out[input][estimator] */
static void estimate(const struct pairs *pairs, const size_t *chosen, double *out)
{
	for (size_t k = 2; k < pairs->width; k += 2, out += ESTIMATORS) {
		double together = 0, moved = 0, apart = 0, squares = 0;
		for (size_t i = 0; i < pairs->count; i++) {
			const double *y = pairs->y + chosen[i] * pairs->width;
			double a = y[0], b = y[1], ab = y[k], ba = y[k + 1];
			together += 2 * (ba - b) * (a - ab);
			moved += (ba - b) * (ba - b) + (a - ab) * (a - ab);
			apart += (a - b) * (a - b) + (ab - ba) * (ab - ba);
			squares += a * a + b * b;
		}
		bool varies = apart > ROUNDING * ROUNDING * squares;
		out[FIRST] = varies ? together / apart : NAN;
		out[TOTAL] = varies ? moved / apart : NAN;
	}
}

static struct estimate bounded(struct arena *arena, double value, const double *drawn,
			       size_t stride)
{
	double *sorted = ARENA_ARRAY(arena, RESAMPLES, double);
	size_t count = 0;
	for (size_t r = 0; r < RESAMPLES; r++)
		if (isfinite(drawn[r * stride]))
			sorted[count++] = drawn[r * stride];
	if (!isfinite(value) || !count)
		return estimate_exact(value);
	double low = num_quantile(sorted, count, 0.05), high = num_quantile(sorted, count, 0.95);
	return (struct estimate){value, fmin(value, low), fmax(value, high)};
}

static void summarize(struct arena *arena, const struct pairs *pairs, uint64_t seed,
		      struct index_estimate *indices)
{
	size_t inputs = pairs->width / 2 - 1, width = inputs * ESTIMATORS;
	size_t *chosen = ARENA_ARRAY(arena, pairs->count + 1, size_t);
	double *value = ARENA_ARRAY(arena, width, double);
	double *drawn = ARENA_ARRAY(arena, RESAMPLES * width, double);
	struct rng rng = rng_named(seed, "bootstrap");
	for (size_t i = 0; i < pairs->count; i++)
		chosen[i] = i;
	estimate(pairs, chosen, value);
	for (size_t r = 0; r < RESAMPLES; r++) {
		for (size_t i = 0; i < pairs->count; i++)
			chosen[i] = (size_t)rng_below(&rng, pairs->count);
		estimate(pairs, chosen, drawn + r * width);
	}
	for (size_t k = 0; k < inputs; k++) {
		const double *of = value + k * ESTIMATORS, *with = drawn + k * ESTIMATORS;
		indices[k] =
			(struct index_estimate){bounded(arena, of[FIRST], with + FIRST, width),
						bounded(arena, of[TOTAL], with + TOTAL, width)};
	}
}

/* Returns the points pair by pair: A, B, AB_1, BA_1 .. AB_k, BA_k. */
static double *points_of(struct arena *arena, const struct indices_problem *p, size_t pair_count)
{
	size_t k = p->input_count, width = 2 * (k + 1);
	double *both = ARENA_ARRAY(arena, pair_count * 2 * k + 1, double);
	double *points = ARENA_ARRAY(arena, pair_count * width * k + 1, double);
	num_sobol(pair_count, 2 * k, p->seed, both);
	for (size_t i = 0; i < pair_count; i++) {
		const double *a = both + i * 2 * k, *b = a + k;
		for (size_t column = 0; column < width; column++) {
			double *point = points + (i * width + column) * k;
			memcpy(point, column % 2 ? b : a, k * sizeof *point);
			if (column >= 2)
				point[column / 2 - 1] = (column % 2 ? a : b)[column / 2 - 1];
		}
	}
	return points;
}

bool indices_estimate(struct arena *arena, const struct indices_problem *p,
		      struct index_estimate *indices, size_t *failed)
{
	FW_ASSERT(p->input_count >= 1 && p->input_count <= INDICES_INPUTS_MAX);
	size_t count = (p->point_count + 1) / 2, width = 2 * (p->input_count + 1), kept = 0;
	double *y = ARENA_ARRAY(arena, count * width + 1, double);
	const double *points = points_of(arena, p, count);
	if (!p->evaluate(p->ctx, points, count * width, y))
		return false;
	for (size_t i = 0; i < count; i++) {
		bool good = true;
		for (size_t column = 0; column < width; column++)
			good = good && isfinite(y[i * width + column]);
		if (good)
			memmove(y + kept++ * width, y + i * width, width * sizeof *y);
	}
	*failed = 2 * (count - kept);
	const struct pairs pairs = {y, width, kept};
	if (kept) {
		summarize(arena, &pairs, p->seed, indices);
		return true;
	}
	for (size_t k = 0; k < p->input_count; k++)
		indices[k] = (struct index_estimate){ESTIMATE_NONE, ESTIMATE_NONE};
	return true;
}
