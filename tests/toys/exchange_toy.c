/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two collectives in each step, with half of the gradients each. */
#include "sim/training/exchange_parts.h"

static size_t halves(const struct exchange_params *params, const double *sizes_B, size_t count,
		     size_t *ends)
{
	ends[0] = count / 2;
	ends[1] = count;
	return 2;
}

const struct exchange_policy exchange_toy = {
	.name = "toy",
	.help = "an exchange policy of tests/toys",
	.ends = halves,
};
