/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When programs that meet are steady, on steps made up. */
#include "sim/workload/steady.h"
#include "tests/test.h"

enum { PROGRAMS_MAX = 2 };

struct made_up { /* a program: what its steps take */
	double (*time_s)(size_t index);
	bool in_doubt;
};

static struct steady_step step_of(const void *of, size_t index)
{
	const struct made_up *program = of;
	return (struct steady_step){program->time_s(index), 1};
}

struct end {
	size_t first, count; /* of the window that was the last */
};

enum { EVENTS_OF_STEP = 1000 };

/* Programs that take their steps in turn, until they have ended. */
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
	(void)index;
	return 0.1;
}

static double slower(size_t index)
{
	(void)index;
	return 0.12;
}

/* 12 % too slow at first, for 40 steps; pairs of steps are equal. */
static double drifting(size_t index)
{
	return index < 40 ? 0.1 + 0.012 * (1 - (double)(index / 2) / 20) : 0.1;
}

static double restless(size_t index)
{
	return index % 3 == 0 ? 0.2 : 0.1;
}

static void equal_steps_are_over_at_once(void)
{
	const struct made_up both[] = {{even, false}, {even, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first == 0 && end.count == 2);
}

/* Phases of unequal programs shift: two steps of each prove nothing, four more do. */
static void unequal_programs_need_a_second_window(void)
{
	const struct made_up both[] = {{even, false}, {slower, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first == 2 && end.count == 4);
}

/* Windows of 2, 4, 8 and 16 steps end in the drift; that of 32, from the 30th on, begins in it:
 * its first quarter's pairs are 0.012 x 0.25, 0.2, 0.15 and 0.1 above 0.1, 2.1 % in the mean. */
static void a_drift_is_left_out(void)
{
	const struct made_up both[] = {{even, false}, {drifting, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first == 62 && end.count == 64);
}

/* A window ends where the next would pass what was asked for, or goes on to there: of 20 steps,
 * 2 + 4 are dropped; 8 make 14, 16 more would be 30, so the third goes on to the 20th. */
static void no_more_steps_than_asked_for(void)
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

/* A case without case.steps: 128 steps, or 20 million events. Two programs with 1 million
 * events a step each then have 10 steps. */
static void not_for_ever(void)
{
	const struct made_up both[] = {{restless, false}, {restless, false}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);
	CHECK(end.first + end.count == 128);

	end = end_of(both, 2, 0, 1000 * 1000);
	CHECK(end.first == 2 && end.count == 8);
	end = end_of(both, 2, 30, 1000 * 1000);
	CHECK(end.first + end.count == 30);
}

static void doubt_goes_on_to_the_last(void)
{
	const struct made_up both[] = {{even, false}, {even, true}};
	struct end end = end_of(both, 2, 0, EVENTS_OF_STEP);

	CHECK(end.first + end.count == 128);
}

/* Times 1 and 3 in turn, 10 of them: mean 2, variance 10/9, standard error 1/3 = 0.1667 of it. */
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
	TEST(equal_steps_are_over_at_once),
	TEST(unequal_programs_need_a_second_window),
	TEST(a_drift_is_left_out),
	TEST(no_more_steps_than_asked_for),
	TEST(not_for_ever),
	TEST(doubt_goes_on_to_the_last),
	TEST(standard_error_of_a_mean),
};

int main(void)
{
	return TEST_MAIN(tests);
}
