/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ops of a mixture of experts beside its products: the router, the rows on their way to the experts
 * and back, and the biases and the activation of experts.
 *
 * Megatron-Core (megatron/core/transformer/moe) multiplies by the probabilities of the router in
 * the activation of the experts. So the rows that come back are only added. Other frameworks
 * multiply the rows that come back.
 */
#include "sim/training/ops_builder.h"

/* Small kernels that select experts, normalise their weights, count and sort the rows. */
enum { ROUTE_KERNELS = 6, ROUTE_GRAD_KERNELS = 3 };
/* vLLM: topk_softmax selects and normalises, moe_align_block_size counts and sorts. */
enum { ENGINE_ROUTE_KERNELS = 3 };
/* Operators of Megatron-Core with hardly any work for the GPU.
 * LOSS: scores, counts and loss of router.py, _apply_aux_loss, and three for its log.
 * COUNT: token_dispatcher.py, preprocess: five sums and slices, an all-gather with its buffer, and
 * an event with four copies to the host (_maybe_dtoh_and_synchronize).
 * MAP: Transformer Engine, triton/permutation.py, make_row_id_map.
 * SORT: make_chunk_sort_map and the sort, with the call of the all-to-all. DISPATCH: the same with
 * an all-to-all of the probabilities (token_dispatch). */
enum {
	LOSS_OPERATORS = 6,
	LOSS_GRAD_OPERATORS = 3,
	COUNT_OPERATORS = 12,
	MAP_OPERATORS = 3,
	SORT_OPERATORS = 3,
	DISPATCH_OPERATORS = 4
};

static bool is_megatron(const struct builder *b)
{
	return b->stack->fusion == FUSION_LAYER && !b->stack->forward_only;
}

/* Returns true for engines with fused experts (vLLM, fused_moe.py): the first product gathers its
 * rows, and the second one multiplies by the weights of the router. */
static bool is_engine(const struct builder *b)
{
	return b->stack->fusion == FUSION_ALL && b->stack->forward_only;
}

/* Adds operators with little work, each of which the host issues. */
static uint32_t add_operators(struct builder *b, const char *what, uint32_t count, double bytes_B,
			      uint32_t input)
{
	double ratio = b->pass == PASS_BACKWARD ? b->stack->autograd_ratio : 1;
	uint32_t op = builder_op(b, what, count, bytes_B, input);
	b->ops.items[op].host_s += (count - 1) * b->stack->dispatch_s * ratio;
	return op;
}

/* Returns true if the GPU has a part of the experts. */
static bool is_spread(const struct builder *b, size_t experts)
{
	return experts < b->network->layers[builder_layer(b)->inputs[1]].experts;
}

/* Adds the kernel that orders the rows of other GPUs by expert, or back (token_dispatcher.py,
 * sort_chunks_by_idxs), if the GPU has `experts` of several, but not all. count: its operators. */
static uint32_t sort_rows(struct builder *b, const char *what, size_t experts, double rows_B,
			  uint32_t count, uint32_t input)
{
	bool sorts = experts > 1 && is_spread(b, experts) && !b->stack->forward_only;
	return sorts ? add_operators(b, what, is_megatron(b) ? count : 1, 2 * rows_B, input)
		     : input;
}

/* Adds the kernels that copy rows, so that each expert has a multiple of the rows that quantised
 * products need, or back (experts.py, quantization_padding). Padding copies the probabilities of
 * the rows by a second kernel, but quantization_unpadding copies only the rows. Experts of a fixed
 * capacity need none. */
static uint32_t pad_rows(struct builder *b, const char *what, double rows_B, uint32_t kernels,
			 uint32_t input)
{
	bool quantised = b->stack->precision >= PRECISION_FP8 &&
			 stack_product_type(b->stack, b->gpu, false) != NUMBER_BF16;
	if (!is_megatron(b) || !quantised || !b->stack->experts_wait)
		return input;
	return add_operators(b, what, kernels, 2 * rows_B, input);
}

