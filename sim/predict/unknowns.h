/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The uncertain parameters of a case, and draws of them (docs/models/intervals.md).
 *
 * Here an UNKNOWN is one uncertain parameter. Parameters with the same row, value and file (or
 * default) have the same error, for example those of eight equal GPUs, so they are one unknown.
 * A parameter with its own interval is drawn from that interval, on the scale of its row
 * (param_moved). If few rows support it, Student's distribution is used. Parameters of one fit
 * are drawn together with their correlations (a Gaussian copula), and follow parameters that the
 * fit took as given. A cost without an interval has the prior of its class. The model error is
 * not drawn; draws_interval adds it. */
#pragma once

#include "sim/scenario/scenario.h"

struct unknown {
	const struct cfg_param **params; /* parameters with the same value; [0] represents them */
	size_t count;
};

struct unknowns {
	struct unknown *items; /* unknowns with intervals of their own, then those with priors */
	size_t count, own_count;
	size_t param_count; /* number of parameters in all items */
	double *root;       /* own_count^2 elements: lower Cholesky factor of the correlations */
};

/* Returns the approximate standard deviation towards the high end, on the scale of the row.
 * Returns 0 if the value has no place on that scale. */
double unknown_deviation(const struct unknown *unknown);
struct unknowns unknowns_of(struct arena *arena, const struct scenario *scenario);
/* Returns draws_count points with one number in (0, 1) for each unknown, row by row: a Latin
 * hypercube. The column of an unknown depends only on the seed and on its row, value, interval
 * and file. Two cases therefore draw their common unknowns alike. */
double *unknowns_points(struct arena *arena, const struct unknowns *unknowns, size_t draws_count,
			uint64_t seed);
/* Sets values[param_count], in SI units, from one point. */
void unknowns_draw(struct arena *arena, const struct unknowns *unknowns, const double *point,
		   struct draw_value *values);
