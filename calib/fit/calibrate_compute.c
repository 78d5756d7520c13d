/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arithmetic and memory bandwidth of a GPU. */
#include <math.h>
#include <string.h>

#include "calib/fit/calibrating.h"
#include "calib/fit/roofline.h"
#include "sim/base/arena.h"

static const double GEMM_LIMIT = 0.10, CALLS_LIMIT = 0.05;

struct products {
	struct pass_values values;
	struct roofline_point *points;
	size_t count;
	struct roofline whole;
};

static bool estimate_roofline(const struct pass_draw *draw, double *out, void *ctx)
{
	struct products *p = ctx;
	struct roofline roofline;
	double drawn[SEGMENTS_POINTS_MAX];
	if (!pass_values_draw(&p->values, draw, drawn))
		return false;
	for (size_t i = 0; i < p->count; i++)
		p->points[i].time_s = drawn[i];
	if (!roofline_fit(p->points, p->count, p->whole.floor_s, &p->whole, &roofline))
		return false;
	out[0] = roofline.peak_flops;
	out[1] = roofline.half_work_flop;
	return true;
}

static struct roofline_point product_of(const struct recording_point *point, double element_B)
{
	double m = recording_point_number(point, "m", 0), n = recording_point_number(point, "n", 0),
	       k = recording_point_number(point, "k", 0);
	return (struct roofline_point){2 * m * n * k, element_B * (m * k + k * n + m * n),
				       point->value};
}

static void show(struct calibrating *c, const struct recording_point *const *points, size_t count,
		 double element_B, const struct roofline *roofline,
		 struct calibration_series *series)
{
	struct calibration_point *to = ARENA_ARRAY(c->arena, count, struct calibration_point);
	for (size_t i = 0; i < count; i++) {
		struct roofline_point product = product_of(points[i], element_B);
		to[i] = (struct calibration_point){.x = product.flop,
						   .y = product.time_s,
						   .low = points[i]->passes.items[0].low,
						   .high = points[i]->passes.items[0].high,
						   .predicted = roofline_at(roofline, &product),
						   .held_out = points[i]->held_out};
	}
	series->points = to;
	series->count = count;
	series->segments.rms_ratio = roofline->rms_ratio;
}

/* Fits peak into out[0] and half_work into out[1]. */
static const struct calibration_series *products(struct calibrating *c, const char *type,
						 double floor_s, struct interval out[2])
{
	const struct recording_point *const *points;
	const char *words = arena_printf(c->arena, "type=%s", type);
	double element_B = strcmp(type, "fp16") == 0 || strcmp(type, "bf16") == 0 ? 2 : 4;
	size_t count = recording_find(c->recording, c->arena, "gemm", words, &points);
	if (count == 0)
		return NULL;
	const struct recording_point **fitted =
		ARENA_ARRAY(c->arena, count, const struct recording_point *);
	struct products p = {.points = ARENA_ARRAY(c->arena, count, struct roofline_point)};
	const char *label = arena_printf(c->arena, "gemm %s", type);
	for (size_t i = 0; i < count; i++)
		if (!points[i]->held_out && points[i]->value > floor_s) {
			fitted[p.count] = points[i];
			p.points[p.count++] = product_of(points[i], element_B);
		}
	p.whole.floor_s = floor_s;
	if (!roofline_fit(p.points, p.count, floor_s, NULL, &p.whole)) {
		calibrating_left_out(c, label,
				     "%zu products of different work are too few for a roofline",
				     p.count);
		return NULL;
	}
	p.values = pass_values_of(c->arena, fitted, p.count, c->recording->pass_count);
	const struct interval_spec spec = {.estimate = estimate_roofline,
					   .ctx = &p,
					   .output_count = 2,
					   .pass_count = c->recording->pass_count,
					   .confidence = c->confidence,
					   .seed = c->seed,
					   .name = label};
	interval_of_passes(&spec, out);
	struct calibration_series *series = VEC_PUSH(c->arena, &c->result->series);
	*series = (struct calibration_series){
		.label = label, .x_name = "flop", .limit_ratio = GEMM_LIMIT};
	show(c, points, count, element_B, &p.whole, series);
	calibrating_gate(c, series);
	return series;
}

static void single_precision(struct calibrating *c, const struct calibration_series *series,
			     const struct interval roofline[2])
{
	struct interval ratio = {1, 1, 1};
	const char *quality = calibrating_quality(c, series);
	if (c->peak_flops > 0)
		ratio = interval_times(roofline[0], 1 / c->peak_flops);
	else
		calibrating_found(
			c, "gpu.*.fp32", QUANTITY_FLOP_RATE, roofline[0],
			"rate of very large products (the published peak is not known here); %s",
			quality);
	/* for all networks; a fitted profile of one network overrides it */
	calibrating_found(c, arena_printf(c->arena, "efficiency.%s.*.peak", c->result->gpu),
			  QUANTITY_RATIO, ratio, "from matrix products: %.4g Tflop/s; %s",
			  1e-12 * roofline[0].value, quality);
	calibrating_found(c, arena_printf(c->arena, "efficiency.%s.*.half_work", c->result->gpu),
			  QUANTITY_FLOP, roofline[1], "from matrix products; %s", quality);
}

static void arithmetic(struct calibrating *c, double floor_s)
{
	static const char *const types[] = {"fp32", "tf32", "fp16", "bf16"};
	struct interval roofline[2];
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		const struct calibration_series *series = products(c, types[i], floor_s, roofline);
		if (!series || !series->holds)
			continue;
		if (i == 0)
			single_precision(c, series, roofline);
		else if (strcmp(types[i], "fp16") == 0 && !(c->peak_half_flops > 0))
			calibrating_found(c, "gpu.*.fp16", QUANTITY_FLOP_RATE, roofline[0],
					  "rate of very large products (the published peak is not "
					  "known here); %s",
					  calibrating_quality(c, series));
	}
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
 * gap to the next one. In a graph it is the slope over the number of nodes. Returns 0 if it was
 * not measured. */
static double between_s(struct calibrating *c, bool graph)
{
	struct interval floor, gap;
	const struct recording_point *const *points;
	if (graph && recording_find(c->recording, c->arena, "graph", "what=run", &points) > 0) {
		const struct calibration_series *series =
			calibrating_series(c, "graph", "what=run", "nodes", 1, CALLS_LIMIT);
		if (series && series->holds)
			return series->slope[0].value;
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
