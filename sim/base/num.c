/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/num.h"

#include <float.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>
#include <gsl/gsl_roots.h>

#include "sim/base/base.h"
#include "calib/sample/stats.h"
#include "sim/base/hash.h"

void num_init(void)
{
	gsl_set_error_handler_off();
}

/* ---- random streams ---- */

/* splitmix64 by Steele, Lea and Flood (2014). */
static uint64_t splitmix64(uint64_t *state)
{
	return hash_spread(*state += 0x9e3779b97f4a7c15u);
}

struct rng rng_named(uint64_t seed, const char *name)
{
	/* mix the seed first, so that seed and name cannot cancel each other */
	uint64_t state = splitmix64(&seed) ^ hash_bytes(HASH_START, name, strlen(name));
	struct rng rng;
	for (size_t i = 0; i < 4; i++)
		rng.state[i] = splitmix64(&state);
	return rng;
}

static uint64_t rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

/* xoshiro256** by Blackman and Vigna (2018). */
static uint64_t rng_next(struct rng *rng)
{
	uint64_t *s = rng->state;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

double rng_uniform(struct rng *rng)
{
	/* 52 random bits plus one half exclude both 0 and 1 */
	return ((double)(rng_next(rng) >> 12) + 0.5) * 0x1p-52;
}

uint64_t rng_below(struct rng *rng, uint64_t n)
{
	FW_ASSERT(n > 0);
	/* 2^64 mod n: rejecting these draws removes the bias to low results */
	uint64_t surplus = -n % n;
	uint64_t x;
	do
		x = rng_next(rng);
	while (x < surplus);
	return x % n;
}

double num_normal_quantile(double p)
{
	return gsl_cdf_ugaussian_Pinv(p);
}

double num_normal(double x)
{
	return gsl_cdf_ugaussian_P(x);
}

double num_student_quantile(double p, double freedom_count)
{
	return freedom_count > 0 ? gsl_cdf_tdist_Pinv(p, freedom_count) : num_normal_quantile(p);
}

double num_gamma_quantile(double p, double shape)
{
	return gsl_cdf_gamma_Pinv(p, shape, 1);
}

double num_student(double x, double freedom_count)
{
	return freedom_count > 0 ? gsl_cdf_tdist_P(x, freedom_count) : num_normal(x);
}

/* ---- minima ---- */

struct function_in_box {
	double (*f)(const double *x, void *ctx);
	void *ctx;
	size_t n;
	const double *low, *high;
	double *x;    /* the point inside the box */
	double *best; /* the point at which f was value_best */
	double value_best;
	size_t evaluations, evaluations_max;
};

/* Mirrors x at the bounds until it lies between them. */
static double mirror(double x, double low, double high)
{
	double width = high - low;
	if (!(width > 0))
		return low;
	if (!isfinite(x))
		return isnan(x) || x < 0 ? low : high;
	if (isfinite(width)) {
		double turn = fmod(x - low, 2 * width);
		if (turn < 0)
			turn += 2 * width;
		x = low + (turn <= width ? turn : 2 * width - turn);
	} else if (x < low) {
		x = 2 * low - x;
	} else if (x > high) {
		x = 2 * high - x;
	}
	return fmin(fmax(x, low), high);
}

static double box_value(const gsl_vector *at, void *opaque)
{
	struct function_in_box *box = opaque;
	if (box->evaluations >= box->evaluations_max)
		return DBL_MAX; /* the budget is used up: let the last simplex end */
	box->evaluations++;
	for (size_t i = 0; i < box->n; i++)
		box->x[i] = mirror(gsl_vector_get(at, i), box->low[i], box->high[i]);
	double value = box->f(box->x, box->ctx);
	if (!isfinite(value))
		value = DBL_MAX; /* the worst possible value, so that the simplex moves away */
	if (value < box->value_best) {
		box->value_best = value;
		memcpy(box->best, box->x, box->n * sizeof *box->best);
	}
	return value;
}

static void minimise(struct function_in_box *box, gsl_multimin_fminimizer *minimizer,
		     gsl_vector *at, gsl_vector *first_step, double tolerance)
{
	gsl_multimin_function function = {.f = box_value, .n = box->n, .params = box};
	if (gsl_multimin_fminimizer_set(minimizer, &function, at, first_step) != GSL_SUCCESS)
		return;
	while (box->evaluations < box->evaluations_max) {
		if (gsl_multimin_fminimizer_iterate(minimizer) != GSL_SUCCESS)
			break;
		if (gsl_multimin_fminimizer_size(minimizer) < tolerance)
			break;
	}
}

double num_minimise(double (*f)(const double *x, void *ctx), void *ctx, size_t n, double *x,
		    const double *step, const double *low, const double *high, double tolerance,
		    size_t evaluations_max)
{
	if (n == 0)
		return f(x, ctx);
	gsl_multimin_fminimizer *minimizer =
		gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, n);
	gsl_vector *at = gsl_vector_alloc(n), *first_step = gsl_vector_alloc(n);
	double *inside = malloc(n * sizeof *inside);
	FW_ASSERT(minimizer && at && first_step && inside);
	for (size_t i = 0; i < n; i++) {
		x[i] = mirror(x[i], low[i], high[i]);
		gsl_vector_set(at, i, x[i]);
		gsl_vector_set(first_step, i, step[i]);
	}
	struct function_in_box box = {.f = f,
				      .ctx = ctx,
				      .n = n,
				      .low = low,
				      .high = high,
				      .x = inside,
				      .best = x,
				      .value_best = DBL_MAX,
				      .evaluations_max = evaluations_max};
	minimise(&box, minimizer, at, first_step, tolerance);
	free(inside);
	gsl_vector_free(first_step);
	gsl_vector_free(at);
	gsl_multimin_fminimizer_free(minimizer);
	return box.value_best;
}

