/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graph of a small convolutional network whose elementwise neighbours are fused. */
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/training/ops.h"
#include "tests/test.h"

static struct arena *arena;

/* A batch norm has two tensors, so its gradient op completes two gradients. */
static struct op_graph graph_of(const struct stack_params *stack)
{
	static const char text[] =
		"network = { name = \"n\"; image = 8; channels = 3; classes = 2; source = \"s\";\n"
		"layers = ( { name = \"c\"; op = \"conv\"; kernel = 3; stride = 2; out = 4; },\n"
		"{ name = \"b\"; op = \"batch_norm\"; scale = true; },\n"
		"{ name = \"r\"; op = \"relu\"; },\n"
		"{ name = \"p\"; op = \"global_pool\"; },\n"
		"{ name = \"f\"; op = \"fc\"; out = 2; },\n"
		"{ name = \"s\"; op = \"softmax\"; } ); };\n";
	struct diag *diag = diag_new(arena);
	const struct network *network =
		network_read(arena, diag, cfg_read_text(arena, diag, "n.cfg", text), 0);
	diag_print(diag, stdout);
	return op_graph_new(arena, network, 4, stack, NULL);
}

/* Each tensor's gradient is complete behind one op and updates the tensor once, fused or not. The
 * step fetches the sum of losses, which comes behind the forward pass, or the loss if weight decay
 * is a part of the update. */
static void fused_graphs_complete_each_gradient_once(void)
{
	for (int i = 0; i < 4; i++) {
		bool decays = i / 2;
		const struct stack_params stack = {.l2_loss = decays ? L2_LOSS_ALL : L2_LOSS_NONE,
						   .xla_clusters_count = i % 2,
						   .update_tensors_count = 1};
		const struct op_graph graph = graph_of(&stack);
		size_t completed[16] = {0}, updated[16] = {0};
		if (!CHECK(graph.tensor_count > 3 && graph.tensor_count < 16))
			return;
		for (size_t o = 0; o < graph.count; o++) {
			const struct op *op = &graph.ops[o];
			for (size_t k = 0; k < op->gradient_count; k++)
				completed[op->gradients[k]]++;
			if (op->update_of != NO_TENSOR)
				updated[op->update_of]++;
			for (size_t k = 0; k < op->input_count; k++)
				CHECK(op->inputs[k] < o);
		}
		for (size_t t = 0; t < graph.tensor_count; t++)
			CHECK(completed[t] == 1 && updated[t] == 1);
		CHECK((graph.loss > graph.output) == decays && graph.loss < graph.count);
		CHECK_TEXT(graph.ops[graph.loss].name, decays ? "loss.total" : "s");
		CHECK_TEXT(graph.ops[graph.output].name, "s");
	}
}

/* Returns the op of that name; NULL: there is none, because another op does its work. */
static const struct op *find(const struct op_graph *graph, const char *name)
{
	for (size_t i = 0; i < graph->count; i++)
		if (strcmp(graph->ops[i].name, name) == 0)
			return &graph->ops[i];
	return NULL;
}

/* 4 samples of 4 features become 2 classes: 4 x 2 outputs of sums of 4, gradients of 4 x 4 inputs
 * of sums of 2, and those of 4 x 2 weights of sums of 4 samples. The convolution has 3 channels of
 * 8 x 8 pixels, 4 of 4 x 4 and a window of 3 x 3 that moves by 2. */
static void products_have_the_sizes_of_their_matrices(void)
{
	const struct stack_params stack = {.l2_loss = L2_LOSS_NONE, .update_tensors_count = 1};
	const struct op_graph graph = graph_of(&stack);
	const struct {
		const char *name;
		double m, n, k;
	} rows[] = {{"f", 4, 2, 4}, {"f.grad_data", 4, 4, 2}, {"f.grad_filter", 4, 2, 4}};
	for (size_t i = 0; i < 3; i++) {
		const struct op *op = find(&graph, rows[i].name);
		if (!CHECK(op && op->work.form == KERNEL_PRODUCT))
			continue;
		CHECK_NEAR(op->work.product.m, rows[i].m, 0);
		CHECK_NEAR(op->work.product.n, rows[i].n, 0);
		CHECK_NEAR(op->work.product.k, rows[i].k, 0);
		CHECK_NEAR(op->work.product.count, 1, 0);
	}
	const struct op *op = find(&graph, "c");
	if (CHECK(op && op->work.form == KERNEL_CONVOLUTION)) {
		const struct kernel_convolution *c = &op->work.convolution;
		CHECK(c->part == CONVOLUTION_FORWARD && find(&graph, "c.grad_data") == NULL);
		CHECK_NEAR(c->images, 4, 0);
		CHECK_NEAR(c->in_channels, 3, 0);
		CHECK_NEAR(c->out_channels, 4, 0);
		CHECK_NEAR(c->in_height * c->in_width, 8 * 8, 0);
		CHECK_NEAR(c->out_height * c->out_width, 4 * 4, 0);
		CHECK(c->window[0] == 3 && c->window[1] == 3 && c->stride[0] == 2 &&
		      c->stride[1] == 2);
	}
}

/* XLA writes one kernel of its own for the batch norm and the ReLU behind it. Libraries with a
 * kernel for each layer leave them apart. Both passes of the norm meet other GPUs, fused or not. */
static void a_compiler_joins_the_layers_that_libraries_leave_apart(void)
{
	const struct stack_params plain = {
		.l2_loss = L2_LOSS_NONE, .update_tensors_count = 1, .fused_averages = true};
	struct stack_params xla = plain, layers = plain;
	xla.xla_clusters_count = 1;
	layers.fusion = FUSION_LAYER;
	const struct op_graph graphs[] = {graph_of(&plain), graph_of(&layers), graph_of(&xla)};
	for (size_t i = 0; i < 3; i++) {
		const struct op *norm = find(&graphs[i], "b"), *relu = find(&graphs[i], "r");
		size_t meets = 0, own = 0;
		for (size_t o = 0; o < graphs[i].count; o++) {
			meets += graphs[i].ops[o].work.meets;
			own += graphs[i].ops[o].library && graphs[i].ops[o].elementwise;
		}
		CHECK(meets == 2);
		CHECK((norm != NULL) == (i < 2));
		if (CHECK(relu != NULL))
			CHECK(relu->work.meets == (i == 2));
		CHECK((own == 0) == (i > 0));
	}
}

static const struct test tests[] = {
	TEST(products_have_the_sizes_of_their_matrices),
	TEST(a_compiler_joins_the_layers_that_libraries_leave_apart),
	TEST(fused_graphs_complete_each_gradient_once),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
