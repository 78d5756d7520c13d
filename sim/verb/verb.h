/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verbs of the command line. Each verb has its own file, and verbs.def lists them.
 *
 * A verb receives a struct command: words and options that the parser has already checked.
 * It prints results to stdout or to the file of -o, and messages to stderr. It returns an
 * exit code:
 *
 *	0  success
 *	1  the simulation broke an invariant, or the output could not be written
 *	2  wrong usage or configuration
 *	3  a bound that a dataset states is broken */
#pragma once

#include "plots/charts.h"
#include "sim/analysis/sweep.h"
#include "sim/base/table.h"
#include "sim/predict/baselines.h"
#include "sim/report/caption.h"
#include "sim/verb/progress.h"

/* Lists of options that many verbs accept: of all cases, and of all that print an answer. */
#define CASE_OPTIONS   "set plan serve "
#define ANSWER_OPTIONS "wide format output plot no-data title seed draws jobs color quiet "

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
	const struct setting *settings; /* --set, and options such as --batch that set a key */
	size_t setting_count;
	struct texts systems;  /* those of --topology a,b,c; none for one topology */
	size_t system_setting; /* index of that setting */
	struct texts given;    /* names of the options on the command line */
	/* Values of options. option_table.c has a row for each. A text without a value is NULL. */
	const char *gpus, *gpu, *link, *target, *between, *of, *step, *users, *active;
	struct texts vary, keys;
	uint64_t seed, draws, jobs, best_count, port;
	double vary_all_ratio; /* 0: not given */
	double noise_ratio;
	double budget_s; /* 0: not given */
	unsigned format; /* enum output_format */
	unsigned color;  /* enum color */
	const char *output, *plot, *timeline, *trace, *title;
	bool full, quiet, plain, wide, links, leave_out_systems, all_ranks, exhaustive, no_data;
	const char *data_root;
	const struct ranks *ranks;   /* processes that run this command together; NULL: one */
	struct baselines *baselines; /* shared by all predictions; the caller of command_parse
					frees them */
};

struct verb {
	const char *name;
	const char *words;    /* "CASE [KEY...]": what must be given, and in brackets what may be */
	const char *help;     /* one line of help */
	const char *examples; /* examples for --help */
	const char *options;  /* names of accepted options, separated by blanks; "output=folder"
				 gives the option another default (options.h) */
	bool systems;         /* --topology can list several systems */
	bool ranks;           /* several processes of a launcher such as mpirun share the work */
	int (*run)(const struct command *command);
};

REGISTRY_OF(struct verb, verb);

/* Returns whether words of the verb are cases, so that it accepts all options of cases. */
static inline bool verb_has_cases(const struct verb *verb)
{
	return strstr(verb->words, "CASE") != NULL;
}

/* Parses argv without the program's name. Returns NULL if no verb should run, and sets *exit_code:
 * 0 after --help, 2 after errors. */
const struct command *command_parse(struct arena *arena, int argc, char **argv, int *exit_code);

/* Runs the verb, together with the other ranks if a launcher started several. Returns the exit
 * code. */
int command_run(const struct command *command);

/* ---- for the verbs ---- */

/* Returns whether this process only computes for the first rank, so that it writes nothing. */
bool command_follows(const struct command *command);

/* Returns whether the path is that of a regular file. */
bool is_file(const char *path);

/* Returns whether the option is on the command line. A verb uses it to distinguish a default from
 * the same value given by the user. */
bool command_gave(const struct command *command, const char *option);
/* Returns whether output has colours. With --color auto, a file never has them. */
bool command_colors(const struct command *command, bool to_stdout);
/* Returns the request of the case in words[index], or of the case that only options describe, on
 * systems.items[index] if there are several. */
struct case_request command_case(const struct command *command, size_t index);
/* Returns the number of cases: the number of systems if --topology lists several, otherwise the
 * number of words, or 1 if only options describe the case. */
size_t command_case_count(const struct command *command);
struct predict_options command_predict(const struct command *command);
/* Returns the input of an analysis of the first case. The analysis reports finished points to
 * progress, unless it is NULL. */
struct analysis_input command_input(const struct command *command, struct progress *progress);
/* Prints why there is no prediction, and returns the exit code. broken describes a broken invariant
 * and is otherwise NULL. */
