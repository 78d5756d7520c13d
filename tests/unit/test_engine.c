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

/* Adds arg further events, one every 10 ps. */
static void chain(void *ctx, uint64_t arg)
{
	struct log *log = ctx;
	note(ctx, arg);
	if (arg > 0)
		engine_after(log->engine, 10, chain, ctx, arg - 1);
}

static void equal_times_run_in_insertion_order(void)
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

/* Notes 10 x arg and then adds an event for the same time. */
static void note_and_more(void *ctx, uint64_t arg)
{
	struct log *log = ctx;
	note(ctx, 10 * arg);
	engine_do_after(log->engine, 0, note, ctx, 10 * arg + 1);
	engine_after(log->engine, 0, note, ctx, 10 * arg + 2);
	engine_do_after(log->engine, 0, note, ctx, 10 * arg + 3);
	engine_after(log->engine, 1, note, ctx, 10 * arg + 9);
}

/* An event for the current time runs after those already pending for this time and before those
 * added later. */
static void event_for_the_current_time_runs_after_pending_ones(void)
{
	struct arena *arena = arena_new();
	struct engine_limits limits = {.events_max = 6};
	struct log log = {.engine = engine_new(arena, &limits)};
	engine_do_after(log.engine, 0, note, &log, 5);
	engine_at(log.engine, 10, note_and_more, &log, 1);
	engine_at(log.engine, 10, note, &log, 7);
	CHECK(engine_run(log.engine) == ENGINE_EVENTS);
	static const uint64_t busy[] = {5, 10, 7, 11, 12, 13};
	CHECK(log.count == 6);
	for (size_t i = 0; i < 6; i++)
		CHECK(log.args[i] == busy[i]);
	arena_free(arena);

	/* no other event has that time; the limit may end the run between the two */
	arena = arena_new();
	limits.events_max = 2;
	log = (struct log){.engine = engine_new(arena, &limits)};
	engine_at(log.engine, 10, note_and_more, &log, 2);
	engine_at(log.engine, 30, note, &log, 7);
	CHECK(engine_run(log.engine) == ENGINE_EVENTS);
	CHECK(log.count == 2 && log.args[0] == 20 && log.args[1] == 21);
	arena_free(arena);

	/* such an event is pending like any other and runs at its time */
	arena = arena_new();
	log = (struct log){.engine = engine_new(arena, NULL)};
	engine_at(log.engine, 10, note_and_more, &log, 3);
	CHECK(engine_run(log.engine) == ENGINE_DRAINED);
	static const uint64_t alone[] = {30, 31, 32, 33, 39};
	static const int64_t times_ps[] = {10, 10, 10, 10, 11};
	CHECK(log.count == 5 && engine_events_count(log.engine) == 5);
	for (size_t i = 0; i < 5; i++)
		CHECK(log.args[i] == alone[i] && log.times_ps[i] == times_ps[i]);
	engine_do_after(log.engine, 0, note, &log, 40);
	CHECK(engine_run(log.engine) == ENGINE_DRAINED);
	CHECK(log.count == 6 && log.args[5] == 40 && log.times_ps[5] == 11);
	arena_free(arena);
}

struct passer {
	struct log *log;
	int64_t to_ps;
	bool passed;
};

static void pass_and_note(void *ctx, uint64_t arg)
{
	struct passer *passer = ctx;
	passer->passed = engine_pass(passer->log->engine, passer->to_ps);
	note(passer->log, arg);
}

/* Passes at 10 ps, while an event without an id is pending at 30 ps and one with an id at 40 ps;
 * one at 20 ps was cancelled. */
static struct passer pass_to(int64_t to_ps, const struct engine_limits *limits, struct log *log)
{
	struct arena *arena = arena_new();
	*log = (struct log){.engine = engine_new(arena, limits)};
	struct passer passer = {.log = log, .to_ps = to_ps};
	engine_cancel(log->engine, engine_at(log->engine, 20, note, log, 1));
	engine_do_at(log->engine, 30, note, log, 2);
	engine_at(log->engine, 40, note, log, 3);
	engine_at(log->engine, 10, pass_and_note, &passer, 4);
	engine_run(log->engine);
	CHECK(engine_events_count(log->engine) == log->count + (passer.passed ? 1 : 0));
	arena_free(arena);
	return passer;
}

