/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generates the single faults that `diagnose` simulates: those of suspects.def, and adapters,
 * switches and a GPU of the topology. */
#pragma once

#include "sim/scenario/scenario.h"

/* Kinds of measurements, one bit each. */
enum measured {
	MEASURED_COLLECTIVE = 1,
	MEASURED_STEP = 2,
	MEASURED_TCP = 4,
	MEASURED_RDMA = 8,
	MEASURED_COPY = 16,
	MEASURED_TRANSFER = MEASURED_TCP | MEASURED_RDMA | MEASURED_COPY,
};

enum { SUSPECT_SETTINGS_MAX = 2 };

struct suspect {
	const char *what, *check; /* "link n0.nv0 at half its rate", and what to check next */
	/* The case's settings, "case.degrade=n0.nv0=0.5"; blanks separate several. "": no fault */
	const char *setting;
	double *time_s;     /* predicted, by point; NaN: the case does not run */
	double distance;    /* squared, of the measured curve, in units of the errors */
	double probability; /* that of its class, if it is the first of it; otherwise 0 */
	size_t alike_count; /* further suspects with the same curve */
	const char *alike;  /* their `what`, separated by "; " */
	bool again;         /* the same fault as the suspect before, at another place */
};

/* Returns "no fault", then the suspects. Only links over which bytes were carried are suspects.
 * carried_B has an element for each link of the topology. */
struct suspect *suspects_of(struct arena *arena, const struct scenario *scenario,
			    enum measured measured, const double *carried_B, size_t *count);

/* Splits a suspect's settings at the blanks. Returns their number. */
size_t suspect_settings(struct arena *arena, const struct suspect *suspect,
			struct setting settings[SUSPECT_SETTINGS_MAX]);
