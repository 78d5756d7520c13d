/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of the command line, one row each.
 *
 * A row has everything about an option: name, type of value, field of struct command, default,
 * help and shell completion. The parser and `--help` read the rows. `make documents` writes the
 * man page and the shell completion from them, and tests/golden/test_options.c fails when these
 * differ from the rows. */
#pragma once

#include "sim/base/base.h"

enum option_kind {
	OPTION_HEADING, /* begins a section of the man page; name is its title */
	OPTION_CASE,    /* short for --set case.<name>=<value> */
	OPTION_SETTING, /* key=value, for struct command's settings */
	OPTION_GROUP,   /* key=value,key=value, short for --set <name>.<key>=<value> */
	OPTION_TEXT,    /* const char * */
	OPTION_TEXTS,   /* struct texts; repeatable */
	OPTION_IMAGE,   /* const char *: a file whose name ends in a format of images */
	OPTION_COUNT,   /* uint64_t, from least to most */
	OPTION_SECONDS, /* double, more than 0 */
	OPTION_PART,    /* double, more than 0 and less than 1 */
	OPTION_CHOICE,  /* unsigned: index of one of the words in `value`, "a|b|c" */
	OPTION_ON,      /* bool: true; takes no value */
	OPTION_OFF,     /* bool: false; takes no value */
};

struct option {
	enum option_kind kind;
	char letter; /* short name, for example 'o' for -o; 0: none */
	const char *name;
	const char *value;    /* name of the value in help, or the words of a choice; NULL: none */
	const char *help;     /* one complete phrase, without the default */
	const char *initial;  /* the default, as a user writes it; NULL: none */
	const char *swept;    /* the default if --vary is given; NULL: the same default */
	const char *complete; /* "names:TABLE", "words:a b", "files:ENDING"; NULL: no completion */
	size_t offset;        /* offset of the value in struct command */
	uint64_t least, most; /* smallest and largest value of a count */
};

struct arena;
struct verb;

size_t option_count(void);
const struct option *option_at(size_t index);
/* Returns whether a verb accepts an option. A verb accepts the options in its list. In the list,
 * "case.NAME" is an option of cases. A verb whose words are cases accepts all options of cases,
 * except those that its list replaces by another option with the same name. */
bool option_taken(const struct verb *verb, const struct option *option);
/* Returns the option's default for this verb: the text after "name=" in the verb's list, otherwise
 * the row's default. NULL: there is none. */
const char *option_initial(struct arena *arena, const struct verb *verb,
			   const struct option *option);
