/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bounds of functions whose crossings are known in closed form. The interval of each answer is its
 * value times 0.9 to 1.1, unless a test sets another spread. */
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/analysis/solve.h"
#include "tests/test.h"

struct function {
	double (*f)(double x);
	double spread; /* relative width of the interval */
	double refused_above;
	size_t calls, interval_calls, calls_max; /* calls_max 0: unlimited */
};

static bool evaluate(void *ctx, const double *x, size_t count, bool with,
		     struct solve_answer *answers)
{
	struct function *function = ctx;
	for (size_t i = 0; i < count; i++) {
		double y = function->f(x[i]), spread = with ? function->spread : 0;
		answers[i] = (struct solve_answer){.y = {y, y * (1 - spread), y * (1 + spread)},
						   .refused = x[i] > function->refused_above,
						   .reason = "too large"};
	}
	function->calls += count;
	function->interval_calls += with ? count : 0;
	return !function->calls_max || function->calls <= function->calls_max;
}

static struct solve_problem problem(struct function *function, double low, double high,
				    double target)
{
	num_init();
	if (function->refused_above == 0)
		function->refused_above = INFINITY;
	return (struct solve_problem){.evaluate = evaluate,
				      .ctx = function,
				      .range = {low, high, low >= 0, false},
				      .now = NAN,
				      .target = target,
				      .at_least = true,
				      .intervals = true};
}

static double reciprocal(double x) /* 1 / (1 + x) */
{
	return 1 / (1 + x);
}

/* 1 / (1 + x) = 0.8 at 0.25; 0.9 times it at x = 0.125, 1.1 times it at 0.375. */
static void decreasing_function_gives_a_bound_with_interval(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = reciprocal, .spread = 0.1};
	struct solve_problem p = problem(&function, 1e-4, 1e2, 0.8);
	const char *refused;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 1 && s->met && s->bounds[0].upper);
	CHECK_NEAR(s->bounds[0].x.value, 0.25, 2e-3);
	CHECK(reciprocal(s->bounds[0].x.value) >= 0.8); /* the bound itself meets the target */
	CHECK_NEAR(s->bounds[0].x.low, 0.125, 6e-3);
	CHECK_NEAR(s->bounds[0].x.high, 0.375, 6e-3);
	CHECK(s->bounds[0].certain == s->bounds[0].x.low);
	CHECK(function.calls < 60);
	CHECK(function.calls == s->evaluations + s->interval_evaluations);
	/* without intervals: as many values as Brent's method needs, fewer than bisection */
	p.intervals = false;
	function.calls = function.interval_calls = 0;
	s = solve(arena, &p, &refused);
	CHECK(isnan(s->bounds[0].certain)); /* unknown */
	CHECK_NEAR(s->bounds[0].x.value, 0.25, 2e-3);
	CHECK(s->bounds[0].x.low == s->bounds[0].x.value && function.interval_calls == 0);
	CHECK(function.calls <= 25 + 8);
	arena_free(arena);
}

static double square(double x)
{
	return x * x;
}

/* x^2 <= 4 up to 2; the high end of its interval, 1.1 x^2, is 4 at 1.907, the low end at 2.108. */
static void upper_target_on_a_linear_range_gives_its_bound(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = square, .spread = 0.1};
	struct solve_problem p = problem(&function, -1, 9, 4);
	const char *refused;
	p.at_least = false;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 1 && s->bounds[0].upper);
	CHECK_NEAR(s->bounds[0].x.value, 2, 1e-3);
	CHECK_NEAR(s->bounds[0].certain, sqrt(4 / 1.1), 5e-3);
	CHECK_NEAR(s->bounds[0].x.high, sqrt(4 / 0.9), 5e-3);
	/* and >= 4 from 2 on, with certainty from 2.108 on */
	p.at_least = true;
	s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 1 && !s->bounds[0].upper && !s->met);
	CHECK_NEAR(s->bounds[0].x.value, 2, 1e-3);
	CHECK(s->bounds[0].x.value >= 2);
	CHECK_NEAR(s->bounds[0].certain, sqrt(4 / 0.9), 5e-3);
	CHECK_NEAR(s->bounds[0].x.low, sqrt(4 / 1.1), 5e-3);
	arena_free(arena);
}

