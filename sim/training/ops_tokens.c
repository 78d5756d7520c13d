/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ops of layers of tokens, in the kernels that PyTorch launches in eager mode.
 *
 * Elementwise work is written as the chain of ops that autograd records, so op_graph_fuse can
 * fuse it. Attention is one kernel forward if the stack fuses it, and otherwise two matrix
 * products with elementwise kernels between them. docs/models/networks.md lists the ops.
 */
#include "sim/training/ops_builder.h"

/* Kernels that sort tokens, find runs of equal ones and sum their gradients (PyTorch,
 * Embedding.cu, embedding_backward_cuda_kernel). Up to 3072 tokens one kernel does all. */
enum { EMBEDDING_SORT_KERNELS = 10, EMBEDDING_ONE_KERNEL_TOKENS = 3072 };

/* An elementwise op. reads and writes are multiples of the chain's elements. */
struct chain_step {
	const char *what;
	double reads, writes;
};
enum { CHAIN_MAX = 12 };

static const struct chain_step rms_norm_steps[] = {
	{".square", 1, 1}, {".mean", 1, 0}, {".rsqrt", 0, 0}, {".scale", 1, 1}, {".weight", 1, 1}};
static const struct chain_step rms_norm_grad_steps[] = {
	{".grad_weight", 2, 1}, {".grad_weight_sum", 1, 0}, {".grad_scaled", 1, 1},
	{".grad_mul", 2, 1},    {".grad_mul_sum", 1, 0},    {".grad_rsqrt", 0, 0},
	{".grad_x", 1, 1},      {".grad_mean", 0, 1},       {".grad_square", 2, 1},
	{".grad_add", 2, 1}};
enum { RMS_NORM_GRAD_WEIGHT = 1 }; /* the op that completes the weights' gradient */
static const struct chain_step rotary_steps[] = {
	{".negate", 0.5, 0.5}, {".cat", 1, 1}, {".sin", 1, 1}, {".cos", 1, 1}, {".add", 2, 1}};
static const struct chain_step rotary_grad_steps[] = {{".grad_sin", 1, 1},
						      {".grad_cos", 1, 1},
						      {".grad_slice", 1, 1},
						      {".grad_negate", 0.5, 0.5},
						      {".grad_add", 2, 1}};
static const struct chain_step gate_steps[] = {{".silu", 1, 1}, {".mul", 2, 1}};
static const struct chain_step gate_grad_steps[] = {
	{".grad_gate", 2, 1}, {".grad_up", 2, 1}, {".grad_silu", 2, 1}};
/* 0.5 x (1 + tanh(0.8 (x + 0.04 x^3))) as GPT-2's programs write it (openai/gpt-2, src/model.py;
 * transformers, NewGELUActivation) */
static const struct chain_step gelu_new_steps[] = {
	{".half", 1, 1},  {".pow", 1, 1},  {".cube", 1, 1}, {".sum", 2, 1},
	{".scale", 1, 1}, {".tanh", 1, 1}, {".one", 1, 1},  {".mul", 2, 1}};
static const struct chain_step gelu_new_grad_steps[] = {
	{".grad_half", 2, 1},  {".grad_one", 2, 1},  {".grad_x", 1, 1},      {".grad_tanh", 2, 1},
	{".grad_scale", 1, 1}, {".grad_cube", 1, 1}, {".grad_square", 1, 1}, {".grad_three", 1, 1},
	{".grad_pow", 2, 1},   {".grad_sum", 2, 1},  {".grad_add", 2, 1}};

/* The kernels of a layer: the steps of PyTorch's eager mode, or a library's kernel for the whole.
 */
struct chain {
	const struct chain_step *steps;
	size_t count;
	struct chain_step whole;
};
#define CHAIN(steps, reads, writes)                                                                \
	{                                                                                          \
		(steps), sizeof(steps) / sizeof((steps)[0]),                                       \
		{                                                                                  \
			NULL, (reads), (writes)                                                    \
		}                                                                                  \
	}
static const struct chain rms_norm = CHAIN(rms_norm_steps, 1, 1);
static const struct chain rms_norm_grad = CHAIN(rms_norm_grad_steps, 2, 1);
static const struct chain rotary = CHAIN(rotary_steps, 1, 1);
static const struct chain rotary_grad = CHAIN(rotary_grad_steps, 1, 1);
static const struct chain gate = CHAIN(gate_steps, 2, 1);
static const struct chain gate_grad = CHAIN(gate_grad_steps, 3, 2);
static const struct chain gelu_new = CHAIN(gelu_new_steps, 1, 1);
static const struct chain gelu_new_grad = CHAIN(gelu_new_grad_steps, 2, 1);

