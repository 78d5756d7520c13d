/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declarations that replay.c (the program) and waits.c (its waits) share. */
#ifndef FARWIRE_TRACES_REPLAY_PARTS_H
#define FARWIRE_TRACES_REPLAY_PARTS_H

#include "sim/base/vec.h"
#include "sim/traces/functions.h"
#include "sim/traces/replay.h"

enum replay_role {
	ROLE_CALL,
	ROLE_ASKED, /* a query that found nothing; the poll that ends it stands for it */
	ROLE_POLL,  /* a query, repeated until it is ready */
};

struct replay_call {
	const struct recorded_call *call;
	struct function_use use;
	enum replay_role role;
	bool opens_poll;                 /* the first of its queries, but not the last */
	bool passed;                     /* by find_polls: no poll */
	const struct replay_call *first; /* of a poll: its first query */
	double sleep_s;                  /* of a poll: between its queries */
	uint32_t signal;                 /* posted after it, plus 1; 0: none */
	uint32_t awaits[2]; /* waited for before it, plus 1: a thread, an event's record */
	double think_s;     /* before it, after the first wait */
};

struct replay_thread {
	struct replay_call *calls; /* and one beyond: the end of the step */
	size_t count;
	uint32_t recorded; /* its number there */
};

/* Streams or events, numbered 0, 1 ... as they come. */
struct handles {
	VEC(int64_t) list;
	uint32_t *cells; /* open addressing: number + 1, 0 where empty */
	size_t size;     /* a power of two, twice the count at least */
};

struct function_median {
	const char *function;
	const struct replay_thread *thread;
	double time_s;
};

struct replay {
	struct arena *arena;
	const struct calls_params *params;
	const struct replay_step *step;
	const struct recorded_calls *recorded;
	double host_ratio; /* work at the reference clock of a recorded second */
	struct replay_thread *threads;
	size_t thread_count;
	uint32_t signal_count;
	struct handles streams, events;
	VEC(struct function_median) medians;
};

/* Finds polls, waits and gaps of all threads; the first one ends the step. */
void replay_find_waits(struct replay *replay);

#endif
