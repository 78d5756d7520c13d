/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/serve_command.h"
#include "sim/analysis/serve_layouts.h"
#include "sim/analysis/solving.h"

/* Requests of a simulation, as a multiple of those that are in service at the same time, and the
 * share of them that only fills the servers. */
static const double LIVES = 4, WARMUP_RATIO = 0.2;
/* All requests arrive at once at this rate, which shows the highest throughput. */
static const double FLOOD_PER_S = 1e6;
/* The first load is this part of the highest throughput. Loads below LEAST_RATIO of it are not
 * tried. */
static const double FIRST_RATIO = 0.7, LEAST_RATIO = 1e-3;
static const double GROWTH = 1.4, FALL = 2;

enum { LOAD_SETTINGS = 3 };

/* ---- the case ---- */

/* Returns the request without case.gpus, whose last value is *gpus. */
static struct case_request without_gpus(struct arena *arena, const struct case_request *request,
					double *gpus)
{
	static const char key[] = "case.gpus=";
	struct case_request own = *request;
	struct setting *settings = ARENA_ARRAY(arena, request->setting_count + 1, struct setting);
	own.settings = settings;
	own.setting_count = 0;
	for (size_t i = 0; i < request->setting_count; i++) {
		const char *text = request->settings[i].text;
		if (strncmp(text, key, sizeof key - 1) != 0)
			settings[own.setting_count++] = request->settings[i];
		else if (!number_parse(text + sizeof key - 1, gpus))
			*gpus = NAN;
	}
	return own;
}

bool serve_search_takes(const struct case_request *request)
{
	struct arena *scratch = arena_new();
	double gpus;
	const struct case_request own = without_gpus(scratch, request, &gpus);
	const struct scenario *scenario = case_read(scratch, diag_new(scratch), &own);
	bool takes = scenario && scenario->style == JOBS_SERVING;
	for (size_t i = 0; i < request->setting_count; i++)
		takes |= strncmp(request->settings[i].text, "serve.", 6) == 0;
	arena_free(scratch);
	return takes;
}

static bool read_case(struct layout_search *s)
{
	double gpus = 0;
	s->base = without_gpus(s->arena, &s->request->input.request, &gpus);
	/* one replica does both, whatever layouts there will be */
	const struct setting both = {"case.prefill=0", {"farwire plan", 0}};
	const struct case_request one = request_with(s->arena, &s->base, &both, 1);
	s->scenario = case_read(s->arena, s->diag, &one);
	if (!s->scenario)
		return false;
	const struct topology *topology = &s->scenario->topology;
	s->service = s->scenario->services;
	s->params = s->service->params;
	const char *wrong = NULL;
	if (s->scenario->service_count != 1)
		wrong = "the case has several services (write one group serve, for one network)";
	else if (s->service->list.count > 0 || s->params->stages[0])
		wrong = "serve.list or serve.stages leaves no load to search (write serve.rate or "
			"serve.concurrency and lengths instead)";
	else if (!(s->params->first_slo_s > 0) && !(s->params->latency_slo_s > 0))
		wrong = "there is no limit for the time to the first token (write --serve "
			"first_slo='500 ms',between_slo='50 ms')";
	else if (gpus != floor(gpus) || gpus < 0 || gpus > 4096)
		wrong = "case.gpus must be a whole number from 1 to 4096 (write --gpus 16)";
	if (wrong)
		return diag_error(s->diag, (struct origin){0}, "farwire: `farwire plan`: %s",
				  wrong);
	s->closed = s->params->concurrency_count > 0;
	s->own_requests = request_setting(&s->base, "serve.requests");
	s->own_warmup = request_setting(&s->base, "serve.warmup");
	s->gpus = gpus > 0 ? gpus : (double)topology->gpu_count;
	for (size_t i = 0; i < topology->gpu_count; i++)
		s->machine_gpus += topology->gpus[i].host == topology->gpus[0].host;
	const struct network *network = s->service->network;
	for (size_t i = 0; i < network->layer_count; i++)
		s->experts = fmax(s->experts, (double)network->layers[i].experts);
	return true;
}

/* ---- loads ---- */

/* Sets c->next from what is known about its load; 0: the load is found. */
static void propose(const struct layout_search *s, struct layout_try *c)
{
	double met = c->met, missed = c->missed, next = sqrt(met * missed);
	if (isinf(missed))
		next = met > 0 ? met * (s->closed ? FALL : GROWTH) : c->start;
	else if (!(met > 0))
		next = missed / FALL;
	if (s->closed)
		next = fmin(fmin(fmax(floor(next), met + 1), missed - 1), 1e6);
	bool narrow = missed <= SERVE_STEP * met;
	c->next = narrow || next <= met || next >= missed || next < c->least ? 0 : next;
}

