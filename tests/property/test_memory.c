/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of a run: after the warm-up, events allocate nothing except a record of each step, and a
 * rank takes no more memory than docs/PERFORMANCE.md states. */
#include "tests/case_points.h"

/* For one step, because lists double. A step has about 20,000 events; if each allocated, it would
 * take at least 16 B. */
static const double STEP_MOST_B = 1024;
static const double RANK_MOST_B = 100e3;

struct used {
	size_t steps; /* of all clients or jobs */
	double run_B;
	uint64_t events;
};

/* Runs the case with this number of steps before the window. */
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
		struct used once = run(scenario, 12), twice = run(scenario, 24);
		double steps = (double)(twice.steps - once.steps);
		CHECK(twice.steps >= once.steps + 12);
		CHECK((double)(twice.events - once.events) > 15000 * steps);
		CHECK(twice.run_B - once.run_B < STEP_MOST_B * steps);
	}
	arena_free(arena);
}
#define CHECK_WARM(...) check_warm((const char *const[]){__VA_ARGS__, NULL})

static void forwarded_steps_allocate_only_their_record(void)
{
	CHECK_WARM("case.stack=tf-1.12", "case.topology=gpu-pool", "case.transport=tcp",
		   "case.runtime=asynchronous", "case.copies=2", "case.program=spread",
		   "case.gpu=spread", "case.batch=1");
}

static void training_steps_allocate_only_their_record(void)
{
	/* Four machines have rings. Two have trees, whose many messages need some 30 steps until
	 * all pools have their size. */
	CHECK_WARM("case.stack=tf-1.12", "case.topology=dgx1-v100-roce", "case.gpus=32",
		   "case.transport=rdma", "case.exchange=horovod-0.19");
	CHECK_WARM("case.stack=tf-1.12", "case.topology=dgx1-v100-ethernet", "case.gpus=16",
		   "case.transport=tcp", "case.exchange=ddp");
	CHECK_WARM("case.stack=tf-1.12", "case.topology=dgx1-v100-ethernet", "case.gpus=16",
		   "case.transport=tcp", "case.exchange=ddp", "input.source=nvme");
}

static void rank_takes_less_than_100_kb(void)
{
	static const struct settings job = {{"case.topology=dgx1-v100-roce", "case.stack=tf-1.12",
					     "case.transport=rdma", "case.exchange=horovod-0.19",
					     "library.algorithm=ring"}};
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
	TEST(forwarded_steps_allocate_only_their_record),
	TEST(training_steps_allocate_only_their_record),
	TEST(rank_takes_less_than_100_kb),
};

int main(void)
{
	return TEST_MAIN(tests);
}
