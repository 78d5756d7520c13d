/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/plan_search.h"
#include "sim/analysis/plan_estimate.h"
#include "sim/analysis/plan_keys.h"
#include "sim/analysis/plan_meter.h"

/* GATHERED: gathers of FSDP are simulated for this many plans for each one that is asked for. */
/* KEYS_MAX: the axes of the user, and eight keys that the search varies. */
enum { KEYS_MAX = AXES_MAX + 8, PP_MAX = 64, EP_MAX = 64, GATHERED = 3 };

struct candidate {
	const struct setting *settings; /* one for each axis */
	size_t number;                  /* in the order in which candidates were tried */
	bool confirmed;                 /* by whole steps */
	bool gathers;                   /* its estimate has the gathers of FSDP, if it has any */
	struct found_plan found;
};

struct search {
	struct arena *arena;
	struct plan_meter meter;
	struct diag *diag;
	const struct plan_search_request *request;
	const struct scenario *scenario;
	const struct job_entry *job;
	struct plan_params params; /* those of the case, with the batch of the search */
	struct sweep_axis axes[KEYS_MAX];
	size_t axis_count;
	bool takes_first_step;                /* order and intervals follow from first steps */
	bool extends;                         /* steps are extended from a few micro-batches */
	const struct setting *short_settings; /* of such a first step */
	size_t short_count;
	double gpu_memory_B;
	struct plan_passes passes;
	VEC(struct candidate) fitting, large;
	const char *refused; /* reason of the first impossible plan */
};

/* ---- the case ---- */

/* Reads the case with sizes that are always possible, and with a further setting. */
static const struct scenario *read_with(struct search *s, const char *text)
{
	static const char *const sizes[] = {
		"plan.tp=1", "plan.pp=1",     "plan.cp=1",          "plan.ep=1",
		"plan.dp=0", "plan.chunks=1", "plan.micro_batch=1", "plan.schedule=auto"};
	enum { SIZES = sizeof sizes / sizeof sizes[0] };
	struct setting more[SIZES + 1];
	for (size_t i = 0; i <= SIZES; i++)
		more[i] = (struct setting){i < SIZES ? sizes[i] : text, {"--plan", 0}};
	const struct case_request request =
		request_with(s->arena, &s->request->input.request, more, SIZES + 1);
	return case_read(s->arena, s->diag, &request);
}

static bool user_sets(const struct search *s, const char *path)
{
	return cfg_param_find(s->scenario->resolution, path)->origin.file;
}

/* Chooses what the search simulates of a step. Values of the user remain. */
static void choose_steps(struct search *s)
{
	static const struct setting settings[] = {{"case.micro_batches=0", {"farwire plan", 0}},
						  {"case.steps=1", {"farwire plan", 0}},
						  {"case.steps_warmup=0", {"farwire plan", 0}}};
	s->extends = !user_sets(s, "case.micro_batches");
	s->takes_first_step = !user_sets(s, "case.steps") && !user_sets(s, "case.steps_warmup");
	s->short_settings = &settings[s->extends ? 0 : 1];
	s->short_count = (s->extends ? 1U : 0U) + (s->takes_first_step ? 2U : 0U);
}

/* Reads the case on its GPUs for all but the batch, and on one GPU for the batch, which is possible
 * there. */
static bool read_case(struct search *s)
{
	s->scenario = read_with(s, "plan.global_batch=0");
	const struct scenario *one = s->scenario ? read_with(s, "case.gpus=1") : NULL;
	if (!one)
		return false;
	s->job = &s->scenario->jobs[0];
	if (s->scenario->job_count != 1 || !s->job->plan || s->scenario->params->gpus_count < 1) {
		diag_error(
			s->diag, (struct origin){0},
			"farwire: `farwire plan` needs one job on several GPUs (write --gpus 8)");
		return false;
	}
	s->params = *s->job->plan->params;
	s->params.global_batch_count = one->jobs[0].plan->params->global_batch_count;
	if (s->params.global_batch_count == 0) {
		diag_error(s->diag, (struct origin){0},
			   "farwire: `farwire plan` needs the samples of a step on all GPUs (write "
			   "--plan global_batch=%zu)",
			   4 * s->job->rank_count);
		return false;
	}
	const struct topology *topology = &s->scenario->topology;
	s->gpu_memory_B = topology->gpus[s->job->gpus[0]].params.memory_B; /* equal in a job */
	s->passes = (struct plan_passes){.arena = s->arena,
					 .input = &s->request->input,
					 .scenario = s->scenario,
					 .links = plan_links_of(topology, s->job)};
	choose_steps(s);
	return true;
}

