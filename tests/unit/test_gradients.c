/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The gradients that programs of networks hand over, and the work of a step. ResNet-50 is counted
 * by hand (test_program.c has its operations). The test must run from the root folder. */
#include "sim/training/exchange.h"
#include "sim/training/gradients.h"
#include "tests/shipped_network.h"

enum {
	CONVOLUTIONS = 53,
	NORMS = 53,
	TENSORS = 161,
	/* The gradient of a filter, the two of a batch norm, and the two of the last layer
	 * separately. */
	GRADIENT_OPS = CONVOLUTIONS + NORMS + 2,
};
static const struct gpu_params gpu = {.fp32_flops = 1e13,
				      .memory_bandwidth_Bps = 1e12,
				      .memory_B = 16e9,
				      .memory_efficiency_ratio = 1,
				      .kernel_floor_s = 2e-6,
				      .kernel_gap_s = 1e-6};
static const struct efficiency_params efficiency = {.peak_ratio = 1};

static struct stack_params stack_of(const char *framework)
{
	return (struct stack_params){
		.framework = framework_of(framework), .l2_loss = L2_LOSS_NONE, .workspace_B = 1e6};
}

/* Returns the gradients of the program in which the host issues updates. If issue_s is not NULL, it
 * is set to the work to issue the program, whose launches take 4 us and library calls 1 us. */
static const struct gradients *gradients_with(const char *network, const struct stack_params *stack,
					      const struct gpu_params *on, double *issue_s)
{
	static const struct driver_params driver = {.launch_s = 4e-6, .library_s = 1e-6};
	const struct gradients_params params = {.driver = &driver};
	struct gradient_writer *writer = gradient_writer_new(arena, &params);
	const struct step_spec spec = {.network = network_of(network),
				       .batch = 32,
				       .stack = stack,
				       .gpu = on,
				       .efficiency = &efficiency,
				       .gradients = writer};
	const struct program *program =
		framework_at((size_t)stack->framework)->program(arena, &spec);
	const struct call_thread *thread = &program->threads[0];
	for (size_t i = 0; issue_s && i < thread->count; i++)
		if (thread->items[i].kind == ITEM_THINK)
			*issue_s += thread->items[i].work_s;
		else if (thread->items[i].kind == ITEM_CALL)
			*issue_s += driver_call_work_s(&driver, &thread->items[i].call);
	return gradient_writer_read(writer);
}

static const struct gradients *gradients_of(const char *network, const struct stack_params *stack,
					    const struct gpu_params *on)
{
	return gradients_with(network, stack, on, NULL);
}

static double backward_s(const struct gradients *gradients)
{
	return gradients->compute_s - gradients->forward_s;
}

static double update_s(const struct gradients *gradients)
{
	double sum_s = 0;
	for (size_t i = 0; i < gradients->tensor_count; i++)
		sum_s += gradients->tensors[i].update_s;
	return sum_s;
}

/* Every tensor is handed over once, in order. */
static void check_whole(const struct gradients *gradients, double parameters_count)
{
	double elements_count = 0;
	size_t tensors = 0;
	for (size_t i = 0; i < gradients->hand_over_count; i++) {
		CHECK(gradients->hand_overs[i].first == tensors);
		CHECK(gradients->hand_overs[i].count > 0);
		tensors += gradients->hand_overs[i].count;
	}
	for (size_t i = 0; i < gradients->tensor_count; i++)
		elements_count += gradients->tensors[i].elements_count;
	CHECK(tensors == gradients->tensor_count);
	CHECK(gradients->forward_s > 0 && backward_s(gradients) > 0 && update_s(gradients) > 0);
	CHECK_NEAR(elements_count, parameters_count, 0);
}

static void gradients_of_every_network_are_handed_over_once(void)
{
	static const char *const networks[] = {"alexnet",    "googlenet", "inception3",
					       "inception4", "resnet152", "vgg16"};
	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
		for (size_t f = 0; f < framework_count(); f++)
			for (int clusters = 0; clusters <= 3; clusters += 3) {
				struct stack_params stack = stack_of(framework_at(f)->name);
				stack.l2_loss = L2_LOSS_ALL;
				stack.xla_clusters_count = clusters;
				check_whole(gradients_of(networks[i], &stack, &gpu),
					    network_of(networks[i])->parameters_count);
			}
}

