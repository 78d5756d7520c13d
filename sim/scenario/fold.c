/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/scenario/fold.h"

/* AUTO_LEAST, PLAN_LEAST: smallest number of GPUs that SYMMETRY_AUTO folds. COSTLY_MOST: largest
 * number of ranks for algorithms without a `folds` function, whose schedules must all be built to
 * find the classes.
 * NEAR_MORE: with SYMMETRY_AUTO, plans on more machines are folded with any place below leaves, and
 * so are other jobs on at least NEAR_LEAST machines if they use double trees, which have no
 * symmetry. */
enum { AUTO_LEAST = 1024, PLAN_LEAST = 64, COSTLY_MOST = 512 };
enum { NEAR_MORE = 32, NEAR_LEAST = 128 };
enum { ELEMENT_MOST_B = 8 }; /* bytes of a gradient's element */

bool fold_is_wanted(const struct case_params *params, size_t job_count, size_t gpus_wanted,
		    bool plan)
{
	size_t least = plan ? PLAN_LEAST : AUTO_LEAST;
	bool large = gpus_wanted >= least || params->symmetry == SYMMETRY_ON;
	return params->symmetry != SYMMETRY_OFF && large && job_count == 1 && gpus_wanted > 1;
}

struct fold *fold_of_kinds(struct arena *arena, const struct fold_kind *kinds, size_t kind_count,
			   size_t rank_count)
{
	struct fold *fold = ARENA_NEW(arena, struct fold);
	size_t count = 0, rank = 0, machine = 0;
	for (size_t k = 0; k < kind_count; k++)
		count += kinds[k].machine_count;
	uint32_t *machine_of = ARENA_ARRAY(arena, rank_count, uint32_t);
	uint32_t *first_rank = ARENA_ARRAY(arena, count + 1, uint32_t);
	uint32_t *kind_of = ARENA_ARRAY(arena, count, uint32_t);
	for (size_t k = 0; k < kind_count; k++)
		for (size_t i = 0; i < kinds[k].machine_count; i++) {
			kind_of[machine] = (uint32_t)k;
			first_rank[machine] = (uint32_t)rank;
			for (size_t r = 0; r < kinds[k].gpu_count && rank < rank_count; r++)
				machine_of[rank++] = (uint32_t)machine;
			if (rank == first_rank[machine])
				return NULL;
			machine++;
		}
	first_rank[machine] = (uint32_t)rank;
	if (rank < rank_count)
		return NULL;
	*fold = (struct fold){
		.rank_count = rank_count,
		.machine_count = count,
		.machine_of = machine_of,
		.first_rank = first_rank,
		.kind_of = kind_of,
		.leaf_of = ARENA_ARRAY(arena, count, uint32_t),
		.pod_of = ARENA_ARRAY(arena, 1, uint32_t),
		.leaf_count = 1,
		.pod_count = 1,
	};
	fold_by_kind(arena, fold);
	return fold;
}

static bool is_lossless(const struct topology *topology)
{
	for (size_t i = 0; i < topology->link_count; i++)
		for (int direction = 0; direction < 2; direction++)
			if (topology->links[i].traits.loss_ratio[direction] > 0 ||
			    topology->links[i].traits.unmoderated_loss_ratio[direction] > 0)
				return false;
	return true;
}

/* Returns NULL, or why no machines of the case can be folded. */
static const char *why_not(const struct scenario *scenario)
{
	const struct job_entry *entry = &scenario->jobs[0];
	if (!scenario->topology.top)
		return "its network is not a switch, fat_tree or rail_optimised with "
		       "fabric.routing "
		       "spray and fabric.congestion fair";
	if (!entry->transport->direct)
		return "its bytes do not travel by rdma";
	/* A server that all ranks share is not a link. */
	if (entry->storage && storage_is_shared(entry->storage))
		return "machines share a storage";
	if (library_has_servers(entry->library) || entry->library->stagger_s > 0)
		return "its exchange has servers or staggered starts";
	if (entry->runtime)
		return "programs are simulated call by call";
	if (entry->recorded && recorded_has_messages(entry->recorded->calls))
		return "its recordings have messages between ranks";
	return is_lossless(&scenario->topology) ? NULL : "links lose packets";
}

struct communicator *fold_look(struct arena *arena, const struct scenario *scenario,
			       struct system *system, const struct fold *part,
			       const size_t *members)
{
	const struct job_entry *entry = &scenario->jobs[0];
	const struct fold *fold = part ? part : scenario->topology.fold;
	struct comm_rank *ranks = ARENA_ARRAY(arena, fold->simulated_count, struct comm_rank);
	for (size_t i = 0; i < fold->simulated_count; i++) {
		size_t rank = part ? members[part->rank_of[i]] : fold->rank_of[i];
		size_t own = fold_stand_in(scenario->topology.fold, rank);
		ranks[i] = (struct comm_rank){.gpu = system->gpus[entry->gpus[own]],
					      .guest = system->guests[entry->guests[own]]};
	}
	struct communicator_spec spec = system_communicator(system, entry);
	spec.arena = arena;
	spec.ranks = ranks;
	spec.rank_count = fold->simulated_count;
	spec.fold = fold;
	return communicator_new(&spec);
}