static uint32_t route_forward(struct builder *b, const struct layer *layer, uint32_t input)
{
	double in_B = builder_inputs_B(b, layer), out_B = builder_output_B(b, b->layer);
	if (!is_engine(b))
		input = tokens_elementwise(b, ".softmax", 1, in_B, in_B, input);
	input = builder_op(b, "", is_engine(b) ? ENGINE_ROUTE_KERNELS : ROUTE_KERNELS,
			   in_B + 4 * out_B, input);
	if (is_megatron(b))
		input = add_operators(b, ".loss", LOSS_OPERATORS, 0, input);
	if (!b->stack->experts_wait)
		return input;
	if (is_megatron(b))
		input = add_operators(b, ".count", COUNT_OPERATORS, 0, input);
	b->ops.items[input].result_B = 8 * (double)layer->experts; /* rows of each, as int64 */
	return input;
}

static uint32_t combine_forward(struct builder *b, const struct layer *layer, uint32_t input)
{
	const struct layer *from = &b->network->layers[layer->inputs[0]];
	double rows_B = builder_B(b, from->output_count);
	input = pad_rows(b, ".unpad", rows_B, 1, input);
	input = sort_rows(b, ".sort", from->experts, rows_B, SORT_OPERATORS, input);
	if (!is_megatron(b) && !is_engine(b)) {
		const char *what = b->stack->fusion == FUSION_LAYER ? "" : ".weight";
		input = tokens_elementwise(b, what, 1, rows_B, rows_B, input);
	}
	return builder_op(b, "", 1, builder_inputs_B(b, layer) + builder_output_B(b, b->layer),
			  input);
}

/* Transformer Engine's kernel reads a token once for all its rows (triton/permutation.py). */
static double permuted_B(const struct builder *b, double tokens_B, double rows_B)
{
	return is_megatron(b) ? tokens_B + rows_B : 2 * rows_B;
}

static uint32_t dispatch_forward(struct builder *b, const struct layer *layer, uint32_t input)
{
	double out_B = builder_output_B(b, b->layer);
	double in_B = builder_output_B(b, layer->inputs[0]);
	if (is_engine(b))
		return input;
	if (is_megatron(b))
		input = add_operators(b, ".map", MAP_OPERATORS, 0, input);
	input = builder_op(b, "", 1, permuted_B(b, in_B, out_B), input);
	input = sort_rows(b, ".sort", layer->experts, out_B, DISPATCH_OPERATORS, input);
	return pad_rows(b, ".pad", out_B, 2, input);
}

uint32_t experts_forward(struct builder *b, const struct layer *layer, uint32_t input)
{
	return layer->op == LAYER_ROUTE      ? route_forward(b, layer, input)
	       : layer->op == LAYER_DISPATCH ? dispatch_forward(b, layer, input)
					     : combine_forward(b, layer, input);
}

static void combine_backward(struct builder *b, const struct layer *layer)
{
	const struct layer *from = &b->network->layers[layer->inputs[0]];
	double rows_B = builder_B(b, from->output_count), out_B = builder_output_B(b, b->layer);
	uint32_t rows = builder_op(b, ".grad_gather", 1, permuted_B(b, out_B, rows_B),
				   b->gradient[b->layer]);
	rows = sort_rows(b, ".grad_sort", from->experts, rows_B, SORT_OPERATORS - 1, rows);
	rows = pad_rows(b, ".grad_pad", rows_B, 1, rows);
	if (is_megatron(b)) {
		builder_receive(b, layer->inputs[0], rows);
		builder_receive(b, layer->inputs[1], rows);
		return;
	}
	builder_receive(b, layer->inputs[0],
			tokens_elementwise(b, ".grad", 1, rows_B, rows_B, rows));
	builder_receive(b, layer->inputs[1], builder_op(b, ".grad_weight", 2, 3 * rows_B, rows));
}

static uint32_t dispatch_backward(struct builder *b, const struct layer *layer, uint32_t gradient)
{
	double out_B = builder_output_B(b, b->layer);
	double in_B = builder_output_B(b, layer->inputs[0]);
	gradient = pad_rows(b, ".grad_unpad", out_B, 2, gradient);
	gradient =
		sort_rows(b, ".grad_sort", layer->experts, out_B, DISPATCH_OPERATORS - 1, gradient);
	if (!is_megatron(b))
		gradient = tokens_elementwise(b, ".grad_fill", 1, 0, in_B, gradient);
	return builder_op(b, ".grad", 1, permuted_B(b, in_B, out_B), gradient);
}

