/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of links, and the meaning of their parameter groups (pcie, nvlink, ethernet ...).
 *
 * Each kind has its own file (link_pcie.c ...) with a parameter struct, its rows and a const struct
 * link_kind, and one line in link_kinds.def.
 */
#pragma once

#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/fabric/fabric.h"

enum { LINK_PARAMS_SIZE_MAX = 256 };

struct link_kind {
	const char *name; /* for example "pcie" */
	const char *help; /* in one line */
	/* The link connects parts of one host. All other links, also virtual ones, belong to a
	 * network. */
	bool inside_host;
	bool joins_processors; /* it connects processors of one host that have separate memory */
	unsigned carries;      /* enum traffic */
	const struct param_table *table; /* table->size <= LINK_PARAMS_SIZE_MAX */
	/* Computes the traits from the parameters. */
	void (*traits)(const void *params, struct link_traits *traits);
};

/* Returns true if a route for that traffic may use such links. */
static inline bool link_carries(const struct link_kind *kind, unsigned traffic)
{
	if (traffic & TRAFFIC_BETWEEN_HOSTS && kind->inside_host)
		return false;
	return traffic == TRAFFIC_ANY || (kind->carries & traffic);
}

REGISTRY_OF(struct link_kind, link_kind);
