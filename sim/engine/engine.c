/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Most events are among the next few to run when they are added. An event without an id goes to the
 * short sorted array `soon` instead of the queue if the array has room. It keeps how many events
 * the queue had been given before, because that decides which of two events of one time is first.
 * The last places are for events that precede all of the queue, so distant events cannot keep the
 * array full. */
#include "sim/engine/engine.h"

#include <stdarg.h>

#include "sim/engine/queue.h"

struct engine {
	struct engine_clock clock; /* must be the first member */
	struct arena *arena;
	struct queue *queue;
	struct engine_limits limits; /* a missing limit is stored as the greatest value */
	bool stopped; /* engine_stop was called, or the run failed; `pause` is then 0 */
	/* next_ps is the time of an event in the queue, or INT64_MAX for an empty queue */
	bool next_exact;
	const char *failure;
};

enum { TELL_EVERY = 1 << 20, SOON_DISTANT_MOST = 12 };

/* Returns false at the maximum of events. */
static bool go_on(struct engine *engine)
{
	const struct engine_limits *limits = &engine->limits;
	uint64_t left = limits->events_max - engine->clock.events;
	if (limits->watch && engine->clock.events > 0)
		limits->watch->tell(limits->watch->ctx, engine->clock.events, limits->events_max);
	engine->clock.pause =
		engine->clock.events + (limits->watch && left > TELL_EVERY ? TELL_EVERY : left);
	return left > 0;
}

struct engine *engine_new(struct arena *arena, const struct engine_limits *limits)
{
	struct engine *engine = ARENA_NEW(arena, struct engine);
	engine->arena = arena;
	engine->queue = queue_new(arena);
	engine->clock.next_ps = INT64_MAX;
	engine->clock.soon_last = &engine->clock.soon[0];
	engine->clock.soon[0].time_ps = INT64_MAX;
	engine->next_exact = true;
	if (limits)
		engine->limits = *limits;
	if (engine->limits.events_max == 0)
		engine->limits.events_max = UINT64_MAX;
	/* The sentinel of `soon` is later than the greatest limit. */
	if (engine->limits.time_max_ps <= 0 || engine->limits.time_max_ps == INT64_MAX)
		engine->limits.time_max_ps = INT64_MAX - 1;
	engine->clock.pass_ps = engine->limits.no_passing ? -1 : engine->limits.time_max_ps;
	go_on(engine);
	return engine;
}

uint64_t engine_events_max(const struct engine *engine)
{
	return engine->limits.events_max;
}

uint64_t engine_events_count(const struct engine *engine)
{
	return engine->clock.events;
}

static void next_find(struct engine *engine)
{
	engine->clock.next_ps =
		queue_count(engine->queue) > 0 ? queue_next_ps(engine->queue) : INT64_MAX;
	engine->next_exact = true;
}

static struct event_id enqueue(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx,
			       uint64_t arg)
{
	if (time_ps < engine->clock.next_ps)
		engine->clock.next_ps = time_ps;
	return queue_add(engine->queue, time_ps, fn, ctx, arg);
}

