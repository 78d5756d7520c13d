/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a world once and computes throughput, step time, ratio and utilisation from it. */
#include "sim/predict/baselines.h"
#include "sim/predict/draws.h"

#define ANSWER_NONE(field) .field = NAN,

/* Time of a training job from launch to end.
 *
 *   elapsed = phases before the steps + first steps      (simulated, sim/workload/life.h)
 *           + (all steps - first steps) * steady step    (the window of the point's own run)
 *           + evaluations + checkpoints + end
 *
 * An evaluation takes for each batch the kernels of a forward pass, or the slowest stage of the
 * input pipeline if that is longer. One checkpoint is simulated, and all take the same time. */

struct parts {
	struct breakdown_part parts[BREAKDOWN_MAX];
	size_t count;
	double sum_s;
};

static void add(struct parts *parts, const char *name, double seconds)
{
	parts->parts[parts->count++] = (struct breakdown_part){name, seconds};
	parts->sum_s += seconds;
}

/* Returns how often an event happens that follows every `every` epochs. */
static double times(double epochs, double every)
{
	const double rounding = 1e-9; /* epochs may come from a number of steps */
	return every > 0 ? floor(epochs / every + rounding) : 0;
}

static double evaluations_s(const struct scenario *scenario, const struct job_entry *entry,
			    const struct job_run *launch, double epochs)
{
	const struct phases_params *phases = scenario->phases;
	double batches = ceil(phases->evaluation_images_count /
			      (entry->batch_count * (double)entry->rank_count));
	return times(epochs, phases->evaluation_epochs_count) * batches *
	       fmax(launch->forward_s, launch->input_batch_s);
}

static double checkpoints_s(const struct scenario *scenario, const struct job_run *launch,
			    double epochs)
{
	const struct phases_params *phases = scenario->phases;
	double count =
		times(epochs, phases->checkpoint_epochs_count) + (phases->checkpoint_end ? 1 : 0);
	return count * launch->phase_s[PHASE_CHECKPOINT];
}

static struct parts parts_of(const struct scenario *scenario, const struct job_run *launch,
			     double step_s)
{
	const struct job_entry *entry = launch->entry;
	double steps = scenario_job_steps(scenario, entry);
	double epochs = steps * entry->batch_count * (double)entry->rank_count /
			scenario->params->images_count;
	struct parts parts = {.count = 0};
	for (enum job_phase phase = PHASE_PROCESS; phase < PHASE_STEPS; phase++)
		add(&parts, job_phase_name(phase), launch->phase_s[phase]);
	add(&parts, job_phase_name(PHASE_STEPS),
	    launch->phase_s[PHASE_STEPS] + (steps - (double)launch->step_count) * step_s);
	add(&parts, "evaluations", evaluations_s(scenario, entry, launch, epochs));
	add(&parts, "checkpoints", checkpoints_s(scenario, launch, epochs));
	add(&parts, job_phase_name(PHASE_END), launch->phase_s[PHASE_END]);
	return parts;
}

/* Runs the launch of the point's jobs and sets elapsed_s of each job and of the point, and its
 * phases. The point has not failed. */
static void elapsed_add(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			struct point *point)
{
	double *solo_s = ARENA_ARRAY(arena, point->job_count + 1, double);
	for (size_t i = 0; i < point->job_count; i++)
		solo_s[i] = point->outcome.jobs[i].solo_step_s;
	const struct scenario *launch = scenario_with_solo(arena, scenario, solo_s, true);
	struct world_outcome outcome = world_run(arena, launch, seed, NULL);
	point->broken = outcome.broken;
	for (size_t i = 0; i < point->job_count && !point->broken; i++) {
		const struct job_run *run = &outcome.jobs[i];
		if (run->failed) {
			point->failed = point->jobs[i].failed = true;
			point->reason = point->jobs[i].reason = run->reason;
			return;
		}
		struct parts parts = parts_of(scenario, run, point->jobs[i].step_s);
		point->jobs[i].elapsed_s = parts.sum_s;
		if (i > 0 && parts.sum_s <= point->elapsed_s)
			continue;
		point->elapsed_s = parts.sum_s;
		point->phase_count = parts.count;
		for (size_t k = 0; k < parts.count; k++)
			point->phases[k] = parts.parts[k];
	}
}

/* ---- a job's steps in the window ---- */

static double busy_s(const struct job_run *run)
{
	double sum_s = 0;
	for (size_t i = 0; i < run->steady_count; i++)
		sum_s += run->steps[run->steady_first + i].gpu_busy_s;
	return sum_s;
}

/* Returns the utilisation of the job's GPUs during its own measured steps. */
static double program_utilization(const struct job_run *run)
{
	const struct step_record *first = &run->steps[run->steady_first];
	const struct step_record *last = first + run->steady_count - 1;
	return busy_s(run) / s_from_ps(last->end_ps - first->start_ps);
}

