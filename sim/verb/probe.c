/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire probe: measures this machine without its GPU. The program farwire-probe measures the
 * GPU. */
#include <string.h>

#include "calib/host/run.h"
#include "sim/verb/verbs.h"

static int run(const struct command *command)
{
	bool to_file = strcmp(command->output, "-") != 0;
	if (strcmp(command->words[0], "host") != 0)
		return command_stop(
			EXIT_USAGE,
			"`farwire probe` measures only the host (write farwire probe host; "
			"the program farwire-probe measures the GPU)");
	if (command->resume && to_file)
		return command_stop(EXIT_USAGE,
				    "--continue and -o both name the recording (remove -o)");
	if (command->seed >= (uint64_t)1 << 53)
		return command_stop(EXIT_USAGE,
				    "--seed of a recording must be below 9007199254740992 (write a "
				    "smaller number)");
	const struct host_run_options options = {
		.output = to_file ? command->output : NULL,
		.resume = command->resume,
		.full = command->full,
		.quiet = command->quiet,
		.seed = command->seed,
		.budget_s = command->budget_s,
	};
	return host_run(&options);
}

const struct verb verb_probe = {
	.name = "probe",
	.words = "host",
	.help = "measures this machine without its GPU: copies in memory",
	.examples = "  farwire probe host -o host.jsonl\n"
		    "  farwire probe host --full -o memory.jsonl\n",
	.options = "quick full budget continue output seed quiet",
	.words_min = 1,
	.run = run,
};
