/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that several verbs share: they predict cases, and write and draw results. */
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plots/canvas.h"
#include "sim/analysis/ranks.h"
#include "sim/base/table.h"
#include "sim/report/document.h"
#include "sim/verb/parser.h"

size_t command_case_count(const struct command *command)
{
	if (command->systems.count)
		return command->systems.count;
	return command->word_count ? command->word_count : 1;
}

struct case_request command_case(const struct command *command, size_t index)
{
	const struct setting *settings = command->settings;
	if (command->systems.count) {
		size_t count = command->setting_count;
		struct setting *own = ARENA_ARRAY(command->arena, count, struct setting);
		memcpy(own, settings, count * sizeof *own);
		own[command->system_setting].text = arena_printf(command->arena, "case.topology=%s",
								 command->systems.items[index]);
		settings = own;
		index = 0;
	}
	return (struct case_request){.path = command->word_count ? command->words[index] : NULL,
				     .settings = settings,
				     .setting_count = command->setting_count,
				     .data_root = command->data_root,
				     .beside = command_case_count(command) > 1};
}

/* Refuses prices of GPUs and machines that none of several cases has. Returns true if a case cannot
 * be read, because the verb then says why. */
static bool check_prices(const struct command *command)
{
	struct diag *diag = diag_new(command->arena);
	struct case_request request = command_case(command, 0);
	bool *known = ARENA_ARRAY(command->arena, request.setting_count + 1, bool);
	scenario_note_prices(&request, NULL, known);
	bool all = !memchr(known, 0, request.setting_count);
	for (size_t i = 0; !all && i < command_case_count(command); i++) {
		request = command_case(command, i);
		const struct scenario *scenario =
			case_read(command->arena, diag_new(command->arena), &request);
		scenario_note_prices(&request, scenario, known);
		all = !scenario;
	}
	if (all || scenario_check_prices(diag, &request, known))
		return true;
	command_failed(diag, NULL);
	return false;
}

struct predict_options command_predict(const struct command *command)
{
	return (struct predict_options){.seed = command->seed,
					.draws_count = command->draws,
					.jobs = (unsigned)command->jobs,
					.ranks = command->ranks,
					.baselines = command->baselines};
}

struct analysis_input command_input(const struct command *command, struct progress *progress)
{
	return (struct analysis_input){.request = command_case(command, 0),
				       .options = command_predict(command),
				       .watch = {progress ? progress_tell : NULL, progress}};
}

int command_failed(const struct diag *diag, const char *broken)
{
	diag_print(diag, stderr);
	if (broken)
		fprintf(stderr, "farwire: the simulation broke an invariant: %s\n", broken);
	return broken ? EXIT_FAILED : EXIT_USAGE;
}

int command_stop(int code, const char *format, ...)
{
	struct arena *scratch = arena_new();
	va_list args;
	va_start(args, format);
	fprintf(stderr, "farwire: %s\n",
		text_visible(scratch, arena_vprintf(scratch, format, args)));
	va_end(args);
	arena_free(scratch);
	return code;
}

static bool can_write(const char *path)
{
	struct output *output = output_open(path);
	if (output)
		output_abandon(output);
	else
		command_stop(EXIT_FAILED, "cannot write '%s': %s", path, strerror(errno));
	return output != NULL;
}

/* Returns the file with the numbers of the plot, "x.csv" for "x.svg"; NULL: none is wanted, or it
 * is the output file. */
static const char *plot_data(const struct command *command, const char *image)
{
	if (!image || command->no_data)
		return NULL;
	size_t length = strlen(image) - strlen(".svg");
	const char *path = arena_printf(command->arena, "%.*s.csv", (int)length, image);
	bool written = image == command->plot; /* --output then has the same numbers */
	return written && is_same_file(command->arena, path, command->output) ? NULL : path;
}

void command_outputs(const struct command *command, struct command_output outputs[COMMAND_OUTPUTS])
{
	const struct command_output all[COMMAND_OUTPUTS] = {
		{"--output", command->output},
		{"--plot", command->plot},
		{"--trace", command->trace},
		{"--timeline", command->timeline},
		{"--plot (numbers; --no-data)", plot_data(command, command->plot)},
		{"--timeline (numbers; --no-data)", plot_data(command, command->timeline)}};
	memcpy(outputs, all, sizeof all);
}

