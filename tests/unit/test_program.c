/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a network to a program: the test counts the operations and kernels of ResNet-50 by hand, and
 * then the calls of each framework. It must run from the root folder.
 *
 * ResNet-50 has 53 convolutions with a batch norm each, and 49 ReLUs (one for the first
 * convolution, three in each of 16 blocks). It also has a max pool, 16 sums, a mean over the last 7
 * x 7, a fully connected layer with a bias, and a softmax. Trainable tensors: 53 + 2 x 53 + 2 =
 * 161. 53 of them have more than 4096 elements: 52 convolutions (the 1 x 1 of 64 x 64 has exactly
 * 4096) and the weights of the last layer. */
#include "sim/training/issue.h"
#include "sim/base/table.h"
#include "tests/shipped_network.h"

enum {
	CONVOLUTIONS = 53,
	NORMS = 53,
	RELUS = 49,
	SUMS = 16,
	TENSORS = 161,
	LARGE = 53,
	/* plus max pool, mean, fully connected, its bias, softmax */
	FORWARD_OPS = CONVOLUTIONS + NORMS + RELUS + SUMS + 5,
	FORWARD_KERNELS = FORWARD_OPS - 1 + 6, /* the softmax has six kernels */
	MOVING_OPS = 2 * NORMS,
	MOVING_KERNELS = 3 * MOVING_OPS,
	/* Filter and data gradients for each convolution except the first (the image needs no
	 * gradient) and for the last layer. One sum per block where an output is used twice; the
	 * gradient of a sum is its input. */
	BACKWARD_OPS = 2 * CONVOLUTIONS - 1 + 2 + NORMS + RELUS + SUMS + 4,
	BACKWARD_KERNELS = BACKWARD_OPS - 1 + 2,
	/* cuDNN and cuBLAS: convolutions, the product, batch norm, max pool */
	LIBRARY_OPS = CONVOLUTIONS + 1 + NORMS + 1 + 2 * CONVOLUTIONS - 1 + 2 + NORMS + 1,
};

static const struct gpu_params gpu = {.fp32_flops = 1e13,
				      .memory_bandwidth_Bps = 1e12,
				      .memory_B = 16e9,
				      .memory_efficiency_ratio = 1,
				      .kernel_floor_s = 2e-6};
static const struct efficiency_params efficiency = {.peak_ratio = 1};

static struct stack_params stack_of(const char *framework)
{
	return (struct stack_params){.framework = framework_of(framework),
				     .dispatch_s = 5e-6,
				     .autograd_ratio = 1,
				     .update_ratio = 1,
				     .calls_per_library_op_count = 3,
				     .calls_per_launch_count = 1,
				     .l2_loss = L2_LOSS_ALL,
				     .poller = true,
				     .poll_sleep_s = 10e-6,
				     .pinned_input = true,
				     .session_s = 300e-6,
				     .arguments_B = 120,
				     .library_arguments_B = 100};
}

static struct op_graph graph_of(int l2_loss)
{
	struct stack_params stack = stack_of("tensorflow-1");
	stack.l2_loss = l2_loss;
	return op_graph_new(arena, network_of("resnet50"), 32, &stack, NULL);
}

static size_t kernels_of(const struct op_graph *graph)
{
	size_t count = 0;
	for (size_t i = 0; i < graph->count; i++)
		count += graph->ops[i].kernels;
	return count;
}

/* ---- the graph ---- */

static void resnet50_has_the_operations_counted_by_hand(void)
{
	struct op_graph graph = graph_of(L2_LOSS_ALL);
	size_t library = 0;

	for (size_t i = 0; i < graph.count; i++)
		library += graph.ops[i].library;
	CHECK(library == LIBRARY_OPS);
	CHECK(tally_of(&graph, ".grad_filter").ops == CONVOLUTIONS + 1);
	CHECK(tally_of(&graph, ".grad_data").ops == CONVOLUTIONS);
	CHECK(tally_of(&graph, ".grad_sum").ops == SUMS);
	CHECK(tally_of(&graph, ".moving").ops == MOVING_OPS);
	CHECK(tally_of(&graph, ".moving").kernels == MOVING_KERNELS);
	CHECK(tally_of(&graph, ".update").ops == TENSORS);
	/* losses, their sum, the total; w * decay; its addition; the update */
	CHECK(graph.count == FORWARD_OPS + MOVING_OPS + BACKWARD_OPS + (TENSORS + 2) + 3 * TENSORS);
	/* the sum of the losses takes eight at a time: 21 kernels for 161; the total two */
	CHECK(kernels_of(&graph) == FORWARD_KERNELS + MOVING_KERNELS + BACKWARD_KERNELS +
					    (TENSORS + LARGE + 21 + 2) + 3 * TENSORS);
	CHECK(kernels_of(&graph) == 1449);
	CHECK_TEXT(graph.ops[graph.loss].name, "loss.total");
}

