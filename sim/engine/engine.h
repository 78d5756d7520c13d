/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulated clock and the event queue.
 *
 * A discrete-event simulation is a list of events. Each event has a time and a function to call.
 * The engine takes the earliest event, sets the clock to its time and calls its function, which may
 * add or cancel other events. This repeats until no event is left, until a module stops the run, or
 * until a limit is reached. The engine has no model of bytes, links, GPUs or files.
 *
 * Time is an integer number of picoseconds: 2^63 ps is 106 days. It never decreases. Events of the
 * same time run in the order in which they were added, so the same program gives the same results
 * on every machine.
 *
 * Rounding: ps_from_s rounds a duration to the nearest picosecond, halves away from zero. A module
 * that divides a size by a bandwidth rounds up, because a transfer ends with its last bit.
 */
#pragma once

#include "sim/base/base.h"

struct engine;
struct trace;

#define PS_PER_S 1000000000000LL

/* Converts seconds to picoseconds; the result saturates at +-2^62. */
static inline int64_t ps_from_s(double seconds)
{
	const double most_ps = (double)((int64_t)1 << 62);
	double ps = seconds * (double)PS_PER_S;
	if (!(ps >= 0 && ps < most_ps)) {
		FW_ASSERT(ps >= most_ps || ps < 0); /* otherwise it is NaN */
		if (ps > 0)
			return (int64_t)1 << 62;
		return ps > -most_ps ? -ps_from_s(-seconds) : -((int64_t)1 << 62);
	}
	/* llround(ps) without the call. The constant is the greatest double below 0.5, because 0.5
	 * itself would change whole numbers from 2^52 on. */
	return (int64_t)(ps + 0x1.fffffffffffffp-2);
}

static inline double s_from_ps(int64_t picoseconds)
{
	return (double)picoseconds / (double)PS_PER_S;
}

struct event_id { /* {0} is never the id of a pending event */
	uint32_t slot;
	uint32_t serial;
};

/* The function of an event. arg is the value given when the event was added. */
typedef void event_fn(void *ctx, uint64_t arg);
struct callback { /* fn NULL: there is none */
	event_fn *fn;
	void *ctx;
	uint64_t arg;
};

/* Is told the number of events now and then, and their maximum. */
struct engine_watch {
	void (*tell)(void *ctx, uint64_t events, uint64_t events_max);
	void *ctx;
};

struct engine_limits {
	uint64_t events_max;              /* 0: unlimited */
	const struct engine_watch *watch; /* NULL: none */
	int64_t time_max_ps;              /* 0: unlimited */
	bool no_passing;                  /* disables engine_pass; results must be the same */
};

enum engine_end {
	ENGINE_DRAINED, /* no event is left */
	ENGINE_STOPPED, /* engine_stop was called */
	ENGINE_FAILED,  /* engine_fail was called: an invariant is violated */
	ENGINE_EVENTS,  /* events_max was reached */
	ENGINE_TIME,    /* the next event is later than time_max_ps */
};

struct engine *engine_new(struct arena *arena, const struct engine_limits *limits);

/* Waits that can make a faster system slower (docs/models/monotone.md): of a core for the exit from
 * an idle state; of a message for a moderated interrupt; of gradients for Horovod's next cycle. A
 * batch of calls waits until it is old enough, a completed CUDA event for the query that finds it,
 * work for other work on its core, and a flow for others. */
enum wait_kind {
	WAIT_IDLE_STATE,
	WAIT_INTERRUPT,
	WAIT_CYCLE,
	WAIT_BATCH,
	WAIT_POLL,
	WAIT_CORE,
	WAIT_SHARED,
	WAIT_COUNT
};

enum { SOON_MOST = 16 };

struct soon_event {
	int64_t time_ps;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
	/* number of events that the queue had been given, or 0 if all its events were later */
	uint64_t queued_count;
};

/* The part of an engine that every event reads. It is the engine's first member. Outside of
 * engine.c, only the inline functions below use it. */
struct engine_clock {
	int64_t now_ps;
	struct trace *trace;
	int64_t next_ps; /* no event of the queue is earlier */
	uint64_t events; /* number of events begun, which is the running event's number */
	uint64_t pause;  /* number of events after which the run loop checks its limits */
	int64_t pass_ps; /* no event may be passed later than this */
	/* Sorted with the earliest event last. [0] is a sentinel at INT64_MAX. */
	struct soon_event soon[1 + SOON_MOST], *soon_last;
	int64_t waits_ps[WAIT_COUNT]; /* sums over the run */
};

