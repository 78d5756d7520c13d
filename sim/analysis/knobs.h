/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a case that can be turned one by one.
 *
 * A KNOB is a number that stands in one place or in several, and its members move together:
 * the cost of a packet is that of all guests at once. UNCERTAIN knobs are the uncertain
 * parameters of a case (unknowns.h), and move as draws move them. Any number that is not 0
 * can be SCALED. There, parameters of the same row that are set in the same place are one knob.
 */
#ifndef FARWIRE_ANALYSIS_KNOBS_H
#define FARWIRE_ANALYSIS_KNOBS_H

#include "sim/predict/unknowns.h"

struct knob {
	const char *name; /* "runtime.handoff"; of several "guest.*.packet" */
	const struct cfg_param *const *members;
	size_t count;
};
struct knobs { /* in the order of their first members */
	const struct knob *items;
	size_t count, member_count;      /* member_count: of all of them */
	const struct unknowns *unknowns; /* that they are; NULL of others */
};

/* The uncertain parameters, without the model's own error. */
struct knobs knobs_uncertain(struct arena *arena, const struct scenario *scenario);
/* Numbers of which there can be a little more or less: not 0, no whole ones below 5,
 * nothing of how long the simulation looks. */
struct knobs knobs_scalable(struct arena *arena, const struct scenario *scenario);

/* Uncertain knobs at the points u[count] of (0, 1) that draws are made of, of which 0.5 is
 * the value as it is: fills values[member_count]. Parameters that are correlated with
 * a knob move along, as in draws. */
void knobs_draw(struct arena *arena, const struct knobs *knobs, const double *u,
		struct draw_value *values);
/* A member's value times factor, inside the row's bounds; a whole number differs by 1 at
 * least. */
double knob_scaled(const struct cfg_param *param, double factor);

/* Whether two paths can mean the same, where a part "*" of either stands for any. */
bool paths_match(const char *a, const char *b);

#endif
