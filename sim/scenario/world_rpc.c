/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stages of a model server on other machines, as the RPC servers of llama.cpp compute them
 * (ggml/src/ggml-rpc/ggml-rpc.cpp, commit 004d67ed).
 *
 * The client is the program on the machine of the replica's first GPU. For each stage on another
 * machine it sends the inputs (RPC_CMD_SET_TENSOR) and the command to compute, and then waits for
 * the outputs (RPC_CMD_GET_TENSOR). The outputs of one stage are inputs of the next one, because
 * cpy_tensor returns false between two servers. Stages on its own machine exchange nothing.
 *
 * An iteration has a few messages for each stage, so they are not events of the run. Messages of
 * each size go to and fro over a connection of their own, when a size first needs it. The sizes are
 * powers of two. Times between them are linear in the size. */
#include "sim/scenario/world.h"

enum { SIZES = 48, ROUND_TRIPS = 16 }; /* the first half of the round trips opens the window */

struct rpc_stage {
	struct world *world;
	size_t guests[2]; /* of the client and of the server */
	const struct job_entry *entry;
	double times_s[SIZES]; /* of a message; 0: not simulated yet */
	struct rpc_stage *next;
};

struct rpc_probe {
	struct system system;
	struct connection *connection;
	double size_B;
	size_t delivered_count;
	int64_t begin_ps, end_ps;
};

static void probe_send(struct rpc_probe *probe, int from);

static void probe_delivered(void *ctx, uint64_t from)
{
	struct rpc_probe *probe = ctx;
	probe->end_ps = engine_now_ps(probe->system.engine);
	if (++probe->delivered_count == ROUND_TRIPS)
		probe->begin_ps = probe->end_ps;
	if (probe->delivered_count < 2 * ROUND_TRIPS)
		probe_send(probe, !from);
}

static void probe_send(struct rpc_probe *probe, int from)
{
	const struct message message = {.size_B = probe->size_B,
					.delivered = probe_delivered,
					.ctx = probe,
					.arg = (uint64_t)from};
	connection_send(probe->connection, from, &message);
}

static void probe_opened(void *ctx, uint64_t arg)
{
	probe_send(ctx, 0);
}

static void probe_failed(void *ctx, const char *reason)
{
	struct rpc_probe *probe = ctx;
	engine_stop(probe->system.engine);
}

/* Returns the time of a message of that size; NAN: it does not arrive. */
static double probe_s(const struct rpc_stage *stage, double size_B)
{
	struct arena *scratch = arena_new();
	struct rpc_probe *probe = ARENA_NEW(scratch, struct rpc_probe);
	probe->size_B = size_B;
	system_build(&probe->system, scratch, stage->world->scenario, NULL);
	struct connection_spec spec = {
		.engine = probe->system.engine,
		.fabric = probe->system.fabric,
		.arena = scratch,
		.name = "rpc",
		.params = stage->entry->transport_params,
		.seed = stage->world->workload.seed,
		.failed = probe_failed,
		.failed_ctx = probe,
	};
	for (size_t i = 0; i < 2; i++) {
		struct guest *guest = probe->system.guests[stage->guests[i]];
		spec.ends[i] = (struct connection_end){.guest = guest, .core = guest_core(guest)};
	}
	probe->connection = connection_new(stage->entry->transport, &spec);
	if (probe->connection) {
		connection_open(probe->connection, probe_opened, probe, 0);
		engine_run(probe->system.engine);
	}
	bool fine = probe->delivered_count == 2 * ROUND_TRIPS;
	double time_s = s_from_ps(probe->end_ps - probe->begin_ps) / ROUND_TRIPS;
	arena_free(scratch);
	return fine ? time_s : NAN;
}

static double time_s(struct rpc_stage *stage, int power)
{
	if (!(stage->times_s[power] > 0))
		stage->times_s[power] = probe_s(stage, ldexp(1, power));
	return stage->times_s[power];
}

static double message_s(struct rpc_stage *stage, double size_B)
{
	int power = (int)fmin(fmax(floor(log2(size_B)), 0), SIZES - 2);
	double share = fmax(0, size_B / ldexp(1, power) - 1);
	return time_s(stage, power) + share * (time_s(stage, power + 1) - time_s(stage, power));
}

struct rpc_stage *world_rpc(struct world *w, const struct job_entry *entry, const char **why)
{
	const struct topology *topology = &w->scenario->topology;
	struct rpc_stage *first = NULL, **last = &first;
	for (size_t i = 1; i < entry->rank_count; i++) {
		if (topology->gpus[entry->gpus[i]].host == topology->gpus[entry->gpus[0]].host)
			continue;
		*last = ARENA_NEW(w->workload.arena, struct rpc_stage);
		**last = (struct rpc_stage){.world = w,
					    .guests = {entry->guests[0], entry->servers[i]},
					    .entry = entry};
		if (!(time_s(*last, 0) > 0))
			*why = arena_printf(
				w->workload.arena,
				"no message from '%s' arrives at the stage on GPU '%s' over %s",
				topology->guests[entry->guests[0]].name,
				topology->gpus[entry->gpus[i]].name, entry->transport->name);
		last = &(*last)->next;
	}
	return first;
}

double world_rpc_s(void *ctx, double in_B, double out_B)
{
	double sum_s = 0;
	for (struct rpc_stage *stage = ctx; stage; stage = stage->next)
		sum_s += message_s(stage, in_B) + message_s(stage, out_B);
	return sum_s;
}

void world_rpc_split(struct world *w, const struct job_entry *entry,
		     struct serving_model_spec *spec)
{
	const struct gpu_entry *gpus = w->scenario->topology.gpus;
	const struct service_entry *of = &w->scenario->services[entry->service];
	struct serving_part *parts =
		ARENA_ARRAY(w->workload.arena, entry->rank_count, struct serving_part);
	size_t *kinds = ARENA_ARRAY(w->workload.arena, entry->rank_count, size_t), count = 0;
	double all_B = 0;
	for (size_t i = 0; i < entry->rank_count; i++)
		all_B += gpus[entry->gpus[i]].params.memory_B;
	spec->stages = all_B / gpus[entry->gpus[0]].params.memory_B;
	for (size_t i = 0; i < entry->rank_count && of->efficiencies; i++) {
		size_t gpu = entry->gpus[i], k = 0;
		while (k < count && strcmp(gpus[kinds[k]].profile, gpus[gpu].profile) != 0)
			k++;
		if (k == count) {
			struct serving_model_spec own = *spec;
			own.gpu = &gpus[gpu].params;
			if (of->efficiencies[gpu])
				own.efficiency = of->efficiencies[gpu];
			parts[k].model = serving_model_new(w->workload.arena, &own);
			kinds[count++] = gpu;
		}
		parts[k].ratio += gpus[gpu].params.memory_B / all_B;
	}
	spec->rpc_parts = parts;
	spec->rpc_part_count = count;
}
