/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model error by the distance of a case from what was fitted.
 *
 * Measured rows are predicted as if their system had never been measured. A system is a table of
 * measurements on one kind of GPU. Its rows are predicted without the parameters that were fitted
 * to them, or that were fitted next to such parameters. A stage of a fit has rows of one table, so
 * this is the same as repeating all fits without the rows. The errors of fit rows give the model
 * error of each kind of case at each distance (docs/models/intervals.md):
 *
 *   1  A row's error is r = ln(predicted / measured). Draws of the parameters that remain have the
 *      standard deviation s. For several GPUs and forwarding, the parameters of one GPU stay, so
 *      that r is the error of the part that they add; s then contains the error of one GPU.
 *   2  A system counts once: its n rows have the weight 1/n. An |r| above twice the median of the
 *      system's rows counts as twice the median. Such rows have a cause of their own, for example
 *      a network that loses packets.
 *   3  All errors but that of forwarding grow with the distance by a common factor, with which the
 *      mean of r^2 / variance over systems is 1. One more system with the factor of the next
 *      smaller distance is counted, because there may be no other.
 *   4  components.h splits the errors into those of mechanisms. The prior of each is its error on
 *      the same system times that factor, with the weight of PRIOR_SYSTEMS systems. An error is
 *      at least that of a smaller distance. */
#pragma once

#include "calib/fit/components.h"
#include "sim/analysis/dataset.h"

/* Classes of rows: each enum case_kind, with all model servers in CASE_SERVING, and all. */
enum { ROW_CLASS_ALL = CASE_KIND_COUNT, ROW_CLASS_COUNT };

struct left_out_row {
	const struct dataset_row *row;
	const char *system; /* "c4140_v100 v100-sxm2"; equal texts are one pointer */
	unsigned class;     /* not ROW_CLASS_ALL */
	bool one_gpu_known; /* the parameters of one GPU stayed */
	bool named;         /* in a dataset of struct left_out_tests */
	enum distance distances[CASE_PART_COUNT]; /* without the system's rows */
	double measured, predicted;
	struct error_row error; /* square and shares (errors.h) */
	double spread_ratio;    /* standard deviation of ln(predicted) from parameters */
};

struct left_out {
	const struct left_out_row *rows; /* in the order of their systems */
	size_t count;
};

/* The datasets whose test rows are predicted, too; count 0: all. */
struct left_out_tests {
	const char *const *names;
	size_t count;
};

/* Predicts fit rows for the estimate or, if tests is not NULL, also test rows and fit rows without
 * any parameter of their system. Returns NULL after errors in diag, or after a broken invariant. */
const struct left_out *systems_leave_out(struct arena *arena, struct diag *diag,
					 const char *data_root, const struct left_out_tests *tests,
					 uint64_t seed, unsigned jobs, const char **broken);

/* Returns true if errors follow from rows of the dataset: it is not slow, or it is about model
 * servers. */
bool systems_include(struct diag *diag, const struct dataset *dataset, const char *data_root);

struct distance_error {
	struct model_error error;
	size_t row_count, system_count; /* with this mechanism, at this distance */
};
struct distance_errors {
	/* those of the same system are given */
	struct distance_error of[MECHANISM_COUNT][DISTANCE_COUNT];
	double growth[DISTANCE_COUNT]; /* factor of all errors but those of forwarding */
};
/* Estimates the errors from fit rows, except those of the system `without`, which may be NULL. The
 * errors on the same system are given. */
void systems_errors(const struct left_out *left, const char *without,
		    const struct model_error same[MECHANISM_COUNT], struct distance_errors *errors);

/* The 90 % intervals of rows without the parameters of their system, beside those of one constant
 * width. */
struct left_out_summary {
	const char *system; /* NULL: all systems */
	unsigned class;
	enum row_role role;
	size_t count;
	bool named; /* as struct left_out_row */
	double coverage, geomean_abs, median_half_width;
	double score, constant_score; /* interval score of the logarithm */
};
/* Returns the summaries of each system's rows, of each class's and of all, by role. The model
 * errors behind a system's intervals are estimated without it; so is the constant width, which
 * covers 90 % of the fit rows of all other systems without model servers. `all` counts no model
 * servers, so that it can be compared with earlier versions. */
struct left_out_summary *systems_summaries(struct arena *arena, const struct left_out *left,
					   const struct model_error same[MECHANISM_COUNT],
					   size_t *count);