static void target_met_everywhere_or_nowhere_is_reported(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = reciprocal, .spread = 0.1};
	struct solve_problem p = problem(&function, 0.01, 1, 0.5);
	const char *refused;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 0 && s->met);
	CHECK(s->points[s->worst].x == 1 && s->points[s->best].x == 0.01);
	CHECK(s->points[s->worst].with); /* so that its uncertainty can be reported */
	CHECK_NEAR(s->points[s->worst].answer.y.low, 0.45, 1e-12);
	p.target = 2;
	s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 0 && !s->met);
	CHECK(s->points[s->best].x == 0.01 && s->points[s->best].with);
	arena_free(arena);
}

static double hill(double x) /* highest at 1: exp(-ln^2 x) */
{
	return exp(-log(x) * log(x));
}

/* exp(-l^2) = 1/e at l = -1 and 1. */
static void hill_gives_two_bounds(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = hill, .spread = 0.01};
	struct solve_problem p = problem(&function, 1e-3, 1e3, exp(-1));
	const char *refused;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 2 && !s->met);
	CHECK(!s->bounds[0].upper && s->bounds[1].upper);
	CHECK_NEAR(s->bounds[0].x.value, exp(-1), 2e-3);
	CHECK_NEAR(s->bounds[1].x.value, exp(1), 2e-3);
	/* 0.99 times it at l^2 = 1 + ln 0.99: inside on both sides */
	CHECK_NEAR(s->bounds[0].certain, exp(-sqrt(1 + log(0.99))), 6e-3);
	CHECK_NEAR(s->bounds[1].certain, exp(sqrt(1 + log(0.99))), 6e-3);
	CHECK(s->bounds[0].x.low < s->bounds[0].x.value);
	arena_free(arena);
}

/* Half of the hill is 1/e at l^2 = 1 + ln 0.5, and 1.5 times it at l^2 = 1 + ln 1.5. Grid points
 * are ln(10) / 4 = 0.576 apart, so both ends of both intervals are one grid point beyond the
 * neighbours of the bound. */
static void ends_of_wide_intervals_are_beyond_the_next_grid_points(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = hill, .spread = 0.5};
	struct solve_problem p = problem(&function, 1e-3, 1e3, exp(-1));
	const char *refused;
	const struct solution *s = solve(arena, &p, &refused);
	double inner = sqrt(1 + log(0.5)), outer = sqrt(1 + log(1.5));
	CHECK(inner < log(10) / 4 && outer > log(10) / 2);
	if (CHECK(s->bound_count == 2)) {
		CHECK_NEAR(s->bounds[0].certain, exp(-inner), 6e-3);
		CHECK_NEAR(s->bounds[0].x.high, exp(-inner), 6e-3);
		CHECK_NEAR(s->bounds[0].x.low, exp(-outer), 6e-3);
		CHECK_NEAR(s->bounds[1].certain, exp(inner), 6e-3);
		CHECK_NEAR(s->bounds[1].x.low, exp(inner), 6e-3);
		CHECK_NEAR(s->bounds[1].x.high, exp(outer), 6e-3);
	}
	for (size_t i = 0; i < s->bound_count; i++) {
		double y = hill(s->bounds[i].x.value);
		CHECK(s->bounds[i].y.value == y && y >= exp(-1));
		CHECK_NEAR(s->bounds[i].y.low, 0.5 * y, 1e-12);
		CHECK_NEAR(s->bounds[i].y.high, 1.5 * y, 1e-12);
	}
	arena_free(arena);
}

/* A hill of 1 with a low end of 0.8 never reaches 0.9 with certainty. */
static void target_that_is_never_certain_is_reported(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = hill, .spread = 0.2};
	struct solve_problem p = problem(&function, 1e-3, 1e3, 0.9);
	const char *refused;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 2);
	CHECK(isnan(s->bounds[0].certain) && isnan(s->bounds[1].certain));
	CHECK(s->bounds[0].x.high == INFINITY && s->bounds[1].x.low == -INFINITY);
	arena_free(arena);
}

static double cliff(double x)
{
	return x <= 3 ? 1 : 0.2;
}
static double failing(double x)
{
	return x <= 3 ? 1 : NAN;
}
static double shelf(double x) /* 1 up to 3, then decreasing: the target equals the plateau */
{
	return x <= 3 ? 1 : 3 / x;
}