/* ---- single ops ---- */

uint32_t tokens_elementwise(struct builder *b, const char *what, uint32_t kernels, double read_B,
			    double write_B, uint32_t input)
{
	uint32_t op = builder_op(b, what, kernels, read_B + write_B, input);
	/* cuDNN fuses norms only in convolutional networks */
	return b->stack->fusion == FUSION_NORM ? op : builder_elementwise(b, op, write_B);
}

static bool whole_layers(const struct builder *b)
{
	return b->stack->fusion == FUSION_LAYER;
}

/* Adds steps that follow each other, each with that many kernels, or with FUSION_LAYER the kernel
 * of the whole. The ops' numbers go to ops if it is not NULL. Returns the last op. */
static uint32_t add_chain(struct builder *b, const struct chain *chain, double elements,
			  uint32_t kernels, uint32_t input, uint32_t *ops)
{
	double size_B = builder_B(b, elements) * (b->wide[b->layer] ? 4 / b->element_B : 1);
	bool fused = whole_layers(b);
	const struct chain_step *steps = fused ? &chain->whole : chain->steps;
	const char *whole = b->pass == PASS_BACKWARD ? ".grad" : "";
	for (size_t i = 0; i < (fused ? 1 : chain->count); i++) {
		input = tokens_elementwise(b, fused ? whole : steps[i].what, kernels,
					   steps[i].reads * size_B, steps[i].writes * size_B,
					   input);
		if (ops != NULL)
			ops[i] = input;
	}
	return input;
}

/* Returns the type of a layer's products. Transformer Engine computes linear layers of blocks in
 * FP8, but neither logits nor routers (Megatron-Bridge, performance guide: "exclusively to the
 * linear layers within the Transformer block"). */
enum number_type tokens_product_type(const struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	enum number_type type = stack_product_type(b->stack, b->gpu, false);
	bool linear = layer->block > 0 && layer->op == LAYER_LINEAR && layer[1].op != LAYER_ROUTE;
	return (type == NUMBER_FP8 || type == NUMBER_FP4) && !linear ? NUMBER_BF16 : type;
}

uint32_t tokens_product(struct builder *b, const char *what, struct kernel_product product,
			double bytes_B, uint32_t input)
{
	double flop = 2 * product.m * product.n * product.k * product.count;
	uint32_t op = builder_library(b, what, flop, bytes_B, input);
	struct kernel_work *work = &b->ops.items[op].work;
	b->ops.items[op].output_B = product.m * product.n * product.count * b->element_B;
	work->form = KERNEL_PRODUCT;
	work->type = tokens_product_type(b);
	work->product = product;
	return op;
}

void tokens_align(struct builder *b, uint32_t op, double one, double other)
{
	double count = 1;
	if (whole_layers(b)) /* Megatron-LM pads vocabularies */
		return;
	while (count < 64 && fmod(one, 2 * count) == 0 && fmod(other, 2 * count) == 0)
		count *= 2;
	b->ops.items[op].work.aligned_count = count;
}

/* ---- attention ---- */

struct attention_work { /* of a batch */
	double flop;    /* work of one of the two products, without masked pairs */
	double pair_B;  /* size of all scores */
	/* size of the queries; size of the keys, which is also that of the values */
	double q_B, kv_B;
	double product_B;    /* size of scores, queries or output, and keys or values */
	double tokens, size; /* tokens and size of a head */
	double count;        /* number of heads of all samples */
};

static struct attention_work attention_of(const struct builder *b, const struct layer *layer)
{
	const struct attention_shape *shape = &layer->attention;
	struct attention_work w = {.flop = layer->macs * b->batch,
				   .pair_B = builder_B(b, layer->scores_count),
				   .tokens = tokens_of(layer),
				   .size = (double)shape->head_size,
				   .count = (double)shape->heads * b->batch};
	w.q_B = builder_B(b, w.tokens * w.size * (double)shape->heads);
	w.kv_B = builder_B(b, w.tokens * w.size * (double)shape->kv_heads);
	w.product_B = w.pair_B + w.q_B + w.kv_B;
	return w;
}