/* Returns the mean utilisation of the job's GPUs in the window. */
static double gpus_utilization(const struct scenario *scenario, const struct world_outcome *outcome,
			       const struct job_entry *entry)
{
	double busy_s = 0;
	FW_ASSERT(outcome->gpu_busy_s);
	const struct fold *fold = scenario->topology.fold;
	for (size_t i = 0; i < entry->simulated_count; i++)
		busy_s += outcome->gpu_busy_s[entry->gpus[i]] *
			  (fold ? (double)fold_count(fold, i) : 1);
	return busy_s / (double)entry->rank_count / outcome->window_s;
}

struct job_point job_point_failed(const char *reason)
{
	struct job_point point = {.failed = true, .reason = reason, EACH_ANSWER(ANSWER_NONE)};
	double *answers = (double *)&point.serving;
	for (size_t i = 0; i < sizeof point.serving / sizeof *answers; i++)
		answers[i] = NAN;
	return point;
}

static struct job_point steady(const struct scenario *scenario, const struct world_outcome *outcome,
			       const struct job_run *run)
{
	struct job_point point = job_point_failed(run->reason);
	const struct job_entry *entry = run->entry;
	point.failed = run->failed;
	if (run->failed)
		return point;
	if (run->serving) {
		point.serving = *run->serving->service;
		point.throughput = run->serving->requests_per_s;
		point.step_s = point.serving.mean_s;
		point.gpu_utilization = run->serving->busy_ratio;
		if (!(point.serving.refused_count < point.serving.requests_count))
			return job_point_failed(
				"all measured requests were refused (write a larger serve.queue or "
				"serve.tokens, or a lower serve.rate)");
		return point;
	}
	point.step_s =
		entry->kernel ? busy_s(run) / (double)run->steady_count : job_run_step_s(run);
	if (!(point.step_s > 0))
		return job_point_failed("its steps take no time (write times of its calls, kernels "
					"or links above 0)");
	point.gpu_utilization = entry->kernel ? 1
				: scenario->style == JOBS_PROGRAMS
					? program_utilization(run)
					: gpus_utilization(scenario, outcome, entry);
	if (scenario->style == JOBS_COLLECTIVE)
		point.throughput = scenario->collective_size_B / point.step_s *
				   collective_bus_ratio(scenario->collective, entry->rank_count);
	else
		point.throughput = (double)entry->rank_count * entry->batch_count / point.step_s;
	return point;
}

/* ---- ratio to one GPU ---- */

/* Like world_run, but takes the step time of one GPU from baselines if it is stored there. */
static struct world_outcome run_known(struct arena *arena, const struct scenario *scenario,
				      uint64_t seed, struct baselines *baselines,
				      struct trace *trace)
{
	if (!baselines || scenario->job_count > 1 || scenario->style != JOBS_RANKS)
		return periods_run(arena, scenario, seed, trace);
	uint64_t key = baseline_solo_key(scenario, seed);
	double solo_step_s;
	if (baselines_find(baselines, key, &solo_step_s))
		return world_run(arena, scenario_with_solo(arena, scenario, &solo_step_s, false),
				 seed, trace);
	struct world_outcome outcome = world_run(arena, scenario, seed, trace);
	if (outcome.jobs[0].solo_step_s > 0)
		baselines_add(baselines, key, outcome.jobs[0].solo_step_s);
	return outcome;
}

/* Returns true if the scenario is its own baseline. */
static bool is_alone(const struct scenario *scenario)
{
	const struct job_entry *job = &scenario->jobs[0];
	if (scenario->job_count > 1 || job->rank_count > 1)
		return false;
	return scenario->style == JOBS_PROGRAMS ? !job->runtime && job->fraction_ratio == 1
						: !(job->straggler_ratio > 1);
}

static double run_baseline(struct arena *arena, const struct scenario *scenario, size_t job,
			   uint64_t seed, const char **broken)
{
	const struct scenario *baseline = scenario_baseline(arena, scenario, job);
	struct world_outcome outcome = world_run(arena, baseline, seed, NULL);
	if (outcome.broken)
		*broken = outcome.broken;
	return steady(baseline, &outcome, &outcome.jobs[0]).throughput;
}

/* Returns the throughput of a job's program on one GPU with the local driver. Equal programs are
 * run only once. */
static double program_alone(struct arena *arena, const struct scenario *scenario, size_t job,
			    uint64_t seed, struct baselines *baselines, const double *known,
			    const char **broken)
{
	const struct job_entry *entry = &scenario->jobs[job];
	for (size_t i = 0; i < job; i++) {
		const struct job_entry *other = &scenario->jobs[i];
		if (other->network == entry->network && other->stack == entry->stack &&
		    other->batch_count == entry->batch_count &&
		    scenario_local_guest(scenario, other) ==
			    scenario_local_guest(scenario, entry) &&
		    other->gpus[0] == entry->gpus[0])
			return known[i];
	}
	if (!baselines)
		return run_baseline(arena, scenario, job, seed, broken);
	uint64_t key = baseline_key(scenario, job, seed);
	double throughput;
	if (baselines_find(baselines, key, &throughput))
		return throughput;
	throughput = run_baseline(arena, scenario, job, seed, broken);
	if (!*broken)
		baselines_add(baselines, key, throughput);
	return throughput;
}

