/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/elapsed.h"

#include <math.h>

#include "sim/base/arena.h"

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

void elapsed_add(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		 struct point *point)
{
	double *solo_s = ARENA_ARRAY(arena, point->job_count + 1, double);
	for (size_t i = 0; i < point->job_count; i++)
		solo_s[i] = point->outcome.jobs[i].solo_step_s;
	const struct scenario *launch = scenario_launch(arena, scenario, solo_s);
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
