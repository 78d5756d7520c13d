/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asynchronous policy: a call without a result is sent and forgotten. A call that returns a value,
 * frees memory or waits for the GPU is answered. */
#include "sim/remoting/policies.h"

enum call_class classify_forwarded(const struct runtime_params *params,
				   const struct cuda_call *call)
{
	switch (call->kind) {
	case CALL_GET_DEVICE:
	case CALL_SET_DEVICE:
		return CLASS_LOCAL;
	case CALL_LAUNCH:
	case CALL_LIBRARY:
	case CALL_MEMSET_ASYNC:
	case CALL_EVENT_RECORD:
	case CALL_STREAM_WAIT_EVENT:
	case CALL_ALL_REDUCE:
	case CALL_ALL_GATHER:
	case CALL_REDUCE_SCATTER:
	case CALL_ALL_TO_ALL:
	case CALL_BROADCAST:
	case CALL_SEND:
	case CALL_RECEIVE:
		return CLASS_ASYNC;
	case CALL_CREATE_HANDLE:
		return params->shadow_handles ? CLASS_ASYNC : CLASS_SYNC;
	default:
		return classify_answered(call);
	}
}

const struct policy policy_asynchronous = {
	.name = "asynchronous",
	.help = "launches, records and asynchronous copies return when sent; other calls wait for "
		"an answer",
	.classify = classify_forwarded,
};
