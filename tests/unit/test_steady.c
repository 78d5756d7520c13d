/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detection of the steady state of several programs, on artificial steps. */
#include "sim/workload/steady.h"
#include "tests/test.h"

enum { PROGRAMS_MAX = 2 };

struct made_up { /* a program, described by the times of its steps */
	double (*time_s)(size_t index);
	bool in_doubt;
};

static struct steady_step step_of(const void *of, size_t index)
{
	const struct made_up *program = of;
	return (struct steady_step){program->time_s(index), 1};
}

struct end {
	size_t first, count; /* of the last window */
};

enum { EVENTS_OF_STEP = 1000 };

/* Runs programs that take their steps in turn until the end. */
static struct end end_of(const struct made_up *made, size_t program_count, double steps_count,
			 uint64_t events_of_step)
{
	enum { STEPS_MAX = 2000 };
	const struct steady_limits limits = {steps_count, program_count};
	struct steady steady = steady_begin(&limits, 7, step_of);
	struct steady_program programs[PROGRAMS_MAX] = {0};
	uint64_t events = 7;
	for (size_t i = 0; i < program_count; i++)
		programs[i] = (struct steady_program){
			.of = &made[i], .has_worked = true, .in_doubt = made[i].in_doubt};
	for (size_t step = 0; step < STEPS_MAX; step++)
		for (size_t i = 0; i < program_count; i++) {
			programs[i].count++;
			events += events_of_step;
			enum steady_verdict verdict =
				steady_judge(&steady, programs, program_count, events);
			if (verdict == STEADY_OVER)
				return (struct end){programs[0].first, programs[0].count};
			for (size_t k = 0; verdict == STEADY_OPEN_ANEW && k < program_count; k++) {
				programs[k].first += programs[k].count;
				programs[k].count = 0;
			}
		}
	return (struct end){0};
}

static double even(size_t index)
{
	return 0.1;
}

static double slower(size_t index)
{
	return 0.12;
}

/* The first 40 steps are up to 12 % slower. Steps are equal in pairs. */
static double drifting(size_t index)
{
	return index < 40 ? 0.1 + 0.012 * (1 - (double)(index / 2) / 20) : 0.1;
}

static double restless(size_t index)
{
	return index % 3 == 0 ? 0.2 : 0.1;
}

static double waving(size_t index)
{
	return index / 4 % 2 ? 0.1001 : 0.1;
}

static void equal_steps_end_the_run_at_once(void)
{
	const struct made_up both[] = {{even, false}, {even, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first == 0 && end.count == 2);
}

/* The phases of different programs shift: two steps of each prove nothing, so four more follow. */
static void different_programs_need_a_second_window(void)
{
	const struct made_up both[] = {{even, false}, {slower, false}},
			     turned[] = {{slower, false}, {even, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first == 2 && end.count == 4);
	end = end_of(turned, 2, 0, EVENTS_OF_STEP);
	CHECK(end.first == 2 && end.count == 4);
}

/* Windows of 2, 4, 8 and 16 steps end inside the drift. The window of 32, from the 30th step on,
 * begins in it: the pairs of its first quarter are 0.012 x 0.25, 0.2, 0.15 and 0.1 above 0.1, which
 * is 2.1 % on average. */
static void drifting_windows_are_dropped(void)
{
	const struct made_up both[] = {{even, false}, {drifting, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first == 62 && end.count == 64);
}

/* Four steps of 0.1 s and four of 0.1001 s in turn. The quarters of the windows of 4 and 8 steps
 * differ by a thousandth, more than a ten-thousandth for each step. Those of the window of 16
 * steps, from the 14th step on, have as many of both. */
static void short_windows_need_more_equal_quarters(void)
{
	const struct made_up both[] = {{slower, false}, {waving, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first == 14 && end.count == 16);
}

/* A window ends where the next one would exceed the requested steps, or it extends to their end.
 * With 20 steps, 2 + 4 are dropped; 8 make 14, and 16 more would be 30, so the third window extends
 * to the 20th. */
static void run_has_exactly_the_requested_steps(void)
{
	const struct made_up both[] = {{restless, false}, {restless, false}};

	for (double most = 1; most <= 300; most++) {
		struct end end = end_of(both, 2, most, EVENTS_OF_STEP);
		CHECK((double)(end.first + end.count) == most);
		CHECK((double)(2 * end.count) >= most);
	}
	struct end end = end_of(both, 2, 20, EVENTS_OF_STEP);
	CHECK(end.first == 6 && end.count == 14);
}

/* Without a requested number: 128 steps or 20 million events. Two programs with 1 million events
 * per step make 10 steps. */
static void unsteady_run_ends_after_128_steps_or_20_million_events(void)
{
	const struct made_up both[] = {{restless, false}, {restless, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);
	CHECK(end.first + end.count == 128);

	end = end_of(both, 2, 0, 1000 * 1000);
	CHECK(end.first == 2 && end.count == 8);
	end = end_of(both, 2, 30, 1000 * 1000);
	CHECK(end.first + end.count == 30);
}

/* There are events for 35 steps of both programs. Windows of 2, 4 and 8 steps end after 14. One of
 * 16 begins, because 14 and twice the last 8 are less than 35. After it, at 30, one of 32 does not
 * fit. */
static void next_window_needs_twice_the_events_of_the_last_one(void)
{
	const struct made_up both[] = {{restless, false}, {restless, false}};
	struct end end = end_of(both, 2, 0, 20000000 / 70);

	CHECK(end.first == 14);
}

static void doubtful_program_runs_to_the_limit(void)
{
	const struct made_up both[] = {{even, false}, {even, true}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first + end.count == 128);
}

/* Times 1 and 3 alternate, 10 of them: mean 2, variance 10/9, standard error 1/3, which is 0.1667
 * of the mean. */
static double one_or_three(size_t index)
{
	return index % 2 ? 3 : 1;
}

static void standard_error_of_a_mean(void)
{
	const struct made_up program = {one_or_three, false};

	CHECK(!steady_mean_settled(step_of, &program, 4, 10, 0.166));
	CHECK(steady_mean_settled(step_of, &program, 4, 10, 0.167));
}

static const struct test tests[] = {
	TEST(equal_steps_end_the_run_at_once),
	TEST(different_programs_need_a_second_window),
	TEST(drifting_windows_are_dropped),
	TEST(short_windows_need_more_equal_quarters),
	TEST(run_has_exactly_the_requested_steps),
	TEST(unsteady_run_ends_after_128_steps_or_20_million_events),
	TEST(next_window_needs_twice_the_events_of_the_last_one),
	TEST(doubtful_program_runs_to_the_limit),
	TEST(standard_error_of_a_mean),
};

int main(void)
{
	return TEST_MAIN(tests);
}
