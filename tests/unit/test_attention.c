/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The law of attention without backward (sim/gpu/kernel.h), derived by hand, on ten SMs. */
#include "tests/kernel_law.h"
#include "tests/test.h"

static struct kernel_work attention_of(double queries, double keys, double window, bool causal)
{
	return (struct kernel_work){.form = KERNEL_ATTENTION,
				    .type = NUMBER_FP16,
				    .attention = {.sequences = 1,
						  .queries = queries,
						  .keys = keys,
						  .heads = 10,
						  .kv_heads = 10,
						  .head_size = 64,
						  .window = window,
						  .element_B = 2,
						  .causal = causal}};
}

/* Prompts of 1024 tokens in 10 heads of 64 on ten SMs. A tile of 128 queries multiplies them with
 * its keys, at half of 80 Tflop/s: 4 x 128 x keys x 64 / 4e12. Eighty blocks are 8 waves with 576
 * keys on average. At the end SMs wait for half of a block with all 1024. Before Hopper a tile has
 * 64 queries and half of the time for each key, and there are 16 waves. Its mean of 544 keys is 576
 * in blocks of 64. */
static void attention_of_prompts_works_in_tiles(void)
{
	struct gpu_params gpu = gpu_of(10);
	struct kernel_work work = attention_of(1024, 1024, 0, true);
	double key_s = 4.0 * 128 * 64 / 4e12;
	double written_s = 1024.0 * 10 * 64 * 2 * 4 / 0.8e12;
	gpu.generation = GENERATION_BLACKWELL;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work),
		   8 * (576 * key_s + 3e-6) + (1024 * key_s + 3e-6) / 2 + 5e-6, 1e-9);
	gpu.generation = GENERATION_AMPERE;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work),
		   16 * (576 * key_s / 2 + 3e-6) + (1024 * key_s / 2 + 3e-6) / 2 + 5e-6 + written_s,
		   1e-9);
	/* Half of the keys as a window: tiles end at 128, 256 ... 1024 keys, and 640 is the most.
	 * The mean of min(key, 640) from 128 to 1024 is 494, which is 512 in blocks of 64. */
	work.attention.window = 512;
	gpu.generation = GENERATION_BLACKWELL;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work),
		   8 * (512 * key_s + 3e-6) + (640 * key_s + 3e-6) / 2 + 5e-6, 1e-9);
	/* with a window of 128, all tiles see up to 256 keys, and 247 on average */
	work.attention.window = 128;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work), 8 * (256 * key_s + 3e-6) + 5e-6, 1e-9);
}

/* Causal attention is never slower than full attention, a window never slower than none, a longer
 * window and more keys never faster. */
static void attention_takes_longer_with_more_keys(void)
{
	static const double queries[] = {1, 2, 100, 512, 1024, 5000};
	for (int generation = GENERATION_AMPERE; generation <= GENERATION_BLACKWELL; generation++)
		for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
			struct gpu_params gpu = gpu_of(17);
			gpu.generation = generation;
			double causal_s = 0, full_s = 0;
			for (double keys = queries[i]; keys < 20000; keys += 61) {
				struct kernel_work causal = attention_of(queries[i], keys, 0, true);
				struct kernel_work full = attention_of(queries[i], keys, 0, false);
				double c = kernel_duration_s(&gpu, &by_law, &causal);
				double f = kernel_duration_s(&gpu, &by_law, &full);
				CHECK(c >= causal_s && f >= full_s && c <= f);
				causal_s = c;
				full_s = f;
			}
			double before_s = 0;
			for (double window = 1; window < 22000; window += 50) {
				struct kernel_work work =
					attention_of(queries[i], 20000, window, true);
				double time_s = kernel_duration_s(&gpu, &by_law, &work);
				CHECK(time_s >= before_s && time_s <= causal_s * 1.01);
				before_s = time_s;
			}
		}
}

/* One token of each of two sequences with 8192 keys, and 8 heads that share one: 2 blocks of 16
 * rows. Their keys and values are 2 x 8192 x 64 x 2 B each. An SM loads them at 10 GB/s in 210 us,
 * so they are split over 4 SMs each. A kernel adds the parts. */
static void attention_of_one_token_splits_its_keys(void)
{
	struct kernel_params slow = half;
	slow.token_load_Bps = 10e9;
	struct efficiency_params law = {.law_ratio = 1, .kernels = &slow};
	struct gpu_params gpu = gpu_of(10);
	gpu.generation = GENERATION_BLACKWELL;
	struct kernel_work work = {.form = KERNEL_ATTENTION, .type = NUMBER_FP16};
	work.attention = (struct kernel_attention){.sequences = 2,
						   .queries = 1,
						   .keys = 8192,
						   .heads = 8,
						   .kv_heads = 1,
						   .head_size = 64,
						   .element_B = 2,
						   .causal = true};
	double load_s = 2.0 * 2048 * 64 * 2 / 10e9, flop_s = 4.0 * 16 * 2048 * 64 / 4e12;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work), both(load_s, flop_s) + 3e-6 + 2e-6 + 6e-6,
		   1e-9);
	/* FlashAttention 2 does not split them if heads share no keys: 16 blocks in 2 waves */
	work.attention.kv_heads = 8;
	gpu.generation = GENERATION_AMPERE;
	double whole_s = both(4 * load_s, 4 * flop_s) + 3e-6;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work),
		   2 * whole_s + 6e-6 + 2 * 8 * 64 * 2 * 4 / 0.8e12, 1e-9);
}

