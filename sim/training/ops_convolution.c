/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ops of convolutions, transposed convolutions and fully connected layers of images. */
#include "sim/training/ops_builder.h"

/* Returns the shape of a convolution. The depth of a volume counts as further rows of its height,
 * because the law of kernel times needs only the numbers of pixels and of products. A transposed
 * convolution computes what the gradient of the data of a convolution computes, from its output to
 * its input. */
static struct kernel_convolution shape_of(const struct builder *b, const struct layer *layer,
					  enum convolution_part part)
{
	const struct layer *in = &b->network->layers[layer->inputs[0]], *out = layer;
	if (layer->op == LAYER_TRANSPOSED_CONV) {
		out = in;
		in = layer;
		part = part == CONVOLUTION_FORWARD ? CONVOLUTION_DATA
		       : part == CONVOLUTION_DATA  ? CONVOLUTION_FORWARD
						   : part;
	}
	return (struct kernel_convolution){
		.part = part,
		.images = b->batch,
		.groups = (double)layer->groups,
		.in_channels = (double)in->channels,
		.out_channels = (double)out->channels,
		.in_height = (double)(in->height * in->depth),
		.in_width = (double)in->width,
		.out_height = (double)(out->height * out->depth),
		.out_width = (double)out->width,
		.window = {layer->window[0] * layer->window[2], layer->window[1]},
		.stride = {layer->stride[0] * layer->stride[2], layer->stride[1]},
	};
}

/* Makes the op a product of one layer's input with its weights, or a gradient of it. */
static void set_product(struct builder *b, uint32_t op, const struct layer *layer,
			enum convolution_part part)
{
	const struct layer *input = &b->network->layers[layer->inputs[0]];
	struct kernel_work *work = &b->ops.items[op].work;
	double rows = b->batch, in = input->output_count, out = layer->output_count;
	work->type = stack_product_type(b->stack, b->gpu, layer->op != LAYER_FC);
	if (part == CONVOLUTION_FORWARD)
		b->ops.items[op].output_B = builder_B(b, out);
	if (layer->op != LAYER_FC) {
		work->form = KERNEL_CONVOLUTION;
		work->convolution = shape_of(b, layer, part);
		return;
	}
	work->form = KERNEL_PRODUCT;
	work->product = part == CONVOLUTION_FORWARD ? (struct kernel_product){rows, out, in, 1}
			: part == CONVOLUTION_DATA  ? (struct kernel_product){rows, in, out, 1}
						    : (struct kernel_product){in, out, rows, 1};
}

/* Adds the kernels that transpose input and output of a convolution on tensor cores, if images are
 * stored as NCHW. With TF32 their time is a part of the convolution's, because the library leaves
 * them out where fp32 is faster. If the convolution also computes what is behind it, the library
 * transposes inside of this call. Returns the op whose output is that of the convolution. */
static uint32_t transpose(struct builder *b, const struct layer *layer, uint32_t product)
{
	enum number_type type = stack_product_type(b->stack, b->gpu, true);
	/* a window of 1 x 1 is a product of matrices in either layout */
	size_t sides = 1;
	for (size_t i = 0; i < SIDES; i++)
		sides *= layer->window[i] * layer->stride[i];
	/* depthwise kernels run in the layout of the images */
	bool plain = sides == 1 || (layer->groups > 1 && layer->groups == layer->channels);
	if (b->stack->layout != LAYOUT_NCHW || layer->op == LAYER_FC || type == NUMBER_FP32 ||
	    plain)
		return product;
	double moved_B = builder_B(b, layer->input_count_total + layer->output_count);
	if (type == NUMBER_TF32)
		b->ops.items[product].work.convolution.transposed_B = 2 * moved_B;
	bool fuses = b->stack->fusion >= FUSION_INFERENCE;
	const struct op *op = &b->ops.items[product];
	uint32_t from = !fuses ? product : op->input_count > 0 ? op->inputs[0] : NONE;
	uint32_t last = builder_op(b, ".transpose", 2, type == NUMBER_TF32 ? 0 : 2 * moved_B, from);
	b->ops.items[last].inner = true;
	return fuses ? product : last;
}

double convolution_weights(const struct builder *b, const struct layer *layer)
{
	return (layer->tied_to ? &b->network->layers[layer->tied_to] : layer)->tensors[0];
}

/* Adds the gradient of the weights to that of layers that share them. The owner, whose gradient is
 * the last one in backward, completes it. */
static uint32_t share(struct builder *b, const struct layer *layer, uint32_t filter)
{
	size_t owner = layer->tied_to ? layer->tied_to : b->layer;
	uint32_t other = b->tied[owner];
	if (other != NONE)
		filter = builder_sum(b, owner, filter, other,
				     convolution_weights(b, layer) * b->weight_B);
	b->tied[owner] = filter;
	return filter;
}

uint32_t convolution_forward(struct builder *b, const struct layer *layer, uint32_t op)
{
	set_product(b, op, layer, CONVOLUTION_FORWARD);
	if (layer->tied_to == 0)
		builder_cast(b, ".cast", layer->tensors[0], NONE);
	return transpose(b, layer, op);
}

void convolution_backward(struct builder *b, const struct layer *layer, double bytes_B)
{
	bool data = b->network->layers[layer->inputs[0]].op != LAYER_INPUT;
	uint32_t gradient = b->gradient[b->layer];
	double flop = 2 * layer->macs * b->batch;
	uint32_t filter = builder_library(b, ".grad_filter", flop, bytes_B, gradient);
	set_product(b, filter, layer, CONVOLUTION_FILTER);
	filter = builder_cast(b, ".grad_cast", convolution_weights(b, layer),
			      transpose(b, layer, filter));
	filter = share(b, layer, filter);
	if (data) {
		uint32_t op = builder_library(b, ".grad_data", flop, bytes_B, gradient);
		set_product(b, op, layer, CONVOLUTION_DATA);
		builder_receive(b, layer->inputs[0], transpose(b, layer, op));
	}
	builder_complete(b, filter);
}