/* Adds a fused attention kernel, which keeps the scores on the chip. */
static uint32_t add_fused(struct builder *b, const char *what, double flop, double bytes_B,
			  uint32_t input)
{
	uint32_t op = builder_library(b, what, flop, bytes_B, input);
	b->ops.items[op].work.form =
		b->stack->cudnn_attention ? KERNEL_CUDNN_ATTENTION : KERNEL_ATTENTION;
	b->ops.items[op].work.type = tokens_product_type(b);
	return op;
}

/* Adds dropout of the scores, which libraries with fused layers leave to PyTorch (Megatron-LM,
 * CoreAttention). */
static uint32_t add_dropout(struct builder *b, const char *what, double read_B, double write_B,
			    uint32_t input)
{
	if (b->stack->forward_only)
		return input;
	if (whole_layers(b))
		return builder_op(b, what, 1, read_B + write_B, input);
	return tokens_elementwise(b, what, 1, read_B, write_B, input);
}

/* Adds the product that computes the scores of all pairs, including masked pairs. */
static uint32_t add_scores(struct builder *b, const char *what, const struct attention_work *w,
			   uint32_t input)
{
	return tokens_product(b, what,
			      (struct kernel_product){w->tokens, w->tokens, w->size, w->count},
			      w->product_B, input);
}

/* Adds the product of the scores of all pairs and features. */
static uint32_t add_values(struct builder *b, const char *what, const struct attention_work *w,
			   uint32_t input)
{
	return tokens_product(b, what,
			      (struct kernel_product){w->tokens, w->size, w->tokens, w->count},
			      w->product_B, input);
}

/* Adds the copies by which frameworks order features by heads and back: batched products need the
 * tokens of a head in contiguous memory. Megatron-LM's layout needs no copies. */
static uint32_t add_transposes(struct builder *b, const char *what, uint32_t kernels,
			       double moved_B, uint32_t input)
{
	return whole_layers(b) ? input : builder_op(b, what, kernels, 2 * moved_B, input);
}

/* Returns the lengths and heads of attention without backward. */
static struct kernel_attention block_attention(const struct builder *b, const struct layer *layer,
					       const struct attention_work *w)
{
	const struct attention_shape *shape = &layer->attention;
	return (struct kernel_attention){.sequences = b->batch,
					 .queries = w->tokens,
					 .keys = w->tokens,
					 .heads = (double)shape->heads,
					 .kv_heads = (double)shape->kv_heads,
					 .head_size = w->size,
					 .value_size = (double)shape->value_size,
					 .window = (double)shape->window,
					 .element_B = b->element_B,
					 .causal = shape->causal};
}

/* Adds fused attention that also reads the keys and values of stack.context earlier tokens. The law
 * of its time contains the write of the new ones into the cache. */
static uint32_t cached_attention(struct builder *b, const struct layer *layer,
				 const struct attention_work *w, uint32_t input)
{
	struct kernel_attention shape = block_attention(b, layer, w);
	double seen = b->stack->context_count;
	if (shape.window > 0)
		seen = fmin(seen, shape.window - 1);
	double cached_B = 2 * w->kv_B * seen / w->tokens;
	input = add_fused(b, "", 2 * w->flop + 4 * w->tokens * seen * w->size * w->count,
			  2 * w->q_B + 2 * w->kv_B + cached_B, input);
	shape.keys += seen;
	b->ops.items[input].work.attention = shape;
	return input;
}

static uint32_t attention_forward(struct builder *b, const struct layer *layer, uint32_t input)
{
	struct attention_work w = attention_of(b, layer);
	if (b->stack->fused_attention && b->stack->forward_only)
		return cached_attention(b, layer, &w, input);
	if (b->stack->fused_attention)
		return add_fused(b, "", 2 * w.flop, 2 * w.q_B + 2 * w.kv_B, input);
	input = add_transposes(b, ".transpose", 3, w.q_B + 2 * w.kv_B, input);
	input = add_scores(b, ".scores", &w, input);
	input = tokens_elementwise(b, ".scale", 1, w.pair_B, w.pair_B, input);
	if (layer->attention.causal || layer->attention.mask)
		input = tokens_elementwise(b, ".mask", 1, w.pair_B, w.pair_B, input);
	input = tokens_elementwise(b, ".softmax", 1, w.pair_B, w.pair_B, input);
	if (layer->attention.dropout)
		input = add_dropout(b, ".dropout", w.pair_B, w.pair_B, input);
	input = add_values(b, "", &w, input);
	return add_transposes(b, ".merge", 1, w.q_B, input);
}

