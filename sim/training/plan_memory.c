/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPU memory of a rank of a plan, and the size of its messages. docs/models/plans.md explains
 * each term. */
#include "sim/training/plan.h"

static const double fp32_B = 4, statistic_B = 4;
/* Units of FSDP whose parameters are gathered at the same time (PyTorch, limit_all_gathers). */
enum { GATHERED_UNITS = 2 };

struct stage_sum { /* of the layers of a stage */
	double parameters_count, expert_parameters_count, frozen_count;
	double product_count;        /* parameters that are factors of a product in FP8 */
	double frozen_product_count; /* the frozen ones of these */
	double *kept_B;              /* by chunk: activations of a micro-batch */
	double block_B;              /* activations of the largest block */
	double unit_count;           /* parameters of the largest block */
};

/* Returns true if factors are quantised. Transformer Engine keeps each product's input only as the
 * transpose that the gradients of the weights need, and two copies of the weights: one for the
 * forward pass, and its transpose for the gradient of the input (pytorch/module/linear.py). */
static bool is_fp8(const struct stack_params *stack)
{
	return stack->precision >= PRECISION_FP8;
}

/* Returns the bytes of activations that the layer keeps for each sample, without those of
 * attention's scores. */
static double sample_B(const struct stack_params *stack, const struct layer *layer)
{
	double element_B = stack_element_B(stack), kept_count = layer->kept_count;
	if (stack->fusion == FUSION_LAYER) /* kernels of whole layers compute these again */
		kept_count -= layer->steps_count;
	double all_B = kept_count * element_B + layer->kept_B;
	if (!is_fp8(stack) || !layer->product_keeps)
		return all_B;
	/* fused attention also needs its own output */
	bool twice = layer->other_keeps || layer->op == LAYER_ATTENTION;
	return all_B + layer->output_count * (stack_factor_B(stack) - (twice ? 0 : element_B));
}

static double kept_B(const struct training_plan *plan, const struct stack_params *stack,
		     const struct layer *layer)
{
	const struct attention_shape *shape = &layer->attention;
	double all_B = sample_B(stack, layer);
	if (layer->op == LAYER_ATTENTION && stack->fused_attention)
		all_B += statistic_B * (double)(shape->heads * layer->height * layer->width);
	else if (layer->op == LAYER_ATTENTION && plan->params->recompute != RECOMPUTE_SELECTIVE)
		all_B += layer->scores_count * stack_element_B(stack) * (shape->dropout ? 2.5 : 1);
	return all_B * (double)plan->micro_batch;
}

static double count_parameters(const struct layer *layer, struct stage_sum *sum)
{
	double count = 0;
	for (size_t t = 0; t < layer->tensor_count; t++)
		count += layer->tensors[t];
	*(layer->frozen        ? &sum->frozen_count
	  : layer->experts > 0 ? &sum->expert_parameters_count
			       : &sum->parameters_count) += count;
	if (layer->op == LAYER_LINEAR && layer->block > 0)
		*(layer->frozen ? &sum->frozen_product_count : &sum->product_count) += count;
	return count;
}

/* Adds the layers [first, end), which are one unit. */
static void add_unit(const struct training_plan *plan, const struct stack_params *stack,
		     size_t first, size_t end, struct stage_sum *sum)
{
	const struct layer *layers = plan->shard->network->layers;
	double unit_B = 0, count = 0;
	for (size_t i = first; i < end; i++) {
		unit_B += kept_B(plan, stack, &layers[i]);
		count += count_parameters(&layers[i], sum);
	}
	sum->unit_count = fmax(sum->unit_count, count);
	double *kept = &sum->kept_B[plan->parts[first] / plan->sizes[AXIS_PIPELINE]];
	if (layers[first].block > 0 && plan->params->recompute == RECOMPUTE_FULL) {
		sum->block_B = fmax(sum->block_B, unit_B);
		*kept += layers[layers[first].inputs[0]].output_count * stack_element_B(stack) *
			 (double)plan->micro_batch;
	} else {
		*kept += unit_B;
	}
}

static struct stage_sum add_up(struct arena *arena, const struct training_plan *plan,
			       const struct stack_params *stack, size_t stage)
{
	const struct network *network = plan->shard->network;
	size_t stages = plan->sizes[AXIS_PIPELINE], first = 0;
	struct stage_sum sum = {.kept_B = ARENA_ARRAY(arena, plan->chunk_count, double)};
	for (size_t end; first < network->layer_count; first = end) {
		end = plan_unit_end(plan, first);
		if (plan->parts[first] % stages == stage)
			add_unit(plan, stack, first, end, &sum);
	}
	return sum;
}

