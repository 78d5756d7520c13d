/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Solves a case for the value of a parameter at which a target is met. It reads the target, the
 * parameter and the range, and then searches (solve.h). */
#pragma once

#include "sim/analysis/analysis.h"
#include "sim/analysis/reported.h"
#include "sim/analysis/solve.h"

struct solving_request {
	struct analysis_input input; /* if options.draws_count > 0, bounds have intervals */
	struct setting target;       /* "ratio>=0.95" */
	struct setting key;          /* path of a number of the case */
	struct setting between;      /* "LO:HI"; text NULL: the default range */
	bool band;                   /* compute intervals of the whole curve, for a chart */
};

struct solving {
	const char *name;  /* name of the case */
	const char *setup; /* what the case is about (setups_text) */
	const char *key;
	const struct cfg_param *param; /* first parameter that the key names, with its value */
	double least, most;            /* values in the case of all parameters that it names */
	struct target target;
	struct solve_range range;
	const struct solution *solution;
};

/* Returns NULL after errors in diag or after a broken invariant, which *broken describes. */
const struct solving *solving_run(struct arena *arena, struct diag *diag,
				  const struct solving_request *request, const char **broken);