static void each_kind_of_l2_loss_has_its_kernels(void)
{
	struct op_graph all = graph_of(L2_LOSS_ALL), none = graph_of(L2_LOSS_NONE);
	struct op_graph single = graph_of(L2_LOSS_SINGLE_OP);
	struct op_graph some = graph_of(L2_LOSS_NO_BATCH_NORM);
	size_t kept = TENSORS - 2 * NORMS; /* 55 */

	CHECK(tally_of(&all, ".l2").ops == TENSORS);
	CHECK(tally_of(&all, ".l2").kernels == TENSORS + LARGE);
	CHECK(tally_of(&all, ".decay").kernels == TENSORS);
	CHECK(tally_of(&all, ".grad_add").kernels == TENSORS);
	/* neither loss nor decay: only the softmax's loss is fetched */
	CHECK(kernels_of(&none) == FORWARD_KERNELS + MOVING_KERNELS + BACKWARD_KERNELS + TENSORS);
	CHECK(tally_of(&none, ".decay").ops == 0 && tally_of(&none, ".grad_add").ops == 0);
	CHECK(none.ops[none.loss].kernels == 6);
	/* one concatenation, two kernels of one loss, a sum, the total of two */
	CHECK(kernels_of(&single) == kernels_of(&none) + 6 + 2 * TENSORS);
	CHECK(tally_of(&single, ".l2").ops == 0);
	/* no batch norm: 55 losses, of which 53 are large, a sum of 7 kernels, the total */
	CHECK(tally_of(&some, ".l2").kernels == (double)(kept + LARGE));
	CHECK(kernels_of(&some) == kernels_of(&none) + kept + LARGE + 7 + 2 + 2 * kept);
}

/* One forward and two backward passes, without the gradient of the image: the first convolution has
 * 112 x 112 x 64 outputs of 7 x 7 x 3 products each. */
static void backward_work_is_twice_the_forward_work(void)
{
	const struct network *network = network_of("resnet50");
	struct op_graph graph = graph_of(L2_LOSS_ALL);
	struct tally all = tally_of(&graph, "");
	double image_macs = 112.0 * 112 * 64 * 7 * 7 * 3;

	CHECK_NEAR(all.flop, 2.0 * 32 * (3 * network->macs_count - image_macs), 1e-12);
	/* reads the weights and the gradient, writes the weights */
	CHECK_NEAR(tally_of(&graph, ".update").bytes_B, 3 * 4 * network->parameters_count, 1e-12);
	CHECK_NEAR(tally_of(&graph, ".l2").bytes_B, 4 * network->parameters_count, 1e-12);
	/* batch norm of conv1: 112 x 112 x 64 numbers of 32 images, three times */
	size_t i = 0;
	while (i < graph.count && strcmp(graph.ops[i].name, "conv1/batch_norm") != 0)
		i++;
	if (CHECK(i < graph.count))
		CHECK_NEAR(graph.ops[i].work.bytes_B, 3.0 * 112 * 112 * 64 * 32 * 4, 1e-12);
}

static void momentum_and_fp16_change_memory_traffic(void)
{
	const struct network *network = network_of("resnet50");
	struct stack_params stack = stack_of("pytorch");
	stack.optimiser_copies_count = 1;
	struct op_graph momentum = op_graph_new(arena, network, 32, &stack, NULL);
	stack.precision = PRECISION_FP16;
	struct op_graph half = op_graph_new(arena, network, 32, &stack, NULL);

	CHECK_NEAR(tally_of(&momentum, ".update").bytes_B, 5 * 4 * network->parameters_count,
		   1e-12);
	CHECK_NEAR(tally_of(&half, "/relu").bytes_B, tally_of(&momentum, "/relu").bytes_B / 2,
		   1e-12);
	CHECK_NEAR(tally_of(&half, "").flop, tally_of(&momentum, "").flop, 1e-12);
}

