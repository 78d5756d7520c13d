/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups and programs of a plan whose machines are folded. */
#pragma once

#include "sim/scenario/scenario.h"

/* Returns the groups of a plan. With a fold, these are the groups of simulated ranks, one for all
 * equal ones, and only simulated ranks have communicators. */
struct plan_groups fold_plan_groups(struct arena *arena, const struct job_entry *entry,
				    const struct fold *fold);
/* Returns what the program of a rank on the job's simulated GPU `index` needs. */
struct plan_step fold_plan_step(const struct scenario *scenario, const struct plan_groups *groups,
				size_t index);
