/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Piecewise lines, matrix products, change points and intervals, on data with a known result. */
#include <math.h>

#include "calib/fit/calibrating.h"
#include "calib/fit/interval.h"
#include "calib/fit/law.h"
#include "calib/fit/segments.h"
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "tests/test.h"

/* The line through (1, 3) and (3, 7) is 1 + 2 x. Two more points are on it. */
static void exact_line_is_found(void)
{
	const struct xy points[] = {{1, 3}, {2, 5}, {3, 7}, {10, 21}};
	struct fitted_line line = line_fit(points, 4);
	CHECK_NEAR(line.start, 1, 1e-12);
	CHECK_NEAR(line.slope, 2, 1e-12);
	CHECK_NEAR(line_at(&line, 4), 9, 1e-12);
}

/* y = 2 x - 1 would have a negative start. The best line through the origin has the slope sum(x /
 * y) / sum(x^2 / y^2) for relative errors. With (1, 1) and (2, 3) it is (1 + 2/3) / (1 + 4/9) =
 * 15/13. Decreasing times give a flat line, sum(1/y) / sum(1/y^2). */
static void line_has_no_negative_part(void)
{
	const struct xy below[] = {{1, 1}, {2, 3}}, falling[] = {{1, 2}, {2, 1}};
	struct fitted_line line = line_fit(below, 2);
	CHECK(line.start <= 0 && line.start >= 0);
	CHECK_NEAR(line.slope, 15.0 / 13, 1e-12);
	line = line_robust(falling, 2);
	CHECK(line.slope <= 0 && line.slope >= 0);
	line = line_fit(falling, 2);
	CHECK_NEAR(line.start, (0.5 + 1) / (0.25 + 1), 1e-12);
}

/* One of nine points is ten times too slow; least squares would follow it. */
static void outlier_hardly_moves_the_robust_line(void)
{
	struct xy points[9];
	struct rng rng = rng_named(1, "outlier");
	for (size_t i = 0; i < 9; i++)
		points[i] =
			(struct xy){(double)(i + 1),
				    (5 + 2 * (double)(i + 1)) *
					    (1 + 0.001 * num_normal_quantile(rng_uniform(&rng)))};
	points[4].y *= 10;
	struct fitted_line line = line_robust(points, 9);
	CHECK_NEAR(line.start, 5, 0.02);
	CHECK_NEAR(line.slope, 2, 0.02);
}

struct piece {
	double from, start, slope;
};

static size_t sizes_of(struct xy *points, const struct piece *pieces, size_t count, double sigma,
		       uint64_t seed)
{
	size_t n = 0;
	struct rng rng = rng_named(seed, "segments");
	for (double x = 1; x <= 0x1p28; x *= x < 256 ? 2 : 1.4142135623730951) {
		size_t k = count - 1;
		while (k > 0 && x < pieces[k].from)
			k--;
		points[n++] =
			(struct xy){x, (pieces[k].start + pieces[k].slope * x) *
					       exp(sigma * num_normal_quantile(rng_uniform(&rng)))};
	}
	return n;
}

static void planted_segments(const struct piece *pieces, size_t count)
{
	static struct xy points[SEGMENTS_POINTS_MAX];
	struct segments segments;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		size_t n = sizes_of(points, pieces, count, 0.002, seed);
		CHECK(segments_fit(points, n, SEGMENTS_MAX, &segments));
		if (!CHECK(segments.count == count))
			continue;
		for (size_t k = 0; k < count; k++) {
			/* within one step of the sizes, a factor of 1.42 */
			if (k > 0) {
				CHECK(segments.from[k] >= pieces[k].from / 1.42);
				CHECK(segments.from[k] <= pieces[k].from * 1.42 * 1.42);
			}
			CHECK_NEAR(segments.lines[k].start, pieces[k].start,
				   k + 1 < count ? 0.03 : 0.3);
		}
		CHECK_NEAR(segments.lines[count - 1].slope, pieces[count - 1].slope, 0.02);
		CHECK(segments.rms_ratio < 0.005);
	}
}