/* ---- roots ---- */

struct function_of_x {
	double (*f)(double x, void *ctx);
	void *ctx;
};

static double line_value(double x, void *opaque)
{
	struct function_of_x *line = opaque;
	return line->f(x, line->ctx);
}

bool num_root(double (*f)(double x, void *ctx), void *ctx, double low, double high,
	      double tolerance, double *root)
{
	enum { ITERATIONS_MAX = 200 };
	struct function_of_x line = {f, ctx};
	gsl_function function = {.function = line_value, .params = &line};
	gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
	FW_ASSERT(solver);
	bool found = false;
	if (gsl_root_fsolver_set(solver, &function, low, high) == GSL_SUCCESS) {
		for (int i = 0; i < ITERATIONS_MAX && !found; i++) {
			if (gsl_root_fsolver_iterate(solver) != GSL_SUCCESS)
				break;
			double width =
				gsl_root_fsolver_x_upper(solver) - gsl_root_fsolver_x_lower(solver);
			double least = 4 * DBL_EPSILON * fabs(gsl_root_fsolver_root(solver));
			found = fabs(width) <= fmax(tolerance, least);
		}
	}
	if (found)
		*root = gsl_root_fsolver_root(solver);
	gsl_root_fsolver_free(solver);
	return found;
}

/* ---- order statistics ---- */

double num_quantile(double *values, size_t count, double q)
{
	FW_ASSERT(count > 0 && q >= 0 && q <= 1);
	stats_sort(values, count);
	double at = q * (double)(count - 1);
	size_t below = (size_t)at;
	if (below + 1 >= count)
		return values[count - 1];
	return values[below] + (at - (double)below) * (values[below + 1] - values[below]);
}

void num_cholesky(double *matrix, size_t n, double least)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j <= i; j++) {
			double sum = matrix[i * n + j];
			for (size_t k = 0; k < j; k++)
				sum -= matrix[i * n + k] * matrix[j * n + k];
			matrix[i * n + j] =
				i == j ? sqrt(fmax(sum, least)) : sum / matrix[j * n + j];
		}
}
