/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts a case: its point, its intervals and its summary. */
#include "sim/engine/names.h"
#include "sim/fabric/link.h"
#include "sim/predict/draws.h"
#include "sim/predict/effects.h"
#include "sim/predict/reproduce.h"
#include "sim/scenario/checkpoint.h"
#include "sim/transport/transport.h"

#define INTERVAL(draws, value, client, field)                                                      \
	draws_interval(arena, draws, value, client, offsetof(struct job_point, field))

static void summarize_jobs(struct arena *arena, const struct scenario *scenario,
			   const struct point *point, const struct draws *draws,
			   struct prediction *prediction)
{
	prediction->jobs = ARENA_ARRAY(arena, point->job_count + 1, struct job_prediction);
	prediction->job_count = point->job_count;
	for (size_t i = 0; i < point->job_count; i++) {
		const struct job_point *c = &point->jobs[i];
		long k = (long)i;
		prediction->jobs[i] = (struct job_prediction){
			.name = scenario->jobs[i].name,
			.gpu = scenario->topology.gpus[scenario->jobs[i].gpus[0]].name,
			.ok = !c->failed,
			.reason = c->reason,
			.throughput = INTERVAL(draws, c->throughput, k, throughput),
			.ratio = INTERVAL(draws, c->ratio, k, ratio),
			.step_s = INTERVAL(draws, c->step_s, k, step_s),
			.gpu_utilization = INTERVAL(draws, c->gpu_utilization, k, gpu_utilization),
			.elapsed_s = INTERVAL(draws, c->elapsed_s, k, elapsed_s),
			.latency_p99_s = INTERVAL(draws, c->serving.latency_s[SERVE_QUANTILES - 1],
						  k, serving.latency_s[SERVE_QUANTILES - 1]),
		};
	}
}

static void summarize_links(struct arena *arena, const struct world_outcome *outcome,
			    struct prediction *prediction)
{
	prediction->links = ARENA_ARRAY(arena, outcome->link_count + 1, struct link_prediction);
	prediction->link_count = outcome->link_count;
	for (size_t i = 0; i < outcome->link_count; i++) {
		const struct link_use *use = &outcome->links[i];
		double could_B = use->capacity_Bps * outcome->window_s;
		prediction->links[i] = (struct link_prediction){
			.name = use->link,
			.carried_B = use->carried_B,
			.utilization = could_B > 0 ? use->window_B / could_B : 0};
	}
}

static void summarize_draws(struct arena *arena, const struct draws *draws, struct prediction *p)
{
	struct breakdown_part *drawn = ARENA_ARRAY(arena, draws->count + 1, struct breakdown_part);
	for (size_t i = 0; i < draws->count; i++)
		drawn[i] = (struct breakdown_part){
			arena_printf(arena, "%zu", i + 1),
			draws->answers[i].failed ? 0 : draws->answers[i].all.throughput};
	p->drawn = drawn;
	p->drawn_count = p->draws_count = draws->count;
	p->failed_draws_count = draws->failed_count;
	p->error_count = draws->count ? ERROR_PARTS : 0;
	p->errors = ARENA_ARRAY(arena, ERROR_PARTS, struct error_part);
	memcpy(p->errors, draws->errors, sizeof draws->errors);
	p->width = draws->width;
}

/* Returns for example "1 MiB", or bytes if the size is not a whole number of KiB, MiB or GiB. */
static const char *size_text(struct arena *arena, double size_B)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
	size_t unit = 0;
	while (unit < 3 && size_B >= 1024 && fmod(size_B, 1024) == 0) {
		size_B /= 1024;
		unit++;
	}
	return arena_printf(arena, "%.0f %s", size_B, units[unit]);
}

static struct estimate rate_of(const struct scenario *scenario, const struct prediction *p,
			       enum token_rate rate)
{
	return estimate_scaled(p->throughput, scenario_token_rate(scenario, rate));
}

/* Returns the GPU memory of the plan's stage that needs most; NaN without a plan. */
static double memory_B(const struct scenario *scenario)
{
	const struct job_entry *job = &scenario->jobs[0];
	return job->plan ? plan_most_memory_B(job->plan, job->stack) : NAN;
}

/* Returns by how much memory_B exceeds the smallest GPU's memory; NaN if it does not. */
static double memory_lacking_B(const struct scenario *scenario)
{
	const struct job_entry *job = &scenario->jobs[0];
	double least_B = INFINITY;
	for (size_t i = 0; i < job->simulated_count; i++)
		least_B = fmin(least_B, scenario->topology.gpus[job->gpus[i]].params.memory_B);
	double lacking_B = memory_B(scenario) - least_B;
	return lacking_B > 0 ? lacking_B : NAN;
}

