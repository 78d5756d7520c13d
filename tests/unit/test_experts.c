/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fused experts: the spread of rows over experts, and the law with times that are derived by hand.
 */
#include <math.h>

#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"
#include "tests/test.h"

static const struct kernel_params half = {.experts_half_ratio = 0.5,
					  .experts_fp8_ratio = 0.5,
					  .experts_block_ratio = 0.25,
					  .experts_operand_ratio = 1,
					  .experts_pass_ratio = 0.5,
					  .experts_kernel_s = 4e-6,
					  .experts_step_s = 0.1e-6,
					  .dequantise_Bps = 5e9,
					  .load_Bps = 1e30,
					  .operand_ratio = 1,
					  .sustained_ratio = 1};
static const struct efficiency_params by_law = {.law_ratio = 1, .kernels = &half};

/* 8 experts on 2 GPUs get 2 of 64 tokens each from 2 choices: 64 x 2 / 8 = 16 rows, one block of
 * 16, 32, 64 or 128. */
static struct kernel_work experts_of(double tokens, double ranks)
{
	struct kernel_work work = {.form = KERNEL_EXPERTS,
				   .type = NUMBER_BF16,
				   .experts = {.tokens = tokens,
					       .hidden = 1024,
					       .inner = 2048,
					       .top = 2,
					       .experts = 8,
					       .held = 8 / ranks}};
	experts_spread(&work.experts, EXPERTS_UNIFORM, 1.2);
	return work;
}

static void rows_are_padded_to_blocks_of_each_expert(void)
{
	struct kernel_work work = experts_of(64, 2);
	CHECK_NEAR(work.experts.rows, 64, 1e-9);
	CHECK_NEAR(work.experts.active, 4, 1e-9);
	CHECK_NEAR(work.experts.blocks[0], 4, 1e-9);
	work = experts_of(68, 2); /* 17 rows of an expert are two blocks of 16 */
	CHECK_NEAR(work.experts.blocks[0], 8, 1e-9);
	CHECK_NEAR(work.experts.blocks[1], 4, 1e-9);
}

/* The rank with most rows has more than its part, and the most loaded expert at most all tokens. */
static void power_laws_load_one_rank_more(void)
{
	for (int i = EXPERTS_POWER; i <= EXPERTS_PACKED; i++) {
		enum experts_distribution distribution = (enum experts_distribution)i;
		struct kernel_experts e = {.tokens = 512, .top = 8, .experts = 64, .held = 16};
		experts_spread(&e, distribution, 1.2);
		CHECK(e.rows > 1.1 * 512 * 8 / 4 && e.rows < 512 * 8);
		CHECK(e.active > 8 && e.active <= 16);
		/* an expert that is active in several draws counts once */
		CHECK(e.distinct >= e.active && e.distinct <= 16);
		struct kernel_experts all = e;
		all.held = 64;
		experts_spread(&all, distribution, 1.2);
		CHECK_NEAR(all.rows, 512 * 8, 1e-6);
		/* each token chooses all of its experts, so each expert has all tokens */
		struct kernel_experts full = {.tokens = 1e9, .top = 8, .experts = 8, .held = 8};
		experts_spread(&full, distribution, 1.2);
		CHECK_NEAR(full.blocks[0], 8e9 / 16, 1e-6);
	}
	/* few tokens choose experts of all ranks, or neighbours */
	struct kernel_experts few = {.tokens = 1, .top = 8, .experts = 256, .held = 64};
	experts_spread(&few, EXPERTS_BENCHMARK, 1.01);
	CHECK_NEAR(few.rows, 2, 1e-9);
	experts_spread(&few, EXPERTS_PACKED, 1.01);
	CHECK_NEAR(few.rows, 8, 1e-9);
}

/* All numbers of tokens have one popularity, so more tokens mean at least as many rows, active
 * experts and blocks. */