/* Adds the backward kernels of FlashAttention: sums of output times gradient, all products, a
 * conversion from fp32. */
static uint32_t fused_backward(struct builder *b, const struct layer *layer, uint32_t gradient)
{
	struct attention_work w = attention_of(b, layer);
	gradient = builder_op(b, ".grad_dot", 1, 2 * w.q_B, gradient);
	gradient = add_fused(b, ".grad", 5 * w.flop, 4 * w.q_B + 4 * w.kv_B, gradient);
	return builder_op(b, ".grad_convert", 1, 2 * w.q_B, gradient);
}

static uint32_t attention_backward(struct builder *b, const struct layer *layer, uint32_t gradient)
{
	struct attention_work w = attention_of(b, layer);
	if (b->stack->fused_attention)
		return fused_backward(b, layer, gradient);
	gradient = add_transposes(b, ".grad_merge", 1, w.q_B, gradient);
	gradient = add_values(b, ".grad_value", &w, gradient);
	gradient = add_scores(b, ".grad_pairs", &w, gradient);
	if (layer->attention.dropout)
		gradient = add_dropout(b, ".grad_dropout", 2 * w.pair_B, w.pair_B, gradient);
	gradient = tokens_elementwise(b, ".grad_softmax", 1, 2 * w.pair_B, w.pair_B, gradient);
	if (layer->attention.causal)
		gradient = tokens_elementwise(b, ".grad_mask", 1, w.pair_B, w.pair_B, gradient);
	gradient = tokens_elementwise(b, ".grad_scale", 1, w.pair_B, w.pair_B, gradient);
	gradient = add_values(b, ".grad_query", &w, gradient);
	gradient = add_values(b, ".grad_key", &w, gradient);
	return add_transposes(b, ".grad_transpose", 3, w.q_B + 2 * w.kv_B, gradient);
}

/* Returns the number of elements of queries and keys, which rotary positions and their norms
 * change. */
static double queries_and_keys(const struct layer *layer)
{
	const struct attention_shape *shape = &layer->attention;
	return tokens_of(layer) * (double)((shape->heads + shape->kv_heads) * shape->head_size);
}

/* ---- cross-entropy, embedding and positions ---- */

/* Returns the size of an element in losses: they are computed in fp32, unless the whole network
 * computes in 16 bits. */
static double loss_element_B(const struct builder *b)
{
	return b->stack->master_weights ? b->element_B : 4;
}

/* Returns true if 16-bit logits are cast to fp32 by kernels of their own. Under autocast the
 * softmax itself reads 16 bits and writes fp32 (PyTorch, autocast_mode.h: fp32_set_opt_dtype). */
static bool casts_logits(const struct builder *b)
{
	return b->element_B < loss_element_B(b) && (!b->stack->autocast || whole_layers(b));
}

static uint32_t cross_entropy_forward(struct builder *b, const struct layer *layer, uint32_t input)
{
	double count = layer->output_count * b->batch, size_B = loss_element_B(b) * count;
	double logits_B = b->element_B * count;
	if (casts_logits(b)) {
		input = tokens_elementwise(b, ".cast", 1, logits_B, size_B, input);
		logits_B = size_B;
	}
	input = tokens_elementwise(b, "", 1, logits_B, size_B, input);
	return builder_op(b, ".pick", 1, 16 * tokens_of(layer) * b->batch, input);
}

static uint32_t cross_entropy_backward(struct builder *b, const struct layer *layer,
				       uint32_t gradient)
{
	double count = layer->output_count * b->batch, size_B = loss_element_B(b) * count;
	double logits_B = b->element_B * count;
	gradient = tokens_elementwise(b, ".grad_fill", 1, 0, size_B, gradient);
	gradient = builder_op(b, ".grad_pick", 1, 16 * tokens_of(layer) * b->batch, gradient);
	gradient = tokens_elementwise(b, ".grad", 1, 2 * size_B,
				      casts_logits(b) ? size_B : logits_B, gradient);
	if (casts_logits(b))
		gradient = tokens_elementwise(b, ".grad_cast", 1, size_B, logits_B, gradient);
	return gradient;
}

