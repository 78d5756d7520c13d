/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ops of linear layers of tokens, in 16 or 32 bits or in FP8. */
#include "sim/training/ops_builder.h"

struct linear_part {                   /* of a linear layer */
	struct kernel_product product; /* rows x out features x in features, for each matrix */
	double in_count, out_count, weight_count;
	double factor_B; /* size of an element of a factor */
	const char *suffix;
};

/* With FUSION_LAYER, parts with the same input are one product, as in model servers. ONNX Runtime
 * has one for query, key and value if attention follows at once (attention_fusion.cc). */
static size_t parts_of(const struct builder *b, const struct layer *layer)
{
	enum stack_fusion fusion = (enum stack_fusion)b->stack->fusion;
	bool one = fusion == FUSION_LAYER || b->stack->joined_products ||
		   (fusion == FUSION_SESSION && layer[1].op == LAYER_ATTENTION);
	return one ? 1 : layer->part_count;
}

/* Returns true if kernels quantise the factors of the layer's products. */
static bool quantises(const struct builder *b)
{
	return b->stack->precision >= PRECISION_FP8 && tokens_product_type(b) != NUMBER_BF16;
}

static struct linear_part part_of(const struct builder *b, const struct layer *layer, size_t i)
{
	static const char *const suffixes[] = {"", ".2", ".3"};
	const struct layer *input = &b->network->layers[layer->inputs[0]];
	double rows = tokens_of(layer) * b->batch, out = (double)layer->parts[i];
	double in = (double)input->channels, matrices = 1;
	size_t last = parts_of(b, layer) == 1 ? layer->part_count : i + 1;
	_Static_assert(sizeof suffixes / sizeof suffixes[0] == LAYER_PARTS_MAX, "a suffix each");
	for (size_t k = i + 1; k < last; k++)
		out += (double)layer->parts[k];
	if (layer->experts > 0) /* with few rows, some experts have no row */
		matrices = rows < (double)layer->experts ? rows : (double)layer->experts;
	return (struct linear_part){.product = {rows / matrices, out, in, matrices},
				    .in_count = rows * in,
				    .out_count = rows * out,
				    .weight_count = matrices * in * out,
				    .factor_B =
					    quantises(b) ? stack_factor_B(b->stack) : b->element_B,
				    .suffix = suffixes[i]};
}

/* Notes that the op treats that many experts. A library that launches kernels for each of them
 * needs host work for each one behind the first. */
static void of_experts(struct builder *b, uint32_t op, double count)
{
	b->ops.items[op].host_s = b->stack->expert_call_s * (count - 1);
	b->ops.items[op].work.grouped = builder_layer(b)->experts > 0;
}

/* Returns the kernels that quantise a factor. Transformer Engine has one for all experts only with
 * scales of earlier steps (cast.cpp, multi_tensor_quantize_impl). A scale of the present tensor
 * needs its largest value, a kernel that computes the scale, and the cast (quantizer.cpp). */
static uint32_t convert_kernels(const struct builder *b, const struct linear_part *part)
{
	if (b->stack->expert_call_s <= 0 || part->product.count <= 1)
		return 1;
	return (uint32_t)part->product.count * (b->stack->precision == PRECISION_FP8 ? 3 : 1);
}

/* Adds the kernels that quantise a factor in both orders, because the product of the weights'
 * gradients reads its transpose. A norm or GELU writes FP8 itself; then one order remains, and the
 * norm writes less. It writes both orders of MXFP8, so only their scales are left to reorder for
 * the product. NVFP4, and FP8 of experts, first need the largest value of the tensor (Transformer
 * Engine: cast_transpose, quantize_mxfp8, swizzle, nvfp4_transpose). */
static uint32_t convert(struct builder *b, const char *what, const struct linear_part *part,
			double elements, bool written, uint32_t input)
{
	double e_B = b->element_B, factors_B = 2 * part->factor_B, moved_B;
	uint32_t kernels = convert_kernels(b, part);
	if (!quantises(b))
		return input;
	if (b->stack->forward_only) { /* only one order, in a kernel before the product */
		input = builder_op(b, what, 1, elements * (e_B + part->factor_B), input);
		b->ops.items[input].work.quantises = true;
		return input;
	}
	if (b->stack->precision == PRECISION_NVFP4)
		moved_B = 2 * e_B + factors_B;
	else if (b->stack->precision == PRECISION_MXFP8)
		moved_B = (written ? 0 : e_B + factors_B) + 4.0 / 32;
	else
		moved_B = written ? 1 : (kernels > 1 ? 2 : 1) * e_B + factors_B;
	input = builder_op(b, what, kernels, elements * moved_B, input);
	of_experts(b, input, part->product.count);
	return input;
}

static bool has_bias(const struct layer *layer)
{
	return layer->tensor_count > (layer->tied_to ? 0 : layer->part_count);
}

