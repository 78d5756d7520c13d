/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results: a prediction as data, and tables with a quantity for each column.
 *
 * A PREDICTION is what `run` says of a case. A RESULT TABLE is anything else
 * that is printed, saved or drawn: columns with name, quantity and unit, rows
 * of numbers or texts, number columns optionally with an interval. Writers
 * turn either into a text table, CSV, JSON or JSON Lines; plots read them.
 */
#ifndef FARWIRE_RESULT_RESULT_H
#define FARWIRE_RESULT_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/units.h"
#include "sim/json/write.h"

struct arena;
struct diag;
struct names;
struct trace;
struct cfg_resolution;

/* A number with its 90 % interval. NaN: not available (null in JSON). */
struct estimate {
	double value, low, high;
};

enum { BREAKDOWN_MAX = 10 };
struct breakdown_part {
	const char *name; /* one of the PART_ keys */
	double seconds;   /* time of this part in a step; the parts add up to the step time */
};

struct job_prediction { /* of a pool: one line a client */
	const char *name;
	const char *gpu;
	bool ok;
	const char *reason;
	struct estimate throughput, ratio, step_s, gpu_utilization;
	struct estimate elapsed_s; /* from launch to end; NaN: not asked for */
};

/* Keys of the parts of a step in JSON and CSV. In the parts "straggler" and "collective exposed" a
 * GPU has nothing to compute and waits for a collective: "straggler" before the last rank has
 * joined the collective, "collective exposed" after that. */
#define PART_KERNEL    "kernel"
#define PART_ISSUE     "call issue"
#define PART_NETWORK   "network"
#define PART_LOST      "retransmission"
#define PART_COPY      "copy"
#define PART_EXPOSED   "collective exposed"
#define PART_INPUT     "input wait"
#define PART_STRAGGLER "straggler"
#define PART_OTHER     "other"
/* Returns the label of a part in tables, plots and reports, for example "exposed communication". A
 * key without a label is returned unchanged. */
const char *part_label(const char *key);

struct link_prediction {
	const char *name;
	double utilization; /* 0..1 of the steady steps' time */
	double carried_B;
};

struct prediction {
	const char *name;
	bool ok;
	const char *reason;               /* of a failed verdict, else NULL */
	struct estimate throughput;       /* images/s, sum over clients or ranks; of a benchmark
					     of a collective its bus bandwidth in B/s */
	struct estimate token_throughput; /* tokens/s, if networks take sequences; else NaN */
	struct estimate step_s;           /* of a collective: its time */
	struct estimate ratio;            /* to the baseline; NaN: none. Of a job: scaling
					     efficiency, throughput over GPUs times one GPU alone */
	/* Of a job; 0 and NaN of anything else. */
	size_t gpu_count;
	struct estimate speedup;    /* throughput over that of one GPU alone */
	struct estimate training_s; /* of all epochs */
	struct estimate elapsed_s;  /* from launch to end, of the job that ends last */
	struct breakdown_part phases[BREAKDOWN_MAX]; /* parts of elapsed_s, which add up to it */
	size_t phase_count;
	double communication_s;          /* of a step: in which a collective was under way,
					    hidden behind kernels or not; NaN: not known */
	const char *collective;          /* of a benchmark: "all_reduce, 1 MiB"; else NULL */
	const char *choice;              /* what the collective library chose, or NULL */
	struct estimate gpu_utilization; /* mean over the GPUs in use */
	struct breakdown_part breakdown[BREAKDOWN_MAX];
	size_t breakdown_count;
	const char *bottleneck;
	struct job_prediction *jobs;
	size_t job_count;
	struct link_prediction *links;
	size_t link_count;
	uint64_t events_count;
	uint64_t calls_count, polls_count; /* of a step */
	double retransmission_timeouts;    /* a step */
	double connect_s;
	const char *transport; /* of forwarded calls, or of gradients between machines; NULL: none
				  travel */
	const struct cfg_resolution *resolution;
	uint64_t seed;
	size_t draws_count;
	size_t failed_draws_count; /* of these: counted as no throughput at all */
	/* For quotients of predictions: each draw's, 0 where it failed (NULL: there are none, or
	 * this was read from a file), and by what the model itself errs. */
	const double *drawn_throughputs;
	double error_ratio, error_freedom_count;
};

