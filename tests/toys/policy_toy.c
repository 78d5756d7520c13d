/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each call waits for its answer, also a copy. */
#include "sim/remoting/policies.h"

static enum call_class classify(const struct runtime_params *params, const struct cuda_call *call)
{
	return classify_answered(call);
}

const struct policy policy_toy = {
	.name = "toy",
	.help = "a policy of tests/toys",
	.blocking_copies = true,
	.classify = classify,
};
