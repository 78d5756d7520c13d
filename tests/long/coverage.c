/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often 95 % intervals of fits hold what was planted, over 1,000 recordings of
 * ten passes with noise and outliers: one number, and a line in two pieces whose
 * cut is looked for each time. 92 to 98 % is right: of 1,000, the standard
 * error is 0.7 %, and the intervals rest on ten passes. */
#include <stdlib.h>

#include "calib/fit/calibrating.h"
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "tests/test.h"

enum { REPETITIONS = 1000, PASSES = 10, SAMPLES = 31, SIZES = 44 };

static const double SIGMA = 0.01, OUTLIER_RATE = 0.005, OUTLIER_SIZE = 5, PASS_SIGMA = 0.002;
static const double CALL_S = 2.1e-6;
static const double BREAK_B = 4096, START_S[2] = {1.2e-6, 1.1e-6}, SLOPE[2] = {0, 4.2e-11};

static int ascending(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

/* The median of a pass's samples. */
static double pass_median(struct rng *rng, double time_s)
{
	double samples[SAMPLES];
	double pass_s = time_s * exp(PASS_SIGMA * rng_normal(rng));
	for (size_t i = 0; i < SAMPLES; i++) {
		samples[i] = pass_s * exp(SIGMA * rng_normal(rng));
		if (rng_uniform(rng) < OUTLIER_RATE)
			samples[i] *= OUTLIER_SIZE;
	}
	qsort(samples, SAMPLES, sizeof samples[0], ascending);
	return samples[SAMPLES / 2];
}

static struct recording_point *add_point(struct arena *arena, struct recording *recording,
					 struct rng *rng, const char *test, double size_B,
					 double time_s)
{
	struct recording_point *point = VEC_PUSH(arena, &recording->points);
	double medians[PASSES];
	*point = (struct recording_point){.test = test};
	point->x[point->number_count++] = (struct recording_number){"size_B", size_B};
	for (size_t pass = 0; pass < PASSES; pass++) {
		struct recording_pass *summary = VEC_PUSH(arena, &point->passes);
		medians[pass] = pass_median(rng, time_s);
		*summary = (struct recording_pass){pass, SAMPLES, medians[pass], medians[pass],
						   medians[pass]};
	}
	qsort(medians, PASSES, sizeof medians[0], ascending);
	point->value = passes_mean(medians, PASSES);
	return point;
}

static bool holds(struct interval interval, double planted)
{
	return interval.low <= planted && planted <= interval.high;
}

struct counts {
	int call, start, large_start, slope, two;
};

static void repeat(uint64_t seed, struct counts *counts)
{
	struct arena *arena = arena_new();
	struct rng rng = rng_named(seed, "coverage");
	struct recording recording = {.pass_count = PASSES};
	struct calibration result = {.recording = &recording};
	struct calibrating c = {.arena = arena,
				.recording = &recording,
				.seed = seed,
				.confidence = 0.95,
				.result = &result};
	struct interval call;
	double size_B = 1;
	add_point(arena, &recording, &rng, "call", 0, CALL_S);
	for (size_t i = 0; i < SIZES; i++, size_B *= 1.5) {
		size_t k = size_B >= BREAK_B;
		add_point(arena, &recording, &rng, "copy", size_B, START_S[k] + SLOPE[k] * size_B);
	}
	CHECK(calibrating_value(&c, "call", "", &call));
	counts->call += holds(call, CALL_S);
	const struct calibration_series *series =
		calibrating_series(&c, "copy", "", "size_B", SEGMENTS_MAX, 0.03);
	if (CHECK(series != NULL)) {
		size_t last = series->segments.count - 1;
		counts->two += series->segments.count == 2;
		counts->start += holds(series->start_s[0], START_S[0]);
		counts->large_start += holds(series->start_s[last], START_S[1]);
		counts->slope += holds(series->slope[last], SLOPE[1]);
	}
	arena_free(arena);
}

static void intervals_hold_what_was_planted(void)
{
	struct counts counts = {0};
	for (uint64_t seed = 1; seed <= REPETITIONS; seed++)
		repeat(seed, &counts);
	printf("  of %d: a call %d, start %d, start of the second piece %d, slope %d; %d times two "
	       "pieces\n",
	       REPETITIONS, counts.call, counts.start, counts.large_start, counts.slope,
	       counts.two);
	const int all[] = {counts.call, counts.start, counts.large_start, counts.slope};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		CHECK(all[i] >= 0.92 * REPETITIONS && all[i] <= 0.98 * REPETITIONS);
	CHECK(counts.two >= 0.98 * REPETITIONS);
}

static const struct test tests[] = {TEST(intervals_hold_what_was_planted)};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
