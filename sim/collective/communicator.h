/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks that do collectives together, and the routes between them.
 *
 * A communicator (group) holds the places of its ranks: a GPU, or a guest's memory for a
 * parameter server on the CPU. It also holds how bytes travel between them:
 *
 *   - over NVLink or PCIe from GPU to GPU;
 *   - through the host's memory where peers cannot reach each other;
 *   - by RDMA from GPU memory or staged through the host;
 *   - by TCP through the guests' sockets with all costs of a virtual network.
 *
 * The WIRE of two ranks and a channel (wire.c) is a first-in-first-out queue. The bytes of its
 * messages leave one after the other as flows in the fabric, and arrive after the library's hop
 * latency and the links' latency.
 *
 * Collectives of a communicator run one after the other on each rank, as on one CUDA stream. A
 * rank takes part from the moment it arrives (its kernel starts), and has finished when all its
 * steps have ended. So late ranks delay only their neighbours. The library (library.h) chooses
 * algorithm, protocol and channels for each collective and its size. Schedules are built once
 * for each choice. */
#ifndef FARWIRE_COLLECTIVE_COMMUNICATOR_H
#define FARWIRE_COLLECTIVE_COMMUNICATOR_H

#include "sim/collective/fold.h"
#include "sim/collective/library.h"
#include "sim/gpu/gpu.h"
#include "sim/host/host.h"
#include "sim/transport/transport.h"

struct communicator;

struct comm_rank {
	struct gpu *gpu;     /* NULL: the guest's memory (a server on the CPU) */
	struct guest *guest; /* where the rank's process runs */
	struct cpu *core;    /* its network thread; NULL: one of the guest's is taken */
};

struct communicator_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name; /* trace group, names of connections */
	const struct library_params *library;
	const struct comm_rank *ranks; /* workers, then servers */
	size_t rank_count;             /* of workers */
	size_t server_count;
	/* Between hosts: rdma goes over infiniband or roce links from GPU to GPU, tcp
	 * through connections between the guests. params of the kind; borrowed. */
	const struct transport_kind *transport;
	const void *transport_params;
	uint64_t seed;
	connection_failed_fn *failed; /* no route, a connection given up */
	void *failed_ctx;
	/* Machines that are alike are simulated once: ranks are then the simulated ones, all of
	 * them workers on GPUs, rdma the transport. NULL: all are simulated. */
	const struct fold *fold;
	const double *copies; /* by resource: those for which it stands */
	int top_node;         /* the network's topmost switch */
};
/* NULL if there is no way between two ranks: failed has been called. */
struct communicator *communicator_new(const struct communicator_spec *spec);
/* Opens the connections that it needs (none for rdma and inside a host), then fn. */
void communicator_open(struct communicator *comm, event_fn *fn, void *ctx, uint64_t arg);

struct collective_request {
	enum collective collective;
	double size_B;                                           /* > 0 */
	const char *label;                                       /* trace; borrowed */
	void (*rank_done)(void *ctx, uint64_t arg, size_t rank); /* may be NULL */
	event_fn *done;                                          /* all ranks; may be NULL */
	void *ctx;
	uint64_t arg;
};
/* Enqueues a collective for all ranks and returns its number. Server ranks need
 * not arrive. */
uint64_t communicator_begin(struct communicator *comm, const struct collective_request *request);
/* Rank is ready for that collective from now on. */
void communicator_arrive(struct communicator *comm, uint64_t number, size_t rank);

struct communicator_counters {
	uint64_t collectives_count, sends_count;
	double sent_B, delivered_B; /* equal when nothing is under way */
	double network_B;           /* of these, between hosts */
};
const struct communicator_counters *communicator_counters(const struct communicator *comm);
/* The algorithm that is chosen for such a collective, and what its schedule is made for. */
const struct algorithm *communicator_plays(const struct communicator *comm,
					   enum collective collective, double size_B,
					   struct algorithm_spec *spec);
/* The choice for this kind of collective, for reports: "ring, Simple, 16 channels". */
const char *communicator_choice_text(struct communicator *comm, enum collective collective,
				     double size_B);

/* Tells the fabric what its messages have carried, once, at the end of a run. */
void communicator_account(const struct communicator *comm);
/* "all_reduce 3: 4 of 8 ranks there, 1 done, 5 of 9 messages delivered": the first
 * collective that is not over. */
const char *communicator_waiting(const struct communicator *comm, struct arena *arena);

#endif
