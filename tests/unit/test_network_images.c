/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of images beyond plain convolutions: groups, volumes, transposed convolutions,
 * squeeze-and-excitation and heads with several losses. Small networks are counted by hand, and
 * shipped ones are compared with counts of PyTorch. The test must run from the root folder. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/ops.h"
#include "tests/test.h"

static struct arena *arena;

static const struct network *read_file(const struct cfg_node *file, struct diag *diag,
				       size_t sequence)
{
	const struct network *network = file ? network_read(arena, diag, file, sequence) : NULL;
	diag_print(diag, stdout);
	CHECK(network != NULL);
	return network;
}

/* A network of images of 3 channels and 8 x 8 pixels, or of 1 channel and 2 x 8 x 8 voxels. */
static const struct network *small(const char *image, const char *layers)
{
	struct diag *diag = diag_new(arena);
	const char *text = arena_printf(arena,
					"network = { name = \"n\"; %s classes = 4; source = \"by "
					"hand\"; layers = ( %s ); };\n",
					image, layers);
	return read_file(cfg_read_text(arena, diag, "n.cfg", text), diag, 0);
}
static const char image[] = "image = 8; channels = 4;";
static const char volume[] = "image = [2, 8, 8]; channels = 1;";

static const struct network *shipped(const char *name, size_t sequence)
{
	struct diag *diag = diag_new(arena);
	const char *path = arena_printf(arena, "models/networks/%s.cfg", name);
	return read_file(cfg_read(arena, diag, path), diag, sequence);
}

static const struct layer *find(const struct network *network, const char *name)
{
	for (size_t i = 0; i < network->layer_count; i++)
		if (strcmp(network->layers[i].name, name) == 0)
			return &network->layers[i];
	printf("  no layer '%s' in %s\n", name, network->name);
	abort();
}

static struct op_graph graph_of(const struct network *network, size_t batch)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE, .precision = PRECISION_FP16};
	return op_graph_new(arena, network, batch, &stack, NULL);
}

static const struct op *op_of(const struct op_graph *graph, const char *name)
{
	for (size_t i = 0; i < graph->count; i++)
		if (strcmp(graph->ops[i].name, name) == 0)
			return &graph->ops[i];
	printf("  no op '%s'\n", name);
	abort();
}

/* ---- by hand ---- */

/* 8 x 8 x 4 become 8 x 8 x 8 with two groups: each of 8 outputs reads 2 channels of 3 x 3, so there
 * are 8 x 18 weights and 64 x 8 x 18 products. Depthwise, each reads one channel. */
static void groups_divide_weights_and_products(void)
{
	const struct network *network = small(
		image,
		"{ name = \"a\"; op = \"conv\"; kernel = 3; out = 8; groups = 2; },"
		"{ name = \"b\"; op = \"conv\"; kernel = 3; out = 8; groups = 8; stride = 2; "
		"activation = \"silu\"; },"
		"{ name = \"p\"; op = \"global_pool\"; }, { name = \"f\"; op = \"fc\"; out = 4; "
		"}");
	CHECK(find(network, "a")->tensors[0] == 8 * 18 && find(network, "a")->macs == 64 * 8 * 18);
	CHECK(find(network, "b")->tensors[0] == 8 * 9 && find(network, "b")->macs == 16 * 8 * 9);
	CHECK(find(network, "b/silu")->op == LAYER_SILU && !network->has_tokens);
	struct op_graph graph = graph_of(network, 2);
	CHECK(op_of(&graph, "a")->work.convolution.groups == 2);
	CHECK_NEAR(op_of(&graph, "b.grad_filter")->work.flop, 2 * 2 * 16 * 8 * 9, 0);
}

/* A product in 16 bits of fp32 weights reads each of 8 x 4 x 9 weights in 4 B and writes it in 2 B.
 * Its gradient goes back the same way. Images have 4 x 64 elements, and outputs 8 x 64. They are
 * stored as NCHW, so one kernel before a convolution and one behind it read and write them for both
 * images. This happens forward and for the gradient of the weights. */
