/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/effects.h"

/* A file has more values than a command line, and each of them needs one more run. */
enum { FILE_EVENTS_MAX = EFFECTS_EVENTS_MAX / 4 };

bool resolutions_equal(const struct cfg_resolution *a, const struct cfg_resolution *b)
{
	if (cfg_param_count(a) != cfg_param_count(b))
		return false;
	for (size_t i = 0; i < cfg_param_count(a); i++) {
		const struct cfg_param *one = cfg_param_at(a, i), *other = cfg_param_at(b, i);
		if (strcmp(one->path, other->path) != 0 ||
		    !numbers_equal(one->value, other->value) ||
		    strcmp(one->text ? one->text : "", other->text ? other->text : "") != 0)
			return false;
	}
	return true;
}

/* Returns true if the case `without` a setting has other parameters, but the same results. A case
 * that cannot be read without the setting needs it. */
static bool has_no_effect(struct case_request without, const struct prediction *prediction,
			  const struct predict_options *options)
{
	struct arena *scratch = arena_new();
	const struct predict_options trial = {.seed = options->seed,
					      .baselines = options->baselines};
	const char *broken;
	without.watch = NULL;
	/* A run with many more events is not the same. Baselines may need more than the run. */
	without.events_max = 4 * (uint64_t)EFFECTS_EVENTS_MAX;
	const struct prediction *other =
		predict_case(scratch, diag_new(scratch), &without, &trial, &broken);
	bool same = other && !resolutions_equal(prediction->resolution, other->resolution) &&
		    predictions_equal(prediction, other);
	arena_free(scratch);
	return same;
}

/* Returns a setting as the user wrote it. Options set keys of their own name, so "--transport" and
 * "case.transport=rdma" become "--transport rdma"; those of --plan keep their keys. */
static const char *written(struct arena *arena, const struct setting *setting)
{
	const char *value = strchr(setting->text, '=');
	if (strcmp(setting->origin.file, "--plan") == 0)
		return arena_printf(arena, "--plan %s", strchr(setting->text, '.') + 1);
	bool is_set = strcmp(setting->origin.file, "--set") == 0;
	return is_set || !value ? arena_printf(arena, "--set %s", setting->text)
				: arena_printf(arena, "%s %s", setting->origin.file, value + 1);
}

static void add(struct arena *arena, const char **found, const char *text)
{
	*found = *found ? arena_printf(arena, "%s, %s", *found, text) : text;
}

/* Adds the values of the case file that have no effect. A key with "*" sets several parameters. */
static void try_file(struct arena *arena, const struct case_request *request,
		     const struct prediction *prediction, const struct predict_options *options,
		     const char **found)
{
	const struct cfg_param *last = NULL;
	for (size_t i = 0; i < cfg_param_count(prediction->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(prediction->resolution, i);
		struct case_request without = *request;
		if (param->origin.line == 0 || strcmp(param->origin.file, request->path) != 0 ||
		    (last && last->row == param->row && last->origin.line == param->origin.line))
			continue;
		last = param;
		without.left_out = (struct setting){param->path, param->origin};
		if (has_no_effect(without, prediction, options))
			add(arena, found,
			    arena_printf(arena, "%s=%s (%s:%d)", param->path,
					 cfg_param_text(arena, param, param->value),
					 param->origin.file, param->origin.line));
	}
}

const char *settings_without_effect(struct arena *arena, const struct case_request *request,
				    const struct prediction *prediction,
				    const struct predict_options *options)
{
	const char *found = NULL, *root = request->data_root;
	if (!prediction->ok || prediction->events_count > EFFECTS_EVENTS_MAX)
		return NULL;
	for (size_t i = 0; i < request->setting_count; i++) {
		const struct setting *setting = &request->settings[i];
		struct case_request without = *request;
		struct setting *others = ARENA_ARRAY(arena, request->setting_count, struct setting);
		if (!setting->origin.file || strncmp(setting->origin.file, "--", 2) != 0)
			continue;
		memcpy(others, request->settings, i * sizeof *others);
		memcpy(others + i, setting + 1, (--without.setting_count - i) * sizeof *others);
		without.settings = others;
		if (has_no_effect(without, prediction, options))
			add(arena, &found, written(arena, setting));
	}
	bool shipped = request->path && root && strncmp(request->path, root, strlen(root)) == 0;
	if (request->path && !shipped && prediction->events_count <= FILE_EVENTS_MAX)
		try_file(arena, request, prediction, options, &found);
	return found;
}
