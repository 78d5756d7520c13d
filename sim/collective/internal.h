/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of the communicator.
 *
 *   communicator.c  creation, the queue of collectives, ranks that arrive and
 *                   finish
 *   executor.c      steps of a collective: which may begin, which follow
 *   wire.c          a message: its turn, its flows, its delivery
 *   leg.c           the links and memories that a message crosses as one flow
 *   wire_device.c   routes inside a host
 *   wire_rdma.c     routes between hosts for NICs that read and write memory
 *   wire_socket.c   routes through TCP connections
 *   rendezvous.c    consent of the receiver to large messages through sockets
 *
 * A plan is a schedule prepared for execution. It is kept for its choice of algorithm, channels and
 * pieces; sizes scale. An execution is the state of one run of a plan. An operation is one
 * requested collective. Both are reused, so repeated training steps allocate nothing.
 *
 * If a pipeline has too many pieces to simulate each, several consecutive pieces form a train,
 * which is one chunk of the plan. The head of a train is its first piece, which lets the next rank
 * begin. Its tail leaves no earlier than one piece's time after the tails that it depends on have
 * arrived. On equal wires that are not shared this takes the same time as separate pieces, at the
 * cost of one message.
 */
#pragma once

#include "sim/collective/communicator.h"
#include "sim/collective/pairs.h"
#include "sim/collective/rings.h"

/* Schedules are built for this size, and their chunks are scaled to the requested one. */
#define PLAN_SIZE_B 1073741824.0

struct loop_state {
	uint32_t due;     /* rounds that may begin when their other dependencies have ended */
	uint32_t over;    /* finished rounds */
	uint64_t arrived; /* arrived messages */
};

struct execution {
	struct execution *next; /* next free execution of the plan */
	/* by step: number of missing conditions; for trains, of their heads */
	uint32_t *missing;
	/* Trains only, else NULL: missing tails, and the sends that have begun. */
	uint32_t *missing_tails;
	struct message_state **trains;
	struct loop_state *loops; /* folded schedules only, else NULL */
};

struct collective_plan {
	const struct algorithm *algorithm;
	size_t channel_count, pipeline_count, turn;
	bool whole;
	const struct schedule *schedule;
	/* initial values; the start of the rank counts as one */
	uint32_t *missing;
	uint32_t *next_first, *next_steps;   /* by step: the steps that depend on it */
	uint32_t *first_first, *first_steps; /* by rank: the steps that its start allows */
	uint32_t *rank_steps_count;
	struct wire **wires; /* by step; NULL: not a send */
	/* By send: how many such messages its receiver gets. Only for machines that are nearly
	 * alike (fold->near), whose peers may be of different classes; otherwise NULL. */
	uint32_t *received;
	struct execution *free;
};

struct operation {
	struct communicator *comm;
	struct operation *next; /* next free operation */
	uint64_t number;
	struct collective_request request;
	struct collective_choice choice;
	struct collective_plan *plan; /* NULL: a single rank, nothing to do */
	struct execution *execution;
	double scale_ratio; /* size of chunks relative to the plan's */
	double train_count; /* pieces in each chunk; 1: no trains */
	size_t begun_count; /* ranks that wait for the last one, with which merged rounds begin */
	int64_t merged_latency_ps; /* latency of a message of merged rounds */
	bool *arrived;             /* by rank */
	size_t arrived_count;      /* without servers */
	size_t *steps_left;        /* by rank */
	int64_t *started_ps;       /* by rank */
	size_t over_count;         /* finished ranks */
	uint64_t sends_count, deliveries_count;
	double sent_B, delivered_B;
	const char *label; /* name in the trace */
};

struct rank_state {
	struct comm_rank place;
	bool server;
	size_t real;      /* number of the rank among all ranks */
	uint32_t machine; /* number of the machine among all machines */
	double count;     /* number of ranks it represents, including itself */
	int gpu_node;     /* -1: host memory */
	int host_node;
	int root_node;             /* root complex of its GPU, where PCIe ends */
	size_t process;            /* its first rank: a guest's GPUs are one, a server is another */
	struct cpu *core;          /* core of its network thread; NULL: none needed */
	struct cpu **reduce_cores; /* cores of one collective, then those of the next */
	size_t reduce_core_count;  /* number of cores for each collective */
	uint64_t number;           /* number of the collective that it begins next */
	size_t running_count;      /* number of collectives in progress */
	double held_ratio;         /* part of its GPU held by the current collective */
	double last_B;             /* size of its last message, of a train its last piece */
	struct wire *wires;        /* with library.eager: its wires through sockets */
	uint32_t track;
	bool has_track;
};

/* A message in progress, or work of a rank's CPU or memory. Pooled. */
struct message_state {
	struct message_state *next;
	struct operation *operation;
	struct wire *wire;
	uint32_t step;
	double size_B;
	int64_t started_ps;
	unsigned leaving, arriving; /* unfinished parts */
	/* The next fields are used only for trains. */
	struct event_id head;
	int64_t piece_ps; /* transfer time of its last piece */
	int64_t fed_ps;   /* time at which its sender had all bytes */
	bool fed, flowed; /* whether its sender has all bytes, and whether its flow has ended */
};

struct ready_step {
	struct operation *operation;
	uint32_t step;
	bool tail;
};

struct communicator {
	struct communicator_spec spec;
	const struct library_params *library;
	struct rank_state *ranks; /* workers first, then servers */
	size_t rank_count, total_count;
	size_t all_count; /* workers, including represented ones */
	struct rings rings;
	bool socket; /* the transport uses the guests' sockets */
	bool failed;
	struct communicator_counters counters;

	VEC(struct collective_plan *) plans;
	struct operation **operations; /* a ring buffer by number; room is a power of two */
	size_t operation_room;
	uint64_t first_number, next_number;
	struct operation *free_operations;

	VEC(struct ready_step) ready; /* work list of the executor */
	struct message_state *free_messages;

	struct pairs ways, wires, sockets;
	struct way *last_way;
	struct socket *first_socket, *last_socket;
	bool opened; /* sockets created later open at once */
	size_t opening_count;
	event_fn *open_fn; /* called when all sockets are open */
	void *open_ctx;
	uint64_t open_arg;
};

/* ---- communicator.c ---- */
/* Returns true if the library opens sockets on all adapters, as NCCL does. */
bool binds_sockets(const struct library_params *library);
void comm_fail(void *comm, const char *reason);                /* comm is a struct communicator */
void comm_rank_over(struct operation *operation, size_t rank); /* called from a separate event */

/* ---- executor.c ---- */
/* Returns the number of pieces in each train and adapts choice to fewer, longer pieces; 1: no
 * trains. */
double trains_make(const struct communicator *comm, struct collective_choice *choice);
/* Returns NULL after a failure. */
struct collective_plan *plan_find(struct communicator *comm,
				  const struct collective_choice *choice);
struct execution *execution_take(struct communicator *comm, const struct operation *operation);
void execution_give(struct collective_plan *plan, struct execution *execution);
/* Allows the rank's steps to begin. */
void executor_start(struct communicator *comm, struct operation *operation, size_t rank);
/* Reports that the head of a train has arrived. */
void executor_head_over(struct communicator *comm, struct operation *operation, uint32_t step);
/* Reports that a step with a duration has ended. */
void executor_step_over(struct communicator *comm, struct operation *operation, uint32_t step);
struct message_state *message_take(struct communicator *comm);
void message_give(struct communicator *comm, struct message_state *message);
