/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides which cases are folded (sim/collective/fold.h, docs/models/symmetry.md).
 *
 * A case is read twice. The first reading builds one machine of each kind. From it follow the
 * library's choices, the schedules and the classes of equal machines. The second reading builds
 * one machine of each class. Only small tables have the size of the whole job.
 *
 * A case is folded if it has a single job over rdma. Its machines must be a cluster, and its
 * network must be a tree of switches without loss. A rank that represents n ranks takes the largest
 * of n random step times (sim/workload/fused_rank.c). In all other cases, and if too few machines
 * are equal, all machines are simulated. */
#pragma once

#include "sim/collective/fold.h"
#include "sim/scenario/read.h"

/* Returns true if the case may be folded, judging by its settings before the machines are read. */
bool fold_is_wanted(const struct case_params *params, size_t job_count, size_t gpus_wanted,
		    bool plan);

/* Returns a fold in which one machine of each kind represents all of them. Ranks are assigned
 * machine by machine. Returns NULL if a machine would have no rank, or if there are too few
 * GPUs. */
struct fold_kind {
	size_t machine_count, gpu_count; /* gpu_count: GPUs of each machine that the job uses */
};
struct fold *fold_of_kinds(struct arena *arena, const struct fold_kind *kinds, size_t kind_count,
			   size_t rank_count);

/* Returns the classes of the case's machines. by_kind is the fold with which the scenario was
 * read. Returns NULL if the case cannot be folded or folding would not save time; then *why says
 * the reason. */
struct fold *fold_machines(struct arena *arena, const struct scenario *scenario,
			   struct fold *by_kind, const char **why);
