/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/engine/engine.h"
#include "sim/engine/names.h"
#include "sim/engine/trace.h"
#include "tests/test.h"

enum { LOG_MAX = 64 };

struct log {
	struct engine *engine;
	uint64_t args[LOG_MAX];
	int64_t times_ps[LOG_MAX];
	size_t count;
};

static void note(void *ctx, uint64_t arg)
{
	struct log *log = ctx;
	log->args[log->count] = arg;
	log->times_ps[log->count++] = engine_now_ps(log->engine);
}

static void note_and_stop(void *ctx, uint64_t arg)
{
	note(ctx, arg);
	engine_stop(((struct log *)ctx)->engine);
}

/* arg events to come, one each 10 ps. */
static void chain(void *ctx, uint64_t arg)
{
	struct log *log = ctx;
	note(ctx, arg);
	if (arg > 0)
		engine_after(log->engine, 10, chain, ctx, arg - 1);
}

static void time_orders_then_insertion(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	engine_at(log.engine, 30, note, &log, 0);
	engine_at(log.engine, 10, note, &log, 1);
	engine_at(log.engine, 20, note, &log, 2);
	engine_at(log.engine, 10, note, &log, 3);
	engine_at(log.engine, 10, note, &log, 4);
	CHECK(engine_run(log.engine) == ENGINE_DRAINED);
	const uint64_t order[] = {1, 3, 4, 2, 0};
	CHECK(log.count == 5);
	for (size_t i = 0; i < 5; i++)
		CHECK(log.args[i] == order[i]);
	CHECK(log.times_ps[4] == 30);
	CHECK(engine_now_ps(log.engine) == 30);
	CHECK(engine_events_count(log.engine) == 5);
	arena_free(arena);
}

static void events_add_events(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	engine_after(log.engine, 0, chain, &log, 3);
	CHECK(engine_run(log.engine) == ENGINE_DRAINED);
	CHECK(log.count == 4);
	CHECK(log.times_ps[3] == 30);
	arena_free(arena);
}

static void cancelled_events_do_not_run(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	struct event_id first = engine_at(log.engine, 10, note, &log, 1);
	engine_at(log.engine, 20, note, &log, 2);
	CHECK(engine_cancel(log.engine, first));
	CHECK(!engine_cancel(log.engine, first));
	CHECK(!engine_cancel(log.engine, (struct event_id){0}));
	CHECK(!engine_cancel(log.engine, (struct event_id){1000, 1}));
	/* The slot is used again; the old id must not reach the new event. */
	struct event_id second = engine_at(log.engine, 15, note, &log, 3);
	CHECK(second.slot == first.slot);
	CHECK(!engine_cancel(log.engine, first));
	CHECK(engine_run(log.engine) == ENGINE_DRAINED);
	CHECK(log.count == 2 && log.args[0] == 3 && log.args[1] == 2);
	CHECK(!engine_cancel(log.engine, second)); /* it ran */
	arena_free(arena);
}

struct sorted {
	struct engine *engine;
	const int64_t *times_ps;
	int64_t last_ps;
	uint64_t last, ran;
	bool ok;
};

static void in_order(void *ctx, uint64_t arg)
{
	struct sorted *sorted = ctx;
	int64_t now_ps = engine_now_ps(sorted->engine);
	bool later = now_ps > sorted->last_ps || (now_ps == sorted->last_ps && arg > sorted->last);
	sorted->ok &= now_ps == sorted->times_ps[arg] && (sorted->ran == 0 || later);
	sorted->last_ps = now_ps;
	sorted->last = arg;
	sorted->ran++;
}

/* Events at random times, of each three one cancelled (the newest, or the one
 * before it): what is left runs sorted by (time, insertion). */
static void many_stay_sorted(void)
{
	enum { COUNT = 3000 };
	static int64_t times_ps[COUNT];
	struct arena *arena = arena_new();
	struct sorted sorted = {engine_new(arena, NULL), times_ps, -1, 0, 0, true};
	struct rng rng = rng_named(1, "test_engine");
	struct event_id before = {0};
	for (uint64_t i = 0; i < COUNT; i++) {
		times_ps[i] = (int64_t)rng_below(&rng, 500);
		struct event_id id = engine_at(sorted.engine, times_ps[i], in_order, &sorted, i);
		if (i % 3 == 2)
			CHECK(engine_cancel(sorted.engine, i % 2 ? before : id));
		before = id;
	}
	CHECK(engine_run(sorted.engine) == ENGINE_DRAINED);
	CHECK(sorted.ok);
	CHECK(sorted.ran == COUNT / 3 * 2);
	arena_free(arena);
}

static void stop_and_go_on(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	engine_at(log.engine, 10, note_and_stop, &log, 1);
	engine_at(log.engine, 10, note, &log, 2);
	CHECK(engine_run(log.engine) == ENGINE_STOPPED);
	CHECK(log.count == 1);
	CHECK(engine_run(log.engine) == ENGINE_DRAINED);
	CHECK(log.count == 2 && log.times_ps[1] == 10);
	arena_free(arena);
}

