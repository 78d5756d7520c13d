/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/training/network_shapes.h"

/* Shapes of layers of tokens, and what they keep for backward.
 *
 * Tokens are the pixels of a layer that is 1 wide: channels are the features of a token, height
 * is the number of tokens. Rows that a router has dispatched to experts count as tokens.
 */

/* Bytes of a token's number, of a mean or other statistic, of a mask's element. */
static const double index_B = 8, statistic_B = 4, mask_B = 1;

double tokens_of(const struct layer *layer)
{
	double part_ratio = layer->part_ratio > 0 ? layer->part_ratio : 1;
	return part_ratio * (double)layer->height * (double)layer->width * (double)layer->depth;
}

double attention_token_count(const struct attention_shape *shape)
{
	return (double)(shape->latent ? shape->latent
				      : shape->kv_heads * (shape->head_size + shape->value_size));
}

/* ---- shapes ---- */

static void layer_add_tensor(struct layer *layer, double elements_count)
{
	FW_ASSERT(layer->tensor_count < LAYER_TENSORS_MAX);
	layer->tensors[layer->tensor_count++] = elements_count;
}

static void derive_linear(const struct layer_spec *spec, const struct layer *input,
			  struct layer *layer)
{
	double matrices = layer->experts ? (double)layer->experts : 1;
	layer->channels = 0;
	for (size_t i = 0; i < layer->part_count; i++) {
		layer->channels += layer->parts[i];
		if (layer->tied_to == 0)
			layer_add_tensor(layer, matrices * (double)input->channels *
							(double)layer->parts[i]);
		if (spec->bias)
			layer_add_tensor(layer, matrices * (double)layer->parts[i]);
	}
}

/* Returns the number of query-key pairs of a sample: each token reads itself and, if causal,
 * only earlier ones in its window. */
static double pairs_of(const struct attention_shape *shape, double tokens)
{
	double window = shape->window > 0 && (double)shape->window < tokens ? (double)shape->window
									    : tokens;
	if (!shape->causal)
		return tokens * tokens;
	return window * (window + 1) / 2 + (tokens - window) * window;
}

static void derive_attention(const struct layer_spec *spec, struct layer *layer,
			     double *macs_per_output)
{
	const struct attention_shape *shape = &layer->attention;
	double tokens = tokens_of(layer);
	double value = (double)shape->value_size;
	layer->channels = shape->heads * shape->value_size;
	layer->scores_count = (double)shape->heads * tokens * tokens;
	/* products for the scores, and products of scores and values */
	*macs_per_output =
		pairs_of(shape, tokens) / tokens * ((double)shape->head_size + value) / value;
	if (spec->rows > 0)
		layer_add_tensor(layer, (double)spec->rows);
}

/* Sets the layer's number of tokens to `rows` and keeps the features. */
static void derive_rows(struct layer *layer, size_t rows)
{
	layer->height = rows;
	layer->width = layer->depth = 1;
}

/* An RMS norm may take the first features of its input only. */
static void derive_norm(const struct layer_spec *spec, struct layer *layer)
{
	if (layer->op == LAYER_RMS_NORM && spec->rows > 0)
		layer->channels = spec->rows;
	layer_add_tensor(layer, (double)layer->channels);
	if (layer->op == LAYER_LAYER_NORM && spec->bias)
		layer_add_tensor(layer, (double)layer->channels);
}

/* Each token multiplies the further weights once, and the state twice: to update and to read it. */
static void derive_recurrent(const struct layer_spec *spec, struct layer *layer,
			     double *macs_per_output)
{
	const struct line_keys *keys = spec->keys;
	layer->channels = keys->hidden;
	layer->state_count = (double)keys->hidden * (double)keys->state;
	*macs_per_output = (double)keys->weights + 2 * (double)keys->state;
	if (keys->weights > 0)
		layer_add_tensor(layer, (double)keys->hidden * (double)keys->weights);
}

/* Does the work of derive_op (network_shapes.c) for the ops from LAYER_EMBEDDING on. Returns
 * false after an error. */
