/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits of users of a pool whose number at work has probabilities that a pencil gives. */
#include "sim/analysis/users.h"
#include "sim/base/arena.h"
#include "tests/test.h"

/* m programs on one GPU are together as fast as one. */
static const struct users_curve shared = {{0, 1, 1, 1, 1, 1, 1, 1, 1}, 8, NULL};
/* The same GPU has a place for only one of them. */
static const struct users_curve one_place = {{0, 1}, 1, "out of memory"};

static struct users_waits ask(const struct users_curve *curve, size_t users, size_t gpus,
			      double active_ratio, double quantile)
{
	struct arena *arena = arena_new();
	const struct users_pool pool = {users, gpus, active_ratio, quantile};
	struct users_waits waits = users_wait(arena, curve, &pool);
	arena_free(arena);
	return waits;
}

/* Two users work half of the time on one GPU. From 0 to 1 user the rate is 2 / pause and back 1 /
 * work; from 1 to 2 it is 1 / pause and back 1 / work. So the probabilities of 0, 1, 2 are 1, 2 and
 * 2 fifths. At work are 6/5 users on average, and the GPU works 4/5 of the time. So work takes
 * 6/4 of its own time. Users are alone in 2/6 of their working time, and beside the other in 4/6.
 */
static void two_users_of_one_gpu_wait_as_repairmen_do(void)
{
	struct users_waits waits = ask(&shared, 2, 1, 0.5, 0.33);
	CHECK_NEAR(waits.working, 1.2, 1e-12);
	CHECK_NEAR(waits.mean, 0.5, 1e-12);
	CHECK_NEAR(waits.wait, 0, 1e-12);
	CHECK_NEAR(ask(&shared, 2, 1, 0.5, 0.34).wait, 1, 1e-12);
	CHECK_NEAR(ask(&shared, 2, 1, 0.5, 0.95).wait, 1, 1e-12);
}

/* With a GPU for each, users work independently: 40 of them at 25 % are 10 at work. */
static void users_with_gpus_of_their_own_do_not_wait(void)
{
	struct users_waits waits = ask(&shared, 40, 40, 0.25, 0.95);
	CHECK_NEAR(waits.working, 10, 1e-9);
	CHECK_NEAR(waits.mean, 0, 1e-9);
	CHECK_NEAR(waits.wait, 0, 1e-12);
}

/* Three users on two GPUs, each half of the time. The birth rates are 3, 2, 1 and the speeds of 1,
 * 2, 3 users 1, 2, 2, so the probabilities are 1, 3, 3, 1.5 over 8.5. Working time is 3 + 6 + 4.5 =
 * 13.5, of which two thirds of 4.5 is on a shared GPU: 3, which is 22.2 %. */
static void only_users_of_a_shared_gpu_wait(void)
{
	CHECK_NEAR(ask(&shared, 3, 2, 0.5, 0.77).wait, 0, 1e-12);
	CHECK_NEAR(ask(&shared, 3, 2, 0.5, 0.78).wait, 1, 1e-12);
	CHECK_NEAR(ask(&shared, 3, 2, 0.5, 0.5).mean, 13.5 / (3 + 6 + 3) - 1, 1e-12);
}

/* With a place for one user, the second of the first test waits for it: 2 of 6 parts of the time
 * that both spend, so 33.3 % of it has no speed at all. */
static void users_without_a_place_wait_for_one(void)
{
	CHECK_NEAR(ask(&one_place, 2, 1, 0.5, 0.66).wait, 0, 1e-12);
	CHECK(isinf(ask(&one_place, 2, 1, 0.5, 0.67).wait));
	CHECK_NEAR(ask(&one_place, 2, 1, 0.5, 0.5).mean, 0.5, 1e-12);
}

