/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of a model server. */
#include "sim/serving/model_parts.h"

/* Returns the parameters of the largest stage: a part of the blocks, and the embedding or the head.
 */
static double stage_count(const struct serving_model *model, const struct network *network)
{
	double parameters = 0, embedding = 0, stages = model->spec.stages, blocks = model->blocks;
	for (size_t i = 1; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		for (size_t k = 0; k < layer->tensor_count; k++)
			*(layer->block > 0               ? &parameters
			  : layer->op == LAYER_EMBEDDING ? &embedding
							 : &(double){0}) += layer->tensors[k];
	}
	if (stages <= 1)
		return network->parameters_count;
	bool tied = network->layers[model->head_layer].tied_to > 0;
	double rest = network->parameters_count - parameters - (tied ? 0 : embedding);
	return parameters * ceil(blocks / stages) / fmax(1, blocks) + fmax(embedding, rest);
}

/* An activation exists twice, as input and output of a layer. */
double model_memory_B(const struct serving_model *model)
{
	const struct serving_model_spec *spec = &model->spec;
	const struct network *network = spec->one_token ? spec->one_token : spec->network;
	double largest = 0, logits_B = 0, quantised = 0;
	for (size_t i = 0; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		if (!spec->one_token || i < model->head_layer)
			largest = fmax(largest, layer->output_count);
		for (size_t k = 0; spec->one_token && model_is_quantised(model, network, layer) &&
				   k < layer->tensor_count;
		     k++)
			quantised += layer->tensors[k];
	}
	if (spec->one_token)
		logits_B = 8 * (double)spec->sequences_max * (double)network->vocabulary;
	return stage_count(model, network) * model->element_B +
	       quantised / model->spec.stages * (model->weight_B - model->element_B) +
	       2 * (double)spec->rows_max * largest * model->element_B + logits_B +
	       (double)spec->sequences_max * model->scans.state_count * model->element_B +
	       model->element_B * spec->adapters * spec->lora *
		       (model->adapted_in + model->adapted_out) +
	       spec->stack->workspace_B;
}

struct serving_model *serving_model_draft(const struct serving_model *model)
{
	return model->spec.draft;
}

double serving_model_memory_B(const struct serving_model *model)
{
	const struct serving_model *draft = model->spec.draft;
	return model->memory_B + (draft ? draft->memory_B : 0);
}

double serving_model_token_B(const struct serving_model *model)
{
	const struct serving_model *draft = model->spec.draft;
	return model->token_B + (draft ? draft->token_B : 0);
}

double serving_model_stages(const struct serving_model *model)
{
	return model->spec.stages;
}

size_t serving_model_window(const struct serving_model *model)
{
	return model->window;
}
