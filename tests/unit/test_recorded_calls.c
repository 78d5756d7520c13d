/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recorded calls by hand: calls inside others, threads and marks, and the events that order
 * collectives and kernels in a trace of PyTorch without numbers of events. */
#include "sim/traces/profile.h"
#include "sim/traces/replay.h"
#include "tests/test.h"

static const double US = 1e-6;
static struct arena *arena;

static struct recorded_call call_at(uint32_t thread, const char *function, double start_us,
				    double end_us)
{
	return (struct recorded_call){.start_s = start_us * US,
				      .end_s = end_us * US,
				      .gpu_start_s = -1,
				      .gpu_s = -1,
				      .function = function,
				      .stream = -1,
				      .event = -1,
				      .thread = thread};
}

static struct recorded_calls settled(struct recorded_call *calls, size_t count)
{
	struct recorded_calls recorded = {
		.tool = "", .gpu = "", .calls = calls, .call_count = count};
	recorded_calls_settle(arena, &recorded);
	return recorded;
}

/* ---- calls inside others ---- */

/* The outer call has a kernel from 2 us on, so an inner kernel of 3 us counts only if it begins
 * later or at an unknown time. Copies do not add up with kernels. */
static void inner_kernels_that_begin_later_add_up(void)
{
	static const struct {
		double gpu_start_us;
		enum recorded_copy outer, inner;
		double gpu_us;
	} rows[] = {
		{4, COPY_NONE, COPY_NONE, 8}, {-1, COPY_NONE, COPY_NONE, 8},
		{2, COPY_NONE, COPY_NONE, 5}, {1, COPY_NONE, COPY_NONE, 5},
		{4, COPY_H2D, COPY_NONE, 5},  {4, COPY_NONE, COPY_H2D, 5},
	};
	arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct recorded_call calls[] = {call_at(0, "cublasGemmEx", 0, 10),
						call_at(0, "cudaLaunchKernel", 1, 2)};
		calls[0].gpu_start_s = 2 * US;
		calls[0].gpu_s = 5 * US;
		calls[0].copy = (uint8_t)rows[i].outer;
		calls[1].gpu_start_s = rows[i].gpu_start_us * US;
		calls[1].gpu_s = 3 * US;
		calls[1].copy = (uint8_t)rows[i].inner;
		calls[1].stream = 7;
		calls[1].event = 5;
		const struct recorded_calls recorded = settled(calls, 2);
		CHECK(recorded.call_count == 1);
		if (!CHECK_NEAR(calls[0].gpu_s, rows[i].gpu_us * US, 1e-9))
			printf("  row %zu\n", i);
		CHECK(calls[0].stream == 7 && calls[0].event == 5);
	}
	arena_free(arena);
}

/* A copy inside gives its direction, memory and bytes, and the bytes of an outer call without a
 * copy stay. A call that begins when the outer one ends is not inside. One that ends 1 us after it
 * is moved behind it, so its end is not before its begin. */
