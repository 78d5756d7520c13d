/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of a case that can be varied one by one.
 *
 * A KNOB is one number that one or several parameters share, its members. They vary together,
 * for example the cost of a packet in all guests. UNCERTAIN knobs are the uncertain parameters
 * of a case (unknowns.h), and vary as draws vary them. SCALABLE knobs are numbers other than 0.
 * Parameters of the same row that are set in the same place are one scalable knob. */
#pragma once

#include "sim/predict/unknowns.h"

struct knob {
	/* "runtime.handoff"; with several members "guest.*.packet", or "link.{nv0,nv1}.latency" if
	 * "*" stands for other parameters, too */
	const char *name;
	const struct cfg_param *const *members;
	size_t count;
};
struct knobs { /* knobs in the order of their first members */
	const struct knob *items;
	size_t count, member_count; /* member_count: number of members of all knobs together */
	/* parameters of uncertain knobs, which unknowns_draw varies; otherwise NULL */
	const struct unknowns *unknowns;
};

/* Returns the uncertain parameters, without the model error. */
struct knobs knobs_uncertain(struct arena *arena, const struct scenario *scenario);
/* Returns the numbers that can be scaled: not 0, no whole numbers below 5, and not the number of
 * simulated steps. */
struct knobs knobs_scalable(struct arena *arena, const struct scenario *scenario);

/* Returns a member's value times factor, inside the row's bounds. A whole number changes by at
 * least 1. */
double knob_scaled(const struct cfg_param *param, double factor);
