/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a network to the segments of a step. ResNet-50 is counted by hand (test_program.c has its
 * operations). The test must run from the root folder. */
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/exchange.h"
#include "sim/training/ops.h"
#include "sim/training/step_profile.h"
#include "tests/test.h"

enum {
	CONVOLUTIONS = 53,
	NORMS = 53,
	TENSORS = 161,
	/* The gradient of a filter, the two of a batch norm, and the two of the last layer
	 * separately. */
	GRADIENT_OPS = CONVOLUTIONS + NORMS + 2,
};
static const double STEP_S = 0.2;

static struct arena *arena;

static const struct gpu_params gpu = {.fp32_flops = 1e13,
				      .memory_bandwidth_Bps = 1e12,
				      .memory_B = 16e9,
				      .memory_efficiency_ratio = 1,
				      .kernel_floor_s = 2e-6,
				      .kernel_gap_s = 1e-6};
static const struct efficiency_params efficiency = {.peak_ratio = 1};

static struct stack_params stack_of(const char *framework)
{
	struct stack_params stack = {.l2_loss = L2_LOSS_NONE, .workspace_B = 1e6};
	while (strcmp(framework_at((size_t)stack.framework)->name, framework) != 0)
		stack.framework++;
	return stack;
}

static const struct network *network_of(const char *name)
{
	struct diag *diag = diag_new(arena);
	const struct cfg_node *file =
		cfg_read(arena, diag, arena_printf(arena, "models/networks/%s.cfg", name));
	const struct network *network = file ? network_read(arena, diag, file, 0) : NULL;
	diag_print(diag, stdout);
	CHECK(network != NULL);
	return network;
}

static const struct step_profile *profile_of(const char *network, const struct stack_params *stack,
					     const struct gpu_params *on)
{
	return step_profile_new(arena, network_of(network), 32, stack, on, &efficiency, NULL,
				STEP_S);
}

static double backward_s(const struct step_profile *profile)
{
	double sum_s = 0;
	for (size_t i = profile->forward_count; i < profile->segment_count; i++)
		sum_s += profile->segments[i].compute_s;
	return sum_s;
}

static double update_s(const struct step_profile *profile)
{
	double sum_s = 0;
	for (size_t i = 0; i < profile->tensor_count; i++)
		sum_s += profile->tensors[i].update_s;
	return sum_s;
}

/* All parts add up to the step, and every tensor appears once, in order. */
static void check_whole(const struct step_profile *profile, double parameters_count)
{
	double sum_s = backward_s(profile) + update_s(profile), elements_count = 0;
	size_t tensors = 0;
	for (size_t i = 0; i < profile->segment_count; i++) {
		const struct step_segment *segment = &profile->segments[i];
		CHECK(segment->tensor_first == tensors && segment->name[0]);
		CHECK(segment->compute_s > 0);
		tensors += segment->tensor_count;
		if (i < profile->forward_count) {
			CHECK(segment->tensor_count == 0);
			sum_s += segment->compute_s;
		}
	}
	for (size_t i = 0; i < profile->tensor_count; i++)
		elements_count += profile->tensors[i].elements_count;
	CHECK(tensors == profile->tensor_count);
	CHECK_NEAR(sum_s, STEP_S, 1e-12);
	CHECK_NEAR(profile->step_s, STEP_S, 0);
	CHECK_NEAR(elements_count, parameters_count, 0);
}

static void step_parts_of_every_network_add_up(void)
{
	static const char *const networks[] = {"alexnet",    "googlenet", "inception3",
					       "inception4", "resnet152", "vgg16"};
	for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
		for (size_t f = 0; f < framework_count(); f++)
			for (int clusters = 0; clusters <= 3; clusters += 3) {
				struct stack_params stack = stack_of(framework_at(f)->name);
				stack.l2_loss = L2_LOSS_ALL;
				stack.xla_clusters_count = clusters;
				const struct step_profile *profile =
					profile_of(networks[i], &stack, &gpu);
				check_whole(profile, network_of(networks[i])->parameters_count);
			}
}

static void resnet50_has_one_segment_per_gradient(void)
{
	struct stack_params stack = stack_of("pytorch");
	const struct step_profile *profile = profile_of("resnet50", &stack, &gpu);
	CHECK(profile->forward_count == 1);
	CHECK(profile->segment_count == 1 + GRADIENT_OPS);
	CHECK(profile->tensor_count == TENSORS);
	/* The last layer comes first, the first convolution's filter last. */
	CHECK_NEAR(profile->tensors[0].elements_count, 1001, 1e-2);
	CHECK_NEAR(profile->tensors[1].elements_count, 2048 * 1001, 1e-2);
	CHECK_NEAR(profile->tensors[TENSORS - 1].elements_count, 7 * 7 * 3 * 64, 0);
	CHECK_NEAR(profile->images_count, 32, 0);
	CHECK_NEAR(profile->element_B, 4, 0);
	CHECK_NEAR(profile->input_B, 32.0 * 224 * 224 * 3 * 4, 0);
	stack.precision = PRECISION_FP16;
	CHECK_NEAR(profile_of("resnet50", &stack, &gpu)->element_B, 4, 0);
	stack.fp16_gradients = true;
	CHECK_NEAR(profile_of("resnet50", &stack, &gpu)->element_B, 2, 0);
}

/* Each operation is issued with its dispatch, its launches, and a library call for each library
 * operation. Without launches, calls and L2 losses, all 890 kernels of ResNet-50 except the updates
 * are dispatched one by one. */