/* ---- the values to try ---- */

static size_t experts(const struct network *network)
{
	size_t most = 1;
	for (size_t i = 0; i < network->layer_count; i++)
		if (network->layers[i].experts > most)
			most = network->layers[i].experts;
	return most < EP_MAX ? most : EP_MAX;
}

static void add_axis(struct search *s, const char *from, const char *text)
{
	sweep_axis_read(s->arena, s->diag, from, text, &s->axes[s->axis_count++]);
}

/* Adds the values of a key: those that the user gave, or the default ones. */
static void add_key(struct search *s, const char *key, const char *values)
{
	const char *path = arena_printf(s->arena, "plan.%s", key);
	const struct setting *fixed = request_setting(&s->request->input.request, path);
	for (size_t i = 0; i < s->request->axis_count; i++)
		if (strcmp(s->request->axes[i].key, path) == 0)
			return;
	if (fixed)
		add_axis(s, fixed->origin.file, fixed->text);
	else
		add_axis(s, "--plan", arena_printf(s->arena, "%s=%s", path, values));
}

static bool choose_values(struct search *s)
{
	const struct plan_search_request *request = s->request;
	for (size_t i = 0; i < request->axis_count; i++) {
		s->axes[s->axis_count++] = request->axes[i];
		if (strncmp(request->axes[i].key, "plan.", 5) != 0)
			diag_error(s->diag, (struct origin){"--vary", 0},
				   "'%s' is not a key of a plan (write plan.cp=1,2, for example, "
				   "or `farwire sweep` for other parameters)",
				   request->axes[i].key);
	}
	add_key(s, "tp", plan_key_powers(s->arena, job_machine_gpus(s->scenario, s->job)));
	add_key(s, "pp", plan_key_divisors(s->arena, s->job->rank_count, PP_MAX));
	add_key(s, "chunks", "1,2,4");
	add_key(s, "ep", plan_key_powers(s->arena, experts(s->job->network)));
	add_key(s, "micro_batch", "1,2,4,8");
	add_key(s, "sharding", "none,optimizer,parameters");
	add_key(s, "recompute",
		s->job->stack->fused_attention ? "none,full" : "none,selective,full");
	add_key(s, "schedule", "auto,zb-h1");
	return diag_count(s->diag) == 0 && sweep_axes_check(s->diag, s->axes, s->axis_count);
}

/* Checks all values, so that a wrong one is reported instead of left out. */
static bool values_are_right(struct search *s)
{
	for (size_t a = 0; a < s->axis_count; a++) {
		const struct sweep_axis *axis = &s->axes[a];
		const struct param_row *row = plan_key_row(axis->key);
		for (size_t i = 0; i < axis->count; i++) {
			struct plan_params params = s->params;
			if (!row || !plan_key_set(row, &params, strchr(axis->texts[i], '=') + 1))
				diag_error(s->diag, (struct origin){axis->from, 0},
					   "'%s' is not a value of a plan (`farwire list "
					   "parameters` shows the keys and their values)",
					   axis->texts[i]);
		}
	}
	return diag_count(s->diag) == 0;
}

/* ---- candidates ---- */

static void keep(struct search *s, struct arena *scratch, const struct training_plan *plan,
		 const struct setting *settings)
{
	double memory_B = plan->params->anyway ? 0 : plan_most_memory_B(plan, s->job->stack);
	struct candidate new = {.settings = settings,
				.number = s->fitting.count + s->large.count,
				.found = {.name = plan_text(s->arena, plan), .memory_B = memory_B}};
	if (new.found.memory_B > s->gpu_memory_B) {
		*VEC_PUSH(s->arena, &s->large) = new;
		return;
	}
	new.found.least_s = plan_passes_least_s(&s->passes, scratch, plan);
	*VEC_PUSH(s->arena, &s->fitting) = new;
}

