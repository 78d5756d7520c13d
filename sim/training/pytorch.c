/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PyTorch: one thread issues the ops in program order and does not wait at the end of a step.
 *
 * The main thread runs forward and then the autograd thread runs backward, both on one stream.
 * So one list in program order represents both threads. The optimiser follows. It includes weight
 * decay, so no variable has a loss of its own (l2_loss = "none" in the stack's file). The loss of
 * the step stays on the GPU, and the host runs ahead until the launch queue is full. With real
 * input, a pin-memory thread starts an asynchronous copy of each batch and polls its event.
 *
 * ONNX Runtime also issues its nodes in a fixed order on one stream. A Run has its copies inside:
 * the thread copies the inputs that are in host memory, issues the nodes, copies the outputs, and
 * waits for the stream (onnxruntime: utils.cc, ExecuteGraphImpl; cuda_execution_provider.cc,
 * OnRunEnd).
 */
#include "sim/training/framework.h"
#include "sim/training/gradients.h"

enum { COMPUTE, COPIES, STREAM_COUNT };
enum { INPUT_THERE, SIGNAL_COUNT };
enum { EVENT_INPUT, EVENT_CALLS = 2, EVENT_COUNT };

/* A forward pass with input is a request: its input comes first, not that of the next step. */
static bool is_request(const struct stack_params *stack)
{
	return stack->forward_only && stack->real_input;
}

static void issue_request_input(struct issuer *issuer, const struct step_spec *spec)
{
	double size_B = input_B(spec->network, spec->batch);
	if (!spec->stack->pinned_input) {
		issue_waiting_copy(issuer, CALL_MEMCPY_H2D_ASYNC, size_B, "input to device");
		return;
	}
	struct cuda_call *copy = issue_call(issuer, CALL_MEMCPY_H2D_ASYNC, COMPUTE);
	copy->payload_B = size_B;
	copy->label = "input to device";
}

/* Appends the copy of the step's result to the host: the outputs, or the index of each sample's
 * largest one, for which a kernel reads them. */
static void issue_result(struct issuer *issuer, const struct step_spec *spec)
{
	double outputs = network_outputs_count(spec->network);
	double output_B = outputs * (double)spec->batch * stack_element_B(spec->stack);
	if (spec->stack->result == RESULT_CLASS) {
		const struct op largest = {.name = "largest output",
					   .kernels = 1,
					   .work = {.bytes_B = output_B, .reduces = true},
					   .update_of = NO_TENSOR};
		issue_op(issuer, &largest, COMPUTE);
		output_B = 8 * (double)spec->batch; /* indices are int64 */
	}
	issue_waiting_copy(issuer, CALL_MEMCPY_D2H_ASYNC, output_B, "result to host");
}

static const struct program *program(struct arena *arena, const struct step_spec *spec)
{
	const struct stack_params *stack = spec->stack;
	struct op_graph graph = op_graph_new(arena, spec->network, spec->batch, stack, spec->gpu);
	struct issuer main_thread = issuer_new(arena, spec, EVENT_CALLS), input = main_thread;
	const struct gradients_first first = {STREAM_COUNT, EVENT_COUNT, SIGNAL_COUNT};
	gradients_begin(&main_thread, &graph, &first);
	if (stack->cold)
		issue_start(&main_thread, spec->network);
	issue_begin(&main_thread, spec->network);
	if (is_request(stack))
		issue_request_input(&main_thread, spec);
	bool result = stack->forward_only && stack->result != RESULT_NONE;
	for (size_t i = 0; i < graph.count; i++) {
		if (result && layer_is_loss(&spec->network->layers[graph.ops[i].layer]))
			continue;
		if (stack->cold)
			issue_first_use(&main_thread, &graph.ops[i]);
		issue_op(&main_thread, &graph.ops[i], COMPUTE);
	}
	gradients_end(&main_thread);
	if (result)
		issue_result(&main_thread, spec);
	/* the mark at the end of a rank's step is its last item */
	if (stack->sync_on_finish && (!main_thread.gradients || main_thread.spreads))
		issue_call(&main_thread, CALL_DEVICE_SYNCHRONIZE, COMPUTE);
	if (stack->real_input && !is_request(stack)) {
		issue_await(&main_thread, INPUT_THERE, 1);
		issue_copy_and_watch(&input, CALL_MEMCPY_H2D_ASYNC,
				     input_B(spec->network, spec->batch), !stack->pinned_input,
				     COMPUTE, COPIES, EVENT_INPUT, INPUT_THERE);
	}
	const struct call_thread threads[] = {
		{"main", main_thread.items.items, main_thread.items.count},
		{"pin memory", input.items.items, input.items.count}};
	return issue_program(&main_thread, spec, threads,
			     (struct program){.stream_count = STREAM_COUNT,
					      .event_count = EVENT_COUNT,
					      .signal_count = SIGNAL_COUNT});
}

const struct framework framework_pytorch = {
	.name = "pytorch",
	.help = "PyTorch: one thread issues in program order and runs ahead across steps",
	.ahead = true,
	.starts = true,
	.program = program,
};

const struct framework framework_jax = {
	.name = "jax",
	.help = "JAX: a compiled step whose kernels one thread launches in order, ahead of the GPU",
	.ahead = true,
	.starts = true,
	.program = program,
};

const struct framework framework_onnx_runtime = {
	.name = "onnxruntime",
	.help = "ONNX Runtime: one thread issues the nodes of an optimised graph; a step is one "
		"Run",
	.inference = true,
	.program = program,
};
