/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of PyTorch's programs: libraries, inference, cold starts, generated tokens. The numbers
 * are counted by hand from the layers. The test must run from the root folder. */
#include "tests/shipped_network.h"

static const struct gpu_params gpu = {.fp32_flops = 1e13,
				      .fp16_flops = 1e13,
				      .memory_bandwidth_Bps = 1e12,
				      .memory_B = 16e9,
				      .memory_efficiency_ratio = 1};
static const struct efficiency_params efficiency = {.peak_ratio = 1};

static struct stack_params pytorch(void)
{
	return (struct stack_params){.framework = framework_of("pytorch"),
				     .l2_loss = L2_LOSS_NONE,
				     .calls_per_launch_count = 1,
				     .fused_attention = true,
				     .fused_averages = true,
				     .update_tensors_count = 1,
				     .modules_count = 1};
}

static struct call_thread thread_of(const struct stack_params *stack, const struct network *network,
				    size_t batch)
{
	const struct step_spec spec = {network, batch, stack, &gpu, &efficiency, NULL, NULL};
	const struct program *program =
		framework_at((size_t)stack->framework)->program(arena, &spec);
	CHECK(program->thread_count == 1);
	return program->threads[0];
}

/* Returns the calls of a kind, with the times that they are repeated. *size_B is their payload. */
static size_t calls_of(const struct call_thread *thread, enum call_kind kind, double *size_B)
{
	size_t count = 0;
	double sum_B = 0;
	for (size_t i = 0; i < thread->count; i++) {
		const struct cuda_call *call = &thread->items[i].call;
		if (thread->items[i].kind != ITEM_CALL || call->kind != kind)
			continue;
		count += 1 + call->repeats;
		sum_B += call->payload_B;
	}
	if (size_B)
		*size_B = sum_B;
	return count;
}

static size_t library_launches(const struct call_thread *thread)
{
	size_t count = 0;
	for (size_t i = 0; i < thread->count; i++)
		count += thread->items[i].kind == ITEM_CALL && thread->items[i].call.by_library;
	return count;
}

/* Each of GPT-2's 12 blocks has 4 linear layers with a bias, each a product forward and two
 * backward. The logits have no bias, and so all three products are cuBLAS's: 12 x 4 = 48 products
 * of cuBLASLt and 12 x 8 + 3 = 99 of cuBLAS. The handle takes 3 calls, and 2 more in 16 bits. */
static void products_make_the_counted_library_calls(void)
{
	struct stack_params stack = pytorch();
	stack.handle_calls_count = 3;
	stack.epilogue_calls_count = 13;
	const struct network *gpt2 = network_of_length("gpt2", 0);
	struct call_thread thread = thread_of(&stack, gpt2, 1);
	CHECK_NEAR((double)calls_of(&thread, CALL_LIBRARY, NULL), 48 * (13 + 2 * 3) + 99 * 3, 0);
	CHECK_NEAR((double)library_launches(&thread), 48 + 99, 0);
	/* dropout of the embedding, and three in a block: of attention, behind it, behind the MLP
	 */
	CHECK_NEAR((double)calls_of(&thread, CALL_IS_CAPTURING, NULL), 1 + 3 * 12, 0);
	/* FlashAttention sets an attribute forward and backward */
	CHECK_NEAR((double)calls_of(&thread, CALL_GET_ATTRIBUTE, NULL), 2 * 12, 0);

	stack.precision = PRECISION_FP16;
	thread = thread_of(&stack, gpt2, 1);
	CHECK_NEAR((double)calls_of(&thread, CALL_LIBRARY, NULL), 48 * 19 + 99 * 5, 0);
	/* calls with a time of their own are a part of the same number */
	stack.calls_per_library_op_count = 3;
	thread = thread_of(&stack, gpt2, 1);
	CHECK_NEAR((double)calls_of(&thread, CALL_LIBRARY, NULL), 48 * 19 + 99 * 5, 0);
}

/* ResNet-50 has 53 convolutions, 53 norms and a max pool of cuDNN and one product of cuBLAS.
 * Nothing asks for the errors of their launches. The other 67 of its 175 forward kernels are 49
 * ReLUs, 16 sums, a mean pool and a bias. */
