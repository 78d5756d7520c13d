/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that query an event until it is ready. The times are those of cuda_world.h. */
#include "tests/cuda_world.h"

static struct world w;
static struct player *player;
static const char *waiting;

static void note_waiting(void *ctx, uint64_t arg)
{
	waiting = player_waiting(player, w.arena);
}

static const struct step_record *poll_with_sleeps_of(double sleep_us)
{
	const struct item items[] = {
		{.kind = ITEM_CALL, .call = {.kind = CALL_LAUNCH, .duration_s = 100 * US}},
		{.kind = ITEM_CALL, .call = {.kind = CALL_EVENT_RECORD}},
		{.kind = ITEM_POLL, .call = {.kind = CALL_EVENT_QUERY}, .work_s = sleep_us * US},
	};
	const struct call_thread thread = {"main", items, 3};
	const struct program program = {
		.threads = &thread, .thread_count = 1, .stream_count = 1, .event_count = 1};
	memset(&w, 0, sizeof w);
	world_presets(&w);
	world_build(&w);
	struct cuda_process *process = world_process(&w, 1, 1);
	const struct player_spec spec = {.arena = w.arena,
					 .engine = w.engine,
					 .name = "client",
					 .program = &program,
					 .port = cuda_process_port(process),
					 .guest = w.guest,
					 .processes = &process,
					 .device_count = 1,
					 .steps_max = 1};
	player = player_new(&spec);
	player_start(player);
	engine_at(w.engine, 50000000, note_waiting, NULL, 0);
	world_run(&w);
	CHECK(player_step_count(player) == 1);
	return player_step_at(player, 0);
}

/* The kernel starts 4 us behind its call of 5 us, and ends at 109 us. Queries of 3 us begin at 7
 * us. With sleeps of 10 us between them, the ninth one begins at 7 + 8 x 13 us, behind the kernel,
 * and ends at 114 us. Eight sleeps are waits, and all other time is in calls. */
static void a_thread_sleeps_between_its_queries(void)
{
	const struct step_record *step = poll_with_sleeps_of(10);
	CHECK_US(step->end_ps - step->start_ps, 114);
	CHECK_NEAR(step->thread_s[TIME_CALL], (5 + 2 + 9 * 3) * US, 1e-9);
	CHECK_NEAR(step->thread_s[TIME_WAIT], 8 * 10 * US, 1e-9);
	CHECK(step->calls_count == 2 + 9);
	CHECK_TEXT(waiting, "step 0, thread 'main' at cudaEventQuery, item 3 of 3");
	world_release(&w);
}

/* Without sleeps, each query begins a picosecond behind the last one. The 34th one ends 33 ps
 * behind the kernel, and is the first to find it ready. */
static void queries_without_sleeps_follow_each_other(void)
{
	const struct step_record *step = poll_with_sleeps_of(0);
	size_t queries = (size_t)step->calls_count - 2;
	CHECK(queries == 34);
	CHECK(step->end_ps - step->start_ps == (7 + 34 * 3) * 1000000 + 33);
	world_release(&w);
}

static const struct test tests[] = {
	TEST(a_thread_sleeps_between_its_queries),
	TEST(queries_without_sleeps_follow_each_other),
};

int main(void)
{
	return TEST_MAIN(tests);
}
