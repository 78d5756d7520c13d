/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two collectives in each step, with half of the gradients each. */
#include "sim/base/arena.h"
#include "sim/training/exchange_parts.h"

static struct exchange *toy_new(const struct exchange_host *host)
{
	size_t *ends = ARENA_ARRAY(host->arena, 2, size_t);
	ends[0] = host->profile->tensor_count / 2;
	ends[1] = host->profile->tensor_count;
	return planned_new(&exchange_toy, host, ends, 2);
}

const struct exchange_policy exchange_toy = {
	.name = "toy",
	.help = "an exchange policy of tests/toys",
	.new = toy_new,
	.announced = planned_announced,
	.ready = planned_ready,
};
