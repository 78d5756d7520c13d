/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One forward, one backward (Narayanan et al., PipeDream-Flush, arXiv:2006.09503; Megatron-LM's
 * default). A stage keeps the activations of at most as many micro-batches as there are stages
 * from it to the last one. */
#include "sim/training/schedules.h"

static void write_slots(struct arena *arena, const struct pipeline_shape *shape, size_t stage,
			struct slots *slots)
{
	size_t count = shape->micro_batch_count, warm = shape->stage_count - 1 - stage;
	if (warm > count)
		warm = count;
	for (size_t m = 0; m < warm; m++)
		slot_add(arena, slots, SLOT_FORWARD, m, 0);
	for (size_t m = 0; m < count; m++) {
		if (warm + m < count)
			slot_add(arena, slots, SLOT_FORWARD, warm + m, 0);
		slot_add(arena, slots, SLOT_BACKWARD, m, 0);
	}
}

const struct pipeline_schedule schedule_1f1b = {
	.name = "1f1b",
	.help = "one forward pass, then one backward pass, in turn",
	.refuse = schedule_of_one_chunk,
	.write = write_slots,
};