static void only_calls_within_the_time_of_another_are_left_out(void)
{
	arena = arena_new();
	struct recorded_call calls[] = {
		call_at(0, "cudaMemcpy", 0, 10), call_at(0, "cuMemcpy", 1, 9),
		call_at(0, "cudaFree", 10, 12), call_at(0, "cudaMalloc", 11, 13),
		call_at(1, "cudaFree", 11, 11.5)};
	calls[0].size_B = 1;
	calls[1].gpu_s = 2 * US;
	calls[1].gpu_start_s = 3 * US;
	calls[1].size_B = 100;
	calls[1].copy = COPY_D2H;
	calls[1].memory = MEMORY_PINNED;
	calls[1].compressibility = 2;
	const struct recorded_calls recorded = settled(calls, 5);
	if (CHECK(recorded.call_count == 4)) {
		CHECK(calls[0].copy == COPY_D2H && calls[0].memory == MEMORY_PINNED);
		CHECK_NEAR(calls[0].size_B, 100, 0);
		CHECK_NEAR(calls[0].compressibility, 2, 0);
		CHECK_NEAR(calls[0].gpu_start_s, 3 * US, 1e-12);
		CHECK_NEAR(calls[1].start_s, 10 * US, 1e-12);
		CHECK_NEAR(calls[2].start_s, 12 * US, 1e-12);
		CHECK_NEAR(calls[2].end_s, 13 * US, 1e-12);
		CHECK(calls[3].thread == 1);
	}
	struct recorded_call kernel[] = {call_at(0, "ncclAllReduce", 0, 10),
					 call_at(0, "cudaLaunchKernel", 1, 2)};
	kernel[0].size_B = 4096;
	kernel[0].label = "outer";
	kernel[1].gpu_s = 2 * US;
	kernel[1].label = "inner";
	CHECK(settled(kernel, 2).call_count == 1);
	CHECK_NEAR(kernel[0].size_B, 4096, 0);
	CHECK_TEXT(kernel[0].label, "outer");
	struct recorded_call two[] = {call_at(0, "cudaFree", 0, 10),
				      call_at(0, "cudaFree", 10, 10)};
	CHECK(settled(two, 2).call_count == 2);
	/* Both ends are rounded, so an inner call can end up to 2 ns after the outer one. */
	for (int tick = 0; tick < 4; tick++) {
		struct recorded_call last[] = {call_at(0, "cudaFree", 0, 10),
					       call_at(0, "cudaFree", 4, 10 + 0.0009 * tick)};
		CHECK(settled(last, 2).call_count == (tick < 3 ? 1 : 2));
	}
	arena_free(arena);
}

/* Threads 9, 4 and 6 first call at 3, 1 and 1 us, so they become 2, 0 and 1. A mark of a thread
 * that makes no call is one of thread 0. Marks are sorted by time, then by step. */
static void threads_are_numbered_by_their_first_call(void)
{
	arena = arena_new();
	struct recorded_call calls[] = {call_at(9, "a", 3, 4), call_at(9, "b", 5, 6),
					call_at(6, "c", 1, 2), call_at(4, "d", 1, 2)};
	struct recorded_mark marks[] = {{2, 2, 9}, {1, 4, 5}, {1, 3, 6}, {0, 1, 10}, {3, 5, 4}};
	struct recorded_calls recorded = {
		.calls = calls, .call_count = 4, .marks = marks, .mark_count = 5};
	recorded_calls_settle(arena, &recorded);
	static const char *const functions[] = {"d", "c", "a", "b"};
	static const uint32_t threads[] = {0, 1, 2, 2}, steps[] = {1, 3, 4, 2, 5},
			      marked[] = {0, 1, 0, 2, 0};
	CHECK(recorded.thread_count == 3);
	for (size_t i = 0; i < 4; i++)
		CHECK(strcmp(calls[i].function, functions[i]) == 0 &&
		      calls[i].thread == threads[i]);
	for (size_t i = 0; i < 5; i++)
		CHECK(marks[i].step == steps[i] && marks[i].thread == marked[i]);
	arena_free(arena);
}

/* ---- the order of streams ---- */

struct row {
	const char *function;  /* launches and collectives begin with "cudaL" and "nccl" */
	double start_us;       /* each call takes 1 us */
	int64_t stream, event, /* as recorded */
		ordered_stream, ordered_event;
	uint32_t thread;
};

static void ordered(const char *what, const struct row *rows, size_t count)
{
	struct recorded_call calls[16];
	struct recorded_calls recorded = {.calls = calls, .call_count = count};
	for (size_t i = 0; i < count; i++) {
		calls[i] = call_at(rows[i].thread, rows[i].function, rows[i].start_us,
				   rows[i].start_us + 1);
		calls[i].stream = rows[i].stream;
		calls[i].event = rows[i].event;
		calls[i].gpu_s = strncmp(rows[i].function, "cudaL", 5) == 0 ? US : -1;
		calls[i].size_B = strncmp(rows[i].function, "nccl", 4) == 0 ? 4096 : 0;
	}
	profile_order_streams(arena, &recorded);
	for (size_t i = 0; i < count; i++)
		if (!CHECK(calls[i].stream == rows[i].ordered_stream &&
			   calls[i].event == rows[i].ordered_event))
			printf("  %s, call %zu: stream %lld, event %lld\n", what, i,
			       (long long)calls[i].stream, (long long)calls[i].event);
}
#define ORDERED(what, rows) ordered(what, rows, sizeof(rows) / sizeof *(rows))