/* Returns the plan of settings, one for each axis; NULL: it is impossible, and *why says so. */
static const struct training_plan *plan_of(const struct search *s, struct arena *scratch,
					   const struct setting *settings, const char **why)
{
	struct plan_params *params = ARENA_NEW(scratch, struct plan_params);
	*params = s->params;
	for (size_t a = 0; a < s->axis_count; a++)
		plan_key_set(plan_key_row(s->axes[a].key), params,
			     strchr(settings[a].text, '=') + 1);
	return plan_new(scratch, s->job->network, params, s->job->rank_count, why);
}

/* Keeps a combination of values if it is a possible plan. */
static void try_plan(struct search *s, const size_t *at)
{
	struct arena *scratch = arena_new();
	struct setting *settings = ARENA_ARRAY(s->arena, s->axis_count, struct setting);
	for (size_t a = 0; a < s->axis_count; a++)
		settings[a] = (struct setting){s->axes[a].texts[at[a]], {s->axes[a].from, 0}};
	const char *why = NULL;
	const struct training_plan *plan = plan_of(s, scratch, settings, &why);
	bool repeats = false;
	for (size_t a = 0; plan && a < s->axis_count; a++)
		repeats |= at[a] > 0 && plan_key_is_idle(plan, s->axes[a].key);
	if (plan && !repeats)
		keep(s, scratch, plan, settings);
	else if (!plan && !s->refused)
		s->refused = arena_strdup(s->arena, why);
	arena_free(scratch);
}

static bool find_candidates(struct search *s)
{
	size_t at[KEYS_MAX] = {0}, all = 1;
	for (size_t a = 0; a < s->axis_count; a++)
		all *= s->axes[a].count;
	for (size_t i = 0; i < all; i++) {
		for (size_t a = s->axis_count, rest = i; a-- > 0; rest /= s->axes[a].count)
			at[a] = rest % s->axes[a].count;
		try_plan(s, at);
	}
	if (s->fitting.count + s->large.count == 0)
		diag_error(s->diag, (struct origin){"--plan", 0}, "no plan is possible: %s",
			   s->refused);
	return diag_count(s->diag) == 0;
}

/* Orders plans that are equal otherwise by their numbers. */
static int in_order(double x, double y, const struct candidate *a, const struct candidate *b)
{
	return x != y ? (x > y) - (x < y) : (a->number > b->number) - (a->number < b->number);
}

static int by_estimate(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return in_order(x->found.estimate_s, y->found.estimate_s, x, y);
}

static int by_memory(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return in_order(x->found.memory_B, y->found.memory_B, x, y);
}

/* Estimates the step times of the first `count` plans, all with or all without gathers. */
static void estimate(struct search *s, size_t count, bool gathers)
{
	struct arena *scratch = arena_new();
	const struct training_plan **plans =
		ARENA_ARRAY(scratch, count, const struct training_plan *);
	const char *why = NULL;
	for (size_t i = 0; i < count; i++) {
		struct candidate *c = &s->fitting.items[i];
		const struct training_plan *plan = plan_of(s, scratch, c->settings, &why);
		if (gathers && c->gathers)
			continue;
		c->gathers = gathers;
		if (gathers && !plan_passes_gathers(plan))
			continue;
		plans[i] = plan;
		plan_passes_want(&s->passes, plan, c->settings, gathers);
	}
	plan_passes_measure(&s->passes);
	for (size_t i = 0; i < count; i++)
		if (plans[i])
			s->fitting.items[i].found.estimate_s = fmax(
				s->fitting.items[i].found.estimate_s,
				plan_passes_estimate_s(&s->passes, scratch, plans[i], gathers));
	arena_free(scratch);
}

/* Estimates all plans. Gathers of FSDP are simulated only for plans that come first, because these
 * simulations take longer. They let other plans come first, and so on. */
static void estimate_all(struct search *s)
{
	size_t count = s->fitting.count, first = GATHERED * s->request->most_count;
	estimate(s, count, false);
	first = first < count ? first : count;
	for (bool again = true; again;) {
		qsort(s->fitting.items, count, sizeof *s->fitting.items, by_estimate);
		again = false;
		for (size_t i = 0; i < first; i++)
			again |= !s->fitting.items[i].gathers;
		if (again)
			estimate(s, first, true);
	}
}

