/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/engine/engine.h"

#include <math.h>
#include <stdarg.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/engine/queue.h"

struct engine {
	struct arena *arena;
	struct queue *queue;
	struct engine_limits limits;
	int64_t now_ps;
	uint64_t events; /* begun so far: the running one's number */
	bool stopped;
	const char *failure;
	struct trace *trace;
};

int64_t ps_from_s(double seconds)
{
	const int64_t most_ps = (int64_t)1 << 62;
	double ps = seconds * (double)PS_PER_S;
	FW_ASSERT(!isnan(ps));
	if (ps >= (double)most_ps)
		return most_ps;
	if (ps <= -(double)most_ps)
		return -most_ps;
	/* llround(ps), without the call: this is most of what an event computes */
	int64_t whole = (int64_t)ps;
	double rest = ps - (double)whole;
	return whole + (rest >= 0.5) - (rest <= -0.5);
}

double s_from_ps(int64_t picoseconds)
{
	return (double)picoseconds / (double)PS_PER_S;
}

struct engine *engine_new(struct arena *arena, const struct engine_limits *limits)
{
	struct engine *engine = ARENA_NEW(arena, struct engine);
	engine->arena = arena;
	engine->queue = queue_new(arena);
	if (limits)
		engine->limits = *limits;
	return engine;
}

int64_t engine_now_ps(const struct engine *engine)
{
	return engine->now_ps;
}

uint64_t engine_events_count(const struct engine *engine)
{
	return engine->events;
}

struct event_id engine_at(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
			  uint64_t arg)
{
	FW_ASSERT(fn);
	if (time_ps < engine->now_ps) {
		engine_fail(engine, "something was to happen %.12f s ago",
			    s_from_ps(engine->now_ps - time_ps));
		return (struct event_id){0};
	}
	struct event event = {time_ps, fn, ctx, arg};
	return queue_add(engine->queue, &event);
}

struct event_id engine_after(struct engine *engine, int64_t delay_ps, event_fn *fn, void *ctx,
			     uint64_t arg)
{
	FW_ASSERT(delay_ps <= INT64_MAX - engine->now_ps);
	return engine_at(engine, engine->now_ps + delay_ps, fn, ctx, arg);
}

bool engine_cancel(struct engine *engine, struct event_id id)
{
	return queue_cancel(engine->queue, id);
}

enum engine_end engine_run(struct engine *engine)
{
	const struct engine_limits *limits = &engine->limits;
	for (;;) {
		if (engine->failure)
			return ENGINE_FAILED;
		if (engine->stopped) {
			engine->stopped = false;
			return ENGINE_STOPPED;
		}
		if (queue_count(engine->queue) == 0)
			return ENGINE_DRAINED;
		if (limits->events_max > 0 && engine->events >= limits->events_max)
			return ENGINE_EVENTS;
		int64_t next_ps = queue_next_ps(engine->queue);
		if (limits->time_max_ps > 0 && next_ps > limits->time_max_ps)
			return ENGINE_TIME;
		FW_ASSERT(next_ps >= engine->now_ps);
		struct event event = queue_take(engine->queue);
		engine->now_ps = event.time_ps;
		engine->events++;
		event.fn(event.ctx, event.arg);
	}
}

void engine_stop(struct engine *engine)
{
	engine->stopped = true;
}

void engine_fail(struct engine *engine, const char *format, ...)
{
	if (engine->failure)
		return;
	va_list args;
	va_start(args, format);
	const char *what = arena_vprintf(engine->arena, format, args);
	va_end(args);
	engine->failure =
		arena_printf(engine->arena, "at %.12f s (event %llu): %s",
			     s_from_ps(engine->now_ps), (unsigned long long)engine->events, what);
}

const char *engine_failure(const struct engine *engine)
{
	return engine->failure;
}

void engine_trace_set(struct engine *engine, struct trace *trace)
{
	engine->trace = trace;
}

struct trace *engine_trace(const struct engine *engine)
{
	return engine->trace;
}