static bool tokens_derive(struct diag *diag, const struct layer_spec *spec,
			  const struct layer *layers, struct layer *layer, double *macs_per_output)
{
	const struct layer *input = &layers[layer->inputs[0]];
	size_t rows = input->height * input->width;
	switch (layer->op) {
	case LAYER_EMBEDDING:
		layer->channels = spec->keys->out;
		layer_add_tensor(layer, (double)spec->rows * (double)spec->keys->out);
		return true;
	case LAYER_POSITIONS:
		layer_add_tensor(layer, (double)spec->rows * (double)layer->channels);
		return true;
	case LAYER_CLASS_TOKEN:
		derive_rows(layer, rows + 1);
		layer_add_tensor(layer, (double)layer->channels);
		return true;
	case LAYER_SELECT:
		derive_rows(layer, spec->rows);
		return true;
	case LAYER_LINEAR:
		derive_linear(spec, input, layer);
		*macs_per_output = (double)input->channels;
		return true;
	case LAYER_LAYER_NORM:
	case LAYER_RMS_NORM:
		derive_norm(spec, layer);
		return true;
	case LAYER_QK_NORM:
		layer_add_tensor(layer, (double)layer->attention.head_size);
		layer_add_tensor(layer, (double)layer->attention.head_size);
		return true;
	case LAYER_ATTENTION:
		derive_attention(spec, layer, macs_per_output);
		return true;
	case LAYER_RECURRENT:
		derive_recurrent(spec, layer, macs_per_output);
		return true;
	case LAYER_GATE:
		layer->channels /= 2; /* both halves come from one product */
		return true;
	case LAYER_ROUTE:
		layer->channels = layer->expert_top;
		return true;
	case LAYER_DISPATCH:
		derive_rows(layer, rows * layer->expert_top);
		return true;
	case LAYER_COMBINE:
		derive_rows(layer, rows / layer->expert_top);
		return true;
	case LAYER_LOSSES:
		layer->channels = 1;
		derive_rows(layer, 1);
		return true;
	default:
		return true; /* the output has the input's shape */
	}
}

/* ---- what is kept ---- */

/* Returns true if the backward pass needs the layer's inputs. A linear layer needs them for the
 * gradients of its weights. */
static bool needs_input(const struct layer *layer)
{
	return layer_has(layer->op, NEEDS_INPUT) && !(layer->op == LAYER_LINEAR && layer->frozen);
}

/* Adds the data that the layer keeps for backward, besides its input and output, in PyTorch's
 * eager mode. */
static void keep_inside(const struct layer *input, struct layer *layer)
{
	double tokens = tokens_of(layer);
	const struct attention_shape *shape = &layer->attention;
	switch (layer->op) {
	case LAYER_EMBEDDING:
		layer->kept_B += index_B * tokens;
		return;
	case LAYER_LAYER_NORM:
		layer->kept_B += 2 * statistic_B * tokens; /* keeps mean and deviation */
		return;
	case LAYER_RMS_NORM: /* keeps the normalised values before the weights */
		layer->steps_count = layer->output_count;
		layer->kept_B += statistic_B * tokens;
		return;
	case LAYER_QK_NORM:
		layer->steps_count =
			tokens * (double)((shape->heads + shape->kv_heads) * shape->head_size);
		layer->kept_B += statistic_B * tokens * (double)(shape->heads + shape->kv_heads);
		return;
	case LAYER_GATE: /* keeps the activation of the gate's half */
		layer->steps_count = layer->output_count;
		return;
	case LAYER_GELU_NEW: /* keeps the base of the power, tanh, and both factors of the product
			      */
		layer->steps_count = 4 * layer->output_count;
		return;
	case LAYER_DROPOUT:
		layer->kept_B += mask_B * layer->output_count;
		return;
	case LAYER_ROUTE: /* keeps all probabilities and the numbers of the experts */
		layer->kept_count += input->output_count;
		layer->kept_B += index_B * layer->output_count;
		return;
	case LAYER_DISPATCH: /* keeps the order of the rows */
		layer->kept_B += index_B * tokens;
		return;
	case LAYER_CROSS_ENTROPY: /* keeps fp32 logarithms of the probabilities */
		layer->kept_B += 4 * layer->output_count;
		return;
	default:
		return;
	}
}

/* Adds the data that attention keeps for backward. Fused attention keeps one statistic for each
 * query. Other attention keeps the probabilities and, with dropout, their mask and the result of
 * dropout. */
static void keep_scores(struct network *network, const struct layer *layer)
{
	double queries = (double)layer->attention.heads * tokens_of(layer);
	if (layer->op != LAYER_ATTENTION)
		return;
	network->fused_B += statistic_B * queries;
	network->scores_count += layer->scores_count * (layer->attention.dropout ? 2 : 1);
	network->scores_B += layer->attention.dropout ? mask_B * layer->scores_count : 0;
}

