/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns recordings into profiles, for `farwire fit FILE.jsonl` and `farwire calibrate`. */
#include "sim/verb/calibration.h"

#include <sys/stat.h>

bool is_recording(const char *word)
{
	return ends_in(word, ".jsonl");
}

const struct calibration *calibration_of(const struct command *command, const char *path,
					 int *exit_code)
{
	struct diag *diag = diag_new(command->arena);
	const struct recording *recording = recording_read(command->arena, diag, path);
	const struct calibration *calibration =
		recording ? calibration_run(command->arena, diag, command->data_root, recording,
					    command->seed)
			  : NULL;
	if (!calibration)
		*exit_code = command_failed(diag, NULL);
	else if (!recording->ended && !command->quiet)
		fprintf(stderr,
			"farwire: %s is incomplete because it was interrupted or its time ran out; "
			"the fit uses the samples that it has (--continue completes it)\n",
			path);
	if (calibration && calibration->parameters.count == 0 && !command->quiet)
		fprintf(stderr,
			"farwire: %s by itself sets no parameter of the simulator; the profile "
			"contains only comments for readers\n",
			path);
	if (calibration && recording->drift_most_ratio > RECORD_DRIFT_MOST)
		fprintf(stderr,
			"farwire: %s: the machine drifted by %.1f %% during the measurement, more "
			"than %.0f %% (measure again)\n",
			path, 100 * recording->drift_most_ratio, 100 * RECORD_DRIFT_MOST);
	return calibration;
}

struct profile_saving {
	struct arena *arena;
	const struct calibration *const *calibrations;
	size_t count;
};

static void write_profile(FILE *out, const void *ctx)
{
	const struct profile_saving *saving = ctx;
	calibration_write(out, saving->arena, saving->calibrations, saving->count);
}

int calibration_save(const struct command *command, const struct calibration *const *calibrations,
		     size_t count, const char *path)
{
	const struct profile_saving saving = {command->arena, calibrations, count};
	return write_file(path, write_profile, &saving);
}

/* ---- text output ---- */

static const char *bound_text(struct arena *arena, enum quantity quantity, double value)
{
	return isnan(value) ? "-" : quantity_format(arena, quantity, value);
}

/* Prints the parameters with their intervals, the gates, and the tests that were left out. */
static void calibration_print(FILE *out, struct arena *arena, const struct calibration *calibration)
{
	struct table *table = table_new(arena, "parameter|value>|low>|high>", 0);
	for (size_t i = 0; i < calibration->parameters.count; i++) {
		const struct calibrated *p = &calibration->parameters.items[i];
		table_cells(table, CELLS(p->path, bound_text(arena, p->quantity, p->value.value),
					 bound_text(arena, p->quantity, p->value.low),
					 bound_text(arena, p->quantity, p->value.high)));
	}
	table_print(table, out);
	const char *const *sentences;
	size_t count = calibration_sentences(arena, calibration, &sentences);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s\n", sentences[i]);
	for (size_t i = 0; i < calibration->left_out.count; i++)
		fprintf(out, "left out: %s: %s\n", calibration->left_out.items[i].what,
			calibration->left_out.items[i].why);
	for (size_t i = 0; i < calibration->recording->waived.count; i++)
		fprintf(out, "waived: %s: %s\n", calibration->recording->waived.items[i].test,
			calibration->recording->waived.items[i].why);
}

/* ---- fit FILE.jsonl ---- */

static int draw(const struct command *command, const struct calibration *const *calibrations,
		size_t count)
{
	VEC(const struct drawing *) all = {0};
	bool pages = ends_in(command->plot, ".pdf");
	for (size_t i = 0; i < count; i++) {
		const struct calibration_drawing *drawings;
		size_t n = calibration_drawings(command->arena, calibrations[i], &drawings);
		for (size_t k = 0; k < n; k++)
			*VEC_PUSH(command->arena, &all) = drawings[k].drawing;
	}
	if (!all.count)
		return EXIT_DONE;
	int code = command_draw(command, command->plot, all.items, pages ? all.count : 1);
	return code == EXIT_DONE
		       ? command_image_data(command, command->plot,
					    calibration_points(command->arena, calibrations, count))
		       : code;
}

int calibration_gates(const struct calibration *calibration)
{
	for (size_t i = 0; i < calibration->left_out.count; i++)
		if (calibration->left_out.items[i].gate)
			fprintf(stderr, "farwire: %s: %s: %s\n", calibration->recording->path,
				calibration->left_out.items[i].what,
				calibration->left_out.items[i].why);
	return calibration->gate_failed ? EXIT_BOUND : EXIT_DONE;
}

static bool is_another(const char *machine, const char *other)
{
	return strcmp(machine, "unknown") != 0 && strcmp(other, "unknown") != 0 &&
	       strcmp(machine, other) != 0;
}

/* Warns if one profile is made of recordings of two machines, which is probably a mistake. */
static void warn_of_machines(const struct calibration *const *calibrations, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		const struct recording *a = calibrations[0]->recording;
		const struct recording *b = calibrations[i]->recording;
		if (is_another(a->cpu, b->cpu))
			fprintf(stderr,
				"farwire: %s and %s are recordings of different machines (%s, %s) "
				"in one profile (write -o FOLDER for a profile of each)\n",
				a->path, b->path, a->cpu, b->cpu);
	}
}

static int save_each(const struct command *command, const struct calibration *const *calibrations,
		     size_t count)
{
	int code = EXIT_DONE;
	for (size_t i = 0; i < count && code == EXIT_DONE; i++)
		code = calibration_save(command, &calibrations[i], 1,
					arena_printf(command->arena, "%s/%s.cfg", command->output,
						     calibration_name(calibrations[i])));
	return code;
}

int fit_recordings(const struct command *command)
{
	size_t count = command->word_count;
	const struct calibration **calibrations =
		ARENA_ARRAY(command->arena, count, const struct calibration *);
	int code = EXIT_DONE;
	for (size_t i = 0; i < count; i++)
		if (!is_recording(command->words[i]))
			return command_stop(
				EXIT_USAGE,
				"fit: '%s' is not a recording (.jsonl) (use one command "
				"for recordings and another one for shipped fits)",
				command->words[i]);
	for (size_t i = 0; i < count; i++) {
		calibrations[i] = calibration_of(command, command->words[i], &code);
		if (!calibrations[i])
			return code;
	}
	for (size_t i = 0; i < count && strcmp(command->output, "-") != 0 && !command->quiet; i++)
		calibration_print(stdout, command->arena, calibrations[i]);
	struct stat about;
	bool folder = stat(command->output, &about) == 0 && S_ISDIR(about.st_mode);
	if (!folder)
		warn_of_machines(calibrations, count);
	code = folder ? save_each(command, calibrations, count)
		      : calibration_save(command, calibrations, count, command->output);
	if (code == EXIT_DONE && command->plot)
		code = draw(command, calibrations, count);
	for (size_t i = 0; i < count && (code == EXIT_DONE || code == EXIT_BOUND); i++) {
		int gate = calibration_gates(calibrations[i]);
		code = gate > code ? gate : code;
	}
	return code;
}
