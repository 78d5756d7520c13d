/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The least time of a plan's step, which the search of plans compares with simulated ones. */
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
	double element_B = stack_factor_B(step->stack);
	for (size_t i = 0; i < shard->exchange_count; i++)
		add_exchange(step->plan, &shard->exchanges[i], element_B, link_Bps,
			     &layers[shard->exchanges[i].layer]);
	return layers;
}

/* Adds the bytes of the layer's parameters and gradients that data groups gather and reduce. */
static void add_data(const struct plan_step *step, const struct layer *layer,
		     struct unit_least *unit)
{
	const struct plan_params *params = step->plan->params;
	double element_B = params->parameter_element_B > 0 ? params->parameter_element_B
							   : stack_element_B(step->stack);
	for (size_t i = 0; i < layer->tensor_count; i++)
		if (!layer->frozen && layer->experts == 0) {
			unit->gathered_B += layer->tensors[i] * element_B;
			unit->reduced_B += layer->tensors[i] * params->gradient_element_B;
		}
}

const struct unit_least *plan_units_least(struct arena *arena, const struct plan_step *step,
					  double link_Bps, size_t *count)
{
	const struct network *network = step->plan->shard->network;
	const struct layer_least *times = layers_least(arena, step, link_Bps);
	bool splits = step->plan->schedule->splits_backward;
	struct unit_least *list = ARENA_ARRAY(arena, step->plan->unit_count, struct unit_least);
	*count = 0;
	for (size_t first = 0, end; first < network->layer_count; first = end) {
		end = plan_unit_end(step->plan, first);
		struct unit_least *unit = &list[(*count)++];
		*unit = (struct unit_least){.first = first};
		for (size_t l = first; l < end; l++)
			if (plan_recomputes(step->plan, network, step->stack, l))
				unit->backward_s += times[l].forward_s;
		for (size_t l = first; l < end; l++) {
			add_data(step, &network->layers[l], unit);
			unit->forward_s += times[l].forward_s;
			unit->backward_s += times[l].backward_s;
			*(splits ? &unit->weights_s : &unit->backward_s) += times[l].weights_s;
		}
	}
	return list;
}

double plan_data_s_per_B(const struct training_plan *plan, const struct plan_links *links,
			 bool sent)
{
	double inside = 0, stage = 0; /* GPUs of the machine: of a data group, and of a stage */
	size_t each = plan->sizes[AXIS_DATA] / (size_t)plan->params->replicas_count;
	for (size_t r = 0; r < links->machine_gpus; r++) {
		bool same = plan_index(plan, r, AXIS_PIPELINE) == 0;
		stage += same;
		inside += same && plan_index(plan, r, AXIS_TENSOR) == 0 &&
			  plan_index(plan, r, AXIS_DATA) < each;
	}
	double ranks = (double)plan_sharers(plan);
	double machines = fmax(1, ranks / inside);
	double others_ratio = 1 - 1 / machines;
	if (sent && plan->params->sharding != SHARDING_NONE && machines > 1)
		others_ratio = 1 - 1 / ranks;
	else if (sent && machines > 2)
		others_ratio = 1;
	return stage / inside * others_ratio / links->machine_Bps;
}

struct stage_least {                          /* of a micro-batch */
	double pass_s, forward_s, backward_s; /* all chunks; the first chunk, both ways */
	double last_s;                        /* its last backward pass with gradients of weights */
	double gathered_B, reduced_B, last_B; /* last_B: gradients of the first chunk */
};

static struct stage_least stage_of(const struct training_plan *plan, const struct unit_least *units,
				   size_t count, size_t stage)
{
	struct stage_least sum = {0};
	for (size_t i = 0; i < count; i++) {
		const struct unit_least *unit = &units[i];
		size_t part = plan->parts[unit->first];
		if (part % plan->sizes[AXIS_PIPELINE] != stage)
			continue;
		sum.pass_s += unit->forward_s + unit->backward_s + unit->weights_s;
		sum.gathered_B += unit->gathered_B;
		sum.reduced_B += unit->reduced_B;
		if (part != stage)
			continue;
		sum.forward_s += unit->forward_s;
		sum.backward_s += unit->backward_s;
		sum.last_s += unit->backward_s + unit->weights_s;
		sum.last_B += unit->reduced_B;
	}
	return sum;
}

/* Returns the least time in which data groups of the stage carry what is left when the last
 * backward pass of its first chunk begins. */
static double behind_last_s(const struct training_plan *plan, const struct stage_least *stage,
			    double s_per_B)
{
	const struct plan_params *params = plan->params;
	if (params->sharding == SHARDING_NONE)
		return 2 * stage->last_B * s_per_B;
	if (params->sharding == SHARDING_PARAMETERS || params->overlap_parameters)
		return stage->last_B * s_per_B;
	return (stage->last_B + stage->gathered_B) * s_per_B;
}

/* Proof: A stage is busy for its kernels and the collectives that block them; a rank of a group of
 * n sends or receives (1 - 1 / n) of their bytes. It begins when a micro-batch has passed the first
 * chunks of all stages before it. Its last backward pass is one through its first chunk. Gradients
 * then pass the first chunks of all stages before it, beside which only gradients of weights can be
 * left to compute. Gradients of a chunk are complete in its last backward pass, and are reduced
 * after that. FSDP gathers twice and reduces once for each micro-batch; each rank receives all of
 * it but its own part over its links. */
double plan_least_s(const struct training_plan *plan, const struct unit_least *units, size_t count,
		    const struct plan_links *links)
{
	double least_s = 0, before_s = 0, behind_s = 0, last_s = 0;
	double s_per_B = plan_data_s_per_B(plan, links, false);
	double gpu_s_per_B = (1 - 1 / (double)plan_sharers(plan)) / links->gpu_Bps;
	double micro = (double)plan->micro_batch_count;
	bool gathers = plan->params->sharding == SHARDING_PARAMETERS;
	bool splits = plan->schedule->splits_backward;
	for (size_t i = 0; i < plan->sizes[AXIS_PIPELINE]; i++) {
		const struct stage_least stage = stage_of(plan, units, count, i);
		if (i == 0)
			last_s = behind_last_s(plan, &stage, s_per_B) - stage.last_s;
		double data_s = gathers ? (2 * stage.gathered_B + stage.reduced_B) *
						  fmax(s_per_B, gpu_s_per_B)
					: 0;
		double end_s = before_s + micro * stage.pass_s + (splits ? 0 : behind_s);
		least_s = fmax(least_s, fmax(end_s, micro * data_s));
		if (i == 0 || !splits) /* the first stage has its gradients last */
			least_s = fmax(least_s, end_s + last_s);
		before_s += stage.forward_s;
		behind_s += stage.backward_s;
	}
	return least_s;
}

double plan_busiest_s(const struct training_plan *plan, const struct unit_least *units,
		      size_t count)
{
	double most_s = 0;
	for (size_t i = 0; i < plan->sizes[AXIS_PIPELINE]; i++)
		most_s = fmax(most_s, stage_of(plan, units, count, i).pass_s);
	return (double)plan->micro_batch_count * most_s;
}