static void planted_segments_are_found(void)
{
	const struct piece one[] = {{0, 6e-6, 1.1e-10}};
	const struct piece two[] = {{0, 1.2e-6, 0}, {4096, 1.1e-6, 4.2e-11}};
	const struct piece three[] = {
		{0, 2e-6, 1e-11}, {65536, 6e-6, 9e-11}, {4194304, 2e-5, 1.2e-10}};
	planted_segments(one, 1);
	planted_segments(two, 2);
	planted_segments(three, 3);
}

static void too_few_points_give_no_line(void)
{
	const struct xy one[] = {{64, 1e-6}}, same[] = {{64, 1e-6}, {64, 1.1e-6}, {64, 1e-6}};
	struct segments segments;
	CHECK(!segments_fit(one, 1, SEGMENTS_MAX, &segments));
	CHECK(!segments_fit(same, 3, SEGMENTS_MAX, &segments));
	CHECK(!segments_fit(one, 0, SEGMENTS_MAX, &segments));
}

static void equal_times_give_a_flat_line(void)
{
	struct xy points[32];
	struct segments segments;
	for (size_t i = 0; i < 32; i++)
		points[i] = (struct xy){(double)(i + 1), 1e-6};
	CHECK(segments_fit(points, 32, SEGMENTS_MAX, &segments));
	CHECK(segments.count == 1);
	CHECK_NEAR(segments.lines[0].start, 1e-6, 1e-12);
	CHECK(segments.lines[0].slope < 1e-18);
}

/* A launch takes 2 us until 1024 are in flight; a single slow one before that is not a change. */
static void change_point_ignores_single_outliers(void)
{
	const struct xy steps[] = {{16, 2},   {64, 2.1},   {256, 50},
				   {1023, 2}, {1024, 900}, {4096, 900}};
	CHECK(change_point(steps, 6, 10) == 4);
	CHECK(change_point(steps, 2, 10) == 2);
	CHECK(change_point(steps, 0, 10) == 0);
	const struct xy equal[] = {{1, 1}, {2, 10}, {3, 10}}; /* ten times is not above ten times */
	CHECK(change_point(equal, 3, 10) == 3);
}

/* A product of 1280 x 1280 elements with k = 64 on 100 SMs at 10 Tflop/s. k is too short to be
 * divided. With tiles of 128 x 128 there are 100 tiles, which run in one wave. Its arithmetic takes
 * 2 x 128 x 128 x 64 x 100 / 1e13 = 20.9715 us. With the fill of 2 us and the floor of 1 us the
 * product takes 23.9715 us. Tiles of 256 x 128 take one wave of 41.9 us. Smaller tiles take two
 * or more waves, each with a fill. The operands' bytes take no time here. */
static struct law law_of(double sm_count, double floor_s)
{
	return (struct law){.gpu = {.generation = GENERATION_VOLTA,
				    .multiprocessors_count = sm_count,
				    .kernel_floor_s = floor_s,
				    .memory_bandwidth_Bps = 1e18,
				    .memory_efficiency_ratio = 1},
			    .kernels = {.product_fp32_ratio = 1,
					.product_tf32_ratio = 1,
					.product_half_ratio = 1,
					.product_fp8_ratio = 1,
					.product_fp4_ratio = 1,
					.plain_fp8_ratio = 1,
					.fill_s = 2e-6,
					.load_Bps = 1e18,
					.split_s = 2.5e-6,
					.operand_ratio = 1,
					.attention_forward_ratio = 0.6,
					.attention_fill_s = 2e-6,
					.attention_floor_s = 5e-6,
					.attention_store_s = 1e-6,
					.token_fill_s = 2e-6,
					.token_floor_s = 8e-6,
					.token_load_Bps = 3e10}};
}

static void product_takes_waves_of_tiles_and_their_fill(void)
{
	struct law law = law_of(100, 1e-6);
	const struct single_kernel run = single_product(
		NUMBER_TF32, (struct kernel_product){1280, 1280, 64, 1}, false, false);
	law.gpu.tf32_flops = 1e13;
	CHECK_NEAR(law_at(&law, &run), 23.9715e-6, 1e-4);
}

