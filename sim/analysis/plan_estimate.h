/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a micro-batch on one model replica without a pipeline, from which the search of plans
 * estimates steps. Plans that differ only in stages, chunks, schedule and sharding share it. */
#pragma once

#include "sim/analysis/analysis.h"
#include "sim/training/plan.h"

struct pass_case {
	size_t gpu_count, batch_count; /* GPUs of the replica, and samples of a micro-batch */
};
struct pass_case pass_case_of(const struct training_plan *plan);
struct pass_time {
	double all_s, host_s; /* host_s: in which the GPU waits for calls of its host */
};
/* Simulates steps of one and of two micro-batches. Returns the difference, which has no start and
 * no end of a step; 0: the case cannot be simulated. */
struct pass_time pass_case_time(const struct analysis_input *input, const struct setting *settings,
				size_t count, const struct pass_case *pass);
/* Returns the time of a micro-batch in all units. */
double units_pass_s(const struct unit_least *units, size_t count);
/* Returns the units with their times multiplied by the ratio. */
const struct unit_least *units_scaled(struct arena *arena, const struct unit_least *units,
				      size_t count, double ratio);
/* Returns the links of the job's GPUs and of its first machine. */
struct plan_links plan_links_of(const struct topology *topology, const struct job_entry *job);
