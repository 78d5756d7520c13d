/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which cases are folded, and how (sim/collective/fold.h, docs/models/symmetry.md).
 *
 * A case is read twice. The first time its cluster has one machine of each kind; that
 * says what the library makes of such machines, hence which schedules they will play,
 * and these say which machines are alike. The second time the cluster has one of each
 * class. Nothing is ever built of the size of the whole but small tables.
 *
 * Folded is a single job, training without chance or a collective alone, over rdma, on
 * machines of a cluster whose network is a tree of switches that lose nothing. Where
 * something else is asked for, or too few are alike, all is simulated.
 */
#ifndef FARWIRE_SCENARIO_FOLD_H
#define FARWIRE_SCENARIO_FOLD_H

#include "sim/collective/fold.h"
#include "sim/scenario/read.h"

/* What is said of the case before its machines are read. */
bool fold_is_wanted(const struct case_params *params, size_t job_count, size_t gpus_wanted);

/* Machines after machines, of kinds, each with GPUs of the job until it has its all: a fold in
 * which one of each kind stands for all. NULL: some would have none. */
struct fold_kind {
	size_t machine_count, gpu_count; /* gpu_count: of each, that a job uses */
};
struct fold *fold_of_kinds(struct arena *arena, const struct fold_kind *kinds, size_t kind_count,
			   size_t rank_count);

/* The classes of the case's machines, read with such a fold. NULL: not worth it. */
struct fold *fold_machines(struct arena *arena, const struct scenario *scenario,
			   struct fold *by_kind);

#endif
