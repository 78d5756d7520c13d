/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of a recording on another GPU, of which the peaks are 4 times and the bandwidth 9 times
 * as high. A kernel of share s then takes 4^-s * 9^-(1-s) of its time. */
#include "sim/base/arena.h"
#include "sim/traces/rescale.h"
#include "tests/test.h"

static struct arena *arena;

static struct gpu_params gpu(double times_arithmetic, double times_memory)
{
	return (struct gpu_params){.fp32_flops = 1e12 * times_arithmetic,
				   .fp16_flops = 8e12 * times_arithmetic,
				   .tf32_flops = 4e12 * times_arithmetic,
				   .bf16_flops = 8e12 * times_arithmetic,
				   .memory_bandwidth_Bps = 1e11 * times_memory,
				   .memory_efficiency_ratio = 0.8,
				   .kernel_floor_s = 2e-6};
}

/* Returns the time of a kernel of 102 us without its floor of 2 us. */
static double moved_us(const char *name, double arithmetic_ratio)
{
	struct gpu_params from = gpu(1, 1), to = gpu(4, 9);
	struct rescaling rescaling = {&from, &to, false, arithmetic_ratio, {0}};
	return rescale_s(arena, &rescaling, name, 102e-6) * 1e6 - 2;
}

static void each_class_weighs_arithmetic_and_memory(void)
{
	static const struct {
		const char *name;
		double share;
	} rows[] = {
		{"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32", 0.9},
		{"nvjet_tst_128x256_64x4_1x2_h_bz_coopA_NNT", 0.9},
		{"sm90_xmma_wgrad_indexed_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc", 0.9},
		{"flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>", 0.9},
		{"cublasGemmEx", 0.9},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add>",
		 0.05},
		{"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEE",
		 0.05},
		{"void at::native::multi_tensor_apply_kernel<FusedAdam>", 0.05},
		{"cudaMemsetAsync", 0.05},
		{"_ZN5cudnn21bn_bw_1C11_kernel_newIff6float2Li128ELb1ELi1EEEvT0_S2_", 0.5},
		{"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>",
		 0.5},
		{"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOps", 0.5},
		{"cunn_SoftMaxForward", 0.5},
		{"_ZN5cudnn19engines_precompiled16nchwToNhwcKernelIfffLb0ELb1EL21cudnnKernel", 0.5},
		{"my_kernel", 0.5},
	};
	arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (!CHECK_NEAR(moved_us(rows[i].name, 1),
				100 * pow(4, -rows[i].share) * pow(9, rows[i].share - 1), 1e-9))
			printf("  %s\n", rows[i].name);
	CHECK_NEAR(moved_us("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1), 100, 1e-9);
	arena_free(arena);
}

/* Odds of 0.5 : 0.5 become 3 : 1, so the share becomes 0.75. */
static void odds_of_arithmetic_move_all_shares(void)
{
	arena = arena_new();
	CHECK_NEAR(moved_us("my_kernel", 3), 100 * pow(4, -0.75) * pow(9, -0.25), 1e-9);
	CHECK_NEAR(moved_us("my_gemm", 1e-3), 100 * pow(4, -0.009 / 1.009) * pow(9, -1 / 1.009),
		   1e-9);
	arena_free(arena);
}

/* A kernel as short as the floor takes as long on any GPU. Reached bandwidths count, unless both
 * GPUs are of one model. */
static void short_kernels_keep_their_time(void)
{
	struct gpu_params from = gpu(1, 1), to = gpu(4, 9);
	struct rescaling rescaling = {&from, &to, false, 1, {0}};
	arena = arena_new();
	CHECK_NEAR(rescale_s(arena, &rescaling, "copy", 1.5e-6), 1.5e-6, 1e-9);
	to = gpu(1, 1);
	to.memory_efficiency_ratio = 0.4;
	struct rescaling other = {&from, &to, false, 1, {0}};
	CHECK_NEAR(rescale_s(arena, &other, "copy", 12e-6), 2e-6 + 10e-6 * pow(2, 0.95), 1e-9);
	struct rescaling same = {&from, &to, true, 1, {0}};
	CHECK_NEAR(rescale_s(arena, &same, "copy", 12e-6), 12e-6, 1e-9);
	arena_free(arena);
}

static void number_types_follow_from_names(void)
{
	CHECK(kernel_number_type("ampere_fp16_s16816gemm_fp16_128x64") == NUMBER_FP16);
	CHECK(kernel_number_type("ampere_bf16_s16816gemm_bf16_128x64") == NUMBER_BF16);
	CHECK(kernel_number_type("cutlass_80_tensorop_f16_s1688gemm_f16_128x128") == NUMBER_FP16);
	CHECK(kernel_number_type("cutlass_80_tensorop_s1688gemm_128x128_32x3") == NUMBER_TF32);
	CHECK(kernel_number_type("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n") == NUMBER_TF32);
	CHECK(kernel_number_type("sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n") == NUMBER_FP8);
	CHECK(kernel_number_type("turing_h1688gemm_128x128_nn") == NUMBER_FP16);
	CHECK(kernel_number_type("ampere_sgemm_128x64_nn") == NUMBER_FP32);
}

/* A kernel without a class begins with the step, and a product within it. The products before and
 * behind it do not count. Each kernel takes 11 us, 2 us of them as floor. The first becomes 2 + 9 /
 * 6 us, 0.318 times its time, and the second 2 + 9 x 4^-0.9 x 9^-0.1 us, 0.37 times. */
static void words_are_about_kernels_that_begin_in_the_step(void)
{
	struct recorded_call calls[] = {{.start_s = 0.5, .label = "sgemm"},
					{.start_s = 1, .label = "my_kernel"},
					{.start_s = 1.5, .label = "sgemm"},
					{.start_s = 2.5, .label = "sgemm"}};
	const struct recorded_calls recorded = {.calls = calls, .call_count = 4};
	const struct replay_step step = {.start_s = 1, .end_s = 2};
	struct gpu_params from = gpu(1, 1), to = gpu(4, 9);
	struct rescaling rescaling = {&from, &to, false, 1, {0}};
	const char *lacking = NULL;
	arena = arena_new();
	for (size_t i = 0; i < 4; i++)
		calls[i].gpu_s = 11e-6;
	CHECK_TEXT(rescale_words(arena, &recorded, &step, &rescaling, &lacking),
		   "kernel times are scaled by 0.344 in all (by between 0.273 and 0.386, if "
		   "memory or arithmetic limited each kernel): product 50 % by 0.37, other 50 % "
		   "by 0.318");
	CHECK(!lacking);
	arena_free(arena);
}

/* A GPU without FP8 lacks the numbers of an FP8 product. TF32 runs as FP32 where it is missing. A
 * memset counts by its function, and a copy does not count. */
static void kernels_of_missing_number_types_are_named(void)
{
	struct recorded_call calls[] = {
		{.start_s = 1, .gpu_s = 11e-6, .label = "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n"},
		{.start_s = 1, .gpu_s = 11e-6, .function = "cudaMemcpy", .copy = COPY_H2D},
		{.start_s = 1,
		 .gpu_s = 11e-6,
		 .label = "sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n"}};
	const struct replay_step step = {.start_s = 1, .end_s = 2};
	struct gpu_params from = gpu(1, 1), to = gpu(4, 9);
	struct rescaling rescaling = {&from, &to, false, 1, {0}};
	const char *lacking = NULL;
	arena = arena_new();
	to.tf32_flops = 0;
	struct recorded_calls recorded = {.calls = calls, .call_count = 2};
	rescale_words(arena, &recorded, &step, &rescaling, &lacking);
	CHECK(!lacking);
	recorded.call_count = 3;
	rescale_words(arena, &recorded, &step, &rescaling, &lacking);
	CHECK_TEXT(lacking, calls[2].label);
	to.fp8_flops = from.fp8_flops = 16e12;
	rescale_words(arena, &recorded, &step, &rescaling, &lacking);
	CHECK(!lacking);
	recorded.calls++;
	recorded.call_count = 1;
	CHECK_TEXT(rescale_words(arena, &recorded, &step, &rescaling, &lacking),
		   "the recording has no kernels to scale");
	arena_free(arena);
}

static const struct test tests[] = {TEST(kernels_of_missing_number_types_are_named),
				    TEST(words_are_about_kernels_that_begin_in_the_step),
				    TEST(each_class_weighs_arithmetic_and_memory),
				    TEST(odds_of_arithmetic_move_all_shares),
				    TEST(short_kernels_keep_their_time),
				    TEST(number_types_follow_from_names)};

int main(void)
{
	return TEST_MAIN(tests);
}
