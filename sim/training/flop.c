/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Floating-point operations of training, as MFU and HFU count them. */
#include "sim/training/plan.h"

enum { FLOP_OF_MAC = 2 };

static double forward_flop(const struct layer *layer)
{
	if (layer->op != LAYER_ATTENTION)
		return FLOP_OF_MAC * layer->macs;
	return FLOP_OF_MAC * layer->scores_count *
	       (double)(layer->attention.head_size + layer->attention.value_size);
}

double network_model_flop(const struct network *network, bool forward_only)
{
	double sum = 0;
	for (size_t i = 0; i < network->layer_count; i++) {
		const struct layer *layer = &network->layers[i];
		bool fixed = layer->op == LAYER_LINEAR && layer->frozen;
		sum += forward_flop(layer) * (forward_only ? 1 : fixed ? 2 : 3);
	}
	return sum;
}

/* Returns true if selective recomputation computes the layer again. */
static bool is_selected(const struct training_plan *plan, const struct network *network,
			const struct stack_params *stack, const struct layer *layer)
{
	switch (layer->op) {
	case LAYER_ATTENTION:
		return (plan->modules & MODULE_CORE_ATTENTION) && !stack->fused_attention;
	case LAYER_LAYER_NORM:
	case LAYER_RMS_NORM:
		return (plan->modules & MODULE_NORMS) && layer->block > 0;
	case LAYER_GATE:
	case LAYER_GELU:
		return (plan->modules & MODULE_EXPERTS_GATE) &&
		       network->layers[layer->inputs[0]].experts > 0;
	default:
		return false;
	}
}

bool plan_recomputes(const struct training_plan *plan, const struct network *network,
		     const struct stack_params *stack, size_t layer)
{
	const struct layer *layers = network->layers;
	if (plan->params->recompute == RECOMPUTE_SELECTIVE)
		return is_selected(plan, network, stack, &layers[layer]);
	if (plan->params->recompute == RECOMPUTE_NONE || layers[layer].block == 0)
		return false;
	/* the block's own output is kept for the next block */
	bool needed = !plan->params->early_stop;
	for (size_t i = layer;
	     i + 1 < network->layer_count && !needed && layers[i + 1].block == layers[layer].block;
	     i++)
		needed = layers[i].kept_count > 0;
	return needed;
}

double plan_recomputed_flop(const struct training_plan *plan, const struct network *network,
			    const struct stack_params *stack)
{
	double sum = 0;
	for (size_t i = 0; i < network->layer_count; i++)
		if (plan_recomputes(plan, network, stack, i))
			sum += forward_flop(&network->layers[i]);
	return sum;
}
