/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks of tokens: small ones are counted by hand, and the shipped ones have the published
 * numbers of parameters, tensors and multiply-accumulates. The test must run from the root folder.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/network.h"
#include "tests/test.h"

static const struct network *read_text(struct arena *arena, const char *text)
{
	struct diag *diag = diag_new(arena);
	const struct cfg_node *file = cfg_read_text(arena, diag, "tiny.cfg", text);
	const struct network *network = file ? network_read(arena, diag, file, 0) : NULL;

	diag_print(diag, stdout);
	return network;
}

static const struct network *shipped(struct arena *arena, const char *name, size_t sequence)
{
	struct diag *diag = diag_new(arena);
	const char *path = arena_printf(arena, "models/networks/%s.cfg", name);
	const struct cfg_node *file = cfg_read(arena, diag, path);
	const struct network *network = file ? network_read(arena, diag, file, sequence) : NULL;

	diag_print(diag, stdout);
	if (CHECK(network != NULL))
		CHECK_TEXT(network->name, name);
	return network;
}

static const struct layer *find(const struct network *network, const char *name)
{
	for (size_t i = 0; i < network->layer_count; i++)
		if (strcmp(network->layers[i].name, name) == 0)
			return &network->layers[i];
	printf("  no layer '%s' in %s\n", name, network->name);
	abort();
}

/* ---- by hand ---- */

/* 6 tokens of 10 kinds, 8 features
 *   e     10 * 8 weights and 6 * 8 positions
 *   b     twice: norm 8 + 8; attention of 2 heads of 4 with 1 key-value head: 8 * (8 + 4 + 4) and
 *         8 * 8; sum; gated MLP of 12: 8 * 24 and 12 * 8; sum
 *   head  shares the 80 weights of e */
static const char tiny[] =
	"network = { name = \"tiny\"; sequence = 6; vocabulary = 10; source = \"by hand\";\n"
	"layers = (\n"
	"{ name = \"e\"; op = \"embedding\"; out = 8; positions = true; },\n"
	"{ name = \"b\"; repeat = 2; layers = (\n"
	"  { name = \"n\"; op = \"layer_norm\"; },\n"
	"  { name = \"a\"; op = \"attention\"; heads = 2; kv_heads = 1; causal = true; },\n"
	"  { name = \"s\"; op = \"add\"; from = [\"b\", \"a\"]; },\n"
	"  { name = \"m\"; op = \"gated_mlp\"; hidden = 12; },\n"
	"  { name = \"t\"; op = \"add\"; from = [\"s\", \"m\"]; }\n"
	"); },\n"
	"{ name = \"head\"; op = \"linear\"; tied = \"e\"; from = \"b\"; },\n"
	"{ name = \"loss\"; op = \"cross_entropy\"; }\n"
	"); };\n";

static void small_network_has_the_counts_by_hand(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, tiny);
	const double block = 16 + 8 * 16 + 64 + 8 * 24 + 96;

	if (CHECK(network != NULL)) {
		CHECK(network->parameters_count == 80 + 48 + 2 * block);
		/* e, its positions; norm 2, qkv 1, out 1, gate and up 2, down 1 */
		CHECK(network->gradient_tensors_count == 2 + 2 * 7);
		/* 21 of 36 query-key pairs are not masked: 2 products of 2 heads of 4 */
		CHECK(network->macs_count ==
		      2 * (6 * (8 * 16 + 64 + 8 * 24 + 96) + 2 * 21 * 8) + 6 * 80);
		CHECK(network->scores_count == 2 * 2 * 36);
	}
	arena_free(arena);
}

/* Kept by a block: input of norm and attention's products (8 + 8), q, k, v (16), attention's
 * output (8), input of the MLP (8), gate and up (24), silu and product (12 + 12). The output of
 * the last block is the head's input. */
static void only_what_backward_needs_is_kept(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, tiny);

	if (CHECK(network != NULL)) {
		CHECK(network->activations_count == 6 * (2 * (8 + 8 + 16 + 8 + 8 + 48) + 8));
		/* two statistics of each norm, the numbers of the tokens, fp32 log-probabilities */
		CHECK(network->activations_B == 6 * (2 * 8 + 8 + 4 * 10));
		CHECK(network->fused_B == 2 * 2 * 6 * 4);
		CHECK(find(network, "b1/a/out")->kept_count == 0); /* only added */
	}
	arena_free(arena);
}

