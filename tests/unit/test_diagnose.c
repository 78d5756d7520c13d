/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The likelihoods of faults: each distance is computed again by Cramer's rule from the covariance
 * of three points, and measurements that equal a prediction name it. The test must run from the
 * root folder. */
#include <math.h>

#include "sim/analysis/diagnose.h"
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "tests/test.h"

enum { POINTS = 3 };
#define NOISE 0.05

static struct arena *arena;
#define FROM                                                                                       \
	{                                                                                          \
		"test", 0                                                                          \
	}
#define POINT(size)                                                                                \
	{                                                                                          \
		{"case.topology=c4140-m", FROM}, {"case.exchange=nccl-2.8", FROM},                 \
			{"case.collective=all_reduce", FROM},                                      \
			{"case.collective_size=" size, FROM},                                      \
		{                                                                                  \
			"case.gpus=4", FROM                                                        \
		}                                                                                  \
	}
static const struct setting settings[POINTS][5] = {POINT("1 KiB"), POINT("1 MiB"),
						   POINT("256 MiB")};

static const struct diagnosis *diagnosis_of(const double measured_s[POINTS])
{
	struct diag *diag = diag_new(arena);
	struct sweep_fault fault;
	struct dataset_row *rows = ARENA_ARRAY(arena, POINTS, struct dataset_row);
	for (size_t i = 0; i < POINTS; i++)
		rows[i] = (struct dataset_row){.label = "a point",
					       .measure = MEASURE_TIME,
					       .measured = measured_s[i],
					       .settings = settings[i],
					       .setting_count = 5};
	const struct dataset dataset = {
		.name = "test", .path = "test", .rows = rows, .row_count = POINTS};
	const struct diagnose_request request = {
		.input = {.request = {.data_root = data_root_find(arena)},
			  .options = {.seed = 1, .draws_count = 4, .jobs = 1}},
		.dataset = &dataset,
		.noise_ratio = NOISE};
	const struct diagnosis *d = diagnose(arena, diag, &request, &fault);
	diag_print(diag, stdout);
	CHECK(d && !fault.broken);
	return d;
}

static double determinant(double m[3][3])
{
	return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
	       m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
	       m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

/* The covariance of two points has nine tenths of the prediction's variance in common, and the rest
 * falls by e for each factor of 32 between their sizes. */
static double distance(const struct diagnosis *d, const double *time_s)
{
	double c[3][3], r[3], sum = 0;
	for (size_t i = 0; i < 3; i++) {
		r[i] = log(d->rows[i]->measured / time_s[i]);
		for (size_t j = 0; j < 3; j++) {
			double s[2], apart = fabs(log(d->size_B[i] / d->size_B[j])) / log(32);
			for (size_t k = 0; k < 2; k++) {
				const struct estimate *e = &d->expected_s[k ? j : i];
				s[k] = (log(e->high) - log(e->low)) / (2 * 1.645);
			}
			c[i][j] = s[0] * s[1] * (0.9 + 0.1 * exp(-apart)) +
				  (i == j ? NOISE * NOISE : 0);
		}
	}
	for (size_t k = 0; k < 3; k++) {
		double m[3][3];
		for (size_t i = 0; i < 3; i++)
			for (size_t j = 0; j < 3; j++)
				m[i][j] = j == k ? r[i] : c[i][j];
		sum += r[k] * determinant(m) / determinant(c);
	}
	return sum;
}

static void expected(double expected_s[POINTS], double most_s[POINTS])
{
	const struct diagnosis *d = diagnosis_of((const double[POINTS]){1, 1, 1});
	for (size_t i = 0; d && i < POINTS; i++) {
		expected_s[i] = d->expected_s[i].value;
		most_s[i] = d->expected_s[i].high;
	}
}

static void distances_are_those_of_the_covariance(void)
{
	double expected_s[POINTS] = {1, 1, 1}, most_s[POINTS];
	expected(expected_s, most_s);
	const double measured_s[POINTS] = {1.3 * expected_s[0], 0.9 * expected_s[1],
					   1.7 * expected_s[2]};
	const struct diagnosis *d = diagnosis_of(measured_s);
	if (!d)
		return;
	double total = 0;
	CHECK(d->size_B[0] == 1024 && d->size_B[2] == 256 * 0x1p20);
	CHECK(d->suspect_count > 1 && d->simulated_count >= d->suspect_count - 1);
	for (size_t i = 0; i < d->suspect_count; i++) {
		const struct suspect *s = &d->suspects[i];
		CHECK_NEAR(s->distance, distance(d, s->time_s), 1e-6);
		CHECK(i == 0 || s->probability <= d->suspects[i - 1].probability);
		total += s->probability;
	}
	CHECK_NEAR(total, 1, 1e-9);
}

/* A tenth of the probability belongs to all visible faults together. Two classes of one member have
 * odds of their priors times exp(-distance / 2). */
static void measured_times_of_a_prediction_name_it(void)
{
	double expected_s[POINTS] = {1, 1, 1}, most_s[POINTS];
	expected(expected_s, most_s);
	const struct diagnosis *d = diagnosis_of(expected_s);
	if (!d)
		return;
	CHECK_TEXT(d->suspects[0].setting, "");
	CHECK(d->suspects[0].distance < 1e-9 && d->explained);
	for (size_t i = 1; i < d->suspect_count; i++)
		CHECK(d->suspects[i].distance > 0 && d->suspects[i].setting[0]);
	const struct suspect *fault = NULL;
	for (size_t i = 1; i < d->suspect_count; i++)
		if (!fault || d->suspects[i].distance > fault->distance)
			fault = &d->suspects[i];
	if (!CHECK(fault != NULL))
		return;
	const struct diagnosis *again = diagnosis_of(fault->time_s);
	CHECK(again && again->suspects[0].distance < 1e-9);
	CHECK_TEXT(again ? again->suspects[0].setting : "", fault->setting);
}

/* Small sizes have the latency, large ones the bandwidth. A point is outside of the interval if it
 * is above its upper end by more than the noise. */
static void ranges_count_points_outside_of_the_interval(void)
{
	double expected_s[POINTS] = {1, 1, 1}, most_s[POINTS] = {1, 1, 1};
	expected(expected_s, most_s);
	const double measured_s[POINTS] = {most_s[0] * (1 + NOISE / 2), expected_s[1],
					   most_s[2] * (1 + 2 * NOISE)};
	const struct diagnosis *d = diagnosis_of(measured_s);
	if (!d)
		return;
	const struct size_range *small = &d->ranges[0], *large = &d->ranges[2];
	CHECK(small->count >= 1 && small->from_B == 1024 && small->outside_count == 0);
	CHECK(large->count == 1 && large->from_B == 256 * 0x1p20 && large->outside_count == 1);
	CHECK(large->from_B == large->to_B);
	CHECK_NEAR(large->ratio, measured_s[2] / expected_s[2], 1e-9);
	CHECK(small->count + d->ranges[1].count + large->count == POINTS);
}

static const struct test tests[] = {
	TEST(distances_are_those_of_the_covariance),
	TEST(measured_times_of_a_prediction_name_it),
	TEST(ranges_count_points_outside_of_the_interval),
};

int main(void)
{
	num_init();
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
