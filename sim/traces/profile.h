/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a profiler of one process: CUDA calls, work of the GPU, steps and collectives.
 *
 * The readers of traces fill this, in any order. profile_join joins each piece of work to the call
 * that started it, by the correlation number of CUPTI. The result is a recorded program. */
#pragma once

#include "sim/traces/collective_record.h"
#include "sim/traces/recorded.h"

enum category { /* of a piece of work */
		CATEGORY_CALL,
		CATEGORY_LIBRARY, /* a call of cuBLAS or cuDNN, which contains CUDA calls */
		CATEGORY_KERNEL,
		CATEGORY_COPY,
		CATEGORY_MEMSET,
		CATEGORY_SYNC,  /* a call waited for an event or a stream */
		CATEGORY_EVENT, /* a call recorded an event */
		CATEGORY_OTHER,
};

struct profile_call {
	struct recorded_call call; /* start_s and end_s are not set */
	int64_t start_ns, lasts_ns, correlation;
	size_t record; /* index in records, plus 1; 0: none */
};

/* Work of the GPU, or an event or stream that a call recorded or waited for. */
struct profile_work {
	int64_t correlation, start_ns, lasts_ns, stream, awaited, recorded_on;
	double size_B;
	const char *label;
	enum category category;
	size_t record; /* index in records, plus 1; 0: none */
};

/* An event of the host that describes the collectives launched while it lasts. */
struct profile_span {
	int64_t start_ns, end_ns;
	uint32_t thread;
	size_t record; /* index in records */
};

struct profile_mark {
	int64_t start_ns, end_ns;
	uint32_t step, thread;
};

struct profile_counts {
	size_t events;              /* events in the trace */
	size_t used;                /* calls, work of the GPU, marks and collectives among them */
	size_t collectives;         /* collectives and messages with their bytes and group */
	size_t unknown_collectives; /* kernels of NCCL whose bytes or group the trace lacks */
	size_t orphans;             /* pieces of GPU work whose calls are not in the trace */
	const char *note;           /* what the reader assumed, for the user; NULL: nothing */
	size_t looks; /* comparisons during searches of calls and marks; tests check this number */
};

/* Is told how many of the file's megabytes have been read. */
struct profile_watch {
	void (*tell)(void *ctx, size_t before, size_t done, size_t count);
	void *ctx;
	size_t size_B; /* size of the file */
};

struct profile {
	struct arena *arena;
	const char *tool, *gpu;
	VEC(struct profile_call) calls;
	VEC(struct profile_work) works;
	VEC(struct profile_mark) marks;
	VEC(struct profile_span) spans;
	VEC(struct collective_record) records;
	double rank, world_count; /* of the process in its job; < 0: unknown */
	int64_t base_ns,          /* time 0 of the recording, known after the first join */
		joined_count;     /* works that were joined */
	struct profile_counts counts;
};

/* Joins the works to their calls and forgets them, which saves memory. All calls and marks must
 * have been read. */
void profile_join_works(struct profile *p);

/* Joins the remaining works, and makes a recorded program of the calls and collectives. */
struct recorded_calls *profile_join(struct profile *p);

/* Numbers the events of settled calls if none of their waits has a number.
 * exported: tests/unit/test_replay.c calls it. */
void profile_order_streams(struct arena *arena, struct recorded_calls *recorded);
