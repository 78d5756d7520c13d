/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire sensitivity: ranks parameters by their influence on a result. */
#include "sim/report/sensitivity.h"

#include <math.h>
#include <stdio.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
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

/* Says how many points follow those that the first reports count. Returns NULL if none do. */
static const char *later_points(const struct command *command)
{
	if (!command->point_count || command->vary_all_ratio > 0)
		return NULL;
	return arena_printf(command->arena,
			    "Up to %llu points for Sobol indices follow the first series of points "
			    "(--points takes fewer, and --points 0 leaves them out).",
			    (unsigned long long)command->point_count *
				    (SENSITIVITY_INPUTS_MAX + 1));
}

static int run(const struct command *command)
{
	if (!command_can_write(command))
		return EXIT_FAILED;
	struct progress progress = progress_new("points", NULL, command->quiet);
	progress.note = later_points(command);
	const struct sensitivity_request request = {.input = command_input(command, 0, &progress),
						    .number = {command->of, {"--of", 0}},
						    .vary_ratio = command->vary_all_ratio,
						    .keys = command->keys.items,
						    .key_count = command->keys.count,
						    .point_count = command->point_count};
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
		    "  farwire sensitivity case.cfg --of step --points 512\n"
		    "  farwire sensitivity ddl-host --vary-all 10% --for link. --for guest.\n",
	.options = "set plan serve of for points vary-all wide format output plot no-data title "
		   "seed draws "
		   "jobs "
		   "color "
		   "quiet",
	.words_min = 1,
	.cases = true,
	.run = run,
};
