/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups and programs of a plan, or of a recorded job, whose machines are folded. */
#pragma once

#include "sim/scenario/scenario.h"
#include "sim/scenario/system.h"

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
