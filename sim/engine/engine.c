/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Most events are the next to run when they are added: the work on a call is over
 * before anything else happens. Such an event waits in `soon` in place of the queue,
 * if it was added without an id. All events of the queue come after it: those that
 * were there when it came are later, and those that came since are no earlier or
 * else are looked at first. So it can go to the queue again, to make room for an
 * earlier one, as long as the queue has nothing of its time. */
#include "sim/engine/engine.h"

#include <stdarg.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/engine/queue.h"

struct engine {
	struct engine_clock clock; /* first */
	struct arena *arena;
	struct queue *queue;
	struct engine_limits limits;
	uint64_t events; /* begun so far: the running one's number */
	bool stopped;    /* by engine_stop, or by a failure */
	const char *failure;
	struct event soon; /* fn NULL: none */
	/* No event of the queue is before next_ps; next_exact: one is at it, or there is
	 * none (INT64_MAX). */
	int64_t next_ps;
	bool next_exact;
};

struct engine *engine_new(struct arena *arena, const struct engine_limits *limits)
{
	struct engine *engine = ARENA_NEW(arena, struct engine);
	engine->arena = arena;
	engine->queue = queue_new(arena);
	engine->next_ps = INT64_MAX;
	engine->next_exact = true;
	if (limits)
		engine->limits = *limits;
	return engine;
}

uint64_t engine_events_count(const struct engine *engine)
{
	return engine->events;
}

static void next_find(struct engine *engine)
{
	engine->next_ps = queue_count(engine->queue) > 0 ? queue_next_ps(engine->queue) : INT64_MAX;
	engine->next_exact = true;
}

static struct event_id enqueue(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
			       uint64_t arg)
{
	if (time_ps < engine->next_ps)
		engine->next_ps = time_ps;
	return queue_add(engine->queue, time_ps, fn, ctx, arg);
}

/* Then it has failed. */
static bool is_past(struct engine *engine, int64_t time_ps)
{
	int64_t late_ps = engine->clock.now_ps - time_ps;
	if (late_ps > 0)
		engine_fail(engine, "something was to happen %.12f s ago", s_from_ps(late_ps));
	return late_ps > 0;
}

struct event_id engine_at(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
			  uint64_t arg)
{
	FW_ASSERT(fn);
	if (is_past(engine, time_ps))
		return (struct event_id){0};
	return enqueue(engine, time_ps, fn, ctx, arg);
}

struct event_id engine_after(struct engine *engine, int64_t delay_ps, event_fn *fn, void *ctx,
			     uint64_t arg)
{
	FW_ASSERT(delay_ps <= INT64_MAX - engine->clock.now_ps);
	return engine_at(engine, engine->clock.now_ps + delay_ps, fn, ctx, arg);
}

void engine_do_at(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx, uint64_t arg)
{
	FW_ASSERT(fn);
	if (is_past(engine, time_ps))
		return;
	struct event *soon = &engine->soon;
	bool earliest = !soon->fn || time_ps < soon->time_ps;
	if (earliest && time_ps >= engine->next_ps && !engine->next_exact)
		next_find(engine);
	if (earliest) /* where one is, it has to make room, if the queue can take it */
		earliest = (soon->fn ? soon->time_ps : time_ps) < engine->next_ps;
	if (!earliest) {
		enqueue(engine, time_ps, fn, ctx, arg);
		return;
	}
	if (soon->fn)
		enqueue(engine, soon->time_ps, soon->fn, soon->ctx, soon->arg);
	soon->time_ps = time_ps;
	soon->fn = fn;
	soon->ctx = ctx;
	soon->arg = arg;
}

void engine_do_after(struct engine *engine, int64_t delay_ps, event_fn *fn, void *ctx, uint64_t arg)
{
	FW_ASSERT(delay_ps <= INT64_MAX - engine->clock.now_ps);
	engine_do_at(engine, engine->clock.now_ps + delay_ps, fn, ctx, arg);
}

bool engine_cancel(struct engine *engine, struct event_id id)
{
	if (!queue_cancel(engine->queue, id))
		return false;
	engine->next_exact = false;
	return true;
}

/* The event to run next is `soon`; else next_ps is exact. */
static bool is_soon(struct engine *engine)
{
	const struct event *soon = &engine->soon;
	if (soon->fn && soon->time_ps <= engine->next_ps)
		return true;
	if (!engine->next_exact)
		next_find(engine);
	return soon->fn && soon->time_ps <= engine->next_ps;
}

static enum engine_end end_of(struct engine *engine)
{
	if (engine->failure)
		return ENGINE_FAILED;
	engine->stopped = false;
	return ENGINE_STOPPED;
}

static void begin(struct engine *engine, int64_t time_ps)
{
	FW_ASSERT(time_ps >= engine->clock.now_ps);
	engine->clock.now_ps = time_ps;
	engine->events++;
}

/* Field by field: a copy of what was just written, in larger parts than it was written
 * in, waits until it is in the cache, which takes as long as all else here. */
static void run_soon(struct engine *engine)
{
	event_fn *fn = engine->soon.fn;
	engine->soon.fn = NULL;
	begin(engine, engine->soon.time_ps);
	fn(engine->soon.ctx, engine->soon.arg);
}

static void run_next(struct engine *engine)
{
	struct event event = queue_take(engine->queue);
	engine->next_ps = event.time_ps;
	engine->next_exact = false;
	begin(engine, event.time_ps);
	event.fn(event.ctx, event.arg);
}

enum engine_end engine_run(struct engine *engine)
{
	const struct engine_limits *limits = &engine->limits;
	uint64_t events_max = limits->events_max > 0 ? limits->events_max : UINT64_MAX;
	int64_t time_max_ps = limits->time_max_ps > 0 ? limits->time_max_ps : INT64_MAX;
	while (!engine->stopped) {
		bool soon = is_soon(engine);
		int64_t next_ps = soon ? engine->soon.time_ps : engine->next_ps;
		if (next_ps == INT64_MAX && !soon && queue_count(engine->queue) == 0)
			return ENGINE_DRAINED;
		if (engine->events >= events_max)
			return ENGINE_EVENTS;
		if (next_ps > time_max_ps)
			return ENGINE_TIME;
		if (soon)
			run_soon(engine);
		else
			run_next(engine);
	}
	return end_of(engine);
}

void engine_stop(struct engine *engine)
{
	engine->stopped = true;
}

void engine_fail(struct engine *engine, const char *format, ...)
{
	if (engine->failure)
		return;
	engine->stopped = true;
	va_list args;
	va_start(args, format);
	const char *what = arena_vprintf(engine->arena, format, args);
	va_end(args);
	engine->failure = arena_printf(engine->arena, "at %.12f s (event %llu): %s",
				       s_from_ps(engine->clock.now_ps),
				       (unsigned long long)engine->events, what);
}

const char *engine_failure(const struct engine *engine)
{
	return engine->failure;
}

void engine_trace_set(struct engine *engine, struct trace *trace)
{
	engine->clock.trace = trace;
}
