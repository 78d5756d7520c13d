/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program takes the same time whether its runs of kernels are fused or not (sim/cuda/fuse.h), to
 * the rounding of picoseconds, on a GPU of its own. */
#include "sim/cuda/fuse.h"
#include "sim/base/num.h"
#include "tests/cuda_world.h"

enum { PROGRAMS = 200, ITEMS_MOST = 400, STEPS = 3 };

/* Returns a thread of launches, host work, library calls, events and waits. Kernels and host work
 * are between 0 and 40 us, so that sometimes the GPU and sometimes the thread is behind. */
static const struct program *random_program(struct arena *arena, struct rng *rng)
{
	size_t count = 1 + (size_t)(rng_uniform(rng) * (ITEMS_MOST - 1));
	double busy = rng_uniform(rng);
	struct item *items = ARENA_ARRAY(arena, count + 1, struct item);
	for (size_t i = 0; i < count; i++) {
		double kind = rng_uniform(rng);
		if (kind < 0.35) {
			items[i] = (struct item){.kind = ITEM_THINK,
						 .work_s = (1 - busy) * 40 * US * rng_uniform(rng)};
			continue;
		}
		items[i].kind = ITEM_CALL;
		struct cuda_call *call = &items[i].call;
		call->kind = kind < 0.5    ? CALL_LIBRARY
			     : kind < 0.97 ? CALL_LAUNCH
			     : kind < 0.98 ? CALL_EVENT_RECORD
			     : kind < 0.99 ? CALL_STREAM_WAIT_EVENT
					   : CALL_DEVICE_SYNCHRONIZE;
		call->stream = kind > 0.97;
		call->duration_s =
			call->kind == CALL_LAUNCH ? busy * 40 * US * rng_uniform(rng) : 0;
	}
	items[count] = (struct item){.kind = ITEM_CALL, .call = {.kind = CALL_DEVICE_SYNCHRONIZE}};
	struct call_thread *thread = ARENA_NEW(arena, struct call_thread);
	*thread = (struct call_thread){"main", items, count + 1};
	struct program *program = ARENA_NEW(arena, struct program);
	*program = (struct program){
		.threads = thread, .thread_count = 1, .stream_count = 2, .event_count = 1};
	return program;
}

/* Sets the ends of the steps, the numbers of calls, and the busy time of the GPU in each. Kernels
 * take `ratio` times as long as the program says. */
static void play(const struct program *program, bool fused, double ratio,
		 struct step_record records[STEPS])
{
	struct world w = {.kernel_ratio = ratio};
	world_presets(&w);
	world_build(&w);
	const struct fuse_params params = {&w.driver_params, &w.gpu_params, 1};
	struct cuda_process *process = world_process(&w, 2, 1);
	const struct player_spec spec = {
		.arena = w.arena,
		.engine = w.engine,
		.name = "client",
		.program = fused ? program_fuse(w.arena, program, &params) : program,
		.port = cuda_process_port(process),
		.guest = w.guest,
		.processes = &process,
		.device_count = 1,
		.steps_max = STEPS,
	};
	struct player *player = player_new(&spec);
	player_start(player);
	world_run(&w);
	for (size_t s = 0; s < STEPS && CHECK(player_step_count(player) == STEPS); s++)
		records[s] = *player_step_at(player, s);
	world_release(&w);
}

static void random_programs_end_at_the_same_time(void)
{
	struct rng rng = rng_named(1, "fuse");
	for (size_t i = 0; i < PROGRAMS; i++) {
		struct arena *arena = arena_new();
		const struct program *program = random_program(arena, &rng);
		struct step_record each[STEPS], fused[STEPS];
		play(program, false, 1, each);
		play(program, true, 1, fused);
		for (size_t s = 0; s < STEPS; s++) {
			CHECK_NEAR((double)fused[s].end_ps, (double)each[s].end_ps, 1e-6);
			CHECK(fabs(fused[s].gpu_busy_s - each[s].gpu_busy_s) < 1e-9);
			CHECK(fused[s].calls_count == each[s].calls_count);
		}
		arena_free(arena);
	}
}

/* The GPU waits for the second and the third launch, and the fourth kernel waits for the third one.
 * With any ratio near 1, the run begins so that its last kernel ends as it does without fusing.
 * With a ratio of 8, all kernels follow each other from the first launch on. */