static void resnet50_hands_over_each_gradient(void)
{
	struct stack_params stack = stack_of("pytorch");
	const struct gradients *gradients = gradients_of("resnet50", &stack, &gpu);
	CHECK(gradients->hand_over_count == GRADIENT_OPS);
	CHECK(gradients->tensor_count == TENSORS);
	/* The last layer comes first, the first convolution's filter last. */
	CHECK_NEAR(gradients->tensors[0].elements_count, 1001, 1e-2);
	CHECK_NEAR(gradients->tensors[1].elements_count, 2048 * 1001, 1e-2);
	CHECK_NEAR(gradients->tensors[TENSORS - 1].elements_count, 7 * 7 * 3 * 64, 0);
}

/* Each operation is issued with its dispatch, its launches, and a library call for each library
 * operation. Without launches, calls and L2 losses, all 890 kernels of ResNet-50 except the updates
 * are dispatched one by one. */
static void issue_times_add_up(void)
{
	struct stack_params stack = stack_of("pytorch");
	double sums_s[3] = {0}, updates_s = 0;
	for (int i = 0; i < 3; i++) {
		stack.dispatch_s = i == 0 ? 1e-6 : 0;
		stack.calls_per_launch_count = 1;
		stack.calls_per_library_op_count = i == 2;
		const struct gradients *gradients =
			gradients_with("resnet50", &stack, &gpu, &sums_s[i]);
		for (size_t t = 0; i == 1 && t < gradients->tensor_count; t++)
			updates_s += gradients->tensors[t].update_host_s;
	}
	/* 269 library operations of 1 us; kernels of 4 us, of which 161 are updates. */
	CHECK_NEAR(sums_s[2] - sums_s[1], 269e-6, 1e-12);
	CHECK_NEAR(sums_s[1], (890 - 161) * 4e-6, 1e-12);
	CHECK_NEAR(updates_s, 161 * 4e-6, 1e-12);
	CHECK(sums_s[0] > sums_s[1]);
}

/* Breadth-first order hands over in another order, but the work is the same. */
static void frameworks_have_the_same_work(void)
{
	struct stack_params tf = stack_of("tensorflow-1"), pytorch = stack_of("pytorch");
	const struct gradients *a = gradients_of("resnet50", &tf, &gpu);
	const struct gradients *b = gradients_of("resnet50", &pytorch, &gpu);
	CHECK_NEAR(update_s(a), update_s(b), 1e-12);
	CHECK_NEAR(a->compute_s, b->compute_s, 1e-12);
}

/* Memory traffic is free and there is no floor, so only multiply-adds count. Forward M; backward 2
 * M minus the data gradient of the first convolution, 2 x 112^2 x 64 x 7^2 x 3 x 32 flop. */
static void backward_takes_twice_the_forward_time(void)
{
	struct gpu_params pure = gpu;
	struct stack_params stack = stack_of("pytorch");
	pure.memory_bandwidth_Bps = 1e30;
	pure.kernel_floor_s = pure.kernel_gap_s = 0;
	const struct gradients *gradients = gradients_of("resnet50", &stack, &pure);
	const struct network *network = network_of("resnet50");
	double first = 112.0 * 112 * 64 * 7 * 7 * 3;
	CHECK_NEAR(backward_s(gradients) / gradients->forward_s, 2 - first / network->macs_count,
		   1e-9);
}

/* Only gaps of 1 us take time. The 890 kernels are 499 forward (181, and 3 for each of 106 moving
 * averages), 230 backward and 161 updates. */
static void gaps_between_kernels_count(void)
{
	struct gpu_params pure = gpu;
	struct stack_params stack = stack_of("pytorch");
	pure.memory_bandwidth_Bps = pure.fp32_flops = 1e30;
	pure.kernel_floor_s = 0;
	const struct gradients *gradients = gradients_of("resnet50", &stack, &pure);
	CHECK_NEAR(gradients->forward_s, 499e-6, 1e-9);
	CHECK_NEAR(backward_s(gradients), 230e-6, 1e-9);
	CHECK_NEAR(update_s(gradients), 161e-6, 1e-9);
}

