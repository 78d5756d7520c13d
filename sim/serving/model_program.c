/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of an iteration of a model server. */
#include "sim/serving/model_parts.h"
#include "sim/training/issue.h"

double model_pass_s(const struct serving_model *model, double bytes_B)
{
	const struct kernel_work work = {.bytes_B = bytes_B, .form = KERNEL_PASS};
	return kernel_duration_s(model->spec.gpu, model->spec.efficiency, &work);
}

static const double TOKEN_NUMBER_B = 8;

static void add_copy(struct issuer *issuer, enum call_kind kind, double size_B)
{
	struct cuda_call *copy = issue_call(issuer, kind, 0);
	copy->payload_B = size_B;
	copy->label = kind == CALL_MEMCPY_D2H ? "result" : "input";
}

/* Adds the op, whose kernels take scale times as long, and adds their time to *kernels_s. Gaps
 * between the kernels of a CUDA graph are not scaled. */
static void add_op(struct issuer *issuer, const struct op *op, double scale, double *kernels_s)
{
	struct op scaled = *op;
	double own_s = op->kernels * kernel_duration_s(issuer->gpu, issuer->efficiency, &op->work) +
		       op->wait_s;
	scaled.wait_s += (scale - 1) * own_s;
	issue_op(issuer, &scaled, 0);
	*kernels_s += scale * own_s;
}

/* Adds the kernels of the collectives behind layers before `layer`. Returns the first one that is
 * left. */
static size_t add_exchanges(struct issuer *issuer, const struct serving_model *model, size_t next,
			    size_t layer, size_t rows, double scale, double *kernels_s)
{
	const struct shard *shard = model->spec.shard;
	for (; shard && next < shard->exchange_count && shard->exchanges[next].layer < layer;
	     next++) {
		const struct shard_exchange *exchange = &shard->exchanges[next];
		const struct op op = {.pass = PASS_FORWARD,
				      .name = "sum of a split product",
				      .kernels = 1,
				      .work = {.form = KERNEL_PASS},
				      .wait_s = model_exchange_s(model, exchange, (double)rows) -
						model_pass_s(model, 0),
				      .update_of = NO_TENSOR};
		if (model_is_exchanged(model, exchange))
			add_op(issuer, &op, scale, kernels_s);
	}
	return next;
}

const struct program *serving_model_program(struct arena *arena, const struct serving_model *model,
					    size_t rows, double scale, bool graph,
					    double *kernels_s)
{
	const struct serving_model_spec *spec = &model->spec;
	const struct network *network = spec->one_token ? spec->one_token : spec->network;
	struct op_graph ops = op_graph_new(arena, network, rows, spec->stack, spec->gpu);
	struct stack_params *stack = ARENA_NEW(arena, struct stack_params);
	*stack = *spec->stack;
	stack->cuda_graph &= graph;
	struct issuer issuer = {
		.arena = arena, .stack = stack, .gpu = spec->gpu, .efficiency = spec->efficiency};
	issue_item(&issuer, ITEM_THINK)->work_s = stack->session_s;
	add_copy(&issuer, CALL_MEMCPY_H2D_ASYNC, input_B(network, rows));
	*kernels_s = 0;
	for (size_t i = 0, next = 0; i < ops.count; i++) {
		if (model_is_left_out(model, &ops.ops[i]) ||
		    model_is_fused(model, &ops.ops[i], (double)rows))
			continue;
		next = add_exchanges(&issuer, model, next, ops.ops[i].layer, rows, scale,
				     kernels_s);
		add_op(&issuer, &ops.ops[i], scale, kernels_s);
	}
	double outputs = network->layers[network->layer_count - 1].output_count;
	add_copy(&issuer, CALL_MEMCPY_D2H,
		 (double)rows * (spec->one_token ? TOKEN_NUMBER_B : 4 * outputs));
	/* the fitted host time of an engine's iteration contains the launch of its graph */
	issuer.items.items[issuer.graph_item].call.nodes = 0;
	struct call_thread *thread = ARENA_NEW(arena, struct call_thread);
	*thread = (struct call_thread){"server", issuer.items.items, issuer.items.count};
	struct program *program = ARENA_NEW(arena, struct program);
	*program = (struct program){.threads = thread,
				    .thread_count = 1,
				    .stream_count = 1,
				    .event_count = 1, /* of the calls around launches */
				    .images_count = (double)rows};
	return program;
}
