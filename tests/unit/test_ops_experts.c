/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Op graphs of a mixture of experts: what happens to rows beside the products. The test must run
 * from the root folder. */
#include "sim/training/shard.h"
#include "tests/shipped_network.h"

/* The graph of one of `gpus` GPUs that share the 128 experts of a layer. */
static struct op_graph graph_of_experts(size_t gpus, const struct stack_params *stack)
{
	const struct shard_params params = {1, 1, gpus, false, OVERLAP_NONE, 1, NULL, 0, false};
	const char *why = NULL;
	const struct shard *shard = shard_new(arena, network_of("qwen3-30b-a3b"), &params, &why);

	CHECK(shard != NULL);
	return op_graph_new(arena, shard->network, 1, stack, NULL);
}

/* 8 GPUs hold 16 experts each, and order the rows of each layer four times: behind the dispatch and
 * before the way back, and their gradients likewise. One GPU with all experts and GPUs with one
 * each have nothing to order, and neither do engines. */
static void rows_of_other_gpus_are_ordered_by_expert(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE, .precision = PRECISION_BF16};
	struct op_graph graph = graph_of_experts(8, &stack);
	double rows_B = 2 * 4096 * 8 * 2048;

	CHECK_NEAR(tally_of(&graph, "dispatch.sort").bytes_B, 48 * 2 * rows_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "combine.sort").bytes_B, 48 * 2 * rows_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "dispatch.grad_sort").bytes_B, 48 * 2 * rows_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "combine.grad_sort").bytes_B, 48 * 2 * rows_B, 1e-12);
	graph = graph_of_experts(1, &stack);
	CHECK(tally_of(&graph, ".sort").ops == 0);
	graph = graph_of_experts(128, &stack);
	CHECK(tally_of(&graph, "sort").ops == 0);
	stack.forward_only = true;
	graph = graph_of_experts(8, &stack);
	CHECK(tally_of(&graph, ".sort").ops == 0);
}

/* An engine with fused experts has three kernels of the router in 48 layers, and one that adds up 8
 * rows of 4096 x 2048 elements of 2 bytes for each token. Nothing else moves rows. */
static void engines_gather_and_weigh_rows_in_the_products(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .precision = PRECISION_BF16,
				     .forward_only = true,
				     .fusion = FUSION_ALL};
	struct op_graph graph = graph_of_experts(1, &stack);

	CHECK_NEAR(tally_of(&graph, "/route").kernels, 48 * 3, 0);
	CHECK_NEAR(tally_of(&graph, "/dispatch").kernels, 0, 0);
	CHECK_NEAR(tally_of(&graph, "/combine").kernels, 48, 0);
	stack.fusion = FUSION_NONE;
	graph = graph_of_experts(1, &stack);
	CHECK_NEAR(tally_of(&graph, "/dispatch").kernels, 48, 0);
	CHECK_NEAR(tally_of(&graph, "/combine").kernels, 48, 0);
}

/* In FP8, each of two products has 2 conversions and 3 products, which launch 15 further kernels
 * for the 16 experts of a GPU: 48 x 2 x 5 x 15 calls. The host also waits once in each of 48 layers
 * for 128 numbers of 8 bytes. */
static void experts_one_by_one_cost_the_host_a_call_each(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .precision = PRECISION_FP8,
				     .expert_call_s = 1e-6,
				     .experts_wait = true};
	struct op_graph graph = graph_of_experts(8, &stack);
	double host_s = 0, waited_B = 0, waits = 0;

	for (size_t i = 0; i < graph.count; i++) {
		host_s += graph.ops[i].host_s;
		waited_B += graph.ops[i].result_B;
		waits += graph.ops[i].result_B > 0;
	}
	CHECK_NEAR(host_s, 48 * 2 * 5 * 15 * 1e-6, 1e-9);
	CHECK_NEAR(waits, 48, 0);
	CHECK_NEAR(waited_B, 48 * 128 * 8, 0);
}

/* A conversion of FP8 has three kernels for each of 16 experts in 48 layers. It reads 4096 x 8 rows
 * of 2048 elements of 2 bytes twice, and writes both orders. One kernel of all experts reads them
 * once. MXFP8 has one kernel for each expert. */
