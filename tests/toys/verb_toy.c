/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>

#include "sim/verb/verbs.h"

static int run(const struct command *command)
{
	printf("toy called with %s\n", command->words[0]);
	return EXIT_DONE;
}

const struct verb verb_toy = {
	.name = "toy",
	.words = "NAME",
	.help = "a verb of tests/toys",
	.examples = "  farwire toy bear\n",
	.options = "quiet",
	.run = run,
};
