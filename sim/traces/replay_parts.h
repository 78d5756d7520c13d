/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that replay.c (the program) and waits.c (its waits) share. */
#pragma once

#include "sim/traces/functions.h"
#include "sim/traces/replay.h"
#include "sim/traces/rescale.h"

enum replay_role {
	ROLE_CALL,
	ROLE_ASKED, /* a query of a poll except the last; it is not replayed */
	ROLE_POLL,  /* the last query of a poll; it is replayed until it is ready */
};

struct replay_call {
	const struct recorded_call *call;
	struct function_use use;
	enum replay_role role;
	bool opens_poll;                 /* first query of a poll with several queries */
	bool passed;                     /* find_polls has already examined it */
	const struct replay_call *first; /* only for ROLE_POLL: the first query of the poll */
	double sleep_s;                  /* only for ROLE_POLL: time between two queries */
	uint32_t signal;                 /* signal that is posted after the call, plus 1; 0: none */
	/* Signals that are awaited before the call, plus 1; 0: none. The first is posted by a
	 * thread that hands over, the second by the record of an event. */
	uint32_t awaits[2];
	double think_s; /* the thread's own work before the call, after the first wait */
};

struct replay_thread {
	struct replay_call *calls; /* the calls, and one more element for the end of the step */
	size_t count;
	uint32_t recorded; /* number of the thread in the recording */
};

/* Streams or events, which get numbers 0, 1 ... in the order of their use. */
struct handles {
	VEC(int64_t) list;
	uint32_t *cells; /* hash table, open addressing: number + 1; 0: empty */
	size_t size;     /* a power of two, at least twice the count */
};

struct function_median {
	const char *function;
	const struct replay_thread *thread;
	double time_s;
};

struct replay {
	struct arena *arena;
	const struct calls_params *params;
	struct rescaling rescaling; /* from is NULL: kernels keep their times */
	const struct replay_step *step;
	const struct recorded_calls *recorded;
	const struct recorded_job *job; /* NULL: the program has no peers */
	size_t rank;
	bool independent;
	double host_ratio; /* seconds at the reference clock for a second on the recording's host */
	struct replay_thread *threads;
	size_t thread_count;
	uint32_t signal_count;
	struct handles streams, events;
	VEC(struct function_median) medians;
};

/* Finds the polls, waits and gaps of all threads. The first thread ends the step. */
void replay_find_waits(struct replay *replay);
