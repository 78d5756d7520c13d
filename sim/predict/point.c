/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run of a world, read as throughput, step time, ratio and utilisation. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/predict/baselines.h"
#include "sim/predict/job_point.h"

static struct client_point steady(const struct client_run *run)
{
	struct client_point point = {.failed = run->failed,
				     .reason = run->reason,
				     .throughput = NAN,
				     .step_s = NAN,
				     .ratio = NAN,
				     .gpu_utilization = NAN};
	if (run->failed)
		return point;
	const struct step_record *first = &run->steps[run->steady_first];
	const struct step_record *last = first + run->steady_count - 1;
	double elapsed_s = s_from_ps(last->end_ps - first->start_ps), busy_s = 0;
	for (const struct step_record *step = first; step <= last; step++)
		busy_s += step->gpu_busy_s;
	point.step_s = client_step_s(run);
	point.throughput = run->entry->batch_count / point.step_s;
	point.gpu_utilization = busy_s / elapsed_s;
	return point;
}

/* The throughput of client alone beside its GPU; that of an equal client
 * before it is taken again. */
static double baseline_throughput(struct arena *arena, const struct scenario *scenario,
				  size_t client, uint64_t seed, struct baselines *baselines,
				  const double *known, const char **broken)
{
	const struct client_entry *entry = &scenario->clients[client];
	for (size_t i = 0; i < client; i++) {
		const struct client_entry *other = &scenario->clients[i];
		if (other->network == entry->network && other->batch_count == entry->batch_count &&
		    other->server == entry->server && other->gpu == entry->gpu)
			return known[i];
	}
	struct baseline_key key = {0};
	double throughput;
	if (baselines) {
		key = baseline_key(arena, scenario, client, seed);
		if (baselines_find(baselines, key, &throughput))
			return throughput;
	}
	const struct scenario *baseline = scenario_baseline(arena, scenario, client);
	struct world_outcome outcome = world_run(arena, baseline, seed, NULL);
	throughput = steady(&outcome.clients[0]).throughput;
	if (outcome.broken)
		*broken = outcome.broken;
	else if (baselines)
		baselines_add(baselines, key, throughput);
	return throughput;
}

static bool is_local(const struct scenario *scenario)
{
	return scenario->client_count == 1 && !scenario->clients[0].runtime &&
	       scenario->clients[0].fraction_ratio == 1;
}

static void add_ratios(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		       struct baselines *baselines, struct point *point)
{
	double *known = ARENA_ARRAY(arena, point->client_count + 1, double);
	double sum = 0;
	for (size_t i = 0; i < point->client_count; i++) {
		known[i] = is_local(scenario)
				   ? point->clients[i].throughput
				   : baseline_throughput(arena, scenario, i, seed, baselines, known,
							 &point->broken);
		point->clients[i].ratio = point->clients[i].throughput / known[i];
		sum += point->clients[i].ratio;
	}
	point->ratio = sum / (double)point->client_count;
}

/* Mean utilisation of the GPUs that clients use, in the window. */
static double pool_utilization(const struct scenario *scenario, const struct world_outcome *outcome)
{
	double busy_s = 0, count = 0;
	for (size_t gpu = 0; gpu < scenario->topology.gpu_count; gpu++) {
		bool used = false;
		for (size_t i = 0; i < scenario->client_count; i++)
			used = used || scenario->clients[i].gpu == gpu;
		if (used) {
			busy_s += outcome->gpu_busy_s[gpu];
			count++;
		}
	}
	return busy_s / count / outcome->window_s;
}

/* Sums up point->clients, clients or jobs; false if one failed. */
static bool add_up(struct arena *arena, const struct scenario *scenario, struct point *point)
{
	double throughput = 0, step = 0;
	for (size_t i = 0; i < point->client_count; i++) {
		const struct client_point *client = &point->clients[i];
		if (client->failed && !point->failed) {
			bool job = scenario->job_count > 0;
			point->failed = true;
			point->reason =
				point->client_count == 1
					? client->reason
					: arena_printf(arena, "%s '%s': %s", job ? "job" : "client",
						       job ? scenario->jobs[i].name
							   : scenario->clients[i].name,
						       client->reason);
		}
		throughput += client->throughput;
		step += client->step_s / (double)point->client_count;
	}
	if (point->failed || point->broken)
		return false;
	point->throughput = throughput;
	point->step_s = step;
	return true;
}

struct point predict_point(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			   bool with_baseline, struct baselines *baselines, struct trace *trace)
{
	bool jobs = scenario->job_count > 0;
	struct point point = {
		.throughput = NAN, .step_s = NAN, .ratio = NAN, .gpu_utilization = NAN};
	point.outcome = jobs ? job_run_known(arena, scenario, seed, baselines, trace)
			     : world_run(arena, scenario, seed, trace);
	point.broken = point.outcome.broken;
	point.client_count = jobs ? scenario->job_count : scenario->client_count;
	point.clients = ARENA_ARRAY(arena, point.client_count + 1, struct client_point);
	for (size_t i = 0; i < point.client_count; i++)
		point.clients[i] =
			jobs ? job_steady(scenario, &point.outcome, &point.outcome.jobs[i])
			     : steady(&point.outcome.clients[i]);
	if (!add_up(arena, scenario, &point))
		return point;
	if (jobs) {
		if (with_baseline)
			job_add_ratios(arena, scenario, seed, &point);
		job_add_utilization(scenario, &point);
		return point;
	}
	point.gpu_utilization = point.client_count == 1
					? point.clients[0].gpu_utilization
					: pool_utilization(scenario, &point.outcome);
	if (with_baseline)
		add_ratios(arena, scenario, seed, baselines, &point);
	return point;
}