static void embedding_backward(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	double matrix_B = layer->tensors[0] * b->weight_B;
	double out_B = builder_output_B(b, b->layer);
	bool few = tokens_of(layer) * b->batch <= EMBEDDING_ONE_KERNEL_TOKENS;
	uint32_t op = tokens_elementwise(b, ".grad_fill", 1, 0, matrix_B, b->gradient[b->layer]);
	op = builder_op(b, ".grad", few ? 1 : EMBEDDING_SORT_KERNELS, 2 * out_B, op);
	if (b->tied[b->layer] != NONE)
		op = builder_sum(b, b->layer, op, b->tied[b->layer], matrix_B);
	builder_complete(b, op);
}

/* The gradient is one vector for each position, summed over the samples of the batch. */
static void positions_backward(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	builder_complete(b,
			 builder_op(b, ".grad", 1,
				    builder_output_B(b, b->layer) + layer->tensors[0] * b->weight_B,
				    b->gradient[b->layer]));
	builder_receive(b, layer->inputs[0], b->gradient[b->layer]);
}

/* Autocast computes layer norms in fp32, behind a cast of 16 bits. The output stays fp32. */
static uint32_t layer_norm(struct builder *b, const char *what, double reads, uint32_t input)
{
	const struct layer *layer = builder_layer(b);
	double size_B = builder_output_B(b, b->layer);
	bool cast = b->wide[b->layer] && !b->wide[layer->inputs[0]];
	if (cast && b->pass == PASS_FORWARD)
		input = builder_change(b, ".up", layer->output_count, input);
	input = tokens_elementwise(b, what, 1, reads * size_B, size_B, input);
	if (cast && b->pass == PASS_BACKWARD)
		input = builder_change(b, ".grad_down", layer->output_count, input);
	return input;
}

/* Autocast computes powers in fp32, and so all after them. */
static uint32_t gelu_new_op(struct builder *b, const struct layer *layer, uint32_t input)
{
	bool cast = b->wide[b->layer] && !b->wide[layer->inputs[0]];
	if (b->pass == PASS_BACKWARD) {
		input = add_chain(b, &gelu_new_grad, layer->output_count, 1, input, NULL);
		return cast ? builder_change(b, ".grad_down", layer->output_count, input) : input;
	}
	if (cast)
		input = builder_change(b, ".up", layer->output_count, input);
	return add_chain(b, &gelu_new, layer->output_count, 1, input, NULL);
}

static void norm_backward(struct builder *b, double elements, uint32_t kernels)
{
	const struct layer *layer = builder_layer(b);
	uint32_t ops[CHAIN_MAX] = {0}, gradient = b->gradient[b->layer], data;
	if (layer->op == LAYER_LAYER_NORM) {
		data = layer_norm(b, ".grad", 2, gradient);
		builder_complete(b, whole_layers(b)
					    ? data
					    : builder_reduction(b, ".grad_weight",
								2 * builder_output_B(b, b->layer),
								gradient));
	} else {
		data = add_chain(b, &rms_norm_grad, elements, kernels, gradient, ops);
		builder_complete(b, whole_layers(b) ? data : ops[RMS_NORM_GRAD_WEIGHT]);
	}
	builder_receive(b, layer->inputs[0], data);
}

/* ---- forward ---- */

static uint32_t forward_op(struct builder *b, const struct layer *layer, uint32_t input)
{
	double in_B = builder_inputs_B(b, layer);
	double out_B = builder_output_B(b, b->layer);
	switch (layer->op) {
	case LAYER_EMBEDDING:
	case LAYER_SELECT:
		return builder_op(b, "", 1, 2 * out_B, input);
	case LAYER_POSITIONS:
		return tokens_elementwise(b, "", 1, in_B + layer->tensors[0] * b->weight_B, out_B,
					  input);
	case LAYER_CLASS_TOKEN:
		input = builder_op(b, ".transpose", 1, 2 * in_B, input);
		return builder_op(b, "", 1, in_B + out_B, input);
	case LAYER_LINEAR:
		return linear_forward(b, layer, input);
	case LAYER_LAYER_NORM:
		return layer_norm(b, "", 1, input);
	case LAYER_RMS_NORM:
		return add_chain(b, &rms_norm, layer->output_count, 1, input, NULL);
	case LAYER_QK_NORM:
		return add_chain(b, &rms_norm, queries_and_keys(layer), 2, input, NULL);
	case LAYER_ROTARY:
		return add_chain(b, &rotary, queries_and_keys(layer), 2, input, NULL);
	case LAYER_ATTENTION:
		return attention_forward(b, layer, input);
	case LAYER_RECURRENT:
		return recurrent_scan(b, "", 1, input);
	case LAYER_GELU_NEW:
		return gelu_new_op(b, layer, input);
	case LAYER_GATE:
		input = experts_clamp(b, layer, input);
		return add_chain(b, &gate, layer->output_count, 1, input, NULL);
	case LAYER_ROUTE:
	case LAYER_DISPATCH:
	case LAYER_COMBINE:
		return experts_forward(b, layer, input);
	case LAYER_CROSS_ENTROPY:
		return cross_entropy_forward(b, layer, input);
	case LAYER_LOSSES:
		return builder_op(b, "", (uint32_t)layer->input_count - 1, 0, input);
	default: /* norms in one kernel, and activations */
		return tokens_elementwise(b, "", 1, in_B, out_B, input);
	}
}