/* Returns the number of requests of a simulation, of which LIVES times as many are needed as are in
 * service together at the objectives. */
static double requests_of(const struct layout_search *s, const struct layout_try *c, double load)
{
	const struct serve_params *p = s->params;
	double life_s = p->latency_slo_s > 0 ? p->latency_slo_s : INFINITY;
	if (p->first_slo_s > 0 && p->between_slo_s > 0)
		life_s = fmin(life_s, p->first_slo_s + p->output_count * p->between_slo_s);
	double running = c->found.sizes[LAYOUT_COPIES] * c->found.sizes[LAYOUT_BATCH];
	double together = s->closed ? load : fmin(load * life_s, running);
	if (s->own_requests)
		return p->requests_count;
	return fmin(SERVE_REQUESTS_MAX, ceil(fmax(p->requests_count, LIVES * together)));
}

/* Returns the settings of a layout at a load; their number is LAYOUT_KEYS + LOAD_SETTINGS. */
static const struct setting *settings_at(struct layout_search *s, const struct layout_try *c,
					 double load)
{
	struct setting *settings =
		ARENA_ARRAY(s->arena, LAYOUT_KEYS + LOAD_SETTINGS, struct setting);
	const struct origin origin = {"farwire plan", 0};
	settings[0] = (struct setting){
		arena_printf(s->arena, "serve.%s=%.17g", s->closed ? "concurrency" : "rate", load),
		origin};
	settings[1] = (struct setting){
		arena_printf(s->arena, "serve.requests=%.17g", requests_of(s, c, load)), origin};
	settings[2] = (struct setting){
		arena_printf(s->arena, "serve.warmup=%g",
			     s->own_warmup ? s->params->warmup_ratio : WARMUP_RATIO),
		origin};
	for (enum layout_key key = 0; key < LAYOUT_KEYS; key++)
		settings[LOAD_SETTINGS + key] =
			!isnan(c->found.sizes[key])
				? (struct setting){arena_printf(s->arena, "%s=%.15g",
								layout_keys[key],
								c->found.sizes[key]),
						   origin}
				: settings[0];
	return settings;
}

/* Returns what no load of this candidate is met above, for each GPU. */
static double highest_per_gpu(const struct layout_search *s, const struct layout_try *c)
{
	return s->closed ? INFINITY : c->missed / c->found.gpus_count;
}

static int by_load(const void *a, const void *b)
{
	const struct serve_layout *x = a, *y = b;
	return ORDER(y->load_per_gpu, x->load_per_gpu);
}

/* Returns for each layout its candidate with the highest load; among equal ones, the first. */
static struct serve_layout *best_of_layouts(struct layout_search *s, struct arena *arena)
{
	struct serve_layout *best = ARENA_ARRAY(arena, s->layout_count, struct serve_layout);
	for (size_t i = 0; i < s->candidates.count; i++) {
		const struct layout_try *c = &s->candidates.items[i];
		struct serve_layout *own = &best[c->layout];
		if (!own->name || c->found.load_per_gpu > own->load_per_gpu ||
		    (own->failed && !c->found.failed))
			*own = c->found;
	}
	return best;
}

/* Gives up candidates that cannot be among the best, whose loads are above the last of them. */
static void prune(struct layout_search *s)
{
	struct arena *scratch = arena_new();
	struct serve_layout *best = best_of_layouts(s, scratch);
	size_t last = s->request->most_count - 1;
	qsort(best, s->layout_count, sizeof *best, by_load);
	for (size_t i = 0; last < s->layout_count && i < s->candidates.count; i++)
		if (highest_per_gpu(s, &s->candidates.items[i]) < best[last].load_per_gpu)
			s->candidates.items[i].next = 0;
	arena_free(scratch);
}

static void note_missed(const struct layout_search *s, struct layout_try *c,
			const struct prediction *p, double load)
{
	c->missed = fmin(c->missed, load);
	if (c->met > 0)
		return;
	c->found.reason = arena_printf(
		s->arena,
		"objectives are missed from %s %s on: %.3g %% of the requests meet them, p99 of "
		"the first token %s, of the time per token %s",
		number_format(s->arena, 3, load),
		!s->closed  ? "requests/s"
		: load == 1 ? "client"
			    : "clients",
		100 * p->slo_attainment.value,
		quantity_format(s->arena, QUANTITY_TIME, p->first_token_s[3].value),
		quantity_format(s->arena, QUANTITY_TIME, p->token_quantile_s[3].value));
}

/* Returns true if the candidate's next simulation shows its highest throughput. */
static bool is_flood(const struct layout_search *s, const struct layout_try *c)
{
	return !s->closed && !(c->start > 0);
}

