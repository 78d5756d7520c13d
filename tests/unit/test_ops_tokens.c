/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Op graphs of transformers: arithmetic, bytes, gradients, fusion. The test must run from the root
 * folder. */
#include "sim/training/issue.h"
#include "sim/training/shard.h"
#include "tests/shipped_network.h"

static struct op_graph graph_of(const char *name, size_t batch, bool fused)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .optimiser_copies_count = 2,
				     .precision = PRECISION_BF16,
				     .fused_attention = fused};

	return op_graph_new(arena, network_of(name), batch, &stack, NULL);
}

static const char *const names[] = {"gpt2",      "bert-base",    "vit-b-16",
				    "llama3-8b", "gpt-oss-20b",  "qwen3-30b-a3b",
				    "mpt-125m",  "mixtral-8x7b", "bert-large"};
enum { NAME_COUNT = sizeof names / sizeof names[0] };

static void inputs_precede_their_operation(void)
{
	for (size_t n = 0; n < NAME_COUNT; n++) {
		struct op_graph graph = graph_of(names[n], 2, n % 2 == 0);

		for (size_t i = 0; i < graph.count; i++)
			for (uint32_t k = 0; k < graph.ops[i].input_count; k++)
				CHECK(graph.ops[i].inputs[k] < i);
	}
}

static void each_gradient_is_completed_and_each_tensor_updated_once(void)
{
	for (size_t n = 0; n < NAME_COUNT; n++) {
		struct op_graph graph = graph_of(names[n], 2, true);
		unsigned *made = ARENA_ARRAY(arena, graph.tensor_count, unsigned);
		unsigned *updated = ARENA_ARRAY(arena, graph.tensor_count, unsigned);
		double elements = 0;

		for (size_t i = 0; i < graph.count; i++) {
			for (uint32_t k = 0; k < graph.ops[i].gradient_count; k++)
				made[graph.ops[i].gradients[k]]++;
			if (graph.ops[i].update_of != NO_TENSOR) {
				CHECK(made[graph.ops[i].update_of] == 1);
				updated[graph.ops[i].update_of]++;
			}
		}
		for (size_t t = 0; t < graph.tensor_count; t++) {
			CHECK(made[t] == 1 && updated[t] == 1);
			elements += graph.tensors[t].elements_count;
		}
		CHECK_NEAR(elements, network_of(names[n])->parameters_count, 0);
	}
}

/* A product has two in backward. Fused attention computes its scores again: five products. */
static void arithmetic_is_that_of_the_network(void)
{
	for (size_t n = 0; n < NAME_COUNT; n++) {
		const struct network *network = network_of(names[n]);
		struct op_graph graph = graph_of(names[n], 3, true);
		double attention = 0, image = 0;

		for (size_t i = 0; i < network->layer_count; i++) {
			if (network->layers[i].op == LAYER_ATTENTION)
				attention += network->layers[i].macs;
			if (network->layers[i].op == LAYER_CONV) /* no gradient of the image */
				image += network->layers[i].macs;
		}
		CHECK_NEAR(tally_of(&graph, "").flop,
			   3 * 2 * (3 * network->macs_count + 0.5 * attention - image), 1e-12);
		CHECK_NEAR(tally_of(&graph, "/core").flop, 3 * 2 * attention, 1e-12);
	}
}

/* GPT-2: 12 layers, 12 heads of 64, 1024 tokens, 4 sequences, 2 bytes an element. Without fusion
 * the masked half is computed, too, and five kernels touch the scores forward. */
