/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a case to a prediction.
 *
 * A POINT is one run of the world with given parameters: the mean over its
 * steady steps, and the same for each client alone beside its GPU (the
 * baseline of its ratio). A PREDICTION is the point with every parameter at its
 * value, and an interval from draws: whatever is not known is drawn (sim/predict/unknowns.h,
 * a fixed seed), the point is computed again with other noise, and the 5
 * and 95 % quantiles of the answers bound the 90 % interval.
 */
#ifndef FARWIRE_PREDICT_PREDICT_H
#define FARWIRE_PREDICT_PREDICT_H

#include "sim/result/result.h"
#include "sim/scenario/scenario.h"

struct baselines;

struct predict_options {
	uint64_t seed;
	size_t draws_count;          /* 0: no intervals (low = value = high) */
	unsigned jobs;               /* threads for the draws; results do not depend on it */
	struct trace *trace;         /* of the point; NULL: none */
	struct baselines *baselines; /* looked up and kept there (baselines.h); NULL: no */
};

/* One client's answers at a point. */
struct job_point {
	bool failed;
	const char *reason;
	double throughput, step_s, ratio, gpu_utilization; /* NaN when failed */
	double elapsed_s; /* from launch to end; NaN: not asked for */
};

struct point {
	bool failed; /* a client failed */
	const char *reason, *broken;
	double throughput, step_s, ratio, gpu_utilization, elapsed_s;
	struct breakdown_part phases[BREAKDOWN_MAX]; /* of elapsed_s, of the job that ends last */
	size_t phase_count;
	struct job_point *jobs;
	size_t job_count;
	struct world_outcome outcome;
};

/* Runs scenario and, if with_baseline, each client's baseline, which baselines may know already
 * (NULL: none are kept). */
struct point predict_point(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			   bool with_baseline, struct baselines *baselines, struct trace *trace);

/* Nothing of the runs stays in arena but the prediction, unless they are traced.
 * NULL after input errors (in diag) or a broken invariant (*broken set, else
 * NULL). A failed verdict is a prediction like any other. */
const struct prediction *predict_case(struct arena *arena, struct diag *diag,
				      const struct case_request *request,
				      const struct predict_options *options, const char **broken);

#endif
