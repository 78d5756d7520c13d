/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out by trials which changes of a case help against its bottleneck.
 *
 * Each bottleneck (breakdown.c) has a few remedies (remedies.def), which change a setting or
 * multiply parameters. Advice without a trial can be wrong, because the next bottleneck may be
 * close. So the case runs once more with each remedy, without draws. A remedy is named with its
 * gain if that is at least 2 %, at most six for forwarded programs and three for others. If no
 * remedy gains as much, the text says what was tried. */
#include "sim/predict/effects.h"

static const double LEAST_GAIN = 0.02; /* of a remedy that is named */
enum { SCALED_MAX = 8, SETTINGS_MAX = 4, TRIALS_MAX = 16, NAMED_MAX = 3, NAMED_OF_FORWARDING = 6 };

struct remedy {
	const char *bottleneck, *words;
	const char *settings; /* "case.runtime=batched", separated by blanks; NULL: parameters are
				 multiplied */
	const char *scaled[SCALED_MAX];
	double factor;
};
static const struct remedy remedies[] = {
#define SETTING(bottleneck, words, setting)    {bottleneck, words, setting, {NULL}, 1},
#define SCALED(bottleneck, words, factor, ...) {bottleneck, words, NULL, {__VA_ARGS__}, factor},
#include "sim/predict/remedies.def"
#undef SETTING
#undef SCALED
};
enum { REMEDY_COUNT = sizeof remedies / sizeof remedies[0] };

struct trial {
	const struct remedy *remedy;
	double gain;  /* of the throughput, or of the inverse latency of requests */
	double ratio; /* to local; NaN: none */
};

/* Returns true if the path is that of the pattern, whose "*" stands for any name. */
static bool fits(const char *pattern, const char *path)
{
	const char *star = strchr(pattern, '*');
	if (!star)
		return strcmp(pattern, path) == 0;
	size_t before = (size_t)(star - pattern), after = strlen(star + 1), length = strlen(path);
	return length > before + after && strncmp(pattern, path, before) == 0 &&
	       strcmp(path + length - after, star + 1) == 0;
}

static bool is_scaled(const struct remedy *remedy, const struct cfg_param *param)
{
	for (size_t i = 0; i < SCALED_MAX && remedy->scaled[i]; i++)
		if (fits(remedy->scaled[i], param->path))
			return param->row->kind == PARAM_KIND_NUMBER && param->value > 0;
	return false;
}

/* Returns true for the number of links of a bundle that states its bandwidth, which is scaled in
 * its place. */
static bool has_bandwidth(struct arena *arena, const struct cfg_resolution *resolution,
			  const char *path)
{
	if (!fits("link.*.links", path))
		return false;
	int length = (int)(strrchr(path, '.') - path);
	const struct cfg_param *own =
		cfg_param_find(resolution, arena_printf(arena, "%.*s.bandwidth", length, path));
	return own && own->value > 0;
}

static double scaled(const struct remedy *remedy, const struct cfg_param *param)
{
	double value = param->value * remedy->factor;
	value = fmin(fmax(value, param->row->min), param->row->max);
	return param->row->whole ? floor(value) : value;
}

/* Splits the remedy's settings at blanks. Returns their number. */
static size_t settings_of(struct arena *arena, const struct remedy *remedy,
			  struct setting settings[SETTINGS_MAX])
{
	size_t count = 0, length;
	for (const char *at = remedy->settings ? remedy->settings : ""; *at; at += length) {
		at += strspn(at, " ");
		length = strcspn(at, " ");
		FW_ASSERT(count < SETTINGS_MAX);
		settings[count++] = (struct setting){arena_printf(arena, "%.*s", (int)length, at),
						     {"farwire", 0}};
	}
	return count;
}

/* Returns the request with the changes of the remedy. It has no more settings and draws than
 * before if the remedy changes nothing. */