/* Arithmetic is free: an update of plain SGD moves 12 B per weight, one with momentum 20. */
static void momentum_updates_take_longer(void)
{
	struct gpu_params pure = gpu;
	struct stack_params stack = stack_of("pytorch");
	pure.kernel_floor_s = pure.kernel_gap_s = 0;
	const struct gradients *sgd = gradients_of("vgg16", &stack, &pure);
	stack.optimiser_copies_count = 1;
	const struct gradients *momentum = gradients_of("vgg16", &stack, &pure);
	CHECK_NEAR(update_s(momentum) / update_s(sgd), 20.0 / 12, 1e-9);
}

/* With updates in the program, they follow the wait for reduced gradients. */
static void updates_of_the_stream_wait_for_gradients(void)
{
	const struct gradients_params params = {.updates_in_stream = true};
	struct stack_params stack = stack_of("pytorch");
	struct gradient_writer *writer = gradient_writer_new(arena, &params);
	const struct step_spec spec = {.network = network_of("resnet50"),
				       .batch = 32,
				       .stack = &stack,
				       .gpu = &gpu,
				       .efficiency = &efficiency,
				       .gradients = writer};
	const struct program *program =
		framework_at((size_t)stack.framework)->program(arena, &spec);
	const struct call_thread *thread = &program->threads[0];
	size_t launches = 0, behind = 0, marks = 0;
	bool reduced = false;
	for (size_t i = 0; i < thread->count; i++) {
		enum call_kind kind = thread->items[i].call.kind;
		bool call = thread->items[i].kind == ITEM_CALL;
		reduced = reduced || (call && kind == CALL_REDUCED);
		marks += call && call_is_mark(kind);
		launches += call && kind == CALL_LAUNCH;
		behind += call && kind == CALL_LAUNCH && reduced;
	}
	CHECK(thread->items[0].kind == ITEM_GATE);
	CHECK(thread->items[1].call.kind == CALL_STEP_BEGIN);
	CHECK(thread->items[thread->count - 1].call.kind == CALL_STEP_END);
	CHECK(marks == GRADIENT_OPS + 3);
	CHECK(launches == 890 && behind == TENSORS);
}

/* ---- XLA ---- */

static size_t kernels_of(const struct op_graph *graph)
{
	size_t count = 0;
	for (size_t i = 0; i < graph->count; i++)
		count += graph->ops[i].kernels;
	return count;
}

static const struct op *op_of(const struct op_graph *graph, const char *name)
{
	for (size_t i = 0; i < graph->count; i++)
		if (strcmp(graph->ops[i].name, name) == 0)
			return &graph->ops[i];
	CHECK_TEXT("no such op", name);
	return &graph->ops[0];
}

/* Without L2 loss there are 890 kernels. Fused, forward: 53 convolutions, 49 kernels after them, 2
 * pools, product, bias, 6 of the softmax: 112. One of the 49 follows the first convolution, and
 * three are in each of 16 blocks (the one after a sum contains both batch norms of a projection).
 * Backward: 53 + 1 filters, 52 + 1 of data, the bias, 2 of the softmax, 2 pools, one for each batch
 * norm, and the sum before the max pool: 166. The one of a batch norm includes the ReLU and the sum
 * before it. Updates: 161. */
static void xla_fuses_the_kernels_counted_by_hand(void)
{
	struct stack_params stack = stack_of("pytorch");
	const struct network *network = network_of("resnet50");
	struct op_graph plain = op_graph_new(arena, network, 32, &stack, NULL);
	stack.xla_clusters_count = 1;
	struct op_graph fused = op_graph_new(arena, network, 32, &stack, NULL);
	CHECK(kernels_of(&plain) == 890);
	CHECK(kernels_of(&fused) == 112 + 166 + 161);
	double flop[2] = {0}, bytes_B[2] = {0};
	for (size_t i = 0; i < plain.count; i++) {
		flop[0] += plain.ops[i].kernels * plain.ops[i].work.flop;
		bytes_B[0] += plain.ops[i].kernels * plain.ops[i].work.bytes_B;
	}
	for (size_t i = 0; i < fused.count; i++) {
		const struct op *op = &fused.ops[i];
		flop[1] += op->kernels * op->work.flop;
		bytes_B[1] += op->kernels * op->work.bytes_B;
		for (uint32_t k = 0; k < op->input_count; k++)
			CHECK(op->inputs[k] < i);
	}
	CHECK_NEAR(flop[1], flop[0], 1e-12);
	CHECK(bytes_B[1] < 0.85 * bytes_B[0] && bytes_B[1] > 0.6 * bytes_B[0]);
}

