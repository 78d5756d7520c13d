/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters ranked by their influence on an answer.
 *
 * One at a time: each uncertain knob (knobs.h) is put to its 5 and its 95 % point, all
 * else at its value; the answer's way between the two is the knob's SWING. Then, of
 * those with a hundredth of the greatest swing or more, at most SENSITIVITY_INPUTS_MAX,
 * Sobol's indices (indices.h); the others stay at their values.
 *
 * Where nothing is uncertain, or the question is which knob to turn, every number is
 * moved by the same part of itself instead: ELASTICITIES, by how many percent the
 * answer changes for one percent of the parameter.
 */
#ifndef FARWIRE_ANALYSIS_SENSITIVITY_H
#define FARWIRE_ANALYSIS_SENSITIVITY_H

#include "sim/analysis/indices.h"
#include "sim/analysis/points.h"
#include "sim/analysis/knobs.h"

enum { SENSITIVITY_INPUTS_MAX = 12 };

struct swing {
	const struct knob *knob;
	double low_x, high_x;         /* of its first member */
	struct case_answer low, high; /* the answers there */
	double size;                  /* their difference; INFINITY: one of them fails */
	double elasticity;            /* NaN: fails, or cannot be moved */
	bool indexed;                 /* the next is estimated */
	struct index_estimate index;
};
struct sensitivity_request {
	struct analysis_input input;   /* options.draws_count: of the answer's own interval */
	struct setting number;         /* which one is the answer; text NULL: the case's main one */
	double vary_ratio;             /* 0: to the ends of intervals */
	const char *const *keys;       /* parameters whose path has one of these; none: all */
	size_t key_count, point_count; /* 0: no indices */
};
struct sensitivity {
	const struct scenario *scenario;
	const struct reported *reported; /* the number that is the answer */
	struct case_answer now;          /* with its interval */
	double vary_ratio;               /* of the request */
	size_t point_count;
	const struct swing *swings; /* greatest first; equal ones as the case has them */
	size_t swing_count;         /* 0: nothing is uncertain, or matches the keys */
	size_t moving_count;        /* of these: the first ones, which move the answer by more
				       than a millionth */
	size_t indexed_count, failed_points, runs;
};
/* NULL after errors in diag, or a broken invariant, *broken. */
const struct sensitivity *sensitivity_find(struct arena *arena, struct diag *diag,
					   const struct sensitivity_request *request,
					   const char **broken);

#endif
