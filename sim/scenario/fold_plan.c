/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folds the jobs of plans and of recordings. Ranks of a stage, or of one recording, have programs
 * that differ only in their communicators and the peers of their messages. So machines are alike if
 * their ranks are in the same stages, and the groups and messages of these ranks meet machines that
 * are alike. */
#include "sim/scenario/fold.h"
#include "sim/workload/group.h"

static struct plan_groups all_groups(struct arena *arena, const struct job_entry *entry)
{
	bool tied = false;
	for (size_t i = 0; i < entry->network->layer_count; i++)
		tied |= entry->network->layers[i].tied_to > 0;
	return plan_groups(arena, entry->plan, tied);
}

struct plan_step fold_plan_step(const struct scenario *scenario, const struct plan_groups *groups,
				size_t index)
{
	const struct job_entry *entry = &scenario->jobs[0];
	return (struct plan_step){
		.plan = entry->plan,
		.groups = groups,
		.stack = entry->stack,
		.gpu = &scenario->topology.gpus[entry->gpus[index]].params,
		.efficiency = entry->efficiency,
		.exchange = entry->exchange,
	};
}

struct program *fold_recorded_program(struct arena *arena, const struct job_entry *entry,
				      const struct system *system, const struct recorded_job *job,
				      size_t rank, size_t index)
{
	const struct recorded_program *recorded = entry->recorded;
	const struct gpu_entry *gpu = &system->topology->gpus[entry->gpus[index]];
	const struct replay_spec spec = {
		.recorded = job ? job->ranks[rank] : recorded->calls,
		.step = job ? &recorded->steps[rank] : &recorded->step,
		.params = recorded->params,
		.from = recorded->gpu,
		.to = &gpu->params,
		.same_model = recorded->profile && strcmp(recorded->profile, gpu->profile) == 0,
		.host_clock_Hz = host_clock_Hz(guest_host(system->guests[entry->guests[index]])),
		.job = entry->rank_count > 1 ? job : NULL,
		.rank = rank,
		.independent = job && entry->rank_count == 1, /* the baseline of a job */
	};
	struct program *program = replay_program(arena, &spec);
	program->images_count = entry->batch_count;
	return program;
}

/* ---- groups of simulated ranks ---- */

/* The communicators of a job by kind and rank: those of a plan, or of a recorded job. */
struct group_kinds {
	const struct program_group *groups;
	size_t count, kind_count;
	const uint32_t **of; /* 0: the rank has no communicator of that kind */
};

static struct group_kinds kinds_of_plan(struct arena *arena, const struct plan_groups *plan)
{
	struct group_kinds kinds = {plan->groups, plan->count, PLAN_GROUP_COUNT,
				    ARENA_ARRAY(arena, PLAN_GROUP_COUNT, const uint32_t *)};
	memcpy(kinds.of, plan->of, sizeof plan->of);
	return kinds;
}

static struct group_kinds kinds_of_recorded(struct arena *arena, const struct recorded_job *job)
{
	struct group_kinds kinds = {job->groups, job->group_count, job->shape_count,
				    ARENA_ARRAY(arena, job->shape_count + 1, const uint32_t *)};
	for (size_t i = 0; i < job->shape_count; i++) {
		uint32_t *of = ARENA_ARRAY(arena, job->rank_count, uint32_t);
		for (size_t rank = 0; rank < job->rank_count; rank++)
			of[rank] = recorded_job_group(job, &job->shapes[i], rank);
		kinds.of[i] = of;
	}
	return kinds;
}

/* Returns the groups of simulated ranks, one for all equal ones. */
static struct group_kinds keep(struct arena *arena, const struct fold *fold,
			       const struct group_kinds *all)
{
	struct program_group *groups = ARENA_ARRAY(arena, all->count + 1, struct program_group);
	struct group_kinds kept = {groups, 0, all->kind_count,
				   ARENA_ARRAY(arena, all->kind_count + 1, const uint32_t *)};
	for (size_t kind = 0; kind < all->kind_count; kind++) {
		uint32_t *of = ARENA_ARRAY(arena, fold->rank_count, uint32_t);
		kept.of[kind] = of;
		for (size_t i = 0; i < fold->simulated_count; i++) {
			uint32_t number = all->of[kind][fold->rank_of[i]];
			if (number == 0 || of[fold->rank_of[i]] > 0)
				continue;
			const struct program_group *group = &all->groups[number - 1];
			groups[kept.count++] = *group;
			for (size_t k = 0; k < group->count; k++)
				of[fold->rank_of[fold_stand_in(fold, group->members[k])]] =
					(uint32_t)kept.count;
		}
	}
	return kept;
}

