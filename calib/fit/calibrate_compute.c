/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic and memory bandwidth of a GPU. */
#include <math.h>
#include <string.h>

#include "calib/fit/calibrating.h"
#include "calib/fit/products.h"
#include "sim/base/arena.h"
#include "sim/base/num.h"

static const double GEMM_LIMIT = 0.10, CALLS_LIMIT = 0.05;
/* The probe repeats a short product that many times in a graph. */
static const double GRAPH_NODES = 20;
/* A constant is unknown if the ends of its interval differ by more than this factor. */
static const double KNOWN_TIMES = 10;

/* ---- matrix products ---- */

static const struct {
	const char *name, *constant;
} types[PRODUCTS_TYPES] = {[NUMBER_FP32] = {"fp32", "product_fp32"},
			   [NUMBER_TF32] = {"tf32", "product_tf32"},
			   [NUMBER_FP16] = {"fp16", "product_half"},
			   [NUMBER_BF16] = {"bf16", "product_half"}};

struct fitted_products {
	struct products law;
	struct pass_values values;
	const struct recording_point *from[PRODUCTS_POINTS_MAX];
	struct products_point points[PRODUCTS_POINTS_MAX];
	size_t count;
	struct interval constants[PRODUCTS_CONSTANTS];
};

static bool estimate_products(const struct pass_draw *draw, double *out, void *ctx)
{
	const struct fitted_products *p = ctx;
	double drawn[PRODUCTS_POINTS_MAX];
	if (!pass_values_draw(&p->values, draw, drawn))
		return false;
	products_step(&p->law, drawn, out);
	return true;
}

static struct kernel_work work_of(const struct recording_point *point, enum number_type type)
{
	return products_work(type, recording_point_number(point, "m", 0),
			     recording_point_number(point, "n", 0),
			     recording_point_number(point, "k", 0));
}

static size_t products_of(struct calibrating *c, enum number_type type,
			  const struct recording_point *const **points)
{
	return recording_find(c->recording, c->arena, "gemm",
			      arena_printf(c->arena, "type=%s", types[type].name), points);
}

/* Fits the products of these types. The passes give intervals, which are at least as wide as the
 * residuals require. */
static bool fit_products(struct calibrating *c, const bool with[PRODUCTS_TYPES],
			 struct fitted_products *p)
{
	p->count = 0;
	for (enum number_type type = 0; type <= NUMBER_BF16; type++) {
		const struct recording_point *const *points;
		size_t count = with[type] ? products_of(c, type, &points) : 0;
		for (size_t i = 0; i < count && p->count < PRODUCTS_POINTS_MAX; i++) {
			if (points[i]->held_out || !(points[i]->value > p->law.floor_s))
				continue;
			p->from[p->count] = points[i];
			p->points[p->count++] =
				(struct products_point){work_of(points[i], type), points[i]->value};
		}
	}
	if (!products_fit(c->arena, p->points, p->count, &p->law))
		return false;
	p->values = pass_values_of(c->arena, p->from, p->count, c->recording->pass_count);
	const struct interval_spec spec = {.estimate = estimate_products,
					   .ctx = p,
					   .output_count = PRODUCTS_CONSTANTS,
					   .pass_count = c->recording->pass_count,
					   .confidence = c->confidence,
					   .seed = c->seed,
					   .name = "gemm"};
	interval_of_passes(&spec, p->constants);
	double quantile = num_student_quantile(0.5 + c->confidence / 2,
					       (double)(p->count - PRODUCTS_CONSTANTS));
	for (size_t k = 0; k < PRODUCTS_CONSTANTS; k++) {
		struct interval *to = &p->constants[k];
		double times = exp(quantile * p->law.error_ratio[k]);
		to->low = fmin(to->value / times, isnan(to->low) ? INFINITY : to->low);
		to->high = fmax(to->value * times, isnan(to->high) ? 0 : to->high);
	}
	return true;
}