static struct single_kernel some_kernel(struct rng *rng, size_t i)
{
	const struct kernel_product product = {ceil(64 * exp2(7 * rng_uniform(rng))),
					       ceil(64 * exp2(7 * rng_uniform(rng))),
					       ceil(16 * exp2(9 * rng_uniform(rng))), 1};
	const struct kernel_attention attention = {.sequences = 1 + (double)(i % 16),
						   .queries = i % 2 ? 1 : product.m,
						   .keys = product.m,
						   .heads = 32,
						   .kv_heads = 8,
						   .head_size = 128,
						   .element_B = 2,
						   .causal = true};
	if (i % 3 == 2)
		return single_attention(NUMBER_FP16, attention);
	return single_product(i % 3 ? NUMBER_FP16 : NUMBER_FP32, product, false, false);
}

static struct law planted_law(const double planted[LAW_CONSTANTS])
{
	struct law truth = law_of(80, 1.5e-6);
	truth.gpu.memory_bandwidth_Bps = 9e11;
	truth.gpu.fp32_flops = planted[NUMBER_FP32];
	truth.gpu.fp16_flops = planted[NUMBER_FP16];
	truth.kernels.fill_s = planted[LAW_FILL];
	truth.kernels.load_Bps = planted[LAW_LOAD];
	truth.kernels.split_s = planted[LAW_SPLIT];
	truth.kernels.operand_ratio = planted[LAW_OPERAND];
	truth.kernels.attention_forward_ratio = planted[LAW_ATTENTION];
	truth.kernels.attention_fill_s = planted[LAW_ATTENTION_FILL];
	truth.kernels.attention_floor_s = planted[LAW_ATTENTION_FLOOR];
	truth.kernels.token_fill_s = planted[LAW_TOKEN_FILL];
	truth.kernels.token_floor_s = planted[LAW_TOKEN_FLOOR];
	truth.kernels.token_load_Bps = planted[LAW_TOKEN_LOAD];
	return truth;
}

/* Products first, then attention, as a calibration does. */
static void planted_constants_of_kernels_are_found(void)
{
	enum { COUNT = 240 };
	static const bool offered[2][LAW_CONSTANTS] = {{[NUMBER_FP32] = true,
							[NUMBER_FP16] = true,
							[LAW_FILL] = true,
							[LAW_LOAD] = true,
							[LAW_SPLIT] = true,
							[LAW_OPERAND] = true,
							[NUMBER_BF16] = true},
						       {[LAW_ATTENTION] = true,
							[LAW_ATTENTION_FILL] = true,
							[LAW_ATTENTION_FLOOR] = true,
							[LAW_TOKEN_FILL] = true,
							[LAW_TOKEN_FLOOR] = true,
							[LAW_TOKEN_LOAD] = true}};
	static const double planted[LAW_CONSTANTS] = {
		[NUMBER_FP32] = 12e12,        [NUMBER_FP16] = 9e13,
		[LAW_FILL] = 1.7e-6,          [LAW_LOAD] = 6e10,
		[LAW_SPLIT] = 4e-6,           [LAW_OPERAND] = 0.8,
		[LAW_ATTENTION] = 0.4,        [LAW_ATTENTION_FILL] = 1.5e-6,
		[LAW_ATTENTION_FLOOR] = 7e-6, [LAW_TOKEN_FILL] = 1.2e-6,
		[LAW_TOKEN_FLOOR] = 9e-6,     [LAW_TOKEN_LOAD] = 2e10};
	struct arena *arena = arena_new();
	struct law truth = planted_law(planted), found = law_of(80, 1.5e-6);
	found.gpu.memory_bandwidth_Bps = truth.gpu.memory_bandwidth_Bps;
	found.kernels.load_Bps = 9e10;
	struct law_point points[2][COUNT];
	size_t counts[2] = {0};
	struct rng rng = rng_named(3, "products");
	for (size_t i = 0; i < COUNT; i++) {
		bool attention = i % 3 == 2;
		struct law_point *to = &points[attention][counts[attention]++];
		to->run = some_kernel(&rng, i);
		to->time_s = law_at(&truth, &to->run) *
			     exp(0.003 * num_normal_quantile(rng_uniform(&rng)));
	}
	points[0][7].time_s *= 3; /* a disturbed point */
	for (int stage = 0; stage < 2; stage++) {
		CHECK(law_fit(arena, points[stage], counts[stage], offered[stage], &found));
		for (int k = 0; k < LAW_CONSTANTS; k++) {
			if (!offered[stage][k])
				continue;
			if (!(planted[k] > 0)) /* no product of this type */
				CHECK(isinf(found.error_ratio[k]));
			else
				CHECK_NEAR(law_value(&found, (enum law_constant)k), planted[k],
					   0.03);
		}
	}
	CHECK(!law_fit(arena, points[0], 5, offered[0], &found));
	for (size_t i = 0; i < counts[0]; i++)
		points[0][i].run.work.bytes_B = 1e9;
	CHECK(!law_fit(arena, points[0], counts[0], offered[0], &found));
	arena_free(arena);
}