/* With elements of 2 B, the loss of 6 tokens of 100 kinds has log-probabilities and gradients in
 * fp32, and a copy of the gradients in 2 B. This is more than the gradients of any other layer. */
static void loss_in_half_precision_needs_three_copies(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(
		arena, "network = { name = \"wide\"; sequence = 6; vocabulary = 100; source = "
		       "\"by hand\"; layers = (\n"
		       "{ name = \"e\"; op = \"embedding\"; out = 8; },\n"
		       "{ name = \"head\"; op = \"linear\"; out = 100; },\n"
		       "{ name = \"loss\"; op = \"cross_entropy\"; } ); };\n");
	if (CHECK(network != NULL))
		CHECK_NEAR(network_memory_B(network, 2, 2, 0, 0, true) -
				   network_memory_B(network, 1, 2, 0, 0, true),
			   2 * network->activations_count + network->activations_B +
				   network->fused_B + 6 * 100 * (4 + 4 + 2),
			   1e-12);
	arena_free(arena);
}

/* One more sample keeps activations of 4 B and, if attention is not fused, 144 probabilities. Its
 * largest gradients are those of a gate, 72 elements with 144 of its input, or those of an
 * attention: 48 of its output, 96 of queries, keys and values, 72 probabilities and 72 scores. */
static void a_sample_needs_activations_and_the_largest_gradients(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, tiny);
	const double kept_B =
		4 * 6 * (2 * (8 + 8 + 16 + 8 + 8 + 48) + 8) + 6 * (2 * 8 + 8 + 4 * 10);

	for (int fused = 0; network && fused < 2; fused++)
		CHECK_NEAR(network_memory_B(network, 2, 4, 0, 0, fused) -
				   network_memory_B(network, 1, 4, 0, 0, fused),
			   kept_B + (fused ? 2 * 2 * 6 * 4 + 4 * (72 + 144)
					   : 4 * 144 + 4 * (48 + 96 + 2 * 72)),
			   1e-12);
	arena_free(arena);
}

/* A share of 6 tokens is rounded up, and all of them can be selected. */
static void selected_tokens_are_rounded_up(void)
{
	static const struct {
		const char *key;
		size_t rows; /* 0: refused */
	} rows[] = {{"share = 0.15", 1}, {"share = 0.5", 3}, {"share = 0.51", 4},
		    {"share = 1.0", 6},  {"tokens = 6", 6},  {"tokens = 7", 0}};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const char *text =
			arena_printf(arena,
				     "network = { name = \"t\"; sequence = 6; vocabulary = 10; "
				     "source = \"x\"; layers "
				     "= ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
				     "{ name = \"s\"; op = \"select\"; %s; },\n"
				     "{ name = \"l\"; op = \"linear\"; out = 10; },\n"
				     "{ name = \"c\"; op = \"cross_entropy\"; } ); };",
				     rows[i].key);
		struct diag *diag = diag_new(arena);
		const struct network *network =
			network_read(arena, diag, cfg_read_text(arena, diag, "t.cfg", text), 0);
		if (!CHECK((network != NULL) == (rows[i].rows > 0)))
			printf("  %s\n", rows[i].key);
		if (network)
			CHECK(find(network, "s")->height == rows[i].rows);
		else
			CHECK_PART(diag_at(diag, 0), "it selects 7 of only 6 tokens");
	}
	arena_free(arena);
}

static void repeated_blocks_follow_each_other(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, tiny);

	if (CHECK(network != NULL)) {
		const struct layer *layers = network->layers;

		/* inside the block its name is what comes in, behind it what comes out */
		CHECK_TEXT(layers[find(network, "b1/s")->inputs[0]].name, "e/positions");
		CHECK_TEXT(layers[find(network, "b2/s")->inputs[0]].name, "b1/t");
		CHECK_TEXT(layers[find(network, "b2/t")->inputs[0]].name, "b2/s");
		CHECK_TEXT(layers[find(network, "b2/n")->inputs[0]].name, "b1/t");
		CHECK_TEXT(layers[find(network, "head")->inputs[0]].name, "b2/t");
		CHECK_TEXT(layers[find(network, "head")->tied_to].name, "e");
	}
	arena_free(arena);
}

/* 5 tokens that each use 2 of 4 experts: 10 rows. The router has 8 * 4 weights, experts 4 times
 * 8 * 12 and 6 * 8, the shared one 8 * 6 and 3 * 8. */
