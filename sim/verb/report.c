/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire report: writes a page about cases, datasets and recordings, the answer first. */
#include "sim/report/report.h"
#include "sim/verb/calibration.h"
#include "sim/report/validation.h"
#include "sim/verb/verbs.h"

/* ---- cases, datasets, recordings ---- */

enum word_kind { WORD_CASE, WORD_DATASET, WORD_RECORDING, WORD_WRONG };

/* Returns WORD_DATASET if a word that is not a file names a shipped dataset. Otherwise it prints an
 * error. The word cannot be a shipped case, because the parser has replaced those by paths. */
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
		"farwire: '%s' is neither a case nor a dataset (%s%s%s your own files end in "
		".cfg)\n",
		word, near ? "did you mean '" : "`farwire list` shows the shipped ones;",
		near ? near : "", near ? "'?" : "");
	return WORD_WRONG;
}

/* Finds out what a word of the command is. A name that ends in .jsonl is a recording. The group of
 * another file tells its kind. Any other word is a name. */
static enum word_kind kind_of(const struct command *command, const char *word)
{
	if (is_recording(word))
		return WORD_RECORDING;
	if (!is_file(word) && !ends_in(word, ".cfg"))
		return shipped_kind(command, word);
	struct diag *diag = diag_new(command->arena);
	const struct cfg_node *file = cfg_read(command->arena, diag, word);
	if (file && cfg_child(file, "dataset"))
		return WORD_DATASET;
	if (file && cfg_child(file, "case"))
		return WORD_CASE;
	if (file)
		diag_error(diag, cfg_origin(file),
			   "the file is neither a case nor a dataset (write a group `case = { ... "
			   "}` or `dataset = { ... }`)");
	diag_print(diag, stderr);
	return WORD_WRONG;
}

/* ---- parts ---- */

static int add_case(struct report *report, const struct command *command, size_t index,
		    struct progress *progress)
{
	const struct case_request request = command_case(command, index);
	struct sweep_axis axes[AXES_MAX];
	bool good;
	*progress = progress_new("points", NULL, command->quiet);
	if (!command->vary.count) {
		good = report_case(report, &request);
	} else {
		size_t count = command_axes(command, report->diag, axes);
		good = count && report_sweep(report, &request, axes, count);
	}
	progress_end(progress);
	return good ? EXIT_DONE : EXIT_USAGE;
}

static int add_dataset(struct report *report, const struct command *command, const char *word)
{
	int code = EXIT_DONE;
	const struct dataset_outcome *outcome = command_validate(command, word, &code);
	if (!outcome)
		return code;
	report_dataset(report, outcome, command_base_name(command, word));
	if (!command->quiet && strcmp(command->output, "-") != 0) {
		struct command table = *command;
		table.output = "-";
		validation_print(stdout, command->arena, outcome, command_colors(command, true),
				 command_line_width(&table));
		putchar('\n');
	}
	return EXIT_DONE;
}

static int add_recording(struct report *report, const struct command *command, const char *word)
{
	int code = EXIT_DONE;
	const struct calibration *calibration = calibration_of(command, word, &code);
	if (calibration)
		report_calibration(report, calibration);
	return code;
}

static int add_word(struct report *report, const struct command *command, size_t index,
		    struct progress *progress)
{
	const char *word = command->word_count ? command->words[index] : NULL;
	enum word_kind kind = word ? kind_of(command, word) : WORD_CASE;
	if (kind == WORD_WRONG)
		return EXIT_USAGE;
	if (kind == WORD_CASE)
		return add_case(report, command, index, progress);
	if (command->vary.count)
		return command_stop(
			EXIT_USAGE,
			"--vary works only with cases, and '%s' is not a case (remove one of them)",
			word);
	return kind == WORD_DATASET ? add_dataset(report, command, word)
				    : add_recording(report, command, word);
}

/* Adds all words to the report. It prints errors, also those by which only a figure is missing. */
static int fill(struct report *report, const struct command *command, struct progress *progress)
{
	int code = EXIT_DONE;
	for (size_t i = 0; i < command_case_count(command) && code == EXIT_DONE; i++)
		code = add_word(report, command, i, progress);
	if (diag_count(report->diag) || report->broken) {
		int failed = command_failed(report->diag, report->broken);
		code = code == EXIT_DONE && !report->broken ? code : failed;
	}
	return code;
}

static int run(const struct command *command)
{
	bool html = ends_in(command->output, ".html") || ends_in(command->output, ".htm");
	if (ends_in(command->output, ".pdf"))
		return command_stop(
			EXIT_USAGE,
			"-o %s: a report is an HTML page (write -o FILE.html and print it from a "
			"browser; for one chart as PDF write `farwire plot RESULT -o FILE.pdf`)",
			command->output);
	if (!html && strcmp(command->output, "-") != 0)
		return command_stop(EXIT_USAGE, "-o %s: the name must end in .html",
				    command->output);
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct progress progress = {0}; /* of the case that is predicted */
	const struct report_request request = {
		.title = command->title,
		.caption = command_caption_of(command),
		.options = command_predict(command),
		.watch = {progress_tell, &progress},
		.data_root = command->data_root,
		.most_drawn = command_gave(command, "draws") ? 0 : SWEEP_DRAWN};
	struct report *report = report_begin(command->arena, &request);
	int code = fill(report, command, &progress);
	if (code != EXIT_DONE)
		return code;
	report_finish(report);
	code = write_file(command->output, report_html, report);
	return code == EXIT_DONE && report->bound_broken ? EXIT_BOUND : code;
}

const struct verb verb_report = {
	.name = "report",
	.words = "CASE|DATASET|FILE.jsonl...",
	.help = "writes an HTML page: the answer first, then tables, plots and parameters",
	.examples = "  farwire report case.cfg --title 'Can we move the GPUs?' -o report.html\n"
		    "  farwire report case.cfg --vary 'link.wire.latency=1 us:1 ms:log20' -o "
		    "sweep.html\n"
		    "  farwire report flexdirect_1050ti bitfusion_networks -o report.html\n",
	.options = "set plan serve vary output title seed draws jobs color quiet",
	.run = run,
};
