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
 *      first order). It has the weight s, and the shares of the time on which the mechanisms act.
 *      A forwarded row's r is linear in the error of the added time, which is its share a of the
 *      step: r = a e, where e is the logarithm of the factor of that time.
 *      An e above twice the median counts as twice the median, because a small a makes other
 *      causes large. Steps also scatter by 0.5 % from run to run (an assumption).
 *   4  components.h splits the errors into those of mechanisms. A few rows are weak evidence, so
 *      the prior of each is the error of all rows but those of forwarding together, with the
 *      weight of 3 rows. */
#pragma once

#include "calib/fit/fit.h"
#include "calib/fit/systems.h"

struct model_errors {
	struct model_error same[MECHANISM_COUNT]; /* on the same system */
	size_t rows_count[MECHANISM_COUNT];       /* measurements behind them */
	struct distance_errors far;               /* errors at larger distances (systems.h) */
	struct evidences evidence;                /* what all fits were fitted on */
};

/* Returns the squared error and the shares of a predicted row (step 3). A ratio to one GPU has no
 * error of one GPU. */
struct error_row fit_error_row(const struct dataset_row *row, double predicted,
			       const struct error_part parts[CASE_PART_COUNT]);

/* Sets the parts of a model server's row. Their shares are the derivatives of the logarithm of its
 * number by those of the times of iterations, over a tenth in each direction. */
void fit_serving_parts(struct arena *arena, struct diag *diag, const struct dataset_row *row,
		       const char *data_root, uint64_t seed,
		       struct error_part parts[CASE_PART_COUNT]);

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
		     struct model_error same[MECHANISM_COUNT]);
/* Writes the profile MODEL_ERROR. */
void fit_errors_write(FILE *out, const struct model_errors *errors);