static void experts_have_all_weights_and_compute_for_chosen_tokens(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(
		arena, "network = { name = \"n\"; sequence = 5; vocabulary = 7; source = \"s\";\n"
		       "layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		       "{ name = \"x\"; op = \"experts\"; experts = 4; top = 2; hidden = 6; shared "
		       "= 3; },\n"
		       "{ name = \"h\"; op = \"linear\"; out = 7; },\n"
		       "{ name = \"l\"; op = \"cross_entropy\"; } ); };\n");

	if (CHECK(network != NULL)) {
		CHECK(network->parameters_count == 56 + 32 + 4 * (96 + 48) + 48 + 24 + 56);
		CHECK(network->macs_count == 5 * 32 + 10 * (96 + 48) + 5 * (48 + 24) + 5 * 56);
		CHECK(find(network, "x/dispatch")->height == 10);
		CHECK(find(network, "x/combine")->height == 5);
	}
	arena_free(arena);
}

/* A window of 3: the first tokens see 1 and 2 keys, the other 4 see 3. */
static void windows_limit_the_keys_of_a_token(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(
		arena,
		"network = { name = \"n\"; sequence = 6; vocabulary = 7; source = \"s\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"w\"; op = \"attention\"; heads = 2; causal = true; window = 3; },\n"
		"{ name = \"f\"; op = \"attention\"; heads = 2; },\n"
		"{ name = \"h\"; op = \"linear\"; out = 7; },\n"
		"{ name = \"l\"; op = \"cross_entropy\"; } ); };\n");

	if (CHECK(network != NULL)) {
		CHECK_NEAR(find(network, "w/core")->macs, 2 * (1 + 2 + 4 * 3) * 8, 1e-15);
		CHECK(find(network, "f/core")->macs == 2 * 36 * 8);
	}
	arena_free(arena);
}

static void rectangular_images_have_their_shapes(void)
{
	struct arena *arena = arena_new();
	const struct network *network = read_text(
		arena,
		"network = { name = \"n\"; image = [6, 10]; channels = 3; classes = 2; source = "
		"\"s\";\n"
		"layers = ( { name = \"c\"; op = \"conv\"; kernel = 2; stride = 2; out = 4; },\n"
		"{ name = \"t\"; op = \"class_token\"; positions = true; },\n"
		"{ name = \"first\"; op = \"select\"; tokens = 1; },\n"
		"{ name = \"f\"; op = \"linear\"; out = 2; } ); };\n");

	if (CHECK(network != NULL)) {
		CHECK(find(network, "c")->height == 3 && find(network, "c")->width == 5);
		CHECK(find(network, "t")->height == 16);
		CHECK(network->parameters_count == 12 * 4 + 4 + 16 * 4 + 8);
	}
	arena_free(arena);
}

/* ---- the shipped networks ---- */

/* Published counts: torchvision (ViT); HuggingFace's GPT2LMHeadModel and BertForPreTraining; the
 * published checkpoints of Llama, Mixtral and Qwen3; the model card of GPT-OSS; and the benchmark
 * of llm-foundry (MPT). Tensors are those of the same implementations; 0: theirs are cut
 * differently. */
static void parameters_match_published_checkpoints(void)
{
	static const struct {
		const char *name;
		double parameters, tensors;
	} rows[] = {
		{"vit-b-16", 86567656, 152},      {"vit-l-16", 304326632, 296},
		{"bert-base", 110106428, 206},    {"bert-large", 336226108, 398},
		{"gpt2", 124439808, 148},         {"gpt2-medium", 354823168, 292},
		{"gpt2-large", 774030080, 436},   {"gpt2-xl", 1557611200, 580},
		{"llama2-7b", 6738415616, 291},   {"llama2-13b", 13015864320, 363},
		{"llama2-70b", 68976648192, 723}, {"llama3-8b", 8030261248, 291},
		{"llama3-70b", 70553706496, 723}, {"llama3-405b", 405853388800, 1137},
		{"mixtral-8x7b", 46702792704, 0}, {"qwen3-30b-a3b", 30532122624, 0},
		{"gpt-oss-20b", 20914757184, 0},  {"gpt-oss-120b", 116829156672, 0},
		{"mpt-125m", 125311488, 0},       {"mpt-350m", 355985408, 0},
		{"mpt-760m", 760470528, 0},       {"mpt-1b", 1315950592, 0},
		{"mpt-3b", 2651837440, 0},        {"mpt-7b", 6658859008, 0},
		{"mpt-13b", 12853954560, 0},      {"mpt-30b", 29975214080, 0},
		{"mpt-70b", 64862437376, 0},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = shipped(arena, rows[i].name, 0);

		if (network != NULL) {
			CHECK_NEAR(network->parameters_count, rows[i].parameters, 0);
			if (rows[i].tensors > 0)
				CHECK_NEAR(network->gradient_tensors_count, rows[i].tensors, 0);
		}
		arena_free(arena);
	}
}

/* GPT-3: table 2.1 of the paper rounds; each block has 12 d d weights and 13 d others. */
static void gpt3_matches_its_formula_and_its_names(void)
{
	static const struct {
		const char *name;
		double layers, features, published;
	} rows[] = {
		{"gpt3-125m", 12, 768, 125e6},   {"gpt3-350m", 24, 1024, 356e6},
		{"gpt3-760m", 24, 1536, 760e6},  {"gpt3-1.3b", 24, 2048, 1.3e9},
		{"gpt3-2.7b", 32, 2560, 2.65e9}, {"gpt3-6.7b", 32, 4096, 6.66e9},
		{"gpt3-13b", 40, 5120, 12.85e9}, {"gpt3-175b", 96, 12288, 174.6e9},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = shipped(arena, rows[i].name, 0);
		double d = rows[i].features;

		if (network != NULL) {
			CHECK_NEAR(network->parameters_count,
				   rows[i].layers * (12 * d * d + 13 * d) + (50257 + 2048 + 2) * d,
				   0);
			CHECK_NEAR(network->parameters_count, rows[i].published, 0.015);
		}
		arena_free(arena);
	}
}

/* MPT has as many positions as a sequence has tokens (llm-foundry prints the count). */
static void positions_follow_the_sequence(void)
{
	static const struct {
		const char *name;
		size_t sequence;
		double parameters;
	} rows[] = {
		{"mpt-125m", 512, 124131840},    {"mpt-125m", 65536, 174070272},
		{"mpt-7b", 8192, 6684024832},    {"mpt-7b", 65536, 6918905856},
		{"mpt-13b", 32768, 13011240960}, {"mpt-30b", 512, 29964204032},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = shipped(arena, rows[i].name, rows[i].sequence);

		if (network != NULL) {
			CHECK_NEAR(network->parameters_count, rows[i].parameters, 0);
			CHECK(network->sequence == rows[i].sequence);
		}
		arena_free(arena);
	}
}

/* torchvision prints 17.56 and 61.55 GFLOPS, where a multiply-accumulate is one. GPT: 12 d d and
 * the vocabulary for each token, and two products of d for each pair of tokens. */
static void multiply_accumulates_match(void)
{
	struct arena *arena = arena_new();
	const struct network *base = shipped(arena, "vit-b-16", 0);
	const struct network *large = shipped(arena, "vit-l-16", 0);
	const struct network *gpt = shipped(arena, "gpt2-medium", 0);
	double d = 1024, tokens = 1024, pairs = tokens * (tokens + 1) / 2;

	if (base != NULL && large != NULL && gpt != NULL) {
		CHECK_NEAR(base->macs_count, 17.56e9, 0.0005);
		CHECK_NEAR(large->macs_count, 61.55e9, 0.0005);
		CHECK_NEAR(gpt->macs_count,
			   24 * (tokens * 12 * d * d + 2 * pairs * d) + tokens * 50257 * d, 1e-14);
	}
	arena_free(arena);
}

/* Parameters that a token uses: all but those of experts that it does not choose. The model cards
 * print 12.9, 3.3, 5.1 and 3.6 G; those of GPT-OSS leave out the embedding. */
static void active_parameters_of_experts_match(void)
{
	static const struct {
		const char *name;
		double blocks, experts, top, weights, embedding, published;
	} rows[] = {
		{"mixtral-8x7b", 32, 8, 2, 3.0 * 4096 * 14336, 0, 12.9e9},
		{"qwen3-30b-a3b", 48, 128, 8, 3.0 * 2048 * 768, 0, 3.3e9},
		{"gpt-oss-120b", 36, 128, 4, 3.0 * 2880 * 2881, 201088.0 * 2880, 5.13e9},
		{"gpt-oss-20b", 24, 32, 4, 3.0 * 2880 * 2881, 201088.0 * 2880, 3.61e9},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct network *network = shipped(arena, rows[i].name, 0);

		if (network != NULL)
			CHECK_NEAR(network->parameters_count - rows[i].embedding -
					   rows[i].blocks * (rows[i].experts - rows[i].top) *
						   rows[i].weights,
				   rows[i].published, 0.017);
		arena_free(arena);
	}
}

/* Korthikanti et al., arXiv:2205.05198, equation 2: a block of GPT with dropout keeps s b h (34 +
 * 5 a s / h) bytes in half precision. GPT-2 has that form. The statistics of norms, which the
 * paper leaves out, are 16 bytes a token. GPT-2 writes out its GELU in ops of their own, which keep
 * four more arrays of 4 h. */
static void activations_match_the_published_formula(void)
{
	struct arena *arena = arena_new();
	const struct network *network = shipped(arena, "gpt2", 0);
	double h = 768, s = 1024, a = 12, block_B = 0;

	for (size_t i = 0; network != NULL && i < network->layer_count; i++)
		if (strncmp(network->layers[i].name, "block2/", 7) == 0)
			block_B += 2 * network->layers[i].kept_count + network->layers[i].kept_B;
	if (network != NULL) {
		/* the sum that leaves a block is the input of the next one */
		CHECK(block_B == s * (34 * h + 16 + 2 * 4 * 4 * h));
		CHECK(2 * network->scores_count + network->scores_B == 12 * 5 * a * s * s);
	}
	arena_free(arena);
}

/* Adam in mixed precision: 4 bytes of a weight and 8 of its state, 2 of a gradient and 2 of the
 * cast weight. 16 bytes for each of 175 G parameters are 2.8 TB. */
static void memory_counts_sixteen_bytes_a_parameter(void)
{
	struct arena *arena = arena_new();
	const struct network *network = shipped(arena, "gpt3-175b", 0);

	if (network != NULL) {
		double fused_B = network_memory_B(network, 1, 2, 2, 0, true);
		double unfused_B = network_memory_B(network, 1, 2, 2, 0, false);
		double scores_B = 96 * 2 * 96.0 * 2048 * 2048; /* layers, bytes, heads, pairs */

		CHECK(fused_B > 16 * network->parameters_count);
		CHECK(fused_B < 16 * network->parameters_count + 120e9);
		CHECK_NEAR(unfused_B - fused_B, scores_B, 0.03);
	}
	arena_free(arena);
}

/* The network has 16 tokens. The products of 8 x 24, 8 x 8 and 8 x 12 are frozen, and the first two
 * have adapters of rank 2. Attention multiplies 16 x 16 pairs by 8 features, twice. */
static void model_flop_has_no_gradients_of_frozen_weights(void)
{
	static const char text[] =
		"network = { name = \"a\"; frozen = true; sequence = 16; vocabulary = 12;\n"
		"source = \"by hand\"; layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"a\"; op = \"attention\"; heads = 4; causal = true; lora = 2; },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct arena *arena = arena_new();
	const struct network *network = read_text(arena, text);
	double frozen = 16 * (8 * 24 + 8 * 8 + 8 * 12), attention = 2 * 16 * 16 * 8;
	double adapters = 16 * (8 * 2 + 2 * 24 + 8 * 2 + 2 * 8);
	if (CHECK(network != NULL)) {
		CHECK_NEAR(network_model_flop(network, false),
			   2 * (2 * frozen + 3 * (adapters + attention)), 0);
		CHECK_NEAR(network_model_flop(network, true), 2 * (frozen + adapters + attention),
			   0);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(small_network_has_the_counts_by_hand),
	TEST(only_what_backward_needs_is_kept),
	TEST(a_sample_needs_activations_and_the_largest_gradients),
	TEST(loss_in_half_precision_needs_three_copies),
	TEST(selected_tokens_are_rounded_up),
	TEST(repeated_blocks_follow_each_other),
	TEST(experts_have_all_weights_and_compute_for_chosen_tokens),
	TEST(windows_limit_the_keys_of_a_token),
	TEST(rectangular_images_have_their_shapes),
	TEST(parameters_match_published_checkpoints),
	TEST(gpt3_matches_its_formula_and_its_names),
	TEST(positions_follow_the_sequence),
	TEST(multiply_accumulates_match),
	TEST(active_parameters_of_experts_match),
	TEST(activations_match_the_published_formula),
	TEST(memory_counts_sixteen_bytes_a_parameter),
	TEST(model_flop_has_no_gradients_of_frozen_weights),
};

int main(void)
{
	return TEST_MAIN(tests);
}