static struct estimate time_of(double count, struct estimate throughput)
{
	return (struct estimate){count / throughput.value, count / throughput.high,
				 count / throughput.low};
}

static void summarize_job(struct arena *arena, const struct scenario *scenario,
			  struct prediction *p)
{
	const struct case_params *params = scenario->params;
	for (size_t i = 0; scenario_has_gpus(scenario) && i < scenario->job_count; i++)
		p->gpu_count += scenario->jobs[i].rank_count;
	if (scenario->style == JOBS_COLLECTIVE)
		p->collective = arena_printf(arena, "%s, %s", collective_name(scenario->collective),
					     size_text(arena, scenario->collective_size_B));
	if (p->gpu_count == 0 || !p->ok || p->collective)
		return;
	p->speedup = estimate_scaled(p->ratio, (double)p->gpu_count);
	if (params->tokens_count > 0)
		p->training_s = time_of(params->tokens_count, p->token_throughput);
	else if (params->epochs_count > 0)
		p->training_s = scenario->phases
					? p->elapsed_s
					: time_of(params->epochs_count * params->images_count,
						  p->throughput);
}

static void summarize_run(struct arena *arena, const struct scenario *scenario,
			  const struct point *point, const struct draws *draws,
			  struct prediction *p)
{
	const double hour_s = 3600;
	if (!scenario->run || point->failed)
		return;
	struct breakdown_part *parts =
		ARENA_ARRAY(arena, FAILURE_CAUSE_COUNT + BREAKDOWN_MAX, struct breakdown_part);
	p->goodput_ratio = INTERVAL(draws, point->goodput_ratio, -1, goodput_ratio);
	p->failures_count = INTERVAL(draws, point->failures_count, -1, failures_count);
	p->spares_count = (double)checkpoint_spares(scenario);
	double machines = (double)checkpoint_machines(scenario);
	p->gpu_hours = estimate_scaled(
		p->elapsed_s, (double)p->gpu_count * (1 + p->spares_count / machines) / hour_s);
	p->causes = parts;
	p->cause_count = FAILURE_CAUSE_COUNT;
	memcpy(parts, point->causes, sizeof point->causes);
	p->checkpoint = parts + FAILURE_CAUSE_COUNT;
	p->checkpoint_count = point->checkpoint_count;
	memcpy(parts + FAILURE_CAUSE_COUNT, point->checkpoint, sizeof point->checkpoint);
}

#define SERVING(draws, member)                                                                     \
	draws_interval(arena, draws, point->serving.member, -1,                                    \
		       offsetof(struct job_point, serving) +                                       \
			       offsetof(struct serving_answers, member))

static void summarize_serving(struct arena *arena, const struct scenario *scenario,
			      const struct point *point, const struct draws *draws,
			      struct prediction *p)
{
	const struct service_entry *services = scenario->services;
	bool tokens = true;
	for (size_t i = 0; i < scenario->service_count; i++) {
		p->requests_count += (uint64_t)service_requests_count(scenario, &services[i]);
		tokens &= services[i].one_token != NULL;
	}
	for (size_t k = 0; k < SERVE_QUANTILES; k++) {
		p->latency_s[k] = SERVING(draws, latency_s[k]);
		p->first_token_s[k] = tokens ? SERVING(draws, first_s[k]) : ESTIMATE_NONE;
		p->between_tokens_s[k] = tokens ? SERVING(draws, between_s[k]) : ESTIMATE_NONE;
		p->token_quantile_s[k] = tokens ? SERVING(draws, token_s[k]) : ESTIMATE_NONE;
	}
	p->first_token_mean_s = tokens ? SERVING(draws, first_mean_s) : ESTIMATE_NONE;
	p->token_s = tokens ? SERVING(draws, token_mean_s) : ESTIMATE_NONE;
	p->cache_tokens_count = point->failed ? 0 : point->serving.cache_tokens_count;
	double gpus = 0;
	for (size_t i = 0; i < scenario->job_count; i++)
		gpus += (double)scenario->jobs[i].rank_count * scenario->jobs[i].fraction_ratio;
	p->token_throughput = tokens ? SERVING(draws, tokens_per_s) : ESTIMATE_NONE;
	p->gpu_token_throughput = estimate_scaled(p->token_throughput, 1 / gpus);
	p->user_token_throughput = tokens ? SERVING(draws, user_tokens_per_s) : ESTIMATE_NONE;
	p->goodput = SERVING(draws, goodput_per_s);
	p->slo_attainment = SERVING(draws, attainment_ratio);
	p->refused_count = point->failed ? 0 : (uint64_t)point->serving.refused_count;
	p->overload_ratio = point->failed ? 0 : point->serving.overload_ratio;
	p->error_ratio = point->failed ? 0 : point->serving.error_ratio;
	p->latency_error_ratio = point->failed ? NAN : point->serving.latency_error_ratio;
	p->wanted_count = point->failed ? 0 : point->serving.wanted_count;
	p->preempted_count = point->failed ? 0 : (uint64_t)point->serving.preempted_count;
	struct breakdown_part *shares = ARENA_ARRAY(arena, SERVE_CDF_POINTS, struct breakdown_part);
	for (size_t k = 0; k < SERVE_CDF_POINTS && !point->failed; k++)
		shares[p->latency_cdf_count++] = (struct breakdown_part){
			arena_printf(arena, "%.*f",
				     serve_cdf_shares[k] > 0.99 && serve_cdf_shares[k] < 1 ? 3 : 2,
				     serve_cdf_shares[k]),
			point->serving.cdf_s[k]};
	p->latency_cdf = shares;
}

