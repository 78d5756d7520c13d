/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Configurations of other tools (tests/samples/configs) become networks with the published numbers
 * of parameters. import_facts.sh compares the sizes. The test must run from the root folder. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/import/settings.h"
#include "sim/training/network.h"
#include "tests/test.h"

/* Returns the file that an importer writes, or the first error. */
static const char *import(struct arena *arena, const struct importer *importer, const char *sample,
			  const char *more)
{
	struct diag *diag = diag_new(arena);
	const char *paths[] = {arena_printf(arena, "tests/samples/configs/%s", sample),
			       arena_printf(arena, "tests/samples/configs/%s", more)};
	struct imported imported;
	char *text = NULL;
	size_t size_B = 0;
	if (!importer->files(arena, diag, paths, more[0] ? 2 : 1, &imported))
		return diag_at(diag, 0);
	size_t read = 0, used = 0, skipped = 0;
	CHECK(sscanf(imported.summary, "%zu %*s read: %zu used, %zu skipped", &read, &used,
		     &skipped) == 3);
	CHECK(used + skipped == read && skipped <= read);
	FILE *out = open_memstream(&text, &size_B);
	imported.write(out, imported.ctx);
	fclose(out);
	const char *copy = arena_strdup(arena, text);
	free(text);
	return copy;
}

static const struct network *network_of(struct arena *arena, const char *sample, const char *more)
{
	struct diag *diag = diag_new(arena);
	const char *text = import(arena, &import_model, sample, more);
	const struct cfg_node *file = cfg_read_text(arena, diag, "net.cfg", text);
	const struct network *network = file ? network_read(arena, diag, file, 0) : NULL;
	diag_print(diag, stdout);
	return network;
}

/* The numbers of parameters are those of the published checkpoints. Two samples deviate from
 * theirs. The Mixtral of neuronx has 32 key and value heads instead of 8, which adds
 * 32 x 2 x 4096 x (4096 - 1024) parameters. The GPT-NeoX form of Llama has no vocabulary, so it
 * gets one of 50257 tokens, which is not padded. */
static void networks_have_the_published_parameters(void)
{
	static const struct {
		const char *sample;
		double parameters_count, sequence;
	} rows[] = {
		{"neuronx-llama3-8B-config.json", 8030261248, 8192},
		{"neuronx-llama3-70B-config.json", 70553706496, 8192},
		{"llmservingsim-Llama-3.1-8B.json", 8030261248, 8192},
		{"llmservingsim-Llama-3.1-70B.json", 70553706496, 8192},
		{"neuronx-llama2-7B-config.json", 6738415616, 2048},
		{"neuronx-llama2-70B-config.json", 68976648192, 4096},
		{"awsome-fsdp-llama2_7b-args.txt", 6738415616, 4096},
		{"awsome-fsdp-llama2_70b-args.txt", 68976648192, 4096},
		{"awsome-fsdp-mistral_8x7b-args.txt", 46702792704, 8192},
		{"neuronx-mixtral-8x7b-config.json", 46702792704 + 32.0 * 2 * 4096 * 3072, 4096},
		{"neuronx-dbrx-16x13b-config.json", 131596523520, 8192},
		{"simai-qwen3-8B_config.json", 8190735360, 8192},
		{"simai-qwen3-235B-A22B_config.json", 235093634560, 8192},
		{"gpt-neox-20B.yml", 20554567680, 2048},
		{"gpt-neox-llama2-70B.yml", 68976648192 + 2.0 * (50257 - 32000) * 8192, 4096},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = network_of(arena, rows[i].sample, "");
		if (!CHECK(network && network->parameters_count == rows[i].parameters_count) ||
		    !CHECK((double)network->sequence == rows[i].sequence))
			printf("  %s: %.0f parameters\n", rows[i].sample,
			       network ? network->parameters_count : 0);
		arena_free(arena);
	}
}

