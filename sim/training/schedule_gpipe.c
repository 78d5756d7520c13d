/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPipe (Huang et al., arXiv:1811.06965): all forward passes, then all backward passes. */
#include "sim/base/arena.h"
#include "sim/training/schedules.h"

const char *schedule_of_one_chunk(struct arena *arena, const struct pipeline_shape *shape)
{
	if (shape->chunk_count == 1)
		return NULL;
	return arena_printf(
		arena,
		"this schedule has one part of the network on each stage, not %zu (write "
		"plan.chunks=1, or plan.schedule=interleaved)",
		shape->chunk_count);
}

static void write_slots(struct arena *arena, const struct pipeline_shape *shape, size_t stage,
			struct slots *slots)
{
	for (size_t m = 0; m < shape->micro_batch_count; m++)
		slot_add(arena, slots, SLOT_FORWARD, m, 0);
	for (size_t m = 0; m < shape->micro_batch_count; m++)
		slot_add(arena, slots, SLOT_BACKWARD, m, 0);
}

const struct pipeline_schedule schedule_gpipe = {
	.name = "gpipe",
	.help = "all forward passes, then all backward passes",
	.refuse = schedule_of_one_chunk,
	.write = write_slots,
};
