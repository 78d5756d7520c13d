/* SPDX-License-Identifier: GPL-3.0-or-later */
/* argv -> one verb -> exit code. */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/verb/verb.h"

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "C");
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error with a message */
	num_init();
	struct arena *arena = arena_new();
	int code;
	const struct command *command = command_parse(arena, argc - 1, argv + 1, &code);
	if (command)
		code = command->verb->run(command);
	arena_free(arena);
	exit(code);
}
