/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The uncertain parameters of a case, and draws of them (docs/models/intervals.md).
 *
 * Here an UNKNOWN is one uncertain parameter. Parameters of the same row, value and file (or
 * default) are wrong together, for example those of eight GPUs of a kind, and are one unknown.
 * A parameter with its own interval is drawn from that, on the scale of its row (param_moved),
 * with Student's distribution where few rows are behind it. Parameters of one fit are drawn
 * together with their correlations (a Gaussian copula), and follow what the fit took as given.
 * A cost without an interval has the prior of its class. The model error is not drawn:
 * draws_interval adds it. */
#ifndef FARWIRE_PREDICT_UNKNOWNS_H
#define FARWIRE_PREDICT_UNKNOWNS_H

#include "sim/scenario/scenario.h"

struct unknown {
	const struct cfg_param **params; /* the first stands for all */
	size_t count;
};

struct unknowns {
	struct unknown *items; /* own intervals, then priors */
	size_t count, own_count;
	size_t param_count;            /* of all of them */
	double *root;                  /* own_count^2: of their correlations, lower triangle */
	const struct cfg_param *error; /* the model's own; NULL: none */
};

/* About a standard deviation, upwards, on its row's scale; 0: it has no place on it. */
double unknown_deviation(const struct unknown *unknown);
struct unknowns unknowns_of(struct arena *arena, const struct scenario *scenario);
/* Points to draw at, each in (0, 1): count of them, row by row, a Latin hypercube. Every
 * unknown's column comes from the seed and from what it is (row, value, interval, file), so
 * that cases draw alike what they have in common. */
double *unknowns_points(struct arena *arena, const struct unknowns *unknowns, size_t draws_count,
			uint64_t seed);
/* Sets values[param_count] at a point, in SI. */
void unknowns_draw(struct arena *arena, const struct unknowns *unknowns, const double *point,
		   struct draw_value *values);

#endif
