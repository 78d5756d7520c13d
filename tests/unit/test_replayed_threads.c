/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs of recordings with several threads, streams, events and steps. Each test has two unequal
 * ones and derives the items of the program by hand. Nothing runs here: test_replay.c plays
 * programs. */
#include "sim/base/diag.h"
#include "sim/traces/replay.h"
#include "tests/test.h"

static const double US = 1e-6;
static const struct calls_params as_recorded = {
	.kernel_ratio = 1, .think_ratio = 1, .copies_ratio = 1, .arguments_B = 120};
static const char launch[] = "cudaLaunchKernel", record[] = "cudaEventRecord",
		  wait[] = "cudaStreamWaitEvent", alloc[] = "cudaHostAlloc";

static struct recorded_call call_at(uint32_t thread, const char *function, double start_s,
				    double end_s, int64_t stream, int64_t event)
{
	return (struct recorded_call){.start_s = start_s,
				      .end_s = end_s,
				      .gpu_start_s = -1,
				      .gpu_s = function == launch ? US : -1,
				      .function = function,
				      .stream = stream,
				      .event = event,
				      .thread = thread};
}

/* Returns the program of the calls, of the whole recording or of its only step. */
static const struct program *program_of(struct arena *arena, struct recorded_call *calls,
					size_t count, struct recorded_mark *marks,
					size_t mark_count, const struct calls_params *params)
{
	struct recorded_calls recorded = {.tool = "",
					  .gpu = "",
					  .calls = calls,
					  .call_count = count,
					  .marks = marks,
					  .mark_count = mark_count};
	struct replay_step step;
	struct diag *diag = diag_new(arena);
	recorded_calls_settle(arena, &recorded);
	CHECK(replay_step_find(diag, (struct origin){NULL, 0}, &recorded, params, &step));
	return replay_program(arena, &(struct replay_spec){.recorded = &recorded,
							   .step = &step,
							   .params = params,
							   .host_clock_Hz = REFERENCE_CLOCK_HZ});
}

/* Prints a thread's items: C a call, P a poll, T a think, A and S a signal that is awaited or
 * posted. */
static void items_are(const struct program *program, size_t thread, const char *wanted)
{
	static const char letters[] = {[ITEM_CALL] = 'C',
				       [ITEM_POLL] = 'P',
				       [ITEM_THINK] = 'T',
				       [ITEM_AWAIT] = 'A',
				       [ITEM_POST] = 'S'};
	char text[64] = "";
	for (size_t i = 0; i < program->threads[thread].count && i < sizeof text - 1; i++)
		text[i] = letters[program->threads[thread].items[i].kind];
	CHECK_TEXT(text, wanted);
}

static double call_host_s(const struct program *program, size_t thread, size_t index)
{
	for (size_t i = 0; i < program->threads[thread].count; i++)
		if (program->threads[thread].items[i].kind == ITEM_CALL && index-- == 0)
			return program->threads[thread].items[i].call.host_s;
	return -1;
}

/* Launches of thread 0 take 4, 6 and 500 us and its records 3, 1 and 2; launches of thread 1 take
 * 20, 40 and 30. Each call takes at most the median of its function in its thread. */
static void each_thread_has_the_medians_of_its_functions(void)
{
	static const double rows[3][3] = {{4, 6, 500}, {3, 1, 2}, {20, 40, 30}};
	static const double wanted[3][3] = {{4, 6, 6}, {2, 1, 2}, {20, 30, 30}};
	struct arena *arena = arena_new();
	struct calls_params params = as_recorded;
	struct recorded_call calls[9];
	params.host = CALLS_HOST_RECORDED;
	for (size_t i = 0; i < 9; i++) {
		double start_s = (double)(i < 6 ? i : i - 6) * 1e-3;
		calls[i] = call_at(i < 6 ? 0 : 1, i < 3 || i > 5 ? launch : record, start_s,
				   start_s + rows[i / 3][i % 3] * US, 7, i < 3 || i > 5 ? -1 : 5);
	}
	const struct program *program = program_of(arena, calls, 9, NULL, 0, &params);
	for (size_t i = 0; i < 9 && CHECK(program->thread_count == 2); i++)
		CHECK_NEAR(call_host_s(program, i / 6, i < 6 ? i : i - 6),
			   wanted[i / 3][i % 3] * US, 1e-6);
	arena_free(arena);
}

/* Thread 0 records event 5 and thread 1 event 6; thread 2 waits for one of them, for an event that
 * no thread records, or before the record has ended. */