static void autocast_and_tensor_cores_move_weights_and_images(void)
{
	const struct network *network = small(
		image, "{ name = \"a\"; op = \"conv\"; kernel = 3; out = 8; },"
		       "{ name = \"p\"; op = \"global_pool\"; }, { name = \"f\"; op = \"fc\"; "
		       "out = 4; }");
	const struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
					   .precision = PRECISION_FP16,
					   .autocast = true,
					   .layout = LAYOUT_NCHW};
	struct op_graph graph = op_graph_new(arena, network, 2, &stack, NULL);
	static const char *const casts[] = {"a.cast", "a.grad_cast"};
	for (size_t i = 0; i < 2; i++) {
		CHECK(op_of(&graph, casts[i])->kernels == 1);
		CHECK_NEAR(op_of(&graph, casts[i])->work.bytes_B, 8 * 4 * 9 * (4 + 2), 0);
	}
	size_t transposes = 0;
	for (size_t i = 0; i < graph.count; i++) {
		const struct op *op = &graph.ops[i];
		if (strcmp(op->name, "a.transpose") != 0)
			continue;
		transposes++;
		CHECK(op->kernels == 2);
		CHECK_NEAR(op->kernels * op->work.bytes_B, 2 * 2 * (4 + 8) * 64 * 2, 0);
	}
	CHECK(transposes == 2);
}

/* 2 x 8 x 8 voxels: a stride of 2 halves each side. The kernel of 27 has 1 x 27 x 4 weights. The
 * transposed convolution doubles the sides: each of 1 x 4 x 4 inputs of 4 channels gives 8 outputs
 * of 2 channels. */
static void volumes_shrink_and_grow_in_depth(void)
{
	const struct network *network = small(
		volume,
		"{ name = \"a\"; op = \"conv\"; kernel = 3; out = 4; stride = 2; instance_norm = "
		"true; relu = true; },"
		"{ name = \"t\"; op = \"transposed_conv\"; kernel = 2; stride = 2; out = 2; },"
		"{ name = \"c\"; op = \"conv\"; kernel = [1, 3, 3]; out = 4; },"
		"{ name = \"loss\"; op = \"softmax\"; }");
	const struct layer *a = find(network, "a"), *t = find(network, "t");
	CHECK(a->depth == 1 && a->height == 4 && a->width == 4 && a->tensors[0] == 27 * 4);
	CHECK(a->macs == 16 * 4 * 27 && find(network, "a/instance_norm")->tensor_count == 2);
	CHECK(find(network, "a/instance_norm")->state_tensor_count == 0);
	CHECK(t->depth == 2 && t->height == 8 && t->width == 8 && t->tensors[0] == 4 * 8 * 2);
	CHECK(t->macs == 16 * 4 * 8 * 2);
	CHECK(find(network, "c")->tensors[0] == 2 * 9 * 4 &&
	      find(network, "c")->macs == 128 * 4 * 18);
	struct op_graph graph = graph_of(network, 1);
	const struct kernel_convolution *deep = &op_of(&graph, "a")->work.convolution;
	CHECK(deep->in_height == 16 && deep->out_height == 4 && deep->window[0] == 9);
	CHECK(deep->window[1] == 3 && deep->stride[0] == 4 && deep->stride[1] == 2);
	/* forward is the gradient of the data of a convolution from 2 to 4 channels */
	const struct kernel_convolution *up = &op_of(&graph, "t")->work.convolution;
	CHECK(up->part == CONVOLUTION_DATA && up->in_channels == 2 && up->out_channels == 4);
	CHECK(op_of(&graph, "t.grad_data")->work.convolution.part == CONVOLUTION_FORWARD);
}

/* 4 channels: means of 64 pixels, 4 x 2 + 2 and 2 x 4 + 4 parameters. The scale reads the map of
 * 256 elements and 4 numbers, and writes 256. Its gradients: 3 x 256 for the products, 256 for
 * their sums, 2 x 256 for the map. 2 bytes each. */
static void squeeze_and_excitation_has_two_products_and_a_scale(void)
{
	const struct network *network = small(
		image,
		"{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; },"
		"{ name = \"s\"; op = \"squeeze_excite\"; hidden = 2; activation = \"relu\"; },"
		"{ name = \"p\"; op = \"global_pool\"; }, { name = \"f\"; op = \"fc\"; out = 4; "
		"}");
	CHECK(network->parameters_count == 16 + 8 + 2 + 8 + 4 + 16);
	CHECK(network->macs_count == 64 * 16 + 8 + 8 + 16);
	CHECK(find(network, "s")->height == 8 && find(network, "s/sigmoid")->output_count == 4);
	struct op_graph graph = graph_of(network, 1);
	CHECK_NEAR(op_of(&graph, "s")->work.bytes_B, 2 * (256 + 4 + 256), 0);
	CHECK_NEAR(op_of(&graph, "s.grad_gate")->work.bytes_B, 2 * 3 * 256, 0);
	CHECK(op_of(&graph, "s.grad_sum")->work.reduces);
	CHECK_NEAR(op_of(&graph, "s.grad")->work.bytes_B, 2 * 2 * 256, 0);
}