/* Returns true if an event at 10 ps passes to `to_ps` while an event with an id is due at next_ps.
 */
static bool queued_before(int64_t to_ps, int64_t next_ps)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	struct passer passer = {.log = &log, .to_ps = to_ps};
	engine_at(log.engine, next_ps, note, &log, 1);
	engine_at(log.engine, 10, pass_and_note, &passer, 2);
	engine_run(log.engine);
	arena_free(arena);
	return passer.passed;
}

/* Passing is possible only to a time before all other events, and it counts as an event. */
static void passing_never_skips_another_event(void)
{
	struct log log;
	CHECK(pass_to(29, NULL, &log).passed && log.times_ps[0] == 29 && log.count == 3);
	CHECK(pass_to(10, NULL, &log).passed && log.times_ps[0] == 10);
	CHECK(!pass_to(30, NULL, &log).passed && log.times_ps[0] == 10);
	CHECK(!pass_to(40, NULL, &log).passed);
	CHECK(queued_before(30, 31) && !queued_before(30, 30) && !queued_before(30, 29));
	CHECK(!pass_to(9, NULL, &log).passed);
	struct engine_limits limits = {.events_max = 1};
	CHECK(!pass_to(29, &limits, &log).passed);
	limits = (struct engine_limits){.time_max_ps = 28};
	CHECK(!pass_to(29, &limits, &log).passed && log.count == 1);
	limits.time_max_ps = 29;
	CHECK(pass_to(29, &limits, &log).passed && log.count == 1);
	limits = (struct engine_limits){.no_passing = true};
	CHECK(!pass_to(29, &limits, &log).passed && log.count == 3);
}

static void events_can_add_events(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	engine_after(log.engine, 0, chain, &log, 3);
	CHECK(engine_run(log.engine) == ENGINE_DRAINED);
	CHECK(log.count == 4);
	CHECK(log.times_ps[3] == 30);
	arena_free(arena);
}

static void cancelled_events_never_run(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	struct event_id first = engine_at(log.engine, 10, note, &log, 1);
	engine_at(log.engine, 20, note, &log, 2);
	CHECK(engine_cancel(log.engine, first));
	CHECK(!engine_cancel(log.engine, first));
	CHECK(!engine_cancel(log.engine, (struct event_id){0}));
	CHECK(!engine_cancel(log.engine, (struct event_id){1000, 1}));
	/* The slot is reused; the old id must not match the new event. */
	struct event_id second = engine_at(log.engine, 15, note, &log, 3);
	CHECK(second.slot == first.slot);
	CHECK(!engine_cancel(log.engine, first));
	CHECK(engine_run(log.engine) == ENGINE_DRAINED);
	CHECK(log.count == 2 && log.args[0] == 3 && log.args[1] == 2);
	CHECK(!engine_cancel(log.engine, second)); /* it has run */
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

/* Events have random times, and one of three is cancelled (the newest or the one before it). The
 * others run in the order of (time, insertion). */
static void thousands_of_events_run_in_time_order(void)
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

static void stopped_run_can_be_continued(void)
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

static void run_ends_at_its_limits(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, &(struct engine_limits){.events_max = 3})};
	engine_after(log.engine, 0, chain, &log, 9);
	CHECK(engine_run(log.engine) == ENGINE_EVENTS);
	CHECK(log.count == 3);
	/* The limit counts the events of all runs. */
	log = (struct log){.engine = engine_new(arena, &(struct engine_limits){.events_max = 3})};
	engine_after(log.engine, 0, note_and_stop, &log, 1);
	engine_after(log.engine, 0, chain, &log, 9);
	CHECK(engine_run(log.engine) == ENGINE_STOPPED && log.count == 1);
	CHECK(engine_run(log.engine) == ENGINE_EVENTS && log.count == 3);
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

static void first_failure_is_kept(void)
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
	CHECK(engine_run(log.engine) == ENGINE_FAILED); /* the failure is permanent */
	arena_free(arena);
}

