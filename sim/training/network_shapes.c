/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/network_shapes.h"

#include <string.h>

#include "sim/training/network_tokens.h"

static const char *const op_names[LAYER_OP_COUNT] = {
	[LAYER_INPUT] = "input",
	[LAYER_CONV] = "conv",
	[LAYER_FC] = "fc",
	[LAYER_BATCH_NORM] = "batch_norm",
	[LAYER_BIAS] = "bias",
	[LAYER_RELU] = "relu",
	[LAYER_MAX_POOL] = "max_pool",
	[LAYER_AVG_POOL] = "avg_pool",
	[LAYER_ADD] = "add",
	[LAYER_CONCAT] = "concat",
	[LAYER_LRN] = "lrn",
	[LAYER_DROPOUT] = "dropout",
	[LAYER_SOFTMAX] = "softmax",
	[LAYER_EMBEDDING] = "embedding",
	[LAYER_POSITIONS] = "positions",
	[LAYER_CLASS_TOKEN] = "class_token",
	[LAYER_SELECT] = "select",
	[LAYER_LINEAR] = "linear",
	[LAYER_LAYER_NORM] = "layer_norm",
	[LAYER_RMS_NORM] = "rms_norm",
	[LAYER_QK_NORM] = "qk_norm",
	[LAYER_ROTARY] = "rotary",
	[LAYER_ATTENTION] = "attention",
	[LAYER_GELU] = "gelu",
	[LAYER_SILU] = "silu",
	[LAYER_TANH] = "tanh",
	[LAYER_GATE] = "gate",
	[LAYER_ROUTE] = "route",
	[LAYER_DISPATCH] = "dispatch",
	[LAYER_COMBINE] = "combine",
	[LAYER_CROSS_ENTROPY] = "cross_entropy",
	[LAYER_LOSSES] = "losses",
};

const char *layer_op_name(enum layer_op op)
{
	FW_ASSERT(op >= 0 && op < LAYER_OP_COUNT);
	return op_names[op];
}

static bool window_side(struct diag *diag, const struct layer_spec *spec, const struct layer *input,
			size_t side, size_t *out)
{
	size_t in = side == 0 ? input->height : input->width;

	if (spec->same) {
		*out = (in - 1) / spec->stride[side] + 1;
		return true;
	}
	if (spec->kernel[side] > in)
		return diag_error(
			diag, spec->origin,
			"layer '%s': its kernel of %zu x %zu is larger than its input of %zu x "
			"%zu (write pad = \"same\" or a smaller kernel)",
			spec->name, spec->kernel[0], spec->kernel[1], input->height, input->width);
	*out = (in - spec->kernel[side]) / spec->stride[side] + 1;
	return true;
}

static bool window_shape(struct diag *diag, const struct layer_spec *spec,
			 const struct layer *input, struct layer *layer)
{
	return window_side(diag, spec, input, 0, &layer->height) &&
	       window_side(diag, spec, input, 1, &layer->width);
}

static bool add_shape(struct diag *diag, const struct layer_spec *spec, const struct layer *layers,
		      const struct layer *layer)
{
	const struct layer *first = &layers[layer->inputs[0]];

	for (size_t i = 1; i < layer->input_count; i++) {
		const struct layer *other = &layers[layer->inputs[i]];

		if (other->channels == first->channels && other->height == first->height &&
		    other->width == first->width)
			continue;
		return diag_error(
			diag, spec->origin,
			"layer '%s' cannot add '%s' of %zu x %zu x %zu to '%s' of %zu x %zu x "
			"%zu (make the shapes equal, for example with a 1 x 1 conv)",
			spec->name, other->name, other->channels, other->height, other->width,
			first->name, first->channels, first->height, first->width);
	}
	return true;
}

static bool concat_shape(struct diag *diag, const struct layer_spec *spec,
			 const struct layer *layers, struct layer *layer)
{
	const struct layer *first = &layers[layer->inputs[0]];

	for (size_t i = 1; i < layer->input_count; i++) {
		const struct layer *other = &layers[layer->inputs[i]];

		if (other->height != first->height || other->width != first->width)
			return diag_error(
				diag, spec->origin,
				"layer '%s' cannot join '%s' of %zu x %zu pixels to '%s' of %zu "
				"x %zu (only channels may differ: give them the same strides "
				"and pad)",
				spec->name, other->name, other->height, other->width, first->name,
				first->height, first->width);
		layer->channels += other->channels;
	}
	return true;
}

