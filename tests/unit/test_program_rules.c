/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs of frameworks and their exchange of gradients: number types, bundles, calls around
 * launches, threads. The test must run from the root folder. */
#include "sim/engine/engine.h"
#include "sim/training/exchange_parts.h"
#include "sim/training/issue.h"
#include "sim/training/gradients.h"
#include "sim/training/gradients.h"
#include "tests/shipped_network.h"

static const struct gpu_params gpu = {.fp32_flops = 1e13,
				      .tf32_flops = 1e14,
				      .memory_bandwidth_Bps = 1e12,
				      .memory_B = 16e9,
				      .memory_efficiency_ratio = 1};
static const struct efficiency_params efficiency = {.peak_ratio = 1};

static struct stack_params stack_of(const char *framework)
{
	return (struct stack_params){.framework = framework_of(framework),
				     .l2_loss = L2_LOSS_NONE,
				     .dispatch_s = 5e-6,
				     .autograd_ratio = 1,
				     .update_ratio = 1,
				     .session_s = 300e-6,
				     .calls_per_launch_count = 1,
				     .poller = true,
				     .poll_sleep_s = 10e-6};
}

static const struct program *program_of(const struct stack_params *stack,
					const struct spread_params *spread)
{
	const struct step_spec spec = {
		network_of("resnet50"), 8, stack, &gpu, &efficiency, spread, NULL};
	return framework_at((size_t)stack->framework)->program(arena, &spec);
}

/* ---- number types and memory ---- */

static void precision_sets_the_number_type_of_products(void)
{
	static const struct {
		int precision, tf32;
		enum number_type convolution, other;
		double element_B, factor_B;
	} rows[] = {
		{PRECISION_FP32, TF32_NONE, NUMBER_FP32, NUMBER_FP32, 4, 4},
		{PRECISION_FP32, TF32_CONVOLUTIONS, NUMBER_TF32, NUMBER_FP32, 4, 4},
		{PRECISION_FP32, TF32_ALL, NUMBER_TF32, NUMBER_TF32, 4, 4},
		{PRECISION_FP16, TF32_ALL, NUMBER_FP16, NUMBER_FP16, 2, 2},
		{PRECISION_BF16, TF32_NONE, NUMBER_BF16, NUMBER_BF16, 2, 2},
		{PRECISION_FP8, TF32_NONE, NUMBER_BF16, NUMBER_FP8, 2, 1},
		{PRECISION_MXFP8, TF32_NONE, NUMBER_BF16, NUMBER_FP8, 2, 33 / 32.0},
		{PRECISION_NVFP4, TF32_NONE, NUMBER_BF16, NUMBER_FP4, 2, 9 / 16.0},
	};
	static const struct gpu_params older = {.fp32_flops = 1e13};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct stack_params stack = {.precision = rows[i].precision,
						   .tf32 = rows[i].tf32};
		CHECK(stack_product_type(&stack, &gpu, true) == rows[i].convolution);
		CHECK(stack_product_type(&stack, &gpu, false) == rows[i].other);
		CHECK(stack_element_B(&stack) == rows[i].element_B);
		CHECK(stack_factor_B(&stack) == rows[i].factor_B);
		if (rows[i].precision == PRECISION_FP32)
			CHECK(stack_product_type(&stack, &older, true) == NUMBER_FP32);
	}
}

/* Autocast also has gradients of 2 B more, and master weights fp32 gradients of 4 B more. */
static void wider_gradients_take_memory(void)
{
	const struct network *network = network_of("resnet50");
	const struct stack_params plain = {.precision = PRECISION_FP16},
				  cast = {.precision = PRECISION_FP16, .autocast = true},
				  master = {.precision = PRECISION_FP16, .master_weights = true},
				  fp32 = {.precision = PRECISION_FP32},
				  fp32_cast = {.precision = PRECISION_FP32, .autocast = true};
	double B = stack_memory_B(network, 8, &plain), count = network->parameters_count;
	CHECK_NEAR(stack_memory_B(network, 8, &cast) - B, 2 * count, 1e-12);
	CHECK_NEAR(stack_memory_B(network, 8, &master) - B, 4 * count, 1e-12);
	CHECK_NEAR(stack_memory_B(network, 8, &fp32), stack_memory_B(network, 8, &fp32_cast), 0);
}

/* ---- threads and calls ---- */

static size_t count_of(const struct call_thread *thread, enum item_kind kind, uint32_t signal)
{
	size_t count = 0;
	for (size_t i = 0; i < thread->count; i++)
		count += thread->items[i].kind == kind && thread->items[i].signal == signal;
	return count;
}

