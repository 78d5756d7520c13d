/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides which cases are folded (sim/collective/fold.h, docs/models/symmetry.md).
 *
 * A case is read twice. The first reading builds one machine of each kind. From it follow the
 * library's choices, the schedules and the classes of equal machines. The second reading builds
 * one machine of each class. Only small tables have the size of the whole job.
 *
 * A case is folded if it has a single job over rdma. Its machines must be a cluster, and its
 * network must be a tree of switches without loss. A rank that represents n ranks takes the largest
 * of n random step times (sim/workload/dp_rank.c). In all other cases, and if too few machines
 * are equal, all machines are simulated. */
#pragma once

#include "sim/collective/fold.h"
#include "sim/scenario/read.h"
#include "sim/scenario/system.h"

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

/* Returns the groups of a plan. With a fold, these are the groups of simulated ranks, one for all
 * equal ones, and only simulated ranks have communicators. */
struct plan_groups fold_plan_groups(struct arena *arena, const struct job_entry *entry,
				    const struct fold *fold);
/* Returns the job with the groups of simulated ranks, likewise. */
const struct recorded_job *fold_recorded_job(struct arena *arena, const struct recorded_job *job,
					     const struct fold *fold);
/* Returns the program of a rank of a recorded job, on the job's simulated GPU `index`. */
struct program *fold_recorded_program(struct arena *arena, const struct job_entry *entry,
				      const struct system *system, const struct recorded_job *job,
				      size_t rank, size_t index);
/* Returns what the program of a rank on the job's simulated GPU `index` needs. */
struct plan_step fold_plan_step(const struct scenario *scenario, const struct plan_groups *groups,
				size_t index);

/* ---- shared by fold.c and fold_plan.c: what a library would choose for the ranks of a job ---- */

/* Smallest number of machines that a class must have on average. */
enum { ALIKE_LEAST = 2 };
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
