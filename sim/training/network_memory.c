/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPU memory of a training step. docs/models/networks.md explains each term. */
#include "sim/training/network.h"

#include <stdbool.h>

#include "sim/base/diag.h"

/* Variables and optimiser state are fp32 even with fp16 activations: tf_cnn_benchmarks keeps
 * fp32 variables and casts a copy of them in each step. */
static const double variable_element_B = 4;

/* Elements that the backward pass of a layer holds at once for one image: the gradient of its
 * output and, if it computes them, the gradients of its inputs. */
static double gradients_count(const struct network *network, const struct layer *layer)
{
	double inputs_count = 0;

	if (layer->in_place || layer->op == LAYER_ADD)
		return layer->output_count; /* the inputs' gradient uses the same memory */
	for (size_t i = 0; i < layer->input_count; i++) {
		const struct layer *input = &network->layers[layer->inputs[i]];

		if (input->op != LAYER_INPUT) /* training needs no gradient of the image */
			inputs_count += input->output_count;
	}
	return layer->output_count + inputs_count;
}

double network_memory_B(const struct network *network, size_t batch, double element_B,
			double optimiser_copies_count, double workspace_B)
{
	double parameters_count = network->parameters_count;
	double pair_count = 0, state_count = 0;
	double variables_B, gradients_B, images_B;
	bool cast = element_B < variable_element_B;

	FW_ASSERT(batch > 0 && element_B > 0 && optimiser_copies_count >= 0 && workspace_B >= 0);
	for (size_t i = 1; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		double count = gradients_count(network, layer);

		if (count > pair_count)
			pair_count = count;
		state_count += (double)layer->state_tensor_count * (double)layer->channels;
	}
	variables_B = (parameters_count * (1 + optimiser_copies_count) + state_count) *
		      variable_element_B;
	gradients_B = parameters_count * element_B;
	images_B = (double)batch * (network->activations_count + pair_count) * element_B;
	return variables_B + gradients_B + (cast ? parameters_count * element_B : 0) + images_B +
	       workspace_B;
}