static void inputs_precede_their_operation(void)
{
	struct op_graph graph = graph_of(L2_LOSS_ALL);

	for (size_t i = 0; i < graph.count; i++)
		for (uint32_t k = 0; k < graph.ops[i].input_count; k++)
			CHECK(graph.ops[i].inputs[k] < i);
}

/* ---- programs ---- */

static const struct program *program_of(const struct stack_params *stack, const char *network,
					size_t batch)
{
	return framework_at((size_t)stack->framework)
		->program(arena, &(struct step_spec){network_of(network), batch, stack, &gpu,
						     &efficiency, NULL, NULL});
}

static bool is_call(const struct item *item, enum call_kind kind)
{
	return item->kind == ITEM_CALL && item->call.kind == kind;
}

static size_t calls_between(const struct call_thread *thread, size_t from, size_t to,
			    enum call_kind kind)
{
	size_t count = 0;
	for (size_t i = from; i < to; i++)
		count += is_call(&thread->items[i], kind);
	return count;
}

static size_t calls_of(const struct call_thread *thread, enum call_kind kind)
{
	return calls_between(thread, 0, thread->count, kind);
}

static size_t items_of(const struct call_thread *thread, enum item_kind kind)
{
	size_t count = 0;
	for (size_t i = 0; i < thread->count; i++)
		count += thread->items[i].kind == kind;
	return count;
}

/* Stores the operation of each launch of thread, in the order of issue. If operations share a name,
 * the k-th launch belongs to the k-th one of the graph. Returns the number. */
static size_t issued_order(const struct call_thread *thread, const struct op_graph *graph,
			   uint32_t *order)
{
	bool *taken = ARENA_ARRAY(arena, graph->count, bool);
	size_t count = 0;
	for (size_t i = 0; i < thread->count; i++) {
		const struct item *item = &thread->items[i];
		if (!is_call(item, CALL_LAUNCH))
			continue;
		uint32_t op = 0;
		while (op < graph->count &&
		       (taken[op] || strcmp(graph->ops[op].name, item->call.label) != 0))
			op++;
		if (!CHECK(op < graph->count))
			return 0;
		taken[op] = true;
		order[count++] = op;
		i += graph->ops[op].kernels - 1; /* its other launches */
	}
	return count;
}

static void tensorflow_step_has_its_calls(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	const struct program *program = program_of(&stack, "resnet50", 32);
	const struct call_thread *thread = &program->threads[0];

	CHECK(program->thread_count == 1);
	CHECK(calls_of(thread, CALL_LAUNCH) == 1449);
	CHECK(calls_of(thread, CALL_LIBRARY) == 3 * LIBRARY_OPS);
	/* the loss: event, wait, copy, event; the end of the step: the same without a copy */
	CHECK(calls_of(thread, CALL_MEMCPY_D2H_ASYNC) == 1);
	CHECK(calls_of(thread, CALL_EVENT_RECORD) == 4);
	CHECK(calls_of(thread, CALL_STREAM_WAIT_EVENT) == 2);
	CHECK(items_of(thread, ITEM_WATCH) == 2 && items_of(thread, ITEM_AWAIT) == 2);
	CHECK(items_of(thread, ITEM_CALL) == 1449 + 3 * LIBRARY_OPS + 7);
	/* one dispatch per operation, one session */
	CHECK(items_of(thread, ITEM_THINK) == graph_of(L2_LOSS_ALL).count + 1);
	CHECK_NEAR(thread->items[0].work_s, 300e-6, 0);
	/* the step waits for both at its end and for nothing before */
	CHECK(thread->items[thread->count - 1].kind == ITEM_AWAIT);
	CHECK(thread->items[thread->count - 2].kind == ITEM_AWAIT);
	CHECK(program->poller.enabled && program->images_count == 32);
	CHECK(program->poller.lock); /* EventMgr holds its lock for a round */
}

/* Operations are issued in the order in which they become ready: the one whose last input was
 * issued earlier comes first. */
