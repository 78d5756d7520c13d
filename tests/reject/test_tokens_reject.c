/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bad networks of tokens: each is refused with its place and a correction. */
#include <stdio.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/network.h"
#include "tests/test.h"

/* Known ops, behind the first one. */
#define OTHER_OPS                                                                                  \
	"transposed_conv, fc, batch_norm, relu, squeeze_excite, upsample, "                        \
	"pixels, regression, max_pool, avg_pool, global_pool, add, concat, "                       \
	"lrn, dropout, softmax, embedding, class_token, select, linear, "                          \
	"layer_norm, rms_norm, attention, latent_attention, recurrent, mlp, gated_mlp, experts, "  \
	"cross_entropy, losses"

static const char head[] =
	"network = { name = \"n\"; sequence = 8; vocabulary = 5; source = \"s\";\n"
	"layers = ( { name = \"e\"; op = \"embedding\"; out = 12; positions = 16; },\n";
static const char end[] = "{ name = \"l\"; op = \"linear\"; tied = \"e\"; },\n"
			  "{ name = \"loss\"; op = \"cross_entropy\"; } ); };\n";

static const char *errors_of(struct arena *arena, const char *text, size_t sequence)
{
	struct diag *diag = diag_new(arena);
	const struct cfg_node *file = cfg_read_text(arena, diag, "n.cfg", text);
	const struct network *network = file ? network_read(arena, diag, file, sequence) : NULL;
	const char *all = "";

	CHECK((network == NULL) == (diag_count(diag) > 0));
	for (size_t i = 0; i < diag_count(diag); i++)
		all = arena_printf(arena, "%s%s%s", all, i ? "\n" : "", diag_at(diag, i));
	return all;
}

/* layers begin on line 3 and end before the network's head */
static void refuses(const char *layers, const char *expected)
{
	struct arena *arena = arena_new();

	CHECK_TEXT(errors_of(arena, arena_printf(arena, "%s%s%s", head, layers, end), 0), expected);
	arena_free(arena);
}

static void refuses_file(const char *text, const char *expected)
{
	struct arena *arena = arena_new();

	CHECK_PART(errors_of(arena, text, 0), expected);
	arena_free(arena);
}

static void valid_layers_are_accepted(void)
{
	refuses("", "");
	refuses("{ name = \"a\"; op = \"attention\"; heads = 3; causal = true; window = 2; },\n"
		"{ name = \"m\"; op = \"experts\"; experts = 4; top = 2; hidden = 6; },\n",
		"");
}

static void heads_that_do_not_divide_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"attention\"; heads = 5; },\n",
		"n.cfg:3: layer 'a': heads is 5, which does not divide the 12 features (write "
		"another number, or "
		"head_size = 64)");
	refuses("{ name = \"a\"; op = \"attention\"; heads = 6; kv_heads = 4; },\n",
		"n.cfg:3: layer 'a': kv_heads is 4, but must be a divisor of heads, which is 6");
	refuses("{ name = \"a\"; op = \"attention\"; },\n",
		"n.cfg:3: layer 'a': attention needs heads (write heads = 12)");
	refuses("{ name = \"a\"; op = \"attention\"; heads = 2; window = 3; },\n",
		"n.cfg:3: layer 'a': a window needs causal attention (write causal = true)");
	refuses("{ name = \"a\"; op = \"latent_attention\"; heads = 2; head_size = 4; kv_rank = 8; "
		"rope = 6; },\n",
		"n.cfg:3: layer 'a': rope is 6, but must be below head_size, which is 4");
}

