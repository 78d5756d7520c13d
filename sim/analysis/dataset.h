/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dataset describes what real systems did and how to predict it. docs/datasets.md is the
 * reference of its keys.
 *
 * A dataset is a .cfg file (calib/measured/x.cfg) of one of two kinds. A TABLE has the rows of a
 * .tsv file next to it: each row has a measured number (or FAIL:reason) and a role, and the words
 * of its columns become settings of a case. A GRID has every combination of the values of some
 * dimensions. It is for sources that state bounds without numbers, its CLAIMS. A grid without
 * claims and source is a WHAT-IF: predictions of unmeasured cases (topologies/what-ifs). Both kinds
 * may have the same rows BESIDE them under further settings, which are never judged.
 *
 * The role fit allows a row to set parameters. Rows with the role test only judge predictions.
 * Rows with the role report are shown and not judged. */
#pragma once

#include "sim/analysis/analysis.h"
#include "sim/analysis/pencil.h"
#include "sim/scenario/evidence.h"

enum row_role { ROLE_FIT, ROLE_TEST, ROLE_REPORT };
const char *row_role_name(enum row_role role);

enum measure {
	MEASURE_THROUGHPUT,
	MEASURE_RATIO,
	MEASURE_SPEEDUP,
	MEASURE_TIME,
	MEASURE_GAIN,
	MEASURE_ELAPSED,
	MEASURE_TOKENS,
	MEASURE_TOKENS_GPU,
	MEASURE_TFLOPS_GPU,
	MEASURE_MFU,
	MEASURE_HFU,
#define SERVED(name, text, words, member, answer) MEASURE_##name,
#include "sim/analysis/serving_measures.def"
#undef SERVED
	MEASURE_COUNT,
};
struct measure_kind {
	const char *name;  /* for example "speedup" */
	const char *words; /* "speed-up over one GPU" */
	const char *unit;  /* the unit in JSON: "images/s", "s", "" */
	enum quantity quantity;
};
extern const struct measure_kind measures[MEASURE_COUNT];
static inline bool measure_is_time(enum measure measure)
{
	return measures[measure].quantity == QUANTITY_TIME;
}

enum { DIMENSIONS_OF_GRID_MAX = 6 };

struct dataset_row {
	const char *label; /* "same_esxi tuned=yes batch=16" */
	struct origin origin;
	enum row_role role;
	enum measure measure;
	double measured;           /* SI units; NaN: a failure, a range, or a row of a grid */
	const char *measured_text; /* "1.01..1.08" of report rows; NULL: a number */
	const char *failure;       /* "FAIL:connection_timeout", or NULL */
	double rounding_ratio;     /* half a unit of the last printed digit, divided by measured */
	double native;       /* measured with the local driver, in the row's measure; NaN: none */
	double round_trip_s; /* of the row's network, as its source states it; NaN: none */
	double utilization_max; /* upper bound of the mean utilisation; NaN: none */
	double linear;     /* ideal scaling of the source's own throughput on one GPU; NaN: none */
	const char *group; /* group of rows whose errors include this row; NULL: none */
	const char *case_path; /* a case file; NULL: only settings */
	const char *judge;     /* the job or client that is judged; NULL: all together */
	const struct setting *settings;
	size_t setting_count;
	const struct setting *reference; /* for a gain: all settings of the other case */
	size_t reference_count;
	/* Fields of an observation: its number divided by that of the reference is between low and
	 * high. */
	bool relative;
	double low, high;
	const char *reference_path;
	size_t at[DIMENSIONS_OF_GRID_MAX]; /* for a grid: index of the value in each dimension */
	bool judged;
};