static void one_by_one(struct layer *layer, size_t channels)
{
	layer->channels = channels;
	layer->height = 1;
	layer->width = 1;
}

void layer_add_tensor(struct layer *layer, double elements_count)
{
	FW_ASSERT(layer->tensor_count < LAYER_TENSORS_MAX);
	layer->tensors[layer->tensor_count++] = elements_count;
}

/* Sets the layer's shape and tensors. Sets *macs_per_output only for layers that multiply
 * matrices. */
static bool derive_op(struct diag *diag, const struct layer_spec *spec, const struct layer *layers,
		      struct layer *layer, double *macs_per_output)
{
	const struct layer *input = &layers[layer->inputs[0]];

	switch (layer->op) {
	case LAYER_CONV:
		layer->channels = spec->out;
		*macs_per_output =
			(double)input->channels * (double)spec->kernel[0] * (double)spec->kernel[1];
		layer_add_tensor(layer, *macs_per_output * (double)spec->out);
		return window_shape(diag, spec, input, layer);
	case LAYER_FC:
		one_by_one(layer, spec->out);
		*macs_per_output = input->output_count;
		layer_add_tensor(layer, *macs_per_output * (double)spec->out);
		return true;
	case LAYER_BATCH_NORM:
		if (spec->scale)
			layer_add_tensor(layer, (double)layer->channels);
		layer_add_tensor(layer, (double)layer->channels);
		layer->state_tensor_count = 2;
		return true;
	case LAYER_BIAS:
		layer_add_tensor(layer, (double)layer->channels);
		return true;
	case LAYER_MAX_POOL:
	case LAYER_AVG_POOL:
		if (spec->global) {
			one_by_one(layer, input->channels);
			return true;
		}
		return window_shape(diag, spec, input, layer);
	case LAYER_ADD:
		return add_shape(diag, spec, layers, layer);
	case LAYER_CONCAT:
		return concat_shape(diag, spec, layers, layer);
	case LAYER_RELU:
	case LAYER_LRN:
	case LAYER_DROPOUT:
	case LAYER_SOFTMAX:
		return true;
	default:
		FW_ASSERT(layer->op >= LAYER_EMBEDDING && layer->op < LAYER_OP_COUNT);
		return tokens_derive(diag, spec, layers, layer, macs_per_output);
	}
}

bool layer_derive(struct diag *diag, const struct layer_spec *spec, const struct layer *layers,
		  struct layer *layer)
{
	double macs_per_output = 0;

	FW_ASSERT(layer->input_count > 0);
	memcpy(layer->window, spec->kernel, sizeof layer->window);
	memcpy(layer->stride, spec->stride, sizeof layer->stride);
	layer->channels = layers[layer->inputs[0]].channels;
	layer->height = layers[layer->inputs[0]].height;
	layer->width = layers[layer->inputs[0]].width;
	layer->in_place = layer->op == LAYER_RELU || layer->op == LAYER_BIAS;
	for (size_t i = 0; i < layer->input_count; i++)
		layer->input_count_total += layers[layer->inputs[i]].output_count;
	if (!derive_op(diag, spec, layers, layer, &macs_per_output))
		return false;
	layer->output_count =
		(double)layer->channels * (double)layer->height * (double)layer->width;
	layer->macs = macs_per_output * layer->output_count;
	return true;
}

/* Outputs of all layers but those in place. */
static void keep_outputs(struct network *network, struct layer *layers)
{
	for (size_t i = 0; i < network->layer_count; i++)
		layers[i].kept_count = layers[i].in_place ? 0 : layers[i].output_count;
}

void network_totals(struct network *network, struct layer *layers)
{
	network->layers = layers;
	for (size_t i = 0; i < network->layer_count; i++)
		network->has_tokens |= layers[i].op >= LAYER_EMBEDDING;
	(network->has_tokens ? tokens_keep : keep_outputs)(network, layers);
	for (size_t i = 0; i < network->layer_count; i++) {
		const struct layer *layer = &layers[i];

		for (size_t t = 0; t < layer->tensor_count; t++)
			network->parameters_count += layer->tensors[t];
		for (size_t t = 0; layer->frozen && t < layer->tensor_count; t++)
			network->frozen_count += layer->tensors[t];
		network->gradient_tensors_count += (double)layer->tensor_count;
		network->macs_count += layer->macs;
		network->activations_count += layer->kept_count;
		network->activations_B += layer->kept_B;
	}
}
