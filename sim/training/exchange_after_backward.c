/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IBM's DDL: one collective, without overlap. */
#include "sim/training/exchange_parts.h"

static size_t one_bundle(const struct exchange_params *params, const double *sizes_B, size_t count,
			 struct exchange_bundle *bundles)
{
	bundles[0].end = count;
	return 1;
}

const struct exchange_policy exchange_after_backward = {
	.name = "after_backward",
	.help = "one collective reduces all gradients after backward (IBM DDL)",
	.whole = true,
	.divide = one_bundle,
};
