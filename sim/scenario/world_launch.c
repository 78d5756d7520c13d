/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused jobs from their launch on (sim/workload/life.h). */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/scenario/world.h"
#include "sim/workload/dp_job.h"
#include "sim/workload/life.h"

struct launch {
	struct job *job;
	struct dp_spec spec;
};

static void begin_steps(void *ctx, uint64_t arg)
{
	struct launch *launch = ctx;
	dp_job_begin(launch->job, &launch->spec, 0);
}

static struct life_rank *ranks_of(struct world *w, const struct job_entry *entry,
				  const struct dp_spec *spec)
{
	struct life_rank *ranks =
		ARENA_ARRAY(w->workload.arena, spec->rank_count, struct life_rank);
	size_t process = 0;
	for (size_t i = 0; i < spec->rank_count; i++) {
		process += i > 0 && !job_inputs_joined(&w->inputs, entry, i - 1, i);
		ranks[i] = (struct life_rank){.guest = spec->ranks[i].guest,
					      .context = spec->ranks[i].context,
					      .input = spec->ranks[i].input,
					      .process = process};
	}
	return ranks;
}

/* Returns the size of a checkpoint: the variables and the optimiser's state in fp32. */
static double checkpoint_B(const struct job_entry *entry)
{
	const double fp32_B = 4;
	return entry->network->parameters_count * fp32_B *
	       (1 + entry->stack->optimiser_copies_count);
}

void world_launch(struct world *w, struct job *job, const struct job_entry *entry,
		  const struct dp_spec *spec)
{
	struct launch *launch = ARENA_NEW(w->workload.arena, struct launch);
	*launch = (struct launch){job, *spec};
	const struct life_spec life = {
		.params = w->scenario->phases,
		.fabric = w->system.fabric,
		.ranks = ranks_of(w, entry, spec),
		.rank_count = spec->rank_count,
		.ops_count = spec->gradients->ops_count,
		.compute_s = spec->gradients->compute_s,
		.steps_count = (size_t)fmin(LAUNCH_STEPS, scenario_job_steps(w->scenario, entry)),
		.checkpoint_B = checkpoint_B(entry),
		.storage = job_inputs_storage(&w->inputs, entry->checkpoint,
					      w->scenario->phases->checkpoint_storage,
					      w->scenario->topology.gpus[entry->gpus[0]].host),
		.start = begin_steps,
		.ctx = launch,
	};
	job->run->forward_s = spec->gradients->forward_s;
	life_begin(job, &life);
}
