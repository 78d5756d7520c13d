/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results: predictions, and tables with a quantity for each column.
 *
 * A PREDICTION is the result of `run` for one case. A RESULT TABLE is the result of any other verb.
 * It has columns with name and quantity, and rows of texts or numbers. A column of numbers can have
 * intervals. Writers turn both into a text table, CSV, JSON or JSON Lines, and plots draw them.
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

/* A number with its 90 % interval. NaN means not available (null in JSON). */
struct estimate {
	double value, low, high;
};

enum { BREAKDOWN_MAX = 10 };
struct breakdown_part {
	const char *name; /* one of the PART_ keys */
	double seconds;   /* time of this part in a step; the parts add up to the step time */
};

struct job_prediction { /* one client of a pool, or one of several jobs */
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
	double utilization; /* 0 to 1, over the steady steps */
	double carried_B;
};

struct prediction {
	const char *name;
	bool ok;
	const char *reason;         /* of a failed verdict, or NULL */
	struct estimate throughput; /* images/s, sum over clients or ranks; for a collective the bus
				       bandwidth in B/s */
	struct estimate token_throughput; /* tokens/s if networks take sequences, or NaN */
	struct estimate step_s;           /* step time; for a collective its time */
	struct estimate ratio;            /* ratio to the baseline, NaN without one; for a job the
					     scaling efficiency */
	/* for jobs; 0 and NaN in other predictions */
	size_t gpu_count;
	struct estimate speedup;    /* throughput divided by that of one GPU */
	struct estimate training_s; /* time of all epochs */
	struct estimate elapsed_s;  /* from launch to end, of the job that ends last */
	struct breakdown_part phases[BREAKDOWN_MAX]; /* parts of elapsed_s, which add up to it */
	size_t phase_count;
	double communication_s; /* time of a step in which a collective runs, hidden behind
				   kernels or not; NaN if unknown */
	const char *collective; /* "all_reduce, 1 MiB" of a collective without training, or NULL */
	const char *choice;     /* choice of the collective library, or NULL */
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
	const char *transport; /* of forwarded calls, or of gradients between machines; NULL if
				  there are none */
	const struct cfg_resolution *resolution;
	uint64_t seed;
	size_t draws_count;
	size_t failed_draws_count; /* of these draws; they count as a throughput of 0 */
	/* For quotients of predictions: the throughput of each draw, 0 if it failed, and the model
	 * error. NULL without draws, and for a prediction from a file. */
	const double *drawn_throughputs;
	double error_ratio, error_freedom_count;
};

/* Returns a copy that shares nothing with the original. If `texts` is not NULL, equal texts of many
 * copies are stored once. */
const struct prediction *prediction_copy(struct arena *arena, struct names *texts,
					 const struct prediction *prediction);

/* Returns the seconds of a step that belong to the part with this key; 0 if it has no such part. */
double prediction_part_s(const struct prediction *prediction, const char *name);
enum prediction_kind { /* bits of a set */
		       PREDICTION_PROGRAMS = 1,
		       PREDICTION_TRAINING = 2, /* a data-parallel job */
		       PREDICTION_COLLECTIVE = 4,
};
enum prediction_kind prediction_kind(const struct prediction *prediction);
/* Returns the set of the kinds of these predictions. */
unsigned prediction_kinds(const struct prediction *const *predictions, size_t count);

enum output_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL };

/* Writes predictions. JSON is an array with an object for each prediction, and JSON Lines has an
 * object on each line; docs/formats.md describes the fields. CSV (RFC 4180) has a row for each
 * prediction. The numbers of a failed verdict are null, or empty in CSV. For a single prediction
 * the table for people also has the parts of the step time, clients and links. */
void predictions_write(FILE *out, enum output_format format,
		       const struct prediction *const *predictions, size_t count);

/* Reads the JSON or JSON Lines of predictions_write, for plots of saved results. It does not read
 * the parameters, so resolution is NULL. Returns NULL after errors in diag; otherwise *count > 0.
 */
const struct prediction *const *predictions_read(struct arena *arena, struct diag *diag,
						 const char *path, size_t *count);

/* Reads one prediction from its line of JSON Lines. Returns NULL if the line has no prediction. */
const struct prediction *prediction_read(struct arena *arena, const char *text, size_t size_B);

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
	const char *text;       /* of text columns; NULL if not available. CSV also writes it
				   instead of a number that is not available */
	struct estimate number; /* of other columns; NaN if not available */
};
struct result_table {
	const char *name, *title;
	const struct result_column *columns;
	size_t column_count;
	struct result_cell *cells; /* row_count * column_count */
	size_t row_count;
};
void result_table_write(FILE *out, enum output_format format, const struct result_table *table);

/* Writes the trace of a run as JSON for Perfetto and Chrome. */
void trace_write(FILE *out, const struct trace *trace);

/* Output files are written atomically. The text stays in memory until output_commit writes it to a
 * temporary file in the target's folder and renames this file. So a failure or an interrupt leaves
 * the old file unchanged. Links are followed, and a replaced file keeps its mode. Devices and pipes
 * (/dev/null) are written in place. The path "-" is stdout, which also gets nothing before the
 * commit. output_open returns NULL with errno set if the path cannot be written.
 *
 * main ignores SIGPIPE, so that a closed pipe is an error here and does not end the program. */
struct output;
struct output *output_open(const char *path);
/* Writes all bytes and continues after interruptions. Returns -1 with errno set after an error. */
int output_write_whole(int fd, const char *text, size_t size_B);
FILE *output_file(struct output *output);
/* Returns 0, or -1 with errno after any error (disk full, closed pipe); then no file is left. Frees
 * output in both cases. */
int output_commit(struct output *output);
void output_abandon(struct output *output);

#define FARWIRE_VERSION "0.1.0"

#endif
