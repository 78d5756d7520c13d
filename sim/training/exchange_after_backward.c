/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One collective reduces all gradients after backward. */
#include "sim/base/arena.h"
#include "sim/training/exchange_parts.h"

static struct exchange *after_backward_new(const struct exchange_host *host)
{
	size_t *end = ARENA_NEW(host->arena, size_t);
	*end = host->profile->tensor_count;
	return planned_new(&exchange_after_backward, host, end, 1);
}

const struct exchange_policy exchange_after_backward = {
	.name = "after_backward",
	.help = "one collective reduces all gradients after backward (IBM DDL)",
	.whole = true,
	.new = after_backward_new,
	.announced = planned_announced,
	.ready = planned_ready,
};
