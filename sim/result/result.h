/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results as data.
 *
 * A PREDICTION is the result of `run` for one case. A RESULT TABLE is any other result that is
 * printed, saved or drawn. Its columns have a name, a quantity and a unit, and number columns
 * may have intervals. Writers turn both into text tables, CSV, JSON or JSON Lines. Plots read
 * them. */
#pragma once

#include "sim/base/base.h"
#include "sim/json/write.h"

struct diag;
struct names;
struct table;
struct trace;
struct cfg_resolution;

/* A number with its 90 % interval. NaN means not available (null in JSON). */
struct estimate {
	double value, low, high;
};
/* Without draws low and high are the value. An interval of no width does not count. */
bool has_interval(struct estimate estimate);
#define ESTIMATE_NONE ((struct estimate){NAN, NAN, NAN})
struct estimate estimate_exact(double value);
struct estimate estimate_scaled(struct estimate estimate, double factor);
/* Returns the estimate for JSON and CSV: low and high are NaN (null, empty) without an interval. */
struct estimate estimate_output(struct estimate estimate);

/* The model error of one part of a prediction. In two predictions with the same `about`, which is
 * not 0, it is the same number. */
enum { ERROR_PARTS = 3 };
struct error_part {
	const char *mechanism; /* "error.wire"; "": no such part */
	double ratio;          /* standard deviation */
	double freedom_count;  /* of Student's t; 0: normal */
	double share;          /* of the time on which the error acts */
	uint64_t about;
};

enum { BREAKDOWN_MAX = 24, QUANTILE_COUNT = 4, CDF_MAX = 26 };
struct breakdown_part {
	const char *name; /* one of the PART_ keys */
	double seconds;   /* time of this part in a step; the parts add up to the step time */
};

struct job_prediction { /* results of one of several clients or jobs */
	const char *name;
	const char *gpu;
	bool ok;
	const char *reason;
	struct estimate throughput, ratio, step_s, gpu_utilization;
	struct estimate elapsed_s;     /* time from launch to end; NaN: not asked for */
	struct estimate latency_p99_s; /* of a replica's service; NaN for other jobs */
};

/* Keys of the parts of a step in JSON and CSV. In the parts "straggler" and "collective exposed" a
 * GPU has nothing to compute and waits for a collective: "straggler" before the last rank has
 * joined the collective, "collective exposed" after that. */
#define PART_KERNEL    "kernel"
#define PART_ISSUE     "call issue"
#define PART_NETWORK   "network"
#define PART_LOST      "retransmission"
#define PART_SESSION   "session"
#define PART_COPY      "copy"
#define PART_EXPOSED   "collective exposed"
#define PART_INPUT     "input wait"
#define PART_STRAGGLER "straggler"
#define PART_OTHER     "other"
/* Parts of the latency of a request, besides kernels and overhead: the queue, the transfer of keys
 * and values, the wait for the others of a batch. */
#define PART_QUEUE    "queue"
#define PART_TRANSFER "transfer"
#define PART_BATCH    "batch wait"
/* In plans: exposed communication by group, and waits for another stage. */
#define PART_TENSOR   "tensor exposed"
#define PART_CONTEXT  "context exposed"
#define PART_EXPERT   "expert exposed"
#define PART_DATA     "data exposed"
#define PART_PIPELINE "pipeline exposed"
#define PART_BUBBLE   "pipeline bubble"
/* Keys of the waits (enum wait_kind). */
#define WAIT_NAME_IDLE_STATE "idle states"
#define WAIT_NAME_INTERRUPT  "interrupt moderation"
#define WAIT_NAME_CYCLE      "Horovod cycles"
#define WAIT_NAME_BATCH      "batches of calls"
#define WAIT_NAME_POLL       "polls of events"
#define WAIT_NAME_CORE       "order of work on a core"
#define WAIT_NAME_SHARED     "sharing of links"
/* Returns the label of a part in tables, plots and reports, for example "exposed communication". A
 * key without a label is returned unchanged. */
const char *part_label(const char *key);

struct link_prediction {
	const char *name;
	double utilization; /* mean over the window, 0 to 1 */
	double carried_B;
};

/* The forwarded calls of one kind in a step. */
struct call_prediction {
	const char *name; /* "cudaLaunchKernel" */
	double per_step_count;
	double waited_s, mean_s; /* time of threads in all of them, and in one */
	double share_ratio;      /* waited_s divided by the step time */
	double served_s;         /* part of waited_s at the server and its GPU */
};

/* The parts of a step on some ranks of a plan; means over the ranks. */
struct stage_prediction {
	const char *name;    /* "stage 0", "rank 5, which computes longest" */
	uint64_t rank_count; /* number of these ranks */
	double memory_B;     /* GPU memory of each of them */
	struct breakdown_part *parts;
	size_t part_count;
};