/* Fills kept_count and kept_B of all layers: the activations that backward needs. */
static void tokens_keep(struct network *network, struct layer *layers)
{
	for (size_t i = 0; i < network->layer_count; i++) {
		struct layer *layer = &layers[i];
		if (layer_has(layer->op, NEEDS_OUTPUT)) {
			layer->kept_count = layer->output_count;
			layer->other_keeps = true;
		}
		for (size_t k = 0; k < layer->input_count && needs_input(layer); k++) {
			struct layer *input = &layers[layer->inputs[k]];
			bool product = layer->op == LAYER_LINEAR && layer->block > 0;
			input->kept_count = input->output_count;
			*(product ? &input->product_keeps : &input->other_keeps) = true;
		}
	}
	for (size_t i = 1; i < network->layer_count; i++) {
		keep_inside(&layers[layers[i].inputs[0]], &layers[i]);
		layers[i].kept_count += layers[i].steps_count;
		keep_scores(network, &layers[i]);
	}
}

static const struct layer_kind kinds[LAYER_OP_COUNT] = {
	[LAYER_INPUT] = {"input", 0, {1, 1}, {0, 2}},
	[LAYER_CONV] = {"conv", NEEDS_INPUT | LIBRARY | PRODUCT, {1, 1}, {0, 2}},
	[LAYER_FC] = {"fc", NEEDS_INPUT | LIBRARY | PRODUCT, {1, 1}, {0, 2}},
	[LAYER_BATCH_NORM] = {"batch_norm", NEEDS_INPUT | LIBRARY, {0, 3}, {0, 5}},
	[LAYER_BIAS] = {"bias", IN_PLACE | POINTWISE, {1, 1}, {0, 1}},
	[LAYER_RELU] = {"relu", NEEDS_OUTPUT | IN_PLACE | POINTWISE | KEEPS_SPLIT, {1, 1}, {0, 3}},
	[LAYER_MAX_POOL] = {"max_pool", NEEDS_INPUT | LIBRARY, {1, 1}, {2, 2}},
	[LAYER_AVG_POOL] = {"avg_pool", 0, {1, 1}, {1, 1}},
	[LAYER_ADD] = {"add", POINTWISE | KEEPS_SPLIT, {1, 1}, {0, 2}}, /* split: of an adapter */
	[LAYER_CONCAT] = {"concat", 0, {1, 1}, {0, 2}},
	[LAYER_LRN] = {"lrn", NEEDS_INPUT | LIBRARY, {0, 3}, {0, 5}},
	[LAYER_DROPOUT] = {"dropout", 0, {0, 3}, {0, 3}},
	[LAYER_SOFTMAX] = {"softmax", NEEDS_OUTPUT, {1, 1}, {1, 1}},
	[LAYER_TRANSPOSED_CONV] = {"transposed_conv",
				   NEEDS_INPUT | LIBRARY | PRODUCT,
				   {1, 1},
				   {0, 2}},
	[LAYER_INSTANCE_NORM] = {"instance_norm", NEEDS_INPUT | LIBRARY, {0, 3}, {0, 5}},
	[LAYER_SIGMOID] = {"sigmoid", NEEDS_OUTPUT | POINTWISE, {1, 1}, {0, 3}},
	[LAYER_SCALE] = {"scale", NEEDS_INPUT, {1, 1}, {0, 2}},
	[LAYER_UPSAMPLE] = {"upsample", 0, {1, 1}, {1, 1}},
	[LAYER_PIXELS] = {"pixels", 0, {1, 1}, {1, 1}},
	[LAYER_REGRESSION] = {"regression", NEEDS_INPUT, {1, 1}, {1, 1}},
	[LAYER_EMBEDDING] = {.name = "embedding"},
	[LAYER_POSITIONS] = {.name = "positions"},
	[LAYER_CLASS_TOKEN] = {.name = "class_token"},
	[LAYER_SELECT] = {.name = "select"},
	[LAYER_LINEAR] = {.name = "linear", NEEDS_INPUT},
	[LAYER_LAYER_NORM] = {.name = "layer_norm", NEEDS_INPUT},
	[LAYER_RMS_NORM] = {.name = "rms_norm", NEEDS_INPUT},
	[LAYER_QK_NORM] = {.name = "qk_norm", NEEDS_INPUT | KEEPS_SPLIT},
	[LAYER_ROTARY] = {.name = "rotary", KEEPS_SPLIT},
	[LAYER_ATTENTION] = {.name = "attention", NEEDS_INPUT | KEEPS_SPLIT},
	[LAYER_RECURRENT] = {.name = "recurrent", NEEDS_INPUT | KEEPS_SPLIT},
	[LAYER_GELU] = {.name = "gelu", NEEDS_INPUT | POINTWISE | KEEPS_SPLIT},
	[LAYER_GELU_NEW] = {.name = "gelu_new", NEEDS_INPUT | KEEPS_SPLIT},
	[LAYER_SILU] = {.name = "silu", NEEDS_INPUT | POINTWISE | KEEPS_SPLIT},
	[LAYER_TANH] = {.name = "tanh", NEEDS_OUTPUT | POINTWISE | KEEPS_SPLIT},
	[LAYER_GATE] = {.name = "gate", NEEDS_INPUT | KEEPS_SPLIT},
	[LAYER_ROUTE] = {.name = "route", NEEDS_OUTPUT},
	[LAYER_DISPATCH] = {.name = "dispatch"},
	[LAYER_COMBINE] = {.name = "combine", NEEDS_INPUT},
	[LAYER_CROSS_ENTROPY] = {.name = "cross_entropy"},
	[LAYER_LOSSES] = {.name = "losses"},
};