static void tensorflow_issues_operations_when_ready(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	const struct program *program = program_of(&stack, "resnet50", 32);
	struct op_graph graph = graph_of(L2_LOSS_ALL);
	uint32_t *order = ARENA_ARRAY(arena, graph.count, uint32_t);
	uint32_t *place = ARENA_ARRAY(arena, graph.count, uint32_t);
	size_t count = issued_order(&program->threads[0], &graph, order);
	long ready_before = -1;

	if (!CHECK(count == graph.count))
		return;
	for (uint32_t i = 0; i < count; i++)
		place[order[i]] = i;
	for (uint32_t i = 0; i < count; i++) {
		const struct op *op = &graph.ops[order[i]];
		long ready = -1; /* position of its last input */
		for (uint32_t k = 0; k < op->input_count; k++) {
			CHECK(place[op->inputs[k]] < i);
			if ((long)place[op->inputs[k]] > ready)
				ready = place[op->inputs[k]];
		}
		CHECK(ready >= ready_before);
		ready_before = ready;
	}
}

/* Operations that depend only on variables are ready with the first convolution: 161 losses and 161
 * products are issued before anything that needs its result. */
static void tensorflow_issues_weight_decay_first(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	const struct program *program = program_of(&stack, "resnet50", 32);
	const struct call_thread *thread = &program->threads[0];
	size_t second = 0, early = 0;

	while (second < thread->count &&
	       !(is_call(&thread->items[second], CALL_LAUNCH) &&
		 strcmp(thread->items[second].call.label, "res2_1_short") == 0))
		second++;
	if (!CHECK(second < thread->count))
		return;
	for (size_t i = 0; i < second; i++)
		if (is_call(&thread->items[i], CALL_LAUNCH)) {
			const char *name = thread->items[i].call.label;
			early += ends_in(name, ".l2") || ends_in(name, ".decay");
		}
	CHECK(early == TENSORS + LARGE + TENSORS);
}

/* PyTorch issues in the order of the graph. Nothing waits, so the next step is issued while the GPU
 * works on this one. */
static void pytorch_issues_in_program_order(void)
{
	struct stack_params stack = stack_of("pytorch");
	stack.l2_loss = L2_LOSS_NONE;
	const struct program *program = program_of(&stack, "resnet50", 32);
	const struct call_thread *thread = &program->threads[0];
	struct op_graph graph = graph_of(L2_LOSS_NONE);
	uint32_t *order = ARENA_ARRAY(arena, graph.count, uint32_t);
	size_t count = issued_order(thread, &graph, order);

	CHECK(program->thread_count == 1);
	CHECK(count == graph.count);
	for (uint32_t i = 0; i < count; i++)
		CHECK(order[i] == i);
	CHECK(items_of(thread, ITEM_AWAIT) == 0 && items_of(thread, ITEM_WATCH) == 0);
	CHECK(calls_of(thread, CALL_MEMCPY_D2H_ASYNC) == 0);
	CHECK(items_of(thread, ITEM_CALL) ==
	      calls_of(thread, CALL_LAUNCH) + calls_of(thread, CALL_LIBRARY));
}

/* At a rate r there are floor(r n) calls after n library operations, at every position. */
static void fractional_call_rates_are_spread_evenly(void)
{
	static const double rates[] = {0.125, 1.5, 1.7537, 3};
	struct stack_params stack = stack_of("pytorch");
	stack.l2_loss = L2_LOSS_NONE;
	struct op_graph graph = graph_of(L2_LOSS_NONE);

	for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
		stack.calls_per_library_op_count = rates[r];
		const struct call_thread *thread = &program_of(&stack, "resnet50", 32)->threads[0];
		size_t item = 1, calls = 0, library = 0; /* after the session's work */

		CHECK(calls_of(thread, CALL_LIBRARY) == (size_t)(rates[r] * LIBRARY_OPS));
		for (size_t i = 0; i < graph.count; i++) {
			size_t end = item + 1; /* after its dispatch */
			while (end < thread->count && thread->items[end].kind != ITEM_THINK)
				end++;
			calls += calls_between(thread, item, end, CALL_LIBRARY);
			library += graph.ops[i].library;
			CHECK(calls == (size_t)(rates[r] * (double)library + 1e-9));
			item = end;
		}
		CHECK(item == thread->count && library == LIBRARY_OPS);
	}
}

static void calls_per_launch_are_added(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	stack.calls_per_library_op_count = 0;
	stack.calls_per_launch_count = 1.5;
	const struct call_thread *thread = &program_of(&stack, "resnet50", 32)->threads[0];

	CHECK(calls_of(thread, CALL_LAUNCH) == 1449);
	CHECK(calls_of(thread, CALL_LIBRARY) == 1449 / 2);
}

