/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches the plans by which a transformer can be split over the GPUs of a case.
 *
 * All combinations of the values of a plan's keys are tried, in four steps:
 *   1. plan_new refuses those that are impossible.
 *   2. plan_memory_B leaves out those that do not fit into the GPUs' memory.
 *   3. plan_least_s gives each of them a time that its step cannot be below.
 *   4. They are simulated in ascending order of that time. The search ends at the first plan whose
 *      least time is above the step time of the plan that is last among the best ones so far.
 * All plans train the same global batch. A plan that was not simulated has a longer step than each
 * of the best ones, so the best plans are those of a simulation of all plans. */
#pragma once

#include "sim/analysis/sweep.h"

struct plan_search_request {
	struct analysis_input input;   /* options.draws_count: draws for each of the best plans */
	const struct sweep_axis *axes; /* values to try for keys of a plan */
	size_t axis_count;
	size_t most_count;   /* number of best plans to return */
	bool exhaustive;     /* simulate all plans that fit */
	bool count_only;     /* simulate nothing: plan_count is 0 */
	const char *journal; /* as in struct sweep_request */
	/* Is told the name of the fastest plan so far, with the ctx of input.watch; NULL: nothing.
	 */
	void (*tell_best)(void *ctx, const char *name, double step_s);
};

struct found_plan {
	const char *name; /* as in --plan: "tp=8,pp=2,dp=4" */
	double memory_B;  /* of the rank that needs most */
	double least_s;   /* no step is faster */
	const struct prediction *prediction;
};

struct plan_search {
	const char *name; /* of the case */
	double batch_count, gpu_memory_B;
	size_t possible_count, fitting_count;
	size_t needed_count;  /* plans that no search can leave out */
	size_t refused_count; /* of these, plans that cannot be simulated */
	const char *refused;  /* name of the first one, and the reason; NULL: none */
	/* the simulated plans of these, the best first; if no plan fits, those that need least
	 * memory */
	const struct found_plan *plans;
	size_t plan_count;
	size_t best_count; /* the first ones, which have intervals */
};

/* Returns NULL after errors in diag or after a broken invariant, both described by *fault. */
const struct plan_search *plan_search_run(struct arena *arena, struct diag *diag,
					  const struct plan_search_request *request,
					  struct sweep_fault *fault);
