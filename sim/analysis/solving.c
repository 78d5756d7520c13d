/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/solving.h"
#include "sim/analysis/points.h"
#include "sim/analysis/knobs.h"

struct asking { /* the simulator as a function of one number */
	struct arena *arena;
	const struct solving *solving;
	struct origin origin; /* origin of the parameter's settings */
	struct analysis_input input;
	const char *broken;
};

/* the reason of points that have other results */
static const char no_number[] = "the case has no such number there";

static bool ask(void *ctx, const double *x, size_t count, bool with, struct solve_answer *answers)
{
	struct asking *a = ctx;
	const struct param_row *row = a->solving->param->row;
	const char *unit = quantity_unit(row->quantity);
	struct points points = {a->input, a->solving->target.reported};
	if (!with)
		points.input.options.draws_count = 0;
	if (count < 2)
		points.input.watch.tell = NULL;
	struct case_point *list = ARENA_ARRAY(a->arena, count, struct case_point);
	struct case_answer *got = ARENA_ARRAY(a->arena, count, struct case_answer);
	struct setting *settings = ARENA_ARRAY(a->arena, count, struct setting);
	for (size_t i = 0; i < count; i++) {
		settings[i] = (struct setting){arena_printf(a->arena, "%s=%s%s%s", a->solving->key,
							    number_format(a->arena, 12, x[i]),
							    *unit ? " " : "", unit),
					       a->origin};
		list[i] = (struct case_point){.settings = &settings[i], .setting_count = 1};
	}
	if (!points_answer(a->arena, &points, list, count, got, &a->broken))
		return false;
	for (size_t i = 0; i < count; i++) {
		bool none = isnan(got[i].number.value) && !got[i].reason;
		answers[i] = (struct solve_answer){got[i].number, got[i].refused,
						   none ? no_number : got[i].reason};
	}
	return true;
}

/* Reads "LO:HI" in the row's quantity and checks its bounds. */
static bool read_between(struct arena *arena, struct diag *diag, const struct cfg_param *param,
			 const struct setting *between, struct solve_range *range)
{
	const struct origin origin = between->origin;
	const char *text = between->text, *colon = strchr(text, ':');
	double ends[2];
	if (!colon)
		return diag_error(diag, origin,
				  "'%s' is not a range (write LO:HI, each value with its unit)",
				  text);
	for (int i = 0; i < 2; i++) {
		const char *word =
			i ? colon + 1 : arena_printf(arena, "%.*s", (int)(colon - text), text);
		const char *wrong = quantity_parse(arena, param->row->quantity, word, &ends[i]);
		if (!wrong && (ends[i] < param->row->min || ends[i] > param->row->max))
			wrong = arena_printf(
				arena, "is out of range (%s to %s)",
				quantity_format(arena, param->row->quantity, param->row->min),
				quantity_format(arena, param->row->quantity, param->row->max));
		if (!wrong && param->row->whole && ends[i] != floor(ends[i]))
			wrong = "is not a whole number";
		if (wrong)
			return diag_error(diag, origin, "%s: %s %s", param->path, word, wrong);
	}
	if (!(ends[0] < ends[1]))
		diag_error(diag, origin, "'%s' is not a range (write LO:HI with LO less than HI)",
			   text);
	*range = solve_range_between(param, ends[0], ends[1]);
	return ends[0] < ends[1];
}

/* Returns the numeric parameter that the key names; NULL after errors. */
static const struct cfg_param *find_number(struct arena *arena, struct diag *diag,
					   const struct case_request *request,
					   const struct scenario *scenario,
					   const struct setting *named)
{
	const struct origin origin = named->origin;
	const char *key = named->text;
	const struct cfg_param *param = NULL; /* first parameter that matches */
	if (!*key || strchr(key, '=')) {
		diag_error(diag, origin,
			   "'%s' is not the key of a parameter (write case.batch, for example)",
			   key);
		return NULL;
	}
	for (size_t i = cfg_param_count(scenario->resolution); i-- > 0;)
		if (paths_match(key, cfg_param_at(scenario->resolution, i)->path))
			param = cfg_param_at(scenario->resolution, i);
	if (!param) { /* reading the key as a setting reports an error with a similar key */
		const struct setting one = {arena_printf(arena, "%s=1", key), origin};
		const struct case_request with = request_with(arena, request, &one, 1);
		if (case_read(arena, diag, &with))
			diag_error(diag, origin,
				   "'%s' is not a parameter of this case (`farwire explain CASE` "
				   "lists them)",
				   key);
		return NULL;
	}
	if (param->row->kind != PARAM_KIND_NUMBER) {
		diag_error(diag, origin,
			   "%s is not a number, so it cannot be solved for (`farwire sweep` varies "
			   "words)",
			   key);
		return NULL;
	}
	return param;
}