/* ---- simulation ---- */

/* FULL_STEPS: those of a prediction, which ends when two steps are equal. */
enum { FULL_STEPS = 3 };

/* First steps that differ by less may be in another order than later steps. */
static const double near_factor = 1.01;

struct ending {
	struct search *search;
	const struct candidate *plans;
	size_t count, most_count, later_steps; /* later_steps: those of the best plans */
};

/* A further plan must beat a throughput that only most_count - 1 plans exceed; 0: fewer plans are
 * done. `ratio` estimates are not longer than the step of each plan so far. */
struct bar {
	double throughput, ratio;
};

/* A further plan's ratio may be smaller by error_factor. Ratios count from RATIOS_LEAST plans on,
 * and only up to ratio_most, because plans of another kind may have smaller ones. */
static const double error_factor = 1.02, ratio_most = 1.03;
enum { RATIOS_LEAST = 10 };

static double throughput_of(const struct prediction *prediction)
{
	return prediction && prediction->ok ? prediction->throughput.value : 0;
}

/* Returns the bar after the first `count` plans. */
static struct bar bar_of(const struct ending *e, const struct prediction *const *points,
			 size_t count)
{
	struct arena *scratch = arena_new();
	double *best = ARENA_ARRAY(scratch, e->most_count + 1, double);
	struct bar bar = {.ratio = count < RATIOS_LEAST ? 1 : ratio_most};
	for (size_t i = 0; i < count; i++) {
		double value = throughput_of(points[i]);
		if (value > 0)
			bar.ratio = fmin(bar.ratio,
					 points[i]->step_s.value / e->plans[i].found.estimate_s);
		size_t at = e->most_count;
		for (; at > 0 && best[at - 1] < value; at--)
			best[at] = best[at - 1];
		best[at] = value;
	}
	bar.throughput = e->most_count ? best[e->most_count - 1] : 0;
	arena_free(scratch);
	return bar;
}

static bool is_slower(const struct ending *e, size_t point, struct bar bar)
{
	return bar.throughput > 0 && e->plans[point].found.estimate_s * bar.ratio * bar.throughput >
					     error_factor * e->search->params.global_batch_count;
}

/* Estimates how many steps follow. As long as fewer plans are done than asked for, the last of them
 * is assumed to exceed its least time by the largest factor so far. */
static void estimate_steps(const struct ending *e, const struct prediction *const *points,
			   struct bar bar)
{
	size_t needed = 0, best = e->most_count < e->count ? e->most_count : e->count;
	double factor = 1;
	for (size_t i = 0; i < e->count && points[i]; i++)
		if (points[i]->ok)
			factor = fmax(factor,
				      points[i]->step_s.value / e->plans[i].found.estimate_s);
	if (bar.throughput == 0 && best > 0)
		bar = (struct bar){e->search->params.global_batch_count /
					   (e->plans[best - 1].found.estimate_s * factor),
				   factor};
	while (needed < e->count && !is_slower(e, needed, bar))
		needed++;
	plan_meter_expect(&e->search->meter, needed, e->later_steps);
}

static void tell_best(const struct ending *e, const struct prediction *const *points)
{
	size_t best = 0;
	for (size_t i = 1; i < e->count; i++)
		best = throughput_of(points[i]) > throughput_of(points[best]) ? i : best;
	if (throughput_of(points[best]) > 0)
		plan_meter_best(&e->search->meter, e->plans[best].found.name,
				points[best]->step_s.value);
}

/* Plans behind this one do not count, although threads or an earlier run may have simulated them.
 * So the same plans are simulated in each case. */
static bool ends(const void *ctx, size_t point, const struct prediction *const *points)
{
	const struct ending *e = ctx;
	tell_best(e, points);
	struct bar bar = bar_of(e, points, point);
	estimate_steps(e, points, bar);
	return is_slower(e, point, bar);
}

/* The search simulates parts of a plan: first steps, which are extended from a few micro-batches;
 * these with intervals; or all steps as in a prediction. */
enum steps_shown { FIRST_STEPS, DRAWN_STEPS, WHOLE_STEPS };