static void further_events_are_recorded_without_a_wait(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	stack.events_per_step_count = 10;
	const struct call_thread *thread = &program_of(&stack, "resnet50", 32)->threads[0];

	CHECK(calls_of(thread, CALL_EVENT_RECORD) == 4 + 10);
	CHECK(items_of(thread, ITEM_WATCH) == 2 + 10);
	CHECK(items_of(thread, ITEM_AWAIT) == 2); /* the step does not wait for them */
}

/* ---- input ---- */

static void check_input(const char *framework, const char *network, double side)
{
	struct stack_params stack = stack_of(framework);
	stack.real_input = true;
	const struct program *program = program_of(&stack, network, 48);

	if (!CHECK(program->thread_count == 2))
		return;
	const struct call_thread *input = &program->threads[1];
	CHECK(calls_of(input, CALL_MEMCPY_H2D_ASYNC) == 1);
	CHECK(calls_of(&program->threads[0], CALL_MEMCPY_H2D_ASYNC) == 0);
	for (size_t i = 0; i < input->count; i++)
		if (is_call(&input->items[i], CALL_MEMCPY_H2D_ASYNC)) {
			CHECK_NEAR(input->items[i].call.payload_B, 48 * side * side * 3 * 4, 0);
			CHECK(!input->items[i].call.pageable);
			CHECK(input->items[i].call.stream != 0); /* not the stream of the kernels */
		}
	stack.pinned_input = false;
	input = &program_of(&stack, network, 48)->threads[1];
	for (size_t i = 0; i < input->count; i++)
		if (is_call(&input->items[i], CALL_MEMCPY_H2D_ASYNC))
			CHECK(input->items[i].call.pageable);
}

static void real_input_uses_its_own_thread_and_stream(void)
{
	check_input("tensorflow-1", "resnet50", 224);
	check_input("tensorflow-1", "inception3", 299);
	check_input("pytorch", "resnet50", 224);
}

/* ---- kernel times ---- */

/* conv1 of 32 images: 2 x 118,013,952 MACs x 32 at 1e13 flop/s take 755.3 us. Its bytes (input 19.3
 * MB, output 102.8 MB at 1e12 B/s) take far less. The floor is added. */
static void launches_have_durations_of_their_kernels(void)
{
	struct stack_params stack = stack_of("pytorch");
	const struct call_thread *thread = &program_of(&stack, "resnet50", 32)->threads[0];
	size_t i = 0;

	while (i < thread->count && !is_call(&thread->items[i], CALL_LAUNCH))
		i++;
	if (!CHECK(i < thread->count))
		return;
	CHECK_TEXT(thread->items[i].call.label, "conv1");
	CHECK_NEAR(thread->items[i].call.duration_s, 2 * 118013952.0 * 32 / 1e13 + 2e-6, 1e-12);
	CHECK_NEAR(thread->items[i].call.arguments_B, 120, 0);
}

/* 161 updates in groups of 54, 54 and 53 are three kernels with the same bytes. LARS reads weights
 * and gradients once more, 7 in place of 5 passes over fp32, with three further kernels. */
static void optimiser_updates_groups_of_tensors(void)
{
	struct stack_params stack = stack_of("pytorch");
	stack.l2_loss = L2_LOSS_NONE;
	stack.optimiser_copies_count = 1;
	struct op_graph each = op_graph_new(arena, network_of("resnet50"), 32, &stack, NULL);
	stack.update_tensors_count = 54;
	struct op_graph grouped = op_graph_new(arena, network_of("resnet50"), 32, &stack, NULL);
	stack.lars = true;
	stack.fusion = FUSION_NORM;
	struct op_graph lars = op_graph_new(arena, network_of("resnet50"), 32, &stack, NULL);
	struct tally one = tally_of(&each, ".update");
	CHECK(one.kernels == TENSORS);
	CHECK(tally_of(&grouped, ".update").kernels == 3);
	CHECK_NEAR(tally_of(&grouped, ".update").bytes_B, one.bytes_B, 1e-12);
	CHECK(tally_of(&lars, ".update").kernels == 3 + 3);
	CHECK_NEAR(tally_of(&lars, ".update").bytes_B, one.bytes_B * 7 / 5, 1e-12);
}

