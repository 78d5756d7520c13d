/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two collectives in each step, with half of the gradients each. */
#include "sim/training/exchange_parts.h"

static size_t halves(const struct exchange_host *host, size_t *ends)
{
	ends[0] = host->gradients->tensor_count / 2;
	ends[1] = host->gradients->tensor_count;
	return 2;
}

const struct exchange_policy exchange_toy = {
	.name = "toy",
	.help = "an exchange policy of tests/toys",
	.ends = halves,
};
