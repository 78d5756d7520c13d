/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/fit/law.h"

static const double HUBER = 1.345, SIGMA = 0.03; /* typical deviation of kernels from the law */
static const double UNBOUND = 50, RANGE = 8, STEP = 0.005; /* in logarithms, but UNBOUND */
/* Standard deviation of a constant's logarithm that points without an effect of it give. */
static const double UNKNOWN = 4;
/* A constant is fitted if it moves a point by more than this part of its own movement. */
static const double FELT = 0.01;
enum { EVALUATIONS = 400, ROUNDS = 12 };

static const struct {
	const char *key;
	size_t offset; /* in struct law */
} constants[LAW_CONSTANTS] = {
	[NUMBER_FP32] = {"product_fp32", offsetof(struct law, gpu.fp32_flops)},
	[NUMBER_TF32] = {"product_tf32", offsetof(struct law, gpu.tf32_flops)},
	[NUMBER_FP16] = {"product_half", offsetof(struct law, gpu.fp16_flops)},
	[NUMBER_BF16] = {"product_half", offsetof(struct law, gpu.bf16_flops)},
	[NUMBER_FP8] = {"product_fp8", offsetof(struct law, gpu.fp8_flops)},
	[LAW_FILL] = {"fill", offsetof(struct law, kernels.fill_s)},
	[LAW_LOAD] = {"load", offsetof(struct law, kernels.load_Bps)},
	[LAW_SPLIT] = {"split", offsetof(struct law, kernels.split_s)},
	[LAW_OPERAND] = {"operand", offsetof(struct law, kernels.operand_ratio)},
	[LAW_ATTENTION] = {"attention_forward",
			   offsetof(struct law, kernels.attention_forward_ratio)},
	[LAW_ATTENTION_FILL] = {"attention_fill", offsetof(struct law, kernels.attention_fill_s)},
	[LAW_ATTENTION_FLOOR] = {"attention_floor",
				 offsetof(struct law, kernels.attention_floor_s)},
	[LAW_ATTENTION_STORE] = {"attention_store",
				 offsetof(struct law, kernels.attention_store_s)},
	[LAW_TOKEN_FILL] = {"token_fill", offsetof(struct law, kernels.token_fill_s)},
	[LAW_TOKEN_FLOOR] = {"token_floor", offsetof(struct law, kernels.token_floor_s)},
	[LAW_TOKEN_LOAD] = {"token_load", offsetof(struct law, kernels.token_load_Bps)},
};

const char *law_key(enum law_constant constant)
{
	return constants[constant].key;
}

static double *place_of(struct law *law, size_t constant)
{
	return (double *)(void *)((char *)law + constants[constant].offset);
}

double law_value(const struct law *law, enum law_constant constant)
{
	struct law copy = *law;
	return *place_of(&copy, constant);
}

double law_at(const struct law *law, const struct single_kernel *run)
{
	const struct efficiency_params efficiency = {
		.law_ratio = 1, .kernels = &law->kernels, .alone = true};
	return single_kernel_s(run, &law->gpu, &efficiency);
}

void law_reached(struct law *law)
{
	struct kernel_params *kernels = &law->kernels;
	law->gpu.fp32_flops *= kernels->product_fp32_ratio;
	law->gpu.tf32_flops *= kernels->product_tf32_ratio;
	law->gpu.fp16_flops *= kernels->product_half_ratio;
	law->gpu.bf16_flops *= kernels->product_half_ratio;
	law->gpu.fp8_flops *= kernels->product_fp8_ratio;
	kernels->product_fp32_ratio = kernels->product_tf32_ratio = 1;
	kernels->product_half_ratio = kernels->product_fp8_ratio = 1;
}

/* ---- the fit ---- */

struct law_fitting {
	const struct law_point *points;
	size_t count;
	struct law *law;
	size_t free[LAW_CONSTANTS], free_count;
};

static double loss(const double *x, void *ctx)
{
	struct law_fitting *f = ctx;
	double sum = 0, limit = HUBER * SIGMA;
	for (size_t i = 0; i < f->free_count; i++)
		*place_of(f->law, f->free[i]) = exp(x[i]);
	for (size_t i = 0; i < f->count; i++) {
		const struct law_point *point = &f->points[i];
		double error = fabs(log(law_at(f->law, &point->run) / point->time_s));
		sum += error <= limit ? error * error : limit * (2 * error - limit);
	}
	return sum;
}

/* Fills the derivatives of the logarithms of the times by that of a constant. */
static void derive(const struct law_fitting *f, size_t constant, double *by)
{
	struct law up = *f->law, down = *f->law;
	*place_of(&up, constant) *= exp(STEP);
	*place_of(&down, constant) *= exp(-STEP);
	for (size_t i = 0; i < f->count; i++)
		by[i] = log(law_at(&up, &f->points[i].run) / law_at(&down, &f->points[i].run)) /
			(2 * STEP);
}

