/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPUs of one kind differ in clock, and those of a job wait for the slowest one. */
#include "tests/case_points.h"

/* The mean of the largest of eight normal values is 1.42 (Blom's formula: 1.434), so the slowest of
 * eight GPUs has a clock of 1 - 0.01 x 1.434. One GPU has the mean clock, also as the baseline. */
static void ranks_compute_at_the_clock_of_the_slowest_gpu(void)
{
	static const struct settings eight = {{"case.topology=dgx1-v100", "case.model=alexnet",
					       "case.stack=tf-1.12", "case.gpus=8",
					       "gpu.*.clock_spread=0.01"}};
	struct arena *arena = arena_new();
	static const char *const none[2] = {NULL};
	const struct scenario *scenario = scenario_of(arena, &eight, none);
	if (CHECK(scenario)) {
		const struct job_entry *job = scenario->jobs;
		CHECK_NEAR(job->efficiency->slowest_ratio, 1 - 0.01434, 1e-4);
		const struct scenario *alone = scenario_baseline(arena, scenario, 0);
		CHECK_NEAR(alone->jobs[0].efficiency->slowest_ratio, 1, 1e-12);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(ranks_compute_at_the_clock_of_the_slowest_gpu),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