static const struct sweep *simulate(struct search *s, const struct candidate *plans, size_t count,
				    enum steps_shown extent, const struct ending *ending,
				    const char **refused, struct sweep_fault *fault)
{
	bool first = extent == FIRST_STEPS;
	const struct setting **settings = ARENA_ARRAY(s->arena, count, const struct setting *);
	for (size_t i = 0; i < count; i++)
		settings[i] = plans[i].settings;
	const struct sweep_list list = {.settings = settings,
					.setting_count = s->axis_count,
					.point_count = count,
					.ends = ending ? ends : NULL,
					.ctx = ending,
					.refused = refused};
	struct sweep_request request = {.input = s->request->input,
					.list = &list,
					.journal = first ? s->request->journal : NULL};
	if (first)
		request.input.options.draws_count = 0;
	if (extent != WHOLE_STEPS)
		request.input.request = request_with(s->arena, &request.input.request,
						     s->short_settings, s->short_count);
	request.input.watch = (struct watch){plan_meter_point, &s->meter};
	request.input.options.watch = (struct watch){plan_meter_draw, &s->meter};
	request.input.options.draw_settings = s->short_settings;
	request.input.options.draw_setting_count = extent == WHOLE_STEPS ? s->short_count : 0;
	return sweep_run(s->arena, s->diag, &request, fault);
}

static int by_throughput(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return in_order(-throughput_of(x->found.prediction), -throughput_of(y->found.prediction), x,
			y);
}

/* Returns true if the steps of the user's settings were simulated as in a prediction. */
static bool is_whole(const struct search *s, const struct candidate *candidate)
{
	struct arena *scratch = arena_new();
	const char *why = NULL;
	bool whole = !s->takes_first_step &&
		     (!s->extends ||
		      !periods_may_extend(plan_of(s, scratch, candidate->settings, &why)));
	arena_free(scratch);
	return whole;
}

/* Returns the next plan to confirm by whole steps, which is the first one or near it; `count`:
 * there is none. Plans are in order of their throughput. */
static size_t next_to_confirm(const struct search *s, const struct candidate *plans, size_t count)
{
	double least = throughput_of(plans[0].found.prediction) / near_factor;
	size_t i = 0;
	while (i < count && (plans[i].confirmed || is_whole(s, &plans[i])))
		i++;
	return i < count && throughput_of(plans[i].found.prediction) >= least ? i : count;
}

/* Simulates the best plans, which are in order of their first steps, with intervals if there are
 * draws. Then confirms the first one and those near it by whole steps. */
static bool run_best(struct search *s, struct candidate *plans, size_t count,
		     struct sweep_fault *fault)
{
	const char **refused = ARENA_ARRAY(s->arena, count, const char *);
	const struct sweep *sweep = NULL;
	size_t draws = s->request->input.options.draws_count;
	if (draws > 0) {
		sweep = simulate(s, plans, count, DRAWN_STEPS, NULL, refused, fault);
		if (!sweep)
			return false;
	}
	for (size_t i = 0; sweep && i < count; i++)
		if (throughput_of(sweep->points[i]) > 0) /* else it has no intervals */
			plans[i].found.prediction = sweep->points[i];
	qsort(plans, count, sizeof *plans, by_throughput);
	size_t own_steps = (s->takes_first_step ? FULL_STEPS : 1U) + (draws > 0);
	for (size_t i; (i = next_to_confirm(s, plans, count)) < count;) {
		plan_meter_begin(&s->meter, own_steps, s->meter.done, own_steps + draws);
		sweep = simulate(s, &plans[i], 1, WHOLE_STEPS, NULL, refused, fault);
		if (!sweep)
			return false;
		if (throughput_of(sweep->points[0]) > 0) /* else its first step remains */
			plans[i].found.prediction = sweep->points[0];
		plans[i].confirmed = true;
		qsort(plans, count, sizeof *plans, by_throughput);
	}
	plan_meter_end(&s->meter);
	return true;
}

/* Returns how many plans, in order of their estimates, the search simulates: up to the first one
 * whose estimate is above the steps of the best ones before it. Threads may have simulated more. */