void tokens_forward(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	uint32_t input = b->forward[layer->inputs[0]];
	for (size_t i = 1; i < layer->input_count;
	     i++) /* among several inputs, the op issued last decides */
		if (b->forward[layer->inputs[i]] != NONE && b->forward[layer->inputs[i]] > input)
			input = b->forward[layer->inputs[i]];
	b->forward[b->layer] = forward_op(b, layer, input);
}

/* ---- backward ---- */

/* Adds the gradient of the first input, for layers without tensors. */
static uint32_t data_gradient(struct builder *b, const struct layer *layer, uint32_t gradient)
{
	double in_B = builder_output_B(b, layer->inputs[0]);
	double out_B = builder_output_B(b, b->layer);
	switch (layer->op) {
	case LAYER_SELECT:
		gradient = tokens_elementwise(b, ".grad_fill", 1, 0, in_B, gradient);
		return builder_op(b, ".grad", 1, 2 * out_B, gradient);
	case LAYER_ROTARY:
		return add_chain(b, &rotary_grad, queries_and_keys(layer), 2, gradient, NULL);
	case LAYER_GELU_NEW:
		return gelu_new_op(b, layer, gradient);
	case LAYER_GATE:
		gradient = add_chain(b, &gate_grad, layer->output_count, 1, gradient, NULL);
		gradient = experts_clamp_gradient(b, layer, gradient);
		return whole_layers(b)
			       ? gradient
			       : tokens_elementwise(b, ".grad_cat", 1, in_B, in_B, gradient);
	case LAYER_CROSS_ENTROPY:
		return cross_entropy_backward(b, layer, gradient);
	default: /* activations */
		return tokens_elementwise(b, ".grad", 1, 2 * out_B, out_B, gradient);
	}
}

static void class_token_backward(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	double in_B = builder_B(b, layer->input_count_total);
	builder_complete(b, builder_op(b, ".grad", 1, builder_B(b, (double)layer->channels),
				       b->gradient[b->layer]));
	builder_receive(b, layer->inputs[0],
			builder_op(b, ".grad_slice", 1, 2 * in_B, b->gradient[b->layer]));
}

void tokens_backward(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	uint32_t gradient = b->gradient[b->layer];
	switch (layer->op) {
	case LAYER_EMBEDDING:
		if (!layer->frozen)
			embedding_backward(b);
		return;
	case LAYER_POSITIONS:
		positions_backward(b);
		return;
	case LAYER_CLASS_TOKEN:
		class_token_backward(b);
		return;
	case LAYER_LINEAR:
		linear_backward(b);
		return;
	case LAYER_LAYER_NORM:
	case LAYER_RMS_NORM:
		norm_backward(b, layer->output_count, 1);
		return;
	case LAYER_QK_NORM:
		norm_backward(b, queries_and_keys(layer), 2);
		return;
	case LAYER_ATTENTION:
	case LAYER_RECURRENT:
		gradient = layer->op == LAYER_RECURRENT ? recurrent_scan(b, ".grad", 2, gradient)
							: attention_backward(b, layer, gradient);
		builder_complete(b, gradient);
		for (size_t i = 0; i < layer->input_count; i++)
			builder_receive(b, layer->inputs[i], gradient);
		return;
	case LAYER_ROUTE:
	case LAYER_DISPATCH:
	case LAYER_COMBINE:
		experts_backward(b, layer, gradient);
		return;
	case LAYER_LOSSES:
		for (size_t i = 0; i < layer->input_count; i++)
			builder_receive(b, layer->inputs[i], gradient);
		return;
	default:
		builder_receive(b, layer->inputs[0], data_gradient(b, layer, gradient));
		return;
	}
}
