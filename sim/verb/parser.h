/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to the parser and to command.c: shared by options.c and words.c. */
#pragma once

#include "sim/verb/verb.h"

struct parser {
	struct arena *arena;
	struct command *command;
	VEC(const char *) words;
	VEC(struct setting) settings;
	int argc;
	char **argv;
	int next;
	bool wrong; /* an error was printed */
};

/* Prints an error about the command line, which is then not run. */
void wrong(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Checks words and output files after the whole command line was read. */
void check_command(struct parser *p);
/* Returns whether two paths name the same file. The files need not exist yet. */
bool is_same_file(struct arena *arena, const char *a, const char *b);
/* Prints an error if the output file exists and the command reads it, directly or through a
 * configuration that it reads. */
void check_not_read(struct parser *p, const char *option, const char *path);
