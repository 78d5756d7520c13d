/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels on better GPUs: a higher peak of any number type, more power, a larger cache or more
 * bandwidth never makes a kernel slower, and times rise steadily with the bytes of a benchmark. */
#include <stddef.h>

#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"
#include "tests/test.h"

static struct gpu_params gpu_of(void)
{
	return (struct gpu_params){.generation = GENERATION_AMPERE,
				   .fp32_flops = 10e12,
				   .tf32_flops = 40e12,
				   .fp16_flops = 80e12,
				   .bf16_flops = 10e12,
				   .fp8_flops = 20e12,
				   .int8_flops = 20e12,
				   .memory_bandwidth_Bps = 1e12,
				   .memory_efficiency_ratio = 0.8,
				   .multiprocessors_count = 10};
}

static const struct kernel_params half = {.product_fp32_ratio = 0.5,
					  .product_tf32_ratio = 0.5,
					  .product_half_ratio = 0.5,
					  .product_fp8_ratio = 0.5,
					  .product_fp4_ratio = 0.5,
					  .plain_fp8_ratio = 0.5,
					  .fill_s = 1e-6,
					  .load_Bps = 1e30,
					  .split_s = 2e-6,
					  .operand_ratio = 1,
					  .sustained_ratio = 1,
					  .power_exponent_count = 0.5,
					  .experts_half_ratio = 0.5,
					  .experts_operand_ratio = 1};

static struct kernel_work product_of(double m, double n, double k)
{
	return (struct kernel_work){.flop = 2 * m * n * k,
				    .form = KERNEL_PRODUCT,
				    .type = NUMBER_BF16,
				    .product = {m, n, k, 1}};
}

/* The time of a benchmark rises with its bytes, without a step at the size of the cache, and a
 * larger cache never makes it longer. */
static void time_rises_steadily_across_the_cache(void)
{
	struct gpu_params gpu = gpu_of();
	const struct efficiency_params alone = {.law_ratio = 1, .kernels = &half, .alone = true};
	struct kernel_work work = product_of(1, 64, 64);
	double before_s = 0;
	for (double part = 0.5; part < 2; part += 0.01) {
		work.bytes_B = part * 0.2e9;
		work.repeated_B = work.bytes_B;
		gpu.cache_B = 0.2e9;
		double time_s = kernel_duration_s(&gpu, &alone, &work);
		CHECK(time_s > before_s);
		CHECK(before_s == 0 || time_s < 1.15 * before_s);
		before_s = time_s;
		gpu.cache_B = 0.21e9;
		CHECK(kernel_duration_s(&gpu, &alone, &work) <= time_s);
	}
	CHECK_NEAR(cache_hit_ratio(1.05 * 5, 5), 0.5, 1e-12);
}

/* The reference GPU of Ampere has 1.28 W for each Tflop/s in bf16, of which FP8 and INT8 need half.
 * At a quarter of the power, the root of it remains of the rate, but loads keep theirs. */
static void power_limits_arithmetic_by_its_own_type(void)
{
	struct kernel_params kernels = half;
	struct efficiency_params law = {.law_ratio = 1, .kernels = &kernels};
	struct gpu_params gpu = gpu_of();
	gpu.fp16_flops = 1e15; /* of no effect on bf16 */
	gpu.power_W = 12.8;
	struct kernel_work work = product_of(1280, 1280, 4096);
	double full_s = kernel_duration_s(&gpu, &law, &work);
	gpu.power_W = 3.2;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), 2 * full_s, 5e-3);
	work.type = NUMBER_INT8;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), full_s, 5e-3);
	work.type = NUMBER_BF16;
	work.grouped = true;
	double grouped_s = kernel_duration_s(&gpu, &law, &work);
	gpu.power_W = 12.8;
	CHECK(kernel_duration_s(&gpu, &law, &work) < 0.6 * grouped_s);
	work.grouped = false;
	kernels.load_Bps = 1e9;
	double loads_s = kernel_duration_s(&gpu, &law, &work);
	gpu.power_W = 3.2;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), loads_s, 5e-3);
}

/* More of anything never makes a kernel slower, at each ratio of power and peak. */
static void better_gpus_are_never_slower(void)
{
	static const size_t better[] = {
		offsetof(struct gpu_params, fp32_flops),
		offsetof(struct gpu_params, tf32_flops),
		offsetof(struct gpu_params, fp16_flops),
		offsetof(struct gpu_params, bf16_flops),
		offsetof(struct gpu_params, fp8_flops),
		offsetof(struct gpu_params, power_W),
		offsetof(struct gpu_params, cache_B),
		offsetof(struct gpu_params, memory_bandwidth_Bps),
	};
	struct kernel_params kernels = half;
	kernels.sustained_ratio = 0.8;
	kernels.load_Bps = 50e9;
	for (enum number_type type = NUMBER_FP32; type <= NUMBER_FP8; type++)
		for (double power_W = 2; power_W < 3000; power_W *= 3)
			for (size_t i = 0; i < sizeof better / sizeof better[0]; i++) {
				struct gpu_params gpu = gpu_of();
				gpu.generation = GENERATION_HOPPER;
				gpu.power_W = power_W;
				gpu.cache_B = 4e6;
				struct efficiency_params law = {
					.law_ratio = 1, .kernels = &kernels, .alone = i % 2};
				struct kernel_work work = product_of(300, 2000, 1000);
				work.type = type;
				work.bytes_B = work.repeated_B = 5e6;
				double time_s = kernel_duration_s(&gpu, &law, &work);
				double *at = (double *)(void *)((char *)&gpu + better[i]);
				*at *= 2;
				CHECK(kernel_duration_s(&gpu, &law, &work) <= time_s * (1 + 1e-12));
			}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(time_rises_steadily_across_the_cache),
		TEST(power_limits_arithmetic_by_its_own_type),
		TEST(better_gpus_are_never_slower),
	};
	return TEST_MAIN(tests);
}
