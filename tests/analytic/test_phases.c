/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs that share resources settle (sim/workload/steady.h), and the answer is that of the
 * settled programs.
 *
 * Two programs with real input run on one GPU. When they have settled, the copies of one are beside
 * the kernels of the other, to an extent that depends on the phases in which they begin. */
#include "tests/case_points.h"

static struct arena *arena;

static const struct settings two_on_one = {
	{"case.stack=tf-1.12", "case.topology=gpu-pool", "case.runtime=asynchronous",
	 "case.program=spread", "case.gpu=gpu1", "stack.real_input=true", "case.copies=2",
	 "runtime.handoff=0 s", "runtime.unmarshal=1 us", "runtime.deserialise_byte=0 s/B"}};

/* more: an additional setting. */
static struct point run(uint64_t seed, const char *more)
{
	const struct scenario *scenario =
		scenario_of(arena, &two_on_one, (const char *const[]){more, NULL});
	struct point point = {.failed = true};
	if (scenario)
		point = predict_point(arena, scenario, seed, false, NULL, NULL);
	CHECK(!point.failed && !point.broken);
	return point;
}

/* The result is the same as after twenty more steps of warm-up. (After forty, seed 1 pauses at
 * another time and settles in other phases, 1 % slower.) */
static void throughput_is_that_of_settled_programs(void)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		CHECK_NEAR(run(seed, "case.steps=0").throughput,
			   run(seed, "case.steps_warmup=20").throughput, 0.005);
}

static void settling_adds_no_steps_to_the_window(void)
{
	struct point point = run(1, "case.steps=3");

	for (size_t i = 0; i < 2; i++)
		CHECK(point.outcome.jobs[i].steady_count <= 3);
}

static const struct test tests[] = {
	TEST(throughput_is_that_of_settled_programs),
	TEST(settling_adds_no_steps_to_the_window),
};

int main(void)
{
	num_init();
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