/* Returns the largest size of the activations that the stage keeps at a time. It has them after a
 * few micro-batches, or after all of them. */
static double most_kept_B(struct arena *arena, const struct training_plan *plan, size_t stage,
			  const double *chunk_B)
{
	const struct pipeline_shape shape = {plan->sizes[AXIS_PIPELINE], plan->chunk_count,
					     plan_shorter(plan, 2).played_count};
	enum slot_kind frees = plan->schedule->splits_backward ? SLOT_WEIGHTS : SLOT_BACKWARD;
	struct slots slots = {0};
	double now_B = 0, most_B = 0;
	if (plan->schedule->all_forward)
		return chunk_B[0] * (double)plan->micro_batch_count;
	plan->schedule->write(plan->schedule, arena, &shape, stage, &slots);
	for (size_t i = 0; i < slots.count; i++) {
		double size_B = chunk_B[slots.items[i].chunk];
		now_B += slots.items[i].kind == SLOT_FORWARD ? size_B : 0;
		most_B = fmax(most_B, now_B);
		now_B -= slots.items[i].kind == frees ? size_B : 0;
	}
	return most_B;
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

/* Returns the bytes that FP8 adds to copies of parameters in e bytes. Parameters that are gathered
 * in FP8 have no other copy. */
static double fp8_weights_B(const struct training_plan *plan, const struct stack_params *stack,
			    const struct stage_sum *sum)
{
	double factor_B = stack_factor_B(stack), given_B = plan->params->parameter_element_B;
	bool only = given_B > 0 && given_B <= factor_B;
	double frozen_B = 2 * factor_B - (only ? factor_B : 0);
	double trained_B = 2 * factor_B - (only ? stack_element_B(stack) : 0);
	if (!is_fp8(stack) || plan->params->sharding == SHARDING_PARAMETERS)
		return 0;
	return sum->product_count * trained_B + sum->frozen_product_count * frozen_B;
}

double plan_memory_B(const struct training_plan *plan, const struct stack_params *stack,
		     size_t stage)
{
	struct arena *arena = arena_new();
	struct stage_sum sum = add_up(arena, plan, stack, stage);
	double ranks = (double)plan_sharers(plan);
	double tensor = (double)plan->sizes[AXIS_TENSOR];
	double expert_ranks =
		plan->expert_count > 1 ? ranks * tensor / (double)plan->expert_count : ranks;
	double all_B = sum.parameters_count * state_B(plan, stack, ranks) +
		       sum.expert_parameters_count * state_B(plan, stack, expert_ranks) +
		       fp8_weights_B(plan, stack, &sum) +
		       most_kept_B(arena, plan, stage, sum.kept_B) + sum.block_B;
	double frozen_B = plan->params->parameter_element_B > 0 ? plan->params->parameter_element_B
								: stack_element_B(stack);
	arena_free(arena);
	all_B += sum.frozen_count * frozen_B /
		 (plan->params->sharding == SHARDING_PARAMETERS ? ranks : 1);
	if (plan->params->sharding == SHARDING_PARAMETERS)
		all_B += GATHERED_UNITS * sum.unit_count *
			 (stack_element_B(stack) + plan->params->gradient_element_B);
	return all_B * plan->params->fragmentation_ratio + stack->workspace_B +
	       plan->params->reserve_B;
}

double plan_most_memory_B(const struct training_plan *plan, const struct stack_params *stack)
{
	double most_B = 0;
	for (size_t i = 0; i < plan->sizes[AXIS_PIPELINE]; i++)
		most_B = fmax(most_B, plan_memory_B(plan, stack, i));
	return most_B;
}

double plan_message_B(const struct training_plan *plan, const struct stack_params *stack,
		      size_t part)
{
	const struct network *network = plan->shard->network;
	double parts = (double)plan->sizes[AXIS_CONTEXT];
	double element_B = stack_element_B(stack) * (double)plan->micro_batch;
	size_t last = network->layer_count - 1;
	while (plan->parts[last] > part)
		last--;
	if (network->sequence == 0)
		return network->layers[last].output_count * element_B;
	if (plan->params->scatter_gather || plan->sequence)
		parts *= (double)plan->sizes[AXIS_TENSOR];
	return (double)(network->layers[last].channels * network->sequence) / parts * element_B;
}
