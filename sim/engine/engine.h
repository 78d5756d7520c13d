/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock and the event queue.
 *
 * A discrete-event simulation is a list of things that will happen, each with
 * a time and a function to call. The engine takes the earliest, moves the
 * clock to its time and calls its function, which may add or cancel others;
 * and so on until nothing is left, somebody stops it, or a limit is reached.
 * It knows no bytes, links, GPUs or files.
 *
 * Time is an integer count of picoseconds: 2^63 ps is 106 days. It never runs
 * back. Events of the same time run in the order in which they were added, so
 * the same program gives the same history on every machine.
 *
 * Rounding rule: a duration in seconds becomes the nearest picosecond, halves
 * away from zero (ps_from_s). Sizes over rates are rounded up (a transfer is
 * not over before its last bit), by the module that divides.
 */
#ifndef FARWIRE_ENGINE_ENGINE_H
#define FARWIRE_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/diag.h"

struct arena;
struct engine;
struct trace;

#define PS_PER_S 1000000000000LL

/* Seconds to picoseconds, saturating at +-2^62. */
static inline int64_t ps_from_s(double seconds)
{
	const double most_ps = (double)((int64_t)1 << 62);
	double ps = seconds * (double)PS_PER_S;
	if (!(ps < most_ps && ps > -most_ps)) {
		FW_ASSERT(ps >= most_ps || ps <= -most_ps); /* else it is not a number */
		return ps > 0 ? (int64_t)1 << 62 : -((int64_t)1 << 62);
	}
	/* llround(ps), without the call: this is most of what an event computes */
	int64_t whole = (int64_t)ps;
	double rest = ps - (double)whole;
	return whole + (rest >= 0.5) - (rest <= -0.5);
}

static inline double s_from_ps(int64_t picoseconds)
{
	return (double)picoseconds / (double)PS_PER_S;
}

struct event_id { /* {0} is never a pending event */
	uint32_t slot;
	uint32_t serial;
};

/* What an event calls. arg is whatever was given when it was added. */
typedef void event_fn(void *ctx, uint64_t arg);

struct engine_limits {
	uint64_t events_max; /* 0: none */
	int64_t time_max_ps; /* 0: none */
	bool no_passing;     /* each event by itself: what engine_pass is to be equal to */
};

enum engine_end {
	ENGINE_DRAINED, /* nothing left to happen */
	ENGINE_STOPPED, /* engine_stop */
	ENGINE_FAILED,  /* engine_fail: an invariant is broken */
	ENGINE_EVENTS,  /* events_max reached */
	ENGINE_TIME,    /* the next event lies after time_max_ps */
};

struct engine *engine_new(struct arena *arena, const struct engine_limits *limits);

enum { SOON_MOST = 4 };

struct soon_event {
	int64_t time_ps;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
};

/* What every event reads of an engine: its first member, for the functions here alone. */
struct engine_clock {
	int64_t now_ps;
	struct trace *trace;
	int64_t next_ps; /* no event of the queue is before it */
	/* The last is the first to come; [0] stands for none, at INT64_MAX. */
	struct soon_event soon[1 + SOON_MOST], *soon_last;
};

static inline int64_t engine_now_ps(const struct engine *engine)
{
	return ((const struct engine_clock *)engine)->now_ps;
}

uint64_t engine_events_count(const struct engine *engine);

/* Adds an event. Of a time that is over the run fails, and the id is {0}. */
struct event_id engine_at(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
			  uint64_t arg);
/* delay_ps from now. */
struct event_id engine_after(struct engine *engine, int64_t delay_ps, event_fn *fn, void *ctx,
			     uint64_t arg);
/* The rest of engine_do_at. */
void engine_do_at_any(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
		      uint64_t arg);

/* The same for events that nobody will cancel, which is faster. */
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
	first[1].time_ps = time_ps; /* field by field: engine.c */
	first[1].fn = fn;
	first[1].ctx = ctx;
	first[1].arg = arg;
}

static inline void engine_do_after(struct engine *engine, int64_t delay_ps, event_fn *fn, void *ctx,
				   uint64_t arg)
{
	FW_ASSERT(delay_ps <= INT64_MAX - engine_now_ps(engine));
	engine_do_at(engine, engine_now_ps(engine) + delay_ps, fn, ctx, arg);
}

/* In place of adding an event as the last thing that the running one does: if nothing
 * else is to happen up to time_ps, it is that time now, the event counts as begun, and
 * the caller goes on with what it was for. Else false, and the caller adds it. */
bool engine_pass(struct engine *engine, int64_t time_ps);

/* True if it was pending and is now gone; false if it ran or was cancelled. */
bool engine_cancel(struct engine *engine, struct event_id id);

enum engine_end engine_run(struct engine *engine);
void engine_stop(struct engine *engine);
/* A broken invariant: keeps the first message with the simulated time and the
 * event's number, and ends the run with ENGINE_FAILED. */
void engine_fail(struct engine *engine, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *engine_failure(const struct engine *engine); /* NULL: none */

/* The optional append-only trace; NULL (the default) records nothing. */
void engine_trace_set(struct engine *engine, struct trace *trace);
static inline struct trace *engine_trace(const struct engine *engine)
{
	return ((const struct engine_clock *)engine)->trace;
}

#endif
