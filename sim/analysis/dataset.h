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
 *          };
 *        Optional: role (one for all rows), where = ( { column; is } ) keeps matching rows only,
 *        utilization (a column that bounds the mean utilisation from above), utilization_slack.
 *        Rows whose value is NA are left out. What a column may say more:
 *          columns = ["a", "b"]    its words are those of both, "x y"
 *          values, in place of its setting where one matches; otherwise = [settings] for
 *                                  words that none explains; case = "file", a case file
 *          each = ( { is; settings; role } ) in a value: the row is predicted once for each
 *                                  of these, "... (as x)", where the source names several or
 *                                  another shows more; role, if it is not the row's
 *          unit = "B"              behind the number in its setting
 *        `wide = { prefix = "gpus_"; setting = "case.gpus"; fit_upto_column = "fit_upto"; }`
 *        makes a row of each column gpus_1, gpus_2 ... Up to fit_upto (a column, or
 *        fit_upto = 1 for all rows) they are of role fit, beyond it of role test.
 *        linear = true sets beside the errors those of the first such column, scaled.
 *        group = "column" sums up the errors of test rows by that column's words, too.
 *        `claims` may be about rows whose label has all texts of `rows`.
 *
 * GRID   every combination of `dimensions`, each value with its settings (and maybe a case
 *        file), but those of `skip = ( { dimension = "value"; ... } )`;
 *        also = ( { where = { dimension = "value"; ... }; settings; case } ) adds to those that
 *        match; and `claims` about them, for sources that give bounds only:
 *          kind "range"    low <= number <= high wherever `where` matches
 *          kind "first"    of the values of `dimension`, `value` has the highest number
 *          kind "last"     ... the lowest
 *          kind "greater"  `value` of `dimension` above `than`, all else equal
 *          kind "within"   `value` and `than` differ by at most `slack`
 *          kind "rises"    along the values of `dimension`, in order
 *          kind "outgrows" `share` of what the number passes 1 by at `value` is more than
 *                          what it passes 1 by at `than`
 *        A dimension's value with judged = false is shown and not judged. Where a value's
 *        name is that of a setting, a dimension is { name; setting = "case.gpus"; values =
 *        ["1", "2"]; }. A grid without claims and source is a WHAT-IF: what nobody measured,
 *        predicted and shown (topologies/what-ifs).
 *
 * A claim's number is the row's, or
 *   over = { place = "bare"; }  the row's over that of the row with these values: relative
 *                               throughput, growth of a time
 *   quantity = "time"           of a step, in place of what the dataset measures
 *   part = "input wait"         that part's share of the step
 *
 * `quantity` says what is measured:
 *   throughput  images/s (default of tables and what-ifs)
 *   ratio       to the local GPU (of clients), to as many GPUs alone (of a job; default of grids)
 *   speedup     throughput over that of one GPU alone
 *   time        of a step, or of a collective; value_unit = "us" says the column's unit
 *   gain        throughput over that under the further settings `reference`
 *   elapsed     time of a job from launch to end (case.job_steps or case.epochs)
 * or quantity_column names a column whose words `quantities` explains, each with is,
 * quantity, and maybe scale (what the value is multiplied by) and reference.
 * judge = "name" judges one of a case's jobs or clients, where it has several.
 *
 * Either kind may have `beside`, a list of { title; settings }: the same rows
 * under other settings, predicted for comparison and never judged.
 *
 * draws = 8 says how many draws its intervals come from unless --draws does: fewer where
 * its rows take long.
 *
 * role: fit rows may set parameters, test rows only judge, report rows are
 * shown.
 */
#ifndef FARWIRE_ANALYSIS_DATASET_H
#define FARWIRE_ANALYSIS_DATASET_H

#include "sim/analysis/analysis.h"

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
	MEASURE_COUNT,
};
const char *measure_name(enum measure measure);  /* as files write it: "speedup" */
const char *measure_words(enum measure measure); /* "speed-up over one GPU" */
const char *measure_unit(enum measure measure);  /* of JSON: "images/s", "s", "" */

enum { DIMENSIONS_OF_GRID_MAX = 6 };

struct dataset_row {
	const char *label; /* "same_esxi tuned=yes batch=16" */
	struct origin origin;
	enum row_role role;
	enum measure measure;
	double measured;           /* SI; NaN: a failure, a range, or a grid's row */
	const char *measured_text; /* "1.01..1.08" of report rows; NULL: a number */
	const char *failure;       /* "FAIL:connection_timeout", or NULL */
	double rounding_ratio;     /* half a unit of the last printed digit / measured */
	double utilization_max;    /* NaN: none */
	double linear;             /* ideal scaling of the source's own one-GPU rate; NaN: none */
	const char *group;         /* which errors are summed up with its own; NULL: none */
	const char *case_path;     /* a case file; NULL: settings alone */
	const char *judge;         /* the job or client that counts; NULL: all */
	const struct setting *settings;
	size_t setting_count;
	const struct setting *reference; /* of a gain: all settings of the other case */
	size_t reference_count;
	/* Fields of an observation: its number over that of the reference is between low and high.
	 */
	bool relative;
	double low, high;
	const char *reference_path;
	size_t at[DIMENSIONS_OF_GRID_MAX]; /* of a grid: index of each dimension's value */
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
	const char *const *words;                /* of a table: texts of the rows' labels */
	size_t word_count;
	size_t over_at[DIMENSIONS_OF_GRID_MAX]; /* SIZE_MAX: as the row's */
	bool over;
	const char *part;   /* NULL: the row's number */
	bool time;          /* of a step, in place of that */
	bool loss;          /* 1 - reference / number: by how much a longer time means less speed */
	enum row_role role; /* ROLE_FIT: an observation of a fit; else it judges */
	size_t dimension, value, than;
	double low, high, slack, share;
};

