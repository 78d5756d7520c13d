/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Interleaved 1F1B (Narayanan et al., arXiv:2104.04473, section 2.2): stages hold several parts
 * of the network and take pp micro-batches through each part in turn. The bubble is smaller by
 * the number of parts. The order is that of Megatron-LM's
 * forward_backward_pipelining_with_interleaving. */
#include "sim/base/arena.h"
#include "sim/training/schedules.h"

static const char *refuse(struct arena *arena, const struct pipeline_shape *shape)
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

static void write_slots(struct arena *arena, const struct pipeline_shape *shape, size_t stage,
			struct slots *slots)
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

const struct pipeline_schedule schedule_interleaved = {
	.name = "interleaved",
	.help = "1f1b on stages that hold several parts of the network",
	.refuse = refuse,
	.write = write_slots,
};