static void more_tokens_take_no_rows_from_an_expert(void)
{
	static const double layers[][3] = {{256, 8, 32}, {8, 2, 8}, {512, 22, 64}};
	for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
		for (int power = 0; power < 2; power++) {
			struct kernel_experts last = {0};
			for (double tokens = 1; tokens < 300; tokens++) {
				struct kernel_experts e = {.tokens = tokens,
							   .experts = layers[i][0],
							   .top = layers[i][1],
							   .held = layers[i][2]};
				experts_spread(&e, power ? EXPERTS_POWER : EXPERTS_UNIFORM, 1.2);
				CHECK(e.rows > last.rows - 1e-9);
				CHECK(e.active > last.active - 1e-9);
				CHECK(e.distinct >= last.distinct);
				for (size_t k = 0; k < EXPERT_HEIGHTS; k++)
					CHECK(e.blocks[k] > last.blocks[k] - 1e-9);
				last = e;
			}
		}
}

/* An SM of a GPU with bf16 at 8 Tflop/s an SM multiplies at 4. 64 tokens of 8 experts on one GPU
 * use tiles of 32 x 64, whose row of k takes 1.024 ns. First product: 8 x 64 blocks on 10 SMs with
 * k = 1024, 3 steps of 0.1 us to fill, and 8 steps a block. Second one: 8 x 16 blocks, k = 2048, 16
 * steps. The bytes of weights are 2 x 4096 x 1024 and half of it for each expert, at 0.8 TB/s.
 * Other kernels process 3 x 128 x 2048 and 192 x 1024 elements of 2 bytes at 0.4 TB/s, and 6
 * kernels take 4 us each. */
static void experts_are_two_grouped_products_and_small_kernels(void)
{
	struct gpu_params gpu = {.generation = GENERATION_AMPERE,
				 .fp32_flops = 10e12,
				 .bf16_flops = 80e12,
				 .memory_bandwidth_Bps = 1e12,
				 .memory_efficiency_ratio = 0.8,
				 .multiprocessors_count = 10};
	struct kernel_work work = experts_of(64, 1);
	double first = hypot(51.2 * (1024 * 1.024e-9 + 0.3e-6), 0.8e-6);
	double second = hypot(12.8 * (2048 * 1.024e-9 + 0.3e-6), 1.6e-6);
	double first_B = 128.0 * (1024 * 2 + 4096 * 2) + 8.0 * 4096 * 1024 * 2;
	double second_B = 128.0 * (2048 * 2 + 1024 * 2) + 8.0 * 1024 * 2048 * 2;
	double passes_s = 2 * (3 * 128 * 2048.0 + 192 * 1024.0) / 0.4e12;
	double expected_s = hypot(first, first_B / 0.8e12) + hypot(second, second_B / 0.8e12) +
			    passes_s + 24e-6;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), expected_s, 1e-10);
	/* weights of 4 bits are a quarter of the bytes, but expanding them takes longer */
	struct kernel_work packed = work;
	packed.experts.weights = WEIGHTS_INT4;
	CHECK(kernel_duration_s(&gpu, &by_law, &packed) > expected_s);
	/* a block alone expands 128 / 2 bytes for each row of k at 5 GB/s, also if SMs are idle */
	struct gpu_params wide = gpu;
	wide.multiprocessors_count = 1000;
	packed = experts_of(1, 1);
	packed.experts.weights = WEIGHTS_INT4;
	CHECK(kernel_duration_s(&wide, &by_law, &packed) > (1024 + 2048) * 64 / 5e9 + 24e-6);
	CHECK_NEAR(weight_element_B(WEIGHTS_INT4, 2), 0.515625, 1e-9);
	CHECK_NEAR(weight_element_B(WEIGHTS_MXFP4, 2), 0.53125, 1e-9);
	/* without FP8 arithmetic, they are computed in bf16 */
	work.type = NUMBER_FP8;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), expected_s, 1e-10);
	/* FP8 with scales of blocks of weights: tiles of 16 x 128, 256 and 64 of them, whose row
	 * takes 1.024 ns at a quarter of 16 Tflop/s, and two kernels that quantise */
	gpu.fp8_flops = 160e12;
	work.experts.scaled_by_blocks = true;
	first = hypot(25.6 * (1024 * 1.024e-9 + 0.3e-6), 0.8e-6);
	second = hypot(6.4 * (2048 * 1.024e-9 + 0.3e-6), 1.6e-6);
	first_B = 128.0 * (1024 + 4096 * 2) + 8.0 * 4096 * 1024;
	second_B = 128.0 * (2048 + 1024 * 2) + 8.0 * 1024 * 2048;
	passes_s += 3 * (64 * 1024.0 + 128 * 2048.0) / 0.4e12;
	expected_s = hypot(first, first_B / 0.8e12) + hypot(second, second_B / 0.8e12) + passes_s +
		     32e-6;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), expected_s, 1e-10);
}

