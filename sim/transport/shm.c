/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/transport/shm.h"
#include "sim/engine/trace.h"
#include "sim/transport/transport.h"
#include "sim/transport/path.h"

static const struct param_row shm_rows[] = {
	COST_ASSUMED(struct shm_params, post_s, QUANTITY_TIME, 0, 1e-3, "0.3 us",
		     "time to take a slot of the ring buffer, at 2.4 GHz",
		     "assumption: several cache misses between two cores"),
	COST_ASSUMED(struct shm_params, notify_s, QUANTITY_TIME, 0, 1e-3, "0.7 us",
		     "time until the polling receiver has the message, at 2.4 GHz",
		     "assumption: several cache misses and the dispatch of the reader"),
	PARAM_NUMBER(struct shm_params, inline_B, QUANTITY_BYTES, 0, 1e12, "16 KiB",
		     "size above which a message shares the core and the memory with other flows; "
		     "shorter messages wait in a queue",
		     "assumption: a modelling choice, as for tcp"),
};
struct shm_message {
	struct shm_message *next;
	struct shm_direction *direction;
	struct message message;
	struct message_arrival arrival;
	double size_B;
	int64_t sent_ps, started_ps;
};

struct shm_direction {
	struct shm_connection *connection;
	int index;
	struct path path;
	struct shm_message *head, *tail;
	double copy_spB; /* one core's copy, at the reference clock */
	struct kept_flows flows;
	bool copying;
};

struct shm_connection {
	struct connection connection;
	struct connection_spec spec;
	const struct shm_params *params;
	struct shm_direction directions[2];
	struct shm_message *free;
};

static struct connection *shm_new(const struct connection_spec *spec)
{
	struct shm_connection *connection = ARENA_NEW(spec->arena, struct shm_connection);
	connection->spec = *spec;
	connection->params = spec->params;
	for (int i = 0; i < 2; i++) {
		struct shm_direction *direction = &connection->directions[i];
		if (!path_find(spec, i, TRAFFIC_SHARED, &direction->path))
			return NULL;
		/* without NICs */
		path_latency_set(&direction->path, direction->path.route->latency_s);
		connection->connection.routes[i] = direction->path.route;
		direction->copy_spB =
			1 / host_params(guest_host(spec->ends[i].guest))->copy_rate_Bps;
		direction->connection = connection;
		direction->index = i;
		cpu_spin(spec->ends[i].core);
	}
	return &connection->connection;
}

static void shm_open(struct connection *base, event_fn *fn, void *ctx, uint64_t arg)
{
	struct shm_connection *connection = (struct shm_connection *)base;
	cpu_serve(connection->spec.ends[0].core, connection->params->post_s, "connect", fn, ctx,
		  arg);
}

/* ---- copying in ---- */

static bool is_inline(const struct shm_message *message)
{
	return message->size_B <= message->direction->connection->params->inline_B;
}

static void accept(const struct shm_message *message)
{
	if (message->message.accepted)
		message->message.accepted(message->message.ctx, message->message.arg);
}

static void copied(void *ctx, uint64_t arg);

static struct flow_spec *flow_of(struct shm_direction *direction, const struct shm_message *message)
{
	struct shm_connection *connection = direction->connection;
	const struct connection_end *from = &direction->path.from;
	double size_B = message->size_B;
	struct flow_spec *flow = kept_flow(connection->spec.arena, &direction->flows, size_B);
	if (flow->size == size_B)
		return flow;
	*flow = (struct flow_spec){.size = size_B, .done = copied, .ctx = direction};
	route_uses(connection->spec.fabric, direction->path.route, 0, size_B, flow);
	if (!is_inline(message)) {
		flow_use_add(flow, cpu_resource(from->core),
			     direction->copy_spB * cpu_slowdown(from->core));
		flow_use_add(flow, host_dram(guest_host(from->guest)), DRAM_PER_COPY);
	}
	return flow;
}

static void seen(void *ctx, uint64_t arg);

static void head_copied(struct shm_direction *direction)
{
	struct engine *engine = direction->connection->spec.engine;
	struct shm_message *message = direction->head;
	path_trace(&direction->path, engine, SPAN_WIRE, message->message.label,
		   message->started_ps);
	direction->head = message->next;
	direction->copying = false;
	if (!is_inline(message))
		accept(message);
	path_arrive(&direction->path, engine, !direction->head, seen, message);
}

/* Starts each message that may start now. It must be the last action of an event. */
static void pump(struct shm_direction *direction)
{
	const struct connection_spec *spec = &direction->connection->spec;
	while (direction->head && !direction->copying) {
		struct flow_spec *flow = flow_of(direction, direction->head);
		direction->copying = true;
		direction->head->started_ps = engine_now_ps(spec->engine);
		if (!flow_pass(spec->engine, spec->fabric, flow)) {
			flow_start(spec->engine, spec->fabric, flow);
			return;
		}
		head_copied(direction);
	}
}

static void copied(void *ctx, uint64_t arg)
{
	head_copied(ctx);
	pump(ctx);
}

static void posted(void *ctx, uint64_t arg)
{
	struct shm_message *message = ctx;
	struct shm_direction *direction = message->direction;
	QUEUE_PUSH(direction, message, next);
	if (is_inline(message))
		accept(message);
	pump(direction);
}

static void shm_send(struct connection *base, int from, const struct message *given)
{
	struct shm_connection *connection = (struct shm_connection *)base;
	struct shm_message *message;
	POOL_TAKE(connection->spec.arena, message, connection->free);
	message->direction = &connection->directions[from];
	message_copy(&message->message, given);
	message->size_B = given->size_B > 1 ? given->size_B : 1;
	message->sent_ps = engine_now_ps(connection->spec.engine);
	double work_s = connection->params->post_s;
	if (is_inline(message))
		work_s += given->size_B * message->direction->copy_spB;
	cpu_serve(message->direction->path.from.core, work_s, "post", posted, message, 0);
}

/* ---- receiving ---- */

static void delivered(void *ctx, uint64_t arg)
{
	struct shm_message *message = ctx;
	struct shm_connection *connection = message->direction->connection;
	const struct message *given = &message->message;
	path_delivered(&connection->spec, &message->direction->path, message->direction->index,
		       given->size_B, message->sent_ps, &connection->connection.counters);
	POOL_GIVE(message, connection->free);
	if (given->delivered)
		given->delivered(given->ctx, given->arg);
}

static void take(void *ctx, uint64_t arg)
{
	struct shm_message *message = ctx;
	cpu_serve(message->direction->path.to.core,
		  message->direction->connection->params->notify_s, "notify", delivered, message,
		  0);
}

static void seen(void *ctx, uint64_t arg)
{
	struct shm_message *message = ctx;
	struct shm_direction *direction = message->direction;
	(void)connection_arrived(&direction->connection->connection, 1 - direction->index,
				 &message->arrival, message);
}

const struct transport_kind transport_shm = {
	.name = "shm",
	.help = "shared memory between guests of one host, with polling",
	.table = PARAM_TABLE_OF("shm", struct shm_params, shm_rows),
	.traffic = TRAFFIC_SHARED,
	.one_host = true,
	.new = shm_new,
	.open = shm_open,
	.send = shm_send,
	.receive = take,
};
