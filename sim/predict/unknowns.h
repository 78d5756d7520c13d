/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a case does not know for sure: its parameters with an interval.
 *
 * A parameter of the same row said in the same place is the same UNKNOWN wherever it
 * is: if the cost of a packet is uncertain, then it is so for all guests at once, and
 * not for each on its own. Its members move together, each within its own interval.
 */
#ifndef FARWIRE_PREDICT_UNKNOWNS_H
#define FARWIRE_PREDICT_UNKNOWNS_H

#include "sim/cfg/cfg.h"

struct arena;

struct unknown {
	const char *name; /* "runtime.handoff"; of several "guest.*.packet" */
	const struct cfg_param *const *members;
	size_t count;
};

/* Those of the parameters that are taken, in the order of the first members. */
size_t unknowns_of(struct arena *arena, const struct cfg_resolution *resolution,
		   bool (*takes)(const struct cfg_param *param), const struct unknown **unknowns);
/* Numbers with an interval; numbers of which there can be a little more or less: not 0,
 * no whole ones below 5, nothing of how long the simulation looks. */
bool unknown_uncertain(const struct cfg_param *param);
bool unknown_scalable(const struct cfg_param *param);

/* Whether two paths can mean the same, where a part "*" of either stands for any. */
bool paths_match(const char *a, const char *b);

/* The member's value at the u-quantile of its distribution: a normal on either side of
 * the value with the stated 5 and 95 % points, inside the row's bounds. */
double unknown_quantile(const struct cfg_param *param, double u);
/* The value times factor, inside the row's bounds; a whole number differs by 1 at least. */
double unknown_scaled(const struct cfg_param *param, double factor);

#endif
