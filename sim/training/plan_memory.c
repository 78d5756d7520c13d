/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The GPU memory of a rank of a plan, and the size of its messages. docs/models/plans.md explains
 * each term. */
#include "sim/base/table.h"
#include "sim/engine/trace.h"
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
	const struct network *network = plan->shard->network;
	bool selective = plan->params->recompute == RECOMPUTE_SELECTIVE;
	bool again = selective &&
		     plan_recomputes(plan, network, stack, (size_t)(layer - network->layers));
	double all_B = sample_B(stack, layer);
	if (again && layer->op != LAYER_ATTENTION)
		return 0;
	if (layer->op == LAYER_ATTENTION && stack->fused_attention)
		all_B += statistic_B * (double)(shape->heads * layer->height * layer->width);
	else if (layer->op == LAYER_ATTENTION && !again)
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

/* Adds the bytes of `count` parameters, their gradients and their optimizer's state, which a group
 * of `ranks` shares. */
static void add_state(const struct training_plan *plan, const struct stack_params *stack,
		      double count, double ranks, double parts_B[MEMORY_PARTS])
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
	parts_B[MEMORY_WEIGHTS] += count * parameter_B;
	parts_B[MEMORY_GRADIENTS] += count * gradient_B;
	parts_B[MEMORY_OPTIMIZER] += count * optimizer_B;
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

/* Sets the parts of the GPU memory of a rank of that stage, in bytes. */
static void memory_parts(const struct training_plan *plan, const struct stack_params *stack,
			 size_t stage, double parts_B[MEMORY_PARTS])
{
	const struct plan_params *params = plan->params;
	struct arena *arena = arena_new();
	struct stage_sum sum = add_up(arena, plan, stack, stage);
	double ranks = (double)plan_sharers(plan), element_B = stack_element_B(stack);
	double tensor = (double)plan->sizes[AXIS_TENSOR];
	double expert_ranks =
		plan->expert_count > 1 ? ranks * tensor / (double)plan->expert_count : ranks;
	double frozen_B = params->parameter_element_B > 0 ? params->parameter_element_B : element_B;
	bool sharded = params->sharding == SHARDING_PARAMETERS;
	memset(parts_B, 0, MEMORY_PARTS * sizeof *parts_B);
	add_state(plan, stack, sum.parameters_count, ranks, parts_B);
	add_state(plan, stack, sum.expert_parameters_count, expert_ranks, parts_B);
	parts_B[MEMORY_WEIGHTS] += fp8_weights_B(plan, stack, &sum) +
				   sum.frozen_count * frozen_B / (sharded ? ranks : 1);
	if (sharded) {
		parts_B[MEMORY_WEIGHTS] += GATHERED_UNITS * sum.unit_count * element_B;
		parts_B[MEMORY_GRADIENTS] +=
			GATHERED_UNITS * sum.unit_count * params->gradient_element_B;
	}
	parts_B[MEMORY_ACTIVATIONS] = most_kept_B(arena, plan, stage, sum.kept_B);
	parts_B[MEMORY_OTHER] = sum.block_B;
	for (int i = 0; i < MEMORY_PARTS; i++)
		parts_B[i] *= params->fragmentation_ratio;
	parts_B[MEMORY_OTHER] += stack->workspace_B + params->reserve_B;
	arena_free(arena);
}

double plan_memory_B(const struct training_plan *plan, const struct stack_params *stack,
		     size_t stage)
{
	double parts_B[MEMORY_PARTS], all_B = 0;
	memory_parts(plan, stack, stage, parts_B);
	for (int i = 0; i < MEMORY_PARTS; i++)
		all_B += parts_B[i];
	return all_B;
}

/* ---- over the time of a trace ---- */

struct memory_row { /* a GPU's memory while its spans are read */
	uint32_t track;
	double parts_B[MEMORY_PARTS];
	const double *kept_B; /* by chunk: activations of a micro-batch */
	double *alive_count;  /* by chunk: micro-batches whose activations are kept */
	size_t chunk_count;
	const char *const *names; /* of the slots of a step */
	struct slots slots;
	size_t slot; /* which is played; SIZE_MAX: none yet */
	bool plays;
	int64_t end_ps; /* of its last kernel */
};

