/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes through the guests' sockets.
 *
 * A message crosses PCIe to the sender's host, a TCP connection, and PCIe to the receiving GPU,
 * slice by slice. The three parts overlap, so the slowest decides. The message has arrived when all
 * three have ended, plus the copies of the last slice. Ranks of the same two guests share one
 * connection per channel. */
#include "sim/collective/wire.h"
#include "sim/transport/path.h"

bool way_socket(struct communicator *comm, struct way *way)
{
	const struct rank_state *a = &comm->ranks[way->from], *b = &comm->ranks[way->to];
	int guests[] = {guest_node(a->place.guest), guest_node(b->place.guest)};
	way->class = HOP_NET;
	way->socket = true;
	if (!fabric_route(comm->spec.fabric, guests[0], guests[1], comm->spec.transport->traffic))
		return false;
	if (a->place.gpu) {
		struct leg *leg = &way->legs[way->leg_count++];
		leg->leaves = true;
		leg_memory(leg, guest_host(a->place.guest), DRAM_PER_DMA);
		if (!leg_host(comm, leg, a, false))
			return false;
		leg_copy(comm, leg, 0);
	}
	if (b->place.gpu) {
		struct leg *leg = &way->legs[way->leg_count++];
		leg_memory(leg, guest_host(b->place.guest), DRAM_PER_DMA);
		if (!leg_host(comm, leg, b, true))
			return false;
		leg_copy(comm, leg, 0);
	}
	return true;
}

static void call_if_open(void *ctx, uint64_t arg)
{
	struct communicator *comm = ctx;
	event_fn *fn = comm->open_fn;
	if (comm->opening_count > 0 || !fn)
		return;
	comm->open_fn = NULL;
	fn(comm->open_ctx, comm->open_arg);
}

static void socket_opened(void *ctx, uint64_t arg)
{
	struct socket *socket = ctx;
	struct communicator *comm = socket->comm;
	socket->open = true;
	comm->opening_count--;
	for (struct wire *wire = socket->wires; wire; wire = wire->next)
		wire_pump(comm, wire);
	call_if_open(comm, 0);
}

static void socket_open(struct socket *socket)
{
	socket->comm->opening_count++;
	connection_open(socket->connection, socket_opened, socket, 0);
}

/* The sockets and threads that NCCL gives a connection on the adapters of clouds. */
static const size_t sockets_of[PROVIDER_COUNT] = {1, 8, 1}, threads_of[PROVIDER_COUNT] = {1, 2, 4};

/* Returns the adapters of a connection, by end; NULL: it is bound to none. */
static const int *adapters_of(const struct communicator *comm, size_t from, size_t to)
{
	const int *own = comm->rings.adapter_of;
	if (!binds_sockets(comm->library) || own[from] < 0 || own[to] < 0)
		return NULL;
	int *ends = ARENA_ARRAY(comm->spec.arena, 2, int);
	ends[0] = own[from];
	ends[1] = own[to];
	return ends;
}

static struct connection *connect(struct communicator *comm, size_t from, size_t to, size_t channel)
{
	const struct rank_state *a = &comm->ranks[from], *b = &comm->ranks[to];
	const struct library_params *library = comm->library;
	int provider = comm->rings.shape.provider;
	size_t threads = 0, sockets = 0;
	if (binds_sockets(library)) {
		threads = library->socket_threads_count > 0 ? (size_t)library->socket_threads_count
							    : threads_of[provider];
		sockets = library->socket_sockets_count > 0 ? (size_t)library->socket_sockets_count
							    : sockets_of[provider];
	}
	const struct connection_spec spec = {
		.engine = comm->spec.engine,
		.fabric = comm->spec.fabric,
		.arena = comm->spec.arena,
		.name = arena_printf(comm->spec.arena, "%s %s>%s %zu", comm->spec.name,
				     guest_name(a->place.guest), guest_name(b->place.guest),
				     channel),
		.params = comm->spec.transport_params,
		.ends = {{.guest = a->place.guest, .core = a->core},
			 {.guest = b->place.guest, .core = b->core}},
		.adapters = adapters_of(comm, from, to),
		.stream_count = threads * sockets,
		.thread_count = threads,
		.seed = comm->spec.seed,
		.failed = comm_fail,
		.failed_ctx = comm,
	};
	return connection_new(comm->spec.transport, &spec);
}

enum { ADAPTERS = 64 };

/* Returns a number of the rank's adapter within its machine. */
static int adapter_index(const struct communicator *comm, size_t rank)
{
	int node = comm->rings.adapter_of[rank];
	return node < 0 ? 0 : (node - comm->ranks[rank].host_node + ADAPTERS) % ADAPTERS;
}

struct socket *socket_find(struct communicator *comm, size_t from, size_t to, size_t channel)
{
	const struct rank_state *a = &comm->ranks[from], *b = &comm->ranks[to];
	size_t least = a->process < b->process ? a->process : b->process;
	size_t most = a->process + b->process - least;
	/* ranks with different adapters have connections of their own */
	size_t key = channel;
	if (binds_sockets(comm->library))
		key = channel * ADAPTERS * ADAPTERS +
		      (size_t)adapter_index(comm, least == a->process ? from : to) * ADAPTERS +
		      (size_t)adapter_index(comm, least == a->process ? to : from);
	void **place = pairs_at(comm->spec.arena, &comm->sockets, least, most, key);
	if (*place)
		return *place;
	struct connection *connection = connect(comm, from, to, channel);
	if (!connection) {
		comm_fail(comm,
			  arena_printf(comm->spec.arena, "no route from '%s' to '%s' over %s%s",
				       guest_name(a->place.guest), guest_name(b->place.guest),
				       comm->spec.transport->name,
				       fabric_route_hint(comm->spec.fabric)));
		return NULL;
	}
	struct socket *socket = ARENA_NEW(comm->spec.arena, struct socket);
	*socket = (struct socket){.comm = comm, .connection = connection, .first = a->process};
	*place = socket;
	if (comm->last_socket)
		comm->last_socket->next = socket;
	else
		comm->first_socket = socket;
	comm->last_socket = socket;
	if (comm->opened)
		socket_open(socket);
	return socket;
}

void sockets_open(struct communicator *comm, event_fn *fn, void *ctx, uint64_t arg)
{
	FW_ASSERT(!comm->opened);
	comm->opened = true;
	comm->open_fn = fn;
	comm->open_ctx = ctx;
	comm->open_arg = arg;
	for (struct socket *socket = comm->first_socket; socket; socket = socket->next)
		socket_open(socket);
	if (comm->opening_count == 0)
		engine_after(comm->spec.engine, 0, call_if_open, comm, 0);
}