struct beside { /* the dataset's rows under further settings */
	const char *title;
	const struct dataset_row *rows; /* as many, in the same order */
};

struct dataset {
	const char *name, *title, *source, *path;
	enum measure measure; /* of the first row */
	bool mixed;           /* ... and not of all */
	bool ratio;           /* measure is MEASURE_RATIO: to the local GPU */
	bool what_if;         /* a grid without measurements: predictions only */
	size_t draws;         /* behind intervals unless more or fewer are asked for; SIZE_MAX */
	const struct dataset_row *rows;
	size_t row_count;
	const struct grid_dimension *dimensions; /* of a grid */
	size_t dimension_count;
	const struct claim *claims;
	size_t claim_count;
	const struct dataset_row *observations; /* for fits: claims of role fit, as rows */
	size_t observation_count;
	const struct beside *beside;
	size_t beside_count;
};

/* Whether label has each text as whole words: "batch=1" is not in "batch=16". */
bool label_has(const char *label, const char *text);

/* Reads calib/measured/<name>.cfg or topologies/what-ifs/<name>.cfg under data_root, or any
 * other file.
 * extra settings come after the dataset's own. NULL after errors. */
const struct dataset *dataset_read(struct arena *arena, struct diag *diag, const char *data_root,
				   const char *name, const struct setting *extra,
				   size_t extra_count);

struct row_outcome {
	const struct dataset_row *row;
	const struct prediction *prediction;
	struct estimate predicted;          /* of the measured quantity; NaN: failed */
	double step_s;                      /* of what is judged */
	const struct prediction *reference; /* of a gain; else NULL */
	double error;                       /* predicted / measured - 1; NaN for failures */
	bool agrees;                        /* of failures: both failed */
};
struct claim_outcome {
	const struct claim *claim;
	bool holds;
	const char *broken_at; /* label of the first row where it does not; NULL: none */
	double *values;        /* the numbers that decide it */
	size_t value_count;
};
struct error_summary {
	size_t count;
	double median_abs, mean_abs, max_abs, geomean_abs;
	/* About the 90 % intervals; NaN: no draws. */
	double coverage;          /* share of measured values inside theirs */
	double median_half_width; /* relative to the predicted value */
	double interval_score;    /* mean of Gneiting and Raftery's (2007), equation 43, relative
				     to the measured value: width, and 20 times what misses it */
	const char *worst;        /* label of the row with the largest error */
};
struct group_summary { /* of test rows */
	const char *name;
	struct error_summary test;
};
struct dataset_outcome {
	const struct dataset *dataset;
	struct row_outcome *rows;
	struct row_outcome **beside; /* rows of each dataset->beside */
	struct claim_outcome *claims;
	struct error_summary fit, test;
	struct error_summary linear; /* of ideal scaling, on the same test rows; count 0: none */
	struct group_summary *groups;
	size_t group_count;
	size_t verdict_count, verdict_agree_count; /* rows that failed, measured or predicted */
	const struct cfg_param **fitted;           /* with status "fitted", each value once */
	size_t fitted_count, fit_row_count;
	size_t draws_count; /* behind its intervals */
	bool bounds_hold;
};

struct validation_request {
	const char *name;            /* of a dataset, as dataset_read takes it */
	struct analysis_input input; /* request: data_root, and settings behind the dataset's own */
	bool draws_given; /* all draws of the options, also where the dataset has fewer */
};
/* Reads the dataset and predicts every row. NULL after errors in diag, or a broken invariant,
 * *broken. */
const struct dataset_outcome *dataset_validate(struct arena *arena, struct diag *diag,
					       const struct validation_request *request,
					       const char **broken);

/* Predicts every row. NULL after input errors or a broken invariant (*broken). */
/* exported: tests predict datasets with options of their own */
const struct dataset_outcome *dataset_evaluate(struct arena *arena, struct diag *diag,
					       const struct dataset *dataset, const char *data_root,
					       const struct predict_options *options,
					       const char **broken);
/* Errors of all rows of a role in several datasets together. */
struct error_summary datasets_summary(struct arena *arena,
				      const struct dataset_outcome *const *outcomes, size_t count,
				      enum row_role role);
/* The case of a row, to be read or predicted. */
struct case_request dataset_request(const struct dataset_row *row, const char *data_root);
/* The row's number from runs at a point (for fits): with draws, no intervals.
 * baselines as of predict_point. NaN if it failed, or after errors in diag; *broken as
 * predict_case, untouched where nothing is. */
double dataset_point(struct arena *arena, struct diag *diag, const struct dataset_row *row,
		     const char *data_root, const struct draw_value *draws, size_t draw_count,
		     uint64_t seed, struct baselines *baselines, const char **broken);
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
