/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The texts of `farwire --help` and `farwire VERB --help`. */
#include "sim/verb/options.h"
#include "sim/verb/parser.h"

void usage_print(FILE *out)
{
	fprintf(out,
		"farwire %s predicts the performance of remote GPUs and of training on many "
		"GPUs.\n\nUsage: farwire VERB ...\n\n",
		FARWIRE_VERSION);
	for (size_t i = 0; i < verb_count(); i++)
		fprintf(out, "  %-11s %-14s %s\n", verb_at(i)->name, verb_at(i)->words,
			verb_at(i)->help);
	fprintf(out,
		"\n`farwire VERB --help` lists the options of a verb. Exit codes: 0 done (also if "
		"the result is\n"
		"that a case fails, as its verdict says), 1 an invariant was broken or an "
		"output not written,\n"
		"2 wrong usage or configuration, 3 a stated bound is broken. If an option is "
		"given twice,\n"
		"the last one counts; --set and --vary add up.\n");
}

/* Returns, for example, " (default 24, with --vary 8)", or "" without a default. */
static const char *default_text(struct arena *arena, const struct verb *verb,
				const struct option *option)
{
	const char *initial = option_initial(arena, verb, option);
	bool swept = option->swept && option_find(verb, "vary") && initial &&
		     strcmp(initial, option->swept) != 0;
	if (!initial)
		return "";
	return arena_printf(arena, " (default %s%s%s)", initial, swept ? ", with --vary " : "",
			    swept ? option->swept : "");
}

/* Prints `text` after six blanks, in lines of at most 100 columns that break at blanks. */
static void print_wrapped(const char *text)
{
	enum { INDENT = 6, COLUMNS = 100 - INDENT };
	while (*text) {
		size_t length = strlen(text), end = length;
		if (length > COLUMNS)
			for (end = COLUMNS; end > 0 && text[end] != ' ';)
				end--;
		if (end == 0) /* a word that fills the line */
			end = length < COLUMNS ? length : COLUMNS;
		printf("%*s%.*s\n", INDENT, "", (int)end, text);
		text += end + (text[end] == ' ');
	}
}

void verb_help_print(struct arena *arena, const struct verb *verb)
{
	printf("farwire %s %s\n  %s\n\nOptions:\n", verb->name, verb->words, verb->help);
	for (size_t i = 0; i < option_count(); i++) {
		const struct option *option = option_at(i);
		if (!option_taken(verb, option))
			continue;
		if (option->letter)
			printf("  -%c,", option->letter);
		printf("%s--%s%s%s\n", option->letter ? " " : "  ", option->name,
		       option->value ? " " : "", option->value ? option->value : "");
		print_wrapped(arena_printf(arena, "%s%s", option->help,
					   default_text(arena, verb, option)));
	}
	printf("\nExamples:\n%s", verb->examples);
}