/* Rows of 2,040 numbers do not begin at multiples of 16, so a block loads them one by one. The
 * second product then takes longer than one of 2,048, although it has fewer numbers. The kernels of
 * older releases have no such loss. */
static void rows_without_an_alignment_are_loaded_one_by_one(void)
{
	struct gpu_params gpu = {.generation = GENERATION_AMPERE,
				 .fp32_flops = 10e12,
				 .bf16_flops = 80e12,
				 .memory_bandwidth_Bps = 1e12,
				 .memory_efficiency_ratio = 0.8,
				 .multiprocessors_count = 10};
	for (int older = 0; older < 2; older++) {
		struct kernel_work even = experts_of(64, 1), odd = even;
		even.experts.older = odd.experts.older = older;
		odd.experts.inner = 2040;
		double even_s = kernel_duration_s(&gpu, &by_law, &even);
		double odd_s = kernel_duration_s(&gpu, &by_law, &odd);
		CHECK(older ? odd_s < even_s : odd_s > 2 * even_s);
	}
}

/* Products of experts in a program use the fastest tile: 8 x 4 blocks of 64 x 128 on 10 SMs, 8
 * steps of 128. */
static void products_of_experts_use_the_same_law(void)
{
	struct gpu_params gpu = {.generation = GENERATION_HOPPER,
				 .fp32_flops = 10e12,
				 .bf16_flops = 80e12,
				 .fp8_flops = 160e12,
				 .memory_bandwidth_Bps = 1e15,
				 .memory_efficiency_ratio = 0.8,
				 .multiprocessors_count = 10};
	struct kernel_work work = {.form = KERNEL_PRODUCT,
				   .type = NUMBER_BF16,
				   .grouped = true,
				   .product = {64, 512, 1024, 8}};
	double row_s = 2.0 * 32 * 128 / 4e12;
	double expected_s = hypot(6.4 * (1024 * row_s + 0.3e-6), 8 * 0.1e-6);
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), expected_s, 1e-10);
	/* memory reads a step of 128 numbers of FP8 at its whole bandwidth: 1 GB in 1.25 ms */
	gpu.memory_bandwidth_Bps = 1e12;
	work.type = NUMBER_FP8;
	work.bytes_B = 1e9;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 1.25e-3, 1e-4);
	/* FP4 at the rate of FP8 has steps of up to 256 numbers: four of them */
	gpu.fp4_flops = 160e12;
	work.type = NUMBER_FP4;
	work.bytes_B = 0;
	row_s = 2.0 * 32 * 128 / 8e12;
	expected_s = hypot(6.4 * (1024 * row_s + 0.3e-6), 4 * 0.1e-6);
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), expected_s, 1e-10);
}

/* All types of at most 8 bits reach the part of the peak that FP8 reaches. */
static void experts_of_few_bits_have_a_part_of_the_peak_of_their_own(void)
{
	static const enum number_type types[] = {NUMBER_BF16, NUMBER_FP8, NUMBER_INT8, NUMBER_FP4};
	struct gpu_params gpu = {.generation = GENERATION_BLACKWELL,
				 .fp32_flops = 1e12,
				 .bf16_flops = 1e12,
				 .fp8_flops = 1e12,
				 .int8_flops = 1e12,
				 .fp4_flops = 1e12,
				 .memory_bandwidth_Bps = 1e15,
				 .memory_efficiency_ratio = 1,
				 .multiprocessors_count = 10};
	struct kernel_params low = half;
	low.experts_fp8_ratio /= 2;
	low.experts_kernel_s = low.experts_step_s = 0;
	struct kernel_params same = low;
	same.experts_fp8_ratio = low.experts_half_ratio;
	const struct efficiency_params by_same = {.law_ratio = 1, .kernels = &same},
				       by_low = {.law_ratio = 1, .kernels = &low};
	for (size_t i = 0; i < 4; i++) {
		struct kernel_work work = experts_of(4096, 1);
		work.type = types[i];
		CHECK_NEAR(kernel_duration_s(&gpu, &by_low, &work) /
				   kernel_duration_s(&gpu, &by_same, &work),
			   i ? 2 : 1, 0.01);
	}
}

