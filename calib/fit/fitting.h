/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of a running fit, shared by fit.c (stages, search) and spread.c (uncertainty of the
 * result). */
#pragma once

#include "calib/fit/fit.h"
#include "sim/predict/baselines.h"
#include "sim/predict/unknowns.h"

/* A row that is a single kernel needs this, so that its case is read only once. */
struct fitting_kernel {
	struct gpu_params gpu;
	struct kernel_params kernels;
	struct single_kernel run;
};

struct fitting {
	struct arena *arena;
	struct diag *diag;
	const char *data_root;
	uint64_t seed;
	FILE *progress;
	const char *broken;
	struct fit_result *result;
	struct fit_stage_result *stage; /* the current stage */
	const struct cfg_node *with;    /* profiles that also apply; NULL: none */
	size_t first, count;            /* range of the stage's parameters */
	const struct dataset_row *rows[FIT_ROWS_MAX];
	size_t row_count;
	const struct fitting_kernel *kernels[FIT_ROWS_MAX]; /* NULL: the row is a program */
	double felt[FIT_PARAMETERS_MAX]; /* sensitivity of the most sensitive row at the result */
	bool alone; /* the fit stands alone, as a fit of user rows: do not write `follows` */
	bool slow;  /* the stage's dataset is: do not compute `follows` either */
	bool failed;
	struct baselines *baselines; /* baselines that all predictions of the fit share */
};

/* Returns ln(predicted / measured) of a row for the current values of the parameters;
 * more[more_count] overrides some. */
double fitting_residual(struct fitting *f, size_t row, const struct draw_value *more,
			size_t more_count);
/* If the stage has one parameter and all its rows are ranges, finds the values of the parameter for
 * which each row lies in its range. The parameter's prior, with the start as its median, is cut off
 * at the ends of these values. Its median then becomes the value, and its 5 and 95 % quantiles the
 * interval. Returns false, and changes nothing, if the stage is of another kind or there are no
 * such values. */
bool range_fit(struct fitting *f, struct fit_stage_result *stage);
/* Stores the residual of each row. */
void fitting_residuals(struct fitting *f, double *out);
/* Sets the stage's parameters to exp(x). */
void fitting_set(struct fitting *f, const double *x);
/* Stores the parameters that a row sees in draws[FIT_TOTAL_MAX], the stage's own last, and returns
 * their number. */
size_t fitting_values(const struct fitting *f, const struct dataset_row *row,
		      struct draw_value *draws);
/* Returns the unit of the row's residual. */
double fitting_scale(const struct dataset_row *row);

/* Returns the largest sensitivity of a row to a parameter at x: d ln(row) / d ln(parameter). */
double spread_felt(struct fitting *f, const double *x, size_t parameter);
/* Sets the intervals, correlations and follows of the stage's parameters at the minimum x, and the
 * leverages of the rows. */
void spread_set(struct fitting *f, const double *x);