/* 1.5 ps becomes 2 ps and -1.5 ps becomes -2 ps: halves are rounded away from zero. */
static void seconds_are_rounded_to_picoseconds(void)
{
	CHECK(ps_from_s(4.5e-6) == 4500000);
	CHECK(ps_from_s(1.5e-12) == 2);
	CHECK(ps_from_s(-1.5e-12) == -2);
	CHECK(ps_from_s(0.4e-12) == 0);
	CHECK(ps_from_s(5000.000000000001) == 5000000000000001);
	CHECK(ps_from_s(1e30) == (int64_t)1 << 62);
	CHECK(ps_from_s(-INFINITY) == -((int64_t)1 << 62));
	CHECK(s_from_ps(2500000000000) == 2.5);
}

static void trace_keeps_spans_on_their_tracks(void)
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
	/* the categories of spans in timelines */
	static const char *const kinds[SPAN_KIND_COUNT] = {
		[SPAN_CALL] = "call",     [SPAN_CPU] = "cpu",   [SPAN_WIRE] = "wire",
		[SPAN_KERNEL] = "kernel", [SPAN_COPY] = "copy", [SPAN_WAIT] = "wait",
		[SPAN_LOSS] = "loss"};
	for (int kind = 0; kind < SPAN_KIND_COUNT; kind++)
		CHECK_TEXT(span_kind_name((enum span_kind)kind), kinds[kind]);
	arena_free(arena);
}

static void note_too_late(void *ctx, uint64_t arg)
{
	struct log *log = ctx;
	engine_do_at(log->engine, 3000000, note, log, 0);
}

/* An event without an id cannot be added for a time in the past, either. */
static void events_in_the_past_fail_the_run(void)
{
	struct arena *arena = arena_new();
	struct log log = {.engine = engine_new(arena, NULL)};
	engine_at(log.engine, 5000000, note_too_late, &log, 0);
	CHECK(engine_run(log.engine) == ENGINE_FAILED);
	CHECK_TEXT(engine_failure(log.engine),
		   "at 0.000005000000 s (event 1): event scheduled 0.000002000000 s in the past");
	CHECK(log.count == 0);
	arena_free(arena);
}

static void null_trace_records_nothing(void)
{
	CHECK(trace_track(NULL, "gpu0", "stream 1") == 0);
	trace_span(NULL, 7, SPAN_KERNEL, "conv1", 10, 20);
	CHECK(trace_span_count(NULL) == 0);
}

static void names_are_numbered_in_order_of_adding(void)
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

/* ---- events without ids ---- */

enum { STORM_SEEDS = 5000, STORM_EVENTS = 50000, STORM_TIMERS = 4 };

struct storm {
	struct engine *engine;
	bool without_ids;
	uint64_t random, made;
	struct event_id timers[STORM_TIMERS];
	uint64_t order; /* hash of the order of execution */
};

static uint64_t storm_random(struct storm *storm, uint64_t below)
{
	storm->random ^= storm->random << 13;
	storm->random ^= storm->random >> 7;
	storm->random ^= storm->random << 17;
	return storm->random % below;
}

/* Each event adds up to two events, often for the same time, and sets and cancels timers. */
static void storm_event(void *ctx, uint64_t arg)
{
	struct storm *storm = ctx;
	uint64_t now = (uint64_t)engine_now_ps(storm->engine);
	storm->order = (storm->order ^ arg ^ now << 20) * 0x9E3779B97F4A7C15u;
	storm->order ^= storm->order >> 29;
	/* 0, 1 or 2; fewer than one survives on average */
	uint64_t added = storm_random(storm, 6) / 2;
	added -= added > 0 && storm_random(storm, 3) == 0;
	for (; added > 0 && storm->made < STORM_EVENTS; added--) {
		int64_t delay_ps = (int64_t)storm_random(storm, 6);
		if (storm->without_ids)
			engine_do_after(storm->engine, delay_ps, storm_event, storm, storm->made++);
		else
			engine_after(storm->engine, delay_ps, storm_event, storm, storm->made++);
	}
	if (storm_random(storm, 5) > 0 || storm->made >= STORM_EVENTS)
		return;
	struct event_id *timer = &storm->timers[storm_random(storm, STORM_TIMERS)];
	storm->order += engine_cancel(storm->engine, *timer);
	*timer = engine_after(storm->engine, (int64_t)storm_random(storm, 6), storm_event, storm,
			      storm->made++);
}

