/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The least time of a plan's step, which the search of plans compares with simulated ones. */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/training/plan.h"

struct layer_least { /* of a micro-batch */
	double forward_s, backward_s, weights_s;
};

static void add_exchange(const struct training_plan *plan, const struct shard_exchange *exchange,
			 double element_B, double Bps, struct layer_least *layer)
{
	static const enum plan_axis axes[SHARD_GROUP_COUNT] = {
		[SHARD_TENSOR] = AXIS_TENSOR, [SHARD_CONTEXT] = AXIS_CONTEXT};
	double ranks = exchange->group == SHARD_EXPERT ? (double)plan->expert_count
						       : (double)plan->sizes[axes[exchange->group]];
	double time_s = exchange->elements_count * (double)plan->micro_batch * element_B *
			(1 - 1 / ranks) / Bps;
	if (!exchange->beside)
		*(exchange->pass == PASS_FORWARD ? &layer->forward_s : &layer->backward_s) +=
			time_s;
}

static struct layer_least *layers_least(struct arena *arena, const struct plan_step *step,
					double link_Bps)
{
	const struct shard *shard = step->plan->shard;
	struct op_graph graph = op_graph_new(arena, shard->network, step->plan->micro_batch,
					     step->stack, step->gpu);
	struct layer_least *layers =
		ARENA_ARRAY(arena, shard->network->layer_count, struct layer_least);
	for (size_t i = 0; i < graph.count; i++) {
		const struct op *op = &graph.ops[i];
		struct layer_least *layer = &layers[op->layer];
		double time_s =
			op->kernels * (kernel_duration_s(step->gpu, step->efficiency, &op->work) +
				       step->gpu->kernel_gap_s);
		if (op->pass == PASS_FORWARD)
			layer->forward_s += time_s;
		else if (op->pass == PASS_BACKWARD)
			*(op->weights ? &layer->weights_s : &layer->backward_s) += time_s;
	}
	bool fp8 = step->stack->precision == PRECISION_FP8;
	double element_B = fp8 ? 1 : stack_element_B(step->stack);
	for (size_t i = 0; i < shard->exchange_count; i++)
		add_exchange(step->plan, &shard->exchanges[i], element_B, link_Bps,
			     &layers[shard->exchanges[i].layer]);
	return layers;
}

/* Returns the time in which backward computes layers [first, end) again. */
static double again_s(const struct plan_step *step, const struct layer_least *times, size_t first,
		      size_t end)
{
	const struct layer *layers = step->plan->shard->network->layers;
	const struct plan_params *params = step->plan->params;
	bool full = params->recompute == RECOMPUTE_FULL && layers[first].block > 0;
	bool scores = params->recompute == RECOMPUTE_SELECTIVE && !step->stack->fused_attention;
	double sum_s = 0;
	if (full && params->early_stop)
		while (end > first + 1 && !(layers[end - 2].kept_count > 0))
			end--;
	if (full && params->early_stop && end > first + 1)
		end--;
	for (size_t i = first; i < end; i++)
		if (full || (scores && layers[i].op == LAYER_ATTENTION))
			sum_s += times[i].forward_s;
	return sum_s;
}

const struct unit_least *plan_units_least(struct arena *arena, const struct plan_step *step,
					  double link_Bps, size_t *count)
{
	const struct network *network = step->plan->shard->network;
	const struct layer_least *times = layers_least(arena, step, link_Bps);
	bool splits = step->plan->schedule->splits_backward;
	struct unit_least *list =
		ARENA_ARRAY(arena, step->plan->block_count + 2, struct unit_least);
	*count = 0;
	for (size_t first = 0, i = 1; i <= network->layer_count; i++) {
		if (i < network->layer_count &&
		    network->layers[i].block == network->layers[first].block)
			continue;
		struct unit_least *unit = &list[(*count)++];
		*unit = (struct unit_least){.first = first,
					    .backward_s = again_s(step, times, first, i)};
		for (size_t l = first; l < i; l++) {
			unit->forward_s += times[l].forward_s;
			unit->backward_s += times[l].backward_s;
			*(splits ? &unit->weights_s : &unit->backward_s) += times[l].weights_s;
		}
		first = i;
	}
	return list;
}

/* Proof: A stage is busy for its kernels and the collectives that block them; a rank of a group of
 * n sends or receives (1 - 1 / n) of their bytes. It begins when a micro-batch has passed the first
 * chunks of all stages before it. Its last backward pass is one through its first chunk. Gradients
 * then pass the first chunks of all stages before it, beside which only gradients of weights can be
 * left to compute. */
double plan_least_s(const struct training_plan *plan, const struct unit_least *units, size_t count)
{
	double least_s = 0, before_s = 0, behind_s = 0;
	size_t stages = plan->sizes[AXIS_PIPELINE];
	for (size_t stage = 0; stage < stages; stage++) {
		double pass_s = 0, forward_s = 0, backward_s = 0;
		for (size_t i = 0; i < count; i++) {
			const struct unit_least *unit = &units[i];
			size_t part = plan->parts[unit->first];
			if (part % stages == stage)
				pass_s += unit->forward_s + unit->backward_s + unit->weights_s;
			if (part == stage) {
				forward_s += unit->forward_s;
				backward_s += unit->backward_s;
			}
		}
		least_s = fmax(least_s, before_s + (double)plan->micro_batch_count * pass_s +
						(plan->schedule->splits_backward ? 0 : behind_s));
		before_s += forward_s;
		behind_s += backward_s;
	}
	return least_s;
}
