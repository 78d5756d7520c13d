/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/num.h"

#include "tests/test.h"

static void streams_repeat_and_differ(void)
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

/* The reference code's first output for the state 1, 2, 3, 4 is
 * rotl(2 * 5, 7) * 9 = 1280 * 9 = 11520; the second state word becomes
 * 2 ^ 3 ^ 1 = 0, so the second output is 0. The draws keep the upper bits, so
 * both come out as half a step. */
static void generator_is_xoshiro256(void)
{
	struct rng rng = {{1, 2, 3, 4}};
	CHECK(rng_uniform(&rng) == (2 + 0.5) * 0x1p-52); /* 11520 >> 12 = 2 */
	CHECK(rng_uniform(&rng) == 0.5 * 0x1p-52);
	rng = (struct rng){{1, 2, 3, 4}};
	CHECK(rng_below(&rng, 1 << 20) == 11520);
	CHECK(rng_below(&rng, 1 << 20) == 0);
}

/* Standard errors: 1/sqrt(12 n) = 0.0009, 1/sqrt(n) = 0.0032; five of each. */
static void draws_have_their_moments(void)
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
	for (size_t i = 0; i < 6; i++) /* sqrt(n 5/36) = 118 */
		CHECK(fabs((double)faces[i] - COUNT / 6.0) < 590);
}

static void normal_quantiles(void)
{
	CHECK_NEAR(num_normal_quantile(0.975), 1.959963984540054, 1e-12);
	CHECK_NEAR(num_normal_quantile(0.05), -1.6448536269514722, 1e-12);
}

/* Of 2^k Sobol points, shifted by a constant modulo 1, each half of each axis
 * holds half the points, but for one where the origin was left out. */
static void sobol_points_are_even(void)
{
	enum { COUNT = 256, DIMENSIONS = 5 };
	static double points[COUNT * DIMENSIONS], again[COUNT * DIMENSIONS];
	num_sobol(COUNT, DIMENSIONS, 3, points);
	num_sobol(COUNT, DIMENSIONS, 3, again);
	CHECK(memcmp(points, again, sizeof points) == 0);
	for (size_t d = 0; d < DIMENSIONS; d++) {
		int lower = 0;
		double mean = 0;
		for (size_t i = 0; i < COUNT; i++) {
			double x = points[i * DIMENSIONS + d];
			CHECK(x > 0 && x < 1);
			lower += x < 0.5;
			mean += x / COUNT;
		}
		CHECK(lower >= COUNT / 2 - 2 && lower <= COUNT / 2 + 2);
		CHECK_NEAR(mean, 0.5, 0.01); /* 40 times better than chance allows */
	}
	num_sobol(COUNT, DIMENSIONS, 4, again);
	CHECK(memcmp(points, again, sizeof points) != 0);
	num_sobol(COUNT, 0, 3, NULL);
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

static void minimum_inside_is_found(void)
{
	struct bowl b = {.x = 4, .y = -1};
	double x[] = {9, 4};
	double value = num_minimise(bowl, &b, 2, x, bowl_step, bowl_low, bowl_high, 1e-8, 1000);
	CHECK_NEAR(value, 3, 1e-12);
	CHECK_NEAR(x[0], 4, 1e-6);
	CHECK_NEAR(x[1], -1, 1e-6);
	CHECK(!b.outside);
}

/* The bowl's middle is outside: the nearest point of the box is (10, 2). */
static void minimum_at_a_bound_is_found(void)
{
	struct bowl b = {.x = 12, .y = 2};
	double x[] = {1, 0};
	double value = num_minimise(bowl, &b, 2, x, bowl_step, bowl_low, bowl_high, 1e-9, 2000);
	CHECK_NEAR(value, 7, 1e-5);
	CHECK_NEAR(x[0], 10, 1e-5);
	CHECK_NEAR(x[1], 2, 1e-3);
	CHECK(!b.outside);
}

static void minimiser_keeps_its_budget(void)
{
	struct bowl b = {.x = 4, .y = -1};
	double x[] = {9, 4};
	double value = num_minimise(bowl, &b, 2, x, bowl_step, bowl_low, bowl_high, 0, 17);
	CHECK(b.calls == 17);
	struct bowl check = {.x = 4, .y = -1};
	CHECK(bowl(x, &check) == value); /* the best seen */
}

static double nothing_finite(const double *x, void *ctx)
{
	(void)x;
	(void)ctx;
	return NAN;
}

static void minimiser_bears_nan(void)
{
	double x[] = {9, 4};
	num_minimise(nothing_finite, NULL, 2, x, bowl_step, bowl_low, bowl_high, 1e-6, 50);
	CHECK(x[0] == 9 && x[1] == 4);
}

static double cube_less_two(double x, void *ctx)
{
	(void)ctx;
	return x * x * x - 2;
}

static void roots(void)
{
	double root = 0;
	CHECK(num_root(cube_less_two, NULL, 0, 2, 1e-12, &root));
	CHECK_NEAR(root, 1.2599210498948732, 1e-12);
	root = 42;
	CHECK(!num_root(cube_less_two, NULL, 2, 3, 1e-12, &root)); /* one sign */
	CHECK(root == 42);
}

/* Type 7 of 1, 2, 3, 4: position q * 3. */
static void quantiles(void)
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
	TEST(streams_repeat_and_differ),
	TEST(generator_is_xoshiro256),
	TEST(draws_have_their_moments),
	TEST(normal_quantiles),
	TEST(sobol_points_are_even),
	TEST(minimum_inside_is_found),
	TEST(minimum_at_a_bound_is_found),
	TEST(minimiser_keeps_its_budget),
	TEST(minimiser_bears_nan),
	TEST(roots),
	TEST(quantiles),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
