/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the readers of a case share. */
#ifndef FARWIRE_SCENARIO_READ_H
#define FARWIRE_SCENARIO_READ_H

#include "sim/base/vec.h"
#include "sim/scenario/scenario.h"

struct reader {
	struct arena *arena;
	struct diag *diag;
	struct cfg_resolution *resolution;
	const char *root;
	/* What the jobs of a case need, for clusters that say count = 0; 0: one machine. */
	size_t gpus_wanted, gpus_per_machine_wanted;
	/* may_fold: this is a look at the case, for which a cluster is read with one machine of
	 * each kind; that sets fold, and top to the topmost switch. Else it is read with the
	 * machines that stand for others in fold; NULL: with all. */
	bool may_fold;
	struct fold *fold;
	const char *top;
};

/* Fills *topology; errors are in diag. */
void read_topology(struct reader *reader, const struct cfg_node *file, const char *path,
		   struct topology *topology);
/* Whether it has links between hosts that carry that traffic (enum traffic). */
bool topology_has_network(const struct topology *topology, unsigned traffic);

/* Index of the entry of that name among count structs of `size` bytes, each
 * beginning with its name; SIZE_MAX after an error with a suggestion. */
size_t reader_find(struct reader *reader, struct origin origin, const char *what, const char *name,
		   const void *entries, size_t count, size_t size);

#endif
