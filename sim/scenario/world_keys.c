/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys and values of model servers on links: between replicas, and to host memory. */
#include "sim/scenario/world_serving.h"

static struct communicator *connect(struct world *w, const struct server *from,
				    const struct server *to, size_t gpu)
{
	struct comm_rank *ranks = ARENA_ARRAY(w->workload.arena, 2, struct comm_rank);
	const struct server *ends[] = {from, to};
	for (size_t i = 0; i < 2; i++)
		ranks[i] =
			(struct comm_rank){.gpu = w->system.gpus[ends[i]->entry->gpus[gpu]],
					   .guest = w->system.guests[ends[i]->entry->servers[gpu]]};
	struct communicator_spec spec = system_communicator(&w->system, from->entry);
	spec.name = arena_printf(w->workload.arena, "%s to %s", from->entry->name, to->entry->name);
	spec.ranks = ranks;
	spec.rank_count = 2;
	spec.seed = w->workload.seed;
	spec.failed = job_failed;
	spec.failed_ctx = (void *)&from->job;
	return communicator_new(&spec);
}

struct passing { /* keys and values under way, in a message for each GPU */
	size_t left_count;
	event_fn *fn;
	void *ctx;
};

static void part_arrived(void *ctx, uint64_t arg)
{
	struct passing *passing = ctx;
	if (--passing->left_count == 0)
		passing->fn(passing->ctx, 0);
}

/* Returns the distance of the GPUs that have a part of the keys and values of a request: 1 if all
 * have. With experts one of each stage has them. */
static size_t holders_step(const struct server *server)
{
	const struct service_entry *service =
		&server->world->scenario->services[server->entry->service];
	return service->spread > service->stages
		       ? server->entry->rank_count / (size_t)service->stages
		       : 1;
}

void world_keys_transfer(void *of, size_t from, size_t to, double tokens, event_fn *fn, void *ctx)
{
	const struct world *w = of;
	struct server *server = w->servers->all[from];
	size_t all = server->entry->rank_count, step = holders_step(server);
	size_t first = server->passed_count++ % step, count = all / step;
	struct passing *passing = ARENA_NEW(w->workload.arena, struct passing);
	*passing = (struct passing){count, fn, ctx};
	const struct collective_request request = {
		.collective = COLLECTIVE_BROADCAST,
		.size_B = tokens * serving_model_token_B(server->model) /
			  w->scenario->services[server->entry->service].stages,
		.label = "keys and values",
		.done = part_arrived,
		.ctx = passing,
	};
	for (size_t i = 0; i < count; i++) {
		struct communicator *comm = server->to[to * all + first + i * step];
		uint64_t number = communicator_begin(comm, &request);
		communicator_arrive(comm, number, 0);
		communicator_arrive(comm, number, 1);
	}
}

void world_keys_offload(void *of, size_t replica, double tokens, bool to_gpu, event_fn *fn,
			void *ctx)
{
	struct world *w = of;
	const struct server *server = w->servers->all[replica];
	const struct service_entry *service = &w->scenario->services[server->entry->service];
	size_t step = holders_step(server), count = server->entry->rank_count / step;
	struct passing *passing = ARENA_NEW(w->workload.arena, struct passing);
	double part_B = serving_model_token_B(server->model) * tokens / service->stages;
	*passing = (struct passing){count, fn, ctx};
	for (size_t i = 0; i < count; i++) {
		struct program_gpu place = system_place(&w->system, server->entry, i * step);
		size_t host = w->scenario->topology.gpus[server->entry->gpus[i * step]].host;
		const struct dma_copy copy = {
			.engine = w->system.engine,
			.fabric = w->system.fabric,
			.arena = w->workload.arena,
			.params = &w->scenario->dma,
			.route = to_gpu ? place.to_device : place.to_host,
			.host = w->system.hosts[host],
			.to_device = to_gpu,
			.size_B = part_B,
			.done = part_arrived,
			.ctx = passing,
		};
		dma_start(&copy);
	}
}

bool world_keys_connect(struct world *w, event_fn *begin)
{
	size_t count = w->scenario->job_count;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count; k++) {
			struct server *from = w->servers->all[i], *to = w->servers->all[k];
			if (from->entry->role != ROLE_PREFILL || to->entry->role != ROLE_DECODE ||
			    from->entry->service != to->entry->service)
				continue;
			for (size_t g = 0; g < from->entry->rank_count; g++) {
				struct communicator *comm = connect(w, from, to, g);
				if (!comm)
					return false;
				from->to[k * from->entry->rank_count + g] = comm;
				w->servers->opening_count++;
			}
		}
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count * w->servers->all[i]->entry->rank_count; k++)
			if (w->servers->all[i]->to[k])
				communicator_open(w->servers->all[i]->to[k], begin, w, 0);
	return true;
}
