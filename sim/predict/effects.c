/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/effects.h"

#include <string.h>

#include "sim/base/arena.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Returns true if both readings of a case resolved the same parameters to the same values. A stack
 * that was chosen by `auto` is the same as one that is named. */
static bool same_values(const struct scenario *one_case, const struct scenario *other_case)
{
	const struct cfg_resolution *a = one_case->resolution, *b = other_case->resolution;
	bool same_stack = same_text(one_case->params->stack, other_case->params->stack);
	if (cfg_param_count(a) != cfg_param_count(b))
		return false;
	for (size_t i = 0; i < cfg_param_count(a); i++) {
		const struct cfg_param *one = cfg_param_at(a, i), *other = cfg_param_at(b, i);
		if (strcmp(one->path, other->path) != 0 || !numbers_equal(one->value, other->value))
			return false;
		if (!same_text(one->text, other->text) &&
		    !(same_stack && strcmp(one->path, "case.stack") == 0))
			return false;
	}
	return true;
}

static bool same_results(const struct point *a, const struct point *b)
{
	const struct serving_answers *s = &a->serving, *t = &b->serving;
	bool same = a->failed == b->failed && a->job_count == b->job_count &&
		    numbers_equal(a->throughput, b->throughput) &&
		    numbers_equal(a->step_s, b->step_s) && numbers_equal(a->ratio, b->ratio) &&
		    numbers_equal(a->gpu_utilization, b->gpu_utilization) &&
		    numbers_equal(a->elapsed_s, b->elapsed_s) &&
		    numbers_equal(s->first_mean_s, t->first_mean_s) &&
		    numbers_equal(s->token_mean_s, t->token_mean_s) &&
		    numbers_equal(s->tokens_per_s, t->tokens_per_s) &&
		    numbers_equal(s->attainment_ratio, t->attainment_ratio) &&
		    a->outcome.events_count == b->outcome.events_count;
	for (size_t i = 0; same && i < a->job_count; i++)
		same = numbers_equal(a->jobs[i].throughput, b->jobs[i].throughput) &&
		       numbers_equal(a->jobs[i].elapsed_s, b->jobs[i].elapsed_s);
	return same;
}

/* Returns true if the case without setting `left_out` has other parameters, but the same results. A
 * case that cannot be read without the setting needs it. */
static bool has_no_effect(const struct case_request *request, size_t left_out,
			  const struct scenario *scenario, const struct point *point,
			  const struct predict_options *options)
{
	struct arena *scratch = arena_new();
	struct case_request without = *request;
	struct setting *settings = ARENA_ARRAY(scratch, request->setting_count, struct setting);
	without.setting_count = 0;
	for (size_t i = 0; i < request->setting_count; i++)
		if (i != left_out)
			settings[without.setting_count++] = request->settings[i];
	without.settings = settings;
	without.watch = NULL;
	/* A run that needs many more events is not the same. Baselines may need more than the run.
	 */
	without.events_max = 4 * (uint64_t)EFFECTS_EVENTS_MAX;
	const struct scenario *other = case_read(scratch, diag_new(scratch), &without);
	bool same = false;
	if (other && !same_values(scenario, other)) {
		const struct point trial = predict_point(scratch, other, options->seed, true,
							 options->baselines, NULL);
		same = !trial.broken && same_results(point, &trial);
	}
	arena_free(scratch);
	return same;
}

/* Returns a setting as the user wrote it. Options set keys of their own name, so "--transport" and
 * "case.transport=rdma" become "--transport rdma". */
static const char *written(struct arena *arena, const struct setting *setting)
{
	const char *value = strchr(setting->text, '=');
	bool is_set = strcmp(setting->origin.file, "--set") == 0;
	return is_set || !value ? arena_printf(arena, "--set %s", setting->text)
				: arena_printf(arena, "%s %s", setting->origin.file, value + 1);
}

const char *settings_without_effect(struct arena *arena, const struct case_request *request,
				    const struct scenario *scenario, const struct point *point,
				    const struct predict_options *options)
{
	const char *found = NULL;
	if (point->failed || point->outcome.events_count > EFFECTS_EVENTS_MAX)
		return NULL;
	for (size_t i = 0; i < request->setting_count; i++) {
		const struct setting *setting = &request->settings[i];
		if (!setting->origin.file || strncmp(setting->origin.file, "--", 2) != 0 ||
		    !has_no_effect(request, i, scenario, point, options))
			continue;
		const char *text = written(arena, setting);
		found = found ? arena_printf(arena, "%s, %s", found, text) : text;
	}
	return found;
}
