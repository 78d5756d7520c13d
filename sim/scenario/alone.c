/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios made of another one: the baseline of a job, and jobs whose step time on one GPU is
 * known. */
#include "sim/scenario/world.h"

size_t scenario_local_guest(const struct scenario *scenario, const struct job_entry *entry)
{
	return scenario->params->local == LOCAL_SERVER ? entry->servers[0] : entry->guests[0];
}

const struct scenario *scenario_baseline(struct arena *arena, const struct scenario *scenario,
					 size_t index)
{
	struct scenario *alone = ARENA_NEW(arena, struct scenario);
	struct job_entry *job = ARENA_NEW(arena, struct job_entry);
	*alone = *scenario;
	*job = scenario->jobs[index];
	alone->whole_gpus = true;
	alone->jobs = job;
	alone->job_count = 1;
	job->rank_count = job->simulated_count = 1;
	job->efficiency = scenario_at_slowest(arena, scenario, job);
	if (scenario->style == JOBS_PROGRAMS) {
		if (scenario->params->local == LOCAL_SERVER)
			job->guests = job->servers;
		else
			job->servers = job->guests;
		job->runtime = NULL;
		job->spread = NULL;
		job->program_count = 1;
		job->fraction_ratio = job->memory_ratio = 1;
	} else {
		job->straggler_ratio = 1;
	}
	alone->topology.fold = NULL; /* the one machine represents only itself */
	return alone;
}

const struct scenario *scenario_with_solo(struct arena *arena, const struct scenario *scenario,
					  const double *solo_s, bool launch)
{
	struct scenario *known = ARENA_NEW(arena, struct scenario);
	struct job_entry *jobs = ARENA_ARRAY(arena, scenario->job_count + 1, struct job_entry);
	*known = *scenario;
	memcpy(jobs, scenario->jobs, scenario->job_count * sizeof *jobs);
	for (size_t i = 0; i < scenario->job_count; i++)
		jobs[i].solo_step_s = solo_s[i];
	known->jobs = jobs;
	known->launch = launch;
	return known;
}

double world_run_alone(struct world *w, struct scenario alone, struct job_entry entry,
		       const char *what, const char **why)
{
	struct arena *scratch = arena_new();
	double step_s = -1;
	alone.jobs = &entry;
	alone.job_count = 1;
	struct world_outcome outcome = world_run(scratch, &alone, w->workload.seed, NULL);
	if (outcome.broken)
		engine_fail(w->system.engine, "%s: %s", what, outcome.broken);
	if (outcome.broken || outcome.jobs[0].failed)
		*why = arena_strdup(w->workload.arena,
				    outcome.broken ? outcome.broken : outcome.jobs[0].reason);
	else
		step_s = job_run_step_s(&outcome.jobs[0]);
	arena_free(scratch);
	return step_s;
}

double scenario_job_steps(const struct scenario *scenario, const struct job_entry *entry)
{
	const struct case_params *params = scenario->params;
	if (params->job_steps_count > 0)
		return params->job_steps_count;
	double samples = params->tokens_count > 0
				 ? params->tokens_count / (double)entry->network->sequence
				 : params->epochs_count * params->images_count;
	return ceil(samples / (entry->batch_count * (double)entry->rank_count));
}
