/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TensorFlow's replicated variables and parameter servers: a collective for each gradient. */
#include "sim/training/exchange_parts.h"

static size_t each_gradient(const struct exchange_params *params, const double *sizes_B,
			    size_t count, struct exchange_bundle *bundles)
{
	for (size_t i = 0; i < count; i++)
		bundles[i] = (struct exchange_bundle){.first = i, .end = i + 1};
	return count;
}

const struct exchange_policy exchange_per_tensor = {
	.name = "per_tensor",
	.help = "one collective for each gradient as soon as it is ready (TensorFlow's replicated "
		"variables, parameter servers)",
	.divide = each_gradient,
};