/* Returns true, after failing the run, if time_ps is in the past. */
static bool is_past(struct engine *engine, int64_t time_ps)
{
	int64_t late_ps = engine->clock.now_ps - time_ps;
	if (late_ps > 0)
		engine_fail(engine, "event scheduled %.12f s in the past", s_from_ps(late_ps));
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

void engine_do_at_any(struct engine *engine, int64_t time_ps, event_fn *fn, void *ctx, uint64_t arg)
{
	struct engine_clock *clock = &engine->clock;
	if (is_past(engine, time_ps))
		return;
	bool near = time_ps < clock->next_ps;
	if (clock->soon_last >= &clock->soon[near ? SOON_MOST : SOON_DISTANT_MOST]) {
		enqueue(engine, time_ps, fn, ctx, arg);
		return;
	}
	struct soon_event *place = ++clock->soon_last;
	for (; place[-1].time_ps <= time_ps; place--)
		place[0] = place[-1];
	*place = (struct soon_event){time_ps, fn, ctx, arg, queue_added_count(engine->queue)};
}

bool engine_cancel(struct engine *engine, struct event_id id)
{
	if (!queue_cancel(engine->queue, id))
		return false;
	engine->next_exact = false;
	return true;
}

/* Returns true if the next event is in the queue or no event is left. In both cases next_ps is
 * exact afterwards. */
static bool is_queued(struct engine *engine)
{
	const struct engine_clock *clock = &engine->clock;
	const struct soon_event *soon = clock->soon_last;
	if (soon->time_ps >= clock->next_ps && !engine->next_exact)
		next_find(engine);
	if (soon->time_ps == clock->next_ps && soon != &clock->soon[0])
		return queue_next_precedes(engine->queue, soon->queued_count);
	return soon->time_ps > clock->next_ps || soon == &clock->soon[0];
}

static enum engine_end end_of(struct engine *engine)
{
	if (engine->failure)
		return ENGINE_FAILED;
	engine->stopped = false;
	engine->clock.pause = engine->clock.events; /* a further run computes it again */
	return ENGINE_STOPPED;
}

static void begin(struct engine *engine, int64_t time_ps)
{
	engine->clock.now_ps = time_ps;
	engine->clock.events++;
}

bool engine_queue_waits(struct engine *engine, int64_t time_ps)
{
	if (!engine->next_exact)
		next_find(engine);
	return time_ps < engine->clock.next_ps;
}

/* Copies field by field. Reading just-written data in larger units than it was written stalls until
 * the data is in the cache (a failed store-to-load forwarding), and that would double the cost of
 * an event. */
static void run_soon(struct engine *engine)
{
	const struct soon_event *event = engine->clock.soon_last--;
	begin(engine, event->time_ps);
	event->fn(event->ctx, event->arg);
}

static void run_next(struct engine *engine)
{
	struct event event = queue_take(engine->queue);
	engine->clock.next_ps = event.time_ps;
	engine->next_exact = false;
	FW_ASSERT(event.time_ps >= engine->clock.now_ps);
	begin(engine, event.time_ps);
	event.fn(event.ctx, event.arg);
}

enum engine_end engine_run(struct engine *engine)
{
	const struct engine_limits *limits = &engine->limits;
	const struct engine_clock *clock = &engine->clock;
	for (;;) {
		int64_t soon_ps = clock->soon_last->time_ps;
		if (soon_ps < clock->next_ps && soon_ps <= limits->time_max_ps &&
		    clock->events < clock->pause) {
			run_soon(engine);
			continue;
		}
		if (engine->stopped)
			return end_of(engine);
		bool queued = is_queued(engine);
		if (queued && clock->next_ps == INT64_MAX && queue_count(engine->queue) == 0)
			return ENGINE_DRAINED;
		if (engine->clock.events >= engine->clock.pause && !go_on(engine))
			return ENGINE_EVENTS;
		if ((queued ? clock->next_ps : clock->soon_last->time_ps) > limits->time_max_ps)
			return ENGINE_TIME;
		if (queued)
			run_next(engine);
		else
			run_soon(engine);
	}
}

void engine_stop(struct engine *engine)
{
	engine->stopped = true;
	engine->clock.pause = 0;
}

void engine_fail(struct engine *engine, const char *format, ...)
{
	if (engine->failure)
		return;
	engine_stop(engine);
	va_list args;
	va_start(args, format);
	const char *what = arena_vprintf(engine->arena, format, args);
	va_end(args);
	engine->failure = arena_printf(engine->arena, "at %.12f s (event %llu): %s",
				       s_from_ps(engine->clock.now_ps),
				       (unsigned long long)engine->clock.events, what);
}

const char *engine_failure(const struct engine *engine)
{
	return engine->failure;
}

void engine_trace_set(struct engine *engine, struct trace *trace)
{
	engine->clock.trace = trace;
}
