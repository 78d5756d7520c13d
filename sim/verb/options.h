/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of the command line: one row each.
 *
 * A row has everything that is to be said of an option: its name, what its value is, where
 * the value goes in struct command, its default, its help, and what completes it. The
 * parser, `--help`, the man page and the shell completion read the rows; the last two are
 * written by `make documents`, and tests/golden/test_options.c fails when they differ.
 */
#ifndef FARWIRE_VERB_OPTIONS_H
#define FARWIRE_VERB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
	OPTION_HEADING, /* begins a section of the man page; name is its title */
	OPTION_CASE,    /* stands for --set case.<name>=<value> */
	OPTION_SETTING, /* key=value, for struct command's settings */
	OPTION_TEXT,    /* const char * */
	OPTION_TEXTS,   /* struct texts; repeatable */
	OPTION_IMAGE,   /* const char *: a file whose name ends in a format of images */
	OPTION_COUNT,   /* uint64_t, up to most */
	OPTION_SECONDS, /* double, more than 0 */
	OPTION_PART,    /* double, more than 0 and less than 1 */
	OPTION_CHOICE,  /* unsigned: index of one of the words in `value`, "a|b|c" */
	OPTION_ON,      /* bool: true; takes no value */
	OPTION_OFF,     /* bool: false; takes no value */
};

struct option {
	enum option_kind kind;
	char letter; /* of -o; 0: none */
	const char *name;
	const char *value;    /* what the value is called, or the words of a choice; NULL: none */
	const char *help;     /* one phrase that stands alone, without its default */
	const char *initial;  /* the default, as a user writes it; NULL: none */
	const char *swept;    /* the default beside --vary, where it differs; else NULL */
	const char *complete; /* "names:WHAT", "words:a b", "files:ENDING", or NULL: nothing */
	size_t offset;        /* of the value in struct command */
	uint64_t most;        /* of a count */
	const char *former;   /* a former name, which is refused; NULL: none */
};

struct arena;
struct verb;

size_t option_count(void);
const struct option *option_at(size_t index);
/* A verb takes an option that it lists by name, and options of cases where its words are
 * cases, unless it lists one of that name with a meaning of its own. "case.NAME" lists one
 * of a case's. */
bool option_taken(const struct verb *verb, const struct option *option);
/* The verb's default: what follows "name=" in its list, or the row's. NULL: none. */
const char *option_initial(struct arena *arena, const struct verb *verb,
			   const struct option *option);

#endif