int command_failed(const struct diag *diag, const char *broken);
/* Prints "farwire: ", the message and a newline to the standard error. Returns the exit code. */
int command_stop(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Predicts all cases. After an error it prints the error, sets *exit_code and returns NULL. */
const struct prediction **command_predictions(const struct command *command, struct trace *trace,
					      int *exit_code);
/* Writes command->output atomically with the function `write`. If there is a plot, also writes the
 * file with its numbers, with `data` instead of ctx; NULL: not. Returns the exit code. */
int command_write(const struct command *command, void (*write)(FILE *out, const void *ctx),
		  const void *ctx, const void *data);
/* Like command_write, but writes to `path`. */
int write_file(const char *path, void (*write)(FILE *out, const void *ctx), const void *ctx);
/* Writes predictions in the command's format. Returns the exit code. */
int command_write_predictions(const struct command *command,
			      const struct prediction *const *predictions, size_t count);
/* Returns the width of the terminal in characters, at least 80, to which tables are fitted; 0: they
 * may have any width, because of --wide or because the output is not a terminal. */
size_t command_line_width(const struct command *command);
/* Sets the files that the command writes, and their options; a path is NULL if there is none. */
enum { COMMAND_OUTPUTS = 6 };
struct command_output {
	const char *option, *path;
};
void command_outputs(const struct command *command, struct command_output outputs[COMMAND_OUTPUTS]);
/* Returns whether the files of --output, --plot, --timeline and --trace can be written, and prints
 * an error if not. Verbs call it before long work, so that the work is not lost. */
bool command_can_write(const struct command *command);
/* Writes a table in the command's format. */
int command_table(const struct command *command, const struct result_table *table);
/* Writes a table, draws the plot, and removes the journal. drawing and journal may be NULL. Returns
 * the exit code. */
int command_answer(const struct command *command, const struct result_table *table,
		   const struct drawing *drawing, const char *journal);
/* Removes a journal whose results have been written; NULL: none. Returns the exit code. */
int command_end_journal(const char *journal);
/* Writes the numbers of an image into the CSV file beside it, unless --no-data is given. */
int command_image_data(const struct command *command, const char *image,
		       const struct result_table *table);
/* Predicts every point of a grid, and prints progress. After an error it prints the error, sets
 * *exit_code and returns NULL. */
const struct sweep *command_sweep(const struct command *command, struct sweep_request request,
				  int *exit_code);
/* Returns the path of the journal, which keeps finished points during a sweep: next to the output
 * file, or NULL if the output is not a file. */
const char *command_journal(const struct command *command);
/* Prints why there is no sweep, and returns the exit code. */
int command_sweep_failed(const struct diag *diag, struct sweep_fault fault);
/* Evaluates a dataset under the command's settings. After an error it prints the error, sets
 * *exit_code and returns NULL. */
struct target;
struct dataset_outcome;
const struct dataset_outcome *command_validate(const struct command *command, const char *name,
					       int *exit_code);
/* Renders drawings to an image file, one a page. Returns 0, or prints an error and returns another
 * exit code. */
int command_draw(const struct command *command, const char *path,
		 const struct drawing *const *drawings, size_t count);
/* Draws predictions of several cases: their throughput over the cost, or over that of the first one
 * if no cost is known. Each row of the table is of one of them; its first `lead` cells say which.
 * The target may be NULL. */
const struct drawing *command_comparison(const struct command *command,
					 const struct result_table *table, size_t lead,
					 const struct prediction *const *predictions, size_t count,
					 const struct target *target);
/* Returns the caption of the command's figures: case, settings, seed and draws. */
struct caption command_caption_of(const struct command *command);
const char *command_caption(const struct command *command);
/* Returns the title of --title, or this one, and the caption of the command's figures. */
struct chart_text command_chart_text(const struct command *command, const char *title);
/* Folders of shipped files. group is the group of a file that contains its description. */
struct folder {
	const char *name, *path, *group;
};
enum { FOLDER_COUNT = 17 };
extern const struct folder shipped_folders[FOLDER_COUNT];
/* Returns the file name of a path without ".cfg", for example "ddl-host". */
const char *command_base_name(const struct command *command, const char *path);
/* Reads --vary into axes[AXES_MAX]. Returns their number, or 0 after adding errors to diag. */
size_t command_axes(const struct command *command, struct diag *diag, struct sweep_axis *axes);
