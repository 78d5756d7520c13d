/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages between the client and the stages of llama.cpp on other machines. */
#include "sim/base/arena.h"
#include "tests/served_model.h"

enum { HIDDEN = 4096, BLOCKS = 32 }; /* of Llama 3 8B */

static double in_B, out_B;

static double note_sent(void *ctx, double to_stage_B, double back_B)
{
	in_B = to_stage_B;
	out_B = back_B;
	return 1e-3;
}

/* An iteration of prompts of equal lengths, and of single tokens that see 100 keys each. */
static struct iteration iteration_of(double prompts, double prompt, double tokens)
{
	double rows = prompts * prompt, pairs = rows * prompt / 2;
	return (struct iteration){.rows = rows + tokens,
				  .decode_rows = tokens,
				  .decode_keys = {100 * tokens, 100 * tokens},
				  .prompt_rows = rows,
				  .prompt_keys = {rows, rows},
				  .prompt_pairs = {pairs, pairs}};
}

/* A stage gets seven commands, each of 9 B and a tensor's description of 296 B, and the graphs of
 * its layers. A row has features in fp32, a position of 4 B and two places of 8 B. The mask has 4 B
 * for each key that a row may see: those of its own prompt. The stage sends back the features. More
 * than 512 rows are several micro-batches of equal sizes. */
static void a_stage_gets_features_places_and_a_mask_for_each_micro_batch(void)
{
	static const struct {
		double prompts, prompt, tokens, keys, batches;
	} rows[] = {{1, 16, 0, 16 * 16, 1},
		    {2, 8, 0, 2 * 8 * 8, 1},
		    {0, 0, 3, 300, 1},
		    {1, 512, 0, 512 * 512, 1},
		    {2, 500, 24, 2 * 500 * 500 + 2400, 2}};
	static const struct overhead none;
	for (int stages = 1; stages <= 2; stages++) {
		const struct serving_model_spec spec = {.network = network_of("llama3-8b", 64),
							.one_token = network_of("llama3-8b", 1),
							.stack = &stack,
							.gpu = &gpu,
							.efficiency = &by_law,
							.rows_max = 1024,
							.sequences_max = 8,
							.time_ratios = {1, 1},
							.stages = stages,
							.rpc_graph_B = 12000,
							.rpc_s = note_sent,
							.rpc_ctx = &in_B};
		struct serving_model *model = serving_model_new(arena, &spec);
		serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			struct iteration it =
				iteration_of(rows[i].prompts, rows[i].prompt, rows[i].tokens);
			double each = it.rows / rows[i].batches;
			CHECK_NEAR(serving_model_time(model, &it).exchange_s,
				   1e-3 * rows[i].batches, 1e-12);
			CHECK_NEAR(in_B,
				   7 * (9 + 296) + BLOCKS / stages * 12000 +
					   each * (4 * HIDDEN + 4 + 16) +
					   4 * rows[i].keys / rows[i].batches,
				   1e-12);
			CHECK_NEAR(out_B, 4 * HIDDEN * each, 1e-12);
		}
	}
}

static const struct test tests[] = {
	TEST(a_stage_gets_features_places_and_a_mask_for_each_micro_batch),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
