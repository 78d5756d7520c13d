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
		"layers = ( { name = \"c\"; op = \"conv\"; kernel = 3; out = 4; },\n"
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

static const struct test tests[] = {
	TEST(fused_graphs_complete_each_gradient_once),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