static void limits_end_the_run(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, &(struct engine_limits){.events_max = 3})};
	engine_after(log.engine, 0, chain, &log, 9);
	CHECK(engine_run(log.engine) == ENGINE_EVENTS);
	CHECK(log.count == 3);
	log = (struct log){.engine = engine_new(arena, &(struct engine_limits){.time_max_ps = 40})};
	engine_after(log.engine, 0, chain, &log, 9);
	CHECK(engine_run(log.engine) == ENGINE_TIME);
	CHECK(log.count == 5); /* at 0, 10, 20, 30 and 40 ps */
	CHECK(engine_now_ps(log.engine) == 40);
	arena_free(arena);
}

static void break_twice(void *ctx, uint64_t arg)
{
	struct log *log = ctx;
	engine_fail(log->engine, "%d bytes lost", (int)arg);
	engine_fail(log->engine, "and more");
}

static void the_first_failure_is_kept(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	engine_at(log.engine, 5, note, &log, 0);
	engine_at(log.engine, 1234567000000, break_twice, &log, 7);
	engine_at(log.engine, 1234567000001, note, &log, 0);
	CHECK(engine_failure(log.engine) == NULL);
	CHECK(engine_run(log.engine) == ENGINE_FAILED);
	CHECK_TEXT(engine_failure(log.engine), "at 1.234567000000 s (event 2): 7 bytes lost");
	CHECK(log.count == 1);
	CHECK(engine_run(log.engine) == ENGINE_FAILED); /* and stays so */
	arena_free(arena);
}

/* 1.5 ps is 2 ps and -1.5 ps is -2 ps: halves go away from zero. */
static void seconds_round_to_picoseconds(void)
{
	CHECK(ps_from_s(4.5e-6) == 4500000);
	CHECK(ps_from_s(1.5e-12) == 2);
	CHECK(ps_from_s(-1.5e-12) == -2);
	CHECK(ps_from_s(0.4e-12) == 0);
	CHECK(ps_from_s(1e30) == (int64_t)1 << 62);
	CHECK(ps_from_s(-INFINITY) == -((int64_t)1 << 62));
	CHECK(s_from_ps(2500000000000) == 2.5);
}

static void a_trace_keeps_spans_on_tracks(void)
{
	struct arena *arena = arena_new();
	struct trace *trace = trace_new(arena);
	CHECK(trace_track(trace, "gpu0", "stream 1") == 0);
	CHECK(trace_track(trace, "gpu1", "stream 1") == 1);
	CHECK(trace_track(trace, "gpu0", "stream 2") == 2);
	CHECK(trace_track(trace, "gpu0", "stream 1") == 0);
	CHECK(trace_track(trace, "gpu1", "stream 1") == 1);
	trace_span(trace, 1, SPAN_KERNEL, "conv1", 10, 20);
	trace_span(trace, 2, SPAN_COPY, "h2d", 5, 5);
	CHECK(trace_span_count(trace) == 2);
	CHECK(trace_track_count(trace) == 3);
	CHECK_TEXT(trace_track_group(trace, 1), "gpu1");
	CHECK_TEXT(trace_track_name(trace, 2), "stream 2");
	CHECK(trace_span_at(trace, 0)->track == 1);
	CHECK(trace_span_at(trace, 0)->end_ps == 20);
	CHECK_TEXT(trace_span_at(trace, 1)->name, "h2d");
	CHECK_TEXT(span_kind_name(SPAN_KERNEL), "kernel");
	arena_free(arena);
}

static void no_trace_records_nothing(void)
{
	CHECK(trace_track(NULL, "gpu0", "stream 1") == 0);
	trace_span(NULL, 7, SPAN_KERNEL, "conv1", 10, 20);
	CHECK(trace_span_count(NULL) == 0);
}

static void names_are_numbered_as_they_come(void)
{
	struct arena *arena = arena_new();
	struct names *names = names_new(arena);
	for (int i = 0; i < 1000; i++)
		CHECK(names_add(names, arena_printf(arena, "name %d", i)) == i);
	for (int i = 0; i < 1000; i++)
		CHECK(names_find(names, arena_printf(arena, "name %d", i)) == i);
	CHECK(names_add(names, "name 17") == 17);
	CHECK(names_find(names, "name 1000") == -1);
	CHECK(names_count(names) == 1000);
	CHECK_TEXT(names_at(names, 999), "name 999");
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(time_orders_then_insertion),
	TEST(events_add_events),
	TEST(cancelled_events_do_not_run),
	TEST(many_stay_sorted),
	TEST(stop_and_go_on),
	TEST(limits_end_the_run),
	TEST(the_first_failure_is_kept),
	TEST(seconds_round_to_picoseconds),
	TEST(a_trace_keeps_spans_on_tracks),
	TEST(no_trace_records_nothing),
	TEST(names_are_numbered_as_they_come),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