static void attention_moves_its_scores_only_if_it_is_not_fused(void)
{
	struct op_graph fused = graph_of("gpt2", 4, true), apart = graph_of("gpt2", 4, false);
	double q_B = 4 * 1024 * 768 * 2, scores_B = 4 * 12 * 1024.0 * 1024 * 2;

	CHECK_NEAR(tally_of(&fused, "/core").bytes_B, 12 * 4 * q_B, 1e-12);
	CHECK_NEAR(tally_of(&fused, "/core.grad").bytes_B, 12 * 8 * q_B, 1e-12);
	CHECK(tally_of(&fused, "/core.scores").ops == 0);
	CHECK_NEAR(tally_of(&apart, "/core.scores").bytes_B, 12 * (2 * q_B + scores_B), 1e-12);
	CHECK_NEAR(tally_of(&apart, "/core.softmax").bytes_B, 12 * 2 * scores_B, 1e-12);
	CHECK_NEAR(tally_of(&apart, "/core.scores").flop, 12 * 4 * 2 * 1024.0 * 1024 * 768, 1e-12);
	CHECK_NEAR(tally_of(&apart, "/core.grad_key").flop, tally_of(&apart, "/core.scores").flop,
		   0);
	CHECK(tally_of(&apart, "/core.mask").ops == 12 &&
	      tally_of(&apart, "/core.dropout").ops == 12);
	/* copies of queries, keys and values, and one of the result */
	CHECK_NEAR(tally_of(&apart, "/core.transpose").bytes_B, 12 * 3 * 2 * q_B, 1e-12);
	CHECK_NEAR(tally_of(&apart, "/core.grad_transpose").bytes_B, 12 * 3 * 2 * q_B, 1e-12);
	CHECK_NEAR(tally_of(&apart, "/core.merge").bytes_B, 12 * 2 * q_B, 1e-12);
	CHECK(tally_of(&fused, "e.transpose").ops == 0 && tally_of(&fused, ".merge").ops == 0);
}

/* The mask of padding is added to the scores, and its gradient is not needed. */
static void padding_mask_is_added_forward_only(void)
{
	struct op_graph graph = graph_of("bert-base", 4, false);

	CHECK(tally_of(&graph, "/core.mask").ops == 12);
	CHECK(tally_of(&graph, "/core.grad_mask").ops == 0);
}

/* The loss of NVIDIA's program needs logits of 512 tokens in place of 77. */
static void logits_of_all_tokens_need_more_arithmetic(void)
{
	struct op_graph masked = graph_of("bert-base", 1, true);
	struct op_graph all = graph_of("bert-base-all-logits", 1, true);
	double of_token = 2 * 768.0 * (30522 + 768);

	CHECK_NEAR(tally_of(&all, "").flop - tally_of(&masked, "").flop, 3 * (512 - 77) * of_token,
		   1e-9);
}

/* apex O2 with FusedLAMB and two states: 13 passes over fp32, a gradient read in 16 bits and
 * written in 32, a weight read in 32 and written in 16. Nothing is cast in the network. */
static void master_weights_are_updated_in_fp32(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .optimiser_copies_count = 2,
				     .precision = PRECISION_FP16,
				     .master_weights = true,
				     .lamb = true,
				     .update_tensors_count = 1};
	const struct network *bert = network_of("bert-base");
	struct op_graph graph = op_graph_new(arena, bert, 1, &stack, NULL);

	CHECK_NEAR(tally_of(&graph, ".update").bytes_B, bert->parameters_count * (13 * 4 + 12),
		   1e-12);
	CHECK(tally_of(&graph, "cast").ops == 0 && tally_of(&graph, ".bias").ops == 0);
	CHECK_NEAR(stack_memory_B(bert, 1, &stack), bert->parameters_count * (3 * 4 + 2 + 2 + 4),
		   0.2); /* the rest is activations */
	stack.separate_bias = true;
	graph = op_graph_new(arena, bert, 1, &stack, NULL);
	/* in a block query, key, value, output, both of the MLP; in the heads four */
	CHECK(tally_of(&graph, ".bias").ops + tally_of(&graph, ".bias.2").ops +
		      tally_of(&graph, ".bias.3").ops ==
	      12 * 6 + 4);
}