/* Sets each job's ratio: its throughput divided by that of as many independent GPUs. */
static void add_ratios(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		       struct baselines *baselines, struct point *point)
{
	double *known = ARENA_ARRAY(arena, point->job_count + 1, double);
	double sum = 0;
	if (scenario->style == JOBS_RANKS && scenario->job_count == 1)
		scenario = scenario_with_solo(arena, scenario, &point->outcome.jobs[0].solo_step_s,
					      false);
	for (size_t i = 0; i < point->job_count; i++) {
		struct job_point *job = &point->jobs[i];
		if (is_alone(scenario))
			known[i] = job->throughput;
		else if (scenario->style == JOBS_PROGRAMS)
			known[i] = program_alone(arena, scenario, i, seed, baselines, known,
						 &point->broken);
		else
			known[i] = run_baseline(arena, scenario, i, seed, &point->broken);
		job->ratio = job->throughput / known[i] / (double)scenario->jobs[i].rank_count;
		sum += job->ratio;
	}
	point->ratio = sum / (double)point->job_count;
}

/* ---- all jobs ---- */

/* Returns the mean utilisation, in the window, of the GPUs that programs use. */
static double pool_utilization(const struct scenario *scenario, const struct world_outcome *outcome)
{
	double busy_s = 0, count = 0;
	for (size_t gpu = 0; gpu < scenario->topology.gpu_count; gpu++) {
		bool used = false;
		for (size_t i = 0; i < scenario->job_count; i++)
			for (size_t k = 0; k < scenario->jobs[i].simulated_count; k++)
				used = used || scenario->jobs[i].gpus[k] == gpu;
		if (used) {
			busy_s += outcome->gpu_busy_s[gpu];
			count++;
		}
	}
	return busy_s / count / outcome->window_s;
}

static double utilization(const struct scenario *scenario, const struct point *point)
{
	double busy = 0, ranks = 0;
	if (scenario->style == JOBS_PROGRAMS)
		return point->job_count == 1 ? point->jobs[0].gpu_utilization
					     : pool_utilization(scenario, &point->outcome);
	for (size_t i = 0; i < scenario->job_count; i++) {
		busy += point->jobs[i].gpu_utilization * (double)scenario->jobs[i].rank_count;
		ranks += (double)scenario->jobs[i].rank_count;
	}
	return busy / ranks;
}

/* Sets the sums over point->jobs. Returns false if a job failed. */
static bool add_up(struct arena *arena, const struct scenario *scenario, struct point *point)
{
	double throughput = 0, step = 0;
	for (size_t i = 0; i < point->job_count; i++) {
		const struct job_point *job = &point->jobs[i];
		if (job->failed && !point->failed) {
			point->failed = true;
			point->reason = point->job_count == 1
						? job->reason
						: arena_printf(arena, "job '%s': %s",
							       scenario->jobs[i].name, job->reason);
		}
		throughput += job->throughput;
		step += job->step_s / (double)point->job_count;
	}
	if (point->failed || point->broken)
		return false;
	point->throughput = throughput;
	point->step_s = step;
	if (scenario->style == JOBS_SERVING) {
		point->serving = *point->outcome.jobs[0].serving->all;
		point->throughput = point->serving.requests_per_s;
		point->step_s = point->serving.mean_s;
	}
	return true;
}

struct point point_new(struct arena *arena, const struct scenario *scenario, const char *reason)
{
	struct point point = {.failed = reason != NULL,
			      .reason = reason,
			      .serving = job_point_failed(NULL).serving,
			      .job_count = scenario->job_count,
			      EACH_ANSWER(ANSWER_NONE)};
	point.jobs = ARENA_ARRAY(arena, point.job_count + 1, struct job_point);
	point.outcome.jobs = ARENA_ARRAY(arena, point.job_count + 1, struct job_run);
	for (size_t i = 0; i < point.job_count; i++)
		point.jobs[i] = job_point_failed(reason);
	return point;
}

struct point predict_point(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			   bool with_baseline, struct baselines *baselines, struct trace *trace)
{
	struct point point = point_new(arena, scenario, NULL);
	point.outcome = run_known(arena, scenario, seed, baselines, trace);
	point.broken = point.outcome.broken;
	for (size_t i = 0; i < point.job_count; i++)
		point.jobs[i] = steady(scenario, &point.outcome, &point.outcome.jobs[i]);
	if (!add_up(arena, scenario, &point))
		return point;
	/* one GPU could not hold what a plan splits */
	if (with_baseline && scenario->style < JOBS_COLLECTIVE && !scenario->jobs[0].plan)
		add_ratios(arena, scenario, seed, baselines, &point);
	point.gpu_utilization = utilization(scenario, &point);
	if (scenario->phases)
		elapsed_add(arena, scenario, seed, &point);
	if (scenario->run)
		goodput_add(arena, scenario, seed, &point);
	if (!point.failed)
		costs_add(scenario, &point);
	return point;
}