/* Adds the products of a type to the page and judges them. */
static const struct calibration_series *show(struct calibrating *c, enum number_type type,
					     const struct products *law)
{
	const struct recording_point *const *points;
	size_t count = products_of(c, type, &points);
	struct calibration_point *to = ARENA_ARRAY(c->arena, count, struct calibration_point);
	struct calibration_series *series = VEC_PUSH(c->arena, &c->result->series);
	double squares = 0, fitted_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct kernel_work work = work_of(points[i], type);
		to[i] = (struct calibration_point){.x = work.flop,
						   .y = points[i]->value,
						   .low = points[i]->passes.items[0].low,
						   .high = points[i]->passes.items[0].high,
						   .predicted = products_at(law, &work),
						   .held_out = points[i]->held_out};
		fitted_count += !to[i].held_out;
		squares += to[i].held_out ? 0 : pow(to[i].predicted / to[i].y - 1, 2);
	}
	*series = (struct calibration_series){
		.label = arena_printf(c->arena, "gemm %s", types[type].name),
		.x_name = "flop",
		.limit_ratio = GEMM_LIMIT,
		.points = to,
		.count = count};
	series->segments.rms_ratio = sqrt(squares / fitted_count);
	calibrating_gate(c, series);
	return series;
}

/* Returns the path of a constant of the GPU's generation. A GPU that no file describes can have any
 * generation. */
static const char *constant_path(struct calibrating *c, const char *constant)
{
	return arena_printf(c->arena, "kernels.%s.%s", c->generation ? c->generation : "*",
			    constant);
}

/* Writes the rate of a type as a part of the published peak. Where that is not known, the rate
 * becomes the peak. */
static void rate_found(struct calibrating *c, enum number_type type, struct interval rate,
		       const char *quality)
{
	const char *path = constant_path(c, types[type].constant);
	double peak = c->peaks_flops[type];
	if (!(peak > 0)) {
		calibrating_found(c, arena_printf(c->arena, "gpu.*.%s", types[type].name),
				  QUANTITY_FLOP_RATE, rate,
				  "rate of large matrix products (the published peak is not known "
				  "here); %s",
				  quality);
		rate = (struct interval){1, 1, 1};
		peak = 1;
	}
	struct interval part = interval_times(rate, 1 / peak);
	if (type == NUMBER_BF16) /* fp16 and bf16 share a constant */
		for (size_t i = 0; i < c->result->parameters.count; i++) {
			struct calibrated *half = &c->result->parameters.items[i];
			if (strcmp(half->path, path) != 0)
				continue;
			half->value = (struct interval){(half->value.value + part.value) / 2,
							fmin(half->value.low, part.low),
							fmax(half->value.high, part.high)};
			half->note = arena_printf(c->arena, "%s; and %s", half->note, quality);
			return;
		}
	calibrating_found(c, path, QUANTITY_RATIO, part,
			  "part of the peak that large matrix products reach; %s", quality);
}

static void shared_found(struct calibrating *c, const char *constant, enum quantity quantity,
			 struct interval value, const struct products *law)
{
	const char *path = constant_path(c, constant);
	if (value.high > KNOWN_TIMES * value.low)
		calibrating_left_out(c, path,
				     "the measured products do not determine it (%.3g to %.3g)",
				     value.low, value.high);
	else
		calibrating_found(c, path, quantity, value,
				  "from %zu matrix products of all types: rms error %.2f %%",
				  law->count, 100 * law->rms_ratio);
}

/* Returns true if the generation of that name has libraries with tiles of each width. */
static bool has_any_width(const char *generation)
{
	for (int i = GENERATION_HOPPER; generation && i < GENERATION_COUNT; i++)
		if (strcmp(gpu_generation_name((enum gpu_generation)i), generation) == 0)
			return true;
	return false;
}

static void arithmetic(struct calibrating *c, double floor_s)
{
	const struct recording_point *const *points;
	const struct calibration_series *series[PRODUCTS_TYPES] = {0};
	struct fitted_products *p = ARENA_NEW(c->arena, struct fitted_products);
	bool with[PRODUCTS_TYPES], dropped = false;
	size_t measured_count = 0;
	for (enum number_type type = 0; type <= NUMBER_BF16; type++)
		measured_count += (with[type] = products_of(c, type, &points) > 0);
	p->law.floor_s = floor_s;
	p->law.sm_count = c->sm_count;
	p->law.any_width = has_any_width(c->generation);
	if (measured_count == 0)
		return;
	if (!(c->sm_count > 0) || !fit_products(c, with, p)) {
		calibrating_left_out(c, "gemm",
				     c->sm_count > 0
					     ? "there are too few products of different work"
					     : "the number of SMs is not known");
		return;
	}
	for (enum number_type type = 0; type <= NUMBER_BF16; type++) {
		series[type] = with[type] ? show(c, type, &p->law) : NULL;
		dropped |= with[type] && !series[type]->holds;
		with[type] = with[type] && series[type]->holds;
	}
	/* a type that fails its gate does not influence the others */
	if (dropped && !fit_products(c, with, p))
		return;
	for (enum number_type type = 0; type <= NUMBER_BF16; type++)
		if (with[type])
			rate_found(c, type, p->constants[type],
				   calibrating_quality(c, series[type]));
	shared_found(c, "fill", QUANTITY_TIME, p->constants[PRODUCTS_FILL], &p->law);
	shared_found(c, "load", QUANTITY_RATE, p->constants[PRODUCTS_LOAD], &p->law);
}