static void experts_one_by_one_are_converted_by_kernels_of_their_own(void)
{
	struct stack_params stack = {
		.l2_loss = L2_LOSS_NONE, .precision = PRECISION_FP8, .expert_call_s = 1e-6};
	struct op_graph graph = graph_of_experts(8, &stack);
	double elements = 4096 * 8 * 2048;

	CHECK_NEAR(tally_of(&graph, "/gate_up.convert").kernels, 48 * 16 * 3, 0);
	CHECK_NEAR(tally_of(&graph, "/down.grad_convert").kernels, 48 * 16 * 3, 0);
	CHECK_NEAR(tally_of(&graph, "/gate_up.convert").bytes_B, 48 * elements * (2 + 2 + 1 + 1),
		   1e-12);
	CHECK_NEAR(tally_of(&graph, "/qkv.convert").kernels, 48, 0);
	stack.expert_call_s = 0;
	graph = graph_of_experts(8, &stack);
	CHECK_NEAR(tally_of(&graph, "/gate_up.convert").kernels, 48, 0);
	CHECK_NEAR(tally_of(&graph, "/gate_up.convert").bytes_B, 48 * elements * (2 + 1 + 1),
		   1e-12);
	stack.expert_call_s = 1e-6;
	stack.precision = PRECISION_MXFP8;
	graph = graph_of_experts(8, &stack);
	CHECK_NEAR(tally_of(&graph, "/gate_up.convert").kernels, 48 * 16, 0);
}

/* Returns how many ops of that name a CUDA graph of a part of the block holds, or -1 if it holds
 * those of some blocks only. */
static int held(const struct op_graph *graph, const char *end)
{
	int count = 0, ops = 0;
	for (size_t i = 0; i < graph->count; i++) {
		bool same = ends_in(graph->ops[i].name, end) && graph->ops[i].pass != PASS_UPDATE;
		ops += same;
		count += same && graph->ops[i].captured;
	}
	return count == 0 || count == ops ? count : -1;
}

/* The scope `router` has the norm before the router, the router and the numbers of rows, in both
 * passes of 48 blocks. The scope `attention` also has all before them in the block. */
static void graphs_hold_the_parts_of_their_scope(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .precision = PRECISION_BF16,
				     .fusion = FUSION_LAYER,
				     .experts_wait = true,
				     .dispatch_s = 1e-6,
				     .graph_scope = GRAPH_ROUTER};
	struct op_graph graph = graph_of_experts(8, &stack);

	CHECK(held(&graph, "/norm2") == 48 && held(&graph, "/moe/router") == 48);
	CHECK(held(&graph, "/route.count") == 48 && held(&graph, "/router.grad_weight") == 48);
	CHECK(held(&graph, "/attn/qkv") == 0 && held(&graph, "/moe/gate_up") == 0);
	stack.graph_scope = GRAPH_ATTENTION;
	graph = graph_of_experts(8, &stack);
	CHECK(held(&graph, "/attn/qkv") == 48 && held(&graph, "/norm1") == 48);
	CHECK(held(&graph, "/norm2") == 48 && held(&graph, "/moe/gate_up") == 0);
	CHECK(held(&graph, "logits") == 0);
	stack.graph_scope = GRAPH_NONE;
	graph = graph_of_experts(8, &stack);
	CHECK(held(&graph, "/norm2") == 0);
}

/* Megatron-Core multiplies by the probabilities in the activation, so the rows that come back are
 * only added. Its kernels read a token once for all of its rows. The gradient of a probability
 * reads the gradient and both halves of the gate. */
static void megatron_weighs_rows_in_the_activation(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .precision = PRECISION_BF16,
				     .fusion = FUSION_LAYER,
				     .dispatch_s = 1e-6,
				     .autograd_ratio = 2};
	struct op_graph graph = graph_of_experts(8, &stack);
	double tokens = 4096, rows = tokens * 8, moved_B = 48.0 * 2 * (tokens + rows) * 2048;

	CHECK(tally_of(&graph, "/combine.weight").ops == 0);
	CHECK(tally_of(&graph, "/combine.grad_weight").ops == 0);
	CHECK_NEAR(tally_of(&graph, "/combine.grad_gather").bytes_B, moved_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/dispatch.grad").bytes_B, moved_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/gate.grad_weight").bytes_B, 48 * 2 * 3 * rows * 768, 1e-12);
	CHECK(tally_of(&graph, ".pad").ops == 0);
	CHECK(tally_of(&graph, "/dispatch.grad_fill").ops == 0);
	/* Other frameworks add the rows' gradients to tokens that are zero before. */
	stack.fusion = FUSION_NONE;
	graph = graph_of_experts(8, &stack);
	CHECK_NEAR(tally_of(&graph, "/dispatch.grad_fill").bytes_B, 48 * 2 * tokens * 2048, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/dispatch.grad").bytes_B, 48.0 * 2 * 2 * rows * 2048, 1e-12);
}