static void keys_that_an_op_lacks_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"rms_norm\"; bias = true; },\n",
		"n.cfg:3: layer 'a': rms_norm has no bias (leave it out)");
	refuses("{ name = \"a\"; op = \"mlp\"; hidden = 4; activation = \"swish\"; },\n",
		"n.cfg:3: layer 'a': activation is 'swish' (write \"gelu\", \"gelu_new\", "
		"\"silu\", \"tanh\", \"sigmoid\" or \"relu\")");
	refuses("{ name = \"a\"; op = \"linear\"; },\n",
		"n.cfg:3: layer 'a': linear needs out or tied (write out = 768 or tied = "
		"\"embed\")");
	refuses("{ name = \"a\"; op = \"select\"; share = 1.5; },\n",
		"n.cfg:3: layer 'a': share must be above 0 and at most 1 (write 0.15)");
	refuses("{ name = \"a\"; op = \"select\"; tokens = 9; },\n",
		"n.cfg:3: layer 'a': it selects 9 of only 8 tokens (write a smaller number)");
	refuses("{ name = \"a\"; op = \"experts\"; experts = 4; top = 5; hidden = 6; },\n",
		"n.cfg:3: layer 'a': top is 5, but there are only 4 experts (write a smaller "
		"number)");
	refuses("{ name = \"a\"; op = \"mlp\"; hiden = 4; },\n",
		"n.cfg:3: layer 'a': mlp needs hidden (write hidden = 3072)\n"
		"n.cfg:3: unknown key 'hiden' (did you mean 'hidden'?)");
}

static void matrices_of_other_sizes_cannot_be_shared(void)
{
	refuses("{ name = \"a\"; op = \"linear\"; out = 4; },\n",
		"n.cfg:4: layer 'l': it takes 4 features, but the embedding has 12 (make them the "
		"same)");
	refuses("{ name = \"a\"; op = \"linear\"; tied = \"x\"; },\n",
		"n.cfg:3: layer 'a': tied 'x' is not an earlier embedding (write the name of a "
		"layer with op = \"embedding\")");
}

static void too_many_layers_are_refused(void)
{
	refuses("{ name = \"b\"; repeat = 1000; layers = ( { name = \"c\"; repeat = 1000; layers = "
		"( { name = \"n\"; op = \"layer_norm\"; } ); } ); },\n",
		"n.cfg:2: the network has more than 100000 layers (write smaller repeats)");
}

/* An error of a group is reported for its first repetition only. */
static void errors_of_repeated_groups_are_reported_once(void)
{
	refuses("{ name = \"b\"; repeat = 4; layers = ( { name = \"n\"; op = \"layer_norn\"; } ); "
		"},\n",
		"n.cfg:3: layer 'b1/n': op 'layer_norn' is unknown (did you mean 'layer_norm'? "
		"write one of conv, " OTHER_OPS ")");
	refuses("{ name = \"b\"; repeat = 3; layers = ( { name = \"n\"; op = \"layer_norm\"; },\n"
		"{ name = \"n\"; op = \"layer_norm\"; } ); },\n",
		"n.cfg:4: layer 'b1/n': another layer has this name (write a unique name)");
	refuses("{ name = \"b\"; repeat = 0; layers = ( { name = \"n\"; op = \"layer_norm\"; } ); "
		"},\n",
		"n.cfg:3: layers 'b': repeat must be a whole number from 1 to 1000 (write repeat = "
		"12)");
	refuses("{ name = \"b\"; repeat = 2; layers = ( ); },\n",
		"n.cfg:3: layers 'b': there is nothing to repeat (write layers = ( { name = "
		"\"norm\"; op = \"layer_norm\"; }, ... ))");
	refuses("{ name = \"b\"; repeat = 2; },\n",
		"n.cfg:3: layers 'b': there is nothing to repeat (write layers = ( { name = "
		"\"norm\"; op = \"layer_norm\"; }, ... ))");
	refuses("{ name = \"b\"; repeat = 2; layer = 3; layers = ( { name = \"n\"; op = "
		"\"layer_norm\"; } ); },\n",
		"n.cfg:3: unknown key 'layer' (did you mean 'layers'?)");
}

static void sequences_longer_than_the_positions_are_refused(void)
{
	struct arena *arena = arena_new();
	const char *text = arena_printf(arena, "%s%s", head, end);

	CHECK_TEXT(errors_of(arena, text, 16), "");
	CHECK_TEXT(errors_of(arena, text, 17), "n.cfg:2: layer 'e': it has 16 positions, but the "
					       "sequences have 17 tokens (write a "
					       "shorter sequence, or more positions)");
	arena_free(arena);
}

