/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts about a shipped GPU, machine, network or topology, computed from its file: the group under
 * which `farwire list` shows it, and one line of numbers. */
#pragma once

#include "sim/cfg/cfg.h"

struct facts {
	const char *group;  /* "" if the file has none */
	double group_order; /* smaller values come first */
	double order;       /* order within a group; smaller values come first */
	const char *text;   /* "" if nothing is computed */
	bool beside_help; /* the file's own description has more information and is shown before the
			     facts */
};

/* Computes facts from the file's group of that name: "gpu", "machine", "wiring" or "topology".
 * node may be NULL. Files of other groups have no facts. */
struct facts facts_of(struct arena *arena, const char *root, const char *name,
		      const struct cfg_node *node);
