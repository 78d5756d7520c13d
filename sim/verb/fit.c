/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire fit: turns rows of role fit, or recordings of probes, into profiles. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calib/fit/errors.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/verb/calibration.h"
#include "sim/verb/verbs.h"

struct profile_writing {
	const struct command *command;
	const struct fit_result *result;
	const char *profile, *fit;
};

static void write_profile(FILE *out, const void *ctx)
{
	const struct profile_writing *w = ctx;
	fit_profile_write(out, w->command->arena, w->result, w->profile, w->fit);
}

static void print_result(struct arena *arena, const struct fit_result *result)
{
	for (size_t i = 0; i < result->stage_count; i++) {
		const struct fit_stage_result *stage = &result->stages[i];
		for (size_t k = 0; k < stage->profile_count; k++)
			printf("%s%s", k ? ", " : "", stage->profiles[k]);
		printf(": rms error %.2f %% on %zu rows\n", 100 * stage->rms_ratio,
		       stage->row_count);
		for (size_t k = 0; k < stage->count; k++) {
			const struct fitted_parameter *p = &result->parameters[stage->first + k];
			printf("  %s = %s (%s .. %s)\n", p->path,
			       quantity_format(arena, p->row->quantity, p->value),
			       quantity_format(arena, p->row->quantity, p->low),
			       quantity_format(arena, p->row->quantity, p->high));
		}
	}
}

/* Each profile of the result once, into the folder. */
static int save(const struct command *command, const struct fit_result *result, const char *fit,
		const char *folder)
{
	int code = EXIT_DONE;
	for (size_t i = 0; i < result->profile_count && code == EXIT_DONE; i++) {
		struct command to_file = *command;
		to_file.output =
			arena_printf(command->arena, "%s/%s.cfg", folder, result->profiles[i]);
		struct profile_writing w = {command, result, result->profiles[i], fit};
		code = command_write(&to_file, write_profile, &w);
	}
	return code;
}

static void write_errors(FILE *out, const void *ctx)
{
	fit_errors_write(out, ctx);
}

/* After every shipped fit: what they leave over. */
static int save_errors(const struct command *command, const struct fit_result *const *results,
		       size_t count, const char *folder)
{
	struct diag *diag = diag_new(command->arena);
	const char *broken;
	const struct model_errors *errors = fit_errors(command->arena, diag, command->data_root,
						       results, count, command->seed, &broken);
	if (!errors)
		return command_failed(diag, broken);
	for (size_t k = 0; k < CASE_KIND_COUNT && !command->quiet; k++)
		printf("%s: %.2f %%, %.3g of %zu measurements to spare\n",
		       case_kind_path((enum case_kind)k), 100 * errors->kinds[k].error_ratio,
		       errors->kinds[k].spare_count, errors->kinds[k].measurement_count);
	struct command to_file = *command;
	to_file.output = arena_printf(command->arena, "%s/" MODEL_ERROR ".cfg", folder);
	return command_write(&to_file, write_errors, errors);
}

/* Of one fit; NULL: *code says how to end. */
static const struct fit_result *fit_one(const struct command *command, const char *name, int *code)
{
	struct diag *diag = diag_new(command->arena);
	const char *broken;
	FILE *progress = !command->quiet && isatty(STDERR_FILENO) ? stderr : NULL;
	const struct fit_result *result = fit_run(command->arena, diag, command->data_root, name,
						  command->seed, progress, &broken);
	if (!result)
		*code = command_failed(diag, broken);
	else if (!command->quiet)
		print_result(command->arena, result);
	return result;
}

static int run(const struct command *command)
{
	const char *const *names = command->words;
	size_t count = command->word_count;
	for (size_t i = 0; i < count; i++)
		if (is_recording(names[i]))
			return fit_recordings(command);
	const char *folder =
		strcmp(command->output, "-") == 0
			? arena_printf(command->arena, "%s/calib/profiles", command->data_root)
			: command->output;
	bool all = count == 0;
	if (all)
		count = data_names(command->arena, command->data_root, "calib/fit", &names);
	/* better known before the long work */
	if (access(folder, W_OK | X_OK) != 0) {
		fprintf(stderr, "farwire: cannot write into the folder '%s': %s\n", folder,
			strerror(errno));
		return EXIT_FAILED;
	}
	int code = EXIT_DONE;
	const struct fit_result **results =
		ARENA_ARRAY(command->arena, count + 1, const struct fit_result *);
	for (size_t i = 0; i < count && code == EXIT_DONE; i++) {
		results[i] = fit_one(command, names[i], &code);
		if (results[i])
			code = save(command, results[i], names[i], folder);
	}
	return all && code == EXIT_DONE ? save_errors(command, results, count, folder) : code;
}

const struct verb verb_fit = {
	.name = "fit",
	.words = "[FIT|FILE.jsonl]...",
	.help = "fits parameters to measured rows of role fit, or to a probe's recording",
	.examples = "  farwire fit                          # every shipped profile again\n"
		    "  farwire fit flexdirect-1050ti -o my-folder\n"
		    "  farwire fit gpu.jsonl -o my-gpu.cfg --plot fits.pdf\n",
	.options = "output plot seed quiet color",
	.words_min = 0,
	.run = run,
};
