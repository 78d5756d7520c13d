/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Malformed network files are refused with the place and a correction. */
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

/* Layers begin on line 3, one on each line. Each file ends with a valid layer `end`. */
static const char before[] =
	"network = { name = \"n\"; image = 8; channels = 3; classes = 2; source = \"s\";\n"
	"layers = (\n";
static const char after[] = "{ name = \"end\"; op = \"fc\"; out = 2; } ); };\n";

static const char *errors_of(struct arena *arena, const char *text)
{
	struct diag *diag = diag_new(arena);
	const struct cfg_node *file = cfg_read_text(arena, diag, "n.cfg", text);
	const struct network *network = file ? network_read(arena, diag, file, 0) : NULL;
	const char *all = "";

	CHECK((network == NULL) == (diag_count(diag) > 0));
	for (size_t i = 0; i < diag_count(diag); i++)
		all = arena_printf(arena, "%s%s%s", all, i ? "\n" : "", diag_at(diag, i));
	return all;
}

static void refuses(const char *layers, const char *expected)
{
	struct arena *arena = arena_new();

	CHECK_TEXT(errors_of(arena, arena_printf(arena, "%s%s%s", before, layers, after)),
		   expected);
	arena_free(arena);
}

static void contains(const char *text, const char *part)
{
	struct arena *arena = arena_new();

	CHECK_PART(errors_of(arena, text), part);
	arena_free(arena);
}

static void network_without_errors_is_accepted(void)
{
	refuses("", "");
}

static void unknown_ops_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"conf\"; },\n",
		"n.cfg:3: layer 'a': op 'conf' is unknown (did you mean 'conv'? write one of "
		"conv, " OTHER_OPS ")");
	refuses("{ name = \"a\"; },\n",
		"n.cfg:3: layer 'a' has no op (write op = \"conv\" or another)");
}

static void unknown_inputs_of_a_layer_are_refused(void)
{
	refuses("{ name = \"conv1\"; op = \"lrn\"; },\n"
		"{ name = \"b\"; op = \"lrn\"; from = \"conv2\"; },\n",
		"n.cfg:4: layer 'b': from = 'conv2' is not the name of a layer (did you mean "
		"'conv1'? write the name of an earlier layer)");
	refuses("{ name = \"a\"; op = \"lrn\"; from = 3; },\n",
		"n.cfg:3: layer 'a': from has the wrong type (write from = \"conv1\" or from = "
		"[\"a\", \"b\"])");
}

static void loops_of_layers_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"lrn\"; from = \"b\"; },\n"
		"{ name = \"b\"; op = \"lrn\"; from = \"a\"; },\n",
		"n.cfg:3: layer 'a': from = 'b' is a later layer, but a layer's input must be an "
		"earlier layer (move this layer below it)");
	refuses("{ name = \"a\"; op = \"lrn\"; from = \"a\"; },\n",
		"n.cfg:3: layer 'a': from = 'a' is the layer itself, but a layer's input must be "
		"an earlier layer (write the name of an earlier layer)");
}

static void inputs_of_different_shapes_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"conv\"; kernel = [1, 1]; out = 4; },\n"
		"{ name = \"b\"; op = \"conv\"; kernel = [1, 1]; out = 4; stride = 2; },\n"
		"{ name = \"s\"; op = \"add\"; from = [\"a\", \"b\"]; },\n",
		"n.cfg:5: layer 's' cannot add 'b' of 4 x 4 x 4 to 'a' of 4 x 8 x 8 (make the "
		"shapes equal, for example with a 1 x 1 conv)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = [1, 1]; out = 4; },\n"
		"{ name = \"b\"; op = \"conv\"; kernel = [1, 1]; out = 4; stride = 2; },\n"
		"{ name = \"s\"; op = \"concat\"; from = [\"a\", \"b\"]; },\n",
		"n.cfg:5: layer 's' cannot join 'b' of 4 x 4 pixels to 'a' of 8 x 8 (only "
		"channels may differ: give them the same strides and pad)");
	refuses("{ name = \"a\"; op = \"max_pool\"; kernel = [3, 9]; stride = 1; pad = \"valid\"; "
		"},\n",
		"n.cfg:3: layer 'a': its kernel of 3 x 9 is larger than its input of 8 x 8 (write "
		"pad = "
		"\"same\" or a smaller kernel)");
}

