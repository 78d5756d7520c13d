/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One collective for each gradient, as in TensorFlow's dataflow graph. */
#include "sim/base/arena.h"
#include "sim/training/exchange_parts.h"

static struct exchange *per_tensor_new(const struct exchange_host *host)
{
	size_t count = host->profile->tensor_count;
	size_t *ends = ARENA_ARRAY(host->arena, count, size_t);
	for (size_t i = 0; i < count; i++)
		ends[i] = i + 1;
	return planned_new(&exchange_per_tensor, host, ends, count);
}

const struct exchange_policy exchange_per_tensor = {
	.name = "per_tensor",
	.help = "one collective for each gradient as soon as it is ready (TensorFlow's replicated "
		"variables, parameter servers)",
	.new = per_tensor_new,
	.announced = planned_announced,
	.ready = planned_ready,
};
