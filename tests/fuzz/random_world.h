/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The targets with random systems share this: choices from bytes, parameters at their limits, and
 * conditions that each verdict must meet.
 *
 * The bytes of an input determine a system. They also set up to eight parameters of its case to a
 * limit: minimum, maximum, 0, 1, 2^31, 1e308, half, a thousandfold. Each system is refused with a
 * reason or ends in a verdict within a number of events. No invariant is violated, numbers are
 * finite, and parts add up. */
#pragma once

#include <math.h>

#include "sim/base/hash.h"
#include "sim/predict/predict.h"
#include "tests/fuzz/tiny_root.h"

enum { SETTINGS_MAX = 8 };

struct bytes {
	const uint8_t *at, *end;
};

/* Returns a number from 0 to below - 1, and 0 after the last byte. A statement must contain at most
 * one take(), because the compiler chooses the order in which arguments are evaluated. */
static inline unsigned take(struct bytes *bytes, unsigned below)
{
	return bytes->at < bytes->end ? *bytes->at++ % below : 0;
}

static inline const char *pick(struct bytes *bytes, const char *const *words, unsigned count)
{
	return words[take(bytes, count)];
}
#define PICK(bytes, ...)                                                                           \
	pick((bytes), (const char *const[]){__VA_ARGS__},                                          \
	     sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* ---- parameters at their limits ---- */

/* Returns the largest number of parts for the parameter. A topology, a schedule or a list of
 * requests with 10^5 parts is too large for thousands of runs a second. */
static inline double parts_most(const struct cfg_param *param)
{
	static const struct {
		const char *group;
		double most;
	} groups[] = {{"case.", 8},   {"job.", 8},   {"client.", 8}, {"cluster.", 8},
		      {"wiring.", 8}, {"plan.", 16}, {"serve.", 200}};
	for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
		if (param->row->whole &&
		    strncmp(param->path, groups[i].group, strlen(groups[i].group)) == 0)
			return groups[i].most;
	return INFINITY;
}

static inline double edge(const struct cfg_param *param, unsigned which)
{
	const struct param_row *row = param->row;
	const double edges[] = {row->min,
				row->max,
				0,
				1,
				param->value * 0.5,
				param->value * 2,
				param->value * 1e3,
				param->value / 1e3,
				0x1p31,
				0x1p63,
				1e308,
				5e-324,
				1e-3};
	double value = edges[which % (sizeof edges / sizeof edges[0])];
	value = fmin(fmax(value, row->min), fmin(row->max, 1e308));
	if (row->whole)
		value = floor(value);
	return fmin(value, parts_most(param));
}

static inline const char *setting_of(struct arena *arena, const struct cfg_param *param,
				     unsigned which)
{
	const struct param_row *row = param->row;
	size_t count = 0;
	switch (row->kind) {
	case PARAM_KIND_NUMBER:
		return arena_printf(arena, "%s=%.17g %s", param->path, edge(param, which),
				    quantity_unit(row->quantity));
	case PARAM_KIND_BOOL:
		return arena_printf(arena, "%s=%s", param->path, which % 2 ? "true" : "false");
	case PARAM_KIND_CHOICE:
		while (param_choices(arena, row)[count])
			count++;
		return arena_printf(arena, "%s=%s", param->path,
				    param_choices(arena, row)[which % count]);
	case PARAM_KIND_TEXT:
		break;
	}
	return NULL;
}

/* Half of the cases change no parameter and are read only once. */
static inline size_t take_settings(struct arena *arena, struct bytes *bytes,
				   const struct case_request *request, struct setting *settings)
{
	size_t count = 0;
	unsigned tries = take(bytes, 256);
	tries = tries < 128 ? tries % (SETTINGS_MAX + 1) : 0;
	if (tries == 0)
		return 0;
	struct diag *diag = diag_new(arena);
	const struct scenario *scenario = case_read(arena, diag, request);
	if (!scenario)
		return 0;
	const struct cfg_resolution *resolution = scenario->resolution;
	for (; tries > 0; tries--) {
		unsigned index = take(bytes, 256) * 256;
		index += take(bytes, 256);
		const struct cfg_param *param =
			cfg_param_at(resolution, index % cfg_param_count(resolution));
		const char *text = setting_of(arena, param, take(bytes, 24));
		if (text)
			settings[count++] = (struct setting){text, {"--set", 0}};
	}
	return count;
}

/* ---- the verdict ---- */

static inline void check_estimate(struct estimate estimate, bool needed)
{
	FUZZ_CHECK(needed ? isfinite(estimate.value) : !isinf(estimate.value));
	FUZZ_CHECK(!(estimate.value < 0) && !(estimate.low < 0) && !isinf(estimate.high));
	FUZZ_CHECK(!(estimate.low > estimate.high));
}

/* Quantiles and the distribution of latencies do not decrease, and the parts of a request add up.
 */
static inline void check_serving(const struct prediction *p)
{
	double sum_s = 0;
	FUZZ_CHECK(p->refused_count < p->requests_count);
	for (size_t k = 1; k < QUANTILE_COUNT; k++) {
		FUZZ_CHECK(!(p->latency_s[k].value < p->latency_s[k - 1].value));
		FUZZ_CHECK(!(p->first_token_s[k].value < p->first_token_s[k - 1].value));
	}
	for (size_t i = 1; i < p->latency_cdf_count; i++)
		FUZZ_CHECK(p->latency_cdf[i].seconds >= p->latency_cdf[i - 1].seconds);
	for (size_t i = 0; i < p->breakdown_count; i++)
		sum_s += p->breakdown[i].seconds;
	FUZZ_CHECK(fabs(sum_s - p->step_s.value) <= 1e-6 * p->step_s.value + 1e-11);
}

/* The mean of all stages is the step, and each stage needs memory. The last entry is the slowest
 * rank. */
static inline void check_stages(const struct prediction *p)
{
	double sum_s = 0;
	for (size_t i = 0; i < p->stage_count; i++) {
		const struct stage_prediction *stage = &p->stages[i];
		for (size_t k = 0; k < stage->part_count; k++) {
			FUZZ_CHECK(stage->parts[k].seconds >= -1e-6 * p->step_s.value);
			if (i + 1 < p->stage_count)
				sum_s += stage->parts[k].seconds / (double)(p->stage_count - 1);
		}
		FUZZ_CHECK(isfinite(stage->memory_B) && stage->memory_B > 0);
		FUZZ_CHECK(stage->rank_count > 0 && stage->memory_B <= p->memory_B);
	}
	FUZZ_CHECK(p->stage_count == 0 ||
		   fabs(sum_s - p->step_s.value) <= 1e-6 * p->step_s.value + 1e-11);
}

static inline void check_ok(const struct prediction *p)
{
	double sum_s = 0;
	check_estimate(p->throughput, true);
	check_estimate(p->step_s, true);
	check_estimate(p->ratio, false);
	check_estimate(p->gpu_utilization, false);
	FUZZ_CHECK(!(p->gpu_utilization.value > 1 + 1e-6));
	for (size_t i = 0; i < p->breakdown_count; i++) {
		FUZZ_CHECK(p->breakdown[i].seconds >= -1e-6 * p->step_s.value);
		sum_s += p->breakdown[i].seconds;
	}
	FUZZ_CHECK(p->breakdown_count == 0 || p->job_count != 1 ||
		   fabs(sum_s - p->step_s.value) <= 1e-6 * p->step_s.value + 1e-11);
}

static inline void check_prediction(const struct prediction *p, size_t events_max)
{
	FUZZ_CHECK(p->ok ? !p->reason : p->reason && *p->reason);
	FUZZ_CHECK(p->events_count <= events_max);
	if (p->ok)
		check_ok(p);
	if (p->ok && p->requests_count > 0)
		check_serving(p);
	if (p->ok)
		check_stages(p);
	for (size_t i = 0; i < p->job_count; i++)
		FUZZ_CHECK(p->jobs[i].ok || p->jobs[i].reason);
	for (size_t i = 0; i < p->link_count; i++) {
		FUZZ_CHECK(isfinite(p->links[i].carried_B) && p->links[i].carried_B >= 0);
		FUZZ_CHECK(p->links[i].utilization >= 0 && p->links[i].utilization <= 1 + 1e-6);
	}
}

/* Prints the system of a failed check: FARWIRE_FUZZ_SHOW=1 on replay. */
static inline void show(const struct case_request *request, const struct diag *diag)
{
	if (!getenv("FARWIRE_FUZZ_SHOW"))
		return;
	FILE *in = fopen(request->path, "r");
	for (int c; in && (c = getc(in)) != EOF;)
		putchar(c);
	if (in)
		fclose(in);
	for (size_t i = 0; i < request->setting_count; i++)
		printf("  --set '%s'\n", request->settings[i].text);
	diag_print(diag, stdout);
	fflush(stdout);
}

/* Predicts the case of this file with settings that the rest of the bytes determine, and checks the
 * result. A run has up to `few` events, or 4 times as many. A hash of the input decides whether
 * there are draws and many events, which are slow. So libFuzzer cannot breed inputs for them. */
static inline void random_world_run(struct arena *arena, struct bytes *bytes, const char *path,
				    uint64_t seed, uint64_t lot, size_t few)
{
	struct setting settings[SETTINGS_MAX];
	struct diag *diag = diag_new(arena);
	struct predict_options options = {.jobs = 1, .seed = seed};
	struct case_request request = {.path = path,
				       .data_root = tiny_root(arena),
				       .settings = settings,
				       .events_max = lot % 8 == 0 ? 4 * few : few};
	options.draws_count = lot % 32 == 0 ? 2 : 0;
	request.setting_count = take_settings(arena, bytes, &request, settings);
	const char *broken = NULL;
	const struct prediction *p = predict_case(arena, diag, &request, &options, &broken);
	show(&request, diag);
	if (broken)
		printf("  %s\n", broken);
	FUZZ_CHECK(!broken);
	FUZZ_CHECK_ANSWER(p, diag);
	if (p && getenv("FARWIRE_FUZZ_SHOW"))
		printf("  %s after %llu events %s\n", p->ok ? "ok" : "fail",
		       (unsigned long long)p->events_count, p->reason ? p->reason : "");
	if (p)
		check_prediction(p, request.events_max);
}
