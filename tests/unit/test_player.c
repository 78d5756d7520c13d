/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expected times are added by hand from the numbers of cuda_world.h. */
#include "sim/workload/player_internal.h"
#include "sim/engine/trace.h"
#include "tests/cuda_world.h"

static struct world w;

static void setup(void)
{
	memset(&w, 0, sizeof w);
	world_presets(&w);
}

/* ---- a port whose calls take 10 us or no time ---- */

struct slow_port {
	struct cuda_port port;
	call_done_fn *done[4]; /* by thread: completion of the call in progress */
	void *ctx[4];
	uint64_t arg[4];
	int64_t takes_ps;        /* 0: returns inside the call */
	size_t calls[4];         /* by thread */
	size_t pending_count;    /* queries of event 0 that find it pending */
	size_t queries_count[2]; /* of event i on device i */
};
static struct slow_port slow;

static void slow_return(void *ctx, uint64_t thread)
{
	slow.done[thread](slow.ctx[thread], slow.arg[thread], CALL_OK);
}

static void slow_call(struct cuda_port *port, unsigned thread, struct cpu *core,
		      const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg)
{
	CHECK(port == &slow.port && thread < 4);
	slow.calls[thread]++;
	bool queries = call->kind == CALL_EVENT_QUERY;
	if (queries && call->event < 2 && call->event == call->device)
		slow.queries_count[call->device]++;
	slow.done[thread] = done;
	slow.ctx[thread] = ctx;
	slow.arg[thread] = arg;
	if (slow.takes_ps > 0)
		engine_after(w.engine, slow.takes_ps, slow_return, NULL, thread);
	else if (queries && call->event == 0 && slow.pending_count > 0 && slow.pending_count--)
		done(ctx, arg, CALL_NOT_READY);
	else
		done(ctx, arg, CALL_OK);
}

/* ---- playing ---- */

static size_t steps_seen;
static size_t stop_after; /* 0: never */
static int64_t pause_ps;  /* pause after the first step */

static bool step_done(void *ctx, struct player *player, const struct step_record *record)
{
	CHECK(ctx == &w);
	CHECK(record == player_step_at(player, steps_seen));
	steps_seen++;
	CHECK(player_step_count(player) == steps_seen);
	if (pause_ps > 0 && steps_seen == 1)
		player_pause(player, pause_ps);
	return steps_seen != stop_after;
}

static struct player *play(const struct program *program, struct cuda_port *port,
			   struct cuda_process *process, uint32_t steps_max)
{
	struct cuda_process **processes = ARENA_NEW(w.arena, struct cuda_process *);
	*processes = process ? process : world_process(&w, 1, 1);
	struct player_spec spec = {
		.arena = w.arena,
		.engine = w.engine,
		.name = "client",
		.program = program,
		.port = port,
		.guest = w.guest,
		.guest_work = w.guest_work,
		.processes = processes,
		.device_count = 1,
		.steps_max = steps_max,
		.step_done = step_done,
		.ctx = &w,
	};
	steps_seen = 0;
	struct player *player = player_new(&spec);
	player_start(player);
	world_run(&w);
	return player;
}

static struct player *play_slow(const struct program *program, int64_t takes_ps, uint32_t steps_max)
{
	slow = (struct slow_port){.port = {.call = slow_call}, .takes_ps = takes_ps};
	return play(program, &slow.port, NULL, steps_max);
}

static struct player *play_locally(const struct program *program, uint32_t steps_max)
{
	struct cuda_process *process =
		world_process(&w, program->stream_count, program->event_count);
	return play(program, cuda_process_port(process), process, steps_max);
}

