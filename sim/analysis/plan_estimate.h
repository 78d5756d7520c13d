/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a micro-batch without a pipeline, from which the search of plans estimates steps. It
 * is simulated on one model replica. Plans that differ only in stages, chunks, schedule and
 * sharding share it. Plans of FSDP have another one on all replicas, because gathers can take
 * longer than kernels. */
#pragma once

#include "sim/analysis/analysis.h"
#include "sim/training/plan.h"

/* The simulated time of a micro-batch, outside of a pipeline. */
struct known_pass {
	const char *key;
	const struct setting *settings; /* of the first plan that has it */
	size_t gpu_count, batch_count;  /* GPUs, and their samples of a micro-batch */
	bool gathers;                   /* all replicas, with the gathers of FSDP */
	/* host_s: in which the GPU waits for calls of its host; 0: the case cannot be simulated */
	double all_s, host_s;
};
struct known_units { /* plan_units_least of plans with the same key */
	const char *key;
	const struct unit_least *units;
	size_t count;
};
struct plan_passes {
	struct arena *arena;
	const struct analysis_input *input;
	const struct scenario *scenario; /* its first job has plans with these links */
	struct plan_links links;
	size_t setting_count; /* of each plan */
	VEC(struct known_units) units;
	VEC(struct known_pass) passes;
	size_t measured_count; /* the first ones, which are simulated */
};

/* Returns a time below which no step of the plan is. */
double plan_passes_least_s(struct plan_passes *p, struct arena *scratch,
			   const struct training_plan *plan);
/* Returns true if the plan gathers parameters in each of many micro-batches. */
bool plan_passes_gathers(const struct training_plan *plan);
/* The plan's micro-batch is simulated by the next plan_passes_measure. */
void plan_passes_want(struct plan_passes *p, const struct training_plan *plan,
		      const struct setting *settings, bool gathers);
void plan_passes_measure(struct plan_passes *p);
/* Returns the estimate of the plan's step from its simulated micro-batch. */
double plan_passes_estimate_s(struct plan_passes *p, struct arena *scratch,
			      const struct training_plan *plan, bool gathers);
/* Returns the links of the job's GPUs and of its first machine. */
struct plan_links plan_links_of(const struct topology *topology, const struct job_entry *job);