static void issue_times_add_up(void)
{
	const struct driver_params driver = {.launch_s = 4e-6, .library_s = 1e-6};
	const struct step_host host = {&driver, 1};
	struct stack_params stack = stack_of("pytorch");
	double sums_s[3], updates_s = 0;
	for (int i = 0; i < 3; i++) {
		stack.dispatch_s = i == 0 ? 1e-6 : 0;
		stack.calls_per_launch_count = 1;
		stack.calls_per_library_op_count = i == 2;
		const struct step_profile *profile =
			step_profile_new(arena, network_of("resnet50"), 32, &stack, &gpu,
					 &efficiency, &host, STEP_S);
		sums_s[i] = 0;
		for (size_t s = 0; s < profile->segment_count; s++)
			sums_s[i] += profile->segments[s].host_s;
		for (size_t t = 0; i == 1 && t < profile->tensor_count; t++)
			updates_s += profile->tensors[t].update_host_s;
	}
	/* 269 library operations of 1 us; kernels of 4 us, of which 161 are updates. */
	CHECK_NEAR(sums_s[2] - sums_s[1], 269e-6, 1e-12);
	CHECK_NEAR(sums_s[1], (890 - 161) * 4e-6, 1e-12);
	CHECK_NEAR(updates_s, 161 * 4e-6, 1e-12);
	CHECK(sums_s[0] > sums_s[1]);
}

/* Breadth-first order gives other segments, but the same work before the first gradient, except for
 * the weight decay that TensorFlow issues early. */
static void frameworks_have_the_same_work(void)
{
	struct stack_params tf = stack_of("tensorflow-1"), pytorch = stack_of("pytorch");
	const struct step_profile *a = profile_of("resnet50", &tf, &gpu);
	const struct step_profile *b = profile_of("resnet50", &pytorch, &gpu);
	CHECK(a->segment_count >= 1 + GRADIENT_OPS);
	CHECK_NEAR(update_s(a), update_s(b), 1e-12);
	CHECK_NEAR(a->segments[0].compute_s + backward_s(a),
		   b->segments[0].compute_s + backward_s(b), 1e-12);
}

/* Memory traffic is free and there is no floor, so only multiply-adds count. Forward M; backward 2
 * M minus the data gradient of the first convolution, 2 x 112^2 x 64 x 7^2 x 3 x 32 flop. */
static void backward_takes_twice_the_forward_time(void)
{
	struct gpu_params pure = gpu;
	struct stack_params stack = stack_of("pytorch");
	pure.memory_bandwidth_Bps = 1e30;
	pure.kernel_floor_s = pure.kernel_gap_s = 0;
	const struct step_profile *profile = profile_of("resnet50", &stack, &pure);
	const struct network *network = network_of("resnet50");
	double first = 112.0 * 112 * 64 * 7 * 7 * 3;
	CHECK_NEAR(backward_s(profile) / profile->segments[0].compute_s,
		   2 - first / network->macs_count, 1e-9);
}

/* Only gaps take time, so every kernel counts the same. The 890 kernels are 499 forward (181, and 3
 * for each of 106 moving averages), 230 backward and 161 updates. */
static void gaps_between_kernels_count(void)
{
	struct gpu_params pure = gpu;
	struct stack_params stack = stack_of("pytorch");
	pure.memory_bandwidth_Bps = pure.fp32_flops = 1e30;
	pure.kernel_floor_s = 0;
	const struct step_profile *profile = profile_of("resnet50", &stack, &pure);
	CHECK_NEAR(profile->segments[0].compute_s, STEP_S * 499 / 890, 1e-9);
	CHECK_NEAR(backward_s(profile), STEP_S * 230 / 890, 1e-9);
	CHECK_NEAR(update_s(profile), STEP_S * 161 / 890, 1e-9);
}

/* Arithmetic is free: an update of plain SGD moves 12 B per weight, one with momentum 20. */
static void momentum_updates_take_longer(void)
{
	struct gpu_params pure = gpu;
	struct stack_params stack = stack_of("pytorch");
	pure.kernel_floor_s = pure.kernel_gap_s = 0;
	const struct step_profile *sgd = profile_of("vgg16", &stack, &pure);
	stack.optimiser_copies_count = 1;
	const struct step_profile *momentum = profile_of("vgg16", &stack, &pure);
	double a = update_s(sgd) / (STEP_S - update_s(sgd));
	double b = update_s(momentum) / (STEP_S - update_s(momentum));
	CHECK_NEAR(b / a, 20.0 / 12, 1e-9);
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
	const struct step_profile *one = profile_of("resnet50", &stack, &gpu);
	CHECK(one->segment_count == 2 && one->segments[1].tensor_count == TENSORS);
	stack.xla_clusters_count = 4;
	const struct step_profile *four = profile_of("resnet50", &stack, &gpu);
	CHECK(four->segment_count == 5);
	for (size_t i = 1; i < 5; i++)
		CHECK_NEAR(four->segments[i].compute_s, one->segments[1].compute_s / 4, 1e-12);
	/* The last quarter of backward has early layers with many activations and few weights. */
	CHECK(four->segments[4].tensor_count > 0 && four->segments[1].tensor_count > 0);
	CHECK_NEAR(four->segments[0].compute_s, one->segments[0].compute_s, 1e-12);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(step_parts_of_every_network_add_up),
		TEST(resnet50_has_one_segment_per_gradient),
		TEST(issue_times_add_up),
		TEST(frameworks_have_the_same_work),
		TEST(backward_takes_twice_the_forward_time),
		TEST(gaps_between_kernels_count),
		TEST(momentum_updates_take_longer),
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