static void invalid_sizes_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"conv\"; kernel = [0, 1]; out = 4; },\n",
		"n.cfg:3: layer 'a': an element is 0 (write a whole number from 1 to 1000000)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = [1, 1]; out = -4; },\n",
		"n.cfg:3: layer 'a': out is -4 (write a whole number from 1 to 1000000)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 1; stride = 1.5; out = 4; },\n",
		"n.cfg:3: layer 'a': stride is 1.5 (write a whole number from 1 to 1000000)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = [1, 1, 1]; out = 4; },\n",
		"n.cfg:3: layer 'a': kernel has 3 numbers (write kernel = [height, width])");
	contains("network = { name = \"n\"; image = 0; channels = 3; classes = 2; source = \"s\";\n"
		 "layers = ( { name = \"end\"; op = \"fc\"; out = 2; } ); };\n",
		 "n.cfg:1: network 'n': image is 0 (write a whole number from 1 to 1000000)");
}

static void keys_that_an_op_lacks_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"max_pool\"; kernel = 2; stride = 2; out = 4; },\n",
		"n.cfg:3: layer 'a': max_pool has no out (leave it out)");
	refuses("{ name = \"a\"; op = \"max_pool\"; kernel = 2; },\n",
		"n.cfg:3: layer 'a': max_pool needs stride (write stride = 2)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; pad = \"full\"; },\n",
		"n.cfg:3: layer 'a': pad is 'full' (write \"same\" or \"valid\")");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; batch_norm = true; bias = "
		"true; },\n",
		"n.cfg:3: layer 'a' has bias and batch_norm, but batch_norm includes a bias (leave "
		"bias out)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; scale = false; },\n",
		"n.cfg:3: layer 'a' has scale but not batch_norm (write batch_norm = true or "
		"leave scale out)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; relu = \"yes\"; },\n",
		"n.cfg:3: layer 'a': relu has the wrong type (write true or false)");
	contains("network = { name = \"n\"; image = 8; channels = 3; classes = 2; source = \"s\";\n"
		 "layers = ( { name = \"end\"; op = \"fc\"; out = 2; bais = true; } ); };\n",
		 "bias");
}

static void wrong_numbers_of_inputs_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"lrn\"; },\n"
		"{ name = \"s\"; op = \"add\"; from = [\"a\"]; },\n",
		"n.cfg:4: layer 's': add takes 2 to 8 inputs, not 1 (write from = [\"a\", \"b\"])");
	refuses("{ name = \"a\"; op = \"lrn\"; from = [\"input\", \"input\"]; },\n",
		"n.cfg:3: layer 'a': lrn takes one input, not 2 (write from = \"a\")");
}

static void repeated_names_and_unused_layers_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"lrn\"; },\n{ name = \"a\"; op = \"lrn\"; },\n",
		"n.cfg:4: layer 'a': another layer has this name (write a unique name)");
	refuses("{ name = \"input\"; op = \"lrn\"; },\n",
		"n.cfg:3: layer 'input': another layer has this name (write a unique name; 'input' "
		"is reserved for the image)");
	refuses("{ op = \"lrn\"; },\n",
		"n.cfg:3: layer 1 has no name (write { name = \"conv1\"; op = ...; })");
	refuses("{ name = \"a\"; op = \"lrn\"; },\n{ name = \"b\"; op = \"lrn\"; from = \"input\"; "
		"},\n",
		"n.cfg:3: layer 'a': no other layer uses its output (write its name in the `from` "
		"of a later layer, or leave it out)");
}

/* A layer that uses a layer with an error causes no further error. */
static void layers_after_an_error_cause_no_further_errors(void)
{
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 0; out = 4; },\n"
		"{ name = \"b\"; op = \"lrn\"; },\n"
		"{ name = \"s\"; op = \"add\"; from = [\"b\", \"input\"]; },\n"
		"{ name = \"c\"; op = \"conv\"; kernel = 1; out = 0; },\n",
		"n.cfg:3: layer 'a': kernel is 0 (write a whole number from 1 to 1000000)\n"
		"n.cfg:6: layer 'c': out is 0 (write a whole number from 1 to 1000000)");
}

