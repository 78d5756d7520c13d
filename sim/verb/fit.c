/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire fit: fits parameters to rows of role fit, or to recordings of probes, and writes
 * profiles. */
#include <unistd.h>

#include "calib/fit/errors.h"
#include "calib/fit/recording.h"
#include "sim/cfg/cfg.h"
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

static void print_result(FILE *out, struct arena *arena, const struct fit_result *result)
{
	for (size_t i = 0; i < result->stage_count; i++) {
		const struct fit_stage_result *stage = &result->stages[i];
		for (size_t k = 0; k < stage->profile_count; k++)
			fprintf(out, "%s%s", k ? ", " : "", stage->profiles[k]);
		fprintf(out, ": rms error %.2f %% on %zu rows\n", 100 * stage->rms_ratio,
			stage->row_count);
		for (size_t k = 0; k < stage->count; k++) {
			const struct fitted_parameter *p = &result->parameters[stage->first + k];
			fprintf(out, "  %s = %s (%s .. %s)\n", p->path,
				quantity_format(arena, p->row->quantity, p->value),
				quantity_format(arena, p->row->quantity, p->low),
				quantity_format(arena, p->row->quantity, p->high));
		}
	}
}

/* Returns true if no file has this path, or a profile, which a fit writes again. */
static bool can_replace(struct arena *arena, const char *path)
{
	struct diag *diag = diag_new(arena);
	return access(path, F_OK) != 0 || cfg_child(cfg_read(arena, diag, path), "parameters");
}

/* Writes each profile of the result into the folder. */
static int save(const struct command *command, const struct fit_result *result, const char *fit,
		const char *folder)
{
	int code = EXIT_DONE;
	for (size_t i = 0; i < result->profile_count && code == EXIT_DONE; i++) {
		const char *path =
			arena_printf(command->arena, "%s/%s.cfg", folder, result->profiles[i]);
		struct profile_writing w = {command, result, result->profiles[i], fit};
		if (!can_replace(command->arena, path))
			return command_stop(EXIT_USAGE,
					    "fit: refusing to overwrite '%s', which is not a "
					    "profile (write another folder after -o)",
					    path);
		code = write_file(path, write_profile, &w);
	}
	return code;
}

/* ---- recordings of collectives on a topology ---- */

/* Returns the words and settings of the command, for the comment at the top of the profile:
 * "x.jsonl --set case.topology=dgx-a100-40". */
static const char *fit_words(const struct command *command)
{
	const char *words = command->words[0];
	for (size_t i = 1; i < command->word_count; i++)
		words = arena_printf(command->arena, "%s %s", words, command->words[i]);
	for (size_t i = 0; i < command->setting_count; i++)
		words = arena_printf(command->arena, "%s --set %s", words,
				     command->settings[i].text);
	return words;
}

static int say_collectives(const struct command *command, const struct collectives_fit *fit)
{
	FILE *out = strcmp(command->output, "-") == 0 ? stderr : stdout;
	bool missed = fit->held_out_count > 0 && !(fit->held_out_ratio <= fit->limit_ratio);
	if (!command->quiet)
		print_result(out, command->arena, fit->result);
	if (fit->held_out_count > 0 && (missed || !command->quiet))
		fprintf(missed ? stderr : out,
			"%sheld-out sizes: median error %.1f %% over %zu sizes (at most %.0f %% is "
			"allowed)\n",
			missed ? "farwire: " : "", 100 * fit->held_out_ratio, fit->held_out_count,
			100 * fit->limit_ratio);
	return missed ? EXIT_BOUND : EXIT_DONE;
}

