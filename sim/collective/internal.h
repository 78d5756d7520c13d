/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that the files of the communicator share.
 *
 *   communicator.c  making one, the queue of collectives, ranks that arrive and finish
 *   executor.c      a collective's steps: which may begin, what follows
 *   wire.c          a message: its turn, its flows, its delivery
 *   wire_device.c   routes inside a host
 *   wire_rdma.c     routes between hosts for NICs that read and write memory
 *   wire_socket.c   routes through TCP connections
 *
 * A PLAN is a schedule made ready to run, kept for its choice of algorithm, channels and
 * pieces; sizes scale. An EXECUTION is the state of one run of a plan, an OPERATION one
 * requested collective. Both are reused, so steps of training that repeat allocate nothing.
 *
 * If a pipeline has too many pieces to follow each of them, several that follow each other make
 * a TRAIN, one chunk of the plan. Its HEAD, the first piece, lets the next rank begin. Its TAIL
 * leaves no sooner than one piece's time after the tails of the trains that it is made of. On
 * equal links that are not shared this takes the same time as single pieces, and it costs the
 * events of one message. */
#ifndef FARWIRE_COLLECTIVE_INTERNAL_H
#define FARWIRE_COLLECTIVE_INTERNAL_H

#include "sim/base/vec.h"
#include "sim/collective/communicator.h"
#include "sim/collective/pairs.h"
#include "sim/collective/rings.h"

/* Schedules are built for this size and their chunks scaled to the wanted one. */
#define PLAN_SIZE_B 1073741824.0

struct loop_state {
	uint32_t due;     /* rounds that may begin when nothing else is missing */
	uint32_t over;    /* rounds */
	uint64_t arrived; /* messages */
};

struct execution {
	struct execution *next; /* free ones of a plan */
	uint32_t *missing;      /* by step: what it waits for, of trains their heads */
	/* For trains, else NULL: their tails, and the sends that have begun. */
	uint32_t *missing_tails;
	struct message_state **trains;
	struct loop_state *loops; /* of a folded schedule, else NULL */
};

struct plan {
	enum collective collective;
	const struct algorithm *algorithm;
	size_t channel_count, pipeline_count;
	const struct schedule *schedule;
	uint32_t *missing;                   /* at first; the rank's start counts as one */
	uint32_t *next_first, *next_steps;   /* by step: those that come after it */
	uint32_t *first_first, *first_steps; /* by rank: those that its start lets begin */
	uint32_t *rank_steps_count;
	struct wire **wires; /* by step; NULL: not a send */
	struct execution *free;
};

struct operation {
	struct communicator *comm;
	struct operation *next; /* free ones */
	uint64_t number;
	struct collective_request request;
	struct collective_choice choice;
	struct plan *plan; /* NULL: nothing to do, one rank */
	struct execution *execution;
	double scale_ratio;  /* of chunks, to the plan's */
	double train_count;  /* pieces in each chunk; 1: no trains */
	bool *arrived;       /* by rank */
	size_t *steps_left;  /* by rank */
	int64_t *started_ps; /* by rank */
	size_t over_count;   /* ranks */
	uint64_t sends_count, deliveries_count;
	double sent_B, delivered_B;
	const char *label; /* trace */
};

struct rank_state {
	struct comm_rank place;
	bool server;
	size_t real;      /* its number among all ranks */
	uint32_t machine; /* of all */
	double count;     /* ranks for which it stands, itself among them */
	int gpu_node;     /* -1: host memory */
	int host_node;
	int root_node;             /* of its GPU: the root complex, where PCIe ends */
	size_t guest_index;        /* first rank in the same guest */
	struct cpu *core;          /* its network thread's; NULL: it needs none */
	struct cpu **reduce_cores; /* those of one collective after those of another */
	size_t reduce_core_count;  /* of each */
	uint64_t number;           /* of the collective that it is to begin next */
	size_t running_count;      /* those that it is in */
	double held_ratio;         /* of its GPU, by the collective that it is in */
	double last_s;             /* of the flow that brought its last message */
	uint32_t track;
	bool has_track;
};

/* A message under way, or work of a rank's CPU or memory. Pooled. */
struct message_state {
	struct message_state *next;
	struct operation *operation;
	struct wire *wire;
	uint32_t step;
	double size_B;
	int64_t started_ps;
	double flow_s;              /* from its start until it had left */
	unsigned leaving, arriving; /* parts that are not over */
	/* For a train. */
	struct event_id head;
	int64_t piece_ps; /* what its last piece takes */
	int64_t fed_ps;   /* since when its sender has all of it */
	bool fed, flowed; /* ... and whether; its flow has ended */
};

struct ready_step {
	struct operation *operation;
	uint32_t step;
	bool tail;
};

struct communicator {
	struct communicator_spec spec;
	const struct library_params *library;
	struct rank_state *ranks; /* workers, then servers */
	size_t rank_count, total_count;
	size_t all_count; /* workers, with those for which others stand */
	struct rings rings;
	bool socket; /* the transport goes through the guests' sockets */
	bool failed;
	struct communicator_counters counters;

	VEC(struct plan *) plans;
	struct operation **operations; /* a ring by number: room is a power of two */
	size_t operation_room;
	uint64_t first_number, next_number;
	struct operation *free_operations;

	VEC(struct ready_step) ready; /* work list of the executor */
	struct message_state *free_messages;

	bool *nvlink_switch; /* by fabric node: joins NVLinks and nothing else */
	struct pairs ways, wires, sockets;
	struct way *last_way;
	struct socket *first_socket, *last_socket;
	bool opened; /* sockets that are made from now on open at once */
	size_t opening_count;
	event_fn *open_fn; /* called when none is opening any more */
	void *open_ctx;
	uint64_t open_arg;
};

/* communicator.c */
void comm_fail(struct communicator *comm, const char *reason);
void comm_rank_over(struct operation *operation, size_t rank); /* by an event of its own */

/* executor.c */
/* Pieces of each train, by which choice gets fewer, longer ones; 1: none. */
double trains_make(const struct communicator *comm, struct collective_choice *choice);
/* NULL after a failure. */
struct plan *plan_find(struct communicator *comm, enum collective collective,
		       const struct collective_choice *choice);
struct execution *execution_take(struct communicator *comm, const struct operation *operation);
void execution_give(struct plan *plan, struct execution *execution);
/* The rank's steps may begin. */
void executor_start(struct communicator *comm, struct operation *operation, size_t rank);
/* A train's head has arrived. */
void executor_head_over(struct communicator *comm, struct operation *operation, uint32_t step);
/* A step that took time has ended. */
void executor_step_over(struct communicator *comm, struct operation *operation, uint32_t step);
struct message_state *message_take(struct communicator *comm);
void message_give(struct communicator *comm, struct message_state *message);

#endif
