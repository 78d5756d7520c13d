/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What gpu.c (tenants, memory, counters) and stream.c (queues) share.
 *
 * A stream's operations are a list of QUEUED_OPs from the context's pool; the
 * first is the stream's head. Once begun, the head is in exactly one place: a
 * timer (launch latency, gap), the context's queue for a kernel slot, the
 * queue of a copy engine, an event's waiters, or running. Whatever ends it
 * calls stream_head_over, which tells everybody who waits and begins the next.
 */
#ifndef FARWIRE_GPU_INTERNAL_H
#define FARWIRE_GPU_INTERNAL_H

#include "sim/gpu/gpu.h"

struct gpu_waiter {
	event_fn *fn;
	void *ctx;
	uint64_t arg;
	uint64_t count; /* of the stream or event, at which fn is called */
	struct gpu_waiter *next;
};

struct waiter_queue {
	struct gpu_waiter *first, *last;
};

/* Streams that wait for the same thing, first come first served. */
struct stream_queue {
	struct gpu_stream *first, *last; /* linked by next_waiting */
};

struct queued_op {
	struct gpu_op op;
	int64_t submitted_ps;
	uint64_t count; /* of op.event: the record that is meant */
	struct queued_op *next;
};

/* Time in which at least one thing was going on. */
struct busy_clock {
	size_t running_count;
	int64_t since_ps; /* when running_count left 0 */
	int64_t total_ps; /* of the intervals that are over */
};

struct copy_engine {
	struct gpu_stream *running; /* NULL: free */
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
	int compute; /* resource */
	int board;   /* resource; -1: shares no power */
	double reserved_ratio;
	double traffic_s; /* not taken yet */
	size_t context_count;
	int64_t launch_latency_ps, kernel_gap_ps;
	double slicing_ratio;   /* of GPU time while tenants alternate: 1 + switch/slice */
	size_t competing_count; /* contexts with kernels in their streams */
	struct copy_engine copy_engines[COPY_ENGINES_MAX];
	struct busy_clock busy;
	double memory_used_B;
	struct gpu_waiter *free_waiters;
	struct idle_join *free_joins;
};

struct gpu_context {
	struct gpu *gpu;
	const char *name;
	int share; /* resource */
	int work;  /* resource, never full: counts kernels by their own durations */
	double fraction_ratio, memory_used_B;
	size_t queue_depth, concurrent_kernels;
	size_t in_flight_count; /* operations submitted and not complete */
	size_t kernels_count;   /* of these, kernels */
	uint64_t kernels_done_count;
	int64_t work_done_ps;      /* of kernels that have ended, */
	double work_done_s;        /* and unrounded */
	struct busy_clock busy;    /* counts running kernels */
	struct stream_queue ready; /* streams whose kernel waits for a slot */
	struct waiter_queue room;
	struct queued_op *free_ops;
	struct gpu_stream *streams, *last_stream; /* linked by next_stream */
};

struct gpu_stream {
	struct gpu_context *context;
	const char *name;
	struct queued_op *first, *last;
	bool begun;     /* the head has been begun */
	bool advancing; /* inside stream_advance: nested calls leave it to that one */
	int64_t last_end_ps, start_ps;
	uint64_t submitted_count, completed_count;
	struct waiter_queue idle; /* by completed_count, not decreasing */
	struct gpu_stream *next_waiting, *next_stream;
	uint32_t track;
	bool has_track;
};

void busy_clock_begin(struct busy_clock *busy, int64_t now_ps);
void busy_clock_end(struct busy_clock *busy, int64_t now_ps);

#endif
