/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire check: reads configuration files and recordings, and lists their errors. */
#include <stdio.h>
#include <string.h>

#include "calib/fit/fit.h"
#include "calib/fit/recording.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/traces/call_file.h"
#include "sim/verb/check_gpu.h"
#include "sim/verb/verbs.h"

static void check_case(const struct command *command, struct diag *diag, const char *path,
		       const struct setting *settings, size_t count)
{
	const struct case_request request = {.path = path,
					     .settings = settings,
					     .setting_count = count,
					     .data_root = command->data_root};
	case_read(command->arena, diag, &request);
}

/* Reads a call file, and describes it by its calls and the time of its median step. */
static const char *check_calls(const struct command *command, struct diag *diag, const char *path)
{
	const struct calls_params params = {.kernel_ratio = 1, .think_ratio = 1};
	const struct recorded_calls *recorded = call_file_read(command->arena, diag, path);
	struct replay_step step;
	if (!recorded ||
	    !replay_step_find(diag, (struct origin){path, 0}, recorded, &params, &step))
		return "recording";
	size_t ranks = 0;
	for (const struct recorded_calls *rank = recorded; rank; rank = rank->next)
		ranks++;
	return arena_printf(
		command->arena, "recording%s: %zu calls by %u threads%s%s; %zu marked steps, %s %s",
		ranks > 1 ? arena_printf(command->arena, " of %zu ranks, the first", ranks) : "",
		recorded->call_count, (unsigned)recorded->thread_count,
		recorded->gpu[0] ? " on " : "", recorded->gpu,
		recorded->mark_count ? recorded->mark_count - 1 : 0,
		step.marked ? "the median one" : "all of it",
		quantity_format(command->arena, QUANTITY_TIME, step.end_s - step.start_s));
}

/* Returns true if the first line of a file names the format of recordings of probes. */
static bool is_of_a_probe(const char *path)
{
	char text[64] = "";
	FILE *file = fopen(path, "rb");
	if (!file)
		return false;
	(void)!fgets(text, sizeof text, file);
	fclose(file);
	return strstr(text, "\"farwire-samples\"") != NULL;
}

/* Checks a file as the kind of file that its group names. Parts of a case, such as a stack, are
 * checked in a small shipped case. Returns the word for the kind. */
static const char *check_file(const struct command *command, struct diag *diag, const char *path)
{
	if (ends_in(path, ".jsonl") && is_of_a_probe(path)) {
		const struct recording *recording = recording_read(command->arena, diag, path);
		return arena_printf(command->arena, "recording of %zu points",
				    recording ? recording->points.count : 0);
	}
	if (ends_in(path, ".jsonl"))
		return check_calls(command, diag, path);
	const struct cfg_node *file = cfg_read(command->arena, diag, path);
	if (!file)
		return "file";
	if (cfg_child(file, "case")) {
		check_case(command, diag, path, command->settings, command->setting_count);
		return "case";
	}
	static const struct {
		const char *group, *what, *topology, *key, *further[2];
	} parts[] = {
		{"topology", "topology", "t320-same-esxi", "case.topology", {"case.gpu="}},
		{"network", "model", "t320-same-esxi", "case.model", {"case.gpu="}},
		{"stack", "stack", "t320-same-esxi", "case.stack", {"case.gpu="}},
		{"gpu", "GPU", "workstation-2", "gpu.*.profile", {"case.gpus=2"}},
		{"machine", "machine", "dgx1-v100-torus", "cluster.machine", {"cluster.count=2"}},
		{"wiring", "network", "dgx1-v100-torus", "cluster.network", {"cluster.count=2"}},
		{"exchange", "exchange", "c10-p100", "case.exchange", {"case.gpus=4"}},
		{"storage", "storage", "c10-p100", "input.source", {"case.gpus=2"}},
		{"runtime",
		 "runtime",
		 "t320-same-esxi",
		 "case.runtime",
		 {"case.program=client", "case.server=server"}},
	};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		if (!cfg_child(file, parts[i].group))
			continue;
		const struct setting settings[] = {
			{arena_printf(command->arena, "case.topology=%s", parts[i].topology),
			 {"check", 0}},
			{arena_printf(command->arena, "%s=%s", parts[i].key, path), {"check", 0}},
			{parts[i].further[0], {"check", 0}},
			{parts[i].further[1], {"check", 0}}};
		check_case(command, diag, NULL, settings, parts[i].further[1] ? 4 : 3);
		if (strcmp(parts[i].group, "gpu") == 0 && diag_count(diag) == 0)
			check_gpu(command->arena, diag, cfg_child(file, "gpu"));
		return parts[i].what;
	}
	if (cfg_child(file, "dataset")) {
		const struct dataset *dataset =
			dataset_read(command->arena, diag, command->data_root, path, NULL, 0);
		return dataset && dataset->what_if ? "what-if" : "dataset";
	}
	if (!cfg_child(file, "parameters") && !cfg_child(file, "fit"))
		diag_error(
			diag, cfg_origin(file),
			"the file has none of the groups case, topology, machine, wiring, network, "
			"stack, exchange, storage, runtime, gpu, parameters, dataset, fit (write "
			"one of them as NAME = { ... })");
	return "file";
}

static int run(const struct command *command)
{
	int code = EXIT_DONE;
	for (size_t i = 0; i < command->word_count; i++) {
		struct diag *diag = diag_new(command->arena);
		const char *what = check_file(command, diag, command->words[i]);
		diag_print(diag, stderr);
		if (diag_count(diag))
			code = EXIT_USAGE;
		else if (!command->quiet)
			printf("%s: no errors in this %s\n", command->words[i], what);
	}
	return code;
}

const struct verb verb_check = {
	.name = "check",
	.words = "FILE...",
	.help = "reads configuration files and recordings, and lists their errors",
	.examples = "  farwire check case.cfg my-topology.cfg\n"
		    "  farwire check calls.jsonl   # also prints the step time of the recording\n",
	.options = "set quiet color",
	.words_min = 1,
	.run = run,
};
