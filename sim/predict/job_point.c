/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/job_point.h"

#include <math.h>

#include "sim/base/arena.h"
#include "sim/predict/baselines.h"

static double busy_ratio(const struct scenario *scenario, const struct world_outcome *outcome,
			 const struct job_entry *entry)
{
	double busy_s = 0;
	const struct fold *fold = scenario->topology.fold;
	for (size_t i = 0; i < entry->simulated_count; i++)
		busy_s += outcome->gpu_busy_s[entry->gpus[i]] *
			  (fold ? (double)fold_count(fold, i) : 1);
	return busy_s / (double)entry->rank_count / outcome->window_s;
}

struct client_point job_steady(const struct scenario *scenario, const struct world_outcome *outcome,
			       const struct job_run *run)
{
	struct client_point point = {.failed = run->failed,
				     .reason = run->reason,
				     .throughput = NAN,
				     .step_s = NAN,
				     .ratio = NAN,
				     .gpu_utilization = NAN};
	const struct job_entry *entry = run->entry;
	double ranks = (double)entry->rank_count;
	if (run->failed)
		return point;
	point.step_s = job_run_step_s(run);
	point.gpu_utilization = busy_ratio(scenario, outcome, entry);
	point.throughput =
		scenario->collective < 0
			? ranks * entry->batch_count / point.step_s
			: scenario->collective_size_B / point.step_s *
				  collective_bus_ratio((enum collective)scenario->collective,
						       entry->rank_count);
	return point;
}

static bool is_alone(const struct scenario *scenario)
{
	return scenario->job_count == 1 && scenario->jobs[0].rank_count == 1 &&
	       !(scenario->jobs[0].straggler_ratio > 1);
}

/* The scenario, whose only job is known to take that for a step on one GPU alone. */
static const struct scenario *with_solo(struct arena *arena, const struct scenario *scenario,
					double solo_step_s)
{
	struct scenario *known = ARENA_NEW(arena, struct scenario);
	struct job_entry *job = ARENA_NEW(arena, struct job_entry);
	*job = scenario->jobs[0];
	job->solo_step_s = solo_step_s;
	*known = *scenario;
	known->jobs = job;
	return known;
}

struct world_outcome job_run_known(struct arena *arena, const struct scenario *scenario,
				   uint64_t seed, struct baselines *baselines, struct trace *trace)
{
	if (!baselines || scenario->job_count > 1 || scenario->collective >= 0)
		return world_run(arena, scenario, seed, trace);
	struct baseline_key key = baseline_solo_key(arena, scenario, seed);
	double solo_step_s;
	if (baselines_find(baselines, key, &solo_step_s))
		return world_run(arena, with_solo(arena, scenario, solo_step_s), seed, trace);
	struct world_outcome outcome = world_run(arena, scenario, seed, trace);
	if (outcome.jobs[0].solo_step_s > 0)
		baselines_add(baselines, key, outcome.jobs[0].solo_step_s);
	return outcome;
}

void job_add_ratios(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		    struct point *point)
{
	double sum = 0;
	if (scenario->collective >= 0)
		return;
	if (scenario->job_count == 1)
		scenario = with_solo(arena, scenario, point->outcome.jobs[0].solo_step_s);
	for (size_t i = 0; i < scenario->job_count; i++) {
		double alone = point->clients[i].throughput;
		if (!is_alone(scenario)) {
			const struct scenario *baseline = scenario_job_baseline(arena, scenario, i);
			struct world_outcome outcome = world_run(arena, baseline, seed, NULL);
			if (outcome.broken)
				point->broken = outcome.broken;
			alone = job_steady(baseline, &outcome, &outcome.jobs[0]).throughput;
		}
		point->clients[i].ratio =
			point->clients[i].throughput / alone / (double)scenario->jobs[i].rank_count;
		sum += point->clients[i].ratio;
	}
	point->ratio = sum / (double)scenario->job_count;
}