static struct case_request changed(struct arena *arena, const struct remedy *remedy,
				   const struct case_request *request,
				   const struct scenario *scenario)
{
	struct setting settings[SETTINGS_MAX];
	size_t count = settings_of(arena, remedy, settings);
	struct case_request with = request_with(arena, request, settings, count);
	VEC(struct draw_value) draws = {0};
	for (size_t i = 0; i < cfg_param_count(scenario->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		if (!is_scaled(remedy, param) ||
		    has_bandwidth(arena, scenario->resolution, param->path) ||
		    (scenario->jobs[0].recorded && strcmp(param->path, "case.batch") == 0))
			continue; /* a recording has the batch with which it was recorded */
		double value = scaled(remedy, param);
		if (value < param->value || value > param->value)
			*VEC_PUSH(arena, &draws) = (struct draw_value){param->path, value};
	}
	with.draws = draws.items;
	with.draw_count = draws.count;
	with.watch = NULL;
	with.events_max = 4 * (uint64_t)REMEDIES_EVENTS_MAX;
	return with;
}

static double score_of(const struct scenario *scenario, const struct point *point)
{
	return scenario->style == JOBS_SERVING ? 1 / point->step_s : point->throughput;
}

static bool is_forwarding(const struct remedy *remedy)
{
	return remedy->settings && strstr(remedy->settings, "runtime");
}

static bool forwards(const struct scenario *scenario)
{
	return scenario->style == JOBS_PROGRAMS && scenario->jobs[0].runtime;
}

/* Runs the case with the remedy. Returns false if that changes nothing, cannot be read or fails. */
static bool try_remedy(const struct remedy *remedy, const struct case_request *request,
		       const struct scenario *scenario, const struct point *point,
		       const struct predict_options *options, struct trial *trial)
{
	struct arena *scratch = arena_new();
	const struct case_request with = changed(scratch, remedy, request, scenario);
	bool changes = with.setting_count + with.draw_count > request->setting_count;
	const struct scenario *other =
		changes ? case_read(scratch, diag_new(scratch), &with) : NULL;
	bool tried = other && !resolutions_equal(other->resolution, scenario->resolution) &&
		     (!is_forwarding(remedy) || scenario->jobs[0].runtime);
	if (tried) {
		const struct point run = predict_point(scratch, other, options->seed,
						       forwards(other), options->baselines, NULL);
		tried = !run.failed && !run.broken;
		*trial = (struct trial){remedy,
					score_of(scenario, &run) / score_of(scenario, point) - 1,
					run.ratio};
	}
	arena_free(scratch);
	return tried;
}

static const char *text_of(struct arena *arena, const struct scenario *scenario,
			   const struct point *point, const struct trial *trial, bool first)
{
	double gain = 100 * trial->gain;
	if (forwards(scenario) && trial->ratio > point->ratio)
		return arena_printf(arena, "%s (%+.0f %%, ratio %.3f%s)", trial->remedy->words,
				    gain, trial->ratio,
				    first ? arena_printf(arena, " in place of %.3f", point->ratio)
					  : "");
	if (scenario->style == JOBS_SERVING)
		return arena_printf(arena, "%s (%+.0f %% latency)", trial->remedy->words,
				    -100 * trial->gain / (1 + trial->gain));
	return arena_printf(arena, "%s (%+.0f %%)", trial->remedy->words, gain);
}

/* Adds the busiest link of a server that waits for messages of keys and values. */
static const char *with_link(struct arena *arena, const char *text, const struct scenario *scenario,
			     const struct prediction *prediction)
{
	const struct link_prediction *link = prediction->links;
	if (!text || scenario->style != JOBS_SERVING || prediction->link_count == 0 ||
	    (strcmp(prediction->bottleneck, "network-bound") != 0 &&
	     strcmp(prediction->bottleneck, "KV transfer-bound") != 0))
		return text;
	for (size_t i = 1; i < prediction->link_count; i++)
		if (prediction->links[i].utilization > link->utilization)
			link = &prediction->links[i];
	return arena_printf(arena, "%s; the busiest link, %s, carries %.0f %% of its bandwidth",
			    text, link->name, 100 * link->utilization);
}

struct trials {
	struct trial good[TRIALS_MAX]; /* the largest gain comes first */
	size_t good_count;
	const char *tried; /* the words of all */
};

static void try_remedies(struct arena *arena, const char *bottleneck,
			 const struct case_request *request, const struct scenario *scenario,
			 const struct point *point, const struct predict_options *options,
			 struct trials *trials)
{
	for (size_t i = 0; i < REMEDY_COUNT; i++) {
		const struct remedy *remedy = &remedies[i];
		struct trial trial;
		if (strcmp(remedy->bottleneck, bottleneck) != 0 ||
		    !try_remedy(remedy, request, scenario, point, options, &trial))
			continue;
		trials->tried =
			trials->tried ? arena_printf(arena, "%s, %s", trials->tried, remedy->words)
				      : remedy->words;
		if (!(trial.gain >= LEAST_GAIN))
			continue;
		FW_ASSERT(trials->good_count < TRIALS_MAX);
		size_t at = trials->good_count++;
		for (; at > 0 && trials->good[at - 1].gain < trial.gain; at--)
			trials->good[at] = trials->good[at - 1];
		trials->good[at] = trial;
	}
}

/* If no remedy of the bottleneck gains enough, the remedies of kernels are tried. The bottleneck
 * can be a small part of the step, because it is the largest one besides the kernels. */
const char *remedies_tried(struct arena *arena, const struct prediction *prediction,
			   const struct case_request *request, const struct scenario *scenario,
			   const struct point *point, const struct predict_options *options)
{
	struct trials trials = {0};
	size_t most = forwards(scenario) ? NAMED_OF_FORWARDING : NAMED_MAX;
	const char *good = NULL, *bottleneck = prediction->bottleneck;
	if (!bottleneck || point->failed || point->outcome.events_count > REMEDIES_EVENTS_MAX)
		return NULL;
	try_remedies(arena, bottleneck, request, scenario, point, options, &trials);
	if (trials.good_count == 0 && strcmp(bottleneck, "kernel-bound") != 0 &&
	    strcmp(bottleneck, "collective") != 0)
		try_remedies(arena, "kernel-bound", request, scenario, point, options, &trials);
	for (size_t i = 0; i < trials.good_count && i < most; i++) {
		const char *text = text_of(arena, scenario, point, &trials.good[i], i == 0);
		good = good ? arena_printf(arena, "%s; %s", good, text) : text;
	}
	if (!good && trials.tried)
		good = arena_printf(arena, "nothing that was tried gains 2 %% (%s)", trials.tried);
	return with_link(arena, good, scenario, prediction);
}