/* A block of Llama 3 8B has products of query, key, value, output, gate, up and down. Joined, the
 * first three are one of 4096 + 2 x 1024 columns, and gate and up are one, too. */
static void joined_products_have_the_columns_of_their_parts(void)
{
	const struct network *llama = network_of("llama3-8b");
	size_t products[2] = {0};
	double flop[2] = {0};
	for (size_t i = 0; i < 2; i++) {
		const struct stack_params stack = {.precision = PRECISION_BF16,
						   .fused_attention = true,
						   .joined_products = i,
						   .forward_only = true};
		struct op_graph graph = op_graph_new(arena, llama, 1, &stack, NULL);
		for (size_t k = 0; k < graph.count; k++)
			if (graph.ops[k].work.form == KERNEL_PRODUCT) {
				products[i]++;
				flop[i] += graph.ops[k].work.flop;
			}
	}
	CHECK(products[0] - products[1] == 32 * 3);
	CHECK_NEAR(flop[1], flop[0], 1e-12);
}

/* The matrix of a tied embedding is complete when both of its gradients are added. */
static void tied_matrix_has_the_sum_of_two_gradients(void)
{
	struct op_graph graph = graph_of("gpt2", 1, true);
	double matrix_B = 50257 * 768 * 2;
	size_t head = 0, sum = 0;

	for (size_t i = 0; i < graph.count; i++) {
		if (strcmp(graph.ops[i].name, "logits.grad_weight") == 0)
			head = i;
		if (strcmp(graph.ops[i].name, "embed.grad_sum") == 0)
			sum = i;
	}
	CHECK(head > 0 && sum > head && graph.ops[sum].gradient_count == 1);
	CHECK(graph.ops[sum].inputs[1] == head);
	CHECK_NEAR(tally_of(&graph, "embed.grad_sum").bytes_B, 3 * matrix_B, 1e-12);
	CHECK(graph.ops[head].gradient_count == 0);
}

/* Adam reads the gradient, weight and two states and writes three of them. */
static void updates_read_and_write_all_parameters(void)
{
	struct op_graph graph = graph_of("llama3-8b", 1, true);

	CHECK_NEAR(tally_of(&graph, ".update").bytes_B,
		   7 * 2 * network_of("llama3-8b")->parameters_count, 1e-12);
}

/* With one row only its experts are read, with many rows all. The results of all eight experts of a
 * token are read and written to weight them, and so are their gradients. */
static void experts_are_read_when_they_have_rows(void)
{
	const struct network *network = network_of("qwen3-30b-a3b");
	struct op_graph graph = graph_of("qwen3-30b-a3b", 1, true);
	double rows = 4096 * 8, in = 2048, out = 2 * 768;

	CHECK(network->sequence == 4096);
	CHECK_NEAR(tally_of(&graph, "/gate_up").bytes_B,
		   48 * 2 * (rows * in + rows * out + 128 * in * out), 1e-12);
	CHECK_NEAR(tally_of(&graph, "/gate_up").flop, 48 * 2 * rows * in * out, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/combine.weight").bytes_B, 48 * 2 * 2 * rows * in, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/combine.grad").bytes_B, 48 * 2 * 2 * rows * in, 1e-12);
}

/* Quantising an element reads 2 B and writes two orders, of 1 B each in FP8. Each has 1/32 B of
 * scales in MXFP8, whose kernels then read and write them again. A norm writes one order of FP8,
 * and both of MXFP8. NVFP4 always reads 2 B twice and writes 2 x 9/16 B. */