uint32_t linear_forward(struct builder *b, const struct layer *layer, uint32_t input)
{
	enum layer_op from = b->network->layers[layer->inputs[0]].op;
	bool written = from == LAYER_LAYER_NORM || from == LAYER_RMS_NORM || from == LAYER_GELU;
	struct linear_part first = part_of(b, layer, 0);
	input = convert(b, ".convert", &first, first.in_count, written, input);
	for (size_t i = 0; i < parts_of(b, layer); i++) {
		struct linear_part part = part_of(b, layer, i);
		builder_cast(b, ".cast", part.weight_count, NONE);
		if (has_bias(layer))
			builder_cast(b, ".bias_cast", part.product.n, NONE);
		if (b->wide[layer->inputs[0]]) /* autocast keeps no casts of inputs */
			input = builder_change(b, ".input_cast", part.in_count / b->batch, input);
		input = tokens_product(b, part.suffix, part.product,
				       (part.in_count + part.weight_count) * part.factor_B +
					       part.out_count * b->element_B,
				       input);
		tokens_align(b, input, part.product.n, part.product.k);
		of_experts(b, input, part.product.count);
		if (has_bias(layer) && experts_weigh_bias(b, layer)) {
			input = experts_bias(b, layer, part.out_count, input);
			continue;
		}
		b->ops.items[input].epilogue = has_bias(layer) && !b->stack->separate_bias;
		if (b->stack->separate_bias && has_bias(layer))
			input = tokens_elementwise(b,
						   arena_printf(b->arena, ".bias%s", part.suffix),
						   1, part.out_count * b->element_B,
						   part.out_count * b->element_B, input);
	}
	return input;
}

/* Adds the products that compute the gradients of a part's weights and bias. Returns the last op.
 */
static uint32_t weight_gradients(struct builder *b, const struct layer *layer,
				 const struct linear_part *part, bool bias, uint32_t gradient)
{
	struct kernel_product p = part->product;
	/* an fp32 sum is read and written */
	double sum_B = b->stack->fused_accumulation ? 2 * 4 : b->element_B;
	uint32_t last = tokens_product(b, arena_printf(b->arena, ".grad_weight%s", part->suffix),
				       (struct kernel_product){p.k, p.n, p.m, p.count},
				       (part->in_count + part->out_count) * part->factor_B +
					       part->weight_count * sum_B,
				       gradient);
	tokens_align(b, last, p.n, p.k);
	of_experts(b, last, p.count);
	last = builder_cast(b, ".grad_cast", part->weight_count, last);
	if (layer->tied_to)
		b->tied[layer->tied_to] = last;
	if (!bias)
		return last;
	last = builder_reduction(b, arena_printf(b->arena, ".grad_bias%s", part->suffix),
				 part->out_count * b->element_B, gradient);
	return builder_cast(b, ".grad_bias_cast", p.n, last);
}

void linear_backward(struct builder *b)
{
	const struct layer *layer = builder_layer(b);
	uint32_t gradient = b->gradient[b->layer], last = NONE;
	bool bias = has_bias(layer);
	for (size_t i = 0; i < parts_of(b, layer); i++) {
		struct linear_part part = part_of(b, layer, i);
		struct kernel_product p = part.product;
		size_t from;
		if (bias && experts_weigh_bias(b, layer)) {
			gradient = experts_bias(b, layer, part.out_count, gradient);
			bias = false;
		}
		gradient = convert(b, ".grad_convert", &part, part.out_count, false, gradient);
		from = b->ops.count;
		if (!layer->frozen)
			last = weight_gradients(b, layer, &part, bias, gradient);
		for (size_t k = from; k < b->ops.count; k++)
			b->ops.items[k].weights = true;
		uint32_t data =
			tokens_product(b, arena_printf(b->arena, ".grad_data%s", part.suffix),
				       (struct kernel_product){p.m, p.k, p.n, p.count},
				       (part.out_count + part.weight_count) * part.factor_B +
					       part.in_count * b->element_B,
				       gradient);
		tokens_align(b, data, p.n, p.k);
		of_experts(b, data, p.count);
		if (b->wide[layer->inputs[0]])
			data = builder_change(b, ".grad_up", part.in_count / b->batch, data);
		builder_receive(b, layer->inputs[0], data);
	}
	builder_complete(b, last);
}

uint32_t recurrent_scan(struct builder *b, const char *what, double times, uint32_t input)
{
	const struct layer *layer = builder_layer(b);
	double states = ceil(tokens_of(layer) / SCAN_TOKENS) * layer->state_count;
	double size_B = builder_inputs_B(b, layer) + builder_output_B(b, b->layer) +
			builder_B(b, 2 * states);
	double flop = 2 * times * layer->macs * b->batch;
	uint32_t op = builder_library(b, what, flop, times * size_B, input);
	b->ops.items[op].work.form = KERNEL_ATTENTION;
	b->ops.items[op].work.type = tokens_product_type(b);
	return op;
}