static uint32_t route_backward(struct builder *b, const struct layer *layer, uint32_t gradient)
{
	double in_B = builder_output_B(b, layer->inputs[0]);
	double out_B = builder_output_B(b, b->layer);
	if (is_megatron(b))
		gradient = add_operators(b, ".grad_loss", LOSS_GRAD_OPERATORS, 0, gradient);
	gradient = builder_op(b, ".grad_select", ROUTE_GRAD_KERNELS, in_B + 2 * out_B, gradient);
	return tokens_elementwise(b, ".grad", 1, 2 * in_B, in_B, gradient);
}

void experts_backward(struct builder *b, const struct layer *layer, uint32_t gradient)
{
	if (layer->op == LAYER_COMBINE)
		combine_backward(b, layer);
	else
		builder_receive(b, layer->inputs[0],
				layer->op == LAYER_ROUTE ? route_backward(b, layer, gradient)
							 : dispatch_backward(b, layer, gradient));
}

/* ---- activation ---- */

/* Halves of the input that kernels read and write to clamp it and to join the halves again, and in
 * backward to mask the gradients and to join them (fused_bias_geglu.py,
 * weighted_bias_quick_geglu_impl: chunk, two clamps and cat are outside of the compiled function).
 */
#define CLAMP_HALVES      8.0
#define CLAMP_GRAD_HALVES 10.0
enum { CLAMP_OPERATORS = 3 };

static double halves_B(const struct builder *b, const struct layer *layer, double halves)
{
	return halves * builder_B(b, layer->output_count);
}

uint32_t experts_clamp(struct builder *b, const struct layer *layer, uint32_t input)
{
	if (!layer->clamps || !is_megatron(b))
		return input;
	input = add_operators(b, ".clamp", CLAMP_OPERATORS, halves_B(b, layer, CLAMP_HALVES),
			      input);
	/* torch.tensor(linear_offset, device) copies from pageable memory, so the host waits until
	 * the GPU has done all before it */
	b->ops.items[input].result_B = b->element_B;
	return input;
}

uint32_t experts_clamp_gradient(struct builder *b, const struct layer *layer, uint32_t gradient)
{
	if (!is_megatron(b) || b->network->layers[layer->inputs[0]].experts == 0)
		return gradient;
	/* the sum of a row's gradients is the gradient of its probability */
	gradient = builder_op(b, ".grad_weight", 1, halves_B(b, layer, 3), gradient);
	if (!layer->clamps)
		return gradient;
	return add_operators(b, ".grad_clamp", CLAMP_OPERATORS,
			     halves_B(b, layer, CLAMP_GRAD_HALVES), gradient);
}

/* ---- bias ---- */

/* Elements that the operators of an expert's bias read and write for each element of its output:
 * bias times probability, its sum with the output, and cat of all experts. Backward multiplies and
 * adds up for the gradients of the bias and of the probabilities, and joins the parts
 * (experts.py, TEGroupedMLP._apply_bias). Probabilities have the type of the rows, unless
 * moe_router_dtype says otherwise. */
#define BIAS_ELEMENTS      6.0
#define BIAS_GRAD_ELEMENTS 8.0
enum { BIAS_OPERATORS = 2, BIAS_GRAD_OPERATORS = 4 }; /* of each expert */

bool experts_weigh_bias(const struct builder *b, const struct layer *layer)
{
	return layer->experts > 0 && is_megatron(b) && layer[1].op == LAYER_COMBINE;
}

uint32_t experts_bias(struct builder *b, const struct layer *layer, double out_count,
		      uint32_t input)
{
	bool forward = b->pass != PASS_BACKWARD;
	uint32_t each = forward ? BIAS_OPERATORS : BIAS_GRAD_OPERATORS;
	double elements = forward ? BIAS_ELEMENTS : BIAS_GRAD_ELEMENTS;
	return add_operators(b, forward ? ".bias" : ".grad_bias",
			     each * (uint32_t)layer->experts + 1,
			     elements * out_count * b->element_B, input);
}