struct plan_groups fold_plan_groups(struct arena *arena, const struct job_entry *entry,
				    const struct fold *fold)
{
	struct plan_groups groups = all_groups(arena, entry);
	if (!fold)
		return groups;
	const struct group_kinds all = kinds_of_plan(arena, &groups);
	const struct group_kinds kept = keep(arena, fold, &all);
	groups = (struct plan_groups){.groups = kept.groups, .count = kept.count};
	memcpy(groups.of, kept.of, sizeof groups.of);
	return groups;
}

const struct recorded_job *fold_recorded_job(struct arena *arena, const struct recorded_job *job,
					     const struct fold *fold)
{
	struct recorded_job *folded = ARENA_NEW(arena, struct recorded_job);
	*folded = *job;
	if (!fold)
		return folded;
	const struct group_kinds all = kinds_of_recorded(arena, job);
	const struct group_kinds kept = keep(arena, fold, &all);
	folded->groups = kept.groups;
	folded->group_count = kept.count;
	folded->of = kept.of;
	return folded;
}

/* ---- search for classes ---- */

/* A collective that a kind of group does. */
struct plan_use {
	size_t kind; /* kind_count: all ranks */
	enum collective collective;
	double size_B;
};

struct plan_look {
	struct arena *arena;
	const struct scenario *scenario;
	struct system *system;
	const struct fold *fold;
	struct group_kinds groups;
	VEC(struct plan_use) uses;
	VEC(struct fold_part) parts;
};

static void add_use(struct plan_look *look, size_t rank, const struct cuda_call *call)
{
	struct plan_use use = {.size_B = call->payload_B};
	if (!group_collective(call->kind, &use.collective))
		return;
	while (use.kind < look->groups.kind_count &&
	       (call->peer == 0 || look->groups.of[use.kind][rank] != call->peer))
		use.kind++;
	for (size_t i = 0; i < look->uses.count; i++) {
		const struct plan_use *known = &look->uses.items[i];
		if (known->kind == use.kind && known->collective == use.collective &&
		    known->size_B <= use.size_B && known->size_B >= use.size_B)
			return;
	}
	*VEC_PUSH(look->arena, &look->uses) = use;
}

static void add_uses(struct plan_look *look, size_t rank, const struct program *program)
{
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++)
			if (program->threads[t].items[i].kind == ITEM_CALL)
				add_use(look, rank, &program->threads[t].items[i].call);
}

/* Lists the collectives in the programs of a rank of each stage. Those of a stage's other ranks are
 * the same. Sets the stage of each rank. */
static void look_at_plan(struct plan_look *look, size_t *stages)
{
	const struct job_entry *entry = &look->scenario->jobs[0];
	const struct plan_groups groups = all_groups(look->arena, entry);
	const struct training_plan shorter = plan_shorter(entry->plan, 0);
	look->groups = kinds_of_plan(look->arena, &groups);
	for (size_t stage = 0; stage < entry->plan->sizes[AXIS_PIPELINE]; stage++) {
		size_t rank = plan_neighbour(entry->plan, 0, AXIS_PIPELINE, stage);
		struct plan_step step =
			fold_plan_step(look->scenario, &groups,
				       fold_stand_in(look->scenario->topology.fold, rank));
		step.plan = &shorter;
		add_uses(look, rank, plan_program(look->arena, &step, rank));
	}
	for (size_t rank = 0; rank < look->fold->rank_count; rank++)
		stages[rank] = plan_index(entry->plan, rank, AXIS_PIPELINE);
}

/* The same for recordings. Sets the first rank that plays the recording of each rank. */
static void look_at_recordings(struct plan_look *look, size_t *firsts)
{
	const struct job_entry *entry = &look->scenario->jobs[0];
	const struct recorded_job *job = entry->recorded->job;
	look->groups = kinds_of_recorded(look->arena, job);
	for (size_t rank = 0; rank < job->rank_count; rank++) {
		while (job->ranks[firsts[rank]] != job->ranks[rank])
			firsts[rank]++;
		if (firsts[rank] == rank)
			add_uses(look, rank,
				 fold_recorded_program(
					 look->arena, entry, look->system, job, rank,
					 fold_stand_in(look->scenario->topology.fold, rank)));
	}
}