const struct layer_kind *layer_kind(enum layer_op op)
{
	FW_ASSERT(op >= 0 && op < LAYER_OP_COUNT);
	return &kinds[op];
}

bool layer_has(enum layer_op op, enum layer_trait trait)
{
	return (layer_kind(op)->traits & (unsigned)trait) != 0;
}

static void one_by_one(struct layer *layer, size_t channels)
{
	layer->channels = channels;
	layer->height = layer->width = layer->depth = 1;
}

static size_t *side_of(struct layer *layer, size_t side)
{
	return side == 0 ? &layer->height : side == 1 ? &layer->width : &layer->depth;
}

static bool window_side(struct diag *diag, const struct layer_spec *spec, const struct layer *input,
			size_t side, size_t *out)
{
	size_t in = *out; /* the layer begins with its input's shape */
	if (spec->keys->pad) {
		*out = (in - 1) / spec->keys->stride[side] + 1;
		return true;
	}
	if (spec->keys->kernel[side] > in)
		return diag_error(
			diag, spec->origin,
			"layer '%s': its kernel of %zu x %zu is larger than its input of %zu x "
			"%zu (write pad = \"same\" or a smaller kernel)",
			spec->name, spec->keys->kernel[0], spec->keys->kernel[1], input->height,
			input->width);
	*out = (in - spec->keys->kernel[side]) / spec->keys->stride[side] + 1;
	return true;
}

static bool window_shape(struct diag *diag, const struct layer_spec *spec,
			 const struct layer *input, struct layer *layer)
{
	for (size_t i = 0; i < SIDES; i++)
		if (!window_side(diag, spec, input, i, side_of(layer, i)))
			return false;
	return true;
}

static double window_count(const size_t sides[SIDES])
{
	return (double)sides[0] * (double)sides[1] * (double)sides[2];
}

static bool divides(struct diag *diag, const struct layer_spec *spec, const char *what,
		    size_t channels)
{
	return channels % spec->keys->groups == 0 ||
	       diag_error(diag, spec->origin,
			  "layer '%s': groups is %zu, which does not divide its %zu %s channels "
			  "(write a divisor of both numbers of channels)",
			  spec->name, spec->keys->groups, channels, what);
}

static bool convolution_shape(struct diag *diag, const struct layer_spec *spec,
			      const struct layer *layers, struct layer *layer,
			      double *macs_per_output)
{
	const struct layer *input = &layers[layer->inputs[0]], *owner = &layers[layer->tied_to];
	size_t in = input->channels, out = spec->keys->out, groups = spec->keys->groups;
	if (!divides(diag, spec, "input", in) || !divides(diag, spec, "output", out))
		return false;
	layer->channels = out;
	layer->groups = groups;
	size_t seen = in / groups; /* channels that an output channel sees */
	*macs_per_output = (double)seen * window_count(spec->keys->kernel);
	double weights = *macs_per_output * (double)out;
	if (layer->tied_to == 0)
		layer_add_tensor(layer, weights);
	else if (owner->tensors[0] != weights)
		return diag_error(
			diag, spec->origin,
			"layer '%s' needs %g weights, but '%s' has %g (make them the same)",
			spec->name, weights, owner->name, owner->tensors[0]);
	if (layer->op == LAYER_CONV)
		return window_shape(diag, spec, input, layer);
	*macs_per_output /= window_count(spec->keys->stride);
	for (size_t i = 0; i < SIDES; i++)
		*side_of(layer, i) *= spec->keys->stride[i];
	return true;
}