static void jumps_plateaus_and_failures_have_their_bounds(void)
{
	struct arena *arena = arena_new();
	double (*const functions[])(double) = {cliff, failing, shelf};
	for (size_t i = 0; i < 3; i++) {
		struct function function = {.f = functions[i]};
		struct solve_problem p = problem(&function, 1e-2, 1e2, i == 2 ? 1 : 0.5);
		const char *refused;
		const struct solution *s = solve(arena, &p, &refused);
		CHECK(s->bound_count == 1);
		CHECK_NEAR(s->bounds[0].x.value, 3, 2e-3);
		CHECK(s->bounds[0].x.value <= 3 && s->bounds[0].certain == s->bounds[0].x.value);
		CHECK(function.calls < 70);
	}
	/* intervals of 0.2 to 1.8 and of 0.04 to 0.36 contain a target of 0.3 on the whole range */
	struct function function = {.f = cliff, .spread = 0.8};
	struct solve_problem p = problem(&function, 1e-2, 1e2, 0.3);
	const char *refused;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 1 && isnan(s->bounds[0].certain));
	CHECK(s->bounds[0].x.low == -INFINITY && s->bounds[0].x.high == INFINITY);
	/* a failure is worse than any number */
	function = (struct function){.f = failing};
	p = problem(&function, 1e-2, 1e2, 2);
	s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 0 && s->points[s->best].x <= 3 && s->points[s->worst].x > 3);
	arena_free(arena);
}

static double inverse(double x)
{
	return 1 / x;
}

/* 1 / x >= 0.01 up to 100 exactly, 1 / x >= 0.0101 up to 99. */
static void whole_numbers_have_exact_bounds(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = inverse};
	struct solve_problem p = problem(&function, 1, 1024, 0.01);
	const char *refused;
	p.range.whole = true;
	p.now = 32;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 1 && s->bounds[0].x.value == 100);
	p.target = 0.0101;
	s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 1 && s->bounds[0].x.value == 99);
	for (size_t i = 0; i < s->point_count; i++)
		CHECK(s->points[i].x == floor(s->points[i].x));
	/* the present value is evaluated, too */
	p.now = 37;
	s = solve(arena, &p, &refused);
	size_t found = 0;
	for (size_t i = 0; i < s->point_count; i++)
		found += s->points[i].x == 37;
	CHECK(found == 1);
	/* the ends of the range are evaluated once */
	p.now = 1;
	size_t all = solve(arena, &p, &refused)->point_count;
	p.now = 1024;
	CHECK(solve(arena, &p, &refused)->point_count == all && all + 1 == s->point_count);
	/* a few numbers are tested one by one */
	p.range.high = 16;
	s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 0 && s->point_count == 16);
	p.intervals = false;
	p.target = 0.1;
	s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 1 && s->bounds[0].x.value == 10 && s->bounds[0].y.value == 0.1);
	/* a single number */
	p.range.low = p.range.high = 4;
	s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 0 && s->point_count == 1 && s->met);
	arena_free(arena);
}

static double odd_fail(double x) /* otherwise x, if it is even */
{
	return fmod(x, 2) == 0 ? x : NAN;
}
static double odd_halve(double x)
{
	return fmod(x, 2) == 0 ? x : x / 2;
}

/* x >= 26 holds from 26 on for even x: 27 contradicts it; 63 contradicts what holds at all powers
 * of 2. */
static void numbers_that_contradict_the_bound_are_reported(void)
{
	struct arena *arena = arena_new();
	double (*const functions[])(double) = {odd_fail, odd_halve};
	for (size_t i = 0; i < 2; i++) {
		struct function function = {.f = functions[i]};
		struct solve_problem p = problem(&function, 2, 64, 26);
		const char *refused;
		p.range.whole = true;
		const struct solution *s = solve(arena, &p, &refused);
		CHECK(s->bound_count == 1 && s->bounds[0].x.value == 26);
		CHECK(s->hole_count == 1 && s->holes[0].x == 27);
		CHECK(isnan(s->holes[0].answer.y.value) == (i == 0));
		p.range.low = 32;
		s = solve(arena, &p, &refused);
		CHECK(s->bound_count == 0 && s->met && s->hole_count == (i == 0));
		CHECK(i > 0 || s->holes[0].x == 63);
		p.target = 128; /* met nowhere, so there is nothing to contradict */
		s = solve(arena, &p, &refused);
		CHECK(s->bound_count == 0 && !s->met && s->hole_count == 0);
	}
	/* the next number inside meets it as well */
	struct function function = {.f = inverse};
	struct solve_problem p = problem(&function, 1, 1024, 0.01);
	const char *refused;
	p.range.whole = true;
	CHECK(solve(arena, &p, &refused)->hole_count == 0);
	arena_free(arena);
}

