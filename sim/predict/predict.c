/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A point, its intervals, and the summary of a case. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/predict/draws.h"
#include "sim/predict/job_point.h"
#include "sim/predict/reproduce.h"

/* What sums of a step's parts may miss of it. */
static const double ROUNDING = 1e-9;
#define INTERVAL(draws, value, client, field)                                                      \
	draws_interval(arena, draws, value, client, offsetof(struct client_point, field))

static void summarize_clients(struct arena *arena, const struct scenario *scenario,
			      const struct point *point, const struct draws *draws,
			      struct prediction *prediction)
{
	prediction->clients = ARENA_ARRAY(arena, point->client_count + 1, struct client_prediction);
	prediction->client_count = point->client_count;
	for (size_t i = 0; i < point->client_count; i++) {
		const struct client_point *c = &point->clients[i];
		bool job = scenario->job_count > 0;
		size_t gpu = job ? scenario->jobs[i].gpus[0] : scenario->clients[i].gpu;
		long k = (long)i;
		prediction->clients[i] = (struct client_prediction){
			.name = job ? scenario->jobs[i].name : scenario->clients[i].name,
			.gpu = scenario->topology.gpus[gpu].name,
			.ok = !c->failed,
			.reason = c->reason,
			.throughput = INTERVAL(draws, c->throughput, k, throughput),
			.ratio = INTERVAL(draws, c->ratio, k, ratio),
			.step_s = INTERVAL(draws, c->step_s, k, step_s),
			.gpu_utilization = INTERVAL(draws, c->gpu_utilization, k, gpu_utilization),
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

/* A client's time in the window, a step. */
struct step_time {
	double span, busy, idle[TIME_KIND_COUNT], lost;
};

static struct step_time step_time_of(const struct client_run *run)
{
	struct step_time time = {0};
	for (size_t i = run->steady_first; i < run->steady_first + run->steady_count; i++) {
		const struct step_record *step = &run->steps[i];
		time.busy += step->gpu_busy_s / run->steady_work;
		time.span += s_from_ps(step->end_ps - step->start_ps) / run->steady_work;
		for (size_t k = 0; k < TIME_KIND_COUNT; k++)
			time.idle[k] += step->gpu_idle_s[k] / run->steady_work;
	}
	time.lost = fmin(run->window_stalled_s / run->steady_work,
			 time.idle[TIME_CALL] + time.idle[TIME_WAIT]);
	return time;
}

/* Where a step goes, in the mean over the clients: the GPU at work for it, and
 * the rest by what the issuing thread was doing. Lost packets' share of that is
 * named. Calls and timeouts are the first client's. */
static void summarize_breakdown(const struct world_outcome *outcome, struct prediction *prediction)
{
	const struct client_run *run = &outcome->clients[0];
	bool remote = run->entry->runtime != NULL; /* all or none */
	struct breakdown_part parts[] = {{"kernel", 0},         {"call issue", 0}, {"network", 0},
					 {"retransmission", 0}, {"copy", 0},       {"other", 0}};
	double span = 0;
	for (size_t i = 0; i < outcome->client_count; i++) {
		struct step_time time = step_time_of(&outcome->clients[i]);
		double share = 1 / (double)outcome->client_count;
		double issue = time.idle[TIME_THINK] + (remote ? 0 : time.idle[TIME_CALL]);
		double wait = time.idle[TIME_WAIT] + (remote ? time.idle[TIME_CALL] : 0);
		double network = remote ? wait - time.lost : 0, copy = remote ? 0 : wait;
		const double seconds[] = {time.busy, issue, network,
					  time.lost, copy,  time.span - time.busy - issue - wait};
		for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
			parts[k].seconds += share * seconds[k];
		span += share * time.span;
	}
	struct breakdown_part *other = &parts[sizeof parts / sizeof parts[0] - 1];
	if (fabs(other->seconds) < ROUNDING * span)
		other->seconds = 0;
	prediction->breakdown_count = sizeof parts / sizeof parts[0];
	memcpy(prediction->breakdown, parts, sizeof parts);
	const struct step_record *last = &run->steps[run->steady_first + run->steady_count - 1];
	prediction->calls_count = last->calls_count;
	prediction->polls_count = last->polls_count;
	prediction->retransmission_timeouts = (double)run->window_timeouts_count / run->steady_work;
	static const char *const names[] = {"the GPU's kernels",
					    "issuing calls on the host",
					    "calls' round trips and copies on the network",
					    "packets lost on the network",
					    "copies",
					    "other"};
	size_t largest = 0;
	/* what keeps the GPU from working, unless that is next to nothing */
	for (size_t i = 1; i < prediction->breakdown_count; i++)
		if (parts[i].seconds > 0.03 * span &&
		    (largest == 0 || parts[i].seconds > parts[largest].seconds))
			largest = i;
	prediction->bottleneck = names[largest];
}

static const double *drawn_throughputs(struct arena *arena, const struct draws *draws)
{
	double *values = ARENA_ARRAY(arena, draws->count, double);
	for (size_t i = 0; i < draws->count; i++)
		values[i] = draws->answers[i].failed ? 0 : draws->answers[i].all.throughput;
	return draws->count ? values : NULL;
}

static struct prediction *summarize(struct arena *arena, const struct scenario *scenario,
				    const struct point *point, const struct draws *draws,
				    uint64_t seed)
{
	struct prediction *p = ARENA_NEW(arena, struct prediction);
	p->name = scenario->name;
	p->ok = !point->failed;
	p->reason = point->reason;
	p->throughput = INTERVAL(draws, point->throughput, -1, throughput);
	p->step_s = INTERVAL(draws, point->step_s, -1, step_s);
	p->ratio = INTERVAL(draws, point->ratio, -1, ratio);
	p->gpu_utilization = INTERVAL(draws, point->gpu_utilization, -1, gpu_utilization);
	p->events_count = point->outcome.events_count;
	p->resolution = scenario->resolution;
	p->seed = seed;
	p->draws_count = draws->count;
	p->failed_draws_count = draws->failed_count;
	p->drawn_throughputs = drawn_throughputs(arena, draws);
	if (draws->error) {
		p->error_ratio = draws->error->value;
		p->error_freedom_count = draws->error->freedom_count;
	}
	p->transport = scenario_transport(scenario);
	p->speedup = p->training_s = (struct estimate){NAN, NAN, NAN};
	p->communication_s = NAN;
	p->bottleneck = point->failed ? NULL : "";
	summarize_clients(arena, scenario, point, draws, p);
	summarize_links(arena, &point->outcome, p);
	if (scenario->job_count > 0) {
		job_summarize(arena, scenario, point, p);
		return p;
	}
	p->connect_s = point->outcome.clients[0].connect_s;
	if (!point->failed)
		summarize_breakdown(&point->outcome, p);
	return p;
}

static const struct prediction *predict(struct arena *arena, struct diag *diag,
					const struct case_request *request,
					const struct predict_options *options, const char **broken)
{
	const struct scenario *scenario = case_read(arena, diag, request);
	if (!scenario)
		return NULL;
	struct point point = predict_point(arena, scenario, options->seed, true, options->baselines,
					   options->trace);
	if (point.broken) {
		*broken = reproducible(arena, request, scenario, options->seed, point.broken);
		return NULL;
	}
	struct draws draws = {0};
	if (!point.failed && options->draws_count)
		draws = draws_run(arena, request, options, scenario, &point);
	if (draws.broken) {
		*broken = draws.broken;
		return NULL;
	}
	return summarize(arena, scenario, &point, &draws, options->seed);
}

const struct prediction *predict_case(struct arena *arena, struct diag *diag,
				      const struct case_request *request,
				      const struct predict_options *options, const char **broken)
{
	*broken = NULL;
	if (options->trace) /* its spans have the world's names */
		return predict(arena, diag, request, options, broken);
	struct arena *scratch = arena_new();
	const struct prediction *made = predict(scratch, diag, request, options, broken);
	const struct prediction *prediction = made ? prediction_copy(arena, NULL, made) : NULL;
	if (*broken)
		*broken = arena_strdup(arena, *broken);
	arena_free(scratch);
	return prediction;
}