/* ---- adapters that carry nothing ---- */

/* Returns the names of the nodes that links inside the host connect with it. */
static struct names *nodes_of(struct arena *arena, const struct topology *t, const char *host)
{
	struct names *nodes = names_new(arena);
	names_add(nodes, host);
	for (size_t before = 0; before < names_count(nodes);) {
		before = names_count(nodes);
		for (size_t i = 0; i < t->link_count; i++) {
			const char *const *ends = t->links[i].ends;
			if (t->links[i].kind->inside_host &&
			    (names_find(nodes, ends[0]) >= 0 || names_find(nodes, ends[1]) >= 0)) {
				names_add(nodes, ends[0]);
				names_add(nodes, ends[1]);
			}
		}
	}
	return nodes;
}

/* Returns how many adapters of the first job's machine carry nothing, and why. Returns NULL if all
 * of them carry bytes, or none does. */
static const char *idle_adapters(struct arena *arena, const struct scenario *scenario,
				 const struct world_outcome *outcome)
{
	const struct topology *t = &scenario->topology;
	const struct job_entry *job = &scenario->jobs[0];
	if (!scenario_transport(scenario) || !job->transport ||
	    outcome->link_count != 2 * t->link_count)
		return NULL;
	const char *host = t->hosts[t->guests[job->guests[0]].host].name;
	struct arena *scratch = arena_new();
	const struct names *nodes = nodes_of(scratch, t, host);
	size_t idle = 0, count = 0;
	for (size_t i = 0; i < t->link_count; i++) {
		const struct link_entry *link = &t->links[i];
		if (link->kind->inside_host ||
		    (names_find(nodes, link->ends[0]) < 0 && names_find(nodes, link->ends[1]) < 0))
			continue;
		count++;
		idle += outcome->links[2 * i].carried_B <= 0 &&
			outcome->links[2 * i + 1].carried_B <= 0;
	}
	arena_free(scratch);
	if (idle == 0 || idle == count)
		return NULL;
	bool nearest = !job->transport->sockets ||
		       (!job->runtime && job->library && job->library->rules == RULES_NCCL);
	return arena_printf(
		arena, "%zu of %zu adapters of %s carry nothing, because %s", idle, count, host,
		nearest ? "each GPU uses the nearest one"
			: "all connections of a machine use one adapter (NCCL, which opens "
			  "sockets on all of them, can be several times faster)");
}

/* ---- the whole prediction ---- */

/* Cases that differ only in their plans have different names. */
static const char *name_of(struct arena *arena, const struct scenario *scenario)
{
	const struct training_plan *plan = scenario->jobs[0].plan;
	return plan && !scenario->named
		       ? arena_printf(arena, "%s: %s", scenario->name, plan_text(arena, plan))
		       : scenario->name;
}

static const char *const wait_names[] = {
	[WAIT_IDLE_STATE] = WAIT_NAME_IDLE_STATE,
	[WAIT_INTERRUPT] = WAIT_NAME_INTERRUPT,
	[WAIT_CYCLE] = WAIT_NAME_CYCLE,
	[WAIT_BATCH] = WAIT_NAME_BATCH,
	[WAIT_POLL] = WAIT_NAME_POLL,
	[WAIT_CORE] = WAIT_NAME_CORE,
	[WAIT_SHARED] = WAIT_NAME_SHARED,
};

