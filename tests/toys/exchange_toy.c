/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two collectives in each step, with half of the gradients each, the later half first. */
#include "sim/training/exchange_parts.h"

static size_t halves(const struct exchange_params *params, const double *sizes_B, size_t count,
		     struct exchange_bundle *bundles)
{
	bundles[0] = (struct exchange_bundle){.first = count / 2, .end = count};
	bundles[1] = (struct exchange_bundle){.first = 0, .end = count / 2};
	return 2;
}

const struct exchange_policy exchange_toy = {
	.name = "toy",
	.help = "an exchange policy of tests/toys",
	.divide = halves,
};