static bool is_inside(const struct fold *fold, const struct fold_part *part)
{
	return fold->machine_of[part->members[0]] ==
	       fold->machine_of[part->members[part->count - 1]];
}

/* Sets the algorithms of a part that several machines share. Groups of the same shape have the
 * same. Returns false if the part's machines do not hold the same places. */
static bool find_uses(struct plan_look *look, size_t kind, struct fold_part *part)
{
	struct arena *arena = look->arena;
	const struct fold *by_kind = look->scenario->topology.fold;
	struct fold *own = fold_part(arena, by_kind, part->members, part->count);
	struct repertoire *repertoire = ARENA_NEW(arena, struct repertoire);
	if (!own)
		return part->count == 2;
	struct communicator *comm =
		fold_look(arena, look->scenario, look->system, own, part->members);
	for (size_t i = 0; comm && i < look->uses.count; i++)
		if (look->uses.items[i].kind == kind)
			fold_plays(comm, look->uses.items[i].collective, look->uses.items[i].size_B,
				   repertoire);
	part->uses = repertoire->uses;
	part->use_count = repertoire->count;
	return comm && fold_can_build(repertoire, part->count);
}

static bool add_groups(struct plan_look *look)
{
	size_t number = 0;
	for (size_t i = 0; i < look->groups.count; i++) {
		const struct program_group *group = &look->groups.groups[i];
		struct fold_part part = {.members = group->members, .count = group->count};
		while (look->groups.of[number][group->members[0]] != i + 1)
			number++;
		part.label = number;
		if (!is_inside(look->fold, &part) && !find_uses(look, number, &part))
			return false;
		*VEC_PUSH(look->arena, &look->parts) = part;
	}
	return true;
}

/* Adds the pairs of ranks of consecutive stages, which send messages to each other. */
static void add_pairs(struct plan_look *look)
{
	const struct training_plan *plan = look->scenario->jobs[0].plan;
	size_t stages = plan->sizes[AXIS_PIPELINE];
	size_t *members = ARENA_ARRAY(look->arena, 2 * plan->rank_count, size_t);
	for (size_t rank = 0; stages > 1 && rank < plan->rank_count; rank++, members += 2) {
		size_t stage = plan_index(plan, rank, AXIS_PIPELINE);
		members[0] = rank;
		members[1] = plan_neighbour(plan, rank, AXIS_PIPELINE, (stage + 1) % stages);
		*VEC_PUSH(look->arena, &look->parts) = (struct fold_part){
			.label = PLAN_GROUP_COUNT, .members = members, .count = 2};
	}
}

bool fold_plan(struct arena *arena, const struct scenario *scenario, struct system *system,
	       struct arena *scratch, struct fold *fold)
{
	struct plan_look look = {
		.arena = scratch, .scenario = scenario, .system = system, .fold = fold};
	struct repertoire all = {.count = 0}; /* of all ranks together */
	size_t *programs = ARENA_ARRAY(scratch, fold->rank_count, size_t);
	if (scenario->jobs[0].plan)
		look_at_plan(&look, programs);
	else
		look_at_recordings(&look, programs);
	if (!add_groups(&look))
		return false;
	if (scenario->jobs[0].plan)
		add_pairs(&look);
	struct communicator *comm = NULL;
	for (size_t i = 0; i < look.uses.count; i++)
		if (look.uses.items[i].kind == look.groups.kind_count) {
			if (!comm)
				comm = fold_look(scratch, scenario, system, NULL, NULL);
			if (!comm)
				return false;
			fold_plays(comm, look.uses.items[i].collective, look.uses.items[i].size_B,
				   &all);
		}
	const struct fold_search search = {
		.uses = all.uses,
		.use_count = all.count,
		.programs = programs,
		.parts = look.parts.items,
		.part_count = look.parts.count,
		.classes_most = fold->machine_count / ALIKE_LEAST,
	};
	return fold_can_build(&all, fold->rank_count) && fold_find(arena, fold, &search);
}