/* A copy that needs nothing of the original. Equal texts are kept once if texts are given, for
 * many copies in one arena. */
const struct prediction *prediction_copy(struct arena *arena, struct names *texts,
					 const struct prediction *prediction);

/* Returns the seconds of a step that belong to the part with this key; 0 if it has no such part. */
double prediction_part_s(const struct prediction *prediction, const char *name);
enum prediction_kind { /* bits, for sets of them */
		       PREDICTION_PROGRAMS = 1,
		       PREDICTION_TRAINING = 2, /* a data-parallel job */
		       PREDICTION_COLLECTIVE = 4,
};
enum prediction_kind prediction_kind(const struct prediction *prediction);
/* The kinds among them. */
unsigned prediction_kinds(const struct prediction *const *predictions, size_t count);

/* A long time and its interval as people say it: "45.0 min", "2.00 h (1.94..2.08)",
 * "3.10 days"; "-" for NaN. */

enum output_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL };

/* The JSON is an array with an object for each prediction, JSON Lines an
 * object a line; docs/formats.md describes the fields. Of a failed verdict the
 * numbers are null (empty in CSV), whatever the struct holds. CSV is RFC 4180
 * with a row for each prediction. The table for people adds where the time goes,
 * clients and links when it shows one prediction. */
void predictions_write(FILE *out, enum output_format format,
		       const struct prediction *const *predictions, size_t count);

/* Reads back what predictions_write wrote as JSON or JSON Lines, for plots of
 * saved results. The parameters stay behind:
 * resolution is NULL. NULL after errors, which are in diag; *count > 0 else. */
const struct prediction *const *predictions_read(struct arena *arena, struct diag *diag,
						 const char *path, size_t *count);

/* One prediction from its line of JSON Lines; NULL if it is none. */
const struct prediction *prediction_read(struct arena *arena, const char *text, size_t size_B);

/* The resolved parameters as the array "parameters" of a prediction; origin is
 * "file:line", "--set", "draw" or "default". NULL: an empty array. */

/* ---- result tables ---- */

struct result_column {
	const char *name; /* key in JSON and CSV, with the unit last: "rtt_s"; NULL: only people
			     see the column, under its heading */
	enum quantity quantity; /* of numbers */
	bool text;
	bool interval;       /* cells carry low and high: name_low, name_high in CSV */
	const char *heading; /* for people: "round trip"; NULL: the name without its unit */
};
/* Returns the heading of a column for people. Each cell shows its own unit. */
const char *result_heading(struct arena *arena, const struct result_column *column);
struct result_cell {
	const char *text;       /* of text columns; NULL: not available. In CSV also in place of a
				   number that is not available */
	struct estimate number; /* of the others; NaN: not available */
};
struct result_table {
	const char *name, *title;
	const struct result_column *columns;
	size_t column_count;
	struct result_cell *cells; /* row_count * column_count */
	size_t row_count;
};
void result_table_write(FILE *out, enum output_format format, const struct result_table *table);

/* Perfetto/Chrome trace JSON of a run. */
void trace_write(FILE *out, const struct trace *trace);

/* Output files are written whole or not at all. The text waits in memory;
 * output_commit writes it to a temporary file beside the target and renames
 * that, so that a failure or an interrupt leaves what was there before. Links
 * are followed, the mode of a file that is replaced is kept; devices and pipes
 * (/dev/null) are written in place. Path "-" is stdout, which also stays empty
 * until the commit. NULL with errno set when it cannot be written: no such
 * folder, a directory, no permission.
 *
 * A closed pipe shows here only where SIGPIPE is ignored, which main does
 * first of all: otherwise the signal ends the program without a word. */
struct output;
struct output *output_open(const char *path);
/* All of it, through interruptions; -1 with errno set. */
int output_write_whole(int fd, const char *text, size_t size_B);
FILE *output_file(struct output *output);
/* 0, or -1 with errno after an error anywhere on the way (disk full, closed
 * pipe): then nothing is left behind. Frees output either way. */
int output_commit(struct output *output);
void output_abandon(struct output *output);

#define FARWIRE_VERSION "0.1.0"

#endif
