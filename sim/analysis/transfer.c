/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/transfer.h"
#include "sim/scenario/system.h"
#include "sim/transport/tcp.h"

/* The first half of the messages is the warm-up, in which TCP opens its window. DEPTH of them are
 * on their way, as with perftest's --tx-depth. iperf3 writes blocks of 128 KiB; larger ones give
 * the same goodput with fewer events. */
enum { MESSAGES = 4096, DEPTH = 128, ROUND_TRIPS = 8 };
static const double BLOCK_B = 1048576;

struct transferring {
	struct system system;
	const struct transfer *transfer;
	struct connection *connection;
	double size_B; /* of a message */
	size_t sent_count, delivered_count;
	int64_t begin_ps, end_ps; /* begin: of the messages that count */
};

static void copied(void *ctx, uint64_t arg)
{
	struct transferring *t = ctx;
	t->delivered_count = 1;
	t->end_ps = engine_now_ps(t->system.engine);
}

static void copy(struct transferring *t, const struct scenario *scenario)
{
	const struct topology *topology = &scenario->topology;
	struct fabric *fabric = t->system.fabric;
	const struct transfer *transfer = t->transfer;
	size_t host = topology->gpus[transfer->from].host;
	int gpu = fabric_node_find(fabric, topology->gpus[transfer->from].name);
	int memory = fabric_node_find(fabric, topology->hosts[host].name);
	bool peer = transfer->kind == TRANSFER_PEER;
	int other = peer ? fabric_node_find(fabric, topology->gpus[transfer->to].name) : memory;
	bool to_device = transfer->kind == TRANSFER_TO_DEVICE;
	int from = to_device ? memory : gpu, to = to_device ? gpu : other;
	/* NVLink, if there is one, also where a path over PCIe has as few links */
	const struct route *nvlink = peer ? fabric_route(fabric, from, to, TRAFFIC_PEERS) : NULL;
	const struct dma_copy copy = {
		.engine = t->system.engine,
		.fabric = fabric,
		.arena = t->system.arena,
		.params = &scenario->dma,
		.route = nvlink ? nvlink
				: fabric_route(fabric, from, to, TRAFFIC_COPIES | TRAFFIC_PEERS),
		.host = t->system.hosts[host],
		.to_device = to_device || peer,
		.size_B = transfer->size_B,
		.done = copied,
		.ctx = t,
	};
	if (copy.route)
		dma_start(&copy);
}

static void send(struct transferring *t, int from);

static void delivered(void *ctx, uint64_t from)
{
	struct transferring *t = ctx;
	bool answers = t->transfer->kind == TRANSFER_ROUND_TRIP;
	size_t half = answers ? ROUND_TRIPS : MESSAGES / 2;
	t->end_ps = engine_now_ps(t->system.engine);
	if (++t->delivered_count == half)
		t->begin_ps = t->end_ps;
	if (t->sent_count < 2 * half)
		send(t, answers ? !from : (int)from);
}

static void send(struct transferring *t, int from)
{
	const struct message message = {
		.size_B = t->size_B, .delivered = delivered, .ctx = t, .arg = (uint64_t)from};
	t->sent_count++;
	connection_send(t->connection, from, &message);
}

static void opened(void *ctx, uint64_t arg)
{
	struct transferring *t = ctx;
	bool answers = t->transfer->kind == TRANSFER_ROUND_TRIP;
	for (size_t i = 0; i < (answers ? 1 : DEPTH); i++)
		send(t, t->transfer->back);
}

static void failed(void *ctx, const char *reason)
{
	struct transferring *t = ctx;
	t->connection = NULL;
	engine_stop(t->system.engine);
}

/* Opens a connection between the machines, over which `opened` sends. */
static void connect(struct transferring *t, const struct scenario *scenario, uint64_t seed)
{
	const struct job_entry *job = &scenario->jobs[0];
	size_t last = job->runtime ? job->servers[0] : job->guests[job->simulated_count - 1];
	struct guest *guests[2] = {t->system.guests[job->guests[0]], t->system.guests[last]};
	bool tcp = job->transport == &transport_tcp;
	void *params = arena_alloc(t->system.arena, job->transport->table->size);
	memcpy(params, job->transport_params, job->transport->table->size);
	if (tcp && t->transfer->streams_count > 0)
		((struct tcp_params *)params)->streams_count = t->transfer->streams_count;
	t->size_B = tcp && t->transfer->kind == TRANSFER_MESSAGES
			    ? fmax(t->transfer->size_B, BLOCK_B)
			    : t->transfer->size_B;
	const struct connection_spec spec = {
		.engine = t->system.engine,
		.fabric = t->system.fabric,
		.arena = t->system.arena,
		.name = "transfer",
		.params = params,
		.ends = {{guests[0], guest_core(guests[0]), NULL},
			 {guests[1], guest_core(guests[1]), NULL}},
		.seed = seed,
		.failed = failed,
		.failed_ctx = t,
	};
	t->connection = connection_new(job->transport, &spec);
	if (t->connection)
		connection_open(t->connection, opened, t, 0);
}

double transfer_run(struct arena *arena, const struct scenario *scenario,
		    const struct transfer *transfer, uint64_t seed, double *carried_B)
{
	struct transferring *t = ARENA_NEW(arena, struct transferring);
	bool messages = transfer->kind >= TRANSFER_MESSAGES;
	t->transfer = transfer;
	t->size_B = transfer->size_B;
	system_build(&t->system, arena, scenario, NULL);
	size_t gpus = scenario->topology.gpu_count;
	if (!messages && (transfer->from >= gpus || transfer->to >= gpus))
		return NAN;
	if (messages)
		connect(t, scenario, seed);
	else
		copy(t, scenario);
	size_t count = !messages                               ? 1
		       : transfer->kind == TRANSFER_ROUND_TRIP ? 2 * ROUND_TRIPS
							       : MESSAGES;
	engine_run(t->system.engine);
	for (size_t i = 0; i < scenario->topology.link_count && carried_B; i++)
		for (int way = 0; way < 2; way++)
			carried_B[i] = fmax(carried_B[i],
					    fabric_carried(t->system.fabric,
							   fabric_link_resource(t->system.fabric,
										(int)i, way)));
	if (t->delivered_count < count)
		return NAN;
	double time_s = s_from_ps(t->end_ps - t->begin_ps);
	size_t measured_count = count / 2; /* behind the warm-up */
	return messages ? time_s / (double)measured_count * transfer->size_B / t->size_B : time_s;
}
