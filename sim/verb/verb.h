/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs of the command line, one file each; their list is verbs.def.
 *
 * A verb gets a COMMAND: its words and options, already checked against what
 * the verb takes. It prints results to stdout (or -o), messages to stderr, and
 * returns the exit code: 0 done, 1 the simulation failed or output could not be
 * written, 2 bad usage or configuration, 3 a stated bound is broken.
 */
#ifndef FARWIRE_VERB_VERB_H
#define FARWIRE_VERB_VERB_H

#include "sim/analysis/sweep.h"
#include "sim/predict/baselines.h"
#include "sim/report/caption.h"
#include "sim/verb/progress.h"

enum exit_code { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_BOUND = 3 };

struct texts {
	const char *const *items;
	size_t count;
};
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct command {
	struct arena *arena;
	const struct verb *verb;
	const char *const *words; /* cases, datasets, files */
	size_t word_count;
	const struct setting *settings; /* --set and the options that stand for one */
	size_t setting_count;
	struct texts given; /* names of the options that were given */
	/* Values of options, by the rows of option_table.c; a text is NULL without one. */
	const char *gpus, *target, *between, *of;
	struct texts vary, keys;
	uint64_t point_count, seed, draws, jobs;
	double vary_all_ratio; /* 0: not given */
	const char *only, *server, *connect, *scratch, *resume;
	double budget_s; /* 0: not given */
	unsigned format; /* enum output_format */
	unsigned color;  /* enum color */
	const char *output, *plot, *trace, *title;
	bool full, quiet, plain;
	const char *data_root;
	struct baselines
		*baselines; /* that predictions share; the caller of command_parse frees them */
};

struct verb {
	const char *name;
	const char *words;    /* "CASE..." */
	const char *help;     /* one line */
	const char *examples; /* for --help */
	const char
		*options; /* what it takes, between blanks: "draws" "output=folder" (options.h) */
	size_t words_min; /* a case may be given by --topology instead */
	bool cases;       /* words are cases: it takes all settings of theirs */
	int (*run)(const struct command *command);
};

REGISTRY_OF(struct verb, verb);

/* Parses argv (without the program's name). NULL: *exit_code says how to end
 * (0 after --help). */
const struct command *command_parse(struct arena *arena, int argc, char **argv, int *exit_code);

/* ---- for the verbs ---- */

/* Whether an option was given, where that is not the same as its default. */
bool command_gave(const struct command *command, const char *option);
/* Whether what is printed there is coloured: never in a file, unless that is asked for. */
bool command_colors(const struct command *command, bool to_stdout);
/* The request of one case: word index, or only settings. */
struct case_request command_case(const struct command *command, size_t index);
/* Cases of the command: its words, or 1 for the flags alone. */
size_t command_case_count(const struct command *command);
struct predict_options command_predict(const struct command *command);
/* The input of an analysis of that case; progress, which may be NULL, is told of points. */
struct analysis_input command_input(const struct command *command, size_t index,
				    struct progress *progress);
/* Says why there is no prediction; the exit code. */
int command_failed(const struct diag *diag, const char *broken);
/* Predicts all cases; prints errors. NULL: *exit_code is set. */
const struct prediction **command_predictions(const struct command *command, struct trace *trace,
					      int *exit_code);
/* Writes through `write` to command->output, atomically. */
int command_write(const struct command *command, void (*write)(FILE *out, const void *ctx),
		  const void *ctx);
/* The same, to another path. */
int write_file(const char *path, void (*write)(FILE *out, const void *ctx), const void *ctx);
/* Whether output, plot and trace can be written, said before the work, not after it. */
bool command_can_write(const struct command *command);
/* Writes a table in the command's format. */
int command_table(const struct command *command, const struct result_table *table);
/* Predicts every point of a grid; prints progress and errors. NULL: *exit_code is set. */
const struct sweep *command_sweep(const struct command *command, struct sweep_request request,
				  int *exit_code);
/* Prints why there is no sweep; the exit code. */
int command_sweep_failed(const struct diag *diag, struct sweep_fault fault);
/* Evaluates a dataset under the command's settings; prints errors. NULL: *exit_code is set. */
struct dataset_outcome;
const struct dataset_outcome *command_validate(const struct command *command, const char *name,
					       int *exit_code);
/* Renders a drawing to path; 0 or an exit code, having said why. */
struct drawing;
int command_draw(const struct command *command, const char *path,
		 const struct drawing *const *drawings, size_t count);
/* The caption of the command's figures. */
struct caption command_caption_of(const struct command *command);
const char *command_caption(const struct command *command);
/* "ddl-host" of a path. */
const char *command_base_name(const struct command *command, const char *path);
/* Reads --vary into axes[AXES_MAX]; their count, 0 after errors in diag. */
size_t command_axes(const struct command *command, struct diag *diag, struct sweep_axis *axes);
/* Writes a report to path; 0 or an exit code, having said why. */
struct report;
int write_report(const char *path, struct report *report, bool pdf);

#endif
