/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a case that can be turned one by one.
 *
 * A parameter of the same row said in the same place is the same KNOB wherever it is: if
 * the cost of a packet is uncertain, then it is so for all guests at once, and not for
 * each on its own. Its members move together. UNCERTAIN knobs have intervals, within
 * which they are drawn; any number that is not 0 can be SCALED.
 */
#ifndef FARWIRE_PREDICT_KNOBS_H
#define FARWIRE_PREDICT_KNOBS_H

#include "sim/scenario/scenario.h"

struct knob {
	const char *name; /* "runtime.handoff"; of several "guest.*.packet" */
	const struct cfg_param *const *members;
	size_t count;
};
struct knobs { /* in the order of their first members */
	const struct knob *items;
	size_t count, member_count; /* member_count: of all of them */
};

/* Numbers with an interval. */
struct knobs knobs_uncertain(struct arena *arena, const struct scenario *scenario);
/* Numbers of which there can be a little more or less: not 0, no whole ones below 5,
 * nothing of how long the simulation looks. */
struct knobs knobs_scalable(struct arena *arena, const struct scenario *scenario);

/* Uncertain knobs at the quantiles u[count] of their distributions, of which 0.5 is the
 * value as it is: fills values[member_count] with those that are moved and returns how
 * many. The distribution is a normal on either side of the value with the stated 5 and
 * 95 % points, inside the row's bounds. */
size_t knobs_draw(const struct knobs *knobs, const double *u, struct draw_value *values);
/* A member's value times factor, inside the row's bounds; a whole number differs by 1 at
 * least. */
double knob_scaled(const struct cfg_param *param, double factor);

/* Whether two paths can mean the same, where a part "*" of either stands for any. */
bool paths_match(const char *a, const char *b);

#endif