static void only_own_launches_ask_for_errors(void)
{
	struct stack_params stack = pytorch();
	stack.forward_only = true;
	stack.result = RESULT_OUTPUTS;
	stack.handle_calls_count = 3;
	stack.cudnn_calls_count = 7;
	stack.get_last_error_per_launch_count = 2;
	struct call_thread thread = thread_of(&stack, network_of_length("resnet50_v15", 0), 1);
	CHECK_NEAR((double)library_launches(&thread), 108, 0);
	CHECK_NEAR((double)calls_of(&thread, CALL_LAUNCH, NULL), 175, 0);
	CHECK_NEAR((double)calls_of(&thread, CALL_GET_LAST_ERROR, NULL), 2 * 67, 0);
	CHECK_NEAR((double)calls_of(&thread, CALL_LIBRARY, NULL), 107 * 7 + 3, 0);
}

static const struct cuda_call *call_at(const struct call_thread *thread, size_t item)
{
	CHECK(thread->items[item].kind == ITEM_CALL);
	return &thread->items[item].call;
}

/* 8 images have 8 x 3 x 224 x 224 numbers of 4 B, and 8 x 1000 outputs. */
static void an_inference_waits_for_its_input_and_its_result(void)
{
	struct stack_params stack = pytorch();
	stack.forward_only = stack.real_input = true;
	stack.result = RESULT_OUTPUTS;
	const struct network *resnet = network_of_length("resnet50_v15", 0);
	struct call_thread thread = thread_of(&stack, resnet, 8);
	size_t last = thread.count - 1, launches = calls_of(&thread, CALL_LAUNCH, NULL);
	double size_B;
	CHECK(calls_of(&thread, CALL_MEMCPY_H2D_ASYNC, &size_B) == 1);
	CHECK_NEAR(size_B, 8 * 3 * 224 * 224 * 4, 0);
	CHECK(thread.items[0].kind == ITEM_THINK);
	CHECK(call_at(&thread, 1)->kind == CALL_MEMCPY_H2D_ASYNC && call_at(&thread, 1)->pageable);
	CHECK(call_at(&thread, 2)->kind == CALL_STREAM_SYNCHRONIZE);
	CHECK(call_at(&thread, last)->kind == CALL_STREAM_SYNCHRONIZE);
	CHECK(call_at(&thread, last - 1)->kind == CALL_MEMCPY_D2H_ASYNC);
	CHECK_NEAR(call_at(&thread, last - 1)->payload_B, 8 * 1000 * 4, 0);

	stack.pinned_input = true; /* does not wait */
	stack.result = RESULT_CLASS;
	thread = thread_of(&stack, resnet, 8);
	CHECK(calls_of(&thread, CALL_STREAM_SYNCHRONIZE, NULL) == 1);
	CHECK(calls_of(&thread, CALL_LAUNCH, NULL) == launches + 1);
	CHECK_NEAR(call_at(&thread, thread.count - 2)->payload_B, 8 * 8, 0);
}

/* AlexNet has 8 layers with weights and biases and, with 1001 classes, 61,104,937 parameters.
 * conv1's weights and all biases share a block of 2 MiB. The weights of conv2 to conv5 (1.2, 2.7,
 * 3.5 and 2.4 MB) share one of 20 MiB. Each of the three other layers has its own block. */
static void a_cold_start_copies_the_weights_tensor_by_tensor(void)
{
	struct stack_params stack = pytorch();
	stack.forward_only = stack.cold = true;
	stack.modules_count = 10;
	stack.code_B = 50e6;
	struct call_thread thread = thread_of(&stack, network_of_length("alexnet", 0), 1);
	double size_B;
	CHECK(call_at(&thread, 0)->kind == CALL_CREATE_CONTEXT);
	CHECK(calls_of(&thread, CALL_CREATE_CONTEXT, NULL) == 1);
	CHECK(calls_of(&thread, CALL_MEMCPY_H2D, &size_B) == 10);
	CHECK_NEAR(size_B, 50e6, 1e-12);
	CHECK(calls_of(&thread, CALL_MEMCPY_H2D_ASYNC, &size_B) == 16);
	CHECK_NEAR(size_B, 4 * 61104937.0, 0);
	CHECK(calls_of(&thread, CALL_STREAM_SYNCHRONIZE, NULL) == 16);
	CHECK(calls_of(&thread, CALL_MALLOC, NULL) == 5);
	CHECK(calls_of(&thread, CALL_GET_VALUE, NULL) == 2 * 5); /* of 5 convolutions */
}

