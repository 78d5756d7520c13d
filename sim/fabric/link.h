/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of links: what a pcie, nvlink, ethernet ... parameter group means.
 *
 * One file for each kind (link_pcie.c ...), each with a parameter struct, its
 * rows and a const struct link_kind; one line each in link_kinds.def.
 */
#ifndef FARWIRE_FABRIC_LINK_H
#define FARWIRE_FABRIC_LINK_H

#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/fabric/fabric.h"

enum { LINK_PARAMS_SIZE_MAX = 256 };

struct link_kind {
	const char *name; /* "pcie" */
	const char *help; /* one line */
	/* It joins parts of one host. Others are a network's, virtual ones included. */
	bool inside_host;
	bool joins_processors;           /* ... that each have memory of their own */
	unsigned carries;                /* enum traffic */
	const struct param_table *table; /* table->size <= LINK_PARAMS_SIZE_MAX */
	/* Works out what the parameters mean. Returns NULL, or what is wrong
	 * with their combination (static text). */
	const char *(*traits)(const void *params, struct link_traits *traits);
};

/* Whether a route for that traffic may take such links. */
static inline bool link_carries(const struct link_kind *kind, unsigned traffic)
{
	if (traffic & TRAFFIC_BETWEEN_HOSTS && kind->inside_host)
		return false;
	return traffic == TRAFFIC_ANY || (kind->carries & traffic);
}

REGISTRY_OF(struct link_kind, link_kind);

#endif
