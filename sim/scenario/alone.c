/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios of one job without the others: its baseline, and a step on one GPU. */
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
	(*alone)->jobs = job;
	(*alone)->job_count = 1;
	return job;
}

const struct scenario *scenario_baseline(struct arena *arena, const struct scenario *scenario,
					 size_t index)
{
	struct scenario *alone;
	struct job_entry *job = only(arena, scenario, &scenario->jobs[index], &alone);
	job->rank_count = job->simulated_count = 1;
	if (scenario->style == JOBS_PROGRAMS) {
		job->guests = job->servers;
		job->runtime = NULL;
		job->spread = NULL;
		if (job->stage_count > 1)
			job->batch_count *= (double)scenario->jobs[index].rank_count;
		job->stage_count = 0;
		job->program_count = 1;
		job->fraction_ratio = 1;
	} else {
		alone->topology.fold = NULL; /* the one machine represents only itself */
		job->straggler_ratio = 1;
	}
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