static void count_memory(struct trace *trace, struct memory_row *row, int64_t time_ps)
{
	static const char *const names[MEMORY_PARTS] = {"weights", "gradients", "optimizer",
							"activations", "other"};
	double kept_B = 0;
	for (size_t i = 0; i < row->chunk_count; i++)
		kept_B += row->alive_count[i] * row->kept_B[i];
	row->parts_B[MEMORY_ACTIVATIONS] = kept_B;
	trace_counter(trace,
		      &(struct counter){time_ps, row->track, MEMORY_PARTS, names, row->parts_B});
}

/* Notes that the slot that was played ended with its last kernel. */
static void end_slot(struct trace *trace, struct memory_row *row, enum slot_kind frees)
{
	if (!row->plays)
		return;
	const struct slot *slot = &row->slots.items[row->slot];
	if (slot->kind == frees) {
		row->alive_count[slot->chunk]--;
		count_memory(trace, row, row->end_ps);
	}
	row->plays = false;
}

/* Reads a span of the GPU's kernels. Those of a slot have its name, and others have other names. */
static void read_span(struct trace *trace, struct memory_row *row, enum slot_kind frees,
		      const struct span *span)
{
	size_t next = (row->slot + 1) % row->slots.count; /* SIZE_MAX + 1 is 0 */
	bool begins = strcmp(span->name, row->names[next]) == 0;
	if (begins) {
		end_slot(trace, row, frees);
		row->slot = next;
		row->plays = true;
	}
	if (row->plays && strcmp(span->name, row->names[row->slot]) == 0)
		row->end_ps = span->end_ps;
	if (begins && row->slots.items[next].kind == SLOT_FORWARD) {
		row->alive_count[row->slots.items[next].chunk]++;
		count_memory(trace, row, span->start_ps);
	}
}

static struct memory_row *row_new(struct arena *arena, struct trace *trace,
				  const struct training_plan *plan,
				  const struct stack_params *stack, size_t stage, const char *group)
{
	const struct pipeline_shape shape = {plan->sizes[AXIS_PIPELINE], plan->chunk_count,
					     plan->played_count};
	struct memory_row *row = ARENA_NEW(arena, struct memory_row);
	*row = (struct memory_row){.track = trace_track(trace, group, "memory (bytes)"),
				   .alive_count = ARENA_ARRAY(arena, plan->chunk_count, double),
				   .chunk_count = plan->chunk_count,
				   .slot = SIZE_MAX};
	plan->schedule->write(plan->schedule, arena, &shape, stage, &row->slots);
	const char **names = ARENA_ARRAY(arena, row->slots.count, const char *);
	for (size_t i = 0; i < row->slots.count; i++)
		names[i] = slot_name(arena, &row->slots.items[i], plan->chunk_count);
	row->names = names;
	double *kept_B = add_up(arena, plan, stack, stage).kept_B;
	for (size_t i = 0; i < plan->chunk_count; i++)
		kept_B[i] *= plan->params->fragmentation_ratio;
	row->kept_B = kept_B;
	memory_parts(plan, stack, stage, row->parts_B);
	count_memory(trace, row, 0);
	return row;
}

void plan_memory_trace(struct trace *trace, const struct training_plan *plan,
		       const struct stack_params *stack)
{
	bool splits = plan->schedule->splits_backward;
	enum slot_kind frees = splits ? SLOT_WEIGHTS : SLOT_BACKWARD;
	struct arena *arena = arena_new();
	size_t count = trace_track_count(trace);
	struct memory_row **rows = ARENA_ARRAY(arena, count + 1, struct memory_row *);
	for (size_t i = 0; i < count; i++) {
		const char *group = trace_track_group(trace, i);
		size_t rank, stage, kernels = 0;
		if (sscanf(trace_track_name(trace, i), "rank %zu, stage %zu", &rank, &stage) != 2)
			continue;
		while (kernels < count &&
		       (!ends_in(trace_track_name(trace, kernels), "/stream 0") ||
			strcmp(trace_track_group(trace, kernels), group) != 0))
			kernels++;
		rows[kernels] = row_new(arena, trace, plan, stack, stage, group);
	}
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		if (rows[span->track] && span->name)
			read_span(trace, rows[span->track], frees, span);
	}
	for (size_t i = 0; i < count; i++)
		if (rows[i])
			end_slot(trace, rows[i], frees);
	arena_free(arena);
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
	if (plan->params->scatter_gather || plan->params->sequence_parallel)
		parts *= (double)plan->sizes[AXIS_TENSOR];
	return (double)(network->layers[last].channels * network->sequence) / parts * element_B;
}