/* Inverts a positive definite matrix of n x n in place by Gauss and Jordan. */
static void invert(size_t n, double a[LAW_CONSTANTS][LAW_CONSTANTS])
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
static void linearise(struct arena *arena, const struct law_fitting *f)
{
	struct law *p = f->law;
	double inverse[LAW_CONSTANTS][LAW_CONSTANTS] = {{0}}, squares = 0, rms = 0;
	double *jacobian = ARENA_ARRAY(arena, LAW_CONSTANTS * f->count, double);
	double *gain = ARENA_ARRAY(arena, LAW_CONSTANTS * f->count, double);
	double *weights = ARENA_ARRAY(arena, f->count, double);
	double *predicted_s = ARENA_ARRAY(arena, f->count, double);
	for (size_t k = 0; k < f->free_count; k++)
		derive(f, f->free[k], &jacobian[k * f->count]);
	for (size_t i = 0; i < f->count; i++) {
		predicted_s[i] = law_at(p, &f->points[i].run);
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
	memset(gain, 0, LAW_CONSTANTS * f->count * sizeof *gain);
	for (size_t k = 0; k < LAW_CONSTANTS; k++)
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

void law_step(const struct law *law, const double *times_s, double *out)
{
	for (size_t k = 0; k < LAW_CONSTANTS; k++) {
		double step = 0;
		for (size_t i = 0; i < law->count; i++)
			step += law->gain[k * law->count + i] *
				log(times_s[i] / law->predicted_s[i]);
		out[k] =
			law_value(law, (enum law_constant)k) * exp(fmax(-RANGE, fmin(step, RANGE)));
	}
}

/* Sets the rates of the offered number types to the highest of the points. Returns false if the
 * points are too few or too similar. */
static bool begin(struct arena *arena, struct law_fitting *f, const bool offered[LAW_CONSTANTS])
{
	double least = INFINITY, most = 0, *by = ARENA_ARRAY(arena, f->count + 1, double);
	double best[LAW_TYPES] = {0};
	for (size_t i = 0; i < f->count; i++) {
		const struct kernel_work *work = &f->points[i].run.work;
		double time_s = fmax(f->points[i].time_s - f->law->gpu.kernel_floor_s, 1e-12);
		best[work->type] = fmax(best[work->type], work->flop / time_s);
		least = fmin(least, work->bytes_B);
		most = fmax(most, work->bytes_B);
	}
	for (size_t k = 0; k < LAW_TYPES; k++)
		if (offered[k] && best[k] > 0)
			*place_of(f->law, k) = best[k];
	for (size_t k = 0; k < LAW_CONSTANTS && f->count <= LAW_POINTS_MAX; k++) {
		double felt = 0;
		if (!offered[k] || !(*place_of(f->law, k) > 0))
			continue;
		derive(f, k, by);
		for (size_t i = 0; i < f->count; i++)
			felt = fmax(felt, fabs(by[i]));
		if (felt > FELT)
			f->free[f->free_count++] = k;
	}
	return f->free_count > 0 && f->count > f->free_count && most > 8 * least;
}

static double descend(struct law_fitting *f)
{
	double x[LAW_CONSTANTS], step[LAW_CONSTANTS], low[LAW_CONSTANTS], high[LAW_CONSTANTS];
	for (size_t i = 0; i < f->free_count; i++) {
		x[i] = log(*place_of(f->law, f->free[i]));
		step[i] = f->free[i] < LAW_TYPES ? 0.1 : 0.5;
		low[i] = x[i] - RANGE;
		high[i] = x[i] + RANGE;
	}
	for (int round = 0; round < 2; round++)
		num_minimise(loss, f, f->free_count, x, step, low, high, 1e-5, EVALUATIONS);
	return loss(x, f); /* which sets the constants */
}

/* Moves to the minimum by steps of Gauss and Newton, as long as they reduce the loss. */
static void polish(struct arena *arena, struct law_fitting *f, const double *times_s)
{
	double x[LAW_CONSTANTS], next[LAW_CONSTANTS], logs[LAW_CONSTANTS];
	for (int round = 0; round < ROUNDS; round++) {
		linearise(arena, f);
		struct law before = *f->law;
		for (size_t i = 0; i < f->free_count; i++)
			x[i] = log(*place_of(&before, f->free[i]));
		double least = loss(x, f);
		law_step(&before, times_s, next);
		for (size_t i = 0; i < f->free_count; i++)
			logs[i] = log(next[f->free[i]]);
		if (loss(logs, f) < least * (1 - 1e-9))
			continue;
		*f->law = before;
		return;
	}
	linearise(arena, f);
}

bool law_fit(struct arena *arena, const struct law_point *points, size_t count,
	     const bool offered[LAW_CONSTANTS], struct law *law)
{
	struct law_fitting f = {.points = points, .count = count, .law = law};
	double *times_s = ARENA_ARRAY(arena, count + 1, double);
	law->count = count;
	for (size_t i = 0; i < count; i++)
		times_s[i] = points[i].time_s;
	if (!begin(arena, &f, offered))
		return false;
	struct law other = *law;
	double bound = descend(&f);
	/* a second local minimum, where no product is limited by its bytes */
	other.kernels.operand_ratio *= UNBOUND;
	f.law = &other;
	if (offered[LAW_OPERAND] && descend(&f) < bound)
		*law = other;
	f.law = law;
	polish(arena, &f, times_s);
	return true;
}