/* ResNet-50's 53 batch norms have two averages and an int64 counter each, besides 161 tensors. */
static void a_cold_start_copies_averages_and_counters(void)
{
	struct stack_params stack = pytorch();
	stack.forward_only = stack.cold = true;
	struct call_thread thread = thread_of(&stack, network_of_length("resnet50_v15", 0), 1);
	double size_B;
	CHECK(calls_of(&thread, CALL_MEMCPY_H2D_ASYNC, &size_B) == 161 + 3 * 53);
	CHECK_NEAR(size_B, 4 * (25557032.0 + 2 * 26560) + 8 * 53, 0);
}

static struct kernel_work attention_work(const struct stack_params *stack)
{
	const struct network *gpt2 = network_of_length("gpt2", 1);
	struct op_graph graph = op_graph_new(arena, gpt2, 4, stack, NULL);
	for (size_t i = 0; i < graph.count; i++)
		if (graph.ops[i].work.form == KERNEL_ATTENTION)
			return graph.ops[i].work;
	CHECK(false);
	return (struct kernel_work){0};
}

/* Keys and values of 512 tokens have 2 x 512 x 768 numbers of 4 B in each of 4 sequences. */
static void a_generated_token_reads_the_cache(void)
{
	struct stack_params stack = pytorch();
	stack.forward_only = true;
	struct kernel_work none = attention_work(&stack);
	double empty_B = stack_memory_B(network_of_length("gpt2", 1), 4, &stack);
	stack.context_count = 512;
	struct kernel_work cached = attention_work(&stack);
	CHECK_NEAR(cached.bytes_B - none.bytes_B, 4 * 2 * 512 * 768 * 4, 1e-12);
	CHECK_NEAR(cached.flop - none.flop, 4 * 2 * 2 * 512 * 768, 1e-12);
	CHECK_NEAR(cached.attention.keys, 513, 0);
	CHECK_NEAR(stack_memory_B(network_of_length("gpt2", 1), 4, &stack) - empty_B,
		   12.0 * 4 * 2 * 512 * 768 * 4, 1e-9);
}

/* A token of GPT-2 as a graph is one launch with the kernels that are launches without it. */
static void a_graph_is_launched_with_all_its_kernels(void)
{
	static const struct driver_params driver = {
		.launch_s = 4e-6, .graph_s = 15e-6, .graph_node_s = 0.58e-6};
	const struct cuda_call graph = {.kind = CALL_LAUNCH, .nodes = 100};
	struct stack_params stack = pytorch();
	const struct network *gpt2 = network_of_length("gpt2", 1);
	stack.forward_only = true;
	stack.result = RESULT_CLASS;
	struct call_thread eager = thread_of(&stack, gpt2, 1);
	stack.cuda_graph = true;
	struct call_thread one = thread_of(&stack, gpt2, 1);
	CHECK(calls_of(&one, CALL_LAUNCH, NULL) == 1);
	for (size_t i = 0; i < one.count; i++)
		if (one.items[i].kind == ITEM_CALL && one.items[i].call.kind == CALL_LAUNCH)
			CHECK(one.items[i].call.nodes == calls_of(&eager, CALL_LAUNCH, NULL));
	CHECK_NEAR(driver_call_work_s(&driver, &graph), 15e-6 + 100 * 0.58e-6, 1e-12);
}

static const struct test tests[] = {
	TEST(products_make_the_counted_library_calls),
	TEST(only_own_launches_ask_for_errors),
	TEST(an_inference_waits_for_its_input_and_its_result),
	TEST(a_cold_start_copies_the_weights_tensor_by_tensor),
	TEST(a_cold_start_copies_averages_and_counters),
	TEST(a_generated_token_reads_the_cache),
	TEST(a_graph_is_launched_with_all_its_kernels),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
