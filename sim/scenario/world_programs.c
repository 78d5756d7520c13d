/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs whose programs are played call by call, from a scenario's entries. */
#include "sim/base/arena.h"
#include "sim/scenario/world.h"
#include "sim/workload/program_job.h"

static const struct program *program_of(struct world *w, const struct job_entry *entry)
{
	struct arena *arena = w->workload.arena;
	const struct recorded_program *recorded = entry->recorded;
	if (recorded) {
		struct host *host = guest_host(w->system.guests[entry->guests[0]]);
		struct program *program = replay_program(arena, recorded->calls, &recorded->step,
							 recorded->params, host_clock_Hz(host));
		program->images_count = entry->batch_count;
		return program;
	}
	return framework_at((size_t)entry->stack->framework)
		->program(arena, entry->network, (size_t)entry->batch_count, entry->stack,
			  &w->scenario->topology.gpus[entry->gpus[0]].params, entry->efficiency);
}

static struct program_gpu place_of(struct world *w, const struct job_entry *entry, size_t index)
{
	const struct topology *t = &w->scenario->topology;
	struct fabric *fabric = w->system.fabric;
	size_t gpu = entry->gpus[index];
	int host = fabric_node_find(fabric, t->hosts[t->gpus[gpu].host].name);
	int node = gpu_node(w->system.gpus[gpu]);
	return (struct program_gpu){
		.gpu = w->system.gpus[gpu],
		.server = w->system.guests[entry->servers[index]],
		.to_device = fabric_route(fabric, host, node, TRAFFIC_COPIES | TRAFFIC_PEERS),
		.to_host = fabric_route(fabric, node, host, TRAFFIC_COPIES | TRAFFIC_PEERS),
	};
}

struct job *world_programs(struct world *w, const struct job_entry *entry, struct job_run *run)
{
	struct arena *arena = w->workload.arena;
	struct program_rank *rank = ARENA_NEW(arena, struct program_rank);
	struct program_gpu *gpu = ARENA_NEW(arena, struct program_gpu);
	*gpu = place_of(w, entry, 0);
	*rank = (struct program_rank){.guest = w->system.guests[entry->guests[0]],
				      .program = program_of(w, entry),
				      .gpus = gpu};
	const struct program_job_spec spec = {
		.fabric = w->system.fabric,
		.name = entry->name,
		.what = arena_printf(arena, "%s at batch %g", entry->network->name,
				     entry->batch_count),
		.fraction_ratio = entry->fraction_ratio,
		.driver = &w->scenario->driver,
		.dma = &w->scenario->dma,
		.runtime = entry->runtime,
		.transport = entry->transport,
		.transport_params = entry->transport_params,
		.guest_work = entry->guest_work,
		.ranks = rank,
		.rank_count = 1,
	};
	return program_job_new(&w->workload, run, &spec);
}