/* Batch norm with ReLU makes 3 + 2 passes over the output. Fused, the ReLU does not read what the
 * norm writes, and the norm does not write it: 3. The moving averages of mean and variance are
 * added, 9 x 64 x 4 B each, minus the 4 x 64 B that each need not read. */
static void xla_saves_traffic_of_intermediate_values(void)
{
	struct stack_params stack = stack_of("pytorch");
	stack.xla_clusters_count = 1;
	struct op_graph fused = op_graph_new(arena, network_of("resnet50"), 32, &stack, NULL);
	const struct op *op = op_of(&fused, "conv1/relu");
	double y_B = 112.0 * 112 * 64 * 32 * 4;
	CHECK(op->kernels == 1 && !op->library);
	CHECK_NEAR(op->work.bytes_B, 3 * y_B + 2 * (9 - 1) * 64 * 4, 1e-12);
}

/* Weight decay: w x decay and its sum with the gradient are one kernel (2 + 3 passes minus 2 for
 * the value passed on), which completes the gradient. The update after the exchange is another
 * kernel. */
static void xla_fuses_weight_decay(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	stack.l2_loss = L2_LOSS_ALL;
	stack.xla_clusters_count = 1;
	struct op_graph fused = op_graph_new(arena, network_of("resnet50"), 32, &stack, NULL);
	size_t updates = 0;
	for (size_t i = 0; i < fused.count; i++)
		if (fused.ops[i].update_of != NO_TENSOR) {
			double size_B = fused.tensors[fused.ops[i].update_of].elements_count * 4;
			CHECK_NEAR(fused.ops[i].work.bytes_B, 3 * size_B, 1e-12);
			CHECK(fused.ops[i].kernels == 1 && fused.ops[i].gradient_count == 0);
			updates++;
		}
	CHECK(updates == TENSORS);
	const struct op *sum = op_of(&fused, "conv1.grad_add");
	CHECK(sum->kernels == 1 && sum->gradient_count == 1);
	CHECK_NEAR(sum->work.bytes_B, 3.0 * 7 * 7 * 3 * 64 * 4, 1e-12);
}

static void xla_clusters_delay_gradients(void)
{
	struct stack_params stack = stack_of("tensorflow-1");
	stack.xla_clusters_count = 1;
	const struct gradients *one = gradients_of("resnet50", &stack, &gpu);
	CHECK(one->hand_over_count == 1 && one->hand_overs[0].count == TENSORS);
	stack.xla_clusters_count = 4;
	const struct gradients *four = gradients_of("resnet50", &stack, &gpu);
	CHECK(four->hand_over_count == 4);
	for (size_t i = 0; i < 4; i++)
		CHECK(four->hand_overs[i].count > 0);
	CHECK_NEAR(four->compute_s, one->compute_s, 1e-12);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(gradients_of_every_network_are_handed_over_once),
		TEST(resnet50_hands_over_each_gradient),
		TEST(issue_times_add_up),
		TEST(frameworks_have_the_same_work),
		TEST(backward_takes_twice_the_forward_time),
		TEST(gaps_between_kernels_count),
		TEST(momentum_updates_take_longer),
		TEST(updates_of_the_stream_wait_for_gradients),
		TEST(xla_fuses_the_kernels_counted_by_hand),
		TEST(xla_saves_traffic_of_intermediate_values),
		TEST(xla_fuses_weight_decay),
		TEST(xla_clusters_delay_gradients),
	};
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
