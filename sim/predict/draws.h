/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts a case repeatedly with other values of its uncertain parameters.
 *
 * Draws run on several threads. The results do not depend on the number of threads, because
 * each draw has its own parameter values and its own random numbers, from the seed and its
 * number. A draw may fail, for example if packet loss breaks a connection. It then counts as a
 * throughput of 0. The low end of a throughput is 0 if more than 1 in 20 draws fail. */
#pragma once

#include "sim/predict/predict.h"
#include "sim/predict/unknowns.h"

struct draw_answers {
	struct job_point all, *jobs; /* fields are NaN if the draw failed */
	bool failed;
	const char *broken; /* message of a broken invariant; NULL: all hold */
};

struct draws {
	size_t count; /* 0: intervals are not computed */
	size_t failed_count;
	const char *broken; /* message of the first draw with a broken invariant; NULL: none */
	struct draw_answers *answers;
	/* The errors of the main part of the time, of this part in ratios to one GPU, and of the
	 * part that forwarding, several GPUs or the start of a collective add. */
	struct model_error error, ratio_error, added_error;
	double start_share; /* part of a collective's time without its bytes; 0: no collective */
	struct error_part errors[ERROR_PARTS]; /* what they do to the throughput, to first order */
	const char *width; /* what the interval of the throughput consists of; NULL: unknown */
};

/* Runs options->draws_count draws of a case whose point did not fail. */
struct draws draws_run(struct arena *arena, const struct case_request *request,
		       const struct predict_options *options, const struct scenario *scenario,
		       const struct point *point);

/* Returns the share of the main part in the time. A program that a plan splits has no ratio to one
 * GPU, so there it is the share in which GPUs work. */
double draws_main_share(const struct draws *draws, const struct job_point *answer);

/* Sets the errors of a case with this share of the main part. */
void draws_set_errors(struct draws *draws, const struct scenario *scenario, double share);

/* Returns value with the 5 and 95 % quantiles of the field at `offset` in struct job_point.
 * client < 0 selects the whole case. The model error is a factor whose logarithm has Student's
 * distribution. Each draw is replaced by that distribution around it, and the quantiles are
 * those of their mean. The error of an added part is a factor of that part only, so a ratio
 * below 1 stays below 1. Utilisations do not exceed 1. */
struct estimate draws_interval(struct arena *arena, const struct draws *draws, double value,
			       long client, size_t offset);

/* Returns value with the 5 and 95 % quantiles that follow only from the model error. For forwarded
 * programs only a ratio to local has them, because the share of the added time follows from it. */
struct estimate error_alone(const struct scenario *scenario, bool is_ratio, double value);

struct quotient {
	struct estimate estimate;
	double above_one; /* probability that it is above 1 */
};

/* Sets chances[i] to the probability that prediction i is the best one of all: that it has the
 * highest throughput, or the lowest cost. Predictions of other seeds or numbers of draws have no
 * common draws: then the chances are NaN. */
void draws_chances(const struct prediction *const *predictions, size_t count, bool cost,
		   double *chances);

/* Returns a / b as if both were independent and log-normal. above_one is NaN for exact numbers. */
struct quotient quotient_apart(struct estimate a, struct estimate b);

/* Returns the throughput of a divided by that of b. The interval comes from the quotients of
 * corresponding draws, because both cases draw their common parameters alike (unknowns.h). Draws
 * in which b failed are left out. The model error of the same program on one GPU cancels, as far as
 * its shares of both times are equal; other model errors are added. If the draws do not correspond
 * (other number or seed), the two intervals are combined as if they were independent. If only one
 * case has draws, the quotient has no interval, because that of the other case is unknown. */
struct quotient draws_quotient(const struct prediction *a, const struct prediction *b);
/* The same for the cost of a sample, request or collective. Prices that both cases share cancel. */
struct quotient draws_cost_quotient(const struct prediction *a, const struct prediction *b);

/* ---- cost and energy (cost.c) ---- */

/* Sets the costs of a point that has not failed. */
void costs_add(const struct scenario *scenario, struct point *point);
/* Sets the costs of a prediction, whose times and rates are set. */
void costs_summarize(struct arena *arena, const struct scenario *scenario,
		     const struct point *point, const struct draws *draws, struct prediction *p);