static double odd_fail_on_hill(double x) /* up to 64 at x = 64, and down again */
{
	return fmod(x, 2) == 0 ? fmin(x, 128 - x) : NAN;
}
static double two_even_numbers(double x)
{
	return x == 26 || x == 28 ? 30 : fmod(x, 2) == 0 ? 2 : NAN;
}

/* The hill is at least 26 from 26 to 102, where 27 and 101 fail. Between 26 and 28 both bounds have
 * the same number inside, which is reported once. */
static void each_contradicting_number_is_reported_once(void)
{
	struct arena *arena = arena_new();
	struct function hill = {.f = odd_fail_on_hill}, pair = {.f = two_even_numbers};
	struct solve_problem p = problem(&hill, 2, 128, 26);
	const char *refused;
	p.range.whole = true;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 2 && s->bounds[0].x.value == 26 && s->bounds[1].x.value == 102);
	CHECK(!s->bounds[0].upper && s->bounds[1].upper);
	if (CHECK(s->hole_count == 2))
		CHECK(s->holes[0].x == 27 && s->holes[1].x == 101);
	p = problem(&pair, 2, 64, 26);
	p.range.whole = true;
	p.now = 28;
	s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 2 && s->bounds[0].x.value == 26 && s->bounds[1].x.value == 28);
	CHECK(s->hole_count == 1 && s->holes[0].x == 27);
	arena_free(arena);
}

/* The low end is 0.9 times the value, so 26 is certain from 30 to 98. The search for 30 meets 29,
 * and the one for 98 meets 99. The neighbours of the bounds, 27 and 101, are tried after them. */
static void contradicting_numbers_are_listed_in_rising_order(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = odd_fail_on_hill, .spread = 0.1};
	struct solve_problem p = problem(&function, 2, 128, 26);
	const char *refused;
	p.range.whole = true;
	const struct solution *s = solve(arena, &p, &refused);
	if (CHECK(s->bound_count == 2)) {
		CHECK(s->bounds[0].x.value == 26 && s->bounds[1].x.value == 102);
		CHECK(s->bounds[0].certain == 30 && s->bounds[1].certain == 98);
		CHECK(s->bounds[0].x.low == 24 && s->bounds[1].x.high == 104);
	}
	static const double holes[] = {27, 29, 99, 101};
	if (CHECK(s->hole_count == 4))
		for (size_t i = 0; i < 4; i++)
			CHECK(s->holes[i].x == holes[i]);
	arena_free(arena);
}

/* Invalid values are removed from the range and reported. */
static void invalid_values_are_left_out_and_reported(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = inverse, .refused_above = 64};
	struct solve_problem p = problem(&function, 1, 1024, 0.005);
	const char *refused;
	p.range.whole = true;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 0 && s->met && s->points[s->point_count - 1].x <= 64);
	CHECK_TEXT(s->refused, "too large");
	CHECK(s->refused_low > 64 && s->refused_high == 1024);
	function.refused_above = 0.5;
	CHECK(solve(arena, &p, &refused) == NULL);
	CHECK_TEXT(refused, "too large");
	function = (struct function){.f = inverse, .refused_above = 64, .calls_max = 5};
	CHECK(solve(arena, &p, &refused) == NULL && refused == NULL);
	arena_free(arena);
}

/* The range begins at 0, which has no logarithm: 1 / (1 + x) >= 0.99 holds up to 0.0101. */
static void range_from_zero_is_searched(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = reciprocal};
	struct solve_problem p = problem(&function, 0, 1e3, 0.99);
	const char *refused;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->points[0].x == 0 && s->bound_count == 1);
	CHECK_NEAR(s->bounds[0].x.value, 1 / 0.99 - 1, 2e-3);
	/* below the first value above 0, which is a millionth of the range, the search is linear */
	p.target = 1 / (1 + 1e-4);
	s = solve(arena, &p, &refused);
	CHECK(s->points[1].x == 1e-3 && s->bound_count == 1);
	CHECK(fabs(s->bounds[0].x.value - 1e-4) <= 1e-6);
	arena_free(arena);
}

