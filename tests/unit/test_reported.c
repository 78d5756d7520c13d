/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of reported numbers, and targets. */
#include "sim/base/arena.h"
#include "sim/analysis/reported.h"
#include "tests/test.h"

static const struct origin origin = {"--target", 0};
static const struct reporting programs = {PREDICTION_PROGRAMS, NULL},
			      training = {PREDICTION_TRAINING, NULL},
			      collective = {PREDICTION_COLLECTIVE, NULL},
			      steps = {PREDICTION_TRAINING, "steps/s"};

static const char *name_of(enum prediction_kind kind, const char *name)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct reported *reported =
		reported_find(arena, diag, origin, (struct reporting){kind, NULL}, name);
	const char *found = reported ? reported->name : NULL;
	CHECK((found == NULL) == (diag_count(diag) == 1));
	arena_free(arena);
	return found;
}

static void names_of_numbers_accept_their_spellings(void)
{
	CHECK_TEXT(name_of(PREDICTION_PROGRAMS, "ratio"), "ratio");
	CHECK_TEXT(name_of(PREDICTION_TRAINING, "ratio"), "efficiency");
	CHECK_TEXT(name_of(PREDICTION_TRAINING, "Speed-up"), "speedup");
	CHECK_TEXT(name_of(PREDICTION_PROGRAMS, "images/s"), "samples_per_s");
	CHECK_TEXT(name_of(PREDICTION_TRAINING, "throughput"), "samples_per_s");
	CHECK_TEXT(name_of(PREDICTION_COLLECTIVE, "throughput"), "bus_bandwidth_Bps");
	CHECK_TEXT(name_of(PREDICTION_COLLECTIVE, "bus bandwidth"), "bus_bandwidth_Bps");
	CHECK_TEXT(name_of(PREDICTION_COLLECTIVE, "step"), "time_s");
	CHECK_TEXT(name_of(PREDICTION_PROGRAMS, "step_s"), "step_s");
	CHECK_TEXT(name_of(PREDICTION_PROGRAMS, "GPU busy"), "gpu_utilization");
	CHECK_TEXT(name_of(PREDICTION_TRAINING, "training time"), "training_s");
	CHECK_TEXT(name_of(PREDICTION_TRAINING, "input wait"), "input_wait_s");
	CHECK(name_of(PREDICTION_COLLECTIVE, "ratio") == NULL);
	CHECK(name_of(PREDICTION_PROGRAMS, "s") == NULL);
}

static void targets_are_read_and_checked(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct target t;
	CHECK(target_read(arena, diag, origin, programs, "ratio >= 95 %", &t));
	CHECK(t.at_least && t.value == 0.95);
	CHECK_TEXT(t.text, "ratio to local >= 0.95");
	CHECK(target_read(arena, diag, origin, programs, "step<=250 ms", &t));
	CHECK(!t.at_least && t.value == 0.25);
	CHECK(target_read(arena, diag, origin, training, "images/s>=1300 images/s", &t));
	CHECK(t.value == 1300);
	CHECK_TEXT(t.text, "throughput >= 1300 images/s");
	CHECK(target_read(arena, diag, origin, steps, "throughput>=3 steps/s", &t));
	CHECK_TEXT(t.text, "throughput >= 3 steps/s");
	CHECK(t.reported->offset == answer_at(ANSWER_THROUGHPUT)->offset);
	CHECK(target_read(arena, diag, origin, collective, "throughput>=10 GB/s", &t));
	CHECK(t.value == 1e10 && diag_count(diag) == 0);
	CHECK(target_read(arena, diag, origin, training, "tflops_gpu>=2 TFLOP/s", &t));
	CHECK(t.value == 2e12 && diag_count(diag) == 0);
	CHECK(!target_read(arena, diag, origin, programs, "ratio>0.95", &t));
	CHECK(!target_read(arena, diag, origin, programs, "step<=250", &t));
	CHECK(!target_read(arena, diag, origin, programs, "step<=0 s", &t));
	CHECK(diag_count(diag) == 3);
	arena_free(arena);
}

static void reported_numbers_come_from_the_prediction(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct prediction p = {.ok = true,
			       .ratio = {0.8, 0.7, 0.9},
			       .breakdown = (struct breakdown_part[]){{PART_INPUT, 0.25}},
			       .breakdown_count = 1};
	const struct reported *ratio = reported_find(arena, diag, origin, training, "efficiency");
	const struct reported *wait = reported_find(arena, diag, origin, training, "input_wait_s");
	CHECK(reported_of(ratio, &p).low == 0.7);
	CHECK(reported_of(wait, &p).value == 0.25);
	CHECK_TEXT(reported_text(arena, wait, 0.25), "250 ms");
	p.ok = false;
	CHECK(isnan(reported_of(ratio, &p).value) && isnan(reported_of(wait, &p).value));
	arena_free(arena);
}

