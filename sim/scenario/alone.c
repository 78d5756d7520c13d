/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios made of another one: of one job without the others (its baseline, a step on one GPU),
 * and the launch of all jobs. */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/scenario/scenario.h"

/* Copies the scenario to *alone, with a copy of one job as its only job. Returns that job. */
static struct job_entry *only(struct arena *arena, const struct scenario *scenario,
			      const struct job_entry *entry, struct scenario **alone)
{
	struct job_entry *job = ARENA_NEW(arena, struct job_entry);
	*alone = ARENA_NEW(arena, struct scenario);
	**alone = *scenario;
	*job = *entry;
	(*alone)->whole_gpus = true;
	(*alone)->jobs = job;
	(*alone)->job_count = 1;
	return job;
}

size_t scenario_local_guest(const struct scenario *scenario, const struct job_entry *entry)
{
	return scenario->params->local == LOCAL_SERVER ? entry->servers[0] : entry->guests[0];
}

const struct scenario *scenario_baseline(struct arena *arena, const struct scenario *scenario,
					 size_t index)
{
	struct scenario *alone;
	struct job_entry *job = only(arena, scenario, &scenario->jobs[index], &alone);
	job->rank_count = job->simulated_count = 1;
	if (scenario->style == JOBS_PROGRAMS) {
		if (scenario->params->local == LOCAL_SERVER)
			job->guests = job->servers;
		else
			job->servers = job->guests;
		job->runtime = NULL;
		job->spread = NULL;
		job->program_count = 1;
		job->fraction_ratio = 1;
	} else {
		job->straggler_ratio = 1;
	}
	if (!job->plan)
		alone->topology.fold = NULL; /* the one machine represents only itself */
	return alone;
}

const struct scenario *scenario_solo(struct arena *arena, const struct scenario *scenario,
				     const struct job_entry *entry)
{
	struct scenario *solo;
	struct job_entry *job = only(arena, scenario, entry, &solo);
	struct stack_params *stack = ARENA_NEW(arena, struct stack_params);
	*stack = *entry->stack;
	stack->real_input = false; /* the job simulates the input pipelines itself */
	job->rank_count = job->simulated_count = 1;
	job->servers = job->guests;
	job->fraction_ratio = 1;
	job->stack = stack;
	job->guest_work = true;
	solo->style = JOBS_PROGRAMS;
	solo->steps_warmup_count = 1;
	return solo;
}

const struct scenario *scenario_launch(struct arena *arena, const struct scenario *scenario,
				       const double *solo_s)
{
	struct scenario *launch = ARENA_NEW(arena, struct scenario);
	struct job_entry *jobs = ARENA_ARRAY(arena, scenario->job_count + 1, struct job_entry);
	*launch = *scenario;
	memcpy(jobs, scenario->jobs, scenario->job_count * sizeof *jobs);
	for (size_t i = 0; i < scenario->job_count; i++)
		jobs[i].solo_step_s = solo_s[i];
	launch->jobs = jobs;
	launch->launch = true;
	return launch;
}

double scenario_job_steps(const struct scenario *scenario, const struct job_entry *entry)
{
	const struct case_params *params = scenario->params;
	if (params->job_steps_count > 0)
		return params->job_steps_count;
	return ceil(params->epochs_count * params->images_count /
		    (entry->batch_count * (double)entry->rank_count));
}