static bool mean(const struct pass_draw *draw, double *out, void *ctx)
{
	const double *values = ctx;
	double sum = 0, count = 0;
	for (size_t i = 0; i < draw->count; i++) {
		sum += draw->times[i] * values[i];
		count += draw->times[i];
	}
	*out = sum / count;
	return true;
}

/* Median 5, distances 1 1 1 1 2 ...: the last value is moved to 5 + 3 x 1.4826. */
static void disturbed_pass_hardly_moves_the_mean(void)
{
	const double calm[] = {4, 4, 5, 6, 6}, disturbed[] = {4, 4, 5, 6, 100};
	CHECK_NEAR(passes_mean(calm, 5), 5, 1e-12);
	CHECK_NEAR(passes_mean(disturbed, 5), (19 + 5 + 3 * 1.4826) / 5, 1e-12);
	CHECK_NEAR(passes_mean(calm, 2), 4, 1e-12);
	CHECK_NEAR(passes_mean(calm, 1), 4, 1e-12);
}

/* 1, 2, 3: the mean is 2, its standard error 1 / sqrt(3), t(2) at 97.5 % is 4.30265. A single pass
 * gives no interval. */
static void three_passes_use_students_t(void)
{
	double values[] = {1, 2, 3};
	struct estimate interval;
	struct interval_spec spec = {mean, values, 1, 3, 0.95, 1, "three"};
	CHECK(interval_of_passes(&spec, &interval));
	CHECK_NEAR(interval.value, 2, 1e-12);
	CHECK_NEAR(interval.high - 2, 4.30265 / sqrt(3), 1e-5);
	CHECK_NEAR(2 - interval.low, 4.30265 / sqrt(3), 1e-5);
	spec.pass_count = 1;
	CHECK(interval_of_passes(&spec, &interval));
	CHECK(isnan(interval.low) && isnan(interval.high));
}

/* The bootstrap of 12 passes is about as wide as t(11) and repeats exactly. */
static void twelve_passes_use_the_bootstrap(void)
{
	double values[12], sum = 0, square = 0;
	struct rng rng = rng_named(5, "twelve");
	for (size_t i = 0; i < 12; i++) {
		values[i] = 100 + num_normal_quantile(rng_uniform(&rng));
		sum += values[i];
		square += values[i] * values[i];
	}
	double error = sqrt((square - sum * sum / 12) / 11 / 12);
	struct estimate first, again;
	const struct interval_spec spec = {mean, values, 1, 12, 0.95, 7, "twelve"};
	CHECK(interval_of_passes(&spec, &first));
	CHECK(interval_of_passes(&spec, &again));
	CHECK_NEAR((first.high - first.low) / 2, 2.201 * error, 0.2);
	CHECK(first.low >= again.low && first.low <= again.low && first.high <= again.high);
}

/* Nine passes measure 0 and one measures 1, so their mean is 0.1. Student's interval begins below
 * 0. The bootstrap's does not, because it is made of means of drawn passes. It needs ten passes. */
static void ten_passes_are_enough_for_the_bootstrap(void)
{
	double values[10] = {[0] = 1};
	struct estimate interval;
	struct interval_spec spec = {mean, values, 1, 10, 0.95, 1, "ten"};
	CHECK(interval_of_passes(&spec, &interval) && interval.low >= 0);
	spec.pass_count = 9;
	CHECK(interval_of_passes(&spec, &interval) && interval.low < 0);
}

/* Means of drawn passes scatter by sqrt((n - 1) / n) of the standard error. The expanded quantiles
 * make up for it, so that intervals have t(9) = 2.2622 standard errors on each side. For 1 ... 10
 * the standard error is sqrt(55 / 6 / 10). */