static void files_without_a_complete_network_are_refused(void)
{
	contains("", "the file has no group network");
	contains("network = 3;", "the file has no group network");
	contains("network = {\nimage = 8; channels = 3; classes = 2; source = \"s\"; };",
		 "n.cfg:1: the network has no name (write name = \"resnet50\")");
	contains("network = { name = \"n\"; image = 8; channels = 3; classes = 2; };",
		 "n.cfg:1: the network has no source (write where it comes from: source = \"He");
	contains("network = { name = \"n\"; channels = 3; classes = 2; source = \"s\"; };",
		 "n.cfg:1: the network has no image (write image = 224)");
	contains("network = { name = \"n\"; image = 8; channels = 3; source = \"s\"; };",
		 "n.cfg:1: the network has no classes (write classes = 1000)");
	contains("network = { name = \"n\"; image = 8; channels = 3; classes = 2; source = \"s\"; "
		 "};",
		 "the network has no layers");
	contains("network = { name = \"n\"; image = 8; channels = 3; classes = 2; source = \"s\"; "
		 "layers = ( ); };",
		 "the network has no layers");
	contains("network = { layers = ( { name = \"end\"; op = \"fc\"; out = 2; } ); };",
		 "the network has no name (write name = \"resnet50\")");
	contains("network = { name = \"n\"; image = 8; channels = 3; classes = 3; source = \"s\";\n"
		 "layers = ( { name = \"end\"; op = \"fc\"; out = 2; } ); };\n",
		 "n.cfg:2: layer 'end': the output of the last layer has 2 x 1 x 1 elements, but "
		 "classes is 3 (make them the same)");
	contains("network = { name = \"n\"; image = 8; channels = 3; classes = 3; source = \"s\";\n"
		 "layers = ( 3 ); };\n",
		 "has no name");
}

static void shapes_that_images_cannot_have_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 3; out = 9; groups = 2; },\n",
		"n.cfg:3: layer 'a': groups is 2, which does not divide its 3 input channels "
		"(write "
		"a divisor of both numbers of channels)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 3; out = 4; groups = 3; },\n",
		"n.cfg:3: layer 'a': groups is 3, which does not divide its 4 output channels "
		"(write "
		"a divisor of both numbers of channels)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = [3, 3, 3]; out = 4; },\n",
		"n.cfg:3: layer 'a': kernel has 3 numbers (write kernel = [height, width])");
	refuses("{ name = \"a\"; op = \"pixels\"; sides = [3, 3]; },\n",
		"n.cfg:3: layer 'a' cannot arrange 64 tokens in 3 x 3 pixels (write sides whose "
		"product is the number of tokens)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 1; out = 2; batch_norm = true; "
		"instance_norm = true; },\n",
		"n.cfg:3: layer 'a': a layer has batch_norm or instance_norm, not both (leave one "
		"out)");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; },\n"
		"{ name = \"b\"; op = \"conv\"; kernel = 1; out = 4; tied = \"a\"; },\n",
		"n.cfg:4: layer 'b' needs 16 weights, but 'a' has 12 (make them the same)");
	refuses("{ name = \"b\"; op = \"conv\"; kernel = 1; out = 4; tied = \"a\"; },\n",
		"n.cfg:3: layer 'b': tied 'a' is not an earlier conv (write the name of a layer "
		"with "
		"op = \"conv\")");
	refuses("{ name = \"b\"; op = \"conv\"; kernel = 1; out = 4; tied = \"c\"; },\n"
		"{ name = \"c\"; op = \"conv\"; kernel = 1; out = 4; },\n",
		"n.cfg:3: layer 'b': tied 'c' is not an earlier conv (write the name of a layer "
		"with op = \"conv\")");
	refuses("{ name = \"a\"; op = \"relu\"; },\n"
		"{ name = \"b\"; op = \"conv\"; kernel = 1; out = 4; tied = \"a\"; },\n",
		"n.cfg:4: layer 'b': tied 'a' is not an earlier conv (write the name of a layer "
		"with op = \"conv\")");
	refuses("{ name = \"a\"; op = \"upsample\"; },\n",
		"n.cfg:3: layer 'a': upsample needs factor (write factor = 2)");
	contains(
		"network = { name = \"n\"; image = [4, 8, 8]; channels = 3; classes = 2; source = "
		"\"s\";\nlayers = ( { name = \"a\"; op = \"conv\"; kernel = [3, 3]; out = 2; } ); "
		"};\n",
		"n.cfg:2: layer 'a': kernel has 2 numbers (write kernel = [depth, height, width])");
}

static void values_of_another_kind_are_refused(void)
{
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 3; out = 4; pad = \"full\"; },\n",
		"n.cfg:3: layer 'a': pad is 'full' (write \"same\" or \"valid\")");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 3; out = 4; pad = 1; },\n",
		"n.cfg:3: layer 'a': pad is 'not a string' (write \"same\" or \"valid\")");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 3; out = 4; pad = \"valid\"; },\n", "");
	refuses("{ name = \"a\"; op = \"fc\"; out = 4; activation = 3; },\n",
		"n.cfg:3: layer 'a': activation is not a text (write activation = \"gelu\")");
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 3; out = 4; scale = true; },\n",
		"n.cfg:3: layer 'a' has scale but not batch_norm (write batch_norm = true or leave "
		"scale out)");
	for (int i = 0; i < 3; i++) {
		static const char *const layers[] = {
			"{ name = \"a\"; op = \"conv\"; kernel = 3; out = 4; scale = true; "
			"batch_norm = true; },\n",
			"{ name = \"a\"; op = \"conv\"; kernel = 3; out = 4; scale = true; "
			"instance_norm = true; },\n",
			"{ name = \"a\"; op = \"batch_norm\"; scale = true; },\n"};
		refuses(layers[i], "");
	}
}

