/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/predict.h"

#define CACHE_HITS_SHOWN 0.01 /* part of the bytes from which a kernel reports them */

/* Adds a name to a list with ", " between, unless the list has it or the name is NULL. */
static void add(struct arena *arena, const char **list, const char *name)
{
	size_t length = name ? strlen(name) : 0;
	if (!name)
		return;
	for (const char *at = *list; at && (at = strstr(at, name)) != NULL; at += length)
		if ((at == *list || at[-1] == ' ') && (at[length] == ',' || at[length] == '\0'))
			return;
	*list = *list ? arena_printf(arena, "%s, %s", *list, name) : name;
}

static const char *precision(const struct scenario *scenario, const struct job_entry *job)
{
	const struct gpu_params *gpu = &scenario->topology.gpus[job->gpus[0]].params;
	enum served_type weights = scenario->service_count > 0
					   ? service_weights(&scenario->services[job->service])
					   : SERVE_AUTO;
	if (weights != SERVE_AUTO)
		return served_type_names[weights];
	bool convolutions = !job->network || job->network->sequence == 0;
	return number_type_name(stack_product_type(job->stack, gpu, convolutions));
}

/* Without a batch the samples of a recorded step are unknown, so one step counts as one. */
static bool counts_steps(const struct scenario *scenario, const struct job_entry *job)
{
	const struct cfg_param *batch = cfg_param_find(scenario->resolution, "case.batch");
	return job->batch_count <= 1 && !(batch && batch->origin.file);
}

/* Returns the GPU and the machine of the local run to which a forwarded program is compared. */
static const char *local_run(struct arena *arena, const struct scenario *scenario,
			     const struct job_entry *job)
{
	const struct topology *topology = &scenario->topology;
	size_t guest = scenario_local_guest(scenario, job);
	return arena_printf(arena, "%s in host '%s'", topology->gpus[job->gpus[0]].profile,
			    topology->hosts[topology->guests[guest].host].name);
}

/* Names the first of the local runs. Programs of many machines have as many of them. */
static const char *local_runs(struct arena *arena, const struct scenario *scenario)
{
	const char *first = NULL, *all = NULL;
	size_t more = 0;
	for (size_t i = 0; i < scenario->job_count; i++) {
		if (!scenario->jobs[i].runtime || scenario->style != JOBS_PROGRAMS)
			continue;
		const char *before = all;
		add(arena, &all, local_run(arena, scenario, &scenario->jobs[i]));
		first = first ? first : all;
		more += before && all != before;
	}
	return more == 0 ? first : arena_printf(arena, "%s (and %zu more)", first, more);
}

/* Returns the name of a job's network. A kernel that finds operands in the L2 cache says so. */
static const char *network_name(struct arena *arena, const struct scenario *scenario,
				const struct job_entry *job)
{
	const char *name = job->network ? job->network->name : job->model;
	if (!job->kernel || !(job->kernel->work.repeated_B > 0))
		return name;
	double hits = cache_hit_ratio(job->kernel->work.repeated_B,
				      scenario->topology.gpus[job->gpus[0]].params.cache_B);
	return hits < CACHE_HITS_SHOWN
		       ? name
		       : arena_printf(arena,
				      "%s (%.0f %% of its bytes from the L2 cache, see "
				      "kernel.copies)",
				      name, 100 * hits);
}

struct setup scenario_setup(struct arena *arena, const struct scenario *scenario)
{
	struct setup setup = {.transport = scenario_transport(scenario),
			      .local = local_runs(arena, scenario)};
	bool trains = scenario->style != JOBS_COLLECTIVE;
	if (scenario->params->devices[0])
		setup.devices = scenario->params->devices;
	if (scenario->params->adapters[0])
		setup.adapters = scenario->params->adapters;
	for (size_t i = 0; i < scenario->job_count; i++) {
		const struct job_entry *job = &scenario->jobs[i];
		if (trains)
			add(arena, &setup.network, network_name(arena, scenario, job));
		if (trains && job->stack && !job->recorded) {
			add(arena, &setup.stack,
			    job->stack_name ? job->stack_name : scenario->params->stack);
			add(arena, &setup.precision, precision(scenario, job));
		}
		if (job->kernel || (job->recorded && counts_steps(scenario, job)))
			setup.counted = "steps";
		if (job->runtime)
			setup.runtime = scenario->params->runtime;
		add(arena, &setup.exchange, job->exchange_name);
		if (job->library)
			add(arena, &setup.library, library_name(job->library));
	}
	if (!setup.counted && scenario_token_rate(scenario, RATE_TOKENS) > 0)
		setup.counted = "sequences";
	return setup;
}
