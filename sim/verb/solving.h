/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bound that was sought, for `solve` and whoever else wants it: what was asked, what
 * came out, and that as sentences, table and chart. */
#ifndef FARWIRE_VERB_SOLVING_H
#define FARWIRE_VERB_SOLVING_H

#include "plots/charts.h"
#include "sim/predict/reported.h"
#include "sim/predict/solve.h"
#include "sim/verb/verb.h"

struct solving {
	const char *name; /* of the case */
	const char *key;
	const struct cfg_param *param; /* as the case has it */
	struct target target;
	struct solve_range range;
	const struct solution *solution;
};

/* Seeks the bound of key for the target, between "LO:HI" or (NULL) in the default
 * range; with_band: with the intervals of all of the curve. NULL: *exit_code is set,
 * errors are printed. */
const struct solving *solving_run(const struct command *command, const struct case_request *request,
				  bool with_band, int *exit_code);
/* The answer in sentences. */
const struct result_table *solving_table(struct arena *arena, const struct solving *solving);
struct drawing *solving_chart(struct arena *arena, struct chart_text text,
			      const struct solving *solving);

#endif