static void a_wait_is_for_the_thread_that_recorded_its_event(void)
{
	static const struct {
		int64_t event;
		double start_us;
		int poster; /* -1: none */
	} rows[] = {{5, 40, 0}, {6, 40, 1},  {4, 40, -1}, {7, 40, -1},
		    {5, 9, -1}, {6, 19, -1}, {5, 10, 0},  {6, 20, 1}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		struct recorded_call calls[] = {
			call_at(0, record, 5 * US, 10 * US, 7, 5),
			call_at(1, record, 6 * US, 20 * US, 8, 6),
			call_at(2, launch, 7 * US, 8 * US, 9, -1),
			call_at(2, wait, rows[i].start_us * US, 45 * US, 9, rows[i].event)};
		const struct program *program = program_of(arena, calls, 4, NULL, 0, &as_recorded);
		/* thread 2 ends the recording, so it is the first one */
		items_are(program, 0, rows[i].poster < 0 ? "TCTC" : "TCTAC");
		items_are(program, 1, rows[i].poster == 0 ? "CS" : "C");
		items_are(program, 2, rows[i].poster == 1 ? "TCS" : "TC");
		arena_free(arena);
	}
}

/* A thread asks for two things in turn: events 3 and 4, streams 3 and 4, or event 3 and stream 3.
 * The queries begin at 10, 20, 30 and 50 and take 2. The first is ready at the third and the other
 * at the last one. Their polls sleep 30 - 12 and 50 - 22. The times between queries are not work;
 * those before and after them are. */
static void overlap(bool streams, bool kinds)
{
	static const double starts_us[] = {10, 20, 30, 50};
	struct arena *arena = arena_new();
	struct recorded_call calls[6];
	for (size_t i = 0; i < 4; i++) {
		bool of_stream = kinds ? i % 2 == 1 : streams;
		int64_t number = kinds ? 3 : 3 + (int64_t)i % 2;
		calls[i] = call_at(0, of_stream ? "cudaStreamQuery" : "cudaEventQuery",
				   starts_us[i] * US, (starts_us[i] + 2) * US,
				   of_stream ? number : -1, of_stream ? -1 : number);
		calls[i].ready = i < 2 ? READY_NO : READY_YES;
	}
	calls[4] = call_at(0, launch, 70 * US, 75 * US, 7, -1);
	calls[5] = call_at(0, launch, 0, 5 * US, 7, -1);
	const struct program *program = program_of(arena, calls, 6, NULL, 0, &as_recorded);
	items_are(program, 0, "CTPPTC");
	const struct item *items = program->threads[0].items;
	CHECK_NEAR(items[1].work_s, 5 * US, 1e-6);
	CHECK_NEAR(items[2].work_s, 18 * US, 1e-6);
	CHECK_NEAR(items[3].work_s, 28 * US, 1e-6);
	CHECK_NEAR(items[4].work_s, 18 * US, 1e-6);
	CHECK((items[2].call.event != items[3].call.event) == (kinds || !streams));
	CHECK((items[2].call.stream != items[3].call.stream) == (kinds || streams));
	CHECK((items[2].call.kind == items[3].call.kind) == !kinds);
	arena_free(arena);
}

static void polls_for_two_events_or_streams_can_overlap(void)
{
	overlap(false, false);
	overlap(true, false);
	overlap(false, true);
}

/* A thread waits for another one that fills half of its gap, and does not if it fills less. Shorter
 * gaps than 50 us are its own work. Times are powers of two, so that a half is exact. */
static void a_thread_that_fills_half_of_a_gap_is_awaited(void)
{
	static const struct {
		double unit_s, filled;
		const char *items; /* S if thread 1 waits for the first launch, A for its call */
		size_t think;
	} rows[] = {{0x1p-14, 2, "CSATC", 3}, {0x1p-14, 1.75, "CSTC", 2}, {0x1p-17, 2, "CTC", 1}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		double u = rows[i].unit_s;
		struct arena *arena = arena_new();
		struct recorded_call calls[] = {
			call_at(0, launch, 0, u, 7, -1), call_at(0, launch, 5 * u, 6 * u, 7, -1),
			call_at(1, alloc, u, u + rows[i].filled * u, -1, -1)};
		const struct program *program = program_of(arena, calls, 3, NULL, 0, &as_recorded);
		items_are(program, 0, rows[i].items);
		const struct item *think = &program->threads[0].items[rows[i].think];
		CHECK_NEAR(think->work_s, (i == 0 ? 2 : 4) * u, 1e-12);
		arena_free(arena);
	}
}

