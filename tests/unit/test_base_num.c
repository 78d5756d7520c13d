/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/num.h"

#include "tests/test.h"

static void same_seed_and_name_repeat_the_stream_others_differ(void)
{
	struct rng a = rng_named(1, "loss"), again = rng_named(1, "loss");
	struct rng other_name = rng_named(1, "noise"), other_seed = rng_named(2, "loss");
	int same_name = 0, same_seed = 0;
	for (int i = 0; i < 1000; i++) {
		double x = rng_uniform(&a);
		CHECK(x > 0 && x < 1);
		CHECK(x == rng_uniform(&again));
		same_name += x == rng_uniform(&other_name);
		same_seed += x == rng_uniform(&other_seed);
	}
	CHECK(same_name == 0);
	CHECK(same_seed == 0);
}

/* The reference code's first output for the state 1, 2, 3, 4 is rotl(2 * 5, 7) * 9 = 1280 * 9 =
 * 11520. The second state word becomes 2 ^ 3 ^ 1 = 0, so the second output is 0. The draws keep the
 * upper bits plus one half. */
static void generator_matches_xoshiro256_reference(void)
{
	struct rng rng = {{1, 2, 3, 4}};
	CHECK(rng_uniform(&rng) == (2 + 0.5) * 0x1p-52); /* 11520 >> 12 = 2 */
	CHECK(rng_uniform(&rng) == 0.5 * 0x1p-52);
	rng = (struct rng){{1, 2, 3, 4}};
	CHECK(rng_below(&rng, 1 << 20) == 11520);
	CHECK(rng_below(&rng, 1 << 20) == 0);
	/* With n = 2^63 + 1 draws below 2^64 mod n = 2^63 - 1 are rejected. These are the first six
	 * of the reference code. The seventh is 16172922978634559625. */
	rng = (struct rng){{1, 2, 3, 4}};
	CHECK(rng_below(&rng, (UINT64_C(1) << 63) + 1) ==
	      UINT64_C(16172922978634559625) - (UINT64_C(1) << 63) - 1);
}

/* The standard errors are 1/sqrt(12 n) = 0.0009 and 1/sqrt(n) = 0.0032. The tolerance is five of
 * each. */
static void uniform_and_normal_draws_have_the_right_moments(void)
{
	enum { COUNT = 100000 };
	struct rng rng = rng_named(7, "moments");
	double uniform = 0, normal = 0, square = 0;
	size_t faces[6] = {0};
	for (int i = 0; i < COUNT; i++) {
		uniform += rng_uniform(&rng) / COUNT;
		double x = num_normal_quantile(rng_uniform(&rng));
		normal += x / COUNT;
		square += x * x / COUNT;
		faces[rng_below(&rng, 6)]++;
	}
	CHECK_NEAR(uniform, 0.5, 0.009);
	CHECK(fabs(normal) < 0.016);
	CHECK_NEAR(square, 1, 0.0224);
	for (size_t i = 0; i < 6; i++) /* one standard error is sqrt(n 5/36) = 118 */
		CHECK(fabs((double)faces[i] - COUNT / 6.0) < 590);
}

static void normal_quantiles_match_tables(void)
{
	CHECK_NEAR(num_normal_quantile(0.975), 1.959963984540054, 1e-12);
	CHECK_NEAR(num_normal_quantile(0.05), -1.6448536269514722, 1e-12);
	CHECK_NEAR(num_normal(1.959963984540054), 0.975, 1e-12);
	/* One degree of freedom is Cauchy's distribution, whose quartile is 1; none is the normal
	 * one. */
	CHECK_NEAR(num_student(1, 1), 0.75, 1e-12);
	CHECK_NEAR(num_student_quantile(0.75, 1), 1, 1e-9);
	CHECK_NEAR(num_student(1.959963984540054, 0), 0.975, 1e-12);
}

struct bowl {
	double x, y;
	size_t calls;
	bool outside;
};

static double bowl(const double *x, void *ctx)
{
	struct bowl *b = ctx;
	b->calls++;
	b->outside = b->outside || x[0] < 0 || x[0] > 10 || x[1] < -5 || x[1] > 5;
	return 3 + (x[0] - b->x) * (x[0] - b->x) + 2 * (x[1] - b->y) * (x[1] - b->y);
}

static const double bowl_step[] = {1, 1}, bowl_low[] = {0, -5}, bowl_high[] = {10, 5};

static void minimiser_finds_a_minimum_inside_the_box(void)
{
	struct bowl b = {.x = 4, .y = -1};
	double x[] = {9, 4};
	double value = num_minimise(bowl, &b, 2, x, bowl_step, bowl_low, bowl_high, 1e-8, 1000);
	CHECK_NEAR(value, 3, 1e-12);
	CHECK_NEAR(x[0], 4, 1e-6);
	CHECK_NEAR(x[1], -1, 1e-6);
	CHECK(!b.outside);
}