void fold_plays(const struct communicator *comm, enum collective collective, double size_B,
		struct repertoire *repertoire)
{
	struct algorithm_spec spec;
	const struct algorithm *algorithm = communicator_plays(comm, collective, size_B, &spec);
	size_t i = 0;
	while (i < repertoire->count && repertoire->uses[i].algorithm != algorithm)
		i++;
	FW_ASSERT(i < FOLD_USES_MOST);
	if (i == repertoire->count)
		repertoire->count++;
	else if (repertoire->specs[i].channel_count >= spec.channel_count)
		return;
	repertoire->specs[i] = spec;
	repertoire->uses[i] = (struct fold_use){algorithm, &repertoire->specs[i]};
}

static void plays_all(const struct scenario *scenario, const struct communicator *comm,
		      struct repertoire *repertoire)
{
	static const double finer = 1.05;
	const struct job_entry *entry = &scenario->jobs[0];
	if (scenario->style == JOBS_COLLECTIVE) {
		fold_plays(comm, scenario->collective, scenario->collective_size_B, repertoire);
		return;
	}
	double most_B = ELEMENT_MOST_B * entry->network->parameters_count;
	for (double size_B = 1; size_B < most_B * finer; size_B *= finer)
		fold_plays(comm, COLLECTIVE_ALL_REDUCE, size_B, repertoire);
}

bool fold_can_build(const struct repertoire *repertoire, size_t rank_count)
{
	for (size_t i = 0; i < repertoire->count; i++) {
		const struct algorithm *algorithm = repertoire->uses[i].algorithm;
		if (!algorithm->folds && rank_count > COSTLY_MOST)
			return false;
		if (algorithm->refuse && algorithm->refuse(&repertoire->specs[i]))
			return false; /* the full simulation reports the reason */
	}
	return true;
}

/* Lets machines be alike that are so only nearly. A straggler, or machines of several kinds, can
 * only be followed by exact classes. */
static void be_near(struct fold *fold)
{
	fold->near = fold->by_level = true;
	for (size_t m = 0; m < fold->machine_count; m++)
		if (fold->kind_of[m] != fold->kind_of[0])
			fold->by_level = false;
}

static bool find_classes(struct arena *arena, const struct scenario *scenario,
			 struct system *system, struct arena *scratch, struct fold *fold)
{
	struct communicator *comm = fold_look(scratch, scenario, system, NULL, NULL);
	struct repertoire repertoire = {.count = 0};
	if (!comm)
		return false;
	plays_all(scenario, comm, &repertoire);
	for (size_t i = 0; i < repertoire.count; i++)
		if (repertoire.uses[i].algorithm->paired && fold->machine_count >= NEAR_LEAST &&
		    scenario->params->symmetry == SYMMETRY_AUTO)
			be_near(fold);
	const struct fold_search search = {
		.uses = repertoire.uses,
		.use_count = repertoire.count,
		.classes_most = fold->machine_count / ALIKE_LEAST,
	};
	return fold_can_build(&repertoire, fold->rank_count) && fold_find(arena, fold, &search);
}

/* A straggler puts the first machine into a class of its own. */
static void mark_straggler(struct arena *arena, const struct scenario *scenario, struct fold *fold)
{
	if (scenario->style == JOBS_COLLECTIVE || !(scenario->jobs[0].straggler_ratio > 1))
		return;
	uint32_t *kind_of = ARENA_ARRAY(arena, fold->machine_count, uint32_t);
	memcpy(kind_of, fold->kind_of, fold->machine_count * sizeof *kind_of);
	kind_of[0] = UINT32_MAX;
	fold->kind_of = kind_of;
}

struct fold *fold_machines(struct arena *arena, const struct scenario *scenario,
			   struct fold *by_kind, const char **why)
{
	struct arena *scratch = arena_new();
	struct system system;
	struct fold *fold = ARENA_NEW(arena, struct fold);
	bool found = false;
	*fold = *by_kind;
	mark_straggler(arena, scenario, fold);
	bool programs = scenario->jobs[0].plan || scenario->jobs[0].recorded;
	if (programs && fold->machine_count > NEAR_MORE &&
	    scenario->params->symmetry == SYMMETRY_AUTO)
		be_near(fold);
	*why = why_not(scenario);
	if (!*why) {
		system_build(&system, scratch, scenario, NULL);
		found = (programs ? fold_plan : find_classes)(arena, scenario, &system, scratch,
							      fold);
	}
	arena_free(scratch);
	if (!found && !*why)
		*why = "too few of them are alike";
	return found ? fold : NULL;
}