/* One network of each kind of architecture has the billions of parameters that its model card or
 * checkpoint states. DeepSeek-V3 by hand, without the 58 x 256 biases of its routers:
 *   attention   7168 (1536 + 576) + 1536 + 1536 x 128 x 192 + 512 + 512 x 128 x 256
 *               + 128 x 128 x 7168, and two norms of 7168               187,121,664
 *   dense       3 x 7168 x 18432                                        396,361,728
 *   experts     256 x 7168 + 257 x 3 x 7168 x 2048                   11,320,164,352
 *   all         61 x attention + 3 x dense + 58 x experts + 2 x 129280 x 7168 + 7168 */
static void architectures_have_the_published_parameters(void)
{
	static const struct {
		const char *sample;
		double billions;
	} rows[] = {
		{"deepseek-v2-lite", 15.706},   {"kimi-linear-48b-a3b", 49.1},
		{"qwen3-next-80b-a3b", 79.67},  {"jamba-v0.1", 51.57},
		{"nemotron-3-nano-30b", 31.58}, {"granite-4.0-h-small", 32.2},
		{"minimax-m1", 456.09},         {"lfm2-1.2b", 1.17},
		{"falcon-h1-7b", 7.59},         {"mamba2-2.7b", 2.7},
		{"falcon-mamba-7b", 7.27},      {"recurrentgemma-9b", 8.58},
		{"gemma-3-27b", 27.009},        {"llama4-maverick", 400.7},
		{"falcon-180b", 179.5},         {"falcon-7b", 6.92},
		{"ernie-4.5-21b-a3b", 21.83},   {"hunyuan-a13b", 80.4},
		{"glm-4-32b-0414", 32.57},      {"stablelm-2-12b", 12.14},
		{"phi-3.5-moe", 41.873},        {"bloom-176b", 176.25},
		{"deepseek-v3", 671.026404352},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = network_of(
			arena, arena_printf(arena, "../networks/%s.json", rows[i].sample), "");
		double count = network ? network->parameters_count : 0;
		if (!CHECK_NEAR(count, 1e9 * rows[i].billions, 0.01))
			printf("  %s: %.0f parameters\n", rows[i].sample, count);
		if (strcmp(rows[i].sample, "deepseek-v3") == 0)
			CHECK_NEAR(count, 671026404352, 1e-12);
		arena_free(arena);
	}
}

/* GPT-3 175B of Megatron-LM with a vocabulary of 51200: embedding and 2048 positions, 96 layers of
 * 12 h^2 + 13 h, and the last norm. */
static void script_expands_its_variables(void)
{
	struct arena *arena = arena_new();
	const struct network *network = network_of(arena, "megatron-gpt3-175b.sh", "");
	const double h = 12288;
	if (CHECK(network != NULL))
		CHECK_NEAR(network->parameters_count,
			   (51200 + 2048) * h + 96 * (12 * h * h + 13 * h) + 2 * h, 1e-15);
	arena_free(arena);
}

static void sizes_of_plans_are_followed_by_their_place(void)
{
	struct arena *arena = arena_new();
	CHECK_PART(import(arena, &import_plan, "megatron-gpt3-175b.sh", ""),
		   "tp = 8; # tests/samples/configs/megatron-gpt3-175b.sh:17: "
		   "tensor_model_parallel_size");
	CHECK_PART(import(arena, &import_plan, "torchtitan-llama3.toml", ""),
		   "sequence_parallel = true; # assumed: TorchTitan");
	arena_free(arena);
}

static void different_values_of_one_quantity_are_refused_with_their_line(void)
{
	struct arena *arena = arena_new();
	CHECK_PART(import(arena, &import_model, "neuronx-llama3-8B-config.json",
			  "neuronx-llama3-70B-config.json"),
		   "neuronx-llama3-70B-config.json:16: num_hidden_layers is 80, but "
		   "num_hidden_layers in ");
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(networks_have_the_published_parameters),
	TEST(architectures_have_the_published_parameters),
	TEST(script_expands_its_variables),
	TEST(sizes_of_plans_are_followed_by_their_place),
	TEST(different_values_of_one_quantity_are_refused_with_their_line),
};

int main(void)
{
	return TEST_MAIN(tests);
}
