/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How wrong the model itself is: what fits leave over.
 *
 * Parameters are not all that is uncertain: a mechanism may be missing. What that costs shows
 * in rows of role fit, where they were not spent on parameters. Rule, in the order of its steps
 * (docs/models/intervals.md has the reasons):
 *
 *   1  All rows of role fit of all datasets are predicted with the profiles in force: residual
 *      r = ln(predicted / measured). Rows of one table with the same measured number
 *      and of the same kind are one measurement, with the mean square of theirs.
 *   2  A measurement has a leverage: the sum of those that it had in stages of fits, at most 1.
 *      What is left, s = 1 - leverage, it has to spare; those with less than 0.02 say nothing.
 *   3  r / s is its error as if it had been left out of the fits (to first order). Of a kind of
 *      case the mean square is sum(s (r / s)^2) / sum(s), over the measurements of all datasets.
 *   4  Few rows say little: the mean square of all kinds together counts as 3 rows more.
 *   5  sigma is the root of that, with sum(s) + 3 degrees of freedom.
 */
#ifndef FARWIRE_CALIB_FIT_ERRORS_H
#define FARWIRE_CALIB_FIT_ERRORS_H

#include "calib/fit/fit.h"

struct kind_error {
	size_t measurement_count;
	double spare_count;   /* sum of what they have to spare */
	double own_ratio;     /* root mean square of the kind's alone; NaN: none */
	double error_ratio;   /* sigma */
	double freedom_count; /* of Student's t */
};

struct model_errors {
	struct kind_error kinds[CASE_KIND_COUNT];
};

/* After all fits, whose results these are. NULL after errors, as fit_run. */
const struct model_errors *fit_errors(struct arena *arena, struct diag *diag, const char *data_root,
				      const struct fit_result *const *results, size_t count,
				      uint64_t seed, const char **broken);
/* Writes the profile MODEL_ERROR. */
void fit_errors_write(FILE *out, const struct model_errors *errors);

#endif
