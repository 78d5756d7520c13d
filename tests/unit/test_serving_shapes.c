/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model server whose network has two shapes of attention. The test must run from the root folder.
 */
#include "sim/serving/model_parts.h"
#include "tests/served_model.h"

/* Three blocks: the second one has 2 heads of 4 features that share their keys and values, the
 * others have 4 heads of 2 features. */
static const struct network *mixed(size_t tokens)
{
	static const char text[] =
		"network = { name = \"n\"; sequence = 64; vocabulary = 12; source = \"by hand\";\n"
		"layers = ( { name = \"e\"; op = \"embedding\"; out = 8; },\n"
		"{ name = \"f\"; repeat = 1; layers = (\n"
		"  { name = \"a\"; op = \"attention\"; heads = 4; causal = true; } ); },\n"
		"{ name = \"g\"; repeat = 1; layers = (\n"
		"  { name = \"a\"; op = \"attention\"; heads = 2; kv_heads = 1; causal = true; } "
		"); },\n"
		"{ name = \"h\"; repeat = 1; layers = (\n"
		"  { name = \"a\"; op = \"attention\"; heads = 4; causal = true; } ); },\n"
		"{ name = \"l\"; op = \"linear\"; out = 12; bias = false; },\n"
		"{ name = \"c\"; op = \"cross_entropy\"; } ); };\n";
	struct diag *diag = diag_new(arena);
	return network_from(cfg_read_text(arena, diag, "n.cfg", text), diag, tokens);
}

/* A cached token has keys and values of 2 B in each layer: twice 8 features in two layers, and
 * twice 4 in the other one. A generated token reads those of each earlier token once. */
static void layers_with_equal_heads_are_counted_together(void)
{
	static const struct overhead none;
	const struct serving_model_spec spec = {.network = mixed(64),
						.one_token = mixed(1),
						.stack = &stack,
						.gpu = &gpu,
						.efficiency = &by_law,
						.rows_max = 64,
						.sequences_max = 8,
						.time_ratios = {1, 1}};
	struct serving_model *model = serving_model_new(arena, &spec);
	serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
	CHECK_NEAR(model->token_B, 2 * (2 * 2 * 8 + 2 * 4), 0);
	if (CHECK(model->attention_count == 2)) {
		CHECK_NEAR(model->attentions[0].layers, 2, 0);
		CHECK_NEAR(model->attentions[0].heads, 4, 0);
		CHECK_NEAR(model->attentions[1].layers, 1, 0);
		CHECK_NEAR(model->attentions[1].kv_heads, 1, 0);
	}
	struct iteration token = {
		.rows = 1, .sequences = 1, .decode_rows = 1, .decode_keys = {100, 100}};
	double few_B = iteration_B(model, token);
	token.decode_keys[0] = token.decode_keys[1] = 300;
	CHECK_NEAR(iteration_B(model, token) - few_B, 200 * model->token_B, 1e-6);
}

/* Mixtral needs 4 rows to use all its experts, but the logits of a sequence only its own row: it
 * reads 4096 features and writes 32000 logits of 2 B, and choosing a token reads and writes 4 B of
 * each four times. */
static void logits_are_those_of_the_sequences(void)
{
	static const struct overhead none;
	const struct serving_model_spec spec = {.network = network_of("mixtral-8x7b", 64),
						.one_token = network_of("mixtral-8x7b", 1),
						.stack = &stack,
						.gpu = &gpu,
						.efficiency = &by_law,
						.rows_max = 64,
						.sequences_max = 8,
						.time_ratios = {1, 1}};
	struct serving_model *model = serving_model_new(arena, &spec);
	serving_model_overhead_set(model, (const struct overhead *[]){&none, &none});
	struct iteration it = {
		.rows = 4, .sequences = 1, .decode_rows = 4, .decode_keys = {400, 400}};
	double one_B = iteration_B(model, it);
	it.sequences = 3;
	CHECK_NEAR(iteration_B(model, it) - one_B, 2 * (2 * (4096 + 32000.0) + 4 * 2 * 4 * 32000.0),
		   1e-6);
}

static const struct test tests[] = {
	TEST(logits_are_those_of_the_sequences),
	TEST(layers_with_equal_heads_are_counted_together),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
