/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates the error of the model itself from the residuals of the fits. This is its error for
 * the same system; systems.h describes that of others.
 *
 * Besides uncertain parameters, a mechanism may be missing from the model. Its effect is visible in
 * rows of role fit, as far as their information was not used up by parameters. The estimate has
 * these steps (docs/models/intervals.md gives the reasons):
 *
 *   1  Predict all rows of role fit of all datasets with the current profiles. The residual
 *      is r = ln(predicted / measured). Rows of one table with the same measured number and
 *      of the same kind count as one measurement, with the mean of their squares.
 *   2  The leverage of a measurement is the sum of its leverages in all stages of fits, at
 *      most 1. Its spare part is s = 1 - leverage. Measurements with s < 0.02 are ignored.
 *   3  r / s is the error that the measurement would have if it were left out of the fits (to
 *      first order). The mean square of a kind of case is sum(s (r / s)^2) / sum(s) over the
 *      measurements of all datasets. The error of forwarding acts only on the time that it adds,
 *      which is the share a = |1 - ratio| of a step. With e = fit_error_of_share, r is a e there,
 *      the mean square of e is sum(s (r / s)^2) / sum(s a^2), and s a^2 counts as the spare part.
 *      A row with little added time therefore says little.
 *   4  A few rows are weak evidence, so the mean square of all kinds but forwarding together is
 *      added with the weight of 3 rows.
 *   5  sigma is the square root of the result, with sum(s) + 3 degrees of freedom.
 */
#pragma once

#include "calib/fit/fit.h"
#include "calib/fit/systems.h"

struct kind_error {
	size_t measurement_count;
	double spare_count;   /* sum of the rows' spare parts; forwarded: times a^2 */
	double own_ratio;     /* root mean square of this kind only; NaN: no measurement */
	double error_ratio;   /* sigma: standard deviation of the model error */
	double freedom_count; /* degrees of freedom of Student's t */
};

struct model_errors {
	struct kind_error kinds[CASE_KIND_COUNT];
	struct distance_errors far; /* errors at larger distances (systems.h) */
	struct evidences evidence;  /* what all fits were fitted on */
};

/* Returns ln(measured / predicted) of a part of the row's time, which is the share of the predicted
 * time and the only wrong part. If the measured time is shorter than predicted, this is the
 * logarithm of the whole time divided by the share, because the part may then be below 0. */
double fit_error_of_share(const struct dataset_row *row, double predicted, double share);

/* Estimates the errors on the same system, which stand for all distances at first. Call it after
 * all fits, with their results, when their profiles are written. Returns NULL after errors, like
 * fit_run. */
struct model_errors *fit_errors(struct arena *arena, struct diag *diag, const char *data_root,
				const struct fit_result *const *results, size_t count,
				uint64_t seed, const char **broken);
/* Estimates the errors at larger distances. Distances follow from the profile MODEL_ERROR, which
 * must be written before: it says what all fits were fitted on. Returns false after errors. */
bool fit_errors_far(struct arena *arena, struct diag *diag, const char *data_root,
		    struct model_errors *errors, uint64_t seed, unsigned jobs, const char **broken);
/* Reads the errors on the same system from the profile MODEL_ERROR. */
void fit_errors_read(struct arena *arena, struct diag *diag, const char *data_root,
		     struct model_error same[CASE_KIND_COUNT]);
/* Writes the profile MODEL_ERROR. */
void fit_errors_write(FILE *out, const struct model_errors *errors);
