/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks parameters by their influence on an answer.
 *
 * First, one knob at a time (knobs.h): each uncertain knob is set to its 5 % and its 95 %
 * quantile, with all others at their present values. The difference between the two answers is
 * the knob's SWING. Then Sobol's indices (indices.h) are estimated for knobs whose swing is at
 * least 1 % of the largest, at most SENSITIVITY_INPUTS_MAX of them. The other knobs keep their
 * values.
 *
 * If nothing is uncertain, or if the user asks for it, every number is changed by the same
 * percentage instead. The results are ELASTICITIES: by how many percent the answer changes for
 * one percent more of a parameter. */
#pragma once

#include "sim/analysis/indices.h"
#include "sim/analysis/points.h"
#include "sim/analysis/knobs.h"

enum { SENSITIVITY_INPUTS_MAX = 12 };

struct swing {
	const struct knob *knob;
	double low_x, high_x;         /* values of the knob's first member */
	struct case_answer low, high; /* answers at these values */
	double size;                  /* absolute difference; INFINITY: the case fails at one end */
	double elasticity;            /* NaN: the case fails, or the knob cannot be changed */
	bool indexed;                 /* `first` and `total` are estimated */
	struct index_estimate index;
};
struct sensitivity_request {
	struct analysis_input input; /* options.draws_count is the number of draws for the answer's
					own interval */
	struct setting number;   /* name of the answer; text NULL: the main answer of the case */
	double vary_ratio;       /* relative change of all numbers; 0: use the ends of intervals */
	const char *const *keys; /* only parameters that match one of these; none: all parameters */
	size_t key_count, point_count; /* point_count 0: no indices */
};
struct sensitivity {
	const struct scenario *scenario;
	const struct reported *reported; /* the number that is the answer */
	struct case_answer now;          /* present answer with its interval */
	double vary_ratio;               /* vary_ratio of the request */
	size_t point_count;
	/* swings by size, largest first; equal swings in the order of the case */
	const struct swing *swings;
	size_t swing_count;    /* 0: nothing is uncertain, or no parameter matches a key */
	const char *unmatched; /* the first key that matches no parameter; NULL: none */
	size_t moving_count;   /* the first swings, which change the answer by more than a millionth
				*/
	size_t indexed_count, failed_points, runs;
};
/* Returns NULL after errors in diag or after a broken invariant, which *broken describes. */
const struct sensitivity *sensitivity_find(struct arena *arena, struct diag *diag,
					   const struct sensitivity_request *request,
					   const char **broken);