static void conversions_move_the_bytes_of_their_number_type(void)
{
	static const struct {
		int precision;
		double of_norm_B, of_gate_B;
	} rows[] = {{PRECISION_FP8, 1, 4},
		    {PRECISION_MXFP8, 0.125, 2 + 2 * 33 / 32.0 + 0.125},
		    {PRECISION_NVFP4, 5.125, 5.125}};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
					     .precision = rows[i].precision};
		const struct network *network = network_of("llama3-8b");
		struct op_graph graph = op_graph_new(arena, network, 1, &stack, NULL);
		double blocks = 32 * (double)network->sequence;

		CHECK_NEAR(tally_of(&graph, "/gate_up.convert").bytes_B,
			   blocks * 4096 * rows[i].of_norm_B, 1e-12);
		CHECK_NEAR(tally_of(&graph, "/down.convert").bytes_B,
			   blocks * 14336 * rows[i].of_gate_B, 1e-12);
	}
}

/* A block of Llama launches 5 kernels for a norm, 10 for rotary positions, 2 for a gate. */
static void kernels_are_those_of_eager_mode(void)
{
	struct op_graph graph = graph_of("llama3-8b", 1, true);
	size_t forward = 0;

	for (size_t i = 0; i < graph.count; i++)
		if (strncmp(graph.ops[i].name, "block7/", 7) == 0 &&
		    graph.ops[i].pass == PASS_FORWARD)
			forward += graph.ops[i].kernels;
	/* 2 norms, 2 sums, 3 + 2 + 1 + 1 products, attention, positions, gate */
	CHECK(forward == 2 * 5 + 2 + 7 + 1 + 10 + 2);
}

/* GPT-2's own GELU has 8 kernels forward and 11 backward in each of 12 blocks. It has 1024 x 3072
 * numbers of 2 bytes. The kernels read 10 and write 8 times as many forward, and read 17 and write
 * 11 times as many backward. */
static void powers_of_gelu_are_kernels_in_both_passes(void)
{
	struct op_graph graph = graph_of("gpt2", 1, true);
	const double size_B = 12.0 * 1024 * 3072 * 2;
	double kernels[2] = {0}, bytes_B[2] = {0};

	for (size_t i = 0; i < graph.count; i++) {
		const struct op *op = &graph.ops[i];
		bool backward = op->pass == PASS_BACKWARD;
		if (!strstr(op->name, "/mlp/gelu_new"))
			continue;
		kernels[backward] += op->kernels;
		bytes_B[backward] += op->kernels * op->work.bytes_B;
	}
	CHECK_NEAR(kernels[0], 12 * 8, 0);
	CHECK_NEAR(kernels[1], 12 * 11, 0);
	CHECK_NEAR(bytes_B[0], (10 + 8) * size_B, 1e-12);
	CHECK_NEAR(bytes_B[1], (17 + 11) * size_B, 1e-12);
}

/* Numbers of tokens are int64, elements of images fp32. */
static void inputs_have_8_bytes_a_token_and_4_an_element(void)
{
	CHECK_NEAR(input_B(network_of("gpt2"), 3), 3 * 1024 * 8, 0);
	CHECK_NEAR(input_B(network_of("resnet50"), 3), 3 * 224 * 224 * 3 * 4, 0);
}

/* PyTorch sums the gradients of up to 3072 tokens in one kernel, and sorts more in ten. A batch of
 * GPT-2 has 1024 tokens a sample. */
static void many_tokens_are_sorted_for_the_gradient_of_an_embedding(void)
{
	for (size_t batch = 3; batch <= 4; batch++) {
		struct op_graph graph = graph_of("gpt2", batch, true);
		CHECK_NEAR(tally_of(&graph, "embed.grad").kernels, batch == 3 ? 1 : 10, 0);
	}
}

/* Llama 3 8B rotates 32 queries and 8 keys of 128 for each of 8192 tokens in 32 blocks, 2 bytes
 * each. PyTorch negates a half, joins the halves, multiplies twice and adds two products. The norm
 * squares, averages and scales 4096 numbers for each token, twice in a block and once at the end.
 * The gate has 14336 numbers. */
