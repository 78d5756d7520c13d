/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire validate: predicts recorded measurements and prints the errors. */
#include "sim/report/validation.h"
#include "calib/fit/errors.h"
#include "calib/fit/recording.h"
#include "sim/base/hash.h"
#include "sim/report/dataset_charts.h"
#include "sim/verb/verbs.h"

/* Predicts the collectives of a recording under the settings of the command. */
static const struct dataset_outcome *validate_recording(const struct command *command,
							struct diag *diag, const char *path,
							const struct validation_input *input,
							const char **broken)
{
	const struct recording *recording = recording_read(command->arena, diag, path);
	if (!recording)
		return NULL;
	const struct fit_collectives_request request = {.recordings = &recording,
							.recording_count = 1,
							.settings = command->settings,
							.setting_count = command->setting_count};
	const struct dataset *dataset = collectives_dataset(command->arena, diag, &request);
	if (!dataset)
		return NULL;
	return dataset_evaluate(command->arena, diag, dataset, input, broken);
}

/* Returns the path of the journal of a dataset, such as "errors.csv.journal.pytorch_h200". The name
 * of a dataset in another folder ends with a hash of its path, because two folders may have a
 * dataset of one name. A report has no journal. */
static const char *validation_journal(const struct command *command, const char *name)
{
	const char *path = command->verb->ranks ? command_journal(command) : NULL;
	const char *slash = strrchr(name, '/');
	if (!path || !slash)
		return path ? arena_printf(command->arena, "%s.%s", path, name) : NULL;
	return arena_printf(command->arena, "%s.%s.%016llx", path, slash + 1,
			    (unsigned long long)hash_text(HASH_START, name));
}

const struct dataset_outcome *command_validate(const struct command *command, const char *name,
					       int *exit_code)
{
	struct diag *diag = diag_new(command->arena);
	const char *journal = validation_journal(command, name);
	struct progress progress = progress_new("cases", journal, command->quiet);
	struct validation_request request = {
		.name = name,
		.input = {command_predict(command), command->data_root, journal},
		.settings = command->settings,
		.setting_count = command->setting_count,
		.draws_given = command_gave(command, "draws")};
	request.input.options.watch = (struct watch){progress_tell, &progress};
	const char *broken = NULL;
	if (!command->quiet)
		fprintf(stderr, "farwire: predicting %s\n", name);
	const struct dataset_outcome *outcome =
		ends_in(name, ".jsonl")
			? validate_recording(command, diag, name, &request.input, &broken)
			: dataset_validate(command->arena, diag, &request, &broken);
	progress_end(&progress);
	if (!outcome)
		*exit_code = command_failed(diag, broken);
	return outcome;
}

struct validation_writing {
	const struct command *command;
	const struct validation *validation;
	enum output_format format;
};

static void write_validation(FILE *out, const void *ctx)
{
	const struct validation_writing *w = ctx;
	bool to_stdout = strcmp(w->command->output, "-") == 0;
	if (w->format == FORMAT_TABLE)
		validation_print_all(out, w->validation, command_colors(w->command, to_stdout),
				     command_line_width(w->command));
	else if (w->format == FORMAT_CSV)
		validation_csv(out, w->validation);
	else
		validation_json(out, w->validation, w->format == FORMAT_JSON);
}

/* Draws a parity plot for each measure, then the measured curves. Only a PDF has all of them. */
static int draw(const struct command *command, const struct validation *v)
{
	struct arena *arena = command->arena;
	struct caption about = command_caption_of(command);
	about.configuration = dataset_configuration(arena, v->outcomes, v->count);
	const char *caption = caption_text(arena, &about), *title = command->title;
	VEC(const struct drawing *) pages = {0};
	for (enum measure measure = 0; measure < MEASURE_COUNT; measure++) {
		const struct drawing *drawing =
			dataset_parity(arena, title, caption, v->outcomes, v->count, measure);
		if (drawing)
			*VEC_PUSH(arena, &pages) = drawing;
	}
	for (size_t i = 0; i < v->count; i++) {
		const struct dataset_chart *charts;
		size_t count = dataset_charts(arena, caption, v->outcomes[i], &charts);
		for (size_t k = 0; k < count; k++)
			*VEC_PUSH(arena, &pages) = charts[k].drawing;
	}
	bool pdf = ends_in(command->plot, ".pdf");
	if (pages.count == 0)
		return command_stop(
			EXIT_USAGE,
			"--plot: the datasets contain no measured numbers to draw (remove --plot)");
	if (pages.count > 1 && !pdf && !command->quiet)
		fprintf(stderr,
			"farwire: --plot: the file has only the first of %zu charts (write a name "
			"that ends in .pdf for all)\n",
			pages.count);
	return command_draw(command, command->plot, pages.items, pdf ? pages.count : 1);
}

