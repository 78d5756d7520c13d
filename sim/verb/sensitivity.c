/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire sensitivity: ranks parameters by their influence on a result. */
#include "sim/report/answers.h"
#include "sim/verb/verbs.h"

/* Prints why no parameter varies, and returns the exit code. */
static int refuse(const struct command *command, const char *name, const char *unmatched)
{
	bool elastic = command->vary_all_ratio > 0;
	if (unmatched)
		fprintf(stderr,
			"farwire: --for: no %s of %s has '%s' in its name (`farwire explain CASE` "
			"shows the names%s)\n",
			elastic ? "parameter" : "uncertain parameter", name, unmatched,
			elastic ? ""
				: "; with --vary-all 10% parameters without an interval vary, too");
	else
		fprintf(stderr,
			"farwire: no parameter of %s has an interval (write --vary-all 10%% to "
			"vary all parameters)\n",
			name);
	return EXIT_USAGE;
}

static int run(const struct command *command)
{
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct progress progress = progress_new("points", NULL, command->quiet);
	const struct sensitivity_request request = {.input = command_input(command, &progress),
						    .number = {command->of, {"--of", 0}},
						    .vary_ratio = command->vary_all_ratio,
						    .keys = command->keys.items,
						    .key_count = command->keys.count};
	struct diag *diag = diag_new(command->arena);
	const char *broken;
	const struct sensitivity *found = sensitivity_find(command->arena, diag, &request, &broken);
	progress_end(&progress);
	if (!found)
		return command_failed(diag, broken);
	const char *name = found->scenario->name;
	if (!found->swing_count)
		return refuse(command, name, found->unmatched);
	if (isnan(found->now.number.value))
		return command_stop(EXIT_USAGE, "%s has no %s%s%s", name, found->reported->spoken,
				    found->now.reason ? ": " : "",
				    found->now.reason ? found->now.reason : "");
	return command_answer(command, sensitivity_table(command->arena, found),
			      command->plot ? sensitivity_chart(command->arena, command->title,
								command_caption(command), found)
					    : NULL,
			      NULL);
}

const struct verb verb_sensitivity = {
	.name = "sensitivity",
	.words = "CASE",
	.help = "ranks parameters by their influence on a result, and names the calibration that "
		"would narrow its interval most",
	.examples = "  farwire sensitivity case.cfg --plot tornado.svg\n"
		    "  farwire sensitivity case.cfg --of step\n"
		    "  farwire sensitivity ddl-host --vary-all 10% --for link. --for guest.\n",
	.options = CASE_OPTIONS ANSWER_OPTIONS "of for vary-all",
	.run = run,
};