/* The subject of a case, by which two results can be compared (setup.c). A text is NULL if
 * the case has no such thing. Names of several jobs are separated by ", ". */
struct setup {
	const char *network;   /* or the file of a recording */
	const char *stack;     /* name of its file */
	const char *precision; /* number type of most products, "fp16" */
	const char *runtime;   /* remoting runtime; NULL: the local driver */
	const char *exchange;  /* name of the exchange of gradients, or of messages */
	const char *library;   /* collective library, "NCCL" */
	const char *transport; /* of forwarded calls, or of gradients between machines; NULL:
				  nothing crosses the network */
	const char *counted;   /* "steps" or "sequences" if throughput counts them; NULL: images,
				  requests or bytes */
	const char *devices, *adapters; /* those of each machine that the case chose; NULL: all */
	const char *local; /* GPU and host of the local run of forwarded programs, to which
			      `ratio` compares; NULL: none */
};
/* Returns for example "network resnet50; stack pytorch-amp (fp16); exchange ddp (NCCL)". Values in
 * which the setups differ are separated by " / ". */
const char *setups_text(struct arena *arena, const struct setup *const *setups, size_t count);

struct prediction {
	const char *name;
	struct setup setup;
	bool ok;
	const char *reason;         /* reason of a failed verdict; otherwise NULL */
	struct estimate throughput; /* images/s, summed over clients or ranks; for a collective
				       benchmark the bus bandwidth in B/s */
	/* The next five are NaN unless networks take sequences. */
	struct estimate token_throughput, gpu_token_throughput; /* tokens/s; on each GPU */
	struct estimate model_flops; /* model FLOP/s on each GPU (docs/models/plans.md) */
	struct estimate mfu, hfu;    /* model and hardware FLOP/s over the GPUs' peak */
	struct estimate
		step_s; /* step time; for a collective benchmark the time of the collective */
	struct estimate ratio; /* throughput divided by that of the baseline; for a job the scaling
				  efficiency, its throughput divided by that of as many independent
				  GPUs; NaN: none */
	/* The next fields are for jobs and collective benchmarks; otherwise 0 and NaN. */
	size_t gpu_count;
	struct estimate speedup;    /* throughput divided by that of one GPU */
	struct estimate training_s; /* time of all epochs, or of case.tokens */
	double memory_B;            /* largest GPU memory of a rank of a plan; NaN: no plan */
	double memory_lacking_B;   /* by which memory_B exceeds the GPU's (plan.anyway); NaN: not */
	struct estimate elapsed_s; /* time from launch to end of the job that ends last */
	const struct breakdown_part *phases; /* parts of elapsed_s, which add up to it */
	size_t phase_count;
	/* The next fields are for the long run of a plan; otherwise NaN and 0. */
	struct estimate goodput_ratio; /* time of steps that count, divided by elapsed_s */
	struct estimate failures_count, gpu_hours; /* gpu_hours: of all machines, with the spares */
	double spares_count;                       /* spare machines */
	const struct breakdown_part *causes;       /* time that the failures of each cause took */
	size_t cause_count;
	const struct breakdown_part *checkpoint; /* times and intervals of checkpoints */
	size_t checkpoint_count;
	/* waits in a step, summed over everything that waits (docs/models/monotone.md) */
	const struct breakdown_part *waits;
	size_t wait_count;
	double collectives_count; /* collectives of a step; NaN: none */
	double communication_s;   /* time of a step in which a collective is in progress, hidden
				     behind kernels or exposed; NaN: unavailable */
	const char *collective;   /* name and size of a collective benchmark, "all_reduce, 1 MiB";
				     otherwise NULL */
	const char *choice;       /* the collective library's choice; NULL: none */
	struct estimate gpu_utilization; /* mean utilisation over the GPUs in use */
	/* The next fields are for cases that serve requests; otherwise 0 and NaN. Quantiles are
	 * 50, 90, 95 and 99 %. The step time is then the mean latency, with its breakdown. */
	uint64_t requests_count; /* the warm-up included */
	uint64_t refused_count, preempted_count;
	double overload_ratio, error_ratio, latency_error_ratio,
		wanted_count; /* of struct serving_answers */
	struct estimate latency_s[QUANTILE_COUNT], first_token_s[QUANTILE_COUNT],
		between_tokens_s[QUANTILE_COUNT];
	/* means over requests; token_s: time for each token after the first */
	struct estimate first_token_mean_s, token_s, token_quantile_s[QUANTILE_COUNT];
	/* a user's mean tokens/s; requests/s that meet all objectives */
	struct estimate user_token_throughput, goodput;
	double cache_tokens_count;      /* tokens that fit into the KV caches; 0: there are none */
	struct estimate slo_attainment; /* share of requests that meet all objectives */
	/* name: share of requests with less latency; a pointer, because sweeps keep a million
	 * predictions, of which few are of model servers */
	const struct breakdown_part *latency_cdf;
	size_t latency_cdf_count;
	/* The next fields are for cases with prices (docs/models/money.md); otherwise NULL and NaN.
	 * A sample is what the throughput counts, or a collective; a run is a whole training. */
	const char *currency;
	const char *cost_unknown; /* which price is missing; NULL: none */
	struct estimate cost_hour, cost_year, cost_sample, cost_step, cost_run, cost_token;
	struct estimate power_W, energy_year_J, energy_sample_J, energy_step_J, energy_run_J,
		energy_token_J;
	struct breakdown_part *breakdown; /* parts of step_s */
	size_t breakdown_count;
	const char *bottleneck;
	const char *remedy; /* what would help against the bottleneck; NULL: nothing was tried */
	/* settings that change nothing (effects.h); NULL: none, or not tried */
	const char *without_effect;
	const char *idle_adapters; /* adapters that carry nothing, and why; NULL: none */
	struct job_prediction *jobs;
	size_t job_count;
	struct stage_prediction *stages; /* stages of a plan, then the slowest rank */
	size_t stage_count;
	struct link_prediction *links;
	size_t link_count;
	struct call_prediction *waiting_calls; /* of the first client, the longest wait first */
	size_t waiting_call_count;             /* 0: no calls are forwarded */
	uint64_t events_count;
	uint64_t calls_count, polls_count; /* per step */
	/* calls of a step of the first job's first rank by kind; launches that libraries make are a
	 * kind of their own */
	const struct breakdown_part *calls;
	size_t call_kind_count;
	double retransmission_timeouts; /* per step */
	double connect_s;
	const char *evidence; /* which measurements set parameters of such a case, in words */
	const char *width;    /* what the interval of the throughput consists of; NULL: unknown */
	const struct cfg_resolution *resolution;
	uint64_t seed;
	size_t draws_count;
	size_t failed_draws_count; /* draws that failed and count as a throughput of 0 */
	/* Used by draws_quotient: the throughput of each draw, 0 if it failed, by its number, and
	 * the model error of its parts. */
	const struct breakdown_part *drawn;
	size_t drawn_count;
	const struct breakdown_part *drawn_costs; /* of each draw: cost_sample, or cost_run of a
						     long run; 0 if it failed */
	size_t drawn_cost_count;
	struct error_part *errors; /* only with draws, because sweeps keep a million */
	size_t error_count;
};