/* The thread that copies input first does the work of a session and of one op. A step of PyTorch
 * waits for its input. */
static void input_threads_work_and_are_waited_for(void)
{
	struct stack_params tf1 = stack_of("tensorflow-1"), pytorch = stack_of("pytorch");
	tf1.real_input = pytorch.real_input = true;
	const struct program *a = program_of(&tf1, NULL), *b = program_of(&pytorch, NULL);
	CHECK(a->threads[1].items[0].kind == ITEM_THINK);
	CHECK_NEAR(a->threads[1].items[0].work_s, 305e-6, 1e-12);
	const struct call_thread *copies = &b->threads[1];
	uint32_t signal = copies->items[copies->count - 1].signal;
	CHECK(copies->items[copies->count - 1].kind == ITEM_WATCH);
	CHECK(count_of(&b->threads[0], ITEM_AWAIT, signal) == 1);
	pytorch.real_input = false;
	CHECK(count_of(&program_of(&pytorch, NULL)->threads[0], ITEM_AWAIT, signal) == 0);
}

/* TensorFlow stages only the input of training. The executor of an evaluation copies it first. */
static void an_evaluation_of_tensorflow_waits_for_its_input(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	stack.real_input = stack.forward_only = true;
	const struct program *program = program_of(&stack, NULL);
	const struct call_thread *thread = &program->threads[0];
	size_t i = 0, copies = 0;

	CHECK(program->thread_count == 1);
	while (i < thread->count && thread->items[i].kind != ITEM_AWAIT) {
		const struct item *item = &thread->items[i++];
		CHECK(item->kind != ITEM_CALL || item->call.kind != CALL_LAUNCH);
		copies += item->kind == ITEM_CALL && item->call.kind == CALL_MEMCPY_H2D_ASYNC;
	}
	CHECK(i < thread->count && copies == 1);
}

/* The stream that copies the loss waits for the GPU's last kernels, too, which ends the step. */
static void the_end_of_a_step_is_awaited_behind_the_loss(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	const struct call_thread *thread = &program_of(&stack, NULL)->threads[0];
	uint16_t streams[2], copies = UINT16_MAX;
	size_t count = 0;
	for (size_t i = 0; i < thread->count; i++) {
		const struct cuda_call *call = &thread->items[i].call;
		if (thread->items[i].kind != ITEM_CALL)
			continue;
		if (call->kind == CALL_MEMCPY_D2H_ASYNC)
			copies = call->stream;
		if (call->kind == CALL_STREAM_WAIT_EVENT && CHECK(count < 2))
			streams[count++] = call->stream;
	}
	if (CHECK(count == 2))
		CHECK(streams[0] == copies && streams[1] == copies);
}

/* 2.5 calls around a launch are 2 and 3 in turn; 100 are more than one item can hold. */
static void calls_around_launches_keep_their_rate(void)
{
	static const double rates[] = {0.25, 1, 2.5, 50};
	for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
		struct stack_params stack = stack_of("pytorch");
		stack.set_device_per_launch_count = rates[r];
		const struct call_thread *thread = &program_of(&stack, NULL)->threads[0];
		double launches = 0, calls = 0;
		for (size_t i = 0; i < thread->count; i++) {
			const struct cuda_call *call = &thread->items[i].call;
			if (thread->items[i].kind != ITEM_CALL)
				continue;
			launches += call->kind == CALL_LAUNCH;
			if (call->kind == CALL_SET_DEVICE)
				calls += 1 + call->repeats;
		}
		CHECK(launches > 100);
		CHECK(calls == floor(rates[r] * launches));
	}
}

/* A query takes 4 us, and the poller sleeps 10 us. */
static void poller_uses_its_part_of_a_core(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	CHECK_NEAR(stack_poller_ratio(&stack, 4e-6), 4.0 / 14, 1e-12);
	stack.poller = false;
	CHECK_NEAR(stack_poller_ratio(&stack, 4e-6), 0, 0);
}

/* ---- exchange of gradients ---- */

static struct exchange_params policy_of(const char *name)
{
	struct exchange_params params = {.fusion_B = 4e6, .bucket_B = 2e6, .first_bucket_B = 1e6};
	while (strcmp(exchange_policy_at((size_t)params.policy)->name, name) != 0)
		params.policy++;
	return params;
}

/* Seven gradients of 1 MB. A bucket of DDP ends when it has its limit, and a buffer of Horovod
 * before it exceeds its limit. */
