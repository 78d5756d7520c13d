/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the policies. Private to sim/remoting. */
#pragma once

#include "sim/remoting/remoting.h"

#define POLICY(name) extern const struct policy policy_##name;
#include "sim/remoting/policies.def"
#undef POLICY

/* Returns the class that follows from the work of a call, in any runtime: copies are bulk,
 * synchronisations drain, queries poll, and all other calls are answered. */
enum call_class classify_answered(const struct cuda_call *call);
/* Returns the class in a runtime that sends calls without a result asynchronously. */
enum call_class classify_forwarded(const struct runtime_params *params,
				   const struct cuda_call *call);
