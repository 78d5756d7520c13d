/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Datasets: what real systems did, and how to predict it.
 *
 * A dataset is a .cfg file (calib/measured/x.cfg) of one of two kinds:
 *
 * TABLE  rows of a .tsv beside it, each with a measured number (or
 *        FAIL:reason) and a role. `columns` says what the words of a column
 *        mean as settings, so a row becomes a case:
 *          dataset = { name = "x"; title = "..."; table = "x.tsv"; value = "images_per_s";
 *            settings = ["case.model=resnet50"]; label = ["case", "batch"]; role_column = "role";
 *            columns = ( { column = "batch"; setting = "case.batch"; },
 *                        { column = "case"; values = ( { is = "lan"; settings = ["..."]; } ); } );
 * }; Optional: role (one for all rows), where = ( { column; is } ) keeps matching rows only,
 * utilization (a column that bounds the mean utilisation from above), utilization_slack.
 *
 * GRID   every combination of `dimensions`, each value with its settings, and
 *        `claims` about their ratios, for sources that give bounds only:
 *          kind "range"   low <= ratio <= high wherever `where` matches
 *          kind "first"   of the values of `dimension`, `value` has the highest ratio
 *          kind "last"    ... the lowest
 *          kind "greater" `value` of `dimension` above `than`, all else equal
 *          kind "rises"   along the values of `dimension`, in order
 *        A dimension's value with judged = false is shown and not judged.
 *
 * Either kind may have `beside`, a list of { title; settings }: the same rows
 * under other settings, predicted for comparison and never judged.
 *
 * role: fit rows may set parameters, test rows only judge, report rows are
 * shown.
 */
#ifndef FARWIRE_PREDICT_DATASET_H
#define FARWIRE_PREDICT_DATASET_H

#include "sim/predict/predict.h"

enum row_role { ROLE_FIT, ROLE_TEST, ROLE_REPORT };
const char *row_role_name(enum row_role role);

enum { DIMENSIONS_OF_GRID_MAX = 6 };

struct dataset_row {
	const char *label; /* "same_esxi tuned=yes batch=16" */
	struct origin origin;
	enum row_role role;
	double measured;        /* NaN: a failure, or a grid's row */
	const char *failure;    /* "FAIL:connection_timeout", or NULL */
	double rounding_ratio;  /* half a unit of the last printed digit / measured */
	double utilization_max; /* NaN: none */
	const struct setting *settings;
	size_t setting_count;
	size_t at[DIMENSIONS_OF_GRID_MAX]; /* of a grid: index of each dimension's value */
	bool judged;
};

struct grid_value {
	const char *name;
	bool judged;
	const struct setting *settings;
	size_t setting_count;
};
struct grid_dimension {
	const char *name;
	const struct grid_value *values;
	size_t value_count;
};

enum claim_kind {
	CLAIM_RANGE,
	CLAIM_FIRST,
	CLAIM_LAST,
	CLAIM_GREATER,
	CLAIM_RISES,
	CLAIM_UTILIZATION
};
struct claim {
	enum claim_kind kind;
	const char *text;
	size_t where_at[DIMENSIONS_OF_GRID_MAX]; /* SIZE_MAX: any value */
	size_t dimension, value, than;
	double low, high, slack;
};

struct beside { /* the dataset's rows under further settings */
	const char *title;
	const struct dataset_row *rows; /* as many, in the same order */
};

struct dataset {
	const char *name, *title, *source, *path;
	bool ratio; /* what is measured is a ratio, else throughput */
	const struct dataset_row *rows;
	size_t row_count;
	const struct grid_dimension *dimensions; /* of a grid */
	size_t dimension_count;
	const struct claim *claims;
	size_t claim_count;
	const struct beside *beside;
	size_t beside_count;
};

/* Reads calib/measured/<name>.cfg under data_root, or a file of one's own.
 * extra settings come after the dataset's own. NULL after errors. */
const struct dataset *dataset_read(struct arena *arena, struct diag *diag, const char *data_root,
				   const char *name, const struct setting *extra,
				   size_t extra_count);

struct row_outcome {
	const struct dataset_row *row;
	const struct prediction *prediction;
	struct estimate predicted; /* of the measured quantity; NaN: failed */
	double error;              /* predicted / measured - 1; NaN for failures */
	bool agrees;               /* of failures: both failed */
};
struct claim_outcome {
	const struct claim *claim;
	bool holds;
	double *values; /* the numbers that decide it */
	size_t value_count;
};
struct error_summary {
	size_t count;
	double median_abs, max_abs, geomean_abs;
	double coverage; /* share of measured values inside their interval */
};
struct dataset_outcome {
	const struct dataset *dataset;
	struct row_outcome *rows;
	struct row_outcome **beside; /* rows of each dataset->beside */
	struct claim_outcome *claims;
	struct error_summary fit, test;
	size_t verdict_count, verdict_agree_count; /* rows that failed, measured or predicted */
	const struct cfg_param **fitted;           /* parameters with status "fitted", each once */
	size_t fitted_count, fit_row_count;
	bool bounds_hold;
};

/* Predicts every row. NULL after input errors or a broken invariant (*broken). */
const struct dataset_outcome *dataset_evaluate(struct arena *arena, struct diag *diag,
					       const struct dataset *dataset, const char *data_root,
					       const struct predict_options *options,
					       const char **broken);
void claims_judge(struct arena *arena, const struct dataset *dataset,
		  const struct row_outcome *rows, struct claim_outcome *outcomes);

/* ---- tab-separated tables ---- */

struct tsv {
	const char *path;
	const char *const *columns;
	size_t column_count;
	const char *const *cells; /* row_count * column_count */
	const int *lines;
	size_t row_count;
};
/* '#' lines are comments, the first other line names the columns; every row
 * has as many cells. NULL after errors. */
const struct tsv *tsv_read(struct arena *arena, struct diag *diag, const char *path);
size_t tsv_column(const struct tsv *tsv, const char *name); /* or SIZE_MAX */

#endif