static void elementwise_kernels_move_their_operands_and_results(void)
{
	struct op_graph graph = graph_of("llama3-8b", 1, true);
	const double tokens = 8192, rotated_B = 32 * tokens * (32 + 8) * 128 * 2,
		     norm_B = (2 * 32 + 1) * tokens * 4096 * 2, gate_B = 32 * tokens * 14336 * 2;
	const struct {
		const char *end;
		double bytes_B;
	} steps[] = {
		{"rotary.negate", rotated_B},
		{"rotary.cat", 2 * rotated_B},
		{"rotary.sin", 2 * rotated_B},
		{"rotary.cos", 2 * rotated_B},
		{"rotary.add", 3 * rotated_B},
		{"rotary.grad_sin", 2 * rotated_B},
		{"rotary.grad_cos", 2 * rotated_B},
		{"rotary.grad_slice", 2 * rotated_B},
		{"rotary.grad_negate", rotated_B},
		{"rotary.grad_add", 3 * rotated_B},
		{".square", 2 * norm_B},
		{".mean", norm_B},
		{".scale", 2 * norm_B},
		{".weight", 2 * norm_B},
		{".silu", 2 * gate_B},
		{"gate.mul", 3 * gate_B},
		{"gate.grad_gate", 3 * gate_B},
		{"gate.grad_up", 3 * gate_B},
		{"gate.grad_silu", 3 * gate_B},
	};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		CHECK_NEAR(tally_of(&graph, steps[i].end).bytes_B, steps[i].bytes_B, 1e-12);
}

static void fusion_joins_elementwise_neighbours(void)
{
	struct op_graph graph = graph_of("llama3-8b", 1, true);
	struct op_graph fused = op_graph_fuse(arena, &graph, FUSION_ALL);

	CHECK_NEAR(tally_of(&fused, "").flop, tally_of(&graph, "").flop, 1e-12);
	CHECK(tally_of(&fused, "").bytes_B < 0.8 * tally_of(&graph, "").bytes_B);
	CHECK(tally_of(&fused, "").kernels < 0.5 * tally_of(&graph, "").kernels);
	CHECK(tally_of(&fused, "/core").ops == 32);
	for (size_t i = 0; i < fused.count; i++)
		CHECK(fused.ops[i].work.bytes_B >= 0);
}

/* The first op writes 10 B, of which the second one reads as many, and the second one writes 100 B.
 * In one kernel 10 B are neither written nor read. Waits for other GPUs add up. */
static void fused_ops_save_what_the_first_one_wrote(void)
{
	const uint32_t first = 0;
	const struct op ops[] = {{.name = "first",
				  .elementwise = true,
				  .kernels = 1,
				  .work = {.bytes_B = 30},
				  .wait_s = 1,
				  .output_B = 10,
				  .update_of = NO_TENSOR},
				 {.name = "second",
				  .elementwise = true,
				  .kernels = 1,
				  .work = {.bytes_B = 110},
				  .wait_s = 2,
				  .output_B = 100,
				  .inputs = &first,
				  .input_count = 1,
				  .update_of = NO_TENSOR}};
	const struct op_graph graph = {.ops = ops, .count = 2, .output = 1, .loss = 1};
	struct op_graph fused = op_graph_fuse(arena, &graph, FUSION_ALL);
	if (!CHECK(fused.count == 1))
		return;
	CHECK_NEAR(fused.ops[0].work.bytes_B, 30 + 110 - 10 - 10, 1e-12);
	CHECK_NEAR(fused.ops[0].wait_s, 3, 1e-12);
}

/* Forward kernels of ResNet-50 for inference: 53 convolutions, two pools, the fully connected layer
 * and the softmax. 49 norms with ReLU, 4 without, 16 sums and the bias have none. A convolution of
 * 64 x 56 x 56 outputs still writes them once. */
