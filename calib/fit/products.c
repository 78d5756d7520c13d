/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/products.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"

static const double HUBER = 1.345, SIGMA = 0.03; /* typical deviation of products from the law */
static const double FILL_S = 0.5e-6, LOAD_BPS = 80e9; /* starting values */
/* Time of the kernel that adds the parts of a split k: few products depend on it. */
static const double SPLIT_S = 2.5e-6;
static const double UNBOUND = 50, RANGE = 8, STEP = 0.005; /* in logarithms, but UNBOUND */
/* Standard deviation of a constant's logarithm that points without an effect of it give. */
static const double UNKNOWN = 4;
enum { EVALUATIONS = 1500, ROUNDS = 12 };

struct kernel_work products_work(enum number_type type, double m, double n, double k)
{
	double element_B = type == NUMBER_FP16 || type == NUMBER_BF16 ? 2 : 4;
	return (struct kernel_work){.flop = 2 * m * n * k,
				    .bytes_B = element_B * (m * k + k * n + m * n),
				    .form = KERNEL_PRODUCT,
				    .type = type,
				    .product = {m, n, k, 1}};
}

double products_at(const struct products *p, const struct kernel_work *work)
{
	const struct gpu_params gpu = {.generation =
					       p->any_width ? GENERATION_HOPPER : GENERATION_VOLTA,
				       .fp32_flops = p->value[NUMBER_FP32],
				       .tf32_flops = p->value[NUMBER_TF32],
				       .fp16_flops = p->value[NUMBER_FP16],
				       .bf16_flops = p->value[NUMBER_BF16],
				       .memory_bandwidth_Bps = p->value[PRODUCTS_BANDWIDTH],
				       .memory_efficiency_ratio = 1,
				       .multiprocessors_count = p->sm_count,
				       .kernel_floor_s = p->floor_s};
	const struct kernel_params kernels = {.product_fp32_ratio = 1,
					      .product_tf32_ratio = 1,
					      .product_half_ratio = 1,
					      .fill_s = p->value[PRODUCTS_FILL],
					      .load_Bps = p->value[PRODUCTS_LOAD],
					      .split_s = SPLIT_S,
					      .operand_ratio = 1};
	const struct efficiency_params law = {.law_ratio = 1, .kernels = &kernels, .alone = true};
	return kernel_duration_s(&gpu, &law, work);
}

/* ---- the fit ---- */

struct products_fitting {
	const struct products_point *points;
	size_t count;
	struct products *products;
	size_t free[PRODUCTS_CONSTANTS], free_count; /* constants that the points contain */
};

static double loss(const double *x, void *ctx)
{
	struct products_fitting *f = ctx;
	double sum = 0, limit = HUBER * SIGMA;
	for (size_t i = 0; i < f->free_count; i++)
		f->products->value[f->free[i]] = exp(x[i]);
	for (size_t i = 0; i < f->count; i++) {
		const struct products_point *point = &f->points[i];
		double error = fabs(log(products_at(f->products, &point->work) / point->time_s));
		sum += error <= limit ? error * error : limit * (2 * error - limit);
	}
	return sum;
}

/* Fills the derivatives of the logarithms of the times by those of the constants. */
static void derive(const struct products_fitting *f, double *jacobian)
{
	for (size_t k = 0; k < f->free_count; k++) {
		struct products up = *f->products, down = *f->products;
		up.value[f->free[k]] *= exp(STEP);
		down.value[f->free[k]] *= exp(-STEP);
		for (size_t i = 0; i < f->count; i++)
			jacobian[k * f->count + i] = log(products_at(&up, &f->points[i].work) /
							 products_at(&down, &f->points[i].work)) /
						     (2 * STEP);
	}
}

/* Inverts a positive definite matrix of n x n in place by Gauss and Jordan. */
static void invert(size_t n, double a[PRODUCTS_CONSTANTS][PRODUCTS_CONSTANTS])
{
	for (size_t k = 0; k < n; k++) {
		double pivot = 1 / a[k][k];
		a[k][k] = 1;
		for (size_t j = 0; j < n; j++)
			a[k][j] *= pivot;
		for (size_t i = 0; i < n; i++) {
			double factor = a[i][k];
			if (i == k)
				continue;
			a[i][k] = 0;
			for (size_t j = 0; j < n; j++)
				a[i][j] -= factor * a[k][j];
		}
	}
}

/* Computes the linear map from errors of the points to a step of the constants, and the standard
 * errors. */