static void check_times(const struct step_record *record, double think_us, double call_us,
			double wait_us)
{
	CHECK_NEAR(record->thread_s[TIME_THINK], think_us * US, 1e-9);
	CHECK_NEAR(record->thread_s[TIME_CALL], call_us * US, 1e-9);
	CHECK_NEAR(record->thread_s[TIME_WAIT], wait_us * US, 1e-9);
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
/* clang-format off */
#define THINK(us) {.kind = ITEM_THINK, .work_s = (us) * US}
#define CALL(kind_) {.kind = ITEM_CALL, .call = {.kind = kind_}}
#define LAUNCH(us) {.kind = ITEM_CALL, .call = {.kind = CALL_LAUNCH, .duration_s = (us) * US}}
#define RECORD(event_) {.kind = ITEM_CALL, .call = {.kind = CALL_EVENT_RECORD, .event = event_}}
#define POST(signal_) {.kind = ITEM_POST, .signal = signal_}
#define AWAIT(signal_, count_) {.kind = ITEM_AWAIT, .signal = signal_, .count = count_}
#define WATCH(event_, signal_) {.kind = ITEM_WATCH, .signal = signal_, .call = {.event = event_}}
/* clang-format on */

/* Thread 0: think 5, call 10, wait for the second post of thread 1, call 10. Thread 1: think 20,
 * post, think 20, post, think 30: 70. */
static const struct item main_items[] = {
	THINK(5), CALL(CALL_LIBRARY), AWAIT(0, 2), {.kind = ITEM_STEP_MARK}, CALL(CALL_LIBRARY)};
static const struct item helper_items[] = {THINK(20), POST(0), THINK(20), POST(0), THINK(30)};
static const struct call_thread two_threads[] = {{"main", main_items, COUNT(main_items)},
						 {"helper", helper_items, COUNT(helper_items)}};
static const struct program two_thread_program = {
	.threads = two_threads, .thread_count = 2, .signal_count = 1};

/* A signal that was posted before does not delay its waiter. */
static void posted_signal_lets_its_waiter_go_on(void)
{
	static const struct item items[] = {POST(0), AWAIT(0, 1), THINK(5)};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {
		.threads = &thread, .thread_count = 1, .signal_count = 1};
	setup();
	world_build(&w);
	stop_after = 0;
	const struct player *player = play_slow(&program, 0, 1);
	if (CHECK(player_step_count(player) == 1))
		check_times(player_step_at(player, 0), 5, 0, 0);
	world_release(&w);
}

/* An item can stand for several equal calls. */
static void repeated_calls_are_counted(void)
{
	static const struct item items[] = {
		CALL(CALL_LIBRARY),
		{.kind = ITEM_CALL, .call = {.kind = CALL_SET_DEVICE, .repeats = 3}}};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {.threads = &thread, .thread_count = 1};
	setup();
	world_build(&w);
	stop_after = 0;
	CHECK(player_step_at(play_slow(&program, 10000000, 1), 0)->calls_count == 1 + 4);
	world_release(&w);
}

static void threads_wait_for_signals_of_others(void)
{
	setup();
	world_build(&w);
	stop_after = 0;
	struct player *player = play_slow(&two_thread_program, 10000000, 3);
	CHECK(steps_seen == 3 && player_step_count(player) == 3);
	for (size_t i = 0; i < 3; i++) {
		const struct step_record *record = player_step_at(player, i);
		CHECK_US(record->start_ps, 70 * (double)i);
		CHECK_US(record->mark_ps, 70 * (double)i + 40);
		CHECK_US(record->end_ps, 70 * (double)(i + 1));
		/* waits 15..40 for the signal and 50..70 for the end of the helper */
		check_times(record, 5, 20, 45);
		CHECK(record->calls_count == 2 && record->polls_count == 0);
		CHECK_NEAR(record->gpu_busy_s, 0, 0);
	}
	CHECK(slow.calls[0] == 6 && slow.calls[1] == 0);
	world_release(&w);
}

static void stopped_player_plays_no_further_step(void)
{
	setup();
	world_build(&w);
	stop_after = 2;
	play_slow(&two_thread_program, 10000000, 100);
	CHECK(steps_seen == 2);
	CHECK_US(engine_now_ps(w.engine), 140);
	world_release(&w);
}

/* A port may return inside the call; a long list must not overflow the stack. */
static void calls_that_return_at_once_do_not_overflow_the_stack(void)
{
	enum { CALLS = 300000 };
	struct item *items;
	struct call_thread thread = {.name = "main", .count = CALLS + 1};
	struct program program = {.threads = &thread, .thread_count = 1};
	struct player *player;
	setup();
	world_build(&w);
	stop_after = 0;
	items = ARENA_ARRAY(w.arena, CALLS + 1, struct item);
	for (int i = 0; i < CALLS; i++)
		items[i] = (struct item)CALL(CALL_GET_DEVICE);
	items[CALLS] = (struct item)THINK(7);
	thread.items = items;
	player = play_slow(&program, 0, 1);
	CHECK(player_step_at(player, 0)->calls_count == CALLS);
	check_times(player_step_at(player, 0), 7, 0, 0);
	world_release(&w);
}

/* Launch 5 and synchronise: the kernel runs 9..109, the call returns at 110.5; each step is the
 * same. */
static void gpu_time_is_counted_for_each_step(void)
{
	static const struct item items[] = {LAUNCH(100), CALL(CALL_DEVICE_SYNCHRONIZE)};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {
		.threads = &thread, .thread_count = 1, .stream_count = 1};
	setup();
	world_build(&w);
	stop_after = 0;
	struct player *player = play_locally(&program, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct step_record *record = player_step_at(player, i);
		CHECK_US(record->end_ps, 110.5 * (double)(i + 1));
		CHECK(record->mark_ps == record->end_ps);
		CHECK_NEAR(record->gpu_busy_s, 100 * US, 1e-9);
		check_times(record, 0, 110.5, 0);
	}
	world_release(&w);
}

/* The GPU works 10000 us; the event is recorded at 7 and watched at once. The poller takes 3 for a
 * query and sleeps 10: queries begin at 7, 20, 33 ... and read the state 3 later. The kernel ends
 * at 9 + 10000. The first read at or after 10009 is that of query n (from 0) with 10 + 13 n >=
 * 10009, n = 770: 10020. So there are 771 queries. */
static const struct item watch_items[] = {LAUNCH(10000), RECORD(0), WATCH(0, 0), AWAIT(0, 1)};
static const struct call_thread watch_thread = {"main", watch_items, COUNT(watch_items)};

static void number_of_polls_follows_from_time_and_round_trip(void)
{
	static const struct program program = {.threads = &watch_thread,
					       .thread_count = 1,
					       .stream_count = 1,
					       .event_count = 1,
					       .signal_count = 1,
					       .poller = {.enabled = true, .sleep_s = 10 * US}};
	setup();
	world_build(&w);
	stop_after = 0;
	struct player *player = play_locally(&program, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct step_record *record = player_step_at(player, i);
		CHECK(record->polls_count == 771);
		CHECK(record->calls_count == 2);
		CHECK_US(record->end_ps, 10020 * (double)(i + 1));
		check_times(record, 0, 7, 10013);
	}
	world_release(&w);
}

/* Without a poller the signal comes at the kernel's end, and no call queries it. */
static void watch_without_a_poller_makes_no_call(void)
{
	static const struct program program = {.threads = &watch_thread,
					       .thread_count = 1,
					       .stream_count = 1,
					       .event_count = 1,
					       .signal_count = 1};
	setup();
	world_build(&w);
	stop_after = 0;
	struct player *player = play_locally(&program, 3);
	for (size_t i = 0; i < 3; i++) {
		CHECK(player_step_at(player, i)->polls_count == 0);
		CHECK_US(player_step_at(player, i)->end_ps, 10009 * (double)(i + 1));
	}
	world_release(&w);
}

/* Two events are pending, of a kernel that ends at 109 and of one on another stream that shares the
 * GPU and ends later. A sweep queries both, which takes 6, and then sleeps 10. */
static void sweep_queries_every_pending_event(void)
{
	static const struct item items[] = {
		LAUNCH(100),
		RECORD(0),
		{.kind = ITEM_CALL,
		 .call = {.kind = CALL_LAUNCH, .stream = 1, .duration_s = 200 * US}},
		{.kind = ITEM_CALL, .call = {.kind = CALL_EVENT_RECORD, .stream = 1, .event = 1}},
		WATCH(0, 0),
		WATCH(1, 1),
		AWAIT(0, 1),
		{.kind = ITEM_STEP_MARK},
		AWAIT(1, 1),
	};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {.threads = &thread,
					       .thread_count = 1,
					       .stream_count = 2,
					       .event_count = 2,
					       .signal_count = 2,
					       .poller = {.enabled = true, .sleep_s = 10 * US}};
	setup();
	world_build(&w);
	stop_after = 0;
	const struct step_record *record = player_step_at(play_locally(&program, 1), 0);
	/* Kernel 0 starts at 9; kernel 1 at 12 + 4 = 16, when 0 has done 7. Its other 93 take 186,
	 * until 202; kernel 1 then has 107 left: 309. Both are watched at 14: sweeps begin at 14 +
	 * 16 n and read at 17 and 20 + 16 n. Event 0 is seen at 17 + 16 x 12 = 209, after 13 sweeps
	 * with 25 queries; the 26th sees event 1 pending at 212. Then one event is left: reads at
	 * 225 + 13 n. The first from 309 on is 225 + 13 x 7 = 316: 8 more queries. */
	CHECK_US(record->mark_ps, 209);
	CHECK_US(record->end_ps, 316);
	CHECK(record->polls_count == 26 + 8);
	world_release(&w);
}

/* Event 0 of device 0 is pending in two rounds. Event 1 of device 1 is complete in the first. */
static void events_are_queried_on_their_devices(void)
{
	static const struct item items[] = {
		WATCH(0, 0),
		{.kind = ITEM_WATCH, .signal = 1, .call = {.event = 1, .device = 1}},
		AWAIT(0, 1),
		AWAIT(1, 1),
	};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {.threads = &thread,
					       .thread_count = 1,
					       .event_count = 2,
					       .signal_count = 2,
					       .poller = {.enabled = true, .sleep_s = 10 * US}};
	setup();
	world_build(&w);
	stop_after = 0;
	slow = (struct slow_port){.port = {.call = slow_call}, .pending_count = 2};
	const struct player *player = play(&program, &slow.port, NULL, 1);
	CHECK(slow.queries_count[0] == 3 && slow.queries_count[1] == 1);
	CHECK(player_step_at(player, 0)->polls_count == 4);
	world_release(&w);
}

/* With the lock, two kernels of 50 and of 300 follow each other, with one event behind each. The
 * first is watched at 7. The poller takes the lock, but the second launch has the driver until 12,
 * so its query takes until 15. The thread waits for that round from 12 on, wakes up in 1 and
 * records from 16 to 18. It still has the lock and queries event 0 until 21 (count = 1). The event
 * is pending, so it stops. The poller begins rounds of two queries at 25 + 16 n and reads event 0
 * at 28 + 16 n. Kernel 0 ends at 59, seen at 60 in the third round, which ends at 63. Then one
 * event is left, read at 76 + 13 n. Kernel 1 ends at 360, seen at 76 + 13 x 22 = 362. */
static void record_waits_for_the_round_of_the_poller(void)
{
	static const struct item items[] = {
		LAUNCH(50),
		RECORD(0),
		WATCH(0, 0),
		LAUNCH(300),
		RECORD(1),
		{.kind = ITEM_WATCH, .signal = 1, .call = {.event = 1}, .count = 1},
		{.kind = ITEM_STEP_MARK},
		AWAIT(1, 1),
	};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {.threads = &thread,
					       .thread_count = 1,
					       .stream_count = 1,
					       .event_count = 2,
					       .signal_count = 2,
					       .poller = {true, 10 * US, true}};
	setup();
	w.guest_params.thread_wake_s = 1 * US;
	world_build(&w);
	stop_after = 0;
	const struct step_record *record = player_step_at(play_locally(&program, 1), 0);
	CHECK_US(record->mark_ps, 21);
	CHECK_US(record->end_ps, 362);
	CHECK(record->polls_count == 1 + 1 + 2 * 3 + 23);
	world_release(&w);
}

/* A thread holds the lock from its second record (19) to its second watch (21). The poller queried
 * event 0 from 7 to 10 and wants to begin a round at 20. It gets the lock at 21 and wakes up in 1:
 * its round of two queries ends at 28. Then it sleeps, so further rounds begin at 38 and at 54. The
 * kernel ends at
 * 59. The last of these rounds finds event 0 pending at 57 and event 1 complete at 60, and the next
 * one, which begins at 70, finds event 0 at 73. */
static void poller_that_waited_for_the_lock_sleeps_after_its_round(void)
{
	static const struct item items[] = {
		LAUNCH(50), RECORD(0),   WATCH(0, 0), THINK(12),
		RECORD(1),  WATCH(1, 1), AWAIT(0, 1), AWAIT(1, 1),
	};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {.threads = &thread,
					       .thread_count = 1,
					       .stream_count = 1,
					       .event_count = 2,
					       .signal_count = 2,
					       .poller = {true, 10 * US, true}};
	setup();
	w.guest_params.thread_wake_s = 1 * US;
	world_build(&w);
	stop_after = 0;
	const struct step_record *record = player_step_at(play_locally(&program, 1), 0);
	CHECK_US(record->end_ps, 73);
	CHECK(record->polls_count == 1 + 2 * 3 + 1);
	world_release(&w);
}

/* Each step watches a kernel of 130 and a copy of 100 with one signal and continues at the first
 * post, the copy's, at 113. The kernel of the first step ends at 139, in the second step, and must
 * not end that step. It ends with its own copy, at 226. */
static void late_watch_does_not_end_the_next_step(void)
{
	static const struct item items[] = {
		{.kind = ITEM_CALL,
		 .call = {.kind = CALL_LAUNCH, .stream = 1, .duration_s = 130 * US}},
		{.kind = ITEM_CALL, .call = {.kind = CALL_EVENT_RECORD, .stream = 1, .event = 1}},
		{.kind = ITEM_CALL, .call = {.kind = CALL_MEMCPY_D2H_ASYNC, .payload_B = 1e6}},
		RECORD(0),
		WATCH(1, 0),
		WATCH(0, 0),
		AWAIT(0, 1),
	};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {.threads = &thread,
					       .thread_count = 1,
					       .stream_count = 2,
					       .event_count = 2,
					       .signal_count = 1};
	setup();
	world_build(&w);
	stop_after = 0;
	struct player *player = play_locally(&program, 2);
	CHECK_US(player_step_at(player, 0)->end_ps, 113);
	CHECK_US(player_step_at(player, 1)->end_ps, 226);
	world_release(&w);
}

static void threads_have_spans_in_the_trace(void)
{
	struct trace *trace;
	size_t calls = 0, waits = 0;
	setup();
	world_build(&w);
	trace = trace_new(w.arena);
	engine_trace_set(w.engine, trace);
	stop_after = 0;
	play_slow(&two_thread_program, 10000000, 1);
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		if (strcmp(trace_track_name(trace, span->track), "main") != 0)
			continue;
		CHECK_TEXT(trace_track_group(trace, span->track), "client");
		if (span->kind == SPAN_CALL) {
			CHECK_TEXT(span->name, "libraryCall");
			CHECK_US(span->end_ps - span->start_ps, 10);
			calls++;
		} else if (span->kind == SPAN_WAIT) {
			CHECK_US(span->start_ps, 15);
			CHECK_US(span->end_ps, 40);
			waits++;
		}
	}
	CHECK(calls == 2 && waits == 1);
	world_release(&w);
}

