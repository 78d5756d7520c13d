/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batched policy: the classes of the asynchronous policy, for runtimes that collect calls. The
 * parameters batch and batch_wait set the number of calls per message and the longest wait. */
#include "sim/remoting/policies.h"

const struct policy policy_batched = {
	.name = "batched",
	.help = "like asynchronous, for runtimes that send calls in batches",
	.classify = classify_forwarded,
};