static size_t needed_plans(const struct ending *e, const struct prediction *const *points)
{
	size_t needed = 0;
	while (needed < e->count && !is_slower(e, needed, bar_of(e, points, needed)))
		needed++;
	return needed;
}

/* Keeps the simulated plans. Returns their number. */
static size_t keep_simulated(struct search *s, struct plan_search *search, struct candidate *plans,
			     size_t count, const struct prediction *const *points,
			     const char *const *refused)
{
	bool none = s->fitting.count == 0;
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		const struct prediction *point = points[i];
		bool needed = i < search->needed_count;
		const char *why = point && !point->ok ? point->reason : refused[i];
		if (needed && !none && why && search->refused_count++ == 0)
			search->refused =
				arena_printf(s->arena, "%s: %s", plans[i].found.name, why);
		if (!point || (!none && why) || (!s->request->exhaustive && !needed))
			continue;
		plans[kept] = plans[i];
		plans[kept++].found.prediction = point;
	}
	return kept;
}

static bool run_plans(struct search *s, struct plan_search *search, struct sweep_fault *fault)
{
	bool none = s->fitting.count == 0;
	struct candidate *plans = none ? s->large.items : s->fitting.items;
	size_t count = none ? s->large.count : s->fitting.count;
	qsort(plans, count, sizeof *plans, none ? by_memory : by_estimate);
	if (none && count > s->request->most_count)
		count = s->request->most_count;
	size_t draws = s->request->input.options.draws_count;
	size_t drawn_steps = draws > 0 ? 1 + draws : 0;
	struct ending ending = {s, plans, count, s->request->most_count,
				(s->request->most_count + 1) * drawn_steps + FULL_STEPS};
	plan_meter_begin(&s->meter, 1, count, none ? 0 : ending.later_steps);
	const char **refused = ARENA_ARRAY(s->arena, count, const char *);
	const struct sweep *sweep =
		simulate(s, plans, count, FIRST_STEPS,
			 none || s->request->exhaustive ? NULL : &ending, refused, fault);
	if (!sweep)
		return false;
	search->needed_count = none ? count : needed_plans(&ending, sweep->points);
	size_t kept = keep_simulated(s, search, plans, count, sweep->points, refused);
	if (kept == 0) {
		diag_error(s->diag, (struct origin){0}, "farwire: no plan can be simulated: %s",
			   search->refused);
		return false;
	}
	if (!none)
		qsort(plans, kept, sizeof *plans, by_throughput);
	search->best_count = kept < s->request->most_count ? kept : s->request->most_count;
	plan_meter_begin(&s->meter, 1, s->meter.done, none ? 0 : ending.later_steps);
	if (!none && !run_best(s, plans, search->best_count, fault))
		return false;
	for (size_t i = 0; i < search->best_count && !none; i++)
		search->first_count += !plans[i].confirmed && !is_whole(s, &plans[i]);
	struct found_plan *found = ARENA_ARRAY(s->arena, kept, struct found_plan);
	for (size_t i = 0; i < kept; i++)
		found[i] = plans[i].found;
	search->plans = found;
	search->plan_count = kept;
	return true;
}

const struct plan_search *plan_search_run(struct arena *arena, struct diag *diag,
					  const struct plan_search_request *request,
					  struct sweep_fault *fault)
{
	struct search *s = ARENA_NEW(arena, struct search);
	*s = (struct search){
		.arena = arena,
		.diag = diag,
		.request = request,
		.meter = {.watch = request->input.watch, .tell_best = request->tell_best}};
	pthread_mutex_init(&s->meter.lock, NULL);
	*fault = (struct sweep_fault){0};
	if (!read_case(s) || !choose_values(s) || !values_are_right(s) || !find_candidates(s))
		return NULL;
	struct plan_search *search = ARENA_NEW(arena, struct plan_search);
	*search = (struct plan_search){.name = s->scenario->name,
				       .batch_count = s->params.global_batch_count,
				       .gpu_memory_B = s->gpu_memory_B,
				       .possible_count = s->fitting.count + s->large.count,
				       .fitting_count = s->fitting.count};
	if (request->count_only)
		return search;
	s->passes.setting_count = s->axis_count;
	estimate_all(s);
	return run_plans(s, search, fault) ? search : NULL;
}