static void heads_of_different_shapes_are_joined_for_their_losses(void)
{
	const struct network *network = small(
		image,
		"{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; },"
		"{ name = \"b\"; op = \"conv\"; kernel = 3; out = 2; stride = 2; from = \"a\"; },"
		"{ name = \"j\"; op = \"concat\"; flat = true; from = [\"a\", \"b\"]; },"
		"{ name = \"r\"; op = \"regression\"; },"
		"{ name = \"u\"; op = \"upsample\"; factor = 2; from = \"b\"; },"
		"{ name = \"s\"; op = \"softmax\"; },"
		"{ name = \"loss\"; op = \"losses\"; from = [\"r\", \"s\"]; }");
	CHECK(find(network, "j")->channels == 4 * 64 + 2 * 16 && find(network, "j")->height == 1);
	CHECK(find(network, "u")->height == 8 && find(network, "u")->channels == 2);
	struct op_graph graph = graph_of(network, 1);
	CHECK(op_of(&graph, "b.grad_sum")->input_count == 2); /* from the upsampling and the join */
}

/* Two levels of a pyramid share weights of 4 x 4 and biases. Backward begins with the level written
 * last, and the owner of the weights completes the sum of both gradients. */
static void levels_share_weights_and_their_gradients(void)
{
	const struct network *network = small(
		image,
		"{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; bias = true; },"
		"{ name = \"h\"; op = \"avg_pool\"; kernel = 2; stride = 2; from = \"input\"; },"
		"{ name = \"b\"; op = \"conv\"; kernel = 1; out = 4; bias = true; tied = \"a\"; },"
		"{ name = \"j\"; op = \"concat\"; flat = true; from = [\"a\", \"b\"]; },"
		"{ name = \"r\"; op = \"regression\"; },"
		"{ name = \"f\"; op = \"fc\"; out = 4; }");
	CHECK(network->parameters_count == 16 + 4 + 4 * 320 &&
	      network->gradient_tensors_count == 3);
	CHECK(network->macs_count == 64 * 16 + 16 * 16 + 320 * 4);
	struct op_graph graph = graph_of(network, 1);
	const struct op *sum = op_of(&graph, "a.grad_sum");
	CHECK(sum->gradient_count == 1 && sum->input_count == 2);
	CHECK_TEXT(graph.ops[sum->inputs[1]].name, "b.grad_filter");
	CHECK(op_of(&graph, "b.grad_filter")->gradient_count == 0);
}

static void tokens_become_pixels(void)
{
	const struct network *network =
		small(image, "{ name = \"a\"; op = \"conv\"; kernel = 1; out = 4; },"
			     "{ name = \"t\"; op = \"class_token\"; }, { name = \"s\"; op = "
			     "\"select\"; tokens = "
			     "64; }, { name = \"p\"; op = \"pixels\"; sides = [4, 16]; },"
			     "{ name = \"loss\"; op = \"regression\"; }");
	CHECK(find(network, "p")->height == 4 && find(network, "p")->width == 16);
	CHECK(find(network, "p")->channels == 4 && network->has_tokens);
}

/* ---- shipped networks ---- */

/* Parameters, gradient tensors and multiply-accumulates of convolutions and linear layers of one
 * sample, counted by PyTorch 2.11. Rows with 0 MACs are networks of transformers 5.17. The others
 * are networks of torchvision 0.26 (ResNeXt is ResNet with 32 groups), or the modules that the
 * files name as their source. torchvision publishes 5.289, 19.342 and 7.979 M parameters and
 * 0.386, 4.394 and 2.834 GFLOPS for the first three. ELECTRA shares the 23.8 M parameters of its
 * embedding. transformers also counts 1.182 M of DPT that it never uses: a residual layer of the
 * deepest fusion, and a norm behind the last block. */
static const struct {
	const char *name;
	double parameters, tensors, macs;
} counts[] = {
	{"efficientnet-b0", 5288548, 213, 385814752},
	{"efficientnet-b4", 19341616, 418, 4393771024},
	{"densenet121", 7978856, 364, 2834161664},
	{"resnext101-32x4d", 44177704, 314, 7969996800},
	{"se-resnext101-32x4d", 45251128, 446, 7971037184},
	{"se-resnext101-32x4d-tf", 48955416, 446, 7974739968},
	{"ssd300", 22894902, 183, 20150906112},
	{"ssd320-fpn", 32840570, 269, 22307953664},
	{"unet3d", 31190243, 78, 477298688000},
	{"dpt-large", 343030465 - 1182208, 462 - 6, 258206121984},
	{"bert-base-squad", 108893186, 199, 0},
	{"bert-large-squad", 334094338, 391, 0},
	{"biobert-base-ner", 107725063, 199, 0},
	{"distilbert", 66985530, 105, 0},
	{"distilbert-squad", 66364418, 102, 0},
	{"electra-base-squad", 108893186, 199, 0},
	{"electra-base", 33740602 + 109483009 - 23837184, 204 + 201 - 5, 0},
};
enum { COUNT_COUNT = sizeof counts / sizeof counts[0] };

