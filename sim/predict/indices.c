/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/indices.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"

enum { RESAMPLES = 400 };

/* Answers by row: of A, of B, then of each AB_i. Rows with a failure are left out. */
struct rows {
	const double *y;
	size_t width, count; /* width: inputs + 2 */
};

static double at(const struct rows *rows, size_t row, size_t column)
{
	return rows->y[row * rows->width + column];
}

/* Mean and variance of all of A and B among the rows. */
static void moments(const struct rows *rows, const size_t *chosen, double *mean, double *variance)
{
	double sum = 0, squares = 0, n = 2 * (double)rows->count;
	for (size_t i = 0; i < rows->count; i++)
		sum += at(rows, chosen[i], 0) + at(rows, chosen[i], 1);
	*mean = sum / n;
	for (size_t i = 0; i < rows->count; i++) {
		double a = at(rows, chosen[i], 0) - *mean, b = at(rows, chosen[i], 1) - *mean;
		squares += a * a + b * b;
	}
	*variance = squares / n;
}

/* An answer that moves by less than this part of itself does so by rounding. */
static const double ROUNDING = 1e-12;

enum estimator { FIRST_SALTELLI, FIRST_JANSEN, TOTAL_JANSEN, ESTIMATORS };

/* [input][estimator] */
static void estimate(const struct rows *rows, const size_t *chosen, double *out)
{
	double mean, variance, n = (double)rows->count;
	moments(rows, chosen, &mean, &variance);
	bool varies = variance > ROUNDING * ROUNDING * mean * mean;
	for (size_t k = 0; k < rows->width - 2; k++, out += ESTIMATORS) {
		double products = 0, to_a = 0, to_b = 0;
		for (size_t i = 0; i < rows->count; i++) {
			double b = at(rows, chosen[i], 1), ab = at(rows, chosen[i], k + 2);
			double less_a = ab - at(rows, chosen[i], 0), less_b = ab - b;
			products += (b - mean) * less_a;
			to_a += less_a * less_a;
			to_b += less_b * less_b;
		}
		out[FIRST_SALTELLI] = varies ? products / n / variance : NAN;
		out[FIRST_JANSEN] = varies ? 1 - to_b / n / (2 * variance) : NAN;
		out[TOTAL_JANSEN] = varies ? to_a / n / (2 * variance) : NAN;
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
		return (struct estimate){value, value, value};
	double low = num_quantile(sorted, count, 0.05), high = num_quantile(sorted, count, 0.95);
	return (struct estimate){value, fmin(value, low), fmax(value, high)};
}

static void summarize(struct arena *arena, const struct rows *rows, uint64_t seed,
		      struct index_estimate *indices)
{
	size_t width = (rows->width - 2) * ESTIMATORS;
	size_t *chosen = ARENA_ARRAY(arena, rows->count + 1, size_t);
	double *value = ARENA_ARRAY(arena, width, double);
	double *drawn = ARENA_ARRAY(arena, RESAMPLES * width, double);
	struct rng rng = rng_named(seed, "bootstrap");
	for (size_t i = 0; i < rows->count; i++)
		chosen[i] = i;
	estimate(rows, chosen, value);
	for (size_t r = 0; r < RESAMPLES; r++) {
		for (size_t i = 0; i < rows->count; i++)
			chosen[i] = (size_t)rng_below(&rng, rows->count);
		estimate(rows, chosen, drawn + r * width);
	}
	for (size_t k = 0; k < rows->width - 2; k++) {
		struct estimate of[ESTIMATORS];
		for (size_t e = 0; e < ESTIMATORS; e++)
			of[e] = bounded(arena, value[k * ESTIMATORS + e],
					drawn + k * ESTIMATORS + e, width);
		const struct estimate *a = &of[FIRST_SALTELLI], *b = &of[FIRST_JANSEN];
		bool jansen = b->high - b->low < a->high - a->low;
		indices[k] = (struct index_estimate){jansen ? *b : *a, of[TOTAL_JANSEN]};
	}
}

/* Row by row: A, B, AB_1 .. AB_k. */
static double *points_of(struct arena *arena, const struct indices_problem *p)
{
	size_t k = p->input_count, width = k + 2;
	double *both = ARENA_ARRAY(arena, p->sample_count * 2 * k + 1, double);
	double *points = ARENA_ARRAY(arena, p->sample_count * width * k + 1, double);
	num_sobol(p->sample_count, 2 * k, p->seed, both);
	for (size_t i = 0; i < p->sample_count; i++) {
		const double *a = both + i * 2 * k, *b = a + k;
		for (size_t column = 0; column < width; column++) {
			double *point = points + (i * width + column) * k;
			memcpy(point, column == 1 ? b : a, k * sizeof *point);
			if (column >= 2)
				point[column - 2] = b[column - 2];
		}
	}
	return points;
}

bool indices_estimate(struct arena *arena, const struct indices_problem *p,
		      struct index_estimate *indices, size_t *failed)
{
	FW_ASSERT(p->input_count >= 1 && p->input_count <= INDICES_INPUTS_MAX);
	size_t width = p->input_count + 2, kept = 0;
	double *y = ARENA_ARRAY(arena, p->sample_count * width + 1, double);
	const double *points = points_of(arena, p);
	if (!p->evaluate(p->ctx, points, p->sample_count * width, y))
		return false;
	for (size_t i = 0; i < p->sample_count; i++) {
		bool good = true;
		for (size_t column = 0; column < width; column++)
			good = good && isfinite(y[i * width + column]);
		if (good)
			memmove(y + kept++ * width, y + i * width, width * sizeof *y);
	}
	*failed = p->sample_count - kept;
	const struct rows rows = {y, width, kept};
	if (kept) {
		summarize(arena, &rows, p->seed, indices);
		return true;
	}
	for (size_t k = 0; k < p->input_count; k++)
		indices[k] = (struct index_estimate){{NAN, NAN, NAN}, {NAN, NAN, NAN}};
	return true;
}
