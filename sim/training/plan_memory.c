/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPU memory of a rank of a plan, and the size of its messages. docs/models/plans.md explains
 * each term. */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/training/plan.h"

static const double fp32_B = 4, statistic_B = 4;
/* Units of FSDP whose parameters are gathered at the same time (PyTorch, limit_all_gathers). */
enum { GATHERED_UNITS = 2 };

struct stage_sum { /* of the layers of a stage */
	double parameters_count, expert_parameters_count, frozen_count;
	double kept_B;     /* activations of a micro-batch in all chunks */
	double input_B;    /* inputs of all blocks, for a micro-batch */
	double block_B;    /* activations of the largest block */
	double unit_count; /* parameters of the largest block */
};

static double kept_B(const struct training_plan *plan, const struct stack_params *stack,
		     const struct layer *layer)
{
	const struct attention_shape *shape = &layer->attention;
	double element_B = stack_element_B(stack);
	double sample_B = layer->kept_count * element_B + layer->kept_B;
	if (layer->op == LAYER_ATTENTION && stack->fused_attention)
		sample_B += statistic_B * (double)(shape->heads * layer->height * layer->width);
	else if (layer->op == LAYER_ATTENTION && plan->params->recompute == RECOMPUTE_NONE)
		sample_B += layer->scores_count * element_B * (shape->dropout ? 2.5 : 1);
	return sample_B * (double)plan->micro_batch;
}

/* Adds the layers [first, end), which are one unit. */
static void add_unit(const struct training_plan *plan, const struct stack_params *stack,
		     size_t first, size_t end, struct stage_sum *sum)
{
	const struct layer *layers = plan->shard->network->layers;
	double unit_B = 0, count = 0;
	for (size_t i = first; i < end; i++) {
		unit_B += kept_B(plan, stack, &layers[i]);
		for (size_t t = 0; t < layers[i].tensor_count; t++) {
			count += layers[i].tensors[t];
			*(layers[i].frozen        ? &sum->frozen_count
			  : layers[i].experts > 0 ? &sum->expert_parameters_count
						  : &sum->parameters_count) += layers[i].tensors[t];
		}
	}
	sum->unit_count = fmax(sum->unit_count, count);
	if (layers[first].block > 0 && plan->params->recompute == RECOMPUTE_FULL) {
		sum->block_B = fmax(sum->block_B, unit_B);
		sum->kept_B += layers[layers[first].inputs[0]].output_count *
			       stack_element_B(stack) * (double)plan->micro_batch;
	} else {
		sum->kept_B += unit_B;
	}
}

static struct stage_sum add_up(const struct training_plan *plan, const struct stack_params *stack,
			       size_t stage)
{
	const struct network *network = plan->shard->network;
	size_t stages = plan->sizes[AXIS_PIPELINE], first = 0;
	struct stage_sum sum = {0};
	for (size_t i = 1; i <= network->layer_count; i++) {
		bool ends = i == network->layer_count ||
			    network->layers[i].block != network->layers[first].block;
		if (!ends)
			continue;
		if (plan->parts[first] % stages == stage)
			add_unit(plan, stack, first, i, &sum);
		first = i;
	}
	return sum;
}

/* Returns the largest number of micro-batches whose activations the stage keeps at a time, counted
 * in passes through all its chunks. */
static double most_kept(const struct training_plan *plan, size_t stage)
{
	const struct pipeline_shape shape = {plan->sizes[AXIS_PIPELINE], plan->chunk_count,
					     plan->micro_batch_count};
	enum slot_kind frees = plan->schedule->splits_backward ? SLOT_WEIGHTS : SLOT_BACKWARD;
	struct arena *arena = arena_new();
	struct slots slots = {0};
	size_t kept = 0, most = 0;
	plan->schedule->write(arena, &shape, stage, &slots);
	for (size_t i = 0; i < slots.count; i++) {
		kept += slots.items[i].kind == SLOT_FORWARD;
		most = kept > most ? kept : most;
		kept -= slots.items[i].kind == frees;
	}
	arena_free(arena);
	return (double)most / (double)plan->chunk_count;
}

/* Returns the bytes of parameters, gradients and the optimizer's state for each parameter that a
 * group of `ranks` shares. */
static double state_B(const struct training_plan *plan, const struct stack_params *stack,
		      double ranks)
{
	double element_B = stack_element_B(stack);
	double parameter_B = element_B < fp32_B ? element_B : 0;
	double gradient_B = plan->params->gradient_element_B;
	double optimizer_B = fp32_B * (1 + stack->optimiser_copies_count);
	int sharding = plan->params->sharding;
	if (sharding >= SHARDING_OPTIMIZER)
		optimizer_B /= ranks;
	if (sharding >= SHARDING_GRADIENTS)
		gradient_B /= ranks;
	if (sharding == SHARDING_PARAMETERS)
		parameter_B = 0; /* gathered from the optimizer's fp32 copy */
	return parameter_B + gradient_B + optimizer_B;
}

double plan_memory_B(const struct training_plan *plan, const struct stack_params *stack,
		     size_t stage)
{
	struct stage_sum sum = add_up(plan, stack, stage);
	double ranks = (double)(plan->sizes[AXIS_DATA] * plan->sizes[AXIS_CONTEXT]);
	double tensor = (double)plan->sizes[AXIS_TENSOR];
	double expert_ranks =
		plan->expert_count > 1 ? ranks * tensor / (double)plan->expert_count : ranks;
	double all_B = sum.parameters_count * state_B(plan, stack, ranks) +
		       sum.expert_parameters_count * state_B(plan, stack, expert_ranks) +
		       sum.kept_B * most_kept(plan, stage) + sum.block_B;
	double frozen_B = plan->params->parameter_element_B > 0 ? plan->params->parameter_element_B
								: stack_element_B(stack);
	all_B += sum.frozen_count * frozen_B /
		 (plan->params->sharding == SHARDING_PARAMETERS ? ranks : 1);
	if (plan->params->sharding == SHARDING_PARAMETERS)
		all_B += GATHERED_UNITS * sum.unit_count *
			 (stack_element_B(stack) + plan->params->gradient_element_B);
	return all_B * plan->params->fragmentation_ratio + stack->workspace_B;
}

double plan_message_B(const struct training_plan *plan, const struct stack_params *stack)
{
	const struct network *network = plan->shard->network;
	double parts = (double)plan->sizes[AXIS_CONTEXT];
	size_t i = 1;
	while (network->layers[i].block == 0)
		i++;
	if (plan->params->scatter_gather || plan->sequence)
		parts *= (double)plan->sizes[AXIS_TENSOR];
	return (double)(network->layers[network->layers[i].inputs[0]].channels * network->sequence *
			plan->micro_batch) /
	       parts * stack_element_B(stack);
}
