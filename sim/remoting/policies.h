/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the policies share; private to sim/remoting. */
#ifndef FARWIRE_REMOTING_POLICIES_H
#define FARWIRE_REMOTING_POLICIES_H

#include "sim/remoting/remoting.h"

#define POLICY(name) extern const struct policy policy_##name;
#include "sim/remoting/policies.def"
#undef POLICY

/* The classes that follow from what a call does, whoever forwards it: copies
 * are bulk, synchronisations drain, queries poll, everything else is answered. */
enum call_class classify_answered(const struct cuda_call *call);
/* The classes of a runtime that lets go whatever returns nothing. */
enum call_class classify_forwarded(const struct runtime_params *params,
				   const struct cuda_call *call);

#endif