static void inference_computes_in_the_kernels_of_products(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .precision = PRECISION_FP16,
				     .update_tensors_count = 1,
				     .fused_averages = true,
				     .fusion = FUSION_INFERENCE};
	struct op_graph graph = op_graph_new(arena, network_of("resnet50"), 8, &stack, NULL);
	double forward = 0, products = 0;

	for (size_t i = 0; i < graph.count; i++) {
		const struct op *op = &graph.ops[i];
		if (op->pass != PASS_FORWARD)
			continue;
		forward++;
		products += op->work.form == KERNEL_CONVOLUTION || op->work.form == KERNEL_PRODUCT;
	}
	CHECK(products == 53 + 1);
	CHECK(forward == 53 + 1 + 2 + 1);
	/* conv1 of a block reads 64 x 56 x 56 elements and 64 x 64 weights; its ReLU costs nothing
	 */
	CHECK_NEAR(tally_of(&graph, "res2_1_conv1/relu").bytes_B,
		   2 * (8 * 2 * 64.0 * 56 * 56 + 64 * 64), 1e-12);
	/* the sum at the end of a block reads the block's input besides */
	CHECK_NEAR(tally_of(&graph, "res2_2/relu").bytes_B,
		   2 * (8 * (64 + 256 + 256.0) * 56 * 56 + 64 * 256), 1e-12);
}

/* MPT-7B has two norms in each of 32 blocks and one behind them. Under autocast they and the sums
 * between blocks are fp32, and the products behind norms cast their inputs to 16 bits. Gradients of
 * a norm's weights then take twice the bytes. */
static void autocast_computes_norms_in_fp32(void)
{
	static const int precisions[] = {PRECISION_BF16, PRECISION_FP32};
	const struct network *network = network_of("mpt-7b");
	double weights_B[2][2];
	for (int autocast = 0; autocast < 2; autocast++)
		for (int i = 0; i < 2; i++) {
			struct stack_params stack = {.optimiser_copies_count = 2,
						     .precision = precisions[i],
						     .autocast = autocast};
			struct op_graph graph = op_graph_new(arena, network, 1, &stack, NULL);
			CHECK_NEAR(tally_of(&graph, ".input_cast").ops,
				   autocast && precisions[i] == PRECISION_BF16 ? 65 : 0, 0);
			weights_B[autocast][i] = tally_of(&graph, "norm1.grad_weight").bytes_B;
		}
	CHECK(weights_B[0][0] > 0);
	CHECK_NEAR(weights_B[1][0], 2 * weights_B[0][0], 1e-12);
	CHECK_NEAR(weights_B[1][1], weights_B[0][1], 1e-12);
}

/* Adam in bf16: 16 bytes a parameter; autocast has fp32 gradients: 18. */
static void autocast_needs_two_bytes_a_parameter_more(void)
{
	const struct network *network = network_of("mpt-7b");
	struct stack_params stack = {
		.optimiser_copies_count = 2, .precision = PRECISION_BF16, .fused_attention = true};
	double plain_B = stack_memory_B(network, 1, &stack);

	stack.autocast = true;
	CHECK_NEAR(stack_memory_B(network, 1, &stack) - plain_B, 2 * network->parameters_count,
		   1e-9);
	CHECK(plain_B > 16 * network->parameters_count);
}

/* In a block of Llama 3 with adapters at attention, only the adapters' four matrices get gradients:
 * 8192 x 16 and 16 x 10240 beside the product of query, key and value, and two of 8192 x 16. */
static void frozen_weights_have_neither_gradients_nor_updates(void)
{
	struct op_graph lora = graph_of("llama2-70b-lora", 1, true);
	double trained = 80.0 * 16 * (8192 + 10240 + 2 * 8192), updated = 0;

	for (size_t i = 0; i < lora.tensor_count; i++)
		updated += lora.tensors[i].elements_count;
	CHECK_NEAR(updated, trained, 0);
	CHECK_NEAR(tally_of(&lora, "mlp/gate_up.grad_weight").ops, 0, 0);
	CHECK_NEAR(tally_of(&lora, "mlp/gate_up.grad_data").ops, 80, 0);
	CHECK_NEAR(tally_of(&lora, "attn/qkv_up.grad_weight").ops, 80, 0);
}

