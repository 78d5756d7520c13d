/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A communicator: ranks that take part in collectives together, and the wires between them.
 *
 * Each rank has a place: a GPU, or a guest's memory for a parameter server on the CPU. The
 * communicator finds out how bytes travel between two ranks. Inside a host they use NVLink or PCIe
 * between GPUs, or the host's memory if the GPUs cannot access each other. Between hosts they use
 * RDMA, from GPU memory or staged through the host, or TCP through the guests' sockets with the
 * costs of a virtual network. The wire of two ranks and a channel (wire.c) is a first-in-first-out
 * queue. The bytes of its messages leave one after the other as flows in the fabric. They arrive
 * later by the library's hop latency and the links' latency.
 *
 * Collectives of a communicator run one after the other on each rank, as on one CUDA stream. A rank
 * takes part from the moment it arrives (its kernel starts), and is done when all its steps are
 * done. So a late rank delays only its neighbours. The library (library.h) chooses algorithm,
 * protocol and channels for each collective and size. A schedule is built once for each choice.
 */
#pragma once

#include "sim/collective/fold.h"
#include "sim/collective/library.h"
#include "sim/gpu/gpu.h"
#include "sim/host/host.h"
#include "sim/transport/transport.h"

struct communicator;

struct comm_rank {
	struct gpu *gpu;     /* NULL: the guest's memory (a server on the CPU) */
	struct guest *guest; /* guest in which the rank's process runs */
};

/* Thread blocks that a message between two GPUs occupies on both, also while one waits for the
 * other (NCCL, paths.cc: NCCL_NCHANNELS_PER_NET_PEER is 2 across machines, and more inside one). */
enum { MESSAGE_BLOCKS = 2 };

struct communicator_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name; /* group in the trace, and prefix of connection names */
	const struct library_params *library;
	const struct comm_rank *ranks; /* workers first, then servers */
	size_t rank_count;             /* number of workers */
	size_t server_count;
	size_t machine_count; /* ranks after the servers, one for each machine (algorithm.machines)
			       */
	/* Transport between hosts: rdma uses InfiniBand or RoCE links between GPUs, tcp uses
	 * connections between the guests. The parameters belong to the kind and are borrowed. */
	const struct transport_kind *transport;
	const void *transport_params;
	uint64_t seed;
	connection_failed_fn *failed; /* called if there is no route or a connection failed */
	void *failed_ctx;
	/* Equal machines are simulated once. Then `ranks` are the simulated ones, all workers on
	 * GPUs, and the transport is rdma. NULL: all machines are simulated. */
	const struct fold *fold;
	const double *copies; /* by resource: the number of resources that it represents */
	int top_node;         /* the topmost switch of the network */
	/* A step of training has many collectives, which are mostly hidden. Then pieces of large
	 * trees form fewer trains. */
	bool training;
};
/* Returns NULL if two ranks have no connection; `failed` was called then. */
struct communicator *communicator_new(const struct communicator_spec *spec);
/* Opens the required connections (none for rdma and inside a host) and then calls fn. */
void communicator_open(struct communicator *comm, event_fn *fn, void *ctx, uint64_t arg);

struct collective_request {
	enum collective collective;
	double size_B;      /* > 0 */
	bool message;       /* one rank sends, the other one receives */
	size_t block_count; /* thread blocks that hold a GPU; 0: as many as the library takes */
	size_t turn;        /* number of the tensor, which two-level servers place in turn */
	const char *label;  /* name in the trace; borrowed */
	/* called when a rank is done; may be NULL */
	void (*rank_done)(void *ctx, uint64_t arg, size_t rank);
	/* called when all ranks are done; may be NULL */
	event_fn *done;
	void *ctx;
	uint64_t arg;
};
/* Enqueues a collective for all ranks and returns its number. Server ranks need not arrive. */
uint64_t communicator_begin(struct communicator *comm, const struct collective_request *request);
/* Returns request.ctx of a collective that has not ended; NULL: it has not begun. Collectives are
 * numbered from 0. */
void *communicator_request_ctx(const struct communicator *comm, uint64_t number);
/* Reports that a rank is ready for that collective. */
void communicator_arrive(struct communicator *comm, uint64_t number, size_t rank);

struct communicator_counters {
	uint64_t collectives_count, sends_count;
	double sent_B, delivered_B; /* equal when no message is in progress */
	double network_B;           /* the part of sent_B between hosts */
};
const struct communicator_counters *communicator_counters(const struct communicator *comm);
/* Returns the algorithm for a collective of this size, and the input of its schedule. */
const struct algorithm *communicator_plays(const struct communicator *comm,
					   enum collective collective, double size_B,
					   struct algorithm_spec *spec);
/* Describes the choice for a collective, for reports: "ring, Simple, 16 channels". */
const char *communicator_choice_text(struct communicator *comm, enum collective collective,
				     double size_B);

/* Reports the bytes of its messages to the fabric, once, at the end of a run. */
void communicator_account(const struct communicator *comm);
/* Describes the first unfinished collective: "all_reduce 3: 4 of 8 ranks there, 1 done, 5 of 9
 * messages delivered". */
const char *communicator_waiting(const struct communicator *comm, struct arena *arena);