/* Twenty steps of 5 us without a limit except step_done's, and 50 us after the first one, which
 * belong to no step. */
static void pause_between_steps_belongs_to_no_step(void)
{
	static const struct item items[] = {THINK(5)};
	static const struct call_thread thread = {"main", items, 1};
	static const struct program program = {.threads = &thread, .thread_count = 1};
	struct player *player;
	setup();
	world_build(&w);
	stop_after = 20;
	pause_ps = 50000000;
	player = play_slow(&program, 10000000, 0);
	pause_ps = 0;
	CHECK(player_step_count(player) == 20);
	CHECK_US(player_step_at(player, 0)->end_ps, 5);
	CHECK_US(player_step_at(player, 1)->start_ps, 55);
	for (size_t i = 1; i < 20; i++) {
		CHECK_US(player_step_at(player, i)->start_ps, 55 + 5 * (double)(i - 1));
		check_times(player_step_at(player, i), 5, 0, 0);
	}
	world_release(&w);
}

/* A virtual machine adds half of a program's work. */
static void guest_adds_to_the_programs_own_work(void)
{
	static const struct item items[] = {THINK(20)};
	static const struct call_thread thread = {"main", items, 1};
	static const struct program program = {.threads = &thread, .thread_count = 1};

	for (int guest_work = 0; guest_work <= 1; guest_work++) {
		setup();
		w.guest_params.kind = GUEST_VM;
		w.guest_params.work_cost_ratio = 0.5;
		w.guest_work = guest_work;
		world_build(&w);
		stop_after = 0;
		struct player *player = play_slow(&program, 10000000, 1);
		CHECK_US(player_step_at(player, 0)->end_ps, guest_work ? 30 : 20);
		world_release(&w);
	}
}

