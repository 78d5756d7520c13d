/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quotients and chances of predictions whose draws are given. */
#include <math.h>

#include "sim/base/num.h"
#include "sim/predict/draws.h"
#include "tests/test.h"

enum { DRAWS = 4 };

static struct breakdown_part a_drawn[DRAWS], b_drawn[DRAWS], costs[DRAWS];

static struct prediction prediction_of(struct breakdown_part *drawn, double each)
{
	for (size_t i = 0; i < DRAWS; i++)
		drawn[i] = (struct breakdown_part){"draw", each};
	return (struct prediction){.ok = true,
				   .seed = 1,
				   .throughput = {each, each, each},
				   .drawn = drawn,
				   .drawn_count = DRAWS,
				   .goodput_ratio = ESTIMATE_NONE};
}

/* Draws of another seed, or of another number, do not correspond. Then both intervals are combined:
 * 100 with 80 to 125 is from 0.8 to 1.25 times 100, and so is 50. So the quotient 2 ends at a
 * factor of exp(sqrt 2 ln 1.25). */
static void draws_of_other_runs_do_not_correspond(void)
{
	struct prediction a = prediction_of(a_drawn, 100), b = prediction_of(b_drawn, 50);
	a.throughput = (struct estimate){100, 80, 125};
	b.throughput = (struct estimate){50, 40, 62.5};
	struct quotient q = draws_quotient(&a, &b);
	CHECK_NEAR(q.estimate.low, 2, 1e-12);
	CHECK_NEAR(q.estimate.high, 2, 1e-12);
	for (int i = 0; i < 2; i++) {
		b.seed = i == 0 ? 2 : 1;
		b.drawn_count = i == 0 ? DRAWS : DRAWS - 1;
		q = draws_quotient(&a, &b);
		CHECK_NEAR(q.estimate.value, 2, 1e-12);
		CHECK_NEAR(q.estimate.low, 2 * exp(-sqrt(2) * log(1.25)), 1e-9);
		CHECK_NEAR(q.estimate.high, 2 * exp(sqrt(2) * log(1.25)), 1e-9);
	}
}

/* A draw in which the divisor failed is left out. If all failed, the quotient has no interval. */
static void draws_without_a_divisor_are_left_out(void)
{
	struct prediction a = prediction_of(a_drawn, 100), b = prediction_of(b_drawn, 50);
	for (size_t failed = 1; failed <= DRAWS; failed++) {
		b_drawn[failed - 1].seconds = 0;
		struct quotient q = draws_quotient(&a, &b);
		CHECK_NEAR(q.estimate.low, 2, 1e-12);
		CHECK_NEAR(q.estimate.high, 2, 1e-12);
		CHECK(isnan(q.above_one) == (failed == DRAWS));
	}
}

/* A prediction that failed has no chance, and the others share the draws. */
static void only_predictions_that_work_have_chances(void)
{
	struct prediction failed = prediction_of(costs, 1000), a = prediction_of(a_drawn, 100),
			  b = prediction_of(b_drawn, 50);
	const struct prediction *all[] = {&failed, &a, &b};
	double chances[3];
	failed.ok = false;
	failed.seed = 9; /* which does not matter */
	b_drawn[0].seconds = 200;
	draws_chances(all, 3, false, chances);
	CHECK(isnan(chances[0]) || chances[0] == 0);
	CHECK_NEAR(chances[1], 0.75, 1e-12);
	CHECK_NEAR(chances[2], 0.25, 1e-12);
	for (int i = 0; i < 2; i++) {
		b.seed = i == 0 ? 2 : 1;
		b.drawn_count = i == 0 ? DRAWS : DRAWS - 1;
		draws_chances(all, 3, false, chances);
		CHECK(isnan(chances[1]) && isnan(chances[2]));
	}
	a.ok = b.ok = false;
	draws_chances(all, 3, false, chances);
	CHECK(isnan(chances[0]) && isnan(chances[1]) && isnan(chances[2]));
}

/* A failed draw is never the best one. If it fails in all predictions, it counts for none. */
static void failed_draws_are_never_the_best(void)
{
	struct prediction a = prediction_of(a_drawn, 100), b = prediction_of(b_drawn, 50);
	const struct prediction *both[] = {&a, &b};
	double chances[2];
	a_drawn[0].seconds = a_drawn[1].seconds = b_drawn[1].seconds = 0;
	draws_chances(both, 2, false, chances);
	CHECK_NEAR(chances[0], 0.5, 1e-12);
	CHECK_NEAR(chances[1], 0.25, 1e-12);
}

/* Costs are known for as many draws as throughputs, or nothing is known about the cheapest. */
static void costs_that_are_not_known_give_no_chances(void)
{
	struct prediction a = prediction_of(a_drawn, 100), b = prediction_of(b_drawn, 50);
	const struct prediction *both[] = {&a, &b};
	double chances[2];
	for (size_t i = 0; i < DRAWS; i++)
		costs[i] = (struct breakdown_part){"draw", i == 0 ? 60 : 40};
	a.drawn_costs = costs;
	b.drawn_costs = b_drawn;
	a.drawn_cost_count = b.drawn_cost_count = DRAWS;
	draws_chances(both, 2, true, chances);
	CHECK_NEAR(chances[0], 0.75, 1e-12);
	CHECK_NEAR(chances[1], 0.25, 1e-12);
	b.drawn_cost_count = 0;
	draws_chances(both, 2, true, chances);
	CHECK(isnan(chances[0]) && isnan(chances[1]));
}

static const struct test tests[] = {
	TEST(draws_of_other_runs_do_not_correspond),    TEST(draws_without_a_divisor_are_left_out),
	TEST(only_predictions_that_work_have_chances),  TEST(failed_draws_are_never_the_best),
	TEST(costs_that_are_not_known_give_no_chances),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
