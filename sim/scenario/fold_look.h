/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by fold.c and fold_plan.c: what a library would choose for the ranks of a job. */
#pragma once

#include "sim/scenario/fold.h"
#include "sim/scenario/system.h"

enum { FOLD_USES_MOST = 8 }; /* algorithms that a library chooses from */

/* The algorithms that a communicator can use. If an algorithm uses more channels for larger
 * buffers, specs holds the one with the most channels, which includes the others. */
struct repertoire {
	struct fold_use uses[FOLD_USES_MOST];
	struct algorithm_spec specs[FOLD_USES_MOST];
	size_t count;
};
/* Builds a communicator of one machine of each kind, or of the members of a part on them. The
 * library makes the same choices for it as for all machines. part may be NULL. */
struct communicator *fold_look(struct arena *arena, const struct scenario *scenario,
			       struct system *system, const struct fold *part,
			       const size_t *members);
/* Adds the algorithm that the communicator plays. */
void fold_plays(const struct communicator *comm, enum collective collective, double size_B,
		struct repertoire *repertoire);
/* Returns false if schedules of that many ranks are impossible or cost too much. */
bool fold_can_build(const struct repertoire *repertoire, size_t rank_count);

/* Finds the classes of the machines of a plan or a recorded job. Returns false if too few are
 * equal. */
bool fold_plan(struct arena *arena, const struct scenario *scenario, struct system *system,
	       struct arena *scratch, struct fold *fold);
