/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SYN and SYN-ACK. If either is lost, the SYN is sent again after a timeout that doubles. The 74
 * bytes on the wire are not modelled. */
#include "sim/transport/tcp.h"

static void established(void *ctx, uint64_t arg)
{
	struct tcp_connection *connection = ctx;
	if (connection->established || connection->failed)
		return;
	connection->established = true;
	engine_cancel(connection->spec.engine, connection->syn_event);
	engine_cancel(connection->spec.engine, connection->connect_event);
	connection->opened(connection->opened_ctx, connection->opened_arg);
}

static void syn_ack_arrived(void *ctx, uint64_t arg)
{
	struct tcp_connection *connection = ctx;
	const struct path *path = &connection->directions[1].path;
	double work_s = guest_receive_work_s(path->to.guest, 1, 0) +
			guest_params(path->to.guest)->thread_wake_s;
	guest_receive(path->to.guest, path->to.core, path->route->physical_nic, false, work_s,
		      established, connection, 0);
}

static void syn_arrived(void *ctx, uint64_t arg);

/* Called when the SYN leaves (index 0), or its answer, because the server's kernel has received it
 * (1). */
static void syn_sent(void *ctx, uint64_t index)
{
	struct tcp_connection *connection = ctx;
	struct tcp_direction *direction = &connection->directions[index];
	if ((index && connection->established) ||
	    control_lost(&direction->loss, &connection->connection))
		return;
	engine_after(connection->spec.engine, ps_from_s(direction->path.latency_s),
		     index ? syn_ack_arrived : syn_arrived, connection, 0);
}

static void syn_arrived(void *ctx, uint64_t arg)
{
	struct tcp_connection *connection = ctx;
	const struct path *path = &connection->directions[0].path;
	guest_receive(path->to.guest, path->to.core, path->route->physical_nic, false,
		      guest_receive_work_s(path->to.guest, 1, 0), syn_sent, connection, 1);
}

static void syn_send(void *ctx, uint64_t arg)
{
	struct tcp_connection *connection = ctx;
	const struct tcp_params *params = connection->params;
	const struct path *path = &connection->directions[0].path;
	if (connection->syn_count > (uint64_t)params->syn_retries_count) {
		tcp_fail(connection, arena_printf(connection->spec.arena,
						  "connection timed out: no answer to SYN after %g "
						  "retransmissions",
						  params->syn_retries_count));
		return;
	}
	if (connection->syn_count > 0)
		connection->connection.counters.timeouts_count++;
	double wait_s =
		fmin(ldexp(params->syn_rto_s, (int)connection->syn_count), params->rto_max_s);
	connection->syn_count++;
	connection->syn_event =
		engine_after(connection->spec.engine, ps_from_s(wait_s), syn_send, connection, 0);
	cpu_serve(path->from.core, guest_send_work_s(path->from.guest, 1, 0), "connect", syn_sent,
		  connection, 0);
}

static void connect_timeout(void *ctx, uint64_t arg)
{
	struct tcp_connection *connection = ctx;
	struct arena *arena = connection->spec.arena;
	tcp_fail(connection, arena_printf(arena, "connection timeout: no answer to SYN within %s",
					  quantity_format(arena, QUANTITY_TIME,
							  connection->params->connect_timeout_s)));
}

/* Fails a connection whose headers fill the packets of the route, so that no byte can arrive. */
static void no_room(void *ctx, uint64_t arg)
{
	struct tcp_connection *connection = ctx;
	const struct tcp_direction *out = &connection->directions[0];
	tcp_fail(connection, arena_printf(connection->spec.arena,
					  "packets of %g B leave no room for data after %g B of "
					  "headers (write a larger mtu)",
					  out->path.route->mtu_B, out->header_B));
}

void tcp_open(struct connection *base, event_fn *fn, void *ctx, uint64_t arg)
{
	struct tcp_connection *connection = (struct tcp_connection *)base;
	FW_ASSERT(!connection->established && connection->syn_count == 0);
	connection->opened = fn;
	connection->opened_ctx = ctx;
	connection->opened_arg = arg;
	const struct tcp_direction *out = &connection->directions[0];
	if (out->path.route->mtu_B > 0 && out->path.route->mtu_B <= out->header_B) {
		engine_after(connection->spec.engine, 0, no_room, connection, 0);
		return;
	}
	if (connection->params->connect_timeout_s > 0)
		connection->connect_event = engine_after(
			connection->spec.engine, ps_from_s(connection->params->connect_timeout_s),
			connect_timeout, connection, 0);
	syn_send(connection, 0);
}
