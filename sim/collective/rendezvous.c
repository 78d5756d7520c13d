/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Consent to large messages over sockets, as in Open MPI (pml ob1 over btl tcp).
 *
 * The sender of a message of more than library.eager bytes asks the receiver, which consents with a
 * request to put the data (mca_pml_ob1_recv_request_put_frag). Then all data follows in one
 * fragment. Two ranks have one connection, whose fragments leave in the order in which they were
 * posted (mca_btl_tcp_endpoint_send). Consent to a message in the other direction is therefore
 * behind all data of the own message. Two ranks that send to each other take turns, and a
 * connection that is full duplex becomes half duplex. Only ranks that ask within one latency of
 * each other escape this. In recordings a minority does, and the model assumes that none does.
 *
 * Requests and consents also wait in the queue of the adapter behind data for other ranks, up to
 * library.queued bytes of each connection. */
#include "sim/collective/wire.h"
#include "sim/transport/transport.h"

/* ob1's header of a rendezvous, with that of btl tcp */
static const double REQUEST_B = 80;

/* Returns the time per byte of the wire's connection, in its direction. */
static double wire_spB(const struct communicator *comm, const struct wire *wire)
{
	return route_least_spB(comm->spec.fabric, wire->socket->connection->routes[wire->end]);
}

/* Returns the time until the adapter of a rank has sent the data that its sockets queue there. */
static double queue_s(const struct communicator *comm, size_t rank)
{
	double sum_s = 0, count = 0;
	for (const struct wire *w = comm->ranks[rank].wires; w; w = w->next_of_rank)
		count += w->flying_count > 0;
	for (const struct wire *w = comm->ranks[rank].wires; w; w = w->next_of_rank) {
		if (w->flying_count == 0)
			continue;
		double spB = wire_spB(comm, w);
		double gone_s = s_from_ps(engine_now_ps(comm->spec.engine) - w->flying_ps);
		double left_B = fmax(0, w->flying_B - gone_s / spB / count);
		sum_s += spB * fmin(left_B, comm->library->queued_B);
	}
	return sum_s;
}

static void post(struct wire *wire, int end, event_fn *delivered)
{
	connection_send(wire->socket->connection, end,
			&(struct message){.size_B = REQUEST_B,
					  .delivered = delivered,
					  .ctx = wire,
					  .label = "rendezvous"});
}

static void consented(void *ctx, uint64_t arg)
{
	struct wire *wire = ctx;
	wire->turn = TURN_HELD;
	wire_pump(wire->socket->comm, wire);
}

static void consent(void *ctx, uint64_t arg)
{
	struct wire *wire = ctx;
	post(wire, !wire->end, consented);
}

static void request_arrives(void *ctx, uint64_t arg)
{
	struct wire *wire = ctx;
	struct communicator *comm = wire->socket->comm;
	engine_after(comm->spec.engine, ps_from_s(queue_s(comm, wire->way->to)), consent, wire, 0);
}

static void ask(void *ctx, uint64_t arg)
{
	struct wire *wire = ctx;
	post(wire, wire->end, request_arrives);
}

bool rendezvous_allows(struct communicator *comm, struct wire *wire)
{
	double queued_B = 0;
	if (wire->turn != TURN_NONE)
		return wire->turn == TURN_HELD;
	for (const struct message_state *m = wire->head; m; m = m->next)
		queued_B += m->size_B;
	if (queued_B <= comm->library->eager_B)
		return true;
	if (wire->socket->busy)
		return false;
	wire->socket->busy = true;
	wire->turn = TURN_ASKED;
	engine_after(comm->spec.engine, ps_from_s(queue_s(comm, wire->way->from)), ask, wire, 0);
	return false;
}

void rendezvous_over(struct communicator *comm, struct wire *wire)
{
	if (--wire->flying_count > 0 || wire->turn != TURN_HELD)
		return;
	wire->turn = TURN_NONE;
	wire->socket->busy = false;
	for (struct wire *w = wire->socket->wires; w; w = w->next)
		if (w != wire)
			wire_pump(comm, w);
	wire_pump(comm, wire);
}

void rendezvous_flies(struct communicator *comm, struct wire *wire, double size_B)
{
	if (wire->flying_count++ == 0) {
		wire->flying_B = 0;
		wire->flying_ps = engine_now_ps(comm->spec.engine);
	}
	wire->flying_B += size_B;
}