static void networks_of_images_and_sequences_are_told_apart(void)
{
	refuses_file("network = { name = \"n\"; sequence = 8; source = \"s\"; layers = ( { name = "
		     "\"e\"; op = \"embedding\"; out = 2; } ); };",
		     "n.cfg:1: the network has no vocabulary (write vocabulary = 50257)");
	refuses_file("network = { name = \"n\"; sequence = 8; vocabulary = 4; classes = 3; source "
		     "= \"s\"; layers = ( { name = \"e\"; op = \"embedding\"; out = 2; } ); };",
		     "n.cfg:1: network 'n': classes works only with images, but the samples are "
		     "sequences (leave "
		     "it out)");
	refuses_file("network = { name = \"n\"; image = 8; channels = 3; classes = 2; source = "
		     "\"s\"; layers = (\n{ name = \"e\"; op = \"embedding\"; out = 2; } ); };",
		     "n.cfg:2: layer 'e': an embedding takes tokens (write sequence = 1024 and "
		     "vocabulary = 50257 in the network, and from = \"input\")");
	refuses_file("network = { name = \"n\"; sequence = 8; vocabulary = 4; source = \"s\"; "
		     "layers = (\n{ name = \"e\"; op = \"embedding\"; out = 2; } ); };",
		     "n.cfg:2: layer 'e': the last layer of a network of sequences must be a loss");
	refuses_file("network = { name = \"n\"; image = [8, 0]; channels = 3; classes = 2; source "
		     "= \"s\"; layers = (\n{ name = \"e\"; op = \"fc\"; out = 2; } ); };",
		     "n.cfg:1: network 'n': an element is 0 (write a whole number from 1 to "
		     "1000000)");
}

static void selections_name_tokens_or_a_share(void)
{
	static const char both[] =
		"n.cfg:3: layer 's': select needs tokens or share (write tokens = 1 or share = "
		"0.15)";
	refuses("{ name = \"s\"; op = \"select\"; },\n", both);
	refuses("{ name = \"s\"; op = \"select\"; tokens = 1; share = 0.5; },\n", both);
	for (int i = 0; i < 3; i++) {
		static const char *const shares[] = {
			"{ name = \"s\"; op = \"select\"; share = 0; },\n",
			"{ name = \"s\"; op = \"select\"; share = 1.5; },\n",
			"{ name = \"s\"; op = \"select\"; share = \"half\"; },\n"};
		refuses(shares[i],
			"n.cfg:3: layer 's': share must be above 0 and at most 1 (write 0.15)");
	}
}

static void embeddings_take_the_input(void)
{
	refuses("{ name = \"d\"; op = \"embedding\"; out = 12; from = \"e\"; },\n",
		"n.cfg:3: layer 'd': an embedding takes tokens (write sequence = 1024 and "
		"vocabulary = 50257 in the network, and from = \"input\")");
}

static void checkpoints_have_known_number_types(void)
{
	refuses_file("network = { name = \"n\"; sequence = 8; vocabulary = 5; source = \"s\"; "
		     "weights = 8;\nlayers = ( { name = \"e\"; op = \"embedding\"; out = 12; } ); "
		     "};\n",
		     "n.cfg:1: network 'n': weights is not a number type of a checkpoint");
	refuses_file(
		"network = { name = \"n\"; sequence = 8; vocabulary = 5; source = \"s\"; "
		"weights = \"fp5\";\nlayers = ( { name = \"e\"; op = \"embedding\"; out = 12; } "
		"); };\n",
		"n.cfg:1: network 'n': weights is not a number type of a checkpoint");
	refuses_file("network = { name = \"n\"; vocabulary = 5; source = \"s\"; layers = ( ); };\n",
		     "n.cfg:1: the network has no sequence (write sequence = 1024)");
	refuses_file(
		"network = { name = \"n\"; sequence = 8; vocabulary = 5; source = \"s\"; layers "
		"= { op = \"relu\"; }; };\n",
		"the network has no layers");
}

static const struct test tests[] = {
	TEST(selections_name_tokens_or_a_share),
	TEST(embeddings_take_the_input),
	TEST(checkpoints_have_known_number_types),
	TEST(valid_layers_are_accepted),
	TEST(heads_that_do_not_divide_are_refused),
	TEST(keys_that_an_op_lacks_are_refused),
	TEST(matrices_of_other_sizes_cannot_be_shared),
	TEST(too_many_layers_are_refused),
	TEST(errors_of_repeated_groups_are_reported_once),
	TEST(sequences_longer_than_the_positions_are_refused),
	TEST(networks_of_images_and_sequences_are_told_apart),
};

int main(void)
{
	return TEST_MAIN(tests);
}
