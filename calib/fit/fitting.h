/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fit at work: what fit.c (stages, the search) and spread.c (how sure is what it
 * found) share. */
#ifndef FARWIRE_CALIB_FIT_FITTING_H
#define FARWIRE_CALIB_FIT_FITTING_H

#include "calib/fit/fit.h"
#include "sim/predict/baselines.h"
#include "sim/predict/unknowns.h"

struct fitting {
	struct arena *arena;
	struct diag *diag;
	const char *data_root;
	uint64_t seed;
	FILE *progress;
	const char *broken;
	struct fit_result *result;
	struct fit_stage_result *stage; /* at work */
	const struct cfg_node *with;    /* further profiles that it sees; NULL: none */
	size_t first, count;            /* the stage's parameters */
	const struct dataset_row *rows[FIT_ROWS_MAX];
	size_t row_count;
	double felt[FIT_PARAMETERS_MAX]; /* by the row that feels most of it, at the answer */
	bool alone; /* what it took as given is nobody else's: nothing is written of it */
	bool failed;
	struct baselines *baselines; /* what its predictions share */
};

/* ln(predicted / measured) of a row with the parameters' current values, but those that
 * more[more_count] sets otherwise. */
double fitting_residual(struct fitting *f, size_t row, const struct draw_value *more,
			size_t more_count);
/* Of each row. */
void fitting_residuals(struct fitting *f, double *out);
/* Sets the stage's parameters to exp(x). */
void fitting_set(struct fitting *f, const double *x);
/* The parameters that a row sees, the stage's own last, at their values;
 * draws[FIT_TOTAL_MAX]. */
size_t fitting_values(const struct fitting *f, const struct dataset_row *row,
		      struct draw_value *draws);
/* What a residual of the row is counted in. */
double fitting_scale(const struct dataset_row *row);

/* Finds the stage's parameters, their intervals and the error left; false after errors. */
bool fitting_minimise(struct fitting *f, struct fit_stage_result *stage);
/* The result's own copy of a profile's name, added if it is new. */
const char *fitting_add_profile(struct fitting *f, const char *profile);

/* The most that a row moves with a parameter at x: d ln(row) / d ln(parameter). */
double spread_felt(struct fitting *f, const double *x, size_t parameter);
/* Sets intervals, correlations and what follows what, of the stage's parameters at x,
 * where the sum of squares is least, and the rows' leverages. */
void spread_set(struct fitting *f, const double *x);

#endif