static bool pixels_shape(struct diag *diag, const struct layer_spec *spec, struct layer *layer)
{
	const size_t *sides = spec->keys->sides;
	if (tokens_of(layer) != window_count(sides))
		return diag_error(diag, spec->origin,
				  "layer '%s' cannot arrange %g tokens in %zu x %zu pixels (write "
				  "sides whose product is the number of tokens)",
				  spec->name, tokens_of(layer), sides[0], sides[1]);
	for (size_t i = 0; i < SIDES; i++)
		*side_of(layer, i) = sides[i];
	return true;
}

static bool add_shape(struct diag *diag, const struct layer_spec *spec, const struct layer *layers,
		      const struct layer *layer)
{
	const struct layer *first = &layers[layer->inputs[0]];
	for (size_t i = 1; i < layer->input_count; i++) {
		const struct layer *other = &layers[layer->inputs[i]];
		if (other->channels == first->channels && other->height == first->height &&
		    other->width == first->width && other->depth == first->depth)
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
	if (spec->keys->flat) {
		one_by_one(layer, (size_t)layer->input_count_total);
		return true;
	}
	for (size_t i = 1; i < layer->input_count; i++) {
		const struct layer *other = &layers[layer->inputs[i]];
		if (other->height != first->height || other->width != first->width ||
		    other->depth != first->depth)
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

/* Sets the layer's shape and tensors. Sets *macs_per_output only for layers that multiply
 * matrices. */
static bool derive_op(struct diag *diag, const struct layer_spec *spec, const struct layer *layers,
		      struct layer *layer, double *macs_per_output)
{
	const struct layer *input = &layers[layer->inputs[0]];
	switch (layer->op) {
	case LAYER_CONV:
	case LAYER_TRANSPOSED_CONV:
		return convolution_shape(diag, spec, layers, layer, macs_per_output);
	case LAYER_FC:
		one_by_one(layer, spec->keys->out);
		*macs_per_output = input->output_count;
		layer_add_tensor(layer, *macs_per_output * (double)spec->keys->out);
		return true;
	case LAYER_BATCH_NORM:
	case LAYER_INSTANCE_NORM:
		if (spec->keys->scale)
			layer_add_tensor(layer, (double)layer->channels);
		layer_add_tensor(layer, (double)layer->channels);
		layer->state_tensor_count = layer->op == LAYER_BATCH_NORM ? 2 : 0;
		return true;
	case LAYER_BIAS:
		if (layer->tied_to == 0)
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
	case LAYER_SIGMOID:
	case LAYER_REGRESSION:
	case LAYER_SCALE:
		return true;
	case LAYER_UPSAMPLE:
		for (size_t i = 0; i < (input->depth > 1 ? SIDES : 2); i++)
			*side_of(layer, i) *= spec->keys->factor;
		return true;
	case LAYER_PIXELS:
		return pixels_shape(diag, spec, layer);
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
	memcpy(layer->window, spec->keys->kernel, sizeof layer->window);
	memcpy(layer->stride, spec->keys->stride, sizeof layer->stride);
	layer->channels = layers[layer->inputs[0]].channels;
	layer->height = layers[layer->inputs[0]].height;
	layer->width = layers[layer->inputs[0]].width;
	layer->depth = layers[layer->inputs[0]].depth;
	for (size_t i = 0; i < layer->input_count; i++)
		layer->input_count_total += layers[layer->inputs[i]].output_count;
	if (!derive_op(diag, spec, layers, layer, &macs_per_output))
		return false;
	layer->output_count = (double)layer->channels * tokens_of(layer);
	layer->macs = macs_per_output * layer->output_count;
	return true;
}

/* Outputs of all layers but those in place. */
static void keep_outputs(struct network *network, struct layer *layers)
{
	for (size_t i = 0; i < network->layer_count; i++)
		layers[i].kept_count =
			layer_has(layers[i].op, IN_PLACE) ? 0 : layers[i].output_count;
}

void network_totals(struct network *network, struct layer *layers)
{
	network->layers = layers;
	for (size_t i = 0; i < network->layer_count; i++)
		network->has_tokens |= layers[i].op >= LAYER_EMBEDDING &&
				       layers[i].op != LAYER_LOSSES &&
				       !layer_has(layers[i].op, POINTWISE);
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
