/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each message takes the same time, independent of its size. */
#include "sim/base/arena.h"
#include "sim/transport/transport.h"

struct toy_params {
	double flight_s;
};

static const struct param_row rows[] = {
	PARAM_NUMBER(struct toy_params, flight_s, QUANTITY_TIME, 0, 1, "20 us", "time of a message",
		     "a toy"),
};
static const struct param_table table = PARAM_TABLE("toy", struct toy_params, rows);

struct toy {
	struct connection connection;
	struct engine *engine;
	int64_t flight_ps;
};

static struct connection *toy_new(const struct connection_spec *spec)
{
	const struct toy_params *params = spec->params;
	struct toy *toy = ARENA_NEW(spec->arena, struct toy);
	toy->engine = spec->engine;
	toy->flight_ps = ps_from_s(params->flight_s);
	return &toy->connection;
}

static void toy_open(struct connection *connection, event_fn *fn, void *ctx, uint64_t arg)
{
	struct toy *toy = (struct toy *)connection;
	engine_after(toy->engine, toy->flight_ps, fn, ctx, arg);
}

static void toy_send(struct connection *connection, int from, const struct message *message)
{
	struct toy *toy = (struct toy *)connection;
	toy->connection.counters.delivered_count[from]++;
	toy->connection.counters.payload_delivered_B[from] += message->size_B;
	if (message->accepted)
		engine_after(toy->engine, 0, message->accepted, message->ctx, message->arg);
	if (message->delivered)
		engine_after(toy->engine, toy->flight_ps, message->delivered, message->ctx,
			     message->arg);
}

const struct transport_kind transport_toy = {
	.name = "toy",
	.help = "a transport of tests/toys",
	.table = &table,
	.traffic = TRAFFIC_SOCKETS,
	.sockets = true,
	.new = toy_new,
	.open = toy_open,
	.send = toy_send,
};
