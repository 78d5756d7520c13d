/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of a model server that also do the work of others. */
#include "tests/served_model.h"

static double no_time(void *ctx, enum shard_group group, enum collective collective, double size_B)
{
	return 0;
}

/* Eight GPUs have Llama 3 70B in FP8. Each row has 1,024 numbers of attention's output and 3,584 of
 * the gate's in each of 80 blocks. A kernel that quantises them reads 2 B and writes 1 B of each.
 * Kernels before it save these bytes if they quantise. All-reduces that normalise save 160 norms
 * behind additions: in separate kernels each one reads 8,192 numbers of 2 B four times and writes
 * them three times. They also save the 159 kernels that quantise behind these norms, because the
 * last norm has logits behind it. Rows of 8,192 x 2 B are below 8 MB up to 488 rows. With a scale
 * for each block of weights only the norms are fused. */
static void kernels_before_and_sums_quantise(void)
{
	const char *why = NULL;
	const struct shard_params params = {8, 1,    1, false, OVERLAP_NONE, 1, "case.tensor",
					    0, false};
	const struct shard *shard = shard_new(arena, network_of("llama3-70b", 1), &params, &why);
	static const struct overhead none;
	double read_B[4], many_B[4], blocks_B[4];
	for (int i = 0; i < 4; i++) {
		struct stack_params own = stack;
		own.written_quantised = i & 1;
		own.fused_sums = i & 2;
		struct serving_model_spec spec = {.network = network_of("llama3-70b", 64),
						  .one_token = shard->network,
						  .stack = &own,
						  .gpu = &gpu,
						  .efficiency = &by_law,
						  .weights = SERVE_FP8,
						  .rows_max = 600,
						  .sequences_max = 8,
						  .time_ratios = {1, 1},
						  .shard = shard,
						  .collective_s = no_time};
		struct serving_model *model = serving_model_new(arena, &spec);
		serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
		read_B[i] = iteration_B(model, (struct iteration){.rows = 488});
		many_B[i] = iteration_B(model, (struct iteration){.rows = 489});
		spec.weights = SERVE_FP8_BLOCK;
		model = serving_model_new(arena, &spec);
		serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
		blocks_B[i] = iteration_B(model, (struct iteration){.rows = 488});
	}
	double written_B = 80.0 * 3 * (1024 + 3584);
	double norms_B = 160.0 * 7 * 2 * 8192, quantised_B = 159.0 * 3 * 8192;
	CHECK_NEAR(read_B[0] - read_B[1], 488 * written_B, 1e-6);
	CHECK_NEAR(read_B[0] - read_B[2], 488 * (norms_B + quantised_B), 1e-6);
	CHECK_NEAR(read_B[1] - read_B[3], 488 * (norms_B + quantised_B), 1e-6);
	CHECK_NEAR(many_B[0] - many_B[3], 489 * written_B, 1e-6);
	CHECK_NEAR(blocks_B[0] - blocks_B[3], 488 * norms_B, 1e-6);
}

/* Returns the time of an iteration of Llama 3 8B, in which block scales leave nothing to fuse. */
static double attended_s(struct gpu_params rated, double half_flops, bool quantised,
			 enum served_type kv, struct iteration iteration)
{
	static const struct overhead none;
	struct stack_params own = stack;
	struct kernel_params rates = kernels;
	const struct efficiency_params law = {.law_ratio = 1, .kernels = &rates};
	rates.product_block_ratio = 1;
	own.written_quantised = quantised;
	rated.memory_bandwidth_Bps = 1e30;
	rated.bf16_flops = half_flops;
	rated.fp8_flops = 2e15;
	struct serving_model_spec spec = {.network = network_of("llama3-8b", 64),
					  .one_token = network_of("llama3-8b", 1),
					  .stack = &own,
					  .gpu = &rated,
					  .efficiency = &law,
					  .weights = SERVE_FP8_BLOCK,
					  .kv = kv,
					  .rows_max = 64,
					  .sequences_max = 8,
					  .time_ratios = {1, 1}};
	struct serving_model *model = serving_model_new(arena, &spec);
	serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
	return serving_model_time(model, &iteration).kernel_s;
}

/* Products of blocks are in FP8 in any case. So attention in FP8 takes the time that attention in
 * 16 bits would take on a GPU that computes as fast in 16 bits as in FP8. */
static void attention_of_prompts_multiplies_in_fp8_with_an_fp8_cache(void)
{
	const struct iteration prompt = {.rows = 64,
					 .prompt_rows = 64,
					 .prompt_keys = {64, 64},
					 .prompt_pairs = {2080, 2080}};
	const struct iteration token = {.rows = 8, .decode_rows = 8, .decode_keys = {800, 800}};
	double slow_s = attended_s(gpu, 1e15, false, SERVE_FP8, prompt);
	double fast_s = attended_s(gpu, 2e15, false, SERVE_FP8, prompt);
	CHECK(fast_s < 0.995 * slow_s);
	CHECK_NEAR(attended_s(gpu, 1e15, true, SERVE_FP8, prompt), fast_s, 1e-9 * fast_s);
	CHECK_NEAR(attended_s(gpu, 1e15, true, SERVE_AUTO, prompt),
		   attended_s(gpu, 1e15, false, SERVE_AUTO, prompt), 1e-9 * slow_s);
	double token_s = attended_s(gpu, 1e15, false, SERVE_FP8, token);
	CHECK_NEAR(attended_s(gpu, 1e15, true, SERVE_FP8, token), token_s, 1e-9 * token_s);
}

static const struct test tests[] = {
	TEST(attention_of_prompts_multiplies_in_fp8_with_an_fp8_cache),
	TEST(kernels_before_and_sums_quantise),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