static inline int64_t engine_now_ps(const struct engine *engine)
{
	return ((const struct engine_clock *)engine)->now_ps;
}

uint64_t engine_events_max(const struct engine *engine); /* UINT64_MAX: unlimited */
uint64_t engine_events_count(const struct engine *engine);

/* Adds an event. If time_ps is in the past, the run fails and the id is {0}. */
struct event_id engine_at(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
			  uint64_t arg);
/* Adds an event delay_ps from now. */
struct event_id engine_after(struct engine *engine, int64_t delay_ps, event_fn *fn, void *ctx,
			     uint64_t arg);
/* The slow path of engine_do_at. */
void engine_do_at_any(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
		      uint64_t arg);

/* Adds an event that is never cancelled. It is faster than engine_at. */
static inline void engine_do_at(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
				uint64_t arg)
{
	struct engine_clock *clock = (struct engine_clock *)engine;
	struct soon_event *first = clock->soon_last;
	FW_ASSERT(fn);
	if (time_ps >= first->time_ps || time_ps >= clock->next_ps || time_ps < clock->now_ps ||
	    first == &clock->soon[SOON_MOST]) {
		engine_do_at_any(engine, time_ps, fn, ctx, arg);
		return;
	}
	clock->soon_last = first + 1;
	first[1].time_ps = time_ps; /* field by field; engine.c gives the reason */
	first[1].fn = fn;
	first[1].ctx = ctx;
	first[1].arg = arg;
	first[1].queued_count = 0;
}

static inline void engine_do_after(struct engine *engine, int64_t delay_ps, event_fn *fn, void *ctx,
				   uint64_t arg)
{
	FW_ASSERT(delay_ps <= INT64_MAX - engine_now_ps(engine));
	engine_do_at(engine, engine_now_ps(engine) + delay_ps, fn, ctx, arg);
}

/* Updates next_ps. Returns true if no event of the queue is due up to time_ps. */
bool engine_queue_waits(struct engine *engine, int64_t time_ps);

/* Replaces adding an event as the last action of the running one. If no other event is due up to
 * time_ps, sets the clock to time_ps, counts the event as begun and returns true; the caller then
 * continues with the event's work. Otherwise returns false, and the caller adds the event. */
static inline bool engine_pass(struct engine *engine, int64_t time_ps)
{
	struct engine_clock *clock = (struct engine_clock *)engine;
	if (time_ps >= clock->soon_last->time_ps || time_ps < clock->now_ps ||
	    time_ps > clock->pass_ps || clock->events >= clock->pause ||
	    (time_ps >= clock->next_ps && !engine_queue_waits(engine, time_ps)))
		return false;
	clock->now_ps = time_ps;
	clock->events++;
	return true;
}

/* Adds a wait for a timer to its sum, which engine_wait_ps returns. The sum over very many waits
 * stays at INT64_MAX. */
static inline void engine_wait_add(struct engine *engine, enum wait_kind kind, int64_t wait_ps)
{
	int64_t *sum_ps = &((struct engine_clock *)engine)->waits_ps[kind];
	if (__builtin_add_overflow(*sum_ps, wait_ps, sum_ps))
		*sum_ps = INT64_MAX;
}
static inline int64_t engine_wait_ps(const struct engine *engine, enum wait_kind kind)
{
	return ((const struct engine_clock *)engine)->waits_ps[kind];
}

/* Returns true if the event was pending and is now removed, and false if it has run or was
 * cancelled before. */
bool engine_cancel(struct engine *engine, struct event_id id);

enum engine_end engine_run(struct engine *engine);
void engine_stop(struct engine *engine);
/* Reports a violated invariant. Keeps the first message, with the simulated time and the number of
 * the event, and ends the run with ENGINE_FAILED. */
void engine_fail(struct engine *engine, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *engine_failure(const struct engine *engine); /* NULL: no failure */

/* Sets the optional trace. NULL, the default, records nothing. */
void engine_trace_set(struct engine *engine, struct trace *trace);
static inline struct trace *engine_trace(const struct engine *engine)
{
	return ((const struct engine_clock *)engine)->trace;
}
