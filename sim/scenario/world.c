/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a world of hosts, links, GPUs and jobs from a scenario and runs it. */
#include "sim/scenario/world.h"

static void window_opened(void *ctx)
{
	struct world *world = ctx;
	system_window_open(&world->system);
}

static const char *no_end(void *ctx, const char *waiting)
{
	struct world *world = ctx;
	return system_no_end(&world->system, waiting);
}

static int by_name(const void *a, const void *b)
{
	const struct job_entry *const *left = a, *const *right = b;
	return strcmp((*left)->name, (*right)->name);
}

/* Builds jobs in the order of their names, so that their order in the file has no influence. The
 * first job gets the first core of a server, and its events precede those of others at equal
 * times. */
static void build_jobs(struct world *w, struct job_run *runs)
{
	static struct job *(*const build[])(struct world *, const struct job_entry *,
					    struct job_run *) = {
		[JOBS_PROGRAMS] = world_programs,
		[JOBS_RANKS] = world_dp,
		[JOBS_COLLECTIVE] = world_collective,
		[JOBS_SERVING] = world_replica,
	};
	const struct scenario *scenario = w->scenario;
	size_t count = scenario->job_count;
	const struct job_entry **order =
		ARENA_ARRAY(w->workload.arena, count + 1, const struct job_entry *);
	for (size_t i = 0; i < count; i++) {
		runs[i].entry = &scenario->jobs[i];
		order[i] = &scenario->jobs[i];
	}
	qsort(order, count, sizeof *order, by_name);
	for (size_t i = 0; i < count; i++) {
		size_t index = (size_t)(order[i] - scenario->jobs);
		w->workload.jobs[index] = build[scenario->style](w, order[i], &runs[index]);
	}
	if (scenario->style == JOBS_SERVING)
		world_serving_begin(w);
}

struct world_outcome world_run(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			       struct trace *trace)
{
	struct world *w = ARENA_NEW(arena, struct world);
	w->scenario = scenario;
	system_build(&w->system, arena, scenario, trace);
	w->inputs.system = &w->system;
	w->workload = (struct workload){
		.arena = arena,
		.engine = w->system.engine,
		.seed = seed,
		.warmup_count = scenario->steps_warmup_count,
		.limits = {scenario->steps_count, scenario->job_count},
		.lossy = w->system.lossy,
		.window_opened = window_opened,
		.ctx = w,
	};
	workload_init(&w->workload);
	struct world_outcome outcome = {
		.jobs = ARENA_ARRAY(arena, scenario->job_count + 1, struct job_run),
		.job_count = scenario->job_count};
	build_jobs(w, outcome.jobs);
	enum engine_end end =
		workload_is_over(&w->workload) ? ENGINE_DRAINED : engine_run(w->system.engine);
	const char *waiting = workload_unfinished(&w->workload, end, no_end);
	system_read(&w->system, &outcome);
	workload_account(&w->workload);
	system_check(&w->system, end, waiting, &outcome);
	workload_read(&w->workload, outcome.broken);
	return outcome;
}
