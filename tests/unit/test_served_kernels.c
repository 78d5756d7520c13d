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

static const struct test tests[] = {
	TEST(kernels_before_and_sums_quantise),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
