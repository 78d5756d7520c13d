/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds jobs that are simulated call by call from a scenario's entries. */
#include "sim/cuda/fuse.h"
#include "sim/scenario/fold.h"
#include "sim/scenario/world.h"
#include "sim/workload/program_job.h"

/* Returns true if the job alone uses its GPUs, by the local driver. */
static bool can_fuse(const struct world *w, const struct job_entry *entry)
{
	const struct scenario *scenario = w->scenario;
	return scenario->params->fusing == FUSING_AUTO && !entry->runtime &&
	       entry->fraction_ratio >= 1 && scenario->job_count == 1;
}

static struct fuse_params fuse_params(const struct world *w, const struct job_entry *entry,
				      size_t first)
{
	struct guest *guest = w->system.guests[entry->guests[first]];
	return (struct fuse_params){
		.driver = &w->scenario->driver,
		.gpu = &w->scenario->topology.gpus[entry->gpus[first]].params,
		.work_ratio =
			guest_alone_s(guest, 1) / (entry->guest_work ? 1 : guest_work_ratio(guest)),
	};
}

/* Writes the programs of the simulated ranks of a plan, and the groups in which they do
 * collectives.
 */
static struct plan_groups plan_programs(struct world *w, const struct job_entry *entry,
					const struct program **programs)
{
	struct arena *arena = w->workload.arena;
	const struct fold *fold = w->scenario->topology.fold;
	struct plan_groups groups = fold_plan_groups(arena, entry, fold);
	size_t *firsts = ARENA_ARRAY(arena, entry->plan->sizes[AXIS_PIPELINE], size_t);
	for (size_t i = 0; i < entry->simulated_count; i++) {
		const struct fuse_params fuse = fuse_params(w, entry, i);
		struct plan_step step = fold_plan_step(w->scenario, &groups, i);
		size_t rank = fold ? fold->rank_of[i] : i;
		size_t stage = plan_index(entry->plan, rank, AXIS_PIPELINE), first = firsts[stage];
		size_t like = fold ? fold->rank_of[first] : first;
		const struct fuse_params known_fuse = fuse_params(w, entry, first);
		bool known = first < i && plan_index(entry->plan, like, AXIS_PIPELINE) == stage &&
			     known_fuse.work_ratio == fuse.work_ratio;
		step.fuse = can_fuse(w, entry) ? &fuse : NULL;
		if (!known)
			firsts[stage] = i;
		programs[i] = known ? plan_program_like(arena, &step, programs[first], like, rank)
				    : plan_program(arena, &step, rank);
	}
	return groups;
}

/* Returns the program of the rank whose first GPU is number `first` of the simulated ones. */
static const struct program *program_of(struct world *w, const struct job_entry *entry,
					const struct recorded_job *job, size_t first)
{
	struct arena *arena = w->workload.arena;
	const struct gpu_params *gpu = &w->scenario->topology.gpus[entry->gpus[first]].params;
	if (entry->program)
		return entry->program;
	if (entry->recorded) {
		const struct fold *fold = w->scenario->topology.fold;
		return fold_recorded_program(arena, entry, &w->system, job,
					     fold ? fold->rank_of[first] : first, first);
	}
	struct step_spec spec = {entry->network,
				 (size_t)entry->batch_count,
				 entry->stack,
				 gpu,
				 entry->efficiency,
				 entry->spread,
				 NULL};
	return framework_at((size_t)entry->stack->framework)->program(arena, &spec);
}

/* Returns true if the programs of a job are in one group. Programs with variables on their host
 * are not. */
static bool has_group(const struct job_entry *entry)
{
	if (entry->spread)
		return !entry->spread->on_cpu;
	return entry->plan || (entry->library && entry->recorded);
}

/* Fuses the programs; equal ones stay one program. */
static void fuse_programs(struct world *w, const struct job_entry *entry,
			  struct program_rank *ranks, size_t count, size_t each)
{
	for (size_t i = 0; i < count; i++) {
		const struct fuse_params params = fuse_params(w, entry, i * each);
		ranks[i].program = program_fuse(w->workload.arena, ranks[i].program, &params);
	}
}

/* Says what to write if the batch of an entry without a plan does not fit into its first GPU;
 * otherwise returns NULL. */