static void counts_equal_those_of_pytorch(void)
{
	for (size_t i = 0; i < COUNT_COUNT; i++) {
		const struct network *network = shipped(counts[i].name, 0);
		CHECK_TEXT(network->name, counts[i].name);
		CHECK_NEAR(network->parameters_count, counts[i].parameters, 0);
		CHECK_NEAR(network->gradient_tensors_count, counts[i].tensors, 0);
		if (counts[i].macs > 0)
			CHECK_NEAR(network->macs_count, counts[i].macs, 0);
	}
}

/* isl-org/MiDaS publishes 105 M parameters (README, v2.1), 1.18 M of which it never uses. The
 * stages have 96, 48, 24 and 12 pixels, and the depth has those of the image. */
static void midas_has_the_published_size(void)
{
	const struct network *network = shipped("midas-v2.1", 0);
	CHECK_NEAR(network->parameters_count + 2 * (256 * 256 * 9 + 256), 105e6, 0.005);
	CHECK(find(network, "map1")->height == 96 && find(network, "fuse4")->height == 24);
	CHECK(find(network, "depth")->height == 384 && find(network, "depth")->channels == 1);
}

static void each_gradient_is_completed_and_each_tensor_updated_once(void)
{
	for (size_t n = 0; n < COUNT_COUNT; n++) {
		const struct network *network = shipped(counts[n].name, 0);
		struct op_graph graph = graph_of(network, 2);
		unsigned *made = ARENA_ARRAY(arena, graph.tensor_count, unsigned);
		for (size_t i = 0; i < graph.count; i++) {
			const struct op *op = &graph.ops[i];
			for (uint32_t k = 0; k < op->input_count; k++)
				CHECK(op->inputs[k] < i);
			for (uint32_t k = 0; k < op->gradient_count; k++)
				made[op->gradients[k]]++;
		}
		for (size_t t = 0; t < graph.tensor_count; t++)
			CHECK(made[t] == 1);
	}
}

/* Products three times, but no gradient of the image. */
static void arithmetic_is_that_of_the_network(void)
{
	for (size_t n = 0; n < COUNT_COUNT && counts[n].macs > 0; n++) {
		const struct network *network = shipped(counts[n].name, 0);
		struct op_graph graph = graph_of(network, 3);
		double flop = 0;
		for (size_t i = 0; i < graph.count; i++)
			flop += graph.ops[i].kernels * graph.ops[i].work.flop;
		CHECK_NEAR(flop, 3 * 2 * (3 * network->macs_count - network->layers[1].macs),
			   1e-12);
	}
}

/* Each length up to that of the position table, which keeps its 512 rows. T tokens of 12 layers
 * have 12 T (4 x 768^2 + 2 x 768 x 3072) MACs in linear layers. Attention adds 2 x 12 T^2 x 768,
 * and the head T x 768 x 2. */
static void bert_takes_each_length_up_to_512(void)
{
	for (size_t tokens = 1; tokens <= 512; tokens++) {
		const struct network *network = shipped("bert-base-squad", tokens);
		double t = (double)tokens;
		CHECK_NEAR(network->macs_count,
			   12 * t * 12 * 768 * 768 + 24 * t * t * 768 + t * 768 * 2, 1e-12);
		CHECK_NEAR(network->parameters_count, 108893186, 0);
		CHECK(find(network, "embed/positions")->tensors[0] == 512 * 768);
	}
	CHECK(find(shipped("bert-large", 1), "masked")->height == 1);
	CHECK(find(shipped("bert-large", 128), "masked")->height == 20);
}

static const struct test tests[] = {
	TEST(groups_divide_weights_and_products),
	TEST(autocast_and_tensor_cores_move_weights_and_images),
	TEST(volumes_shrink_and_grow_in_depth),
	TEST(squeeze_and_excitation_has_two_products_and_a_scale),
	TEST(heads_of_different_shapes_are_joined_for_their_losses),
	TEST(levels_share_weights_and_their_gradients),
	TEST(tokens_become_pixels),
	TEST(counts_equal_those_of_pytorch),
	TEST(midas_has_the_published_size),
	TEST(each_gradient_is_completed_and_each_tensor_updated_once),
	TEST(arithmetic_is_that_of_the_network),
	TEST(bert_takes_each_length_up_to_512),
};

int main(void)
{
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