struct grid_value {
	const char *name;
	const char *case_path; /* NULL: none */
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
	CLAIM_WITHIN,
	CLAIM_OUTGROWS,
	CLAIM_UTILIZATION
};
struct claim {
	enum claim_kind kind;
	const char *text;
	size_t where_at[DIMENSIONS_OF_GRID_MAX]; /* SIZE_MAX: any value */
	const char *const *words; /* for a table: texts that a row's label must contain */
	size_t word_count;
	size_t over_at[DIMENSIONS_OF_GRID_MAX]; /* SIZE_MAX: as in the row */
	bool over;
	const char *part; /* NULL: the number itself */
	bool time;        /* the number is the step time */
	bool loss; /* the number is 1 - reference / number: the loss of speed that a longer time
		      means */
	enum row_role role; /* ROLE_FIT: an observation of a fit; otherwise the claim judges */
	size_t dimension, value, than;
	double low, high, slack, share;
};

struct beside { /* the dataset's rows under further settings */
	const char *title;
	const struct dataset_row *rows; /* row_count rows in the same order */
};

struct dataset {
	const char *name, *title, *source, *path;
	enum measure measure; /* measure of the first row */
	bool mixed;           /* other rows have other measures */
	bool ratio;           /* measure is MEASURE_RATIO */
	bool what_if;         /* a grid without measurements: predictions only */
	bool slow;            /* its rows take so long that the model errors and
				 --leave-out-systems leave it out */
	struct pencil_costs pencil;
	size_t draws; /* number of draws unless the user gives one; SIZE_MAX: not in the file */
	const struct dataset_row *rows;
	size_t row_count;
	const struct grid_dimension *dimensions; /* used only by a grid */
	size_t dimension_count;
	const struct claim *claims;
	size_t claim_count;
	const struct dataset_row *observations; /* claims of role fit as rows, for fits */
	size_t observation_count;
	const struct beside *beside;
	size_t beside_count;
};

/* Returns true if the label contains each text as whole words: "batch=1" is not in "batch=16". */
bool label_has(const char *label, const char *text);

/* Reads calib/measured/<name>.cfg or topologies/what-ifs/<name>.cfg under data_root, or another
 * file. The extra settings follow those of the dataset. Returns NULL after errors. */
const struct dataset *dataset_read(struct arena *arena, struct diag *diag, const char *data_root,
				   const char *name, const struct setting *extra,
				   size_t extra_count);

struct row_outcome {
	const struct dataset_row *row;
	const struct prediction *prediction;
	struct estimate predicted;          /* the measured quantity; NaN: the case failed */
	double step_s;                      /* step time of the judged job, client or case */
	const struct prediction *reference; /* only for a gain; otherwise NULL */
	double error;                       /* predicted / measured - 1; NaN for failures */
	bool agrees; /* for failures: prediction and measurement both failed */
	struct pencil pencil;
};
struct claim_outcome {
	const struct claim *claim;
	bool holds;
	const char *broken_at; /* label of the first row that breaks the claim; NULL: none */
	double *values;        /* numbers that the claim compares */
	size_t value_count;
};
struct error_summary {
	size_t count;
	double median_abs, mean_abs, max_abs, geomean_abs;
	/* These three describe the 90 % intervals; NaN: no draws. */
	double coverage;          /* share of measured values inside their interval */
	double median_half_width; /* half the width divided by the predicted value */
	double interval_score;    /* mean interval score (Gneiting and Raftery 2007, equation 43),
				     divided by the measured value. The score is the width plus 20
				     times the distance of a measured value outside */
	const char *worst;        /* label of the row with the largest error */
};
struct group_summary { /* errors of the test rows of one group */
	const char *name;
	struct error_summary test;
};
struct pencil_summary {    /* errors in the rows of a group and role for which there are formulas */
	const char *group; /* NULL: rows of all groups */
	enum row_role role;
	struct error_summary error[PREDICTOR_COUNT], added[PREDICTOR_COUNT];
};
struct dataset_outcome {
	const struct dataset *dataset;
	struct row_outcome *rows;
	struct row_outcome **beside; /* by element of dataset->beside: outcomes of its rows */
	struct claim_outcome *claims;
	struct error_summary fit, test;
	struct error_summary
		linear; /* errors of ideal scaling on the same test rows; count 0: none */
	struct group_summary *groups;
	size_t group_count;
	struct pencil_summary *pencils; /* by group and role, then all groups by role */
	size_t pencil_count;
	size_t verdict_count, verdict_agree_count; /* rows that failed, measured or predicted, and
						      those of them that agree */
	const struct cfg_param **fitted; /* parameters with status "fitted"; each value once */
	size_t fitted_count, fit_row_count;
	size_t draws_count; /* number of draws behind the intervals */
	bool bounds_hold;
};