/* Sets the phases of a job, and the waits of a step. */
static void summarize_waits(struct arena *arena, const struct point *point, struct prediction *p)
{
	struct breakdown_part *phases =
		ARENA_ARRAY(arena, point->phase_count, struct breakdown_part);
	for (size_t i = 0; i < point->phase_count; i++)
		phases[i] = point->phases[i];
	p->phases = phases;
	p->phase_count = point->phase_count;
	struct breakdown_part *waits = ARENA_ARRAY(arena, WAIT_COUNT, struct breakdown_part);
	for (size_t i = 0; i < WAIT_COUNT && !point->failed; i++)
		if (point->outcome.waits_s[i] > 0)
			waits[p->wait_count++] = (struct breakdown_part){
				wait_names[i], point->outcome.waits_s[i] * point->step_s /
						       point->outcome.window_s};
	p->waits = waits;
}

static struct prediction *summarize(struct arena *arena, const struct scenario *scenario,
				    const struct point *point, const struct draws *draws,
				    uint64_t seed)
{
	struct prediction *p = ARENA_NEW(arena, struct prediction);
	p->name = name_of(arena, scenario);
	p->ok = !point->failed;
	p->reason = point->reason;
	p->throughput = INTERVAL(draws, point->throughput, -1, throughput);
	p->token_throughput = rate_of(scenario, p, RATE_TOKENS);
	p->gpu_token_throughput = rate_of(scenario, p, RATE_TOKENS_GPU);
	p->model_flops = rate_of(scenario, p, RATE_MODEL_FLOPS);
	p->mfu = rate_of(scenario, p, RATE_MFU);
	p->hfu = rate_of(scenario, p, RATE_HFU);
	p->memory_B = memory_B(scenario);
	p->memory_lacking_B = memory_lacking_B(scenario);
	p->step_s = INTERVAL(draws, point->step_s, -1, step_s);
	p->ratio = INTERVAL(draws, point->ratio, -1, ratio);
	p->gpu_utilization = INTERVAL(draws, point->gpu_utilization, -1, gpu_utilization);
	p->elapsed_s = INTERVAL(draws, point->elapsed_s, -1, elapsed_s);
	summarize_waits(arena, point, p);
	p->events_count = point->outcome.events_count;
	p->resolution = scenario->resolution;
	p->seed = seed;
	summarize_draws(arena, draws, p);
	p->setup = scenario_setup(arena, scenario);
	p->evidence = scenario_distance_words(arena, scenario, point->failed ? 0 : point->step_s);
	if (!point->failed)
		p->idle_adapters = idle_adapters(arena, scenario, &point->outcome);
	p->speedup = p->training_s = ESTIMATE_NONE;
	const struct job_run *run = &point->outcome.jobs[0];
	p->collectives_count =
		run->comm.collectives_count > 0 && run->step_count > 0
			? (double)run->comm.collectives_count / (double)run->step_count
			: NAN;
	p->communication_s = NAN;
	p->bottleneck = point->failed ? NULL : "";
	summarize_jobs(arena, scenario, point, draws, p);
	summarize_links(arena, &point->outcome, p);
	summarize_job(arena, scenario, p);
	p->goodput_ratio = p->failures_count = p->gpu_hours = ESTIMATE_NONE;
	p->spares_count = NAN;
	summarize_run(arena, scenario, point, draws, p);
	if (scenario->style == JOBS_SERVING)
		summarize_serving(arena, scenario, point, draws, p);
	costs_summarize(arena, scenario, point, draws, p);
	p->connect_s = point->outcome.jobs[0].connect_s;
	p->choice = point->outcome.jobs[0].choice;
	if (!point->failed)
		breakdown_summarize(arena, point, scenario, p);
	return p;
}

struct case_request request_with(struct arena *arena, const struct case_request *request,
				 const struct setting *settings, size_t count)
{
	struct case_request with = *request;
	struct setting *all = ARENA_ARRAY(arena, request->setting_count + count, struct setting);
	if (request->setting_count)
		memcpy(all, request->settings, request->setting_count * sizeof *all);
	if (count)
		memcpy(all + request->setting_count, settings, count * sizeof *all);
	with.settings = all;
	with.setting_count += count;
	return with;
}

const struct setting *request_setting(const struct case_request *request, const char *key)
{
	size_t length = strlen(key);
	for (size_t i = request->setting_count; i-- > 0;)
		if (strncmp(request->settings[i].text, key, length) == 0 &&
		    request->settings[i].text[length] == '=')
			return &request->settings[i];
	return NULL;
}