/* ---- rows of systems without their own fits ---- */

static int leave_out(const struct command *command)
{
	static const char *const classes[] = {
		[CASE_LOCAL] = "all systems: one GPU",
		[CASE_FORWARDED] = "all systems: forwarded",
		[CASE_TRAINING] = "all systems: training on several GPUs",
		[CASE_COLLECTIVE] = "all systems: collectives",
		[CASE_SERVING] = "all systems: model servers",
		[ROW_CLASS_ALL] = "all systems without model servers"};
	struct arena *arena = command->arena;
	struct diag *diag = diag_new(arena);
	const char *broken = NULL;
	struct model_error same[MECHANISM_COUNT];
	fit_errors_read(arena, diag, command->data_root, same);
	const struct left_out_tests tests = {command->words, command->word_count};
	const struct left_out *left =
		systems_leave_out(arena, diag, command->data_root, &tests, command->seed,
				  (unsigned)command->jobs, &broken);
	if (!left)
		return command_failed(diag, broken);
	size_t count;
	const struct left_out_summary *list = systems_summaries(arena, left, same, &count);
	struct result_table *table = result_table_new(
		arena, "left_out_systems", "Predictions of systems without their own fits");
	result_columns(table, "system:text|role:text|rows|coverage:ratio|geomean_error:ratio|"
			      "median_half_width:ratio|score:ratio|constant_width_score:ratio");
	for (size_t i = 0; i < count; i++) {
		const struct left_out_summary *s = &list[i];
		if (tests.count > 0 && !(s->named && s->system))
			continue;
		const double numbers[] = {(double)s->count,     s->coverage, s->geomean_abs,
					  s->median_half_width, s->score,    s->constant_score};
		result_row(table);
		result_text(table, s->system ? s->system : classes[s->class]);
		result_text(table, row_role_name(s->role));
		for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++)
			result_number(table, round(1000 * numbers[k]) / 1000);
	}
	return command_table(command, table);
}

static int run(const struct command *command)
{
	if (!command_follows(command) && !command_can_write(command))
		return EXIT_FAILED;
	if (command->leave_out_systems)
		return command_follows(command) ? EXIT_DONE : leave_out(command);
	int code = EXIT_DONE;
	const char *const *names = command->words;
	size_t count = command->word_count;
	if (count == 0)
		count = data_names(command->arena, command->data_root, "calib/measured", &names);
	const struct dataset_outcome **outcomes =
		ARENA_ARRAY(command->arena, count, const struct dataset_outcome *);
	for (size_t i = 0; i < count; i++) {
		outcomes[i] = command_validate(command, names[i], &code);
		if (!outcomes[i])
			return code;
	}
	if (command_follows(command))
		return EXIT_DONE;
	const struct validation v = {command->arena, outcomes, count};
	const struct validation_writing w = {command, &v, command->format},
					data = {command, &v, FORMAT_CSV};
	code = command_write(command, write_validation, &w, &data);
	if (code == EXIT_DONE && command->plot)
		code = draw(command, &v);
	for (size_t i = 0; i < count && code == EXIT_DONE; i++)
		code = command_end_journal(validation_journal(command, names[i]));
	for (size_t i = 0; i < v.count && code == EXIT_DONE; i++)
		if (!v.outcomes[i]->bounds_hold)
			code = EXIT_BOUND;
	return code;
}

const struct verb verb_validate = {
	.name = "validate",
	.words = "[DATASET|SAMPLES.jsonl...]",
	.help = "predicts recorded measurements and prints the errors of fit rows and test rows",
	.examples = "  farwire validate flexdirect_1050ti --plot parity.svg\n"
		    "  farwire validate flexdirect_1050ti bitfusion_networks --format json\n"
		    "  farwire validate nccl.jsonl --topology dgx-h100 --exchange nccl-2.18\n"
		    "  farwire validate remoting_lupine --leave-out-systems\n",
	.options = ANSWER_OPTIONS "case.topology case.model case.engine case.exchange "
				  "case.transport case.profile set leave-out-systems",
	.ranks = true,
	.run = run,
};