/* Takes the result of the simulation at c->next. */
static void take(struct layout_search *s, struct layout_try *c, const struct prediction *p,
		 const char *why)
{
	double load = c->next, gpus = c->found.gpus_count;
	if (!p || !p->ok) {
		c->found.reason = p ? p->reason : why;
		c->missed = load;
		c->found.failed = true;
		return;
	}
	/* a server that falls behind meets generous objectives only because requests end */
	const char *refused = s->closed || is_flood(s, c) ? NULL : prediction_load_refused(p, load);
	bool met = !refused && p->slo_attainment.value >= s->params->slo_quantile_ratio;
	*VEC_PUSH(s->arena, &s->marks) = (struct serve_mark){
		p->user_token_throughput.value, p->token_throughput.value / gpus, met,
		arena_printf(s->arena, "%s serve.%s=%.4g", c->found.name,
			     s->closed ? "concurrency" : "rate", load)};
	if (is_flood(s, c)) {
		c->start = FIRST_RATIO * p->throughput.value;
		c->least = LEAST_RATIO * p->throughput.value;
	} else if (met) {
		c->met = c->found.load = load;
		c->found.load_per_gpu = (s->closed ? p->throughput.value : load) / gpus;
		c->found.prediction = p;
		c->found.reason = NULL;
	} else {
		note_missed(s, c, p, load);
		c->found.reason = refused && c->met <= 0 ? refused : c->found.reason;
	}
}

/* Simulates the next load of the candidates that have one and match `flood`. verdict_only:
 * simulations end as soon as the objectives are certainly missed. Returns false after an error. */
static bool simulate(struct layout_search *s, bool flood, bool verdict_only,
		     struct sweep_fault *fault)
{
	size_t count = 0, all = s->candidates.count;
	size_t *at = ARENA_ARRAY(s->arena, all, size_t);
	const struct setting **settings = ARENA_ARRAY(s->arena, all, const struct setting *);
	for (size_t i = 0; i < all; i++) {
		struct layout_try *c = &s->candidates.items[i];
		if (!(c->next > 0) || is_flood(s, c) != flood)
			continue;
		settings[count] = settings_at(s, c, c->next);
		at[count++] = i;
	}
	const char **refused = ARENA_ARRAY(s->arena, count, const char *);
	const struct sweep_list list = {.settings = settings,
					.setting_count = LAYOUT_KEYS + LOAD_SETTINGS,
					.point_count = count,
					.refused = refused};
	struct sweep_request request = {.input = s->request->input, .list = &list};
	request.input.request = s->base;
	request.input.request.verdict_only = verdict_only;
	request.input.options.draws_count = 0;
	request.input.watch = (struct watch){plan_meter_point, &s->meter};
	plan_meter_expect(&s->meter, s->simulation_count + count, s->candidates.count);
	if (count == 0)
		return true;
	const struct sweep *sweep = sweep_run(s->arena, s->diag, &request, fault);
	s->simulation_count += count;
	for (size_t i = 0; sweep && i < count; i++)
		take(s, &s->candidates.items[at[i]], sweep->points[i], refused[i]);
	return sweep;
}

/* Searches the loads of all candidates whose `next` is set, in turns. */
static bool search_loads(struct layout_search *s, struct sweep_fault *fault)
{
	for (bool any = true; any;) {
		/* a flood becomes a candidate with another load, so floods come last */
		if (!simulate(s, false, !s->request->all_marks, fault) ||
		    !simulate(s, true, false, fault))
			return false;
		any = false;
		for (size_t i = 0; i < s->candidates.count; i++) {
			struct layout_try *c = &s->candidates.items[i];
			if (c->next > 0 && !c->found.failed)
				propose(s, c);
			else
				c->next = 0;
		}
		prune(s);
		for (size_t i = 0; i < s->candidates.count; i++)
			any |= s->candidates.items[i].next > 0;
	}
	return true;
}

/* Lets the first limits of each layout begin, or the other ones at a load that would be better. */
static void begin(struct layout_search *s, bool first)
{
	const struct layout_try *leader = NULL;
	for (size_t i = 0; i < s->candidates.count; i++) {
		struct layout_try *c = &s->candidates.items[i];
		bool leads = !leader || leader->layout != c->layout;
		leader = leads ? c : leader;
		if (leads != first)
			continue;
		double running = c->found.sizes[LAYOUT_COPIES] * c->found.sizes[LAYOUT_BATCH];
		c->next = FLOOD_PER_S;
		if (s->closed)
			c->start = c->next = fmin(running, leader->met > 0 ? leader->met : 64);
		else if (!first && leader->start > 0)
			c->start = c->next = leader->met > 0 ? SERVE_STEP * leader->met
							     : fmin(leader->missed, leader->start);
		c->least = leader->least;
		if (!first && leader->met > 0 && !s->closed)
			c->least = c->next; /* lower loads are not better */
	}
}