/* ---- memory ---- */

struct streaming {
	struct pass_values values;
	const double *sizes_B;
	double floor_s;
};

static bool estimate_rate(const struct pass_draw *draw, double *out, void *ctx)
{
	const struct streaming *s = ctx;
	double sum = 0, drawn[SEGMENTS_POINTS_MAX];
	if (!pass_values_draw(&s->values, draw, drawn))
		return false;
	for (size_t i = 0; i < s->values.point_count; i++) {
		double time_s = drawn[i] - s->floor_s;
		if (!(time_s > 0))
			return false;
		sum += s->sizes_B[i] / time_s;
	}
	*out = sum / (double)s->values.point_count;
	return true;
}

/* Fits the bandwidth of kernels that only read and write memory beyond the caches. */
static void memory(struct calibrating *c, double floor_s)
{
	static const char *const kernels[] = {"kernel=copy level=hbm", "kernel=triad level=hbm"};
	const struct recording_point *all[SEGMENTS_POINTS_MAX];
	double sizes_B[SEGMENTS_POINTS_MAX];
	size_t n = 0;
	for (size_t kind = 0; kind < 2; kind++) {
		const struct recording_point *const *points;
		size_t count =
			recording_find(c->recording, c->arena, "memory", kernels[kind], &points);
		for (size_t i = 0; i < count && n < SEGMENTS_POINTS_MAX; i++) {
			if (points[i]->held_out)
				continue;
			sizes_B[n] = recording_point_number(points[i], "size_B", 0);
			all[n++] = points[i];
		}
	}
	if (n == 0)
		return;
	struct streaming s = {pass_values_of(c->arena, all, n, c->recording->pass_count), sizes_B,
			      floor_s};
	const struct interval_spec spec = {.estimate = estimate_rate,
					   .ctx = &s,
					   .output_count = 1,
					   .pass_count = c->recording->pass_count,
					   .confidence = c->confidence,
					   .seed = c->seed,
					   .name = "memory"};
	struct interval rate;
	if (!interval_of_passes(&spec, &rate)) {
		calibrating_left_out(c, "gpu.*.memory_efficiency",
				     "streaming kernels are faster than an empty one");
		return;
	}
	const char *note =
		arena_printf(c->arena, "copy and triad of %zu sizes beyond the caches: %.4g GB/s",
			     n, 1e-9 * rate.value);
	if (c->peak_memory_Bps > 0) {
		calibrating_found(c, "gpu.*.memory_efficiency", QUANTITY_RATIO,
				  interval_times(rate, 1 / c->peak_memory_Bps), "%s", note);
		return;
	}
	calibrating_found(c, "gpu.*.memory_bandwidth", QUANTITY_RATE, rate,
			  "%s (the published peak is not known here)", note);
	calibrating_found(c, "gpu.*.memory_efficiency", QUANTITY_RATIO, (struct interval){1, 1, 1},
			  "memory_bandwidth is already the bandwidth of streaming kernels");
}

/* Returns the time of a kernel without its work when many follow each other: its floor and the
 * gap to the next one. In a graph it is the slope over the number of nodes, and a part of the
 * graph's own start. Returns 0 if it was not measured. */
static double between_s(struct calibrating *c, bool graph)
{
	struct interval floor, gap;
	const struct recording_point *const *points;
	if (graph && recording_find(c->recording, c->arena, "graph", "what=run", &points) > 0) {
		const struct calibration_series *series =
			calibrating_series(c, "graph", "what=run", "nodes", 1, CALLS_LIMIT);
		if (series && series->holds)
			return series->slope[0].value + series->start_s[0].value / GRAPH_NODES;
	}
	if (!calibrating_value(c, "kernel", "what=floor", &floor))
		return 0;
	return calibrating_value(c, "kernel", "what=gap", &gap) ? floor.value + gap.value
								: floor.value;
}

void calibrate_compute(struct calibrating *c)
{
	memory(c, between_s(c, false));
	arithmetic(c, between_s(c, true));
}