/* Kernels are on stream 7 and the collective on stream 20. The pair before the launch makes stream
 * 20 wait for the kernels, and the event behind the launch makes stream 7 wait for the collective.
 * New events follow the recorded number 5. */
static void collectives_follow_the_kernels_and_are_awaited(void)
{
	static const struct row late[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"cudaEventRecord", 12, 3, 5, 3, 5, 0},
		{"cudaEventRecord", 20, -1, -1, 7, 6, 0},
		{"cudaStreamWaitEvent", 22, -1, -1, 20, 6, 0},
		{"ncclAllReduce", 30, 20, -1, 20, -1, 0},
		{"cudaEventRecord", 40, -1, -1, 20, 7, 0},
		{"cudaStreamWaitEvent", 60, -1, -1, 7, 7, 0},
		{"cudaStreamWaitEvent", 80, -1, -1, -1, -1, 0}, /* no further end */
	};
	static const struct row at_once[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"ncclAllReduce", 30, 20, -1, 20, -1, 0},
		{"cudaEventRecord", 40, -1, -1, 20, 0, 0},
		{"cudaStreamWaitEvent", 45, -1, -1, 20, 0, 0}, /* of NCCL's own stream */
		{"cudaStreamWaitEvent", 80, -1, -1, 7, 0, 0},
	};
	static const struct row first_number[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"cudaEventRecord", 20, 3, 0, 3, 0, 0},
		{"ncclAllReduce", 30, 20, -1, 20, -1, 0},
		{"cudaEventRecord", 40, -1, -1, 20, 1, 0},
	};
	static const struct row two[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"ncclAllReduce", 30, 20, -1, 20, -1, 0},
		{"cudaEventRecord", 40, -1, -1, 20, 0, 0},
		{"cudaLaunchKernel", 50, 8, -1, 8, -1, 0},
		{"ncclAllReduce", 60, 21, -1, 21, -1, 0},
		{"cudaEventRecord", 70, -1, -1, 21, 1, 0},
		{"cudaEventRecord", 75, -1, -1, -1, -1, 0}, /* only the first one is the end */
		{"cudaStreamWaitEvent", 100, -1, -1, 8, 0, 0},
		{"cudaStreamWaitEvent", 120, -1, -1, 8, 1, 0},
	};
	arena = arena_new();
	ORDERED("late wait", late);
	ORDERED("wait at once", at_once);
	ORDERED("first number", first_number);
	ORDERED("two collectives", two);
	arena_free(arena);
}

/* A pair has at most 10 us between its calls. Without a kernel, or on the stream of the kernels,
 * nothing needs an order. The end of a collective is in its own thread. */
