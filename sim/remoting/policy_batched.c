/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The classes of the asynchronous policy for runtimes that collect calls: how
 * many go in one message, and for how long they may wait, are parameters
 * (batch, batch_wait). */
#include "sim/remoting/policies.h"

const struct policy policy_batched = {
	.name = "batched",
	.help = "as asynchronous, for runtimes that send such calls in batches",
	.classify = classify_forwarded,
};
