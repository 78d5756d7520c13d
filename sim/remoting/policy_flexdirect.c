/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bitfusion FlexDirect 1.11, inferred from its published training throughput.
 *
 * There is no public description of its internals. That launches, library calls and records block
 * is an assumption. The rows to which the cost of a call is fitted support it: there, a step waits
 * for its calls one by one. The client has the device attributes and creates handles itself. */
#include "sim/remoting/policies.h"

static enum call_class classify(const struct runtime_params *params, const struct cuda_call *call)
{
	if (call->kind == CALL_GET_DEVICE || call->kind == CALL_SET_DEVICE)
		return CLASS_LOCAL;
	if (call->kind == CALL_CREATE_HANDLE && params->shadow_handles)
		return CLASS_ASYNC;
	return classify_answered(call);
}

const struct policy policy_flexdirect = {
	.name = "flexdirect",
	.help = "calls wait for their answers; the client has the device attributes and creates "
		"handles",
	.blocking_copies = true,
	.classify = classify,
};