bool command_can_write(const struct command *command)
{
	struct command_output outputs[COMMAND_OUTPUTS];
	command_outputs(command, outputs);
	for (size_t i = 0; i < COMMAND_OUTPUTS; i++)
		if (outputs[i].path && !can_write(outputs[i].path))
			return false;
	return true;
}

static void tell_events(void *ctx, uint64_t events, uint64_t events_max)
{
	progress_tell(ctx, 0, events, events_max);
}

const struct prediction **command_predictions(const struct command *command, struct trace *trace,
					      int *exit_code)
{
	size_t count = command_case_count(command);
	const struct prediction **predictions =
		ARENA_ARRAY(command->arena, count, const struct prediction *);
	struct predict_options options = command_predict(command);
	options.effects = options.remedies = !command->quiet;
	bool draws = options.draws_count > 0;
	*exit_code = EXIT_FAILED;
	if (!command_can_write(command))
		return NULL;
	struct progress progress =
		progress_new(draws ? "draws" : "events allowed", NULL, command->quiet);
	const struct engine_watch watch = {tell_events, &progress};
	if (draws)
		options.watch = (struct watch){progress_tell, &progress};
	for (size_t i = 0; i < count; i++) {
		struct diag *diag = diag_new(command->arena);
		struct case_request request = command_case(command, i);
		const char *broken;
		options.trace = i == 0 ? trace : NULL;
		request.watch = draws ? NULL : &watch;
		predictions[i] = predict_case(command->arena, diag, &request, &options, &broken);
		if (predictions[i])
			continue;
		progress_end(&progress);
		*exit_code = command_failed(diag, broken);
		return NULL;
	}
	progress_end(&progress);
	return predictions;
}

int write_file(const char *path, void (*write)(FILE *out, const void *ctx), const void *ctx)
{
	struct output *output = output_open(path);
	if (output) {
		write(output_file(output), ctx);
		if (output_commit(output) == 0)
			return EXIT_DONE;
	}
	/* a reader such as `| head` may close the pipe early; that needs no message */
	const char *quote = strcmp(path, "-") == 0 ? "" : "'";
	if (errno != EPIPE)
		command_stop(EXIT_FAILED, "cannot write %s%s%s: %s", quote,
			     *quote ? path : "the standard output", quote, strerror(errno));
	return EXIT_FAILED;
}

struct wrapping {
	void (*write)(FILE *out, const void *ctx);
	const void *ctx;
	size_t line_width;
};

/* Breaks lines that are longer than those of the terminal. */
static void write_wrapped(FILE *out, const void *ctx)
{
	const struct wrapping *w = ctx;
	char *text = NULL;
	size_t size_B = 0;
	FILE *memory = w->line_width ? open_memstream(&text, &size_B) : NULL;
	w->write(memory ? memory : out, w->ctx);
	if (!memory)
		return;
	if (fclose(memory) == 0)
		lines_wrap(out, text, w->line_width);
	free(text);
}

int command_write(const struct command *command, void (*write)(FILE *out, const void *ctx),
		  const void *ctx, const void *data)
{
	bool text = command->format == FORMAT_TABLE;
	const struct wrapping w = {write, ctx, text ? command_line_width(command) : 0};
	int code = write_file(command->output, write_wrapped, &w);
	const char *path = plot_data(command, command->plot);
	return code == EXIT_DONE && data && path ? write_file(path, write, data) : code;
}

