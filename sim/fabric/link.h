/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of links: what a pcie, nvlink, ethernet ... parameter group means.
 *
 * One file for each kind (link_pcie.c ...), each with a parameter struct, its
 * rows and a const struct link_kind; one line each in link_kinds.def.
 */
#ifndef FARWIRE_FABRIC_LINK_H
#define FARWIRE_FABRIC_LINK_H

#include <stddef.h>

#include "sim/base/param.h"
#include "sim/fabric/fabric.h"

enum { LINK_PARAMS_SIZE_MAX = 256 };

struct link_kind {
	const char *name;                /* "pcie" */
	const char *help;                /* one line */
	const struct param_table *table; /* table->size <= LINK_PARAMS_SIZE_MAX */
	/* Works out what the parameters mean. Returns NULL, or what is wrong
	 * with their combination (static text). */
	const char *(*traits)(const void *params, struct link_traits *traits);
};

size_t link_kind_count(void);
const struct link_kind *link_kind_at(size_t index);
const struct link_kind *link_kind_find(const char *name); /* or NULL */

#endif
