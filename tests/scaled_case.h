/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scales a case: every time becomes twice as long and every rate half as high. Then every result
 * must be twice as long, because the simulator has no absolute time scale.
 *
 * Scaled are the parameters whose rows declare a time, a time per byte, a bandwidth, a rate of
 * operations or a frequency. So are the rate of requests and the traits of links (latency,
 * capacity), and NCCL's latencies. Rates of the library that are 0 are set to half of those of the
 * GPUs' generation. The clocks of cores are not scaled, because work is given in seconds at a
 * reference clock, which would have to be halved as well. Sizes, counts and ratios are not scaled,
 * so losses affect the same packets. The library's tables for NVLink SHARP and for EFA are not
 * scaled, either: a choice between close times may differ. */
#pragma once

#include "sim/base/arena.h"
#include "sim/collective/generation.h"
#include "sim/predict/predict.h"
#include "tests/test.h"

static inline double scale_of(const struct cfg_param *param)
{
	const struct param_row *row = param->row;
	if (strcmp(param->path, "serve.rate") == 0) /* requests/s */
		return 0.5;
	if (row->kind != PARAM_KIND_NUMBER || strncmp(param->path, "link.", 5) == 0 ||
	    (strstr(row->field, "clock_Hz") && strncmp(param->path, "gpu.", 4) != 0))
		return 1;
	switch (row->quantity) {
	case QUANTITY_TIME:
	case QUANTITY_TIME_PER_BYTE:
		return 2;
	case QUANTITY_RATE:
	case QUANTITY_FREQUENCY:
	case QUANTITY_FLOP_RATE:
	case QUANTITY_POWER:
		return 0.5;
	default:
		return 1;
	}
}

/* Returns a library whose rates and ratios are those of the oldest GPU's generation. */
static inline struct library_params generation_library(const struct scenario *scenario)
{
	struct library_params library = {.ll_ratio = 0};
	const struct topology *topology = &scenario->topology;
	int oldest = topology->gpu_count > 0 ? topology->gpus[0].params.generation : 0;
	for (size_t i = 1; i < topology->gpu_count; i++) {
		int generation = topology->gpus[i].params.generation;
		oldest = generation < oldest ? generation : oldest;
	}
	library_resolve(&library, oldest);
	return library;
}

/* Returns the value that the simulator uses. 0 may mean that of the GPUs' generation. */
static inline double used_value(const struct cfg_param *param, const struct library_params *preset)
{
	for (size_t i = 0; i < library_table.count && param->value <= 0; i++)
		if (param->row == &library_table.rows[i] && param->row->kind == PARAM_KIND_NUMBER)
			return *(const double *)((const char *)preset + param->row->offset);
	return param->value;
}

/* Returns the scaled parameters of the case. Read the case with them and then call scale_tables.
 */
static inline const struct draw_value *
scaled_draws(struct arena *arena, const struct scenario *scenario, size_t *draw_count)
{
	size_t count = cfg_param_count(scenario->resolution);
	struct draw_value *draws = ARENA_ARRAY(arena, count + 1, struct draw_value);
	const struct library_params preset = generation_library(scenario);
	*draw_count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		double value = scale_of(param) * used_value(param, &preset);
		if (value < param->value || value > param->value)
			draws[(*draw_count)++] = (struct draw_value){param->path, value};
	}
	return draws;
}

/* Scales what has no parameter: the traits of links and NCCL's latencies. */
static inline void scale_tables(const struct scenario *scenario)
{
	static struct nccl_latencies slow[TUNING_COUNT];
	memcpy(slow, nccl_latencies, sizeof slow);
	for (double *value = (double *)slow; value < (double *)(slow + TUNING_COUNT); value++)
		*value *= 2;
	for (size_t i = 0; i < scenario->job_count; i++) {
		struct library_params *library = (struct library_params *)scenario->jobs[i].library;
		if (library)
			library->own_latencies = &slow[library->tuning];
	}
	for (size_t i = 0; i < scenario->topology.link_count; i++) {
		struct link_traits *traits =
			(struct link_traits *)&scenario->topology.links[i].traits;
		traits->latency_s *= 2;
		traits->capacity_Bps[0] /= 2;
		traits->capacity_Bps[1] /= 2;
	}
}

/* Least and greatest time of the step of a program or job over these seeds. */
struct step_range {
	double low_s, high_s;
};

static inline struct step_range step_range(struct arena *arena, const struct scenario *scenario,
					   size_t job, uint64_t seed_count)
{
	struct step_range range = {INFINITY, 0};
	for (uint64_t seed = 1; seed <= seed_count; seed++) {
		struct point point = predict_point(arena, scenario, seed, false, NULL, NULL);
		range.low_s = fmin(range.low_s, point.jobs[job].step_s);
		range.high_s = fmax(range.high_s, point.jobs[job].step_s);
	}
	return range;
}

/* Runs both cases. Returns true if every step of the second takes twice as long, within tolerance.
 * Programs that share a GPU settle in one of several phase relations, and a picosecond can decide
 * in which. For those, seed_count is more than 1: if the steps of the first seed differ by more,
 * the ranges over all seeds must meet. */
static inline bool is_scaled(struct arena *arena, const struct scenario *scenario,
			     const struct scenario *slow, double tolerance, uint64_t seed_count)
{
	struct point one = predict_point(arena, scenario, 1, false, NULL, NULL);
	struct point two = predict_point(arena, slow, 1, false, NULL, NULL);
	bool good = !one.broken && !two.broken && one.failed == two.failed;
	for (size_t i = 0; i < one.job_count && good && !one.failed; i++) {
		double a = one.jobs[i].step_s, b = two.jobs[i].step_s;
		if (fabs(b - 2 * a) <= tolerance * 2 * a)
			continue;
		printf("  %.12g s, at half the speed %.12g s: off by %g\n", a, b, b / a / 2 - 1);
		if (seed_count == 1)
			return false;
		struct step_range fast_range = step_range(arena, scenario, i, seed_count);
		struct step_range slow_range = step_range(arena, slow, i, seed_count);
		printf("  over %d seeds %.9g to %.9g s, at half the speed %.9g to %.9g s\n",
		       (int)seed_count, fast_range.low_s, fast_range.high_s, slow_range.low_s,
		       slow_range.high_s);
		good = slow_range.low_s <= 2 * fast_range.high_s * (1 + tolerance) &&
		       slow_range.high_s >= 2 * fast_range.low_s * (1 - tolerance);
	}
	return good;
}