bool command_colors(const struct command *command, bool to_stdout)
{
	if (command->color != COLOR_AUTO)
		return command->color == COLOR_ALWAYS;
	return to_stdout && isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

size_t command_line_width(const struct command *command)
{
	enum { LEAST = 80 };
	struct winsize size = {0};
	const char *columns = getenv("COLUMNS");
	if (command->wide || strcmp(command->output, "-") != 0 || !isatty(STDOUT_FILENO))
		return 0;
	unsigned long width = columns ? strtoul(columns, NULL, 10) : 0;
	if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	return width > LEAST ? width : LEAST;
}

struct writing {
	const struct command *command;
	enum output_format format;
	const struct result_table *table;
	const struct prediction *const *predictions;
	size_t count;
};

static void write_table(FILE *out, const void *ctx)
{
	const struct writing *w = ctx;
	if (w->format == FORMAT_TABLE)
		result_table_print(out, w->table, command_line_width(w->command));
	else
		result_table_write(out, w->format, w->table);
}

int command_table(const struct command *command, const struct result_table *table)
{
	const struct writing w = {command, command->format, .table = table},
			     data = {command, FORMAT_CSV, .table = table};
	bool rows = command->format == FORMAT_CSV || command->format == FORMAT_JSONL;
	if (rows && table->without_effect && !command->quiet)
		fprintf(stderr, "farwire: changes nothing here: %s\n",
			text_visible(command->arena, table->without_effect));
	return command_write(command, write_table, &w, &data);
}

int command_image_data(const struct command *command, const char *image,
		       const struct result_table *table)
{
	const struct writing w = {command, FORMAT_CSV, .table = table};
	const char *path = plot_data(command, image);
	return path ? write_file(path, write_table, &w) : EXIT_DONE;
}

static void write_predictions(FILE *out, const void *ctx)
{
	const struct writing *w = ctx;
	if (w->format == FORMAT_TABLE)
		predictions_table(out, w->predictions, w->count, command_line_width(w->command),
				  w->command->links);
	else
		predictions_write(out, w->format, w->predictions, w->count);
}

int command_write_predictions(const struct command *command,
			      const struct prediction *const *predictions, size_t count)
{
	const struct writing w = {command, command->format, NULL, predictions, count},
			     data = {command, FORMAT_CSV, NULL, predictions, count};
	return command_write(command, write_predictions, &w, &data);
}

const char *command_journal(const struct command *command)
{
	struct stat status;
	bool there = stat(command->output, &status) == 0;
	if (strcmp(command->output, "-") == 0 || (there && !S_ISREG(status.st_mode)))
		return NULL;
	return arena_printf(command->arena, "%s.journal", command->output);
}

int command_sweep_failed(const struct diag *diag, struct sweep_fault fault)
{
	int code = command_failed(diag, fault.broken);
	return fault.outside ? EXIT_FAILED : code;
}

const struct sweep *command_sweep(const struct command *command, struct sweep_request request,
				  int *exit_code)
{
	struct diag *diag = diag_new(command->arena);
	struct progress progress = progress_new("points", request.journal, command->quiet);
	struct sweep_fault fault;
	request.input.watch = (struct watch){progress_tell, &progress};
	const struct sweep *sweep = sweep_run(command->arena, diag, &request, &fault);
	progress_end(&progress);
	if (!sweep)
		*exit_code = command_sweep_failed(diag, fault);
	return sweep;
}

struct image {
	const unsigned char *bytes;
	size_t size;
};

static void write_image(FILE *out, const void *ctx)
{
	const struct image *image = ctx;
	fwrite(image->bytes, 1, image->size, out);
}

int command_draw(const struct command *command, const char *path,
		 const struct drawing *const *drawings, size_t count)
{
	enum image_format format;
	if (!image_format_of(path, &format))
		return command_stop(EXIT_USAGE,
				    "--plot %s: the name must end in .svg, .pdf or .png", path);
	struct image image;
	const char *message;
	image.bytes = image_render(command->arena, format, drawings, count, &image.size, &message);
	return image.bytes ? write_file(path, write_image, &image)
			   : command_stop(EXIT_FAILED, "cannot draw '%s': %s", path, message);
}

int command_answer(const struct command *command, const struct result_table *table,
		   const struct drawing *drawing, const char *journal)
{
	int code = command_table(command, table);
	if (code == EXIT_DONE && drawing)
		code = command_draw(command, command->plot, &drawing, 1);
	return code == EXIT_DONE ? command_end_journal(journal) : code;
}

int command_end_journal(const char *journal)
{
	if (!journal || unlink(journal) == 0 || errno == ENOENT)
		return EXIT_DONE;
	return command_stop(EXIT_FAILED, "cannot remove '%s': %s", journal, strerror(errno));
}

/* Returns whether a later setting or an axis sets the same key. */
static bool is_overridden(const struct command *command, size_t index)
{
	const char *text = command->settings[index].text;
	size_t key = strcspn(text, "=") + 1;
	for (size_t i = index + 1; i < command->setting_count; i++)
		if (strncmp(command->settings[i].text, text, key) == 0)
			return true;
	for (size_t i = 0; i < command->vary.count; i++)
		if (strncmp(command->vary.items[i], text, key) == 0)
			return true;
	return false;
}

const char *command_base_name(const struct command *command, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name) - (ends_in(name, ".cfg") ? strlen(".cfg") : 0);
	return arena_printf(command->arena, "%.*s", (int)length, name);
}