void job_add_utilization(const struct scenario *scenario, struct point *point)
{
	double busy = 0, ranks = 0;
	for (size_t i = 0; i < scenario->job_count; i++) {
		busy += point->clients[i].gpu_utilization * (double)scenario->jobs[i].rank_count;
		ranks += (double)scenario->jobs[i].rank_count;
	}
	point->gpu_utilization = busy / ranks;
}

/* ---- where a step goes ---- */

enum { KERNEL, INPUT, EXPOSED, STRAGGLER, OTHER, PART_COUNT };

static void add_parts(const struct job_run *run, double share, double parts[PART_COUNT])
{
	double count = (double)run->steady_count;
	for (size_t i = run->steady_first; i < run->steady_first + run->steady_count; i++) {
		const struct fused_step *step = &run->steps[i];
		parts[KERNEL] += share * step->kernel_s / count;
		parts[INPUT] += share * step->input_s / count;
		parts[EXPOSED] += share * step->exposed_s / count;
		parts[STRAGGLER] += share * step->straggler_s / count;
		parts[OTHER] += share * step->other_s / count;
	}
}

/* "1 MiB" where it is whole, else bytes. */
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

/* NaN: not known. */
static double communication_s(const struct world_outcome *outcome)
{
	double sum_s = 0;
	for (size_t i = 0; i < outcome->job_count; i++) {
		const struct job_run *run = &outcome->jobs[i];
		for (size_t k = run->steady_first; k < run->steady_first + run->steady_count; k++)
			sum_s += run->steps[k].collective_s / (double)run->steady_count;
	}
	return sum_s > 0 ? sum_s / (double)outcome->job_count : NAN;
}

static void break_down(const struct point *point, struct prediction *prediction)
{
	static const char *const names[PART_COUNT] = {"kernel", "input wait", "collective exposed",
						      "straggler", "other"};
	static const char *const causes[PART_COUNT] = {
		"the GPUs' kernels", "input: storage, decoding or copies",
		"exchange of gradients that nothing hides", "the slowest rank",
		"the framework's work on the host"};
	double parts[PART_COUNT] = {0}, span = 0;
	size_t largest = KERNEL;
	for (size_t i = 0; i < point->outcome.job_count; i++)
		add_parts(&point->outcome.jobs[i], 1.0 / (double)point->outcome.job_count, parts);
	for (size_t i = 0; i < PART_COUNT; i++) {
		prediction->breakdown[i] = (struct breakdown_part){names[i], parts[i]};
		span += parts[i];
	}
	/* what keeps the GPUs from computing, unless that is next to nothing */
	for (size_t i = 1; i < PART_COUNT; i++)
		if (parts[i] > 0.03 * span && (largest == KERNEL || parts[i] > parts[largest]))
			largest = i;
	prediction->breakdown_count = PART_COUNT;
	prediction->bottleneck = causes[largest];
}

static struct estimate scaled(struct estimate estimate, double factor)
{
	return (struct estimate){estimate.value * factor, estimate.low * factor,
				 estimate.high * factor};
}

static struct estimate quotient(double dividend, struct estimate divisor)
{
	return (struct estimate){dividend / divisor.value, dividend / divisor.high,
				 dividend / divisor.low};
}

void job_summarize(struct arena *arena, const struct scenario *scenario, const struct point *point,
		   struct prediction *prediction)
{
	const struct case_params *params = scenario->params;
	for (size_t i = 0; i < scenario->job_count; i++)
		prediction->gpu_count += scenario->jobs[i].rank_count;
	prediction->choice = point->outcome.jobs[0].choice;
	if (scenario->collective >= 0)
		prediction->collective = arena_printf(
			arena, "%s, %s", collective_name((enum collective)scenario->collective),
			size_text(arena, scenario->collective_size_B));
	if (point->failed)
		return;
	if (scenario->collective >= 0) {
		prediction->bottleneck = "the collective";
		return;
	}
	prediction->speedup = scaled(prediction->ratio, (double)prediction->gpu_count);
	if (params->epochs_count > 0)
		prediction->training_s = quotient(params->epochs_count * params->images_count,
						  prediction->throughput);
	prediction->communication_s = communication_s(&point->outcome);
	break_down(point, prediction);
}
