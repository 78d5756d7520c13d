/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ZB-H1, zero bubble with the memory of 1F1B (Qi et al., arXiv:2401.10241, section 2.1). The
 * gradients of weights are apart from those of activations, for which the stage before waits. A
 * later stage delays more of them, so it keeps as many micro-batches as the first one. The delayed
 * passes fill the bubble at the end. */
#include "sim/training/schedules.h"

static void write_slots(struct arena *arena, const struct pipeline_shape *shape, size_t stage,
			struct slots *slots)
{
	size_t count = shape->micro_batch_count, warm = shape->stage_count - 1 - stage;
	if (warm > count)
		warm = count;
	for (size_t m = 0; m < warm; m++)
		slot_add(arena, slots, SLOT_FORWARD, m, 0);
	for (size_t m = 0; m < count + stage; m++) {
		if (warm + m < count)
			slot_add(arena, slots, SLOT_FORWARD, warm + m, 0);
		if (m < count)
			slot_add(arena, slots, SLOT_BACKWARD, m, 0);
		if (m >= stage)
			slot_add(arena, slots, SLOT_WEIGHTS, m - stage, 0);
	}
}

const struct pipeline_schedule schedule_zb_h1 = {
	.name = "zb-h1",
	.help = "1f1b with gradients of weights apart, which fill the bubble",
	.splits_backward = true,
	.refuse = schedule_of_one_chunk,
	.write = write_slots,
};