/* The first coordinate has one value only, and the second no bounds, or one at 7. */
static void minimiser_needs_no_bounds(void)
{
	static const double low[] = {3, -INFINITY}, high[] = {3, INFINITY};
	static const double above[] = {3, 7}, below[] = {3, -7};
	struct bowl b = {.x = 12, .y = 2};
	double x[] = {1, 100};
	num_minimise(bowl, &b, 2, x, bowl_step, low, high, 1e-9, 2000);
	CHECK(x[0] == 3);
	CHECK_NEAR(x[1], 2, 1e-4);
	x[1] = 100;
	num_minimise(bowl, &b, 2, x, bowl_step, above, high, 1e-9, 2000);
	CHECK_NEAR(x[1], 7, 1e-4);
	x[1] = -100;
	num_minimise(bowl, &b, 2, x, bowl_step, low, below, 1e-9, 2000);
	CHECK_NEAR(x[1], -7, 1e-4);
	/* one evaluation, at the start that is mirrored at the bound */
	x[1] = 5;
	num_minimise(bowl, &b, 2, x, bowl_step, above, high, 1e-9, 1);
	CHECK(x[1] == 9);
	x[1] = -5;
	num_minimise(bowl, &b, 2, x, bowl_step, low, below, 1e-9, 1);
	CHECK(x[1] == -9);
}

/* The bowl's middle is outside the box; its nearest point in the box is (10, 2). */
static void minimiser_finds_a_minimum_at_a_bound(void)
{
	struct bowl b = {.x = 12, .y = 2};
	double x[] = {1, 0};
	double value = num_minimise(bowl, &b, 2, x, bowl_step, bowl_low, bowl_high, 1e-9, 2000);
	CHECK_NEAR(value, 7, 1e-5);
	CHECK_NEAR(x[0], 10, 1e-5);
	CHECK_NEAR(x[1], 2, 1e-3);
	CHECK(!b.outside);
}

static double note_first(const double *x, void *ctx)
{
	double *first = ctx;
	*first = isnan(*first) ? x[0] : *first;
	return x[0] * x[0];
}

/* A start outside of 0 to 1 is mirrored at the bounds, more than once if it is far away. An
 * infinite one goes to the bound on its side, and one that is not a number to the lower bound. */
static void minimiser_mirrors_a_start_outside(void)
{
	static const double low = 0, high = 1, step = 0.1,
			    starts[][2] = {{-0.2, 0.2},   {1.3, 0.7},     {-1.8, 0.2}, {4.25, 0.25},
					   {INFINITY, 1}, {-INFINITY, 0}, {NAN, 0}};
	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
		double x = starts[i][0], first = NAN;
		num_minimise(note_first, &first, 1, &x, &step, &low, &high, 1e-6, 10);
		CHECK_NEAR(first, starts[i][1], 1e-12);
	}
}

static void minimiser_stops_after_its_evaluations(void)
{
	struct bowl b = {.x = 4, .y = -1};
	double x[] = {9, 4};
	double value = num_minimise(bowl, &b, 2, x, bowl_step, bowl_low, bowl_high, 0, 17);
	CHECK(b.calls == 17);
	struct bowl check = {.x = 4, .y = -1};
	CHECK(bowl(x, &check) == value); /* the best value that was seen */
}

static double nothing_finite(const double *x, void *ctx)
{
	return NAN;
}

static void minimiser_keeps_the_start_if_all_values_are_nan(void)
{
	double x[] = {9, 4};
	num_minimise(nothing_finite, NULL, 2, x, bowl_step, bowl_low, bowl_high, 1e-6, 50);
	CHECK(x[0] == 9 && x[1] == 4);
}

static double cube_less_two(double x, void *ctx)
{
	return x * x * x - 2;
}

static double step_at_third(double x, void *ctx)
{
	return x < 1.0 / 3 ? -1 : 1;
}

static void root_is_found_if_the_sign_changes(void)
{
	double root = 0;
	CHECK(num_root(cube_less_two, NULL, 0, 2, 1e-12, &root));
	CHECK_NEAR(root, 1.2599210498948732, 1e-12);
	CHECK(num_root(step_at_third, NULL, 0, 2, 0, &root)); /* as near as doubles are */
	CHECK_NEAR(root, 1.0 / 3, 1e-15);
	root = 42;
	CHECK(!num_root(cube_less_two, NULL, 2, 3, 1e-12, &root)); /* f has one sign there */
	CHECK(root == 42);
}

/* Type 7 of 1, 2, 3, 4 interpolates at position q * 3. */
static void quantile_interpolates_order_statistics(void)
{
	double values[] = {4, 1, 3, 2};
	CHECK_NEAR(num_quantile(values, 4, 0.5), 2.5, 1e-15);
	CHECK_NEAR(num_quantile(values, 4, 0.05), 1.15, 1e-15);
	CHECK(num_quantile(values, 4, 0) == 1);
	CHECK(num_quantile(values, 4, 1) == 4);
	CHECK(values[0] == 1 && values[3] == 4);
	CHECK(num_quantile(values, 1, 0.3) == 1);
}

static const struct test tests[] = {
	TEST(same_seed_and_name_repeat_the_stream_others_differ),
	TEST(generator_matches_xoshiro256_reference),
	TEST(uniform_and_normal_draws_have_the_right_moments),
	TEST(normal_quantiles_match_tables),
	TEST(minimiser_finds_a_minimum_inside_the_box),
	TEST(minimiser_finds_a_minimum_at_a_bound),
	TEST(minimiser_needs_no_bounds),
	TEST(minimiser_mirrors_a_start_outside),
	TEST(minimiser_stops_after_its_evaluations),
	TEST(minimiser_keeps_the_start_if_all_values_are_nan),
	TEST(root_is_found_if_the_sign_changes),
	TEST(quantile_interpolates_order_statistics),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
