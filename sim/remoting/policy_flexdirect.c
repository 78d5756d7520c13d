/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bitfusion FlexDirect 1.11 as far as its published training rates show it.
 *
 * There is no public source on its internals. That launches, library calls and
 * records block is an assumption; what supports it are the rows to which the
 * cost of a call is fitted, where a step waits for its calls one by one. The
 * device is known at the client, and handles are given out there. */
#include "sim/remoting/policies.h"

static enum call_class classify(const struct runtime_params *params, const struct cuda_call *call)
{
	if (call->kind == CALL_GET_DEVICE)
		return CLASS_LOCAL;
	if (call->kind == CALL_CREATE_HANDLE && params->shadow_handles)
		return CLASS_ASYNC;
	return classify_answered(call);
}

const struct policy policy_flexdirect = {
	.name = "flexdirect",
	.help = "calls wait for their answer; device and handles are known at the client",
	.blocking_copies = true,
	.classify = classify,
};
