/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits parameters of the simulator to measured rows.
 *
 * A fit file (calib/fits/x.cfg) says in stages which parameters are fitted to which rows:
 *
 *   fit = { stages = (
 *     { profile = "gtx-1050ti"; dataset = "flexdirect_1050ti"; rows = ["baseline"];
 *       parameters = ( { path = "efficiency.gtx-1050ti.resnet50.peak"; start = "1"; low = "0.1";
 * high = "3"; } ); note = "..."; } ); };
 *
 * A stage uses the rows of role fit whose label contains every text of `rows` as whole words. A
 * list of texts in `rows` stands for any of them. Test rows are never read. `profile` may be a
 * list: each of those profiles then receives the results of the stage. A row sees the results of
 * earlier stages as it will see them in a prediction. If the stage is about the profile that the
 * row names, these are the results for that profile. Otherwise they are the results for the stage's
 * profiles and for those listed in `with`.
 *
 * A stage minimises
 *   sum over rows of (ln(predicted / measured) / s)^2,
 *   s^2 = 0.005^2 + (rounding of the printed number)^2 / 3
 * where 0.5 % is an assumed run-to-run spread. The method is Nelder-Mead on the logarithm of each
 * parameter, from the start in the file; an old profile is not read. A single parameter is first
 * tried at doublings around its start, because chi^2 may be a staircase.
 *
 * A row may be a range, if the source gives bounds only (a claim of role fit,
 * sim/analysis/dataset.h): its residual is 0 inside. These rows exclude values of a parameter and
 * prefer none of the others, so in a stage of one parameter and only such rows the parameter's
 * prior decides among them (range.c).
 *
 * Intervals follow from the covariance (J^T J)^-1. J is computed by central differences of 2 %, or
 * 30 % if those find nothing, for the rows that the parameters move at all. If rows deviate more
 * than they scatter, the excess becomes the model's own error (errors.h). A fit of a user's rows
 * (fit_rows) has no such estimate. There, chi^2 over the n rows in excess of the parameters, if it
 * is above 1, scales the covariance, and the interval follows Student's t with n degrees of
 * freedom.
 *
 * Rows of single kernels are many, and libraries choose bad kernels for some of them. A stage takes
 * at most FIT_ROWS_MAX of them, evenly, and a residual beyond 0.4 counts as 0.4. Its intervals
 * follow from chi^2, as those of fit_rows.
 *
 * The profile also contains correlations, and how far each parameter would move if a cost that the
 * fit took as given were larger (docs/models/intervals.md). Numbers in profiles have six
 * significant digits, so that a repeated fit gives the same bytes.
 */
#pragma once

#include "sim/analysis/dataset.h"
#include "sim/scenario/evidence.h"

enum { FIT_PARAMETERS_MAX = 6, FIT_TOTAL_MAX = 160, FIT_ROWS_MAX = 512, FIT_PROFILES_MAX = 256 };

/* Movement of a parameter, on its scale, per unit of movement of another one
 * (docs/models/intervals.md). */
struct fitted_follow {
	const char *path;
	double by_ratio;
	/* index of the other parameter if an earlier stage fitted it; else SIZE_MAX */
	size_t earlier;
};

struct fitted_parameter {
	const char *path;
	const struct param_row *row; /* gives quantity and bounds */
	double start, min, max;      /* in SI units */
	double value, low, high;     /* result of the fit */
	double freedom_count;        /* degrees of freedom of Student's t; 0: normal distribution */
	const double *correlations;  /* correlations with the earlier parameters of the stage */
	const struct fitted_follow *follows;
	size_t follow_count;
	const char *note;
};

struct fit_stage_result {
	const char **profiles;
	size_t profile_count;
	size_t first, count; /* range in fit_result.parameters */
	size_t row_count;
	double rms_ratio; /* rms of ln(predicted / measured) */
	const char *const *row_labels;
	const struct dataset_row **rows;
	/* for each row: the part of its information that the parameters used, 0 to 1 */
	double *leverage;
	const struct evidence *evidence; /* by row: what it was measured on */
	/* by earlier stage: true if a row sees its results, or those of stages that it sees */
	bool *seen;
};

bool fit_stage_holds(const struct fit_stage_result *stage, const char *profile);

struct fit_result {
	struct fitted_parameter parameters[FIT_TOTAL_MAX];
	size_t count;
	struct fit_stage_result *stages;
	size_t stage_count;
	const char *profiles[FIT_PROFILES_MAX]; /* profiles of all stages, each once */
	size_t profile_count;
};

/* Runs all stages of the fit file `name` (a shipped name, or a path). Returns NULL after errors,
 * which are in diag; *broken is set for a violated invariant. progress may be NULL. */
const struct fit_result *fit_run(struct arena *arena, struct diag *diag, const char *data_root,
				 const char *name, uint64_t seed, FILE *progress,
				 const char **broken);

/* Fits given rows in one stage. It uses the offered parameters to which the rows are most
 * sensitive (d ln(row) / d ln(parameter) of at least 0.01), at most one for every two rows. */
struct fit_offer {
	const char *path;
	double start, low, high; /* in SI units */
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

/* Fits a library's own parameters to times of collectives in recordings (imported logs of
 * nccl-tests), with the topology and exchange given by the settings. Every third size is held out
 * and judges the fit. */
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
	double held_out_ratio; /* median of |predicted / measured - 1|; NaN: nothing is held out */
	double limit_ratio;    /* largest allowed held_out_ratio */
};
const struct collectives_fit *fit_collectives(struct arena *arena, struct diag *diag,
					      const char *data_root,
					      const struct fit_collectives_request *request,
					      uint64_t seed, FILE *progress, const char **broken);

/* Returns the recordings' times of collectives as test rows of a dataset, for predictions on the
 * topology that the settings name. Returns NULL after an error. */
const struct dataset *collectives_dataset(struct arena *arena, struct diag *diag,
					  const struct fit_collectives_request *request);

struct evidences {
	VEC(struct evidence) list; /* each once */
};
void fit_evidence_add(struct arena *arena, struct evidences *evidences, struct evidence added);
/* Adds the evidence of stages. profile NULL: of all profiles. */
void fit_evidence(struct arena *arena, const struct fit_result *result, const char *profile,
		  struct evidences *evidences);
/* Writes the list `fitted_on`. */
void fit_evidence_write(FILE *out, const struct evidences *evidences);
/* Writes the profile named `profile` of the result. */
void fit_profile_write(FILE *out, struct arena *arena, const struct fit_result *result,
		       const char *profile, const char *fit_name);