static struct player *planted;

static void plant_time(void *ctx, uint64_t arg)
{
	planted->threads[0].spent_ps[TIME_THINK] += (int64_t)arg;
}

static void plant_idle(void *ctx, uint64_t arg)
{
	planted->idle_ps[TIME_THINK] += (int64_t)arg * 1000000;
}

/* Thread 0 thinks for 20 us; the plants add a picosecond, or a microsecond of idle GPU. */
static void step_parts_with_a_wrong_sum_stop_the_run(void)
{
	static const struct item items[] = {THINK(20), THINK(20)};
	static const struct call_thread thread = {"main", items, COUNT(items)};
	static const struct program program = {.threads = &thread, .thread_count = 1};
	static event_fn *const plants[] = {plant_time, plant_idle};
	static const char *const words[] = {
		"client: step 0 takes 0.000040000000 s, but its parts add up to 0.000040000001 s",
		"client: step 0 takes 0.000040000000 s, but the GPU's times add up to "
		"0.000041000000 s"};
	for (int i = 0; i < 2; i++) {
		setup();
		world_build(&w);
		slow = (struct slow_port){.port = {.call = slow_call}};
		stop_after = 0;
		struct cuda_process *process = world_process(&w, 1, 1);
		const struct player_spec spec = {.arena = w.arena,
						 .engine = w.engine,
						 .name = "client",
						 .program = &program,
						 .port = &slow.port,
						 .guest = w.guest,
						 .processes = &process,
						 .device_count = 1,
						 .steps_max = 1};
		planted = player_new(&spec);
		CHECK_TEXT(player_waiting(planted, w.arena),
			   "step 0, which has not begun or has just ended");
		player_start(planted);
		engine_at(w.engine, 30000000, plants[i], NULL, 1);
		CHECK(engine_run(w.engine) == ENGINE_FAILED);
		CHECK_PART(engine_failure(w.engine), words[i]);
		world_release(&w);
	}
}

static const struct test tests[] = {
	TEST(repeated_calls_are_counted),
	TEST(threads_wait_for_signals_of_others),
	TEST(stopped_player_plays_no_further_step),
	TEST(calls_that_return_at_once_do_not_overflow_the_stack),
	TEST(gpu_time_is_counted_for_each_step),
	TEST(number_of_polls_follows_from_time_and_round_trip),
	TEST(watch_without_a_poller_makes_no_call),
	TEST(events_are_queried_on_their_devices),
	TEST(record_waits_for_the_round_of_the_poller),
	TEST(poller_that_waited_for_the_lock_sleeps_after_its_round),
	TEST(sweep_queries_every_pending_event),
	TEST(late_watch_does_not_end_the_next_step),
	TEST(threads_have_spans_in_the_trace),
	TEST(pause_between_steps_belongs_to_no_step),
	TEST(guest_adds_to_the_programs_own_work),
	TEST(step_parts_with_a_wrong_sum_stop_the_run),
	TEST(posted_signal_lets_its_waiter_go_on),
};

int main(void)
{
	return TEST_MAIN(tests);
}