static void policies_bundle_up_to_their_own_size(void)
{
	static const struct {
		const char *name;
		size_t count, ends[7];
	} rows[] = {{"horovod", 2, {4, 7}},
		    {"ddp", 4, {1, 3, 5, 7}},
		    {"per_tensor", 7, {1, 2, 3, 4, 5, 6, 7}},
		    {"after_backward", 1, {7}}};
	const double sizes_B[] = {1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct exchange_params params = policy_of(rows[i].name);
		size_t count = 0, first = 0;
		const struct exchange_bundle *bundles =
			exchange_divide(arena, &params, sizes_B, 7, &count);
		CHECK(count == rows[i].count);
		for (size_t k = 0; k < count; first = bundles[k++].end) {
			CHECK(bundles[k].first == first && bundles[k].end == rows[i].ends[k]);
			CHECK_NEAR(bundles[k].size_B, 1e6 * (double)(bundles[k].end - first),
				   1e-12);
		}
	}
}

/* A launch takes 10 us, and a copy of a gradient 6 us: three gradients are copied into a buffer
 * before the launch and out of it behind. One gradient needs no buffer. */
static void a_launching_thread_is_free_after_the_copies(void)
{
	const struct engine_limits limits = {.events_max = 0};
	int64_t free_ps = 0;
	struct exchange exchange = {.host.engine = engine_new(arena, &limits),
				    .launch_ps = 10,
				    .copy_launch_ps = 6,
				    .launcher_free_ps = &free_ps};
	struct launch three = exchange_launch(&exchange, 0, 3);
	CHECK(three.launched_ps == 3 * 6 + 10 && three.free_ps == 2 * 3 * 6 + 10);
	struct launch one = exchange_launch(&exchange, 0, 1);
	CHECK(one.launched_ps == three.free_ps + 10 && one.free_ps == one.launched_ps);
}

/* The first gradients are those of the last layer: a bias of 1,001 elements and 2,048 x 1,001
 * weights, in two ops. */
static void a_bundle_with_its_size_is_exchanged(void)
{
	const struct stack_params stack = stack_of("pytorch");
	struct exchange_params exchange = policy_of("ddp");
	const struct spread_params spread = {
		.device_count = 2, .exchange = &exchange, .element_B = 4};
	const double first_B = 4 * 1001, both_B = 4 * 1001 * 2049;
	for (int both = 0; both < 2; both++) {
		double found_B = 0;
		exchange.first_bucket_B = both ? both_B : 1;
		const struct call_thread *thread = &program_of(&stack, &spread)->threads[0];
		for (size_t i = 0; i < thread->count && found_B <= 0; i++)
			if (thread->items[i].kind == ITEM_CALL &&
			    thread->items[i].call.kind == CALL_ALL_REDUCE)
				found_B = thread->items[i].call.payload_B;
		CHECK(both ? found_B == both_B : found_B == first_B || found_B == both_B - first_B);
	}
}

/* Horovod fuses all gradients, so a kernel copies them into the buffer and another one out of it:
 * each moves two bytes a byte, at 1e12 B/s. */
static void a_buffer_is_filled_before_the_exchange_and_emptied_behind_it(void)
{
	const struct stack_params stack = stack_of("pytorch");
	struct exchange_params exchange = policy_of("horovod");
	const struct spread_params spread = {
		.device_count = 2, .exchange = &exchange, .element_B = 4};
	exchange.fusion_B = 1e9;
	exchange.fusion_copy_ratio = 2;
	const struct call_thread *thread = &program_of(&stack, &spread)->threads[0];
	size_t copies = 0, exchanges = 0;
	for (size_t i = 0; i < thread->count; i++) {
		const struct cuda_call *call = &thread->items[i].call;
		if (thread->items[i].kind != ITEM_CALL)
			continue;
		exchanges += call->kind == CALL_ALL_REDUCE;
		if (call->kind != CALL_LAUNCH || !call->label ||
		    strcmp(call->label, "fusion buffer") != 0)
			continue;
		CHECK(exchanges == copies++);
		CHECK_NEAR(call->duration_s,
			   2 * 4 * network_of("resnet50")->parameters_count / 1e12, 1e-9);
	}
	CHECK(copies == 2 && exchanges == 1);
}

