/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Solves a case for the value of a parameter at which a target is met: reads the question
 * in the case's own units, then searches (solve.h) with the simulator as the function. */
#ifndef FARWIRE_ANALYSIS_SOLVING_H
#define FARWIRE_ANALYSIS_SOLVING_H

#include "sim/analysis/analysis.h"
#include "sim/analysis/reported.h"
#include "sim/analysis/solve.h"

struct solving_request {
	struct analysis_input input; /* options.draws_count > 0: with the bound's interval */
	struct setting target;       /* "ratio>=0.95" */
	struct setting key;          /* of a number of the case */
	struct setting between;      /* "LO:HI"; text NULL: the default range */
	bool band;                   /* with the intervals of the whole curve, for a chart */
};

struct solving {
	const char *name; /* of the case */
	const char *key;
	const struct cfg_param *param; /* as the case has it */
	struct target target;
	struct solve_range range;
	const struct solution *solution;
};

/* NULL after errors in diag, or a broken invariant, *broken. */
const struct solving *solving_run(struct arena *arena, struct diag *diag,
				  const struct solving_request *request, const char **broken);

#endif