/* Two threads have calls in both steps; thread 1 marks them. It is the first one of the program,
 * and only calls that begin in the step belong to it. Its end is awaited, too. */
static void a_step_has_the_calls_of_all_threads_that_begin_in_it(void)
{
	struct arena *arena = arena_new();
	struct recorded_call calls[] = {call_at(0, launch, 10 * US, 15 * US, 7, -1),
					call_at(0, launch, 95 * US, 105 * US, 7, -1),
					call_at(0, launch, 110 * US, 190 * US, 9, -1),
					call_at(1, launch, 20 * US, 25 * US, 8, -1),
					call_at(1, launch, 100 * US, 106 * US, 8, -1),
					call_at(1, launch, 200 * US, 205 * US, 8, -1)};
	struct recorded_mark marks[] = {{.t_s = 100 * US, .step = 4, .thread = 1},
					{.t_s = 200 * US, .step = 5, .thread = 1}};
	const struct program *program = program_of(arena, calls, 6, marks, 2, &as_recorded);
	CHECK(program->thread_count == 2 && program->stream_count == 2);
	CHECK_TEXT(program->threads[0].name, "thread 1");
	CHECK_TEXT(program->threads[1].name, "thread 0");
	/* its own first launch, the wait for the other thread's launch until 190, and 10 us */
	items_are(program, 0, "CAT");
	CHECK_NEAR(program->threads[0].items[2].work_s, 10 * US, 1e-6);
	items_are(program, 1, "TCS");
	CHECK_NEAR(program->threads[1].items[0].work_s, 10 * US, 1e-6);
	arena_free(arena);
}

/* Streams get numbers in the order of their use, also when there are more than fit in a table.
 * Calls without a stream share one. An event that is unknown to a wait is not that of any record.
 */
static void streams_and_events_are_numbered_in_the_order_of_their_use(void)
{
	enum { STREAMS = 40 };
	struct arena *arena = arena_new();
	struct recorded_call calls[2 * STREAMS + 4];
	for (size_t i = 0; i < 2 * STREAMS; i++)
		calls[i] = call_at(0, launch, (double)i * US, (double)i * US,
				   1000 - (int64_t)(i % STREAMS) * 16, -1);
	for (size_t i = 2 * STREAMS; i < 2 * STREAMS + 4; i++)
		calls[i] =
			call_at(0, i % 2 ? wait : record, (double)i * US, (double)i * US, -1, -1);
	const struct program *program =
		program_of(arena, calls, 2 * STREAMS + 4, NULL, 0, &as_recorded);
	CHECK(program->stream_count == STREAMS + 1 && program->event_count == 2);
	size_t index = 0;
	uint16_t events[4] = {0};
	for (size_t i = 0; i < program->threads[0].count; i++) {
		const struct item *item = &program->threads[0].items[i];
		if (item->kind != ITEM_CALL)
			continue;
		CHECK(item->call.stream == (index < 2 * STREAMS ? index % STREAMS : STREAMS));
		if (index >= 2 * STREAMS)
			events[index - 2 * STREAMS] = item->call.event;
		index++;
	}
	CHECK(index == 2 * STREAMS + 4);
	CHECK(events[0] == events[2] && events[1] == events[3] && events[0] != events[1]);
	arena_free(arena);
}

/* Rank 0 has steps 3 and 4; rank 1 has steps 2 to 4. A step has the same number in both. */
static void the_same_step_of_another_rank_is_found_by_its_number(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct recorded_call calls[3];
	struct recorded_mark marks[4];
	for (size_t i = 0; i < 4; i++)
		marks[i] = (struct recorded_mark){.t_s = (double)i * 100 * US,
						  .step = 2 + (uint32_t)i};
	for (size_t i = 0; i < 3; i++)
		calls[i] = call_at(0, launch, ((double)i * 100 + 10) * US,
				   ((double)i * 100 + 20) * US, 7, -1);
	struct recorded_calls recorded = {
		.calls = calls, .call_count = 3, .marks = marks, .mark_count = 4, .rank = 1};
	struct replay_step like = {.step = 3, .marked = true}, step;
	const struct origin nowhere = {NULL, 0};
	CHECK(replay_step_like(diag, nowhere, &recorded, &like, &step));
	CHECK(step.step == 3 && step.marked);
	CHECK_NEAR(step.start_s, 100 * US, 1e-9);
	CHECK_NEAR(step.end_s, 200 * US, 1e-9);
	like.step = 5; /* only its begin is recorded */
	CHECK(!replay_step_like(diag, nowhere, &recorded, &like, &step) && diag_count(diag) == 1);
	arena_free(arena);
}

