/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/scenario/fold.h"

#include <string.h>

#include "sim/base/arena.h"
#include "sim/scenario/system.h"

/* Jobs of fewer GPUs are folded on demand alone; ranks whose schedules, if an algorithm's
 * making them costs more than in proportion, are made; machines of which one shall stand for
 * two at least. */
enum { AUTO_LEAST = 1024, COSTLY_MOST = 512, ALIKE_LEAST = 2 };

bool fold_is_wanted(const struct case_params *params, size_t job_count, size_t gpus_wanted)
{
	bool large = gpus_wanted >= AUTO_LEAST || params->symmetry == SYMMETRY_ON;
	return params->symmetry != SYMMETRY_OFF && large && job_count == 1 && gpus_wanted > 1 &&
	       params->collective[0];
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

static bool can_fold(const struct scenario *scenario)
{
	const struct job_entry *entry = &scenario->jobs[0];
	return scenario->topology.top && entry->transport &&
	       strcmp(entry->transport->name, "rdma") == 0 &&
	       strcmp(entry->library->algorithm, "parameter_server") != 0 &&
	       is_lossless(&scenario->topology);
}

/* A communicator of one machine of each kind: how the library sees all of them. */
static struct communicator *look(struct arena *arena, const struct scenario *scenario,
				 struct system *system)
{
	const struct job_entry *entry = &scenario->jobs[0];
	system_build(system, arena, &scenario->topology, NULL);
	struct comm_rank *ranks = ARENA_ARRAY(arena, entry->simulated_count, struct comm_rank);
	for (size_t i = 0; i < entry->simulated_count; i++)
		ranks[i] = (struct comm_rank){.gpu = system->gpus[entry->gpus[i]],
					      .guest = system->guests[entry->guests[i]]};
	const struct communicator_spec spec = {
		.arena = arena,
		.engine = system->engine,
		.fabric = system->fabric,
		.name = entry->name,
		.library = entry->library,
		.ranks = ranks,
		.rank_count = entry->simulated_count,
		.transport = entry->transport,
		.transport_params = entry->transport_params,
		.fold = scenario->topology.fold,
		.copies = system->copies,
		.top_node = system->top_node,
	};
	return communicator_new(&spec);
}

static bool find_sorts(struct arena *arena, const struct scenario *scenario,
		       struct communicator *comm, struct fold *fold)
{
	struct algorithm_spec spec;
	const struct algorithm *algorithm = communicator_plays(
		comm, (enum collective)scenario->collective, scenario->collective_size_B, &spec);
	if (!algorithm->folds && fold->rank_count > COSTLY_MOST)
		return false;
	if (algorithm->refuse && algorithm->refuse(&spec))
		return false; /* the full simulation says so */
	const struct fold_use use = {algorithm, &spec};
	return fold_find(arena, fold, &use, 1, fold->machine_count / ALIKE_LEAST);
}

struct fold *fold_machines(struct arena *arena, const struct scenario *scenario,
			   struct fold *by_kind)
{
	struct arena *scratch = arena_new();
	struct system system;
	struct fold *fold = ARENA_NEW(arena, struct fold);
	bool found = false;
	*fold = *by_kind;
	if (can_fold(scenario)) {
		struct communicator *comm = look(scratch, scenario, &system);
		found = comm && find_sorts(arena, scenario, comm, fold);
	}
	arena_free(scratch);
	return found ? fold : NULL;
}