/* Counts have four digits, or all digits before the point up to 10^15. Numbers without a width have
 * no interval, and the ends of an interval have no unit. */
static void counts_and_intervals_have_their_digits(void)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {{340, "340 images/s"},       {0.12345, "0.1235 images/s"},
		    {9999.4, "9999 images/s"},   {9999.5, "10000 images/s"},
		    {12345.6, "12346 images/s"}, {-12345.6, "-12346 images/s"},
		    {1e15, "1e+15 images/s"},    {NAN, "-"}};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct reported *rate = reported_find(arena, diag, origin, programs, "throughput");
	const struct reported *step = reported_find(arena, diag, origin, programs, "step");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		CHECK_TEXT(reported_text(arena, rate, rows[i].value), rows[i].text);
	CHECK_TEXT(reported_interval(arena, rate, (struct estimate){340, 300, 12345.6}),
		   "340 images/s (300 to 12346)");
	CHECK_TEXT(reported_interval(arena, rate, (struct estimate){340, 340, 340}),
		   "340 images/s");
	CHECK_TEXT(reported_interval(arena, step, (struct estimate){0.25, 0.2, 0.3}),
		   "250 ms (200 ms to 300 ms)");
	arena_free(arena);
}

/* The error says whether other cases have this result, and lists those of the case. */
static void results_that_a_case_does_not_have_are_refused(void)
{
	static const struct {
		enum prediction_kind kind;
		const char *name, *begins, *lists;
	} rows[] = {
		{PREDICTION_COLLECTIVE, "ratio",
		 "this kind of case has no result 'ratio' (the "
		 "results of a collective are ",
		 "bus_bandwidth_Bps"},
		{PREDICTION_PROGRAMS, "bubble",
		 "this kind of case has no result 'bubble' (the "
		 "results of a program on a GPU are ",
		 "ratio"},
		{PREDICTION_TRAINING, "euro",
		 "there is no result called 'euro' (the results of a "
		 "training job are ",
		 "efficiency"},
		{PREDICTION_SERVING, "euro",
		 "there is no result called 'euro' (the results of a "
		 "model server are ",
		 "latency_p99_s"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		struct diag *diag = diag_new(arena);
		struct reporting reporting = {rows[i].kind, NULL};
		CHECK(reported_find(arena, diag, origin, reporting, rows[i].name) == NULL);
		CHECK(strstr(diag_at(diag, 0), rows[i].begins) != NULL);
		CHECK(strstr(diag_at(diag, 0), rows[i].lists) != NULL);
		CHECK_TEXT(reported_main(rows[i].kind), rows[i].lists);
		arena_free(arena);
	}
}

/* Each quantile of each latency is a number of its own: 1 to 12. */
static void quantiles_of_latencies_are_numbers_of_their_own(void)
{
	static const char *const names[] = {"latency", "first_token", "between_tokens"};
	static const char *const quantiles[] = {"p50", "p90", "p95", "p99"};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct prediction p = {.ok = true, .requests_count = 1};
	for (int i = 0; i < 4; i++) {
		p.latency_s[i] = estimate_exact(1 + i);
		p.first_token_s[i] = estimate_exact(5 + i);
		p.between_tokens_s[i] = estimate_exact(9 + i);
	}
	for (int i = 0; i < 12; i++) {
		const char *name = arena_printf(arena, "%s_%s", names[i / 4], quantiles[i % 4]);
		const struct reported *reported = reported_find(
			arena, diag, origin, (struct reporting){PREDICTION_SERVING, NULL}, name);
		if (CHECK(reported != NULL))
			CHECK_NEAR(reported_of(reported, &p).value, 1 + i, 1e-12);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(names_of_numbers_accept_their_spellings),
	TEST(targets_are_read_and_checked),
	TEST(reported_numbers_come_from_the_prediction),
	TEST(counts_and_intervals_have_their_digits),
	TEST(results_that_a_case_does_not_have_are_refused),
	TEST(quantiles_of_latencies_are_numbers_of_their_own),
};

int main(void)
{
	return TEST_MAIN(tests);
}
