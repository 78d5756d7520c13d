/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts a case.
 *
 * A POINT is one run of the world with given parameters. It gives the mean over the measured
 * steps, and the ratio to a baseline: the same program on one GPU with the local driver. A
 * PREDICTION is the point with every parameter at its own value, and intervals. For these the
 * uncertain parameters are drawn (sim/predict/unknowns.h), and the point is computed for each
 * draw with other random numbers. The 5 and 95 % quantiles of the results bound the 90 %
 * interval. */
#pragma once

#include "sim/result/result.h"
#include "sim/scenario/scenario.h"

struct baselines;
struct ranks;

struct watch {
	/* Called when draws, rows or points have been predicted; an earlier run predicted the
	 * first `before` of them. NULL: no calls. */
	void (*tell)(void *ctx, size_t before, size_t done, size_t count);
	void *ctx;
};

struct predict_options {
	uint64_t seed;
	size_t draws_count; /* 0: low, value and high of all results are equal */
	unsigned jobs;      /* number of threads for the draws; results do not depend on it */
	/* Other processes that predict points of sweeps, too (sim/analysis/ranks.h); NULL: none.
	 * Each has `jobs` threads. */
	const struct ranks *ranks;
	struct trace *trace;         /* records the point's run; NULL: no trace */
	struct baselines *baselines; /* store of baselines (baselines.h); NULL: none */
	struct watch watch;          /* is told the number of finished draws */
	bool effects;                /* find settings without effect (effects.h) */
	bool remedies;               /* try what would help (remedies.c) */
	/* Settings of the draws only, which make them cheaper, for example fewer steps. One more
	 * run with them and without drawn values gives the factor between the answers of the point
	 * and those of the draws. */
	const struct setting *draw_settings;
	size_t draw_setting_count;
};

/* The numbers that a job and a whole point have alike. */
#define EACH_ANSWER(DO)                                                                            \
	DO(throughput)                                                                             \
	DO(step_s)                                                                                 \
	DO(ratio)                                                                                  \
	DO(gpu_utilization)                                                                        \
	DO(elapsed_s)                                                                              \
	DO(goodput_ratio)                                                                          \
	DO(failures_count)                                                                         \
	DO(power_W)                                                                                \
	DO(hour_cost)                                                                              \
	DO(energy_J)                                                                               \
	DO(sample_cost)                                                                            \
	DO(run_cost)                                                                               \
	DO(run_J)

/* The results of one job at a point. */
struct job_point {
	bool failed;
	const char *reason;
	double throughput, step_s, ratio, gpu_utilization; /* NaN if the job failed */
	double elapsed_s; /* time from launch to end of the job; NaN: not asked for */
	double goodput_ratio, failures_count; /* of a long run; NaN: there is none */
	/* of the whole case, only in draws: power; cost of an hour; energy and cost of a sample,
	 * request or collective; those of a long run; NaN: not asked for, or not known */
	double power_W, hour_cost, energy_J, sample_cost, run_cost, run_J;
	struct serving_answers serving; /* of a replica's service; NaN for other jobs */
};
/* A point of a job that has failed. */
struct job_point job_point_failed(const char *reason);

struct point {
	bool failed; /* a job failed */
	const char *reason, *broken;
	double throughput, step_s, ratio, gpu_utilization, elapsed_s;
	double goodput_ratio, failures_count;
	double power_W, hour_cost, energy_J, sample_cost, run_cost, run_J; /* as in job_point */
	struct serving_answers serving;                                    /* of all services */
	/* parts of elapsed_s of the job that ends last */
	struct breakdown_part phases[BREAKDOWN_MAX];
	size_t phase_count;
	/* of a long run: the time that each cause of failures took, and times of checkpoints */
	struct breakdown_part causes[FAILURE_CAUSE_COUNT], checkpoint[BREAKDOWN_MAX];
	size_t checkpoint_count;
	struct job_point *jobs;
	size_t job_count;
	struct world_outcome outcome;
};

/* Returns a point without numbers. It has failed if reason is not NULL. */
struct point point_new(struct arena *arena, const struct scenario *scenario, const char *reason);
/* Runs the scenario and, if with_baseline, the baseline of each job. baselines may be NULL. */
struct point predict_point(struct arena *arena, const struct scenario *scenario, uint64_t seed,
			   bool with_baseline, struct baselines *baselines, struct trace *trace);

/* Sets elapsed_s and the other numbers of the long run of a plan (sim/training/longrun.h). The
 * point has not failed. A draw plays one run with rates from the distributions of their observed
 * failures; otherwise the numbers are means of many runs. */
void goodput_add(struct arena *arena, const struct scenario *scenario, uint64_t seed,
		 struct point *point);

/* Returns the case with further settings. */
struct case_request request_with(struct arena *arena, const struct case_request *request,
				 const struct setting *settings, size_t count);
/* Returns the last setting of the key; NULL: there is none. */
const struct setting *request_setting(const struct case_request *request, const char *key);
/* Returns why the model server does not carry this rate of requests, even if all of them meet
 * objectives, because the simulation ends. NULL: it carries the rate. */
const char *prediction_load_refused(const struct prediction *p, double rate_per_s);
/* Returns what the case is about (setup.c). */
struct setup scenario_setup(struct arena *arena, const struct scenario *scenario);

/* Predicts the case of the request. Without options->trace nothing of the runs stays in arena
 * except the prediction. Returns NULL after input errors, which are in diag, or after a broken
 * invariant, whose message is then in *broken; otherwise *broken is NULL. A failed verdict is a
 * prediction, not an error. */
const struct prediction *predict_case(struct arena *arena, struct diag *diag,
				      const struct case_request *request,
				      const struct predict_options *options, const char **broken);

/* ---- parts of a prediction ---- */

/* Fills the fields of the prediction that follow from the jobs' steps in the window: breakdown,
 * bottleneck, counts of calls and timeouts, time of communication. The point must not have
 * failed (breakdown.c). */
void breakdown_summarize(struct arena *arena, const struct point *point,
			 const struct scenario *scenario, struct prediction *prediction);
/* Returns the outcome of world_run for the scenario. The step of a plan with many micro-batches is
 * extended from shorter ones if that is possible (periods.c). trace can be NULL. */
struct world_outcome periods_run(struct arena *arena, const struct scenario *scenario,
				 uint64_t seed, struct trace *trace);
/* Returns false if all micro-batches of the plan are simulated in each case. */
bool periods_may_extend(const struct training_plan *plan);
/* Longer runs are not repeated for advice, because each remedy needs a run of its own. */
enum { REMEDIES_EVENTS_MAX = 5000000 };
/* Returns for example "a runtime that batches calls (+95 %, ratio 0.997 in place of 0.510)". Gains
 * are of the throughput, and for model servers of the mean latency. If messages of keys and values
 * limit a server, the text also names the busiest link. Returns NULL if nothing could be tried or
 * the run was too long (remedies.c). */
const char *remedies_tried(struct arena *arena, const struct prediction *prediction,
			   const struct case_request *request, const struct scenario *scenario,
			   const struct point *point, const struct predict_options *options);
