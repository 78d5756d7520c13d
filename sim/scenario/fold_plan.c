/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folds the jobs of plans. Ranks of a stage have programs that differ only in their communicators
 * and the peers of their messages. So machines are alike if their ranks are in the same stages, and
 * the groups and messages of these ranks meet machines that are alike. */
#include "sim/base/arena.h"
#include "sim/scenario/fold.h"
#include "sim/workload/group.h"

/* Smallest number of machines that a class must have on average. */
enum { ALIKE_LEAST = 2 };

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
		.driver = &scenario->driver,
	};
}

/* ---- groups of simulated ranks ---- */

struct plan_groups fold_plan_groups(struct arena *arena, const struct job_entry *entry,
				    const struct fold *fold)
{
	struct plan_groups all = all_groups(arena, entry), kept = {0};
	if (!fold)
		return all;
	struct program_group *groups = ARENA_ARRAY(arena, all.count + 1, struct program_group);
	for (size_t kind = 0; kind < PLAN_GROUP_COUNT; kind++) {
		uint32_t *of = ARENA_ARRAY(arena, entry->rank_count, uint32_t);
		kept.of[kind] = of;
		for (size_t i = 0; i < fold->simulated_count; i++) {
			uint32_t number = all.of[kind][fold->rank_of[i]];
			if (number == 0 || of[fold->rank_of[i]] > 0)
				continue;
			const struct program_group *group = &all.groups[number - 1];
			groups[kept.count++] = *group;
			for (size_t k = 0; k < group->count; k++)
				of[fold->rank_of[fold_stand_in(fold, group->members[k])]] =
					(uint32_t)kept.count;
		}
	}
	kept.groups = groups;
	return kept;
}

/* ---- search for classes ---- */

/* A collective that a kind of group does. */
struct plan_use {
	enum plan_group kind;
	enum collective collective;
	double size_B;
};

struct plan_look {
	struct arena *arena;
	const struct scenario *scenario;
	struct system *system;
	const struct fold *fold;
	struct plan_groups groups;
	VEC(struct plan_use) uses;
	VEC(struct fold_part) parts;
};

static void add_use(struct plan_look *look, size_t rank, const struct cuda_call *call)
{
	struct plan_use use = {.size_B = call->payload_B};
	if (!group_collective(call->kind, &use.collective))
		return;
	while (look->groups.of[use.kind][rank] != call->peer)
		use.kind++;
	for (size_t i = 0; i < look->uses.count; i++) {
		const struct plan_use *known = &look->uses.items[i];
		if (known->kind == use.kind && known->collective == use.collective &&
		    known->size_B <= use.size_B && known->size_B >= use.size_B)
			return;
	}
	*VEC_PUSH(look->arena, &look->uses) = use;
}

/* Lists the collectives in the programs of a rank of each stage. Those of a stage's other ranks are
 * the same. */
static void list_uses(struct plan_look *look)
{
	const struct job_entry *entry = &look->scenario->jobs[0];
	for (size_t stage = 0; stage < entry->plan->sizes[AXIS_PIPELINE]; stage++) {
		size_t rank = plan_neighbour(entry->plan, 0, AXIS_PIPELINE, stage);
		const struct plan_step step =
			fold_plan_step(look->scenario, &look->groups,
				       fold_stand_in(look->scenario->topology.fold, rank));
		const struct program *program = plan_program(look->arena, &step, rank);
		for (size_t i = 0; i < program->threads[0].count; i++)
			if (program->threads[0].items[i].kind == ITEM_CALL)
				add_use(look, rank, &program->threads[0].items[i].call);
	}
}

static bool is_inside(const struct fold *fold, const struct fold_part *part)
{
	return fold->machine_of[part->members[0]] ==
	       fold->machine_of[part->members[part->count - 1]];
}

/* Sets the algorithms of a part that several machines share. Groups of the same shape have the
 * same. Returns false if the part's machines do not hold the same places. */
static bool find_uses(struct plan_look *look, enum plan_group kind, struct fold_part *part)
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
		if (!is_inside(look->fold, &part) &&
		    !find_uses(look, (enum plan_group)number, &part))
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
	const struct job_entry *entry = &scenario->jobs[0];
	struct plan_look look = {
		.arena = scratch,
		.scenario = scenario,
		.system = system,
		.fold = fold,
		.groups = all_groups(scratch, entry),
	};
	size_t *programs = ARENA_ARRAY(scratch, fold->rank_count, size_t);
	for (size_t r = 0; r < fold->rank_count; r++)
		programs[r] = plan_index(entry->plan, r, AXIS_PIPELINE);
	list_uses(&look);
	if (!add_groups(&look))
		return false;
	add_pairs(&look);
	const struct fold_search search = {
		.programs = programs,
		.parts = look.parts.items,
		.part_count = look.parts.count,
		.classes_most = fold->machine_count / ALIKE_LEAST,
	};
	return fold_find(arena, fold, &search);
}