/* The first block of ResNet-50 begins with a norm of 64 x 56 x 56 outputs an image. With its ReLU
 * in one kernel and a bit for each, it takes 3 + 1/32 passes over fp32 forward, and 5 + 1/32
 * backward. */
static void fused_norm_keeps_bits_of_its_relu(void)
{
	struct stack_params stack = stack_of("pytorch");
	stack.l2_loss = L2_LOSS_NONE;
	stack.fused_averages = true;
	stack.fusion = FUSION_NORM;
	struct op_graph graph = op_graph_new(arena, network_of("resnet50"), 32, &stack, NULL);
	double output_B = 64.0 * 56 * 56 * 32 * 4;
	CHECK_NEAR(tally_of(&graph, "res2_1_conv1/relu").bytes_B, (3 + 1 / 32.0) * output_B, 1e-12);
	CHECK_NEAR(tally_of(&graph, "res2_1_conv1/batch_norm.grad").bytes_B,
		   (5 + 1 / 32.0) * output_B, 1e-12);
}

static size_t launches_of(const struct stack_params *stack, double *duration_s)
{
	const struct call_thread *thread = &program_of(stack, "resnet50", 32)->threads[0];
	size_t count = 0;
	*duration_s = 0;
	for (size_t i = 0; i < thread->count; i++)
		if (is_call(&thread->items[i], CALL_LAUNCH)) {
			*duration_s += thread->items[i].call.duration_s;
			count++;
		}
	return count;
}

/* A graph has one launch for forward and backward. The GPU does the same work (without gaps here),
 * and the updates keep their launches. */
static void cuda_graph_is_launched_once(void)
{
	struct stack_params stack = stack_of("pytorch");
	double each_s, graph_s;
	stack.l2_loss = L2_LOSS_NONE;
	CHECK(launches_of(&stack, &each_s) > 2 * TENSORS);
	stack.cuda_graph = true;
	CHECK(launches_of(&stack, &graph_s) == 1 + TENSORS);
	CHECK_NEAR(graph_s, each_s, 1e-9);
}

/* Four GPUs combine the statistics of 53 batch norms in two exchanges of 3 us, and six in three,
 * forward and backward. An engine waits behind forward, behind backward and behind each of 161
 * updates. */
static void waits_for_other_gpus_and_for_the_engine_add_up(void)
{
	struct stack_params stack = stack_of("pytorch");
	double none_s, norm_s, six_s, engine_s;
	stack.l2_loss = L2_LOSS_NONE;
	stack.norm_exchange_s = 3e-6;
	launches_of(&stack, &none_s);
	stack.norm_gpus_count = 4;
	launches_of(&stack, &norm_s);
	stack.norm_gpus_count = 6;
	launches_of(&stack, &six_s);
	stack.norm_gpus_count = 1;
	stack.engine_wait_s = 10e-6;
	launches_of(&stack, &engine_s);
	CHECK_NEAR(norm_s - none_s, 2 * NORMS * 2 * 3e-6, 1e-9);
	CHECK_NEAR(six_s - none_s, 2 * NORMS * 3 * 3e-6, 1e-9);
	CHECK_NEAR(engine_s - none_s, (2 + TENSORS) * 10e-6, 1e-9);
}

static const struct test tests[] = {
	TEST(optimiser_updates_groups_of_tensors),
	TEST(fused_norm_keeps_bits_of_its_relu),
	TEST(cuda_graph_is_launched_once),
	TEST(waits_for_other_gpus_and_for_the_engine_add_up),
	TEST(resnet50_has_the_operations_counted_by_hand),
	TEST(each_kind_of_l2_loss_has_its_kernels),
	TEST(backward_work_is_twice_the_forward_work),
	TEST(momentum_and_fp16_change_memory_traffic),
	TEST(inputs_precede_their_operation),
	TEST(tensorflow_step_has_its_calls),
	TEST(tensorflow_issues_operations_when_ready),
	TEST(tensorflow_issues_weight_decay_first),
	TEST(pytorch_issues_in_program_order),
	TEST(fractional_call_rates_are_spread_evenly),
	TEST(calls_per_launch_are_added),
	TEST(further_events_are_recorded_without_a_wait),
	TEST(real_input_uses_its_own_thread_and_stream),
	TEST(launches_have_durations_of_their_kernels),
};

int main(void)
{
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
