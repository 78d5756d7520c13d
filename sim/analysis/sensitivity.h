/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks parameters by their influence on an answer.
 *
 * First, one knob at a time (knobs.h): each uncertain knob is set to its 5 % and its 95 %
 * quantile, with all others at their present values. The difference between the two answers is
 * the knob's SWING. Its SHARE is the square of the swing, divided by the sum of the squares of all
 * swings. It is the part of the variance that would disappear if the knob were known, as long as
 * each knob changes the answer in proportion and by itself.
 *
 * If nothing is uncertain, or if the user asks for it, every number is changed by the same
 * percentage instead. The results are ELASTICITIES: by how many percent the answer changes for
 * one percent more of a parameter. */
#pragma once

#include "sim/analysis/points.h"
#include "sim/analysis/knobs.h"

struct swing {
	const struct knob *knob;
	double low_x, high_x;         /* values of the knob's first member */
	struct case_answer low, high; /* answers at these values */
	double size;                  /* absolute difference; INFINITY: the case fails at one end */
	double elasticity;            /* NaN: the case fails, or the knob cannot be changed */
	double share;                 /* NaN: the case fails at one end of this knob or another */
};
struct sensitivity_request {
	struct analysis_input input; /* options.draws_count is the number of draws for the answer's
					own interval */
	struct setting number;   /* name of the answer; text NULL: the main answer of the case */
	double vary_ratio;       /* relative change of all numbers; 0: use the ends of intervals */
	const char *const *keys; /* only parameters that match one of these; none: all parameters */
	size_t key_count;
};
struct sensitivity {
	const struct scenario *scenario;
	const struct reported *reported; /* the number that is the answer */
	struct case_answer now;          /* present answer with its interval */
	double vary_ratio;               /* vary_ratio of the request */
	/* swings by size, largest first; equal swings in the order of the case */
	const struct swing *swings;
	size_t swing_count;    /* 0: nothing is uncertain, or no parameter matches a key */
	const char *unmatched; /* the first key that matches no parameter; NULL: none */
	size_t moving_count;   /* the first swings, which change the answer by over a millionth */
	size_t runs;
};
/* Returns NULL after errors in diag or after a broken invariant, which *broken describes. */
const struct sensitivity *sensitivity_find(struct arena *arena, struct diag *diag,
					   const struct sensitivity_request *request,
					   const char **broken);