/* Rank 3 of 4 plays the recording of rank 0 of 4. Collectives of pairs and of all ranks have other
 * communicators: its pair {2, 3} is the second one. A collective without bytes, and one of a single
 * rank, are the kernels that they started. */
static void a_rank_of_a_job_plays_the_collectives_of_its_own_groups(void)
{
	static const struct {
		double size_B;
		struct recorded_group group;
		enum call_kind kind;
		uint32_t peer;
	} rows[] = {{1000, {0, 2, 1}, CALL_ALL_REDUCE, 2},
		    {2000, {0, 0, 0}, CALL_ALL_REDUCE, 0},
		    {0, {0, 2, 1}, CALL_LAUNCH, 0},
		    {3000, {0, 1, 1}, CALL_LAUNCH, 0}};
	enum { COUNT = sizeof rows / sizeof rows[0] };
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct recorded_call calls[COUNT];
	for (size_t i = 0; i < COUNT; i++) {
		calls[i] = call_at(0, "ncclAllReduce", (double)i * US, (double)i * US, 7, -1);
		calls[i].gpu_s = (double)(i + 1) * 10 * US;
		calls[i].size_B = rows[i].size_B;
		calls[i].group = rows[i].group;
	}
	struct recorded_calls recorded = {
		.tool = "", .gpu = "", .calls = calls, .call_count = COUNT, .world_count = 4};
	struct replay_step step;
	recorded_calls_settle(arena, &recorded);
	CHECK(replay_step_find(diag, (struct origin){NULL, 0}, &recorded, &as_recorded, &step));
	const struct recorded_job *job =
		recorded_job_new(arena, diag, (struct origin){NULL, 0}, &recorded, 4);
	const struct program *program =
		replay_program(arena, &(struct replay_spec){.recorded = &recorded,
							    .step = &step,
							    .params = &as_recorded,
							    .host_clock_Hz = REFERENCE_CLOCK_HZ,
							    .job = job,
							    .rank = 3});
	items_are(program, 0, "CTCTCTC");
	for (size_t i = 0; i < COUNT; i++) {
		const struct cuda_call *call = &program->threads[0].items[2 * i].call;
		bool peers = rows[i].kind == CALL_ALL_REDUCE;
		CHECK(call->kind == rows[i].kind && call->peer == rows[i].peer);
		CHECK_NEAR(call->payload_B, peers ? rows[i].size_B : 0, 0);
		CHECK_NEAR(call->duration_s, peers ? 0 : (double)(i + 1) * 10 * US, 1e-9);
	}
	arena_free(arena);
}

/* A recording without marks is one step, which lasts from the first begin to the last end. The last
 * of the calls that end then ends the step. Only steps with marks have numbers. */
static void a_recording_without_marks_is_one_step_without_a_number(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct calls_params params = as_recorded;
	struct recorded_call calls[] = {call_at(1, launch, 10 * US, 30 * US, 7, -1),
					call_at(2, launch, 5 * US, 30 * US, 7, -1),
					call_at(0, launch, 7 * US, 29 * US, 7, -1)};
	struct recorded_calls recorded = {.calls = calls, .call_count = 3, .thread_count = 3};
	struct replay_step step = {0};
	const struct origin nowhere = {NULL, 0};
	CHECK(replay_step_find(diag, nowhere, &recorded, &params, &step));
	CHECK(!step.marked && step.thread == 2);
	CHECK_NEAR(step.start_s, 5 * US, 1e-9);
	CHECK_NEAR(step.end_s, 30 * US, 1e-9);
	params.step_count = 1;
	CHECK(!replay_step_find(diag, nowhere, &recorded, &params, &step));
	CHECK_PART(diag_at(diag, 0),
		   "the recording has 0 complete steps, so calls.step is too large (a step");
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(a_recording_without_marks_is_one_step_without_a_number),
	TEST(a_rank_of_a_job_plays_the_collectives_of_its_own_groups),
	TEST(each_thread_has_the_medians_of_its_functions),
	TEST(a_wait_is_for_the_thread_that_recorded_its_event),
	TEST(polls_for_two_events_or_streams_can_overlap),
	TEST(a_thread_that_fills_half_of_a_gap_is_awaited),
	TEST(a_step_has_the_calls_of_all_threads_that_begin_in_it),
	TEST(streams_and_events_are_numbered_in_the_order_of_their_use),
	TEST(the_same_step_of_another_rank_is_found_by_its_number),
};

int main(void)
{
	return TEST_MAIN(tests);
}