static void slower_kernels_of_a_run_end_when_they_do_without_it(void)
{
	static const double ratios[] = {0.8, 1, 1.2, 1.5, 8}, kernels_us[] = {1, 2, 20, 3};
	struct item items[5] = {[4] = {.kind = ITEM_CALL, .call.kind = CALL_DEVICE_SYNCHRONIZE}};
	for (size_t i = 0; i < 4; i++)
		items[i] = (struct item){
			.kind = ITEM_CALL,
			.call = {.kind = CALL_LAUNCH, .duration_s = kernels_us[i] * US}};
	const struct call_thread thread = {"main", items, 5};
	const struct program program = {.threads = &thread, .thread_count = 1, .stream_count = 1};
	for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
		struct step_record each[STEPS], fused[STEPS];
		play(&program, false, ratios[i], each);
		play(&program, true, ratios[i], fused);
		CHECK_NEAR(each[0].gpu_busy_s, 26 * US * ratios[i], 1e-9);
		for (size_t s = 0; s < STEPS; s++)
			CHECK_NEAR((double)fused[s].end_ps, (double)each[s].end_ps, 1e-6);
	}
}

/* Two launches on each of two devices, or streams, are two runs. The first one contains a query of
 * an error that stands for five, so it has seven calls. */
static void runs_end_at_another_place(bool stream)
{
	struct world w = {0};
	world_presets(&w);
	world_build(&w);
	const struct fuse_params params = {&w.driver_params, &w.gpu_params, 1};
	struct item items[5] = {{.kind = ITEM_CALL, .call = {.kind = CALL_GET_LAST_ERROR}}};
	items[0].call.repeats = 4;
	for (size_t i = 1; i < 5; i++) {
		items[i] = (struct item){.kind = ITEM_CALL, .call = {.kind = CALL_LAUNCH}};
		items[i].call.duration_s = 10e-6;
		items[i].call.device = !stream && i > 2;
		items[i].call.stream = stream && i > 2;
	}
	const struct call_thread thread = {"main", items, 5};
	const struct call_thread fused = thread_fuse(w.arena, &thread, &params, FUSE_RUNS);
	if (CHECK(fused.count == 2 && fused.items[0].call.run && fused.items[1].call.run)) {
		CHECK(fused.items[0].call.device == 0 && fused.items[1].call.device == !stream);
		CHECK(fused.items[0].call.stream == 0 && fused.items[1].call.stream == stream);
		CHECK(fused.items[0].call.run->all.count == 2);
		CHECK(fused.items[1].call.run->all.count == 2);
		CHECK(fused.items[0].call.run->calls_count == 7);
		CHECK(fused.items[1].call.run->calls_count == 2);
	}
	world_release(&w);
}

static void runs_end_where_another_device_or_stream_gets_launches(void)
{
	runs_end_at_another_place(false);
	runs_end_at_another_place(true);
}

/* ---- runs that are counted by hand ---- */

/* A launch takes the thread 2 us, its kernel begins 3 us later at the earliest, and 1 us is between
 * kernels. */
static const struct driver_params launches = {.launch_s = 2 * US};
static const struct gpu_params gaps = {.launch_latency_s = 3 * US, .kernel_gap_s = 1 * US};
static const struct fuse_params by_hand = {&launches, &gaps, 1};

static struct item launch_of(double duration_s)
{
	return (struct item){.kind = ITEM_CALL,
			     .call = {.kind = CALL_LAUNCH, .duration_s = duration_s}};
}

/* Three kernels of 10 us follow each other from 5 us on: they end at 37 us. Without idle time they
 * would begin at 7 us, and 2 of them at 6 us. Kernels of 1 us begin at 5, 7 and 9 us, when they are
 * there, and the last one has 2 us of kernels before it. */