static struct storm storm_run(bool without_ids)
{
	struct arena *arena = arena_new();
	struct storm storm = {
		.engine = engine_new(arena, NULL), .without_ids = without_ids, .random = 88172645};
	for (int i = 0; i < STORM_SEEDS; i++)
		engine_at(storm.engine, (int64_t)30 * i, storm_event, &storm, storm.made++);
	CHECK(engine_run(storm.engine) == ENGINE_DRAINED);
	CHECK(storm.made > 2 * STORM_SEEDS);
	storm.random = engine_events_count(storm.engine);
	arena_free(arena);
	return storm;
}

/* Events without ids may bypass the queue, but the order must be the same. */
static void events_without_ids_run_in_the_same_order(void)
{
	struct storm with = storm_run(false), without = storm_run(true);
	CHECK(with.order == without.order);
	CHECK(with.random == without.random); /* the same number of events ran */
}

struct told {
	struct engine *engine;
	uint64_t events[8], events_max;
	size_t count;
};

static void tell(void *ctx, uint64_t events, uint64_t events_max)
{
	struct told *told = ctx;
	told->events[told->count++ % 8] = events;
	told->events_max = events_max;
}

static void again(void *ctx, uint64_t arg)
{
	engine_after(((struct told *)ctx)->engine, 10, again, ctx, 0);
}

/* Every 2^20 events, and at the end. */
static void watch_is_told_of_events_and_their_maximum(void)
{
	struct arena *arena = arena_new();
	struct told told = {0};
	const struct engine_watch watch = {tell, &told};
	const struct engine_limits limits = {.events_max = 2500000, .watch = &watch};
	told.engine = engine_new(arena, &limits);
	again(&told, 0);
	CHECK(engine_run(told.engine) == ENGINE_EVENTS);
	CHECK(told.count == 3 && told.events_max == 2500000);
	CHECK(told.events[0] == 1 << 20 && told.events[1] == 2 << 20 && told.events[2] == 2500000);
	arena_free(arena);
}

static void no_event_is_lost_at_a_limit(void)
{
	struct arena *arena = arena_new();
	const struct engine_limits limits = {.time_max_ps = 20};
	struct log log = {.engine = engine_new(arena, &limits)};
	engine_do_at(log.engine, 30, note, &log, 1);
	CHECK(engine_run(log.engine) == ENGINE_TIME);
	engine_do_at(log.engine, 10, note, &log, 2);
	engine_do_at(log.engine, 10, note, &log, 3);
	CHECK(engine_run(log.engine) == ENGINE_TIME);
	CHECK(log.count == 2 && log.args[0] == 2 && log.args[1] == 3);
	CHECK(engine_now_ps(log.engine) == 10);
	arena_free(arena);
}

static void sum_of_waits_stays_at_its_maximum(void)
{
	struct arena *arena = arena_new();
	struct engine *engine = engine_new(arena, NULL);
	engine_wait_add(engine, WAIT_POLL, INT64_MAX - 1);
	CHECK(engine_wait_ps(engine, WAIT_POLL) == INT64_MAX - 1);
	engine_wait_add(engine, WAIT_POLL, 2);
	engine_wait_add(engine, WAIT_POLL, 5);
	CHECK(engine_wait_ps(engine, WAIT_POLL) == INT64_MAX);
	CHECK(engine_wait_ps(engine, WAIT_CYCLE) == 0);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(equal_times_run_in_insertion_order),
	TEST(event_for_the_current_time_runs_after_pending_ones),
	TEST(passing_never_skips_another_event),
	TEST(events_can_add_events),
	TEST(cancelled_events_never_run),
	TEST(thousands_of_events_run_in_time_order),
	TEST(stopped_run_can_be_continued),
	TEST(run_ends_at_its_limits),
	TEST(first_failure_is_kept),
	TEST(seconds_are_rounded_to_picoseconds),
	TEST(trace_keeps_spans_on_their_tracks),
	TEST(events_in_the_past_fail_the_run),
	TEST(null_trace_records_nothing),
	TEST(names_are_numbered_in_order_of_adding),
	TEST(events_without_ids_run_in_the_same_order),
	TEST(watch_is_told_of_events_and_their_maximum),
	TEST(no_event_is_lost_at_a_limit),
	TEST(sum_of_waits_stays_at_its_maximum),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