/* How rows are predicted. */
struct validation_input {
	struct predict_options options; /* watch is told the number of finished cases */
	const char *data_root;
	const char *journal; /* as in struct sweep_request */
};
struct validation_request {
	const char *name; /* name of a dataset, as for dataset_read */
	struct validation_input input;
	const struct setting *settings; /* they follow those of the dataset */
	size_t setting_count;
	bool draws_given; /* true: use the number of draws of the options even if the dataset has a
			     smaller one */
};
/* Reads the dataset and predicts every row. Returns NULL after errors in diag or after a broken
 * invariant, which *broken describes. */
const struct dataset_outcome *dataset_validate(struct arena *arena, struct diag *diag,
					       const struct validation_request *request,
					       const char **broken);

/* Predicts every row. Returns NULL after errors in diag or after a broken invariant, which
 * *broken describes. */
/* exported: tests predict datasets with options of their own */
const struct dataset_outcome *dataset_evaluate(struct arena *arena, struct diag *diag,
					       const struct dataset *dataset,
					       const struct validation_input *input,
					       const char **broken);
/* Returns what the row was measured on, of which `scenario` is the case. */
struct evidence dataset_evidence(struct arena *arena, const struct dataset_row *row,
				 const struct scenario *scenario);
/* Predicts one row; `without` is as in struct case_request. Returns false after an error. */
bool dataset_predict_row(struct arena *arena, struct diag *diag, const struct dataset_row *row,
			 const char *data_root, const char *without,
			 const struct predict_options *options, const char **broken,
			 struct row_outcome *outcome);
/* Returns the errors of all rows of a role in several datasets together. */
struct error_summary datasets_summary(struct arena *arena,
				      const struct dataset_outcome *const *outcomes, size_t count,
				      enum row_role role);
/* Returns the case of a row, which can be read or predicted. */
struct case_request dataset_request(const struct dataset_row *row, const char *data_root);
/* Returns the row's number at a point, for fits: the given draws are set and no intervals are
 * computed. baselines is as in predict_point. Returns NaN if the case failed, or after errors in
 * diag. *broken is set only if an invariant broke. */
double dataset_point(struct arena *arena, struct diag *diag, const struct dataset_row *row,
		     const char *data_root, const struct draw_value *draws, size_t draw_count,
		     uint64_t seed, struct baselines *baselines, const char **broken);
/* Returns whether the claim is about the row: `where` of a grid, `rows` of a table. */
bool claim_is_about(const struct dataset *dataset, const struct claim *claim,
		    const struct dataset_row *row);
/* Returns the index of the row with which the claim compares this row; it may be the row itself.
 * SIZE_MAX: the grid skips it. */
size_t claim_reference(const struct dataset *dataset, const struct claim *claim,
		       const struct dataset_row *row);
/* Returns the index of the row of a grid that has these values; SIZE_MAX: the grid skips it. */
size_t dataset_row_at(const struct dataset *dataset, const size_t *at);
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
/* Reads a table. Lines that begin with '#' are comments. The first other line contains the names
 * of the columns, and every row has as many cells. Returns NULL after errors. */
const struct tsv *tsv_read(struct arena *arena, struct diag *diag, const char *path);
/* Reads a table whose lines are texts of a list. */
const struct tsv *tsv_of(struct arena *arena, struct diag *diag, const struct cfg_node *list);
size_t tsv_column(const struct tsv *tsv,
		  const char *name); /* index of the column; SIZE_MAX: none */
