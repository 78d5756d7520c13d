/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of a run: after its warm-up, running events allocate only a record of each step,
 * and a rank takes no more than docs/PERFORMANCE.md says. */
#include "tests/case_points.h"

/* For one step, as lists double: some 20,000 events, each of which would take at least 16. */
static const double STEP_MOST_B = 1024;
static const double RANK_MOST_B = 100e3;

struct used {
	size_t steps; /* of all clients or jobs */
	double run_B;
	uint64_t events;
};

/* The same case again, with that many steps before those that count. */
static struct used run(const struct scenario *scenario, double warmup_count)
{
	struct scenario longer = *scenario;
	struct arena *arena = arena_new();
	longer.steps_warmup_count = warmup_count;
	struct world_outcome outcome = world_run(arena, &longer, 1, NULL);
	CHECK(outcome.broken == NULL);
	struct used used = {.run_B = (double)arena_used_B(arena), .events = outcome.events_count};
	for (size_t i = 0; i < outcome.job_count; i++) {
		CHECK(!outcome.jobs[i].failed);
		used.steps += outcome.jobs[i].step_count;
	}
	arena_free(arena);
	return used;
}

static void check_warm(const char *const *settings)
{
	struct arena *arena = arena_new();
	const struct scenario *scenario = scenario_of(arena, &(struct settings){0}, settings);
	if (scenario) {
		struct used once = run(scenario, 6), twice = run(scenario, 12);
		double steps = (double)(twice.steps - once.steps);
		CHECK(twice.steps >= once.steps + 6);
		CHECK((double)(twice.events - once.events) > 15000 * steps);
		CHECK(twice.run_B - once.run_B < STEP_MOST_B * steps);
	}
	arena_free(arena);
}
#define CHECK_WARM(...) check_warm((const char *const[]){__VA_ARGS__, NULL})

static void forwarding_takes_no_memory_once_warm(void)
{
	CHECK_WARM("case.topology=gpu-pool", "case.transport=tcp", "case.runtime=asynchronous",
		   "case.copies=2", "case.program=spread", "case.gpu=spread", "case.batch=1");
}

static void training_takes_no_memory_once_warm(void)
{
	CHECK_WARM("case.topology=dgx1-v100-roce", "case.gpus=16", "case.transport=rdma",
		   "case.exchange=horovod-0.19");
	CHECK_WARM("case.topology=dgx1-v100-ethernet", "case.gpus=16", "case.transport=tcp",
		   "case.exchange=ddp");
	CHECK_WARM("case.topology=dgx1-v100-ethernet", "case.gpus=16", "case.transport=tcp",
		   "case.exchange=ddp", "input.source=nvme");
}

static void a_rank_takes_little_memory(void)
{
	static const struct settings job = {{"case.topology=dgx1-v100-roce", "case.transport=rdma",
					     "case.exchange=horovod-0.19"}};
	double run_B[2];
	for (int i = 0; i < 2; i++) {
		struct arena *arena = arena_new();
		const struct scenario *scenario = scenario_of(
			arena, &job, (const char *[]){i ? "case.gpus=32" : "case.gpus=16", NULL});
		run_B[i] = scenario ? run(scenario, 2).run_B : 0;
		arena_free(arena);
	}
	CHECK(run_B[1] > run_B[0]);
	CHECK(run_B[1] - run_B[0] < 16 * RANK_MOST_B);
}

static const struct test tests[] = {
	TEST(forwarding_takes_no_memory_once_warm),
	TEST(training_takes_no_memory_once_warm),
	TEST(a_rank_takes_little_memory),
};

int main(void)
{
	return TEST_MAIN(tests);
}