/* A search whose run breaks an invariant ends, whichever of its runs that is. */
static void broken_run_ends_the_search(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = hill, .spread = 0.01};
	struct solve_problem p = problem(&function, 1e-3, 1e3, exp(-1));
	const char *refused;
	p.now = 1;
	size_t last = 0;
	if (CHECK(solve(arena, &p, &refused)))
		last = function.calls;
	for (size_t most = 1; most < last; most++) {
		function = (struct function){hill, 0.01, INFINITY, 0, 0, most};
		CHECK(!solve(arena, &p, &refused) && !refused);
		CHECK(function.calls <= most + 30); /* the grid has 25 values */
	}
	function = (struct function){hill, 0.01, INFINITY, 0, 0, last};
	CHECK(solve(arena, &p, &refused));
	arena_free(arena);
}

static void default_range_surrounds_the_value(void)
{
	const struct param_row time = {
		.kind = PARAM_KIND_NUMBER, .quantity = QUANTITY_TIME, .min = 0, .max = 10};
	const struct param_row count = {
		.kind = PARAM_KIND_NUMBER, .min = 0, .max = 100, .whole = true};
	const struct param_row odd = {.kind = PARAM_KIND_NUMBER, .min = 0, .max = 100};
	struct cfg_param param = {.row = &time, .value = 20e-6};
	struct solve_range range;
	CHECK(solve_range_of(&param, &range) && range.log && !range.whole);
	CHECK_NEAR(range.low, 20e-9, 1e-12);
	CHECK_NEAR(range.high, 20e-3, 1e-12);
	param.value = 1; /* the row's bound applies */
	CHECK(solve_range_of(&param, &range) && range.high == 10);
	param.value = 0;
	CHECK(solve_range_of(&param, &range) && range.low == 1e-7 && range.high == 1);
	param = (struct cfg_param){.row = &count, .value = 8};
	CHECK(solve_range_of(&param, &range) && range.low == 1 && range.high == 64 && range.whole);
	param = (struct cfg_param){.row = &odd, .value = 0};
	CHECK(!solve_range_of(&param, &range));
	CHECK(!solve_range_between(&param, 1, 3).log && solve_range_between(&param, 1, 30).log);
	CHECK(!solve_range_between(&param, -1, 30).log);
}

static double line(double x)
{
	return x;
}

/* The range is 0.01 wide, so the answer may deviate by 1e-5 from the target of 0.5033. */
static void bound_is_found_within_a_thousandth_of_a_short_range(void)
{
	struct arena *arena = arena_new();
	struct function function = {.f = line};
	struct solve_problem p = problem(&function, 0.5, 0.51, 0.5033);
	const char *refused;
	p.range.log = p.intervals = false;
	const struct solution *s = solve(arena, &p, &refused);
	CHECK(s->bound_count == 1 && fabs(s->bounds[0].x.value - 0.5033) <= 1e-5);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(bound_is_found_within_a_thousandth_of_a_short_range),
	TEST(decreasing_function_gives_a_bound_with_interval),
	TEST(upper_target_on_a_linear_range_gives_its_bound),
	TEST(target_met_everywhere_or_nowhere_is_reported),
	TEST(hill_gives_two_bounds),
	TEST(ends_of_wide_intervals_are_beyond_the_next_grid_points),
	TEST(contradicting_numbers_are_listed_in_rising_order),
	TEST(target_that_is_never_certain_is_reported),
	TEST(jumps_plateaus_and_failures_have_their_bounds),
	TEST(whole_numbers_have_exact_bounds),
	TEST(numbers_that_contradict_the_bound_are_reported),
	TEST(each_contradicting_number_is_reported_once),
	TEST(invalid_values_are_left_out_and_reported),
	TEST(range_from_zero_is_searched),
	TEST(broken_run_ends_the_search),
	TEST(default_range_surrounds_the_value),
};

int main(void)
{
	return TEST_MAIN(tests);
}