static void other_records_and_waits_stay_unknown(void)
{
	static const struct row apart[] = {
		{"cudaLaunchKernel", 1, 7, -1, 7, -1, 0},
		{"cudaEventRecord", 10, -1, -1, -1, -1, 0},
		{"cudaStreamWaitEvent", 22, -1, -1, -1, -1, 0},
		{"ncclAllReduce", 30, 20, -1, 20, -1, 0},
	};
	static const struct row no_kernel[] = {
		{"cudaEventRecord", 20, -1, -1, -1, -1, 0},
		{"cudaStreamWaitEvent", 22, -1, -1, -1, -1, 0},
		{"ncclAllReduce", 30, 20, -1, 20, -1, 0},
		{"cudaEventRecord", 40, -1, -1, 20, 0, 0},
		{"cudaStreamWaitEvent", 80, -1, -1, -1, -1, 0},
	};
	static const struct row same_stream[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"cudaEventRecord", 20, -1, -1, -1, -1, 0},
		{"cudaStreamWaitEvent", 22, -1, -1, -1, -1, 0},
		{"ncclAllReduce", 30, 7, -1, 7, -1, 0},
		{"cudaEventRecord", 40, -1, -1, -1, -1, 0},
	};
	static const struct row no_stream[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"ncclAllReduce", 30, -1, -1, -1, -1, 0},
		{"cudaEventRecord", 40, -1, -1, -1, -1, 0},
		{"cudaEventRecord", 50, -1, -1, 7, 0, 0},
		{"cudaStreamWaitEvent", 52, -1, -1, 20, 0, 0},
		{"ncclAllReduce", 60, 20, -1, 20, -1, 0},
	};
	static const struct row two_threads[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"ncclAllReduce", 30, 20, -1, 20, -1, 0},
		{"cudaEventRecord", 40, -1, -1, 20, 0, 0},
		{"cudaStreamWaitEvent", 45, -1, -1, -1, -1, 1},
		{"cudaLaunchKernel", 50, 8, -1, 8, -1, 1},
		{"cudaStreamWaitEvent", 55, -1, -1, -1, -1, 1},
	};
	static const struct row numbered[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"ncclAllReduce", 30, 20, -1, 20, -1, 0},
		{"cudaEventRecord", 40, -1, -1, -1, -1, 0},
		{"cudaStreamWaitEvent", 80, 7, 3, 7, 3, 0},
	};
	static const struct row no_collective[] = {
		{"cudaLaunchKernel", 10, 7, -1, 7, -1, 0},
		{"cudaEventRecord", 20, -1, -1, -1, -1, 0},
		{"cudaStreamWaitEvent", 22, -1, -1, -1, -1, 0},
	};
	arena = arena_new();
	ORDERED("pair with a gap", apart);
	ORDERED("no kernel", no_kernel);
	ORDERED("one stream", same_stream);
	ORDERED("no stream", no_stream);
	ORDERED("two threads", two_threads);
	ORDERED("numbered waits", numbered);
	ORDERED("no collective", no_collective);
	arena_free(arena);
}

/* ---- what a replay keeps ---- */

static const struct program *replayed(const struct recorded_calls *recorded,
				      const struct replay_step *step,
				      const struct recorded_job *job)
{
	static const struct calls_params params = {.kernel_ratio = 1,
						   .think_ratio = 1,
						   .copies_ratio = 1,
						   .arguments_B = 120,
						   .host = CALLS_HOST_RECORDED};
	return replay_program(arena, &(struct replay_spec){.recorded = recorded,
							   .step = step,
							   .params = &params,
							   .job = job,
							   .host_clock_Hz = REFERENCE_CLOCK_HZ});
}

/* Thread 1 of three makes no call in the step, so two play. The one that ends the step comes first.
 * A wait for event 5 has no record, because the other thread records event 3. */
static void only_threads_with_calls_in_the_step_play(void)
{
	arena = arena_new();
	struct recorded_call calls[] = {
		call_at(0, "cudaEventRecord", 5, 6), call_at(1, "cudaFree", 50, 51),
		call_at(2, "cudaEventSynchronize", 7, 8), call_at(2, "cudaFree", 20, 21)};
	calls[0].event = 3;
	calls[2].event = 5;
	const struct recorded_calls recorded = {
		.tool = "", .gpu = "", .calls = calls, .call_count = 4, .thread_count = 3};
	const struct replay_step step = {
		.start_s = 5 * US, .end_s = 20 * US, .thread = 2, .marked = true};
	const struct program *program = replayed(&recorded, &step, NULL);
	if (CHECK(program->thread_count == 2)) {
		CHECK_TEXT(program->threads[0].name, "thread 2");
		CHECK_TEXT(program->threads[1].name, "thread 0");
	}
	CHECK(program->signal_count == 0);
	calls[0].event = 5;
	CHECK(replayed(&recorded, &step, NULL)->signal_count == 1);
	arena_free(arena);
}

/* Thread 0 makes no call from 1 s to 3 s. It waits for the call of thread 1 in this time if it
 * lasts for at least half of it. Thread 1 waits for thread 0 in the same way, from 0 to 2 s. */