/* In MXFP8, rows are copied before and behind the products, and their gradients likewise. The copy
 * before the products has a second kernel for the probabilities, in both passes. Experts of a fixed
 * capacity need neither that nor the 12 operators that bring the numbers of rows to the host. */
static void quantised_rows_are_padded_unless_their_number_is_fixed(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .precision = PRECISION_MXFP8,
				     .fusion = FUSION_LAYER,
				     .experts_wait = true,
				     .dispatch_s = 1e-6,
				     .autograd_ratio = 2};
	struct op_graph graph = graph_of_experts(8, &stack);
	double copied_B = 48.0 * 2 * 2 * 4096 * 8 * 2048, count_s = 0, padding_s = 0;

	CHECK_NEAR(tally_of(&graph, "/dispatch.pad").bytes_B, copied_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/combine.unpad").bytes_B, copied_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/combine.grad_pad").bytes_B, copied_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/dispatch.grad_unpad").bytes_B, copied_B, 1e-12);
	for (size_t i = 0; i < graph.count; i++) {
		bool counts = strstr(graph.ops[i].name, "/route.count") != NULL;
		bool pads = strstr(graph.ops[i].name, "pad") != NULL;
		count_s += counts ? graph.ops[i].host_s : 0;
		padding_s += pads ? graph.ops[i].host_s : 0;
	}
	CHECK_NEAR(count_s, 48 * 11e-6, 1e-9);
	CHECK_NEAR(padding_s, 48 * (1e-6 + 2e-6), 1e-9);
	stack.experts_wait = false;
	graph = graph_of_experts(8, &stack);
	CHECK(tally_of(&graph, "pad").ops == 0);
	CHECK(tally_of(&graph, ".count").ops == 0);
}

/* GPT-OSS 20B has 24 layers of 32 experts, 4 for each token. Megatron-Core clamps both halves of
 * the gate, joins them and waits for a number from the host. Biases of the second product are added
 * for each expert by two operators, and joined by one. */
static void clamps_and_weighed_biases_are_kernels_of_their_own(void)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE,
				     .precision = PRECISION_BF16,
				     .fusion = FUSION_LAYER,
				     .dispatch_s = 1e-6,
				     .autograd_ratio = 2};
	const struct network *network = network_of("gpt-oss-20b");
	struct op_graph graph = op_graph_new(arena, network, 1, &stack, NULL);
	double half_B = 24 * 2 * (double)network->sequence * 4 * 2880, waits = 0;

	CHECK_NEAR(tally_of(&graph, "/gate.clamp").bytes_B, 8 * half_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/gate.grad_clamp").bytes_B, 10 * half_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/down.bias").bytes_B, 6 * half_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "/down.grad_bias").bytes_B, 8 * half_B, 1e-12);
	for (size_t i = 0; i < graph.count; i++) {
		waits += graph.ops[i].result_B > 0;
		if (strstr(graph.ops[i].name, "/down.bias"))
			CHECK_NEAR(graph.ops[i].host_s, 64e-6, 1e-9);
	}
	CHECK_NEAR(waits, 24, 0);
	stack.fusion = FUSION_NONE;
	graph = op_graph_new(arena, network, 1, &stack, NULL);
	CHECK(tally_of(&graph, "clamp").ops == 0);
}

static const struct test tests[] = {
	TEST(rows_of_other_gpus_are_ordered_by_expert),
	TEST(engines_gather_and_weigh_rows_in_the_products),
	TEST(experts_one_by_one_cost_the_host_a_call_each),
	TEST(experts_one_by_one_are_converted_by_kernels_of_their_own),
	TEST(graphs_hold_the_parts_of_their_scope),
	TEST(megatron_weighs_rows_in_the_activation),
	TEST(quantised_rows_are_padded_unless_their_number_is_fixed),
	TEST(clamps_and_weighed_biases_are_kernels_of_their_own),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