static void a_run_knows_when_its_kernels_begin_at_the_earliest(void)
{
	struct arena *arena = arena_new();
	for (int small = 0; small < 2; small++) {
		double each_s = small ? 1 * US : 10 * US;
		const struct item items[] = {launch_of(each_s), launch_of(each_s),
					     launch_of(each_s)};
		const struct call_thread thread = {"main", (struct item *)items, 3};
		const struct call_thread fused = thread_fuse(arena, &thread, &by_hand, FUSE_RUNS);
		const struct kernel_run *run = fused.count == 1 ? fused.items[0].call.run : NULL;
		if (!CHECK(run != NULL))
			continue;
		CHECK_NEAR(run->host_s, 6 * US, 1e-9);
		CHECK(run->all.count == 3 && run->but_last.count == 2);
		CHECK_NEAR(run->all.kernels_s, 3 * each_s, 1e-9);
		CHECK_NEAR(run->but_last.kernels_s, 2 * each_s, 1e-9);
		CHECK_NEAR(run->all.earliest_s, 7 * US, 1e-9);
		CHECK_NEAR(run->but_last.earliest_s, 6 * US, 1e-9);
		CHECK_NEAR(run->all.least_s, 7 * US, 1e-9);
		CHECK_NEAR(run->but_last.least_s, 6 * US, 1e-9);
		CHECK_NEAR(run->all.before_s, small ? 2 * US : 0, 1e-9);
		CHECK_NEAR(run->but_last.before_s, small ? 1 * US : 0, 1e-9);
	}
	arena_free(arena);
}

/* Kernels of 1 us have 6 us of host work between them. In one run, the first one would begin 6 us
 * later with the second one, and 12 us with the third. That is too late beside collectives. */
static void kernels_of_short_runs_are_at_most_ten_microseconds_late(void)
{
	struct arena *arena = arena_new();
	const struct item think = {.kind = ITEM_THINK, .work_s = 6 * US};
	const struct item items[] = {launch_of(1 * US), think, launch_of(1 * US), think,
				     launch_of(1 * US)};
	const struct call_thread thread = {"main", (struct item *)items, 5};
	struct call_thread fused = thread_fuse(arena, &thread, &by_hand, FUSE_RUNS);
	CHECK(fused.count == 1 && fused.items[0].call.run->all.count == 3);
	fused = thread_fuse(arena, &thread, &by_hand, FUSE_SHORT_RUNS);
	if (CHECK(fused.count == 2)) {
		CHECK(fused.items[0].call.run->all.count == 2);
		CHECK(!fused.items[1].call.run);
		CHECK_NEAR((double)fused.items[1].call.host_s, 8 * US, 1e-6);
	}
	arena_free(arena);
}

/* One call stands for at most 64: 63 queries of an error and a launch are one call, which repeats
 * 63 times, but 64 queries and a launch stay two. */
static void a_call_stands_for_at_most_64_calls(void)
{
	struct arena *arena = arena_new();
	for (unsigned queries = 63; queries <= 64; queries++) {
		struct item items[] = {{.kind = ITEM_CALL, .call.kind = CALL_GET_LAST_ERROR},
				       launch_of(1 * US)};
		items[0].call.repeats = (queries - 1) & 63;
		const struct call_thread thread = {"main", items, 2};
		const struct call_thread fused = thread_fuse(arena, &thread, &by_hand, FUSE_HOST);
		CHECK(fused.count == (queries == 63 ? 1 : 2));
		CHECK(fused.items[fused.count - 1].call.kind == CALL_LAUNCH);
		CHECK(fused.items[fused.count - 1].call.repeats == (queries == 63 ? 63 : 0));
	}
	arena_free(arena);
}

/* Beside a poller only runs of four or more are fused. */
static void short_runs_beside_a_poller_stay_apart(void)
{
	struct arena *arena = arena_new();
	struct item items[4];
	for (size_t i = 0; i < 4; i++)
		items[i] = launch_of(10 * US);
	for (size_t count = 3; count <= 4; count++)
		for (int polls = 0; polls < 2; polls++) {
			const struct call_thread thread = {"main", items, count};
			const struct program program = {.threads = &thread,
							.thread_count = 1,
							.stream_count = 1,
							.poller.enabled = polls};
			const struct program *fused = program_fuse(arena, &program, &by_hand);
			CHECK(fused->threads[0].count == (polls && count == 3 ? 3 : 1));
		}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(a_run_knows_when_its_kernels_begin_at_the_earliest),
	TEST(kernels_of_short_runs_are_at_most_ten_microseconds_late),
	TEST(a_call_stands_for_at_most_64_calls),
	TEST(short_runs_beside_a_poller_stay_apart),
	TEST(slower_kernels_of_a_run_end_when_they_do_without_it),
	TEST(runs_end_where_another_device_or_stream_gets_launches),
	TEST(random_programs_end_at_the_same_time),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