static int fit_to_topology(const struct command *command)
{
	struct arena *arena = command->arena;
	struct diag *diag = diag_new(arena);
	const struct recording **recordings =
		ARENA_ARRAY(arena, command->word_count, const struct recording *);
	const char *broken = NULL;
	if (command->plot)
		return command_stop(EXIT_USAGE,
				    "fit: --plot cannot be used with a topology (remove --plot; "
				    "`farwire sweep` draws predictions)");
	for (size_t i = 0; i < command->word_count; i++) {
		recordings[i] = recording_read(arena, diag, command->words[i]);
		if (!recordings[i])
			return command_failed(diag, NULL);
	}
	const struct fit_collectives_request request = {.recordings = recordings,
							.recording_count = command->word_count,
							.settings = command->settings,
							.setting_count = command->setting_count,
							.profile = "collectives"};
	FILE *progress = !command->quiet && isatty(STDERR_FILENO) ? stderr : NULL;
	const struct collectives_fit *fit = fit_collectives(
		arena, diag, command->data_root, &request, command->seed, progress, &broken);
	if (!fit)
		return command_failed(diag, broken);
	const struct profile_writing w = {command, fit->result, request.profile,
					  fit_words(command)};
	int code = command_write(command, write_profile, &w, NULL);
	return code == EXIT_DONE ? say_collectives(command, fit) : code;
}

static void write_errors(FILE *out, const void *ctx)
{
	fit_errors_write(out, ctx);
}

/* Estimates the model error after all shipped fits, and writes its profile: first with what the
 * fits were fitted on, by which the errors at larger distances are then estimated. */
static int save_errors(const struct command *command, const struct fit_result *const *results,
		       size_t count, const char *folder)
{
	struct diag *diag = diag_new(command->arena);
	const char *broken, *path = arena_printf(command->arena, "%s/" MODEL_ERROR ".cfg", folder);
	struct model_errors *errors = fit_errors(command->arena, diag, command->data_root, results,
						 count, command->seed, &broken);
	if (!errors)
		return command_failed(diag, broken);
	int code = write_file(path, write_errors, errors);
	if (code != EXIT_DONE)
		return code;
	if (!fit_errors_far(command->arena, diag, command->data_root, errors, command->seed,
			    (unsigned)command->jobs, &broken))
		return command_failed(diag, broken);
	for (size_t k = 0; k < MECHANISM_COUNT && !command->quiet; k++)
		printf("%s: model error %.2f %%, with %.3g degrees of freedom from %zu "
		       "measurements\n",
		       mechanism_path((enum mechanism)k), 100 * errors->same[k].ratio,
		       errors->same[k].freedom_count, errors->rows_count[k]);
	for (size_t d = 1; d < DISTANCE_COUNT && !command->quiet; d++)
		printf("%s: model errors are %.2f times as large\n",
		       distance_name((enum distance)d), errors->far.growth[d]);
	return write_file(path, write_errors, errors);
}

/* Runs one fit and prints its result. After an error it sets *code and returns NULL. */
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
		print_result(stdout, command->arena, result);
	return result;
}

static int run(const struct command *command)
{
	const char *const *names = command->words;
	size_t count = command->word_count;
	for (size_t i = 0; i < count; i++)
		if (is_recording(names[i]))
			return command->setting_count ? fit_to_topology(command)
						      : fit_recordings(command);
	if (command->setting_count)
		return command_stop(EXIT_USAGE,
				    "fit: options such as --topology and --set work only with "
				    "recordings of collectives (FILE.jsonl); the file of a shipped "
				    "fit already states its settings (remove the options)");
	const char *folder =
		strcmp(command->output, "-") == 0
			? arena_printf(command->arena, "%s/calib/profiles", command->data_root)
			: command->output;
	bool all = count == 0;
	if (all)
		count = data_names(command->arena, command->data_root, "calib/fits", &names);
	/* check this before the long work */
	if (access(arena_printf(command->arena, "%s/.", folder), W_OK | X_OK) != 0)
		return command_stop(EXIT_FAILED, "cannot write into the folder '%s': %s", folder,
				    strerror(errno));
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
	.help = "fits parameters to measured rows (role fit) or to recordings of probes",
	.examples = "  farwire fit                          # writes all shipped profiles again\n"
		    "  farwire fit flexdirect-1050ti -o my-folder\n"
		    "  farwire fit gpu.jsonl -o my-gpu.cfg --plot fits.pdf\n"
		    "  farwire import nccl-tests all_reduce.log -o nccl.jsonl\n"
		    "  farwire fit nccl.jsonl --topology dgx-a100-40 --exchange nccl-2.18 -o "
		    "my-nccl.cfg\n",
	.options = "case.topology case.exchange case.transport case.profile output plot no-data "
		   "seed set quiet color",
	.run = run,
};