static void bootstrap_is_as_wide_as_students_interval(void)
{
	enum { REPEATS = 200 };
	double values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, sum = 0;
	struct estimate interval;
	for (uint64_t seed = 0; seed < REPEATS; seed++) {
		const struct interval_spec spec = {mean, values, 1, 10, 0.95, seed, "wide"};
		CHECK(interval_of_passes(&spec, &interval));
		sum += (interval.high - interval.low) / 2;
	}
	CHECK_NEAR(sum / REPEATS / (2.2622 * sqrt(55.0 / 6 / 10)), 1, 0.02);
}

/* Points 0 and 8 are 10 % slower and make up one of eight folds. Times must not fall, so lines are
 * flat: at 1 without this fold, which misses it by 1 / 11, and with it at (12 + 2 / 1.1) / (12 + 2
 * / 1.21), which misses the others. One fold of eight that differs by d has a standard error of d
 * / 8.
 */
static void held_out_folds_give_a_mean_and_its_error(void)
{
	struct xy points[16];
	struct segments segments;
	for (size_t i = 0; i < 16; i++)
		points[i] = (struct xy){(double)(i + 1), i % 8 ? 1 : 1.1};
	CHECK(segments_fit(points, 16, 1, &segments));
	double slow = 1.0 / 11, other = (12 + 2 / 1.1) / (12 + 2 / 1.21) - 1;
	CHECK_NEAR(segments.left_out_ratio[0], (slow + 7 * other) / 8, 1e-9);
	CHECK_NEAR(segments.left_out_error_ratio[0], (slow - other) / 8, 1e-9);
}

/* Fifteen points on two lines with a clear break are too few for cross-validation, sixteen are not.
 */
static void fewer_than_sixteen_points_make_one_piece(void)
{
	struct xy points[16];
	struct segments segments;
	for (size_t i = 0; i < 16; i++)
		points[i] = (struct xy){(double)(i + 1), i < 8 ? 1 : 10 * (double)i};
	CHECK(segments_fit(points, 15, SEGMENTS_MAX, &segments) && segments.count == 1);
	CHECK(segments_fit(points, 16, SEGMENTS_MAX, &segments) && segments.count == 2);
}

/* The halves of the intervals are 1.5 and 2, and independent errors add up as squares: 2.5. */
static void differences_and_means_have_independent_errors(void)
{
	const struct estimate a = {10, 9, 12}, b = {4, 3, 7};
	struct estimate less = interval_less(a, b), mean = interval_mean(a, b);
	CHECK_NEAR(less.value, 6, 1e-12);
	CHECK_NEAR(less.low, 3.5, 1e-12);
	CHECK_NEAR(less.high, 8.5, 1e-12);
	CHECK_NEAR(mean.value, 7, 1e-12);
	CHECK_NEAR(mean.low, 5.75, 1e-12);
	CHECK_NEAR(mean.high, 8.25, 1e-12);
	CHECK_NEAR(interval_under(36, a).value, 3.6, 1e-12);
	CHECK_NEAR(interval_under(36, a).low, 3, 1e-12);
	CHECK_NEAR(interval_under(36, a).high, 4, 1e-12);
}

static const struct test tests[] = {
	TEST(fewer_than_sixteen_points_make_one_piece),
	TEST(exact_line_is_found),
	TEST(line_has_no_negative_part),
	TEST(outlier_hardly_moves_the_robust_line),
	TEST(planted_segments_are_found),
	TEST(too_few_points_give_no_line),
	TEST(equal_times_give_a_flat_line),
	TEST(change_point_ignores_single_outliers),
	TEST(product_takes_waves_of_tiles_and_their_fill),
	TEST(planted_constants_of_kernels_are_found),
	TEST(three_passes_use_students_t),
	TEST(disturbed_pass_hardly_moves_the_mean),
	TEST(twelve_passes_use_the_bootstrap),
	TEST(ten_passes_are_enough_for_the_bootstrap),
	TEST(bootstrap_is_as_wide_as_students_interval),
	TEST(held_out_folds_give_a_mean_and_its_error),
	TEST(differences_and_means_have_independent_errors),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
