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

static void estimate(const struct rows *rows, const size_t *chosen, double *first, double *total)
{
	double mean, variance;
	moments(rows, chosen, &mean, &variance);
	bool varies = variance > ROUNDING * ROUNDING * mean * mean;
	for (size_t k = 0; k < rows->width - 2; k++) {
		double products = 0, squares = 0;
		for (size_t i = 0; i < rows->count; i++) {
			double a = at(rows, chosen[i], 0), b = at(rows, chosen[i], 1) - mean;
			double difference = at(rows, chosen[i], k + 2) - a;
			products += b * difference;
			squares += difference * difference;
		}
		first[k] = varies ? products / (double)rows->count / variance : NAN;
		total[k] = varies ? squares / (double)rows->count / (2 * variance) : NAN;
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
	size_t inputs = rows->width - 2;
	size_t *chosen = ARENA_ARRAY(arena, rows->count + 1, size_t);
	double *first = ARENA_ARRAY(arena, inputs, double);
	double *total = ARENA_ARRAY(arena, inputs, double);
	double *firsts = ARENA_ARRAY(arena, RESAMPLES * inputs, double);
	double *totals = ARENA_ARRAY(arena, RESAMPLES * inputs, double);
	struct rng rng = rng_named(seed, "bootstrap");
	for (size_t i = 0; i < rows->count; i++)
		chosen[i] = i;
	estimate(rows, chosen, first, total);
	for (size_t r = 0; r < RESAMPLES; r++) {
		for (size_t i = 0; i < rows->count; i++)
			chosen[i] = (size_t)rng_below(&rng, rows->count);
		estimate(rows, chosen, firsts + r * inputs, totals + r * inputs);
	}
	for (size_t k = 0; k < inputs; k++)
		indices[k] = (struct index_estimate){bounded(arena, first[k], firsts + k, inputs),
						     bounded(arena, total[k], totals + k, inputs)};
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