static double product_of_s(const struct gpu_params *gpu, const struct efficiency_params *efficiency,
			   enum number_type type, struct kernel_product p)
{
	double element_B = number_type_B(type);
	struct kernel_work work = {
		.form = KERNEL_PRODUCT, .type = type, .grouped = true, .product = p};
	work.bytes_B = p.count * (p.m * (p.k * element_B + p.n * 2) + p.n * p.k * element_B);
	return kernel_duration_s(gpu, efficiency, &work);
}

/* Both products of 16 rows for each of 8 experts take as long as the fused layer without its small
 * kernels, up to a tile, where memory limits them. */
static void products_agree_with_fused_experts(void)
{
	static const enum number_type types[] = {NUMBER_BF16, NUMBER_FP8};
	struct gpu_params gpu = {.generation = GENERATION_HOPPER,
				 .fp32_flops = 60e12,
				 .bf16_flops = 990e12,
				 .fp8_flops = 1980e12,
				 .memory_bandwidth_Bps = 1e12,
				 .memory_efficiency_ratio = 0.9,
				 .multiprocessors_count = 132};
	struct kernel_params products = half;
	products.experts_kernel_s = 0;
	products.experts_pass_ratio = 1e9;
	const struct efficiency_params law = {.law_ratio = 1, .kernels = &products};
	for (size_t i = 0; i < 2; i++) {
		struct kernel_work fused = experts_of(64, 1);
		fused.type = types[i];
		double fused_s = kernel_duration_s(&gpu, &law, &fused);
		double both_s = product_of_s(&gpu, &law, types[i],
					     (struct kernel_product){16, 4096, 1024, 8}) +
				product_of_s(&gpu, &law, types[i],
					     (struct kernel_product){16, 1024, 2048, 8});
		CHECK_NEAR(both_s, fused_s, 0.05);
	}
}

/* Up to 6 rows an expert, 8 x 4 blocks of 16 x 128 expand 64 bytes a row of k. With more rows,
 * 8 x 8 blocks of 16 x 64 expand 32 bytes at half of the rate. */
static void products_of_experts_expand_weights_of_four_bits(void)
{
	struct gpu_params gpu = {.generation = GENERATION_AMPERE,
				 .fp32_flops = 10e12,
				 .bf16_flops = 80e12,
				 .memory_bandwidth_Bps = 1e15,
				 .memory_efficiency_ratio = 0.8,
				 .multiprocessors_count = 10};
	struct kernel_work work = {.form = KERNEL_PRODUCT,
				   .type = NUMBER_BF16,
				   .grouped = true,
				   .expands = true,
				   .product = {6, 512, 1024, 8}};
	double expand_s = 64 / 5e9, row_s = 2.0 * 16 * 128 / 4e12 + expand_s;
	double expected_s = hypot(3.2 * (1024 * row_s + 0.3e-6), 8 * 0.1e-6 + 1024 * expand_s);
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), expected_s, 1e-10);
	work.product.m = 7;
	expand_s = 32 / 2.5e9;
	row_s = 2.0 * 16 * 64 / 4e12 + expand_s;
	expected_s = hypot(6.4 * (1024 * row_s + 0.3e-6), 32 * 0.1e-6 + 1024 * expand_s);
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), expected_s, 1e-10);
}

/* Returns the time of the blocks of a grouped product for 8 experts with that many rows each. */
static double blocks_by_hand_s(double rows, double n, double k, const double tile[3])
{
	double height = tile[0], width = tile[1], tall = height >= 64 ? 2 : 1;
	double blocks = 8 * ceil(rows / height) * ceil(n / width), step_s = 1e-6 * tall;
	return hypot(blocks / 10 * (k * 2 * height * width / 4e12 + 3 * step_s),
		     ceil(k / tile[2]) * step_s);
}

