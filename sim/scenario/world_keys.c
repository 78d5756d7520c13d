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

/* The GPUs that have the keys and values of a request: a tensor group of each stage. */
struct holders {
	size_t tensor, stage_gpus, first, count;
	double part_B; /* of a token on each of them */
};

/* Groups take turns. */
static struct holders holders_of(struct server *server)
{
	const struct scenario *scenario = server->world->scenario;
	const struct service_entry *of = &scenario->services[server->entry->service];
	size_t tensor = (size_t)scenario->params->tensor_count;
	return (struct holders){
		.tensor = tensor,
		.stage_gpus = tensor * (size_t)of->data,
		.first = server->passed_count++ % (size_t)of->data * tensor,
		.count = tensor * (size_t)of->stages,
		.part_B = serving_model_token_B(server->model) / of->stages,
	};
}

static size_t holder_at(const struct holders *holders, size_t i)
{
	return holders->first + i / holders->tensor * holders->stage_gpus + i % holders->tensor;
}

void world_keys_transfer(void *of, size_t from, size_t to, double tokens, event_fn *fn, void *ctx)
{
	const struct world *w = of;
	struct server *server = w->servers->all[from];
	const struct holders holders = holders_of(server);
	struct passing *passing = ARENA_NEW(w->workload.arena, struct passing);
	*passing = (struct passing){holders.count, fn, ctx};
	const struct collective_request request = {
		.collective = COLLECTIVE_BROADCAST,
		.size_B = tokens * holders.part_B,
		.label = "keys and values",
		.done = part_arrived,
		.ctx = passing,
	};
	for (size_t i = 0; i < holders.count; i++) {
		struct communicator *comm =
			server->to[to * server->entry->rank_count + holder_at(&holders, i)];
		uint64_t number = communicator_begin(comm, &request);
		communicator_arrive(comm, number, 0);
		communicator_arrive(comm, number, 1);
	}
}

struct offload {                  /* the part of a GPU */
	struct connection *store; /* NULL: it stays on the GPU's host */
	struct dma_copy copy;
	struct message message;
	struct passing *passing;
	bool to_gpu;
};

static void copied(void *ctx, uint64_t arg)
{
	struct offload *offload = ctx;
	if (offload->store && !offload->to_gpu)
		connection_send(offload->store, 0, &offload->message);
	else
		part_arrived(offload->passing, 0);
}

static void fetched(void *ctx, uint64_t arg)
{
	struct offload *offload = ctx;
	if (offload->to_gpu)
		dma_start(&offload->copy);
	else
		part_arrived(offload->passing, 0);
}

void world_keys_offload(void *of, size_t replica, double tokens, bool to_gpu, event_fn *fn,
			void *ctx)
{
	struct world *w = of;
	struct server *server = w->servers->all[replica];
	const struct holders holders = holders_of(server);
	struct passing *passing = ARENA_NEW(w->workload.arena, struct passing);
	*passing = (struct passing){holders.count, fn, ctx};
	for (size_t i = 0; i < holders.count; i++) {
		size_t rank = holder_at(&holders, i);
		struct program_gpu place = system_place(&w->system, server->entry, rank);
		size_t host = w->scenario->topology.gpus[server->entry->gpus[rank]].host;
		struct offload *offload = ARENA_NEW(w->workload.arena, struct offload);
		*offload = (struct offload){.store = server->store ? server->store[rank] : NULL,
					    .passing = passing,
					    .to_gpu = to_gpu};
		offload->copy = (struct dma_copy){
			.engine = w->system.engine,
			.fabric = w->system.fabric,
			.arena = w->workload.arena,
			.params = &w->scenario->dma,
			.route = to_gpu ? place.to_device : place.to_host,
			.host = w->system.hosts[host],
			.to_device = to_gpu,
			.size_B = tokens * holders.part_B,
			.done = copied,
			.ctx = offload,
		};
		offload->message = (struct message){.size_B = tokens * holders.part_B,
						    .delivered = fetched,
						    .ctx = offload,
						    .label = "keys and values"};
		/* all chunks are there before they are copied (LMCache, v1/cache_engine.py,
		 * retrieve: batched_to_gpu) */
		if (offload->store && to_gpu)
			connection_send(offload->store, 1, &offload->message);
		else
			dma_start(&offload->copy);
	}
}

/* Connects the hosts of the replica's GPUs with the store. Returns false if one has no route. */
static bool connect_store(struct world *w, struct server *server)
{
	const struct job_entry *entry = server->entry;
	size_t store = w->scenario->services[entry->service].store;
	if (store == SIZE_MAX)
		return true;
	const struct guest_entry *guests = w->scenario->topology.guests;
	struct arena *arena = w->workload.arena;
	server->store = ARENA_ARRAY(arena, entry->rank_count, struct connection *);
	for (size_t i = 0; i < entry->rank_count; i++) {
		struct guest *ends[] = {w->system.guests[entry->servers[i]],
					w->system.guests[store]};
		const struct connection_spec spec = {
			.engine = w->system.engine,
			.fabric = w->system.fabric,
			.arena = arena,
			.name = arena_printf(arena, "%s to %s %zu", entry->name, guests[store].name,
					     i),
			.params = entry->transport_params,
			.ends = {{ends[0], guest_core(ends[0]), NULL},
				 {ends[1], guest_core(ends[1]), NULL}},
			.seed = w->workload.seed,
			.failed = job_failed,
			.failed_ctx = &server->job,
		};
		if (guests[entry->servers[i]].host == guests[store].host)
			continue;
		server->store[i] = connection_new(entry->transport, &spec);
		if (!server->store[i])
			return false;
		w->servers->opening_count++;
	}
	return true;
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
		if (!connect_store(w, w->servers->all[i]))
			return false;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < count * w->servers->all[i]->entry->rank_count; k++)
			if (w->servers->all[i]->to[k])
				communicator_open(w->servers->all[i]->to[k], begin, w, 0);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0;
		     w->servers->all[i]->store && k < w->servers->all[i]->entry->rank_count; k++)
			if (w->servers->all[i]->store[k])
				connection_open(w->servers->all[i]->store[k], begin, w, 0);
	return true;
}