/* A key with a "*" can name parameters with different values. */
static void find_values(const struct scenario *scenario, struct solving *solving)
{
	solving->least = solving->most = solving->param->value;
	for (size_t i = 0; i < cfg_param_count(scenario->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		if (!paths_match(solving->key, param->path))
			continue;
		solving->least = fmin(solving->least, param->value);
		solving->most = fmax(solving->most, param->value);
	}
}

/* Reads target, parameter and range. Returns false after errors. */
static bool read_question(struct arena *arena, struct diag *diag,
			  const struct solving_request *request, const struct scenario *scenario,
			  struct solving *solving)
{
	solving->name = scenario->name;
	solving->key = request->key.text;
	bool good = target_read(arena, diag, request->target.origin, reporting_of(arena, scenario),
				request->target.text, &solving->target);
	solving->param = find_number(arena, diag, &request->input.request, scenario, &request->key);
	if (!solving->param)
		return false;
	find_values(scenario, solving);
	if (request->between.text)
		return read_between(arena, diag, solving->param, &request->between,
				    &solving->range) &&
		       good;
	if (!solve_range_of(solving->param, &solving->range))
		return diag_error(
			diag, request->key.origin,
			"%s is %s, which has no default search range (write --between LO:HI)",
			solving->key,
			quantity_format(arena, solving->param->row->quantity,
					solving->param->value));
	if (strcmp(solving->key, "serve.rate") == 0 && scenario->service_count > 0) {
		/* at lower rates the requests would not arrive within the time limit of a run */
		double least =
			scenario->services[0].params->requests_count / (RUN_TIME_MAX_S / 10.0);
		if (least < solving->range.high)
			solving->range =
				solve_range_between(solving->param, fmax(solving->range.low, least),
						    solving->range.high);
	}
	return good;
}

/* Returns what the case needs for the target's time and does not have: a number of epochs or steps,
 * unless it is the parameter. NULL: nothing. */
static const char *lacking(const struct scenario *scenario, const struct solving *solving)
{
	const struct reported *reported = solving->target.reported;
	const char *path = solving->param->path;
	bool training =
		!reported->part && reported->offset == offsetof(struct prediction, training_s);
	bool elapsed =
		!reported->part && reported->offset == offsetof(struct prediction, elapsed_s);
	if ((!training && !elapsed) || scenario->params->epochs_count > 0 ||
	    strcmp(path, "case.epochs") == 0)
		return NULL;
	if (training && (scenario->params->tokens_count > 0 || strcmp(path, "case.tokens") == 0))
		return NULL;
	if (training)
		return "case.epochs";
	bool steps = scenario->params->job_steps_count > 0 || scenario->run ||
		     strcmp(path, "case.job_steps") == 0;
	return steps ? NULL : "case.job_steps";
}

/* Returns true if some point has the number, or if all points fail. */
static bool has_number(const struct solution *solution)
{
	bool all_fail = true;
	for (size_t i = 0; i < solution->point_count; i++) {
		const struct solve_answer *answer = &solution->points[i].answer;
		if (!isnan(answer->y.value))
			return true;
		all_fail = all_fail && answer->reason != no_number;
	}
	return all_fail;
}

const struct solving *solving_run(struct arena *arena, struct diag *diag,
				  const struct solving_request *request, const char **broken)
{
	struct solving *solving = ARENA_NEW(arena, struct solving);
	const struct scenario *scenario = case_read(arena, diag, &request->input.request);
	*broken = NULL;
	if (!scenario || !read_question(arena, diag, request, scenario, solving))
		return NULL;
	const struct origin origin = request->target.origin;
	const char *spoken = solving->target.reported->spoken;
	const char *lacks = lacking(scenario, solving);
	if (lacks) {
		diag_error(diag, origin, "%s has no %s (write --set %s=N)", solving->name, spoken,
			   lacks);
		return NULL;
	}
	struct asking asking = {.arena = arena,
				.solving = solving,
				.origin = request->key.origin,
				.input = analysis_with_calls(request->input, scenario)};
	bool intervals = request->input.options.draws_count > 0;
	const struct solve_problem problem = {.evaluate = ask,
					      .ctx = &asking,
					      .range = solving->range,
					      .now = solving->param->value,
					      .target = solving->target.value,
					      .at_least = solving->target.at_least,
					      .intervals = intervals,
					      .band = request->band && intervals};
	const char *refused;
	solving->solution = solve(arena, &problem, &refused);
	*broken = asking.broken;
	const struct setup setup = scenario_setup(arena, scenario), *setups[] = {&setup};
	solving->setup = setups_text(arena, setups, 1);
	if (solving->solution && has_number(solving->solution))
		return solving;
	if (solving->solution)
		diag_error(diag, origin, "%s has no number '%s' (choose another --target)",
			   solving->name, solving->target.reported->name);
	if (refused)
		diag_error(diag, (struct origin){0}, "%s", refused);
	return NULL;
}
