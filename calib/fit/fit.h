/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fitting simulator parameters to measured rows.
 *
 * A fit file (calib/fits/x.cfg) says which parameters are fitted to which rows,
 * in stages:
 *
 *   fit = { stages = (
 *     { profile = "gtx-1050ti"; dataset = "flexdirect_1050ti"; rows = ["baseline"];
 *       parameters = ( { path = "efficiency.gtx-1050ti.resnet50.peak"; start = "1"; low = "0.1";
 * high = "3"; } ); note = "..."; } ); };
 *
 * Rows are those of role fit whose label has every text of `rows` in it, as whole
 * words: a test row is not even looked at. `profile` may be a list: each of those
 * profiles then holds what the stage finds. A row sees what earlier stages
 * found for the profile that it names itself, if the stage is about that, else for
 * the stage's profiles, and for those that `with` lists: what will be in force when
 * it is predicted. It minimises
 *   sum over rows of (ln(predicted / measured) / s)^2,
 *   s^2 = 0.005^2 + (rounding of the printed number)^2 / 3
 * (0.5 % of run-to-run spread is an assumption) by Nelder-Mead on the logarithm
 * of each parameter, starting where the file says: an old profile is not read. A
 * single parameter is first tried at doublings around its start, for chi^2 may be a
 * staircase.
 * Intervals: covariance = (J^T J)^-1 with J by central differences of 2 % (30 % where those
 * find nothing), of the rows that the parameters move at all. By how much rows are further off
 * than they scatter goes into the model's own error (errors.h). A fit of somebody's own rows
 * (fit_rows) has none: there chi^2 over the n rows beyond the parameters, where it is above
 * 1, makes the covariance that much larger, and the interval Student's with n degrees of freedom.
 * Correlations are written with it, and what the fit took as given: by how much a parameter
 * follows if another cost were larger (docs/models/intervals.md). Profiles are written with six
 * significant digits, so they come again to the byte.
 */
#ifndef FARWIRE_CALIB_FIT_FIT_H
#define FARWIRE_CALIB_FIT_FIT_H

#include "sim/analysis/dataset.h"

enum { FIT_PARAMETERS_MAX = 6, FIT_TOTAL_MAX = 64, FIT_ROWS_MAX = 64, FIT_PROFILES_MAX = 16 };

/* By how much a parameter moves, on its scale, for each unit by which another does on its
 * own (docs/models/intervals.md). */
struct fitted_follow {
	const char *path;
	double by_ratio;
	size_t earlier; /* the other's index, if an earlier stage found it; else SIZE_MAX */
};

struct fitted_parameter {
	const char *path;
	const struct param_row *row; /* quantity and bounds */
	double start, min, max;      /* SI */
	double value, low, high;     /* the answer */
	double freedom_count;        /* of Student's t; 0: normal */
	const double *correlations;  /* with the stage's parameters before this one */
	const struct fitted_follow *follows;
	size_t follow_count;
	const char *note;
};

struct fit_stage_result {
	const char **profiles;
	size_t profile_count;
	size_t first, count; /* of fit_result.parameters */
	size_t row_count;
	double rms_ratio; /* of ln(predicted / measured) */
	const char *const *row_labels;
	const struct dataset_row **rows;
	double *leverage; /* of each row: the share of it that parameters took up, 0 to 1 */
};

struct fit_result {
	struct fitted_parameter parameters[FIT_TOTAL_MAX];
	size_t count;
	struct fit_stage_result *stages;
	size_t stage_count;
	const char *profiles[FIT_PROFILES_MAX]; /* of all stages, each once */
	size_t profile_count;
};

/* Runs all stages of the fit file `name` (shipped, or a path). NULL after
 * errors (in diag; *broken for a broken invariant). progress may be NULL. */
const struct fit_result *fit_run(struct arena *arena, struct diag *diag, const char *data_root,
				 const char *name, uint64_t seed, FILE *progress,
				 const char **broken);

/* Rows that are there already, in one stage: of the parameters offered those that the rows
 * feel most (d ln(row) / d ln(parameter) of 0.01 and more), at most one for two rows. */
struct fit_offer {
	const char *path;
	double start, low, high; /* SI */
};
struct fit_rows_request {
	const struct dataset_row *const *rows;
	size_t row_count;
	const struct fit_offer *offers;
	size_t offer_count;
	const char *profile, *note;
};
const struct fit_result *fit_rows(struct arena *arena, struct diag *diag, const char *data_root,
				  const struct fit_rows_request *request, uint64_t seed,
				  FILE *progress, const char **broken);

/* Times of collectives in recordings (imported logs of nccl-tests) as rows, and a library's
 * own parameters fitted to them, on the topology and exchange that the settings name. Every
 * third size is held out, and judges. */
struct recording;
struct fit_collectives_request {
	const struct recording *const *recordings;
	size_t recording_count;
	const struct setting *settings;
	size_t setting_count;
	const char *profile;
};
struct collectives_fit {
	const struct fit_result *result;
	size_t held_out_count;
	double held_out_ratio; /* median of |predicted / measured - 1|; NaN: none held out */
	double limit_ratio;    /* ... that is allowed */
};
const struct collectives_fit *fit_collectives(struct arena *arena, struct diag *diag,
					      const char *data_root,
					      const struct fit_collectives_request *request,
					      uint64_t seed, FILE *progress, const char **broken);

/* Writes the profile called `profile` of the result. */
void fit_profile_write(FILE *out, struct arena *arena, const struct fit_result *result,
		       const char *profile, const char *fit_name);

#endif