/* Two programs on a GPU are 1.2 times as fast as one, so four users on three GPUs work at the rates
 * 1, 2, 3 and 1.2 + 2. Each works half of the time, so the probabilities of 0 to 4 are 1, 4, 6, 4
 * and 1.25 over their sum. Only two of the last four users share a GPU: 2.5 of 33 parts of the
 * work. */
static void unequal_numbers_of_users_on_gpus_have_their_own_speeds(void)
{
	static const struct users_curve curve = {{0, 1, 1.2}, 2, NULL};
	struct users_waits waits = ask(&curve, 4, 3, 0.5, 0.92);
	CHECK_NEAR(waits.working, (4 + 2 * 6 + 3 * 4 + 4 * 1.25) / 16.25, 1e-12);
	CHECK_NEAR(waits.mean, 33.0 / (4 + 2 * 6 + 3 * 4 + 3.2 * 1.25) - 1, 1e-12);
	CHECK_NEAR(waits.wait, 0, 1e-12);
	CHECK_NEAR(ask(&curve, 4, 3, 0.5, 0.93).wait, 2 / 1.2 - 1, 1e-12);
	/* With a third of the time, the odds are one half for each further user. */
	waits = ask(&curve, 4, 3, 1.0 / 3, 0.5);
	CHECK_NEAR(waits.working,
		   (2 + 2 * 1.5 + 3 * 0.5 + 4 * 0.078125) / (1 + 2 + 1.5 + 0.5 + 0.078125), 1e-12);
}

/* More programs than were simulated are as fast as the most that were. */
static void speeds_beyond_the_curve_are_its_last_one(void)
{
	static const struct users_curve curve = {{0, 1}, 1, NULL};
	struct users_waits waits = ask(&curve, 2, 1, 0.5, 0.95),
			   same = ask(&shared, 2, 1, 0.5, 0.95);
	CHECK(waits.working == same.working && waits.mean == same.mean && waits.wait == same.wait);
}

/* Two GPUs have two places each, at 1 and 1.5 times the speed of a program. The rates of 1 to 5
 * users are 1, 2, 2.5, 3 and 3, and the fifth waits. So the probabilities of 0 to 5 users are 1, 5,
 * 10, 12, 8 and 8 / 3 over their sum. In 37 of 106.33 parts of the work a user is alone on a GPU,
 * and in 8 / 3 it has no place. */
static void users_fill_all_places_before_they_wait(void)
{
	static const struct users_curve curve = {{0, 1, 1.5}, 2, "out of memory"};
	const double all = 5 + 20 + 36 + 32 + 40.0 / 3;
	struct users_waits waits = ask(&curve, 5, 2, 0.5, 0.34);
	CHECK_NEAR(waits.mean, all / (5 + 20 + 30 + 24 + 8) - 1, 1e-12);
	CHECK_NEAR(waits.working, all / (1 + 5 + 10 + 12 + 8 + 8.0 / 3), 1e-12);
	CHECK_NEAR(waits.wait, 0, 1e-12);
	CHECK_NEAR(ask(&curve, 5, 2, 0.5, 37 / all + 0.001).wait, 2 / 1.5 - 1, 1e-12);
	CHECK_NEAR(ask(&curve, 5, 2, 0.5, 1 - 8 / 3.0 / all - 0.001).wait, 2 / 1.5 - 1, 1e-12);
	CHECK(isinf(ask(&curve, 5, 2, 0.5, 1 - 8 / 3.0 / all + 0.001).wait));
}

static const struct test tests[] = {
	TEST(unequal_numbers_of_users_on_gpus_have_their_own_speeds),
	TEST(speeds_beyond_the_curve_are_its_last_one),
	TEST(users_fill_all_places_before_they_wait),
	TEST(two_users_of_one_gpu_wait_as_repairmen_do),
	TEST(users_with_gpus_of_their_own_do_not_wait),
	TEST(only_users_of_a_shared_gpu_wait),
	TEST(users_without_a_place_wait_for_one),
};

int main(void)
{
	return TEST_MAIN(tests);
}
