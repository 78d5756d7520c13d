/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pipeline schedules.
 *
 * gpipe (Huang et al., arXiv:1811.06965): all forward passes, then all backward passes.
 *
 * 1f1b (Narayanan et al., PipeDream-Flush, arXiv:2006.09503; Megatron-LM's default): a stage keeps
 * the activations of at most as many micro-batches as there are stages from it to the last one.
 *
 * zb-h1, zero bubble with the memory of 1F1B (Qi et al., arXiv:2401.10241, section 2.1): the
 * gradients of weights are apart from those of activations, for which the stage before waits. A
 * later stage delays more of them, so it keeps as many micro-batches as the first one. The delayed
 * passes fill the bubble at the end.
 *
 * interleaved 1F1B (Narayanan et al., arXiv:2104.04473, section 2.2): stages hold several parts of
 * the network and take pp micro-batches through each part in turn. The bubble is smaller by the
 * number of parts. The order is that of Megatron-LM's
 * forward_backward_pipelining_with_interleaving.
 */
#include "sim/training/plan.h"

static const char *one_chunk(struct arena *arena, const struct pipeline_shape *shape)
{
	if (shape->chunk_count == 1)
		return NULL;
	return arena_printf(
		arena,
		"this schedule has one part of the network on each stage, not %zu (write "
		"plan.chunks=1, or plan.schedule=interleaved)",
		shape->chunk_count);
}

static const char *several_chunks(struct arena *arena, const struct pipeline_shape *shape)
{
	size_t stages = shape->stage_count, count = shape->micro_batch_count;
	if (shape->chunk_count == 1 || stages == 1)
		return arena_printf(arena, "schedule interleaved needs several stages with several "
					   "parts of the network each (write plan.pp=2, "
					   "plan.chunks=2, or plan.schedule=1f1b)");
	if (count % stages == 0)
		return NULL;
	return arena_printf(
		arena,
		"schedule interleaved needs a number of micro-batches (%zu) that is "
		"divisible by pp (%zu): write a global_batch of %zu micro-batches for each "
		"copy of the network",
		count, stages, (count / stages + 1) * stages);
}

static void write_in_turn(const struct pipeline_schedule *schedule, struct arena *arena,
			  const struct pipeline_shape *shape, size_t stage, struct slots *slots)
{
	size_t count = shape->micro_batch_count, delay = schedule->splits_backward ? stage : 0;
	size_t warm = schedule->all_forward ? count : shape->stage_count - 1 - stage;
	if (warm > count)
		warm = count;
	for (size_t m = 0; m < warm; m++)
		slot_add(arena, slots, SLOT_FORWARD, m, 0);
	for (size_t m = 0; m < count + delay; m++) {
		if (warm + m < count)
			slot_add(arena, slots, SLOT_FORWARD, warm + m, 0);
		if (m < count)
			slot_add(arena, slots, SLOT_BACKWARD, m, 0);
		if (schedule->splits_backward && m >= delay)
			slot_add(arena, slots, SLOT_WEIGHTS, m - delay, 0);
	}
}

/* The k-th pass of a stage. Backward passes go through the chunks from the last one. */
static void add(struct arena *arena, const struct pipeline_shape *shape, struct slots *slots,
		enum slot_kind kind, size_t k)
{
	size_t stages = shape->stage_count, round = stages * shape->chunk_count;
	size_t chunk = k % round / stages;
	if (kind == SLOT_BACKWARD)
		chunk = shape->chunk_count - 1 - chunk;
	slot_add(arena, slots, kind, k / round * stages + k % stages, chunk);
}

static void write_interleaved(const struct pipeline_schedule *schedule, struct arena *arena,
			      const struct pipeline_shape *shape, size_t stage, struct slots *slots)
{
	size_t stages = shape->stage_count, count = shape->micro_batch_count * shape->chunk_count;
	size_t warm = 2 * (stages - 1 - stage) + (shape->chunk_count - 1) * stages;
	if (warm > count || shape->micro_batch_count == stages)
		warm = count;
	for (size_t k = 0; k < warm; k++)
		add(arena, shape, slots, SLOT_FORWARD, k);
	for (size_t k = 0; k < count; k++) {
		if (warm + k < count)
			add(arena, shape, slots, SLOT_FORWARD, warm + k);
		add(arena, shape, slots, SLOT_BACKWARD, k);
	}
}

const struct pipeline_schedule schedule_gpipe = {
	.name = "gpipe",
	.help = "all forward passes, then all backward passes",
	.all_forward = true,
	.refuse = one_chunk,
	.write = write_in_turn,
};

const struct pipeline_schedule schedule_1f1b = {
	.name = "1f1b",
	.help = "one forward pass, then one backward pass, in turn",
	.refuse = one_chunk,
	.write = write_in_turn,
};

const struct pipeline_schedule schedule_zb_h1 = {
	.name = "zb-h1",
	.help = "1f1b with gradients of weights apart, which fill the bubble",
	.splits_backward = true,
	.refuse = one_chunk,
	.write = write_in_turn,
};

const struct pipeline_schedule schedule_interleaved = {
	.name = "interleaved",
	.help = "1f1b on stages that hold several parts of the network",
	.refuse = several_chunks,
	.write = write_interleaved,
};
