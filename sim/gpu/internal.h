/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by gpu.c (tenants, memory, counters) and stream.c (queues).
 *
 * The operations of a stream are a list of queued_op structs from the context's pool; the first one
 * is the head. A head that has begun is in exactly one state: in a timer (launch latency or gap),
 * in the context's queue for a kernel slot, in the queue of a copy engine, among an event's
 * waiters, or running. The code that ends this state calls stream_head_over, which notifies all
 * waiters and begins the next operation.
 */
#pragma once

#include "sim/base/list.h"
#include "sim/gpu/gpu.h"

struct gpu_waiter {
	event_fn *fn;
	void *ctx;
	uint64_t arg;
	uint64_t count; /* completed count of the stream or event at which fn is called */
	struct gpu_waiter *next;
};

/* Streams that wait for the same resource, served in order. */
struct stream_queue {
	struct gpu_stream *head, *tail; /* a queue linked by next_waiting */
};

struct queued_op {
	struct gpu_op op;
	union {
		int64_t earliest_ps; /* kernels: earliest start */
		uint64_t count;      /* number of the record of op.event */
	};
	struct queued_op *next;
};

/* A clock that runs while at least one activity runs. */
struct busy_clock {
	size_t running_count;
	int64_t since_ps; /* time at which running_count became positive */
	int64_t total_ps; /* sum of the completed intervals */
};

struct copy_engine {
	struct gpu_stream *running; /* NULL: the engine is free */
	struct stream_queue waiting;
};

enum { COPY_ENGINES_MAX = 2 };

struct gpu {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	const char *name;
	int node;
	const struct gpu_params *params;
	int compute; /* resource of the compute engine */
	int board;   /* resource of the board's power; -1: not shared */
	double reserved_ratio;
	double traffic_s; /* GPU-seconds not charged yet */
	size_t context_count;
	int64_t launch_latency_ps, kernel_gap_ps;
	double slicing_ratio;   /* factor on GPU time while tenants alternate: 1 + switch/slice */
	size_t competing_count; /* contexts that have kernels in their streams */
	struct copy_engine copy_engines[COPY_ENGINES_MAX];
	struct busy_clock busy;
	double memory_used_B;
	struct gpu_waiter *free_waiters;
	struct idle_join *free_joins;
};

struct gpu_context {
	struct gpu *gpu;
	const char *name;
	int share; /* resource with the capacity of the fraction */
	int work;  /* resource that is never full; counts kernels by their nominal durations */
	double memory_ratio, memory_used_B;
	size_t queue_depth, concurrent_kernels;
	size_t in_flight_count; /* operations submitted but not complete */
	size_t places_count;    /* places of the launch queue that they take */
	size_t kernels_count;   /* number of kernels among these operations */
	uint64_t kernels_done_count;
	int64_t work_done_ps;      /* nominal duration of ended kernels */
	double work_done_s;        /* work_done_ps before rounding, in seconds */
	struct busy_clock busy;    /* runs while kernels run */
	struct stream_queue ready; /* streams whose kernel waits for a slot */
	QUEUE(struct gpu_waiter) room;
	struct queued_op *free_ops;
	struct gpu_stream *streams, *last_stream; /* linked by next_stream */
	event_fn *changed;                        /* set by gpu_context_watch; may be NULL */
	void *changed_ctx;
};

struct gpu_stream {
	struct gpu_context *context;
	const char *name;
	struct queued_op *head, *tail; /* a queue */
	bool begun;                    /* the head has begun */
	bool advancing;                /* stream_advance is running; nested calls return */
	int64_t last_end_ps, start_ps;
	uint64_t submitted_count, completed_count;
	QUEUE(struct gpu_waiter) idle; /* sorted by count */
	struct gpu_stream *next_waiting, *next_stream;
	uint32_t track;
	bool has_track;
};

void busy_clock_begin(struct busy_clock *busy, int64_t now_ps);
void busy_clock_end(struct busy_clock *busy, int64_t now_ps);