static void layers_of_other_channels_cannot_be_added(void)
{
	refuses("{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; },\n"
		"{ name = \"b\"; op = \"conv\"; kernel = 1; out = 5; from = \"input\"; },\n"
		"{ name = \"c\"; op = \"add\"; from = [\"a\", \"b\"]; },\n",
		"n.cfg:5: layer 'c' cannot add 'b' of 5 x 8 x 8 to 'a' of 4 x 8 x 8 (make the "
		"shapes equal, for example with a 1 x 1 conv)");
}

static void repetitions_have_whole_numbers(void)
{
	static const char *const numbers[] = {"0", "1.5", "\"two\"", "1000001"};
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
		struct arena *arena = arena_new();
		CHECK_PART(
			errors_of(arena,
				  arena_printf(arena,
					       "%s{ name = \"g\"; repeat = %s; layers = ( { name = "
					       "\"r\"; op = \"relu\"; } ); },\n%s",
					       before, numbers[i], after)),
			"n.cfg:3: layers 'g': repeat must be a whole number from 1 to ");
		arena_free(arena);
	}
	refuses("{ name = \"g\"; repeat = 2; layers = { op = \"relu\"; }; },\n",
		"n.cfg:3: layers 'g': there is nothing to repeat (write layers = ( { name = "
		"\"norm\"; op = \"layer_norm\"; }, ... ))");
	refuses("{ name = \"\"; op = \"relu\"; },\n",
		"n.cfg:3: layer 1 has no name (write { name = \"conv1\"; op = ...; })");
	/* the names of repeated layers are complained about once */
	refuses("{ name = \"g\"; repeat = 2; layers = ( { op = \"relu\"; } ); },\n",
		"n.cfg:3: layer 1 has no name (write { name = \"conv1\"; op = ...; })");
}

/* Two inputs must have the same height, width, depth and channels to be added. All but the channels
 * must be the same to be joined. The layers `a` and `b` differ in one side. */
static void inputs_that_differ_in_one_side_are_refused(void)
{
	static const struct {
		const char *image, *stride, *text;
	} rows[] = {
		{"[8, 8]", "[1, 2]", "8 x 4"},
		{"[8, 8]", "[2, 1]", "4 x 8"},
		{"[8, 8, 8]", "[1, 1, 2]", "8 x 4"},
		{"[8, 8, 8]", "[2, 1, 1]", "8 x 8"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		for (int join = 0; join < 2; join++) {
			struct arena *arena = arena_new();
			const char *text = arena_printf(
				arena,
				"network = { name = \"n\"; image = %s; channels = 3; classes = 2; "
				"source = \"s\"; layers = (\n"
				"{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; },\n"
				"{ name = \"b\"; op = \"conv\"; kernel = 1; out = 4; stride = %s; "
				"from = \"input\"; },\n"
				"{ name = \"c\"; op = \"%s\"; from = [\"a\", \"b\"]; },\n"
				"{ name = \"end\"; op = \"fc\"; out = 2; } ); };\n",
				rows[i].image, rows[i].stride, join ? "concat" : "add");
			const char *why = errors_of(arena, text);
			CHECK_PART(why, join ? "n.cfg:4: layer 'c' cannot join 'b' of "
					     : "n.cfg:4: layer 'c' cannot add 'b' of ");
			CHECK_PART(why, rows[i].text);
			arena_free(arena);
		}
}

static const struct test tests[] = {
	TEST(values_of_another_kind_are_refused),
	TEST(layers_of_other_channels_cannot_be_added),
	TEST(repetitions_have_whole_numbers),
	TEST(inputs_that_differ_in_one_side_are_refused),
	TEST(shapes_that_images_cannot_have_are_refused),
	TEST(network_without_errors_is_accepted),
	TEST(unknown_ops_are_refused),
	TEST(unknown_inputs_of_a_layer_are_refused),
	TEST(loops_of_layers_are_refused),
	TEST(inputs_of_different_shapes_are_refused),
	TEST(invalid_sizes_are_refused),
	TEST(keys_that_an_op_lacks_are_refused),
	TEST(wrong_numbers_of_inputs_are_refused),
	TEST(repeated_names_and_unused_layers_are_refused),
	TEST(layers_after_an_error_cause_no_further_errors),
	TEST(files_without_a_complete_network_are_refused),
};

int main(void)
{
	return TEST_MAIN(tests);
}