static void a_gap_that_another_thread_half_fills_is_a_wait(void)
{
	arena = arena_new();
	for (double start_s = 2; start_s < 2.4; start_s += 0.25) {
		struct recorded_call calls[] = {call_at(0, "cudaFree", 0, 1),
						call_at(0, "cudaFree", 3, 4),
						call_at(1, "cudaFree", 2, 3)};
		for (size_t i = 0; i < 3; i++) {
			calls[i].start_s = i == 2 ? start_s : calls[i].start_s / US;
			calls[i].end_s /= US;
		}
		calls[0].end_s = 1;
		calls[1].start_s = calls[2].end_s = 3;
		const struct recorded_calls recorded = settled(calls, 3);
		const struct replay_step step = {.end_s = 4};
		CHECK(replayed(&recorded, &step, NULL)->signal_count == (start_s > 2 ? 0 : 2));
	}
	arena_free(arena);
}

/* A poll of three queries began before the event was recorded, so it does not wait for the record.
 */
static void a_poll_awaits_only_records_before_its_first_query(void)
{
	arena = arena_new();
	struct recorded_call calls[] = {
		call_at(0, "cudaEventQuery", 10, 11), call_at(0, "cudaEventQuery", 20, 21),
		call_at(0, "cudaEventQuery", 30, 31), call_at(1, "cudaEventRecord", 12, 13)};
	for (size_t i = 0; i < 4; i++) {
		calls[i].event = calls[i].stream = 5;
		calls[i].ready = i == 2 ? READY_YES : READY_NO;
	}
	struct recorded_calls recorded = settled(calls, 4);
	const struct replay_step step = {.end_s = 40 * US};
	CHECK(replayed(&recorded, &step, NULL)->signal_count == 0);
	calls[3].start_s = 1 * US;
	calls[3].end_s = 2 * US;
	CHECK(replayed(&recorded, &step, NULL)->signal_count == 1);
	arena_free(arena);
}

/* The recorded time of 10 us is host work only of calls that wait for nothing. */
static void only_calls_that_return_by_themselves_have_host_work(void)
{
	static const struct {
		const char *function;
		enum recorded_copy copy;
		enum recorded_memory memory;
		double host_us;
	} rows[] = {
		{"cudaDeviceSynchronize", COPY_NONE, MEMORY_UNKNOWN, 0},
		{"cudaStreamSynchronize", COPY_NONE, MEMORY_UNKNOWN, 0},
		{"cudaEventSynchronize", COPY_NONE, MEMORY_UNKNOWN, 0},
		{"cudaFree", COPY_NONE, MEMORY_UNKNOWN, 0},
		{"cudaMalloc", COPY_NONE, MEMORY_UNKNOWN, 10},
		{"cudaMemcpyAsync", COPY_D2H, MEMORY_PAGEABLE, 0},
		{"cudaMemcpyAsync", COPY_D2H, MEMORY_PINNED, 10},
		{"cudaMemcpy", COPY_D2H, MEMORY_PINNED, 0},
		{"cudaMemcpyAsync", COPY_D2D, MEMORY_UNKNOWN, 10},
	};
	arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct recorded_call call = call_at(0, rows[i].function, 0, 10);
		call.copy = (uint8_t)rows[i].copy;
		call.memory = (uint8_t)rows[i].memory;
		call.stream = call.event = 1;
		call.gpu_s = rows[i].copy ? US : -1;
		const struct recorded_calls recorded = settled(&call, 1);
		const struct program *program =
			replayed(&recorded, &(struct replay_step){.end_s = 1}, NULL);
		if (!CHECK_NEAR(program->threads[0].items[0].call.host_s, rows[i].host_us * US,
				1e-6))
			printf("  row %zu\n", i);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(inner_kernels_that_begin_later_add_up),
	TEST(only_calls_within_the_time_of_another_are_left_out),
	TEST(threads_are_numbered_by_their_first_call),
	TEST(collectives_follow_the_kernels_and_are_awaited),
	TEST(other_records_and_waits_stay_unknown),
	TEST(only_threads_with_calls_in_the_step_play),
	TEST(a_gap_that_another_thread_half_fills_is_a_wait),
	TEST(a_poll_awaits_only_records_before_its_first_query),
	TEST(only_calls_that_return_by_themselves_have_host_work),
};

int main(void)
{
	return TEST_MAIN(tests);
}