/* setups_text of the predictions. */
const char *predictions_setup(struct arena *arena, const struct prediction *const *predictions,
			      size_t count);

/* Returns a copy that shares nothing with the original. If texts is given, equal texts are
 * stored once, which saves memory for many copies in one arena. */
const struct prediction *prediction_copy(struct arena *arena, struct names *texts,
					 const struct prediction *prediction);

/* Returns true if the numbers are equal, or both are NaN. */
bool numbers_equal(double a, double b);
/* Returns true if both have the same verdict, and every number and interval is the same to the last
 * bit. */
bool predictions_equal(const struct prediction *a, const struct prediction *b);
/* Returns the settings of the command line that change nothing in any of the predictions, as in
 * their without_effect; NULL: none. */
const char *predictions_without_effect(struct arena *arena,
				       const struct prediction *const *predictions, size_t count);

/* Returns the seconds of a step that belong to the part with this key; 0 if it has no such part.
 * PART_EXPOSED is the sum of all exposed communication. */
double prediction_part_s(const struct prediction *prediction, const char *name);
/* Returns the unit of the throughput of a setup that counts this: "images/s" for NULL. */
const char *counted_unit(const char *counted);
/* Returns the unit of the throughput of training steps: "images/s", "sequences/s", "steps/s"
 * (recordings without a batch), or "samples/s" for predictions of several sorts. Columns of CSV say
 * steps if all are of steps, and otherwise images. */
const char *throughput_unit(const struct prediction *const *predictions, size_t count);
enum prediction_kind { /* each kind is one bit, so that kinds can form sets */
		       PREDICTION_PROGRAMS = 1,
		       PREDICTION_TRAINING = 2, /* a job on several GPUs */
		       PREDICTION_COLLECTIVE = 4,
		       PREDICTION_SERVING = 8, /* model servers */
		       /* only in sets of fields: predictions with prices */
		       PREDICTION_PRICED = 16,
};
enum prediction_kind prediction_kind(const struct prediction *prediction);
/* Returns the set of kinds in the list. */
unsigned prediction_kinds(const struct prediction *const *predictions, size_t count);

enum output_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL };

/* Writes predictions. JSON is an array with an object for each prediction, JSON Lines has one
 * object on each line; docs/formats.md describes the fields. Numbers of a failed verdict are
 * null (empty in CSV). CSV is RFC 4180 with a row for each prediction. FORMAT_TABLE is
 * predictions_table with lines of any width and without links. */
void predictions_write(FILE *out, enum output_format format,
		       const struct prediction *const *predictions, size_t count);

/* Prints a line for each prediction, or the answer, the breakdown and clients if there is only
 * one. Tables fit into line_width characters (0: any width). With links, one prediction's most used
 * links are printed, too. */
void predictions_table(FILE *out, const struct prediction *const *predictions, size_t count,
		       size_t line_width, bool links);

/* Reads JSON or JSON Lines that predictions_write wrote, for example for plots. Parameters are
 * not read: resolution is NULL. Returns NULL after errors, which are in diag; otherwise *count >
 * 0. */
const struct prediction *const *predictions_read(struct arena *arena, struct diag *diag,
						 const char *path, size_t *count);

/* Reads a prediction from one line of JSON Lines; NULL if the line is not a prediction. */
const struct prediction *prediction_read(struct arena *arena, const char *text, size_t size_B);

/* ---- result tables ---- */

struct result_column {
	const char *name; /* key in JSON and CSV, with the unit last: "rtt_s"; NULL: only people
			     see the column, under its heading */
	enum quantity quantity; /* quantity of number columns */
	bool text;              /* a column "verdict" has "ok" or the reason of a failure */
	bool interval;          /* cells carry low and high: name_low, name_high in CSV */
	/* heading for people: "round trip"; NULL: the name without its unit; "": people do not see
	 * the column */
	const char *heading;
};
struct result_cell {
	const char *text; /* text of a text column; NULL: not available. In CSV it also replaces a
			     number that is not available */
	struct estimate number; /* value of a number column; NaN: not available */
};
struct result_table {
	struct arena *arena;
	const char *name, *title;
	const struct result_column *columns;
	size_t column_count;
	struct result_cell *cells; /* row_count * column_count elements */
	size_t row_count, room;    /* room: number of rows for which cells has space */
	size_t filled;             /* cells of the last row */
	const char *setup;         /* what the predictions are about (setups_text); NULL: nothing */
	const char *draws; /* how many draws are behind the intervals; NULL: there are none */
	/* axes or settings with which no number of the table changes; NULL: none, or not known */
	const char *without_effect;
};
/* Returns a table without columns, rows and setup. */
struct result_table *result_table_new(struct arena *arena, const char *name, const char *title);
/* Adds a column; result_columns adds several: "system:text|rows|share:ratio|wait_s:time~:wait".
 * Each has its name, then after a colon its kind, and after another colon its heading. The kind is
 * "text", "ratio", "time", "bytes" or "rate", and otherwise a count; "~" means intervals. */
void result_column(struct result_table *table, struct result_column column);
void result_columns(struct result_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Begins a row after all columns were added. The others then fill its cells from left to right. */
void result_row(struct result_table *table);
void result_cell(struct result_table *table, struct result_cell cell);
void result_text(struct result_table *table, const char *text);
void result_number(struct result_table *table, double value);
void result_estimate(struct result_table *table, struct estimate estimate);
void result_table_write(FILE *out, enum output_format format, const struct result_table *table);
/* Returns the table for people, without its title and setup. */
struct table *result_table_shown(struct arena *arena, const struct result_table *table);
/* Prints the table for people. Lines fit into line_width characters (0: any width). */
void result_table_print(FILE *out, const struct result_table *table, size_t line_width);

/* Writes the trace of a run as JSON for Perfetto and chrome://tracing. */
void trace_write(FILE *out, const struct trace *trace);

/* Output files are written atomically. The text is collected in memory. output_commit writes it
 * to a temporary file next to the target and renames that file, so that a failure or an
 * interrupt leaves the previous content. Symbolic links are followed, and the mode of a replaced
 * file is kept. Devices and pipes (/dev/null) are written in place. Path "-" means stdout, which
 * stays empty until the commit. output_open returns NULL with errno set if the target cannot be
 * written: there is no such folder, it is a directory, or the permission is missing.
 *
 * A closed pipe is reported here only if SIGPIPE is ignored. main ignores it first of all.
 * Otherwise the signal ends the program without a message. */
struct output;
struct output *output_open(const char *path);
/* Writes all of text, also when signals interrupt it. Returns 0, or -1 with errno set. */
int output_write_whole(int fd, const char *text, size_t size_B);
FILE *output_file(struct output *output);
/* Returns 0, or -1 with errno set after any error (disk full, closed pipe), which leaves no
 * file. Frees output in both cases. */
int output_commit(struct output *output);
void output_abandon(struct output *output);

#define FARWIRE_VERSION "0.2.0"