/* Each token chooses all of the 8 experts, so each expert has as many rows as there are tokens. The
 * tables of tile_of (sim/gpu/experts.c) state height, width and depth of the tiles. Blocks are the
 * only cost here. */
static void tables_choose_the_tiles_of_an_expert(void)
{
	enum table { USUAL, FP8, FP4, MXFP4, INT4, SCALED, OLDER, OLDER_SCALED };
	static const struct {
		enum table table;
		double tokens, tile[3];
	} cases[] = {
		{USUAL, 32, {16, 64, 128}},        {USUAL, 33, {32, 64, 128}},
		{USUAL, 64, {32, 64, 128}},        {USUAL, 65, {32, 128, 64}},
		{USUAL, 96, {32, 128, 64}},        {USUAL, 97, {64, 128, 64}},
		{USUAL, 512, {64, 128, 64}},       {USUAL, 513, {128, 128, 64}},
		{FP4, 16, {16, 128, 256}},         {FP4, 17, {32, 128, 256}},
		{FP4, 32, {32, 128, 256}},         {FP4, 33, {64, 128, 256}},
		{MXFP4, 16, {16, 128, 128}},       {MXFP4, 17, {32, 128, 128}},
		{MXFP4, 32, {32, 128, 128}},       {MXFP4, 33, {64, 128, 128}},
		{INT4, 6, {16, 128, 128}},         {INT4, 7, {16, 64, 32}},
		{INT4, 20, {16, 64, 32}},          {INT4, 21, {32, 64, 32}},
		{INT4, 40, {32, 64, 32}},          {INT4, 41, {64, 64, 32}},
		{SCALED, 64, {16, 128, 128}},      {SCALED, 65, {64, 128, 128}},
		{OLDER, 8, {16, 32, 64}},          {OLDER, 9, {64, 64, 32}},
		{FP8, 64, {32, 64, 128}},          {FP8, 65, {32, 128, 128}},
		{OLDER_SCALED, 8, {64, 128, 128}},
	};
	const struct kernel_params kernels = {.experts_operand_ratio = 1e30,
					      .experts_pass_ratio = 1e30,
					      .experts_step_s = 1e-6,
					      .dequantise_Bps = 1e30};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		enum table table = cases[i].table;
		double rows = cases[i].tokens;
		const struct experts_machine machine = {.rate_flops = 4e12,
							.bandwidth_Bps = 1e12,
							.sm_count = 10,
							.element_B = table == FP8 ? 1 : 2,
							.ratio = 1,
							.fp4 = table == FP4};
		struct kernel_experts e = {.tokens = rows,
					   .hidden = 1024,
					   .inner = 2048,
					   .top = 8,
					   .experts = 8,
					   .held = 8,
					   .scaled_by_blocks =
						   table == SCALED || table == OLDER_SCALED,
					   .older = table == OLDER || table == OLDER_SCALED};
		if (table == MXFP4 || table == INT4)
			e.weights = table == INT4 ? WEIGHTS_INT4 : WEIGHTS_MXFP4;
		experts_spread(&e, EXPERTS_UNIFORM, 1.2);
		CHECK_NEAR(experts_s(&machine, &kernels, &e),
			   blocks_by_hand_s(rows, 2 * 2048, 1024, cases[i].tile) +
				   blocks_by_hand_s(rows, 1024, 2048, cases[i].tile),
			   1e-9);
	}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(rows_are_padded_to_blocks_of_each_expert),
		TEST(power_laws_load_one_rank_more),
		TEST(more_tokens_take_no_rows_from_an_expert),
		TEST(experts_are_two_grouped_products_and_small_kernels),
		TEST(tables_choose_the_tiles_of_an_expert),
		TEST(rows_without_an_alignment_are_loaded_one_by_one),
		TEST(products_of_experts_use_the_same_law),
		TEST(experts_of_few_bits_have_a_part_of_the_peak_of_their_own),
		TEST(products_agree_with_fused_experts),
		TEST(products_of_experts_expand_weights_of_four_bits),
	};
	return TEST_MAIN(tests);
}
