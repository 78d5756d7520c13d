/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches the layouts by which model servers can use the GPUs of a case.
 *
 * A LAYOUT says how many GPUs a replica has. It says what they split (tensor, pipeline, attention
 * data and expert parallelism), how many replicas there are, and how many of them process prompts
 * only. Each layout is tried with several BATCH LIMITS: most requests and most tokens of an
 * iteration. The LOAD of a layout with limits is the highest one at which the share
 * serve.slo_quantile of the requests meets all objectives: requests per second, or clients of a
 * closed loop. Requests must also not pile up (OVERLOAD_LEAST), because generous objectives are met
 * until a simulation ends.
 *
 * Each load is bracketed and then bisected, by one simulation at a time for each layout; all
 * layouts take turns, as points of sweeps. The first batch limits of a layout are searched whole.
 * Each other one is simulated at a load that would be better by SERVE_STEP; only if it is met
 * there, the search continues with it. A layout is given up when its load must be below those of
 * the most_count best ones. The search assumes that objectives that are missed at a load are also
 * missed at higher ones.
 *
 * Most simulations miss the objectives. They end as soon as this is certain (struct serving_spec,
 * verdict_only). The reason of a layout without a load comes from a simulation to the end. */
#pragma once

#include "sim/analysis/sweep.h"

/* Loads are found to this ratio of the highest one that is met and the lowest that is missed. */
#define SERVE_STEP 1.03

struct serve_search_request {
	struct analysis_input input;   /* options.draws_count: draws for the load of the best */
	const struct sweep_axis *axes; /* values to try for keys of a layout */
	size_t axis_count, most_count; /* number of best layouts */
	bool all_marks; /* also those of loads that are missed, whose simulations end early without
			 */
};

/* The keys of a layout and, from LAYOUT_BATCH on, of its limits: case.tensor ... */
enum layout_key {
	LAYOUT_TENSOR,
	LAYOUT_PIPELINE,
	LAYOUT_DATA,
	LAYOUT_EXPERT,
	LAYOUT_COPIES,
	LAYOUT_PREFILL,
	LAYOUT_BATCH,
	LAYOUT_TOKENS,
	LAYOUT_KEYS
};

struct serve_layout {
	double sizes[LAYOUT_KEYS]; /* NaN: the default, because the network has no experts */
	double gpus_count;
	double load; /* 0: the objectives are missed at each load, or it cannot be simulated */
	double load_per_gpu; /* requests/s of a GPU at this load; the order of layouts */
	const char *name;    /* settings of the layout: "case.tensor=2 case.copies=4 ..." */
	const char *command; /* of the case's engine; NULL: none */
	const char *reason;  /* why the load is 0; otherwise NULL */
	bool failed;         /* it cannot be simulated: it does not fit, for example */
	const struct prediction *prediction; /* at this load; NULL: it is 0 */
};
struct serve_mark { /* a load of a layout that was simulated to the end */
	double user_tokens_per_s, gpu_tokens_per_s;
	bool met;
	const char *name;
};
struct serve_search {
	const char *name, *setup; /* of the case */
	bool closed;              /* loads are clients, and otherwise requests/s */
	double gpus_count, quantile_ratio;
	const struct serve_layout *layouts; /* the best first; those without a load come last */
	size_t layout_count, best_count;    /* best_count: those with a load, at most most_count */
	struct estimate load; /* of the first layout; without draws it has no interval */
	const struct serve_mark *marks;
	size_t mark_count, simulation_count;
};

/* Returns true if the case of the request serves requests. */
bool serve_search_takes(const struct case_request *request);
/* Returns NULL after errors in diag or after a broken invariant, both described by *fault. */
const struct serve_search *serve_search_run(struct arena *arena, struct diag *diag,
					    const struct serve_search_request *request,
					    struct sweep_fault *fault);
