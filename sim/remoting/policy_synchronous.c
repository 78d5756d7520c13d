/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Synchronous policy: every call is a remote procedure call, even get_device. Early rCUDA (Duato et
 * al., HPCS 2010) and Cricket's plain RPC mode work this way. */
#include "sim/remoting/policies.h"

enum call_class classify_answered(const struct cuda_call *call)
{
	switch (call->kind) {
	case CALL_MEMCPY_H2D:
	case CALL_MEMCPY_D2H:
	case CALL_MEMCPY_H2D_ASYNC:
	case CALL_MEMCPY_D2H_ASYNC:
		return CLASS_BULK;
	case CALL_EVENT_SYNCHRONIZE:
	case CALL_STREAM_SYNCHRONIZE:
	case CALL_DEVICE_SYNCHRONIZE:
		return CLASS_DRAINING;
	case CALL_EVENT_QUERY:
	case CALL_STREAM_QUERY:
		return CLASS_POLL;
	default:
		return CLASS_SYNC;
	}
}

static enum call_class classify(const struct runtime_params *params, const struct cuda_call *call)
{
	return classify_answered(call);
}

const struct policy policy_synchronous = {
	.name = "synchronous",
	.help = "every call waits for its answer (early rCUDA, Cricket)",
	.blocking_copies = true,
	.classify = classify,
};