static void linearise(struct arena *arena, const struct products_fitting *f)
{
	struct products *p = f->products;
	double inverse[PRODUCTS_CONSTANTS][PRODUCTS_CONSTANTS] = {{0}}, squares = 0, rms = 0;
	double *jacobian = ARENA_ARRAY(arena, PRODUCTS_CONSTANTS * f->count, double);
	double *gain = ARENA_ARRAY(arena, PRODUCTS_CONSTANTS * f->count, double);
	double *weights = ARENA_ARRAY(arena, f->count, double);
	double *predicted_s = ARENA_ARRAY(arena, f->count, double);
	derive(f, jacobian);
	for (size_t i = 0; i < f->count; i++) {
		predicted_s[i] = products_at(p, &f->points[i].work);
		double error = fabs(log(f->points[i].time_s / predicted_s[i]));
		weights[i] = error > HUBER * SIGMA ? HUBER * SIGMA / error : 1;
		squares += weights[i] * error * error;
		rms += pow(predicted_s[i] / f->points[i].time_s - 1, 2);
	}
	p->rms_ratio = sqrt(rms / (double)f->count);
	double variance = squares / (double)(f->count - f->free_count);
	for (size_t k = 0; k < f->free_count; k++)
		for (size_t j = 0; j < f->free_count; j++) {
			inverse[k][j] = k == j ? variance / (UNKNOWN * UNKNOWN) + 1e-12 : 0;
			for (size_t i = 0; i < f->count; i++)
				inverse[k][j] += weights[i] * jacobian[k * f->count + i] *
						 jacobian[j * f->count + i];
		}
	invert(f->free_count, inverse);
	memset(gain, 0, PRODUCTS_CONSTANTS * f->count * sizeof *gain);
	for (size_t k = 0; k < PRODUCTS_CONSTANTS; k++)
		p->error_ratio[k] = INFINITY;
	for (size_t k = 0; k < f->free_count; k++) {
		p->error_ratio[f->free[k]] = sqrt(variance * inverse[k][k]);
		for (size_t j = 0; j < f->free_count; j++)
			for (size_t i = 0; i < f->count; i++)
				gain[f->free[k] * f->count + i] +=
					inverse[k][j] * weights[i] * jacobian[j * f->count + i];
	}
	p->predicted_s = predicted_s;
	p->gain = gain;
}

void products_step(const struct products *p, const double *times_s, double *out)
{
	for (size_t k = 0; k < PRODUCTS_CONSTANTS; k++) {
		double step = 0;
		for (size_t i = 0; i < p->count; i++)
			step += p->gain[k * p->count + i] * log(times_s[i] / p->predicted_s[i]);
		out[k] = p->value[k] * exp(fmax(-RANGE, fmin(step, RANGE)));
	}
}

/* Starts from the fastest product of each type. Returns false if a type or all have too few. */
static bool guess(struct products_fitting *f)
{
	double *value = f->products->value, least = INFINITY, most = 0;
	for (size_t k = 0; k < PRODUCTS_CONSTANTS; k++)
		value[k] = 0;
	for (size_t i = 0; i < f->count; i++) {
		const struct kernel_work *work = &f->points[i].work;
		double time_s = fmax(f->points[i].time_s - f->products->floor_s, 1e-12);
		value[work->type] = fmax(value[work->type], work->flop / time_s);
		value[PRODUCTS_BANDWIDTH] =
			fmax(value[PRODUCTS_BANDWIDTH], 2 * work->bytes_B / time_s);
		least = fmin(least, work->flop);
		most = fmax(most, work->flop);
	}
	value[PRODUCTS_FILL] = FILL_S;
	value[PRODUCTS_LOAD] = LOAD_BPS;
	for (size_t k = 0; k < PRODUCTS_CONSTANTS; k++)
		if (value[k] > 0)
			f->free[f->free_count++] = k;
	return f->count > f->free_count && f->count <= PRODUCTS_POINTS_MAX && most > 8 * least;
}

/* Minimises from the present constants and returns the loss. */
static double descend(struct products_fitting *f)
{
	double x[PRODUCTS_CONSTANTS], step[PRODUCTS_CONSTANTS], low[PRODUCTS_CONSTANTS],
		high[PRODUCTS_CONSTANTS];
	for (size_t i = 0; i < f->free_count; i++) {
		x[i] = log(f->products->value[f->free[i]]);
		step[i] = f->free[i] < PRODUCTS_TYPES ? 0.1 : 0.5;
		low[i] = x[i] - RANGE;
		high[i] = x[i] + RANGE;
	}
	for (int round = 0; round < 2; round++)
		num_minimise(loss, f, f->free_count, x, step, low, high, 1e-5, EVALUATIONS);
	return loss(x, f); /* which sets the constants */
}

/* Moves to the minimum by steps of Gauss and Newton, as long as they reduce the loss. */
static void polish(struct arena *arena, struct products_fitting *f, const double *times_s)
{
	double x[PRODUCTS_CONSTANTS], next[PRODUCTS_CONSTANTS], logs[PRODUCTS_CONSTANTS];
	for (int round = 0; round < ROUNDS; round++) {
		linearise(arena, f);
		struct products before = *f->products;
		for (size_t i = 0; i < f->free_count; i++)
			x[i] = log(before.value[f->free[i]]);
		double least = loss(x, f);
		products_step(&before, times_s, next);
		for (size_t i = 0; i < f->free_count; i++)
			logs[i] = log(next[f->free[i]]);
		if (loss(logs, f) < least * (1 - 1e-9))
			continue;
		*f->products = before;
		return;
	}
	linearise(arena, f);
}

bool products_fit(struct arena *arena, const struct products_point *points, size_t count,
		  struct products *products)
{
	struct products_fitting f = {.points = points, .count = count, .products = products};
	double *times_s = ARENA_ARRAY(arena, count + 1, double);
	products->count = count;
	for (size_t i = 0; i < count; i++)
		times_s[i] = points[i].time_s;
	if (!guess(&f))
		return false;
	struct products unbound = *products;
	double bound = descend(&f);
	/* a second local minimum, where no product is limited by its bytes */
	unbound.value[PRODUCTS_BANDWIDTH] *= UNBOUND;
	struct products other = unbound;
	f.products = &other;
	if (descend(&f) < bound)
		*products = other;
	f.products = products;
	polish(arena, &f, times_s);
	return true;
}