/* A block of 512 threads writes the keys of a token, and an SM has four at a time: 4000 tokens on
 * 10 SMs are 100 turns of 2 us. A benchmark finds few bytes in the L2 cache. */
static void new_keys_are_written_first(void)
{
	struct kernel_params slow = half;
	struct efficiency_params law = {.law_ratio = 1, .kernels = &slow, .alone = true};
	struct gpu_params gpu = gpu_of(10);
	gpu.generation = GENERATION_HOPPER;
	struct kernel_work work = attention_of(4000, 4000, 0, true);
	double written_s = 4000.0 * 10 * 64 * 2 * 4 / 0.8e12;
	double before_s = kernel_duration_s(&gpu, &law, &work) - written_s;
	slow.attention_store_s = 2e-6;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work) - before_s, both(written_s, 200e-6), 1e-9);
	gpu.cache_B = 1e9;
	CHECK_NEAR(kernel_duration_s(&gpu, &law, &work) - before_s, both(written_s / 4, 200e-6),
		   1e-9);
	work.bytes_B = 0.8e12;
	work.repeated_B = 0.8e9;
	double cached_s = kernel_duration_s(&gpu, &law, &work);
	work.repeated_B = 1.5e9;
	CHECK(kernel_duration_s(&gpu, &law, &work) > 3 * cached_s);
}

/* Prompts of latent attention have keys of 192 numbers and values of 128. A tile multiplies both,
 * and the store writes both. */
static void prompts_multiply_keys_and_narrower_values(void)
{
	struct gpu_params gpu = gpu_of(10);
	struct kernel_work work = attention_of(1024, 1024, 0, true);
	work.attention.head_size = 192;
	work.attention.value_size = 128;
	double key_s = 2.0 * 128 * (192 + 128) / 4e12;
	double written_s = 1024.0 * 10 * (192 + 128) * 4 / 0.8e12;
	gpu.generation = GENERATION_BLACKWELL;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work),
		   8 * (576 * key_s + 3e-6) + (1024 * key_s + 3e-6) / 2 + 5e-6, 1e-9);
	gpu.generation = GENERATION_AMPERE;
	CHECK_NEAR(kernel_duration_s(&gpu, &by_law, &work),
		   16 * (576 * key_s / 2 + 3e-6) + (1024 * key_s / 2 + 3e-6) / 2 + 5e-6 + written_s,
		   1e-9);
}

/* One token of each of two sequences with 8192 keys, and 16 heads that share the latent keys of 576
 * numbers, whose first 512 are the values. Four SMs share the keys of a sequence and load them at
 * 50 GB/s. Values of their own take further loads, and 1088 numbers in the cache. */
static void latent_values_are_loaded_with_their_keys(void)
{
	struct kernel_params slow = half;
	slow.token_load_Bps = 50e9;
	struct efficiency_params law = {.law_ratio = 1, .kernels = &slow};
	struct gpu_params gpu = gpu_of(10);
	gpu.generation = GENERATION_HOPPER;
	struct kernel_work work = attention_of(1, 8192, 0, true);
	work.attention.sequences = 2;
	work.attention.heads = 16;
	work.attention.kv_heads = 1;
	work.attention.head_size = 576;
	work.attention.value_size = 512;
	for (int latent = 0; latent < 2; latent++) {
		double cached = latent ? 576 : 576 + 512;
		double load_s = 2048 * cached * 2 / 50e9;
		double flop_s = 2.0 * 16 * 2048 * (576 + 512) / 4e12;
		work.attention.latent = latent;
		CHECK_NEAR(kernel_duration_s(&gpu, &law, &work),
			   both(load_s, flop_s) + 3e-6 + 2e-6 + 6e-6 + 2 * cached * 4 / 0.8e12,
			   1e-9);
	}
}

static void values_as_wide_as_keys_change_nothing(void)
{
	static const double queries[] = {1, 100, 1024};
	for (int generation = GENERATION_PASCAL; generation <= GENERATION_BLACKWELL; generation++)
		for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
			struct gpu_params gpu = gpu_of(17);
			gpu.generation = generation;
			struct kernel_work work = attention_of(queries[i], 3000, 0, true);
			double before_s = kernel_duration_s(&gpu, &by_law, &work);
			work.attention.value_size = work.attention.head_size;
			CHECK(kernel_duration_s(&gpu, &by_law, &work) == before_s);
		}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(attention_of_prompts_works_in_tiles),
		TEST(attention_takes_longer_with_more_keys),
		TEST(attention_of_one_token_splits_its_keys),
		TEST(new_keys_are_written_first),
		TEST(prompts_multiply_keys_and_narrower_values),
		TEST(latent_values_are_loaded_with_their_keys),
		TEST(values_as_wide_as_keys_change_nothing),
	};
	return TEST_MAIN(tests);
}