/* ---- jobs that need too many events ---- */

/* Jobs of FORESEEN_LEAST ranks or more are compared with one of FORESEEN_FROM ranks. */
enum { FORESEEN_FROM = 64, FORESEEN_LEAST = 1024 };

/* Returns the events of the case on FORESEEN_FROM GPUs, all simulated; 0: that is not possible. */
static uint64_t small_events(struct arena *arena, const struct case_request *request, uint64_t seed)
{
	const struct setting gpus = {arena_printf(arena, "case.gpus=%d", FORESEEN_FROM),
				     {"farwire", 0}};
	struct case_request small = request_with(arena, request, &gpus, 1);
	small.watch = NULL;
	const struct scenario *scenario = case_read(arena, diag_new(arena), &small);
	if (!scenario || scenario->topology.fold)
		return 0;
	const struct point point = predict_point(arena, scenario, seed, false, NULL, NULL);
	return point.failed || point.broken ? 0 : point.outcome.events_count;
}

/* Returns why a job whose machines are all simulated cannot end within the events of a run; NULL:
 * it may. Its events grow with the ranks at least, which a small job with the same settings shows
 * in a fraction of a second. */
static const char *foresee(struct arena *arena, const struct case_request *request,
			   const struct scenario *scenario, uint64_t seed)
{
	const struct job_entry *job = &scenario->jobs[0];
	if (scenario->job_count != 1 || scenario->topology.fold || job->plan ||
	    !(scenario->params->gpus_count > 0) || job->rank_count < FORESEEN_LEAST)
		return NULL;
	struct arena *scratch = arena_new();
	double ranks = (double)job->rank_count;
	double events = (double)small_events(scratch, request, seed) * ranks / FORESEEN_FROM;
	arena_free(scratch);
	if (events <= (double)scenario->events_max)
		return NULL;
	return arena_printf(arena,
			    "the job needs about %.0f million events by a run on %d GPUs, more "
			    "than case.events (write a larger --events, fewer --gpus, or rdma on "
			    "a switch, fat_tree or rail_optimised network)",
			    events / 1e6, FORESEEN_FROM);
}

static const struct prediction *predict(struct arena *arena, struct diag *diag,
					const struct case_request *request,
					const struct predict_options *options, const char **broken)
{
	const struct scenario *scenario = case_read(arena, diag, request);
	if (!scenario)
		return NULL;
	const char *reason = foresee(arena, request, scenario, options->seed);
	struct point point = reason ? point_new(arena, scenario, reason)
				    : predict_point(arena, scenario, options->seed, true,
						    options->baselines, options->trace);
	if (point.broken) {
		*broken = reproducible(arena, request, scenario, options->seed, point.broken);
		return NULL;
	}
	if (options->trace && scenario->jobs[0].plan)
		plan_memory_trace(options->trace, scenario->jobs[0].plan, scenario->jobs[0].stack);
	struct draws draws = {0};
	if (!point.failed && options->draws_count)
		draws = draws_run(arena, request, options, scenario, &point);
	if (draws.broken) {
		*broken = draws.broken;
		return NULL;
	}
	struct prediction *made = summarize(arena, scenario, &point, &draws, options->seed);
	if (options->effects) {
		const struct draws none = {0};
		made->without_effect = settings_without_effect(
			arena, request, summarize(arena, scenario, &point, &none, options->seed),
			options);
	}
	if (options->remedies)
		made->remedy = remedies_tried(arena, made, request, scenario, &point, options);
	return made;
}

const char *prediction_load_refused(const struct prediction *p, double rate_per_s)
{
	const double least = 0.5; /* far below 1, because few requests have irregular arrivals */
	if (p->overload_ratio >= OVERLOAD_LEAST || p->throughput.value < least * rate_per_s)
		return "requests arrive faster than they are served";
	return p->wanted_count > 0 ? "serve.requests is too small for this load" : NULL;
}

const struct prediction *predict_case(struct arena *arena, struct diag *diag,
				      const struct case_request *request,
				      const struct predict_options *options, const char **broken)
{
	*broken = NULL;
	if (options->trace) /* the spans of a trace use names that belong to the world */
		return predict(arena, diag, request, options, broken);
	struct arena *scratch = arena_new();
	const struct prediction *made = predict(scratch, diag, request, options, broken);
	const struct prediction *prediction = made ? prediction_copy(arena, NULL, made) : NULL;
	if (*broken)
		*broken = arena_strdup(arena, *broken);
	arena_free(scratch);
	return prediction;
}
