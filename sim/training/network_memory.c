/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPU memory of a training step. docs/models/networks.md explains each term. */
#include "sim/training/network.h"

/* Variables and optimiser state are fp32 even with fp16 activations: tf_cnn_benchmarks keeps
 * fp32 variables and casts a copy of them in each step. */
static const double variable_element_B = 4;

/* Returns the bytes that the backward pass of a layer holds at once for one sample: the gradient
 * of its output and, if it computes them, the gradients of its inputs. */
static double layer_gradients_B(const struct network *network, const struct layer *layer,
				double element_B, bool fused_attention)
{
	double count = layer->output_count;
	if (layer_has(layer->op, IN_PLACE) || layer->op == LAYER_ADD ||
	    layer->op == LAYER_POSITIONS)
		return count * element_B; /* the inputs' gradient uses the same memory */
	/* an fp32 gradient, and its copy in the type of the input */
	if (layer->op == LAYER_CROSS_ENTROPY)
		return count * (4 + 4 + (element_B < 4 ? element_B : 0));
	for (size_t i = 0; i < layer->input_count; i++) {
		const struct layer *input = &network->layers[layer->inputs[i]];
		if (input->op != LAYER_INPUT) /* training needs no gradient of the image */
			count += input->output_count;
	}
	if (!fused_attention) /* gradients of the probabilities and of the scores */
		count += 2 * layer->scores_count;
	return count * element_B;
}

static double activations_B(const struct network *network, double element_B, bool fused_attention)
{
	double kept_B = network->activations_count * element_B + network->activations_B;
	return kept_B + (fused_attention ? network->fused_B
					 : network->scores_count * element_B + network->scores_B);
}

/* Returns the bytes of the largest pair of gradients that one sample's backward pass holds. */
static double largest_pair_B(const struct network *network, double element_B, bool fused_attention)
{
	double largest_B = 0;
	for (size_t i = 1; i < network->layer_count; i++) {
		double size_B =
			layer_gradients_B(network, &network->layers[i], element_B, fused_attention);
		if (size_B > largest_B)
			largest_B = size_B;
	}
	return largest_B;
}

double network_forward_B(const struct network *network, size_t batch, double element_B,
			 double workspace_B, bool fused_attention)
{
	double cast_B = element_B < variable_element_B ? element_B : 0;
	/* inputs and output of a layer are as large as their gradients */
	return network->parameters_count * (variable_element_B + cast_B) +
	       (double)batch * largest_pair_B(network, element_B, fused_attention) + workspace_B;
}

double network_memory_B(const struct network *network, size_t batch, double element_B,
			double optimiser_copies_count, double workspace_B, bool fused_attention)
{
	double parameters_count = network->parameters_count - network->frozen_count;
	double pair_B = largest_pair_B(network, element_B, fused_attention), state_count = 0;
	double variables_B, gradients_B, images_B;
	bool cast = element_B < variable_element_B;
	FW_ASSERT(batch > 0 && element_B > 0 && optimiser_copies_count >= 0 && workspace_B >= 0);
	for (size_t i = 1; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		state_count += (double)layer->state_tensor_count * (double)layer->channels;
	}
	variables_B = (parameters_count * (1 + optimiser_copies_count) + state_count) *
		      variable_element_B;
	gradients_B = parameters_count * element_B;
	images_B = (double)batch * (activations_B(network, element_B, fused_attention) + pair_B);
	return variables_B + gradients_B + network->frozen_count * element_B +
	       (cast ? parameters_count * element_B : 0) + images_B + workspace_B;
}