/* The host adds the gradients of both GPUs, 2 x 25,583,592 x 4 B, at 1 GB/s. */
static void a_host_adds_the_gradients_of_all_gpus(void)
{
	const struct stack_params stack = stack_of("pytorch");
	const struct exchange_params exchange = policy_of("ddp");
	const struct spread_params spread = {.device_count = 2,
					     .exchange = &exchange,
					     .element_B = 4,
					     .on_cpu = true,
					     .cpu_Bps = 1e9};
	const struct program *program = program_of(&stack, &spread);
	const struct call_thread *thread = &program->threads[program->thread_count - 1];
	double sum_s = 0;
	CHECK_TEXT(thread->name, "variables");
	for (size_t i = 0; i < thread->count; i++)
		if (thread->items[i].kind == ITEM_THINK)
			sum_s += thread->items[i].work_s;
	CHECK_NEAR(sum_s, 2 * 4 * network_of("resnet50")->parameters_count / 1e9, 1e-9);
}

/* ---- fusion ---- */

/* Two elementwise ops join, so the second one does not read what the first one writes. If a product
 * also reads it, it must be written. */
static void fused_ops_write_what_others_read(void)
{
	static const uint32_t first[] = {0}, second[] = {1};
	for (int read = 0; read < 2; read++) {
		struct op ops[] = {
			{.name = "a",
			 .kernels = 1,
			 .work.bytes_B = 10,
			 .output_B = 4,
			 .elementwise = true,
			 .update_of = NO_TENSOR},
			{.name = "b",
			 .kernels = 1,
			 .work.bytes_B = 8,
			 .output_B = 4,
			 .elementwise = true,
			 .inputs = first,
			 .input_count = 1,
			 .update_of = NO_TENSOR},
			{.name = "c",
			 .kernels = 1,
			 .work = {.bytes_B = 7, .form = KERNEL_PRODUCT},
			 .inputs = read ? first : second,
			 .input_count = 1,
			 .update_of = NO_TENSOR},
		};
		const struct op_graph graph = {.ops = ops, .count = 3, .output = 2, .loss = 2};
		struct op_graph fused = op_graph_fuse(arena, &graph, FUSION_ALL);
		if (!CHECK(fused.count == 2))
			continue;
		CHECK_NEAR(fused.ops[0].work.bytes_B, 10 + 8 - 4 - (read ? 0 : 4), 0);
		CHECK_NEAR(fused.ops[1].work.bytes_B, 7, 0);
	}
}

/* Two GPUs exchange all gradients at once. The exchange waits for the computation, and the updates
 * wait for the exchange once, besides the two waits of the loss and the end of the step. */
static void updates_of_a_bundle_wait_for_it_once(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	const struct exchange_params exchange = policy_of("after_backward");
	const struct spread_params spread = {
		.device_count = 2, .exchange = &exchange, .element_B = 4};
	const struct program *program = program_of(&stack, &spread);
	CHECK(program->thread_count == 2);
	for (size_t i = 0; i < program->thread_count; i++) {
		const struct call_thread *thread = &program->threads[i];
		size_t reduces = 0, waits = 0;
		for (size_t k = 0; k < thread->count; k++) {
			bool call = thread->items[k].kind == ITEM_CALL;
			reduces += call && thread->items[k].call.kind == CALL_ALL_REDUCE;
			waits += call && thread->items[k].call.kind == CALL_STREAM_WAIT_EVENT;
		}
		CHECK(reduces == 1 && waits == 2 + 2);
	}
}

/* Batch norm with fixed statistics reads its input once, where training reads it twice. The largest
 * pair of input and output are the 64 x 112 x 112 elements of the first batch norm. */
static void a_forward_pass_has_no_gradients_and_less_memory(void)
{
	struct stack_params stack = stack_of("pytorch");
	const struct network *network = network_of("resnet50");
	stack.fused_averages = true;
	struct op_graph training = op_graph_new(arena, network, 8, &stack, NULL);
	stack.forward_only = true;
	struct op_graph forward = op_graph_new(arena, network, 8, &stack, NULL);
	CHECK(forward.tensor_count == 0 && forward.loss == forward.output);
	for (size_t i = 0; i < forward.count; i++) {
		const struct op *own = &forward.ops[i], *other = &training.ops[i];
		bool norm = network->layers[own->layer].op == LAYER_BATCH_NORM;
		CHECK(own->pass == PASS_FORWARD && strcmp(own->name, other->name) == 0);
		CHECK_NEAR(own->work.bytes_B, other->work.bytes_B * (norm ? 2.0 / 3 : 1), 1e-12);
		CHECK(!norm || (other->work.reduces && !own->work.reduces));
	}
	CHECK_NEAR(stack_memory_B(network, 1, &stack),
		   4 * network->parameters_count + 4 * 2 * 64 * 112 * 112.0, 1e-9);
	CHECK_NEAR(stack_memory_B(network, 2, &stack) - stack_memory_B(network, 1, &stack),
		   4 * 2 * 64 * 112 * 112.0, 1e-9);
}