/* Returns the profiles and the hash of the cases, or NULL if one cannot be read without the values
 * of an axis. */
static const char *configuration_of(const struct command *command)
{
	size_t count = command_case_count(command);
	const struct cfg_resolution **cases =
		ARENA_ARRAY(command->arena, count + 1, const struct cfg_resolution *);
	for (size_t i = 0; i < count; i++) {
		const struct case_request request = command_case(command, i);
		const struct scenario *scenario =
			case_read(command->arena, diag_new(command->arena), &request);
		if (!scenario)
			return NULL;
		cases[i] = scenario->resolution;
	}
	return caption_configuration(command->arena, cases, count);
}

struct caption command_caption_of(const struct command *command)
{
	bool one = verb_has_cases(command->verb) && command->word_count == 1;
	struct caption caption = {.settings = "", .seed = command->seed, .draws = command->draws};
	if (one)
		caption.subject = command_base_name(command, command->words[0]);
	if (verb_has_cases(command->verb) && command_case_count(command) > 0)
		caption.configuration = configuration_of(command);
	for (size_t i = 0; i < command->setting_count; i++)
		if (!is_overridden(command, i))
			caption.settings = arena_printf(command->arena, "%s, %s", caption.settings,
							command->settings[i].text);
	return caption;
}

const char *command_caption(const struct command *command)
{
	const struct caption caption = command_caption_of(command);
	return caption_text(command->arena, &caption);
}

struct chart_text command_chart_text(const struct command *command, const char *title)
{
	return (struct chart_text){command->title ? command->title : title,
				   command_caption(command)};
}

size_t command_axes(const struct command *command, struct diag *diag, struct sweep_axis *axes)
{
	size_t count = command->vary.count, before = diag_count(diag);
	if (count > AXES_MAX)
		diag_error(diag, (struct origin){0},
			   "farwire: there can be at most %d options --vary, not %zu (remove some)",
			   AXES_MAX, count);
	for (size_t i = 0; i < count && i < AXES_MAX; i++)
		sweep_axis_read(command->arena, diag, "--vary", command->vary.items[i], &axes[i]);
	return diag_count(diag) > before ? 0 : count;
}

/* ---- several processes ---- */

/* Finds the other ranks if a launcher started this process; *ranks is NULL if it did not. Prints an
 * error and returns false if there are other ranks but MPI cannot be used. */
static bool find_ranks(struct arena *arena, const struct ranks **ranks)
{
	const char *message = "";
	int rank, count = ranks_launched(&rank);
	*ranks = count > 1 ? ranks_open(arena, &message) : NULL;
	if (count == 1 || (*ranks && (*ranks)->count == count))
		return true;
	if (*ranks) /* a launcher that this MPI does not understand */
		message = "the launcher belongs to another MPI than libfarwire-mpi.so (use its own "
			  "mpirun)";
	if (rank == 0)
		fprintf(stderr, "farwire: %d ranks were started, but MPI cannot be used: %s\n",
			count, message);
	return false;
}

bool command_follows(const struct command *command)
{
	return command->ranks && command->ranks->rank > 0;
}

/* Runs the verb on a rank other than the first. Its messages go to the first rank, which prints
 * them if it has none of its own. */
static void follow(const struct command *command)
{
	FILE *shown = stderr;
	char *said = NULL;
	size_t size_B = 0;
	FILE *memory = open_memstream(&said, &size_B);
	if (memory)
		stderr = memory;
	command->verb->run(command);
	stderr = shown;
	if (memory)
		fclose(memory);
	const char *text = arena_printf(command->arena, "0\nrank %d: %s", command->ranks->rank,
					said ? said : "");
	sweep_leave(command->ranks, text);
	free(said);
}

int command_run(const struct command *command)
{
	struct command own = *command;
	if (verb_has_cases(command->verb) && command_case_count(command) > 1 &&
	    !check_prices(command))
		return EXIT_USAGE;
	if (command->verb->ranks && !find_ranks(command->arena, &own.ranks))
		return EXIT_USAGE;
	if (!own.ranks)
		return command->verb->run(command);
	own.jobs = command_gave(command, "jobs") ? own.jobs : 1;
	own.quiet |= own.ranks->rank > 0;
	int code = EXIT_DONE;
	if (own.ranks->rank > 0) {
		follow(&own);
	} else {
		code = own.verb->run(&own);
		sweep_leave(own.ranks, NULL);
	}
	own.ranks->finish();
	return code;
}