/* Transformer Engine computes products of blocks in FP8, but neither logits nor attention. Query,
 * key and value are one product. */
static void fp8_is_for_linear_layers_of_blocks(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .optimiser_copies_count = 2,
				     .precision = PRECISION_FP8,
				     .fusion = FUSION_LAYER,
				     .fused_accumulation = true,
				     .fused_attention = true};
	struct op_graph graph = op_graph_new(arena, network_of("llama3-8b"), 1, &stack, NULL);
	double counts[NUMBER_FP8 + 1] = {0};

	for (size_t i = 0; i < graph.count; i++)
		if (graph.ops[i].work.form != KERNEL_PASS)
			counts[graph.ops[i].work.type]++;
	CHECK_NEAR(counts[NUMBER_FP8], 32 * 4 * 3, 0);
	CHECK_NEAR(counts[NUMBER_BF16], 32 * 2 + 3, 0);
	/* the fp32 sum of 4096 x 6144 weights is read and written; both factors are FP8 */
	CHECK_NEAR(tally_of(&graph, "attn/qkv.grad_weight").bytes_B,
		   32 * (4096.0 * 6144 * 8 + 8192.0 * (4096 + 6144)), 1e-12);
	/* weights and the other factor are FP8, and the result has 2 B */
	CHECK_NEAR(tally_of(&graph, "attn/qkv").bytes_B,
		   32 * (4096.0 * 6144 + 8192.0 * (4096 + 2 * 6144)), 1e-12);
	CHECK_NEAR(tally_of(&graph, "attn/qkv.grad_data").bytes_B,
		   32 * (4096.0 * 6144 + 8192.0 * (6144 + 2 * 4096)), 1e-12);
	/* routers compute in bf16 */
	graph = op_graph_new(arena, network_of("mixtral-8x7b"), 1, &stack, NULL);
	for (size_t i = 0; i < graph.count; i++)
		if (strstr(graph.ops[i].name, "/router"))
			CHECK(graph.ops[i].work.form != KERNEL_PRODUCT ||
			      graph.ops[i].work.type == NUMBER_BF16);
	CHECK(tally_of(&graph, "/router").ops == 32);
}

static const struct test tests[] = {
	TEST(inputs_precede_their_operation),
	TEST(frozen_weights_have_neither_gradients_nor_updates),
	TEST(fp8_is_for_linear_layers_of_blocks),
	TEST(each_gradient_is_completed_and_each_tensor_updated_once),
	TEST(arithmetic_is_that_of_the_network),
	TEST(attention_moves_its_scores_only_if_it_is_not_fused),
	TEST(padding_mask_is_added_forward_only),
	TEST(logits_of_all_tokens_need_more_arithmetic),
	TEST(master_weights_are_updated_in_fp32),
	TEST(joined_products_have_the_columns_of_their_parts),
	TEST(tied_matrix_has_the_sum_of_two_gradients),
	TEST(updates_read_and_write_all_parameters),
	TEST(experts_are_read_when_they_have_rows),
	TEST(conversions_move_the_bytes_of_their_number_type),
	TEST(kernels_are_those_of_eager_mode),
	TEST(powers_of_gelu_are_kernels_in_both_passes),
	TEST(elementwise_kernels_move_their_operands_and_results),
	TEST(fusion_joins_elementwise_neighbours),
	TEST(fused_ops_save_what_the_first_one_wrote),
	TEST(inference_computes_in_the_kernels_of_products),
	TEST(autocast_computes_norms_in_fp32),
	TEST(autocast_needs_two_bytes_a_parameter_more),
	TEST(many_tokens_are_sorted_for_the_gradient_of_an_embedding),
	TEST(inputs_have_8_bytes_a_token_and_4_an_element),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