/* ---- the answer ---- */

/* Simulates the layouts without a load to the end, because their reasons state the times of all
 * requests. */
static bool explain(struct layout_search *s, struct sweep_fault *fault)
{
	const struct serve_layout *best = best_of_layouts(s, s->arena);
	for (size_t i = 0; i < s->candidates.count; i++) {
		struct layout_try *c = &s->candidates.items[i];
		if (best[c->layout].name == c->found.name && !c->found.failed && !(c->met > 0))
			c->next = c->missed;
	}
	return s->request->all_marks || simulate(s, false, false, fault);
}

/* Returns the load of the best layout with its interval: the ends are the loads up to which draws
 * meet the objectives with 95 and with 5 % probability. */
static struct estimate load_of(struct layout_search *s, const struct serve_layout *best,
			       struct sweep_fault *fault)
{
	struct layout_try c = {.found = *best};
	struct estimate load = estimate_exact(best->load);
	struct solving_request request = {.input = s->request->input};
	if (request.input.options.draws_count == 0)
		return load;
	const struct setting *settings = settings_at(s, &c, best->load);
	request.input.request =
		request_with(s->arena, &s->base, settings, LAYOUT_KEYS + LOAD_SETTINGS);
	request.input.request.memo = NULL; /* draws have other times */
	request.input.watch = (struct watch){0};
	request.target.text =
		arena_printf(s->arena, "slo_attainment>=%.17g", s->params->slo_quantile_ratio);
	request.key.text = s->closed ? "serve.concurrency" : "serve.rate";
	double low = best->load / 4, high = 2 * best->load;
	request.between.text = s->closed ? arena_printf(s->arena, "%.0f:%.0f", ceil(low), high)
					 : arena_printf(s->arena, "%.17g:%.17g", low, high);
	const struct solving *solving = solving_run(s->arena, s->diag, &request, &fault->broken);
	for (size_t i = 0; solving && i < solving->solution->bound_count; i++) {
		const struct solve_bound *bound = &solving->solution->bounds[i];
		if (!bound->upper)
			continue;
		double ratio = best->load / bound->x.value;
		load.low = ratio * fmax(bound->x.low, low);
		load.high = ratio * fmin(bound->x.high, high);
	}
	return load;
}

static struct serve_search *answer(struct layout_search *s)
{
	struct serve_search *found = ARENA_NEW(s->arena, struct serve_search);
	const struct setup setup = scenario_setup(s->arena, s->scenario), *setups[] = {&setup};
	struct serve_layout *layouts = best_of_layouts(s, s->arena);
	size_t count = 0, good = 0;
	qsort(layouts, s->layout_count, sizeof *layouts, by_load);
	while (good < s->layout_count && layouts[good].load > 0)
		good++;
	for (size_t i = 0; i < s->layout_count; i++)
		if (i < s->request->most_count || i >= good)
			layouts[count++] = layouts[i];
	for (size_t i = 0; i < count; i++)
		layouts[i].command = serve_command(s->arena, s->scenario, &layouts[i]);
	*found = (struct serve_search){
		.name = s->scenario->name,
		.setup = setups_text(s->arena, setups, 1),
		.closed = s->closed,
		.gpus_count = s->gpus,
		.quantile_ratio = s->params->slo_quantile_ratio,
		.layouts = layouts,
		.layout_count = count,
		.best_count = good < s->request->most_count ? good : s->request->most_count,
		.load = ESTIMATE_NONE,
		.marks = s->marks.items,
		.mark_count = s->marks.count,
		.simulation_count = s->simulation_count};
	return found;
}

const struct serve_search *serve_search_run(struct arena *arena, struct diag *diag,
					    const struct serve_search_request *request,
					    struct sweep_fault *fault)
{
	struct layout_search *s = ARENA_NEW(arena, struct layout_search);
	*s = (struct layout_search){.arena = arena,
				    .diag = diag,
				    .request = request,
				    .meter = {.watch = request->input.watch}};
	pthread_mutex_init(&s->meter.lock, NULL);
	plan_meter_begin(&s->meter, 1, 0, 0);
	*fault = (struct sweep_fault){0};
	if (!read_case(s) || !layouts_read(s) || !layouts_find(s))
		return NULL;
	for (int first = 1; first >= 0; first--) {
		begin(s, first);
		if (s->candidates.count > (first ? 0 : s->layout_count) && !search_loads(s, fault))
			return NULL;
	}
	if (!explain(s, fault))
		return NULL;
	struct serve_search *found = answer(s);
	if (found->best_count > 0)
		found->load = load_of(s, &found->layouts[0], fault);
	return fault->broken || diag_count(diag) ? NULL : found;
}
