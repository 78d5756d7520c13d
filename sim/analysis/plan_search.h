/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches the plans by which a transformer can be split over the GPUs of a case.
 *
 * All combinations of the values of a plan's keys are tried, in five steps:
 *   1. plan_new refuses those that are impossible.
 *   2. plan_memory_B leaves out those that do not fit into the GPUs' memory.
 *   3. A timetable of the schedule, with the simulated time of a micro-batch, estimates the step of
 *      each of them. The first ones of FSDP are estimated again from a micro-batch with gathers.
 *   4. Their first steps are simulated in ascending order of the estimates, extended from a few
 *      micro-batches. A first step takes until its last rank ends, as a later one does. The search
 *      ends at the first plan that would need a smaller ratio of its step to its estimate than all
 *      plans before, by 2 % or more, to be among the best ones so far.
 *   5. The first plan is confirmed by whole steps, and each one that is up to 1 % slower.
 * All plans train the same global batch. The best plans are those of a simulation of all plans, if
 * no other plan has a ratio that is smaller by more than 2 % (tests/unit/plan_search.sh). */
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
	const char *name;  /* as in --plan: "tp=8,pp=2,dp=4" */
	double memory_B;   /* of the rank that needs most */
	double least_s;    /* no step is faster */
	double estimate_s; /* of the step */
	const struct prediction *prediction;
};

struct plan_search {
	const char *name; /* of the case */
	double batch_count, gpu_memory_B;
	size_t possible_count, fitting_count;
	size_t needed_count;  /* plans that a search simulates */
	size_t refused_count; /* of these, plans that cannot be simulated */
	const char *refused;  /* name of the first one, and the reason; NULL: none */
	/* the simulated plans of these, the best first; if no plan fits, those that need least
	 * memory */
	const struct found_plan *plans;
	size_t plan_count;
	size_t best_count;  /* the first ones, which have intervals */
	size_t first_count; /* of these, plans whose step is a first step, because no whole steps
			     * confirmed it */
};

/* Returns NULL after errors in diag or after a broken invariant, both described by *fault. */
const struct plan_search *plan_search_run(struct arena *arena, struct diag *diag,
					  const struct plan_search_request *request,
					  struct sweep_fault *fault);
