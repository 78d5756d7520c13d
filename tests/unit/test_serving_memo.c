/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulations of a search share the runs that missed their objectives. */
#include "sim/serving/model.h"
#include "tests/test.h"

/* A run with the same load missed its objectives with 8 running requests, 512 tokens and 100
 * blocks. A layout whose limits it did not reach would run in the same way. Requests and tokens at
 * a limit may have waited for it, but blocks at their number did not. */
static void runs_below_the_limits_of_a_layout_are_known_to_miss(void)
{
	static const struct memo_load load = {{1, 2}}, other = {{1, 3}};
	static const struct {
		const struct memo_load *load;
		struct serving_use limits;
		bool missed;
	} rows[] = {
		{&load, {9, 513, 100}, true},      {&load, {8, 513, 100}, false},
		{&load, {9, 512, 100}, false},     {&load, {9, 513, 99}, false},
		{&other, {9, 513, 100}, false},    {&load, {1000, 1e6, 1e6}, true},
		{&other, {1000, 1e6, 1e6}, false},
	};
	struct serving_memo *memo = serving_memo_new();
	CHECK(!serving_memo_missed(memo, &load, &rows[0].limits));
	serving_memo_miss(memo, &load, &(struct serving_use){8, 512, 100});
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		CHECK(serving_memo_missed(memo, rows[i].load, &rows[i].limits) == rows[i].missed);
	serving_memo_free(memo);
}

static const struct test tests[] = {
	TEST(runs_below_the_limits_of_a_layout_are_known_to_miss),
};

int main(void)
{
	return TEST_MAIN(tests);
}
