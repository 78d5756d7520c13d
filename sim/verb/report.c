/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire report: cases, datasets and recordings on one page, the answer first. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/report/answers.h"
#include "sim/verb/calibration.h"
#include "sim/report/chart_data.h"
#include "sim/report/report.h"
#include "sim/verb/verbs.h"

static bool ends_in(const char *text, const char *ending)
{
	size_t length = strlen(text), tail = strlen(ending);
	return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* ---- cases, datasets, recordings ---- */

enum word_kind { WORD_CASE, WORD_DATASET, WORD_RECORDING, WORD_WRONG };

/* Of a word that is no file, so no case either: cases that ship were named by their paths. A
 * dataset, or something close to what ships. */
static enum word_kind shipped_kind(const struct command *command, const char *word)
{
	static const char *const folders[] = {"calib/measured", "topologies/what-ifs",
					      "topologies/cases"};
	VEC(const char *) all = {0};
	for (size_t f = 0; f < sizeof folders / sizeof folders[0]; f++) {
		const char *const *names;
		size_t count = data_names(command->arena, command->data_root, folders[f], &names);
		for (size_t i = 0; i < count; i++) {
			if (f < 2 && strcmp(names[i], word) == 0)
				return WORD_DATASET;
			*VEC_PUSH(command->arena, &all) = names[i];
		}
	}
	const char *near = diag_nearest(word, all.items, all.count);
	fprintf(stderr,
		"farwire: '%s' is no case and no dataset (%s%s%s a file of your own ends in "
		".cfg)\n",
		word, near ? "did you mean '" : "`farwire list` shows what ships;",
		near ? near : "", near ? "'?" : "");
	return WORD_WRONG;
}

/* A recording by its ending; a file says by its group what it is; any other word names a case or a
 * dataset. */
static enum word_kind kind_of(const struct command *command, const char *word)
{
	struct stat status;
	if (is_recording(word))
		return WORD_RECORDING;
	bool there = stat(word, &status) == 0 && S_ISREG(status.st_mode);
	if (!there && !ends_in(word, ".cfg"))
		return shipped_kind(command, word);
	struct diag *diag = diag_new(command->arena);
	const struct cfg_node *file = cfg_read(command->arena, diag, word);
	if (file && cfg_child(file, "dataset"))
		return WORD_DATASET;
	if (file && cfg_child(file, "case"))
		return WORD_CASE;
	if (file)
		diag_error(
			diag, cfg_origin(file),
			"is no case and no dataset (it needs a group `case = { ... }` or `dataset "
			"= { ... }`)");
	diag_print(diag, stderr);
	return WORD_WRONG;
}

/* Several cases beside each other. */
static void compare(struct report *report, const struct command *command,
		    const struct prediction *const *predictions, size_t count)
{
	struct chart_text text = {chart_bars_title(predictions, count), command_caption(command)};
	report_add(report, BLOCK_PART, "The cases beside each other");
	report_comparison(report, predictions, count);
	report_figure(report,
		      chart_ratio_bars(report->arena, text,
				       chart_bars(report->arena, predictions, count), count),
		      "%s, as predicted. The dashed line is 95 %%.", text.title);
	report_results(report, comparison_table(report->arena, predictions, count),
		       command->draws > 0, "The numbers of this figure");
}

/* The question, unless the command says it; kinds of the predicted cases. */
static const char *title_of(const struct command *command, unsigned kinds)
{
	if (command->title)
		return command->title;
	if (kinds == 0) /* datasets alone */
		return "Predictions beside measurements";
	if (kinds == PREDICTION_TRAINING)
		return "How does this training scale?";
	if (kinds == PREDICTION_COLLECTIVE)
		return "How fast is this collective?";
	return "What does a GPU at the far end of this wire cost?";
}

/* A sweep of each case. */
static int fill_sweeps(struct report *report, const struct command *command)
{
	report->title = command->title ? command->title : "What changes it, and by how much?";
	for (size_t i = 0; i < command_case_count(command); i++) {
		enum word_kind kind =
			command->word_count ? kind_of(command, command->words[i]) : WORD_CASE;
		if (kind == WORD_DATASET || kind == WORD_RECORDING)
			fprintf(stderr, "farwire: --vary: '%s' is no case\n", command->words[i]);
		if (kind != WORD_CASE)
			return EXIT_USAGE;
		int code = report_sweep(report, command, i);
		if (code != EXIT_DONE)
			return code;
	}
	return EXIT_DONE;
}

static int fill(struct report *report, const struct command *command)
{
	size_t count = command_case_count(command), case_count = 0;
	const struct prediction **predictions =
		ARENA_ARRAY(report->arena, count + 1, const struct prediction *);
	for (size_t i = 0; i < count; i++) {
		int code = EXIT_USAGE;
		enum word_kind kind =
			command->word_count ? kind_of(command, command->words[i]) : WORD_CASE;
		if (kind == WORD_CASE)
			code = report_case(report, command, i, &predictions[case_count++]);
		else if (kind == WORD_DATASET)
			code = report_dataset(report, command, command->words[i]);
		else if (kind == WORD_RECORDING)
			code = report_recording(report, command, command->words[i]);
		if (code != EXIT_DONE)
			return code;
	}
	report->title = case_count > 1 && !command->title
				? "Which of these cases is the fastest?"
				: title_of(command, prediction_kinds(predictions, case_count));
	if (case_count > 1) {
		size_t before = report->blocks.count;
		compare(report, command, predictions, case_count);
		report_to_front(report, before);
	}
	return EXIT_DONE;
}

/* ---- output ---- */

static void write_html(FILE *out, const void *ctx)
{
	report_html(out, ctx);
}

struct bytes {
	const unsigned char *at;
	size_t size;
};

static void write_bytes(FILE *out, const void *ctx)
{
	const struct bytes *bytes = ctx;
	fwrite(bytes->at, 1, bytes->size, out);
}

static int save(struct report *report, const struct command *command, bool pdf)
{
	const char *message = NULL;
	struct bytes bytes = {0};
	if (pdf)
		bytes.at = report_pdf(report, &bytes.size, &message);
	else
		message = report_images(report);
	if (!message)
		return command_write(command, pdf ? write_bytes : write_html,
				     pdf ? (const void *)&bytes : report);
	fprintf(stderr, "farwire: cannot draw the report: %s\n", message);
	return EXIT_FAILED;
}

static int run(const struct command *command)
{
	bool pdf = ends_in(command->output, ".pdf");
	bool html = ends_in(command->output, ".html") || ends_in(command->output, ".htm");
	if (!pdf && !html && strcmp(command->output, "-") != 0) {
		fprintf(stderr, "farwire: -o %s: the name must end in .html or .pdf\n",
			command->output);
		return EXIT_USAGE;
	}
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct report *report = report_new(
		command->arena, title_of(command, 0),
		arena_printf(command->arena, "Predicted by %s.", command_caption(command)));
	int code = command->vary.count ? fill_sweeps(report, command) : fill(report, command);
	if (code == EXIT_DONE)
		code = save(report, command, pdf);
	return code == EXIT_DONE && report->bound_broken ? EXIT_BOUND : code;
}

const struct verb verb_report = {
	.name = "report",
	.words = "CASE|DATASET|FILE.jsonl...",
	.help = "one page with the answer first: tables, plots, parameters (HTML or PDF)",
	.examples = "  farwire report case.cfg --title 'Can we move the GPUs?' -o report.html\n"
		    "  farwire report case.cfg --vary 'link.wire.latency=1 us:1 ms:log20' -o "
		    "sweep.html\n"
		    "  farwire report flexdirect_1050ti bitfusion_networks -o report.pdf\n",
	.options = "set vary output title seed draws jobs color quiet",
	.words_min = 1,
	.cases = true,
	.run = run,
};