static const char *batch_advice(struct world *w, const struct job_entry *entry)
{
	const struct gpu_entry *gpu = &w->scenario->topology.gpus[entry->gpus[0]];
	double most_B = gpu->params.memory_B *
			(entry->memory_ratio > 0 ? entry->memory_ratio : entry->fraction_ratio);
	size_t fits = 0, least = (size_t)entry->batch_count; /* least: too large */
	if (!entry->stack || stack_memory_B(entry->network, least, entry->stack) <= most_B)
		return NULL;
	while (least - fits > 1) {
		size_t middle = fits + (least - fits) / 2;
		if (stack_memory_B(entry->network, middle, entry->stack) <= most_B)
			fits = middle;
		else
			least = middle;
	}
	const char *split = entry->network->sequence > 0
				    ? "split the network with --gpus and --plan sharding=parameters"
				    : "take a GPU with more memory";
	return fits > 0 ? arena_printf(w->workload.arena, "write --batch %zu or less, or %s", fits,
				       split)
			: arena_printf(w->workload.arena, "a batch of 1 does not fit; %s", split);
}

/* Says how a plan or a batch fits into GPU memory if it does not; otherwise returns NULL. */
static const char *advice(struct world *w, const struct job_entry *entry)
{
	const struct training_plan *plan = entry->plan;
	struct arena *arena = w->workload.arena;
	if (!plan)
		return batch_advice(w, entry);
	double needed_B = plan_most_memory_B(plan, entry->stack);
	double most_B = w->scenario->topology.gpus[entry->gpus[0]].params.memory_B;
	if (needed_B <= most_B)
		return NULL;
	struct plan_params params = *plan->params;
	params.global_batch_count = plan_batch(plan);
	const struct near_request request = {
		.network = entry->network,
		.stack = entry->stack,
		.params = &params,
		.rank_count = entry->rank_count,
		.tensor_most = job_machine_gpus(w->scenario, entry),
		.memory_most_B = most_B,
	};
	const char *changes = plan_near(arena, &request);
	return arena_printf(arena, "%.2f GB too much at the largest stage (%s%s)",
			    (needed_B - most_B) / 1e9,
			    changes ? "the nearest plan that fits: --plan "
				    : "no plan near it fits; use more GPUs",
			    changes ? changes : "");
}

struct job *world_programs(struct world *w, const struct job_entry *entry, struct job_run *run)
{
	struct arena *arena = w->workload.arena;
	size_t count = entry->program_count > 1 ? entry->program_count : 1;
	size_t each = entry->rank_count / count;
	const struct recorded_job *recorded = entry->recorded ? entry->recorded->job : NULL;
	const struct fold *fold = entry->plan || recorded ? w->system.topology->fold : NULL;
	if (entry->plan || fold)
		count = entry->simulated_count;
	struct program_rank *ranks = ARENA_ARRAY(arena, count, struct program_rank);
	struct program_gpu *gpus = ARENA_ARRAY(arena, entry->simulated_count, struct program_gpu);
	for (size_t i = 0; i < entry->simulated_count; i++)
		gpus[i] = system_place(&w->system, entry, i);
	const struct program **programs = ARENA_ARRAY(arena, count, const struct program *);
	struct plan_groups groups = {0};
	const char *too_large =
		entry->plan ? plan_too_large(arena, entry->plan, count, INFINITY) : NULL;
	if (too_large) /* case_read looked at shorter steps only (sim/predict/periods.c) */
		count = 0;
	else if (entry->plan)
		groups = plan_programs(w, entry, programs);
	if (recorded && entry->rank_count > 1) {
		recorded = fold_recorded_job(arena, recorded, fold);
		groups.groups = recorded->groups;
		groups.count = recorded->group_count;
	}
	for (size_t i = 0; i < count; i++)
		ranks[i] = (struct program_rank){
			.guest = w->system.guests[entry->guests[i * each]],
			.program = entry->plan ? programs[i]
					       : program_of(w, entry, recorded, i * each),
			.gpus = &gpus[i * each],
		};
	run->program = count > 0 ? ranks[0].program : NULL;
	/* A trace shows each kernel, except those of plans, where one span is a pass. */
	if (!entry->plan && can_fuse(w, entry) && !engine_trace(w->system.engine))
		fuse_programs(w, entry, ranks, count, each);
	struct program_job_spec spec = {
		.comm = system_communicator(&w->system, entry),
		.what = entry->plan ? arena_printf(arena, "a stage of %s", entry->network->name)
				    : arena_printf(arena, "%s at batch %g", entry->network->name,
						   entry->batch_count),
		.advice = advice(w, entry),
		.fraction_ratio = entry->fraction_ratio,
		.memory_ratio = entry->memory_ratio,
		.driver = &w->scenario->driver,
		.dma = &w->scenario->dma,
		.runtime = entry->runtime,
		.guest_work = entry->guest_work,
		.ranks = ranks,
		.rank_count = count,
		.groups = groups.groups,
		.group_count = groups.count,
		.recorded = entry->recorded != NULL,
		.refused = too_large,
	};
	spec.comm.library = has_group(entry) ? entry->library : NULL;
	spec.comm.fold = fold;
	return program_job_new(&w->workload, run, &spec);
}