/* The wait is a copy to the host and a call that waits for it. A CUDA graph cannot wait. */
static void host_waits_for_the_rows_of_experts_outside_of_graphs(void)
{
	struct stack_params stack = {.experts_wait = true};
	struct op op = {.name = "route",
			.pass = PASS_FORWARD,
			.kernels = 1,
			.host_s = 5e-6,
			.result_B = 1024,
			.update_of = NO_TENSOR};
	struct issuer issuer = {
		.arena = arena, .stack = &stack, .gpu = &gpu, .efficiency = &efficiency};

	issue_op(&issuer, &op, 0);
	CHECK(issuer.items.count == 4);
	CHECK(issuer.items.items[0].kind == ITEM_THINK);
	CHECK_NEAR(issuer.items.items[0].work_s, 5e-6, 1e-12);
	CHECK(issuer.items.items[1].call.kind == CALL_LAUNCH);
	CHECK(issuer.items.items[2].call.kind == CALL_MEMCPY_D2H_ASYNC);
	CHECK_NEAR(issuer.items.items[2].call.payload_B, 1024, 0);
	CHECK(issuer.items.items[3].call.kind == CALL_STREAM_SYNCHRONIZE);
	stack.cuda_graph = true;
	issuer.items.count = 0;
	issue_op(&issuer, &op, 0);
	CHECK(issuer.items.count == 2);
}

/* Ops that a graph of a part of the block holds cost the host one launch. The graph ends where the
 * host waits, or at an op that it does not hold. */
static void a_graph_of_a_part_is_launched_once(void)
{
	struct stack_params stack = {.graph_scope = GRAPH_ROUTER};
	struct op ops[] = {{.name = "norm", .kernels = 1, .captured = true, .host_s = 9e-6},
			   {.name = "route", .kernels = 6, .captured = true, .host_s = 9e-6},
			   {.name = "product", .kernels = 1, .host_s = 9e-6},
			   {.name = "norm", .kernels = 1, .captured = true}};
	struct issuer issuer = {
		.arena = arena, .stack = &stack, .gpu = &gpu, .efficiency = &efficiency};

	for (size_t i = 0; i < 4; i++) {
		ops[i].pass = PASS_FORWARD;
		ops[i].update_of = NO_TENSOR;
		issue_op(&issuer, &ops[i], 0);
	}
	/* a graph of 7 kernels, the work and the launch of the product, and another graph */
	CHECK(issuer.items.count == 4);
	CHECK(issuer.items.items[0].call.nodes == 7);
	CHECK(issuer.items.items[1].kind == ITEM_THINK);
	CHECK(issuer.items.items[2].call.nodes == 0 && issuer.items.items[3].call.nodes == 1);
	ops[0].result_B = 8;
	issuer.items.count = 0;
	issuer.graph_begun = false;
	issue_op(&issuer, &ops[0], 0);
	issue_op(&issuer, &ops[1], 0);
	CHECK(issuer.items.count == 4);
	CHECK(issuer.items.items[2].call.kind == CALL_STREAM_SYNCHRONIZE);
	CHECK(issuer.items.items[3].call.kind == CALL_LAUNCH);
}

static const struct test tests[] = {
	TEST(a_graph_of_a_part_is_launched_once),
	TEST(host_waits_for_the_rows_of_experts_outside_of_graphs),
	TEST(a_forward_pass_has_no_gradients_and_less_memory),
	TEST(updates_of_a_bundle_wait_for_it_once),
	TEST(precision_sets_the_number_type_of_products),
	TEST(wider_gradients_take_memory),
	TEST(input_threads_work_and_are_waited_for),
	TEST(an_evaluation_of_tensorflow_waits_for_its_input),
	TEST(the_end_of_a_step_is_awaited_behind_the_loss),
	TEST(calls_around_launches_keep_their_rate),
	TEST(poller_uses_its_part_of_a_core),
	TEST(policies_bundle_up_to_their_own_size),
	TEST(a_launching_thread_is_free_after_the_copies),
	TEST(a_bundle_with_its_size_is_exchanged),
	TEST(a_buffer_is_filled_before_the_exchange_and_emptied_behind_it),
	TEST(a_host_adds_the_gradients_of_all_gpus),
	TEST(fused_ops_write_what_others_read),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
