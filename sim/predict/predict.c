/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws, intervals and the summary of a case. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/predict/job_point.h"

enum { DIMENSIONS_MAX = 40 };
/* What sums of a step's parts may miss of it. */
static const double ROUNDING = 1e-9;
/* 5 and 95 % points of the standard normal. */
static const double NORMAL_95 = 1.6448536269514722;

/* ---- draws ---- */

struct answers { /* of one draw; clients as the case lists them */
	bool failed;
	struct client_point all;
	struct client_point *clients;
};

struct draws {
	const struct case_request *request;
	const struct predict_options *options;
	const struct recorded_calls *calls; /* of a recorded program: read once */
	const struct cfg_param *params[DIMENSIONS_MAX];
	size_t dimensions, client_count;
	double *points; /* draws_count * dimensions */
	struct answers *answers;
	bool with_ratio;
	size_t next; /* guarded by lock */
	pthread_mutex_t lock;
};

/* Inverse of two half normals around value with 5 % at low and 95 % at high. */
static double draw_value(const struct cfg_param *param, double u)
{
	double z = num_normal_quantile(u);
	double side = z < 0 ? param->value - param->low : param->high - param->value;
	return fmin(fmax(param->value + z / NORMAL_95 * side, param->row->min), param->row->max);
}

static struct answers answers_of(struct arena *arena, const struct point *point)
{
	struct answers answers = {.failed = point->failed || point->broken};
	answers.all = (struct client_point){.throughput = point->throughput,
					    .step_s = point->step_s,
					    .ratio = point->ratio,
					    .gpu_utilization = point->gpu_utilization};
	answers.clients = ARENA_ARRAY(arena, point->client_count + 1, struct client_point);
	memcpy(answers.clients, point->clients, point->client_count * sizeof *answers.clients);
	return answers;
}

static void draw_one(struct draws *draws, size_t index)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct draw_value values[DIMENSIONS_MAX];
	for (size_t d = 0; d < draws->dimensions; d++)
		values[d] = (struct draw_value){
			draws->params[d]->path,
			draw_value(draws->params[d], draws->points[index * draws->dimensions + d])};
	struct case_request request = *draws->request;
	request.draws = values;
	request.draw_count = draws->dimensions;
	request.calls = draws->calls;
	const struct scenario *scenario = case_read(arena, diag, &request);
	struct answers *slot = &draws->answers[index];
	slot->failed = true;
	if (scenario) {
		struct point point = predict_point(
			arena, scenario, draws->options->seed + index + 1, draws->with_ratio, NULL);
		struct client_point *kept = slot->clients;
		struct answers found = answers_of(arena, &point);
		memcpy(kept, found.clients, draws->client_count * sizeof *kept);
		*slot = found;
		slot->clients = kept;
	}
	arena_free(arena);
}

static void *draw_worker(void *ctx)
{
	struct draws *draws = ctx;
	for (;;) {
		pthread_mutex_lock(&draws->lock);
		size_t index = draws->next++;
		pthread_mutex_unlock(&draws->lock);
		if (index >= draws->options->draws_count)
			return NULL;
		draw_one(draws, index);
	}
}

static void run_draws(struct arena *arena, struct draws *draws)
{
	size_t count = draws->options->draws_count;
	draws->points = ARENA_ARRAY(arena, count * draws->dimensions + 1, double);
	draws->answers = ARENA_ARRAY(arena, count, struct answers);
	for (size_t i = 0; i < count; i++)
		draws->answers[i].clients =
			ARENA_ARRAY(arena, draws->client_count + 1, struct client_point);
	num_sobol(count, draws->dimensions, draws->options->seed, draws->points);
	pthread_mutex_init(&draws->lock, NULL);
	unsigned jobs = draws->options->jobs ? draws->options->jobs : 1;
	pthread_t *threads = ARENA_ARRAY(arena, jobs, pthread_t);
	unsigned started = 0;
	while (started + 1 < jobs &&
	       pthread_create(&threads[started], NULL, draw_worker, draws) == 0)
		started++;
	draw_worker(draws);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&draws->lock);
}

/* ---- summary ---- */

/* The interval of one answer: offset of a double in struct client_point;
 * client < 0: of the whole case. */
static struct estimate interval(struct arena *arena, const struct draws *draws, double value,
				long client, size_t offset)
{
	struct estimate estimate = {value, value, value};
	double *values = ARENA_ARRAY(arena, draws->options->draws_count + 1, double);
	size_t count = 0;
	for (size_t i = 0; draws->answers && i < draws->options->draws_count; i++) {
		const struct client_point *answer =
			client < 0 ? &draws->answers[i].all : &draws->answers[i].clients[client];
		double drawn = *(const double *)(const void *)((const char *)answer + offset);
		if (!draws->answers[i].failed && isfinite(drawn))
			values[count++] = drawn;
	}
	if (count == 0 || !isfinite(value))
		return estimate;
	estimate.low = fmin(value, num_quantile(values, count, 0.05));
	estimate.high = fmax(value, num_quantile(values, count, 0.95));
	return estimate;
}

#define INTERVAL(draws, value, client, field)                                                      \
	interval(arena, draws, value, client, offsetof(struct client_point, field))

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

static struct prediction *summarize(struct arena *arena, const struct scenario *scenario,
				    const struct point *point, const struct draws *draws)
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
	p->seed = draws->options->seed;
	p->draws_count = draws->answers ? draws->options->draws_count : 0;
	p->speedup = p->training_s = (struct estimate){NAN, NAN, NAN};
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

const struct prediction *predict_case(struct arena *arena, struct diag *diag,
				      const struct case_request *request,
				      const struct predict_options *options, const char **broken)
{
	*broken = NULL;
	const struct scenario *scenario = case_read(arena, diag, request);
	if (!scenario)
		return NULL;
	struct point point = predict_point_known(arena, scenario, options->seed, true,
						 options->baselines, options->trace);
	if (point.broken) {
		*broken = point.broken;
		return NULL;
	}
	const struct recorded_program *recorded =
		scenario->client_count > 0 ? scenario->clients[0].recorded : NULL;
	struct draws draws = {.request = request,
			      .calls = recorded ? recorded->calls : NULL,
			      .options = options,
			      .client_count = point.client_count,
			      .with_ratio = true};
	for (size_t i = 0;
	     i < cfg_param_count(scenario->resolution) && draws.dimensions < DIMENSIONS_MAX; i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		if (param->row->kind == PARAM_KIND_NUMBER && param->low < param->high)
			draws.params[draws.dimensions++] = param;
	}
	if (!point.failed && draws.dimensions && options->draws_count)
		run_draws(arena, &draws);
	return summarize(arena, scenario, &point, &draws);
}
