/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options in the man page and the shell completion of values must agree with the table of
 * options. After a change of the table run FARWIRE_GOLDEN=write build/tests/golden/test_options, as
 * `make documents` does. */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/verb/options.h"
#include "sim/verb/verb.h"
#include "tests/test.h"

struct page {
	const char *path, *begin, *end; /* the lines around what is generated */
};

static const char *text_of(struct arena *arena, const char *path)
{
	char *text = arena_alloc(arena, 1 << 17);
	FILE *file = fopen(path, "rb");
	CHECK(file != NULL);
	if (file) {
		text[fread(text, 1, (1 << 17) - 1, file)] = '\0';
		fclose(file);
	}
	return text;
}

/* Checks that the page has `wanted` between its two marker lines, or writes it there. */
static void check_page(struct arena *arena, const struct page *page, const char *wanted)
{
	const char *mode = getenv("FARWIRE_GOLDEN"), *text = text_of(arena, page->path);
	const char *begin = strstr(text, page->begin), *end = strstr(text, page->end);
	if (!CHECK(begin && end && begin < end))
		return;
	begin += strlen(page->begin);
	if (mode && strcmp(mode, "write") == 0) {
		FILE *file = fopen(page->path, "wb");
		fprintf(file, "%.*s%s%s", (int)(begin - text), text, wanted, end);
		fclose(file);
		return;
	}
	if (CHECK((size_t)(end - begin) == strlen(wanted) &&
		  memcmp(begin, wanted, strlen(wanted)) == 0))
		return;
	printf("  %s differs from the table of options (FARWIRE_GOLDEN=write "
	       "build/tests/golden/test_options)\n",
	       page->path);
}

/* ---- the man page ---- */

static void put_roff(FILE *out, const char *text)
{
	for (; *text; text++)
		fputs(*text == '-'    ? "\\-"
		      : *text == '\'' ? "\\(aq"
				      : (const char[]){*text, '\0'},
		      out);
}

/* Writes a line such as "Verbs: run, compare (default 24; with --vary 0)." */
static void put_verbs(FILE *out, struct arena *arena, const struct option *option)
{
	const char *comma = "Verbs: ";
	for (size_t i = 0; i < verb_count(); i++) {
		const struct verb *verb = verb_at(i);
		const char *initial = option_initial(arena, verb, option);
		if (!option_taken(verb, option))
			continue;
		fprintf(out, "%s%s", comma, verb->name);
		comma = ", ";
		if (initial && (!option->initial || strcmp(initial, option->initial) != 0))
			put_roff(out, arena_printf(arena, " (default %s)", initial));
	}
	fprintf(out, ".\n");
}

static void put_man(FILE *out, struct arena *arena, const struct option *option)
{
	if (option->kind == OPTION_HEADING) {
		fprintf(out, ".SS %s\n", option->name);
		return;
	}
	fprintf(out, ".TP\n.BI \"");
	if (option->letter)
		fprintf(out, "\\-%c, ", option->letter);
	put_roff(out, arena_printf(arena, "--%s", option->name));
	fprintf(out, "\" \"%s", option->value ? " " : "");
	put_roff(out, option->value ? option->value : "");
	fprintf(out, "\"\n%c",
		option->help[0] -
			('a' <= option->help[0] && option->help[0] <= 'z' ? 'a' - 'A' : 0));
	put_roff(out, option->help + 1);
	if (option->initial)
		put_roff(out, arena_printf(arena, " (default %s%s%s)", option->initial,
					   option->swept ? ", with --vary " : "",
					   option->swept ? option->swept : ""));
	fprintf(out, ".\n");
	put_verbs(out, arena, option);
}

/* ---- the completion ---- */

static const char *completion_of(struct arena *arena, const struct option *option)
{
	const char *how = option->complete ? option->complete : "";
	if (option->kind == OPTION_CHOICE) {
		char *words = arena_strdup(arena, option->value);
		for (char *bar = words; (bar = strchr(bar, '|'));)
			*bar = ' ';
		return arena_printf(arena, "_farwire_words '%s' \"$current\"", words);
	}
	if (strncmp(how, "words:", 6) == 0)
		return arena_printf(arena, "_farwire_words '%s' \"$current\"", how + 6);
	if (strcmp(how, "files:*") == 0)
		return "_farwire_paths \"$current\"";
	if (strncmp(how, "files:", 6) == 0)
		return arena_printf(arena, "_farwire_files '%s' \"$current\"", how + 6);
	if (strncmp(how, "names:", 6) != 0)
		return NULL;
	int name = (int)strcspn(how + 6, " ");
	return arena_printf(arena, "_farwire_words \"$(_farwire_names %.*s)%s\" \"$current\"", name,
			    how + 6, how + 6 + name);
}

static bool has_value(const struct option *option)
{
	return option->kind != OPTION_HEADING && option->value;
}

/* Returns whether an earlier option has the same name, which is then one word of the shell with two
 * meanings. */
static bool is_second(size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (strcmp(option_at(i)->name, option_at(index)->name) == 0)
			return true;
	return false;
}

static void put_completion(FILE *out, struct arena *arena)
{
	const char *rest = "";
	for (size_t i = 0; i < option_count(); i++) {
		const struct option *option = option_at(i);
		if (!has_value(option) || is_second(i))
			continue;
		const char *how = completion_of(arena, option);
		if (!how)
			rest = arena_printf(arena, "%s%s--%s", rest, *rest ? " | " : "",
					    option->name);
		else if (option->letter)
			fprintf(out, "\t-%c | --%s) %s ;;\n", option->letter, option->name, how);
		else
			fprintf(out, "\t--%s) %s ;;\n", option->name, how);
	}
	fprintf(out, "\t%s) COMPREPLY=() ;;\n", rest);
}

/* ---- tests ---- */

static void man_page_and_completion_match_the_table(void)
{
	static const struct page man = {"docs/man/farwire.1",
					".\\\" Options: written by make documents.\n",
					".\\\" End of options.\n"};
	static const struct page completion = {
		"tools/completion/farwire.bash",
		"\t# `make documents` writes the values from here ...\n", "\t# ... to here.\n"};
	struct arena *arena = arena_new();
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	for (size_t i = 0; i < option_count(); i++)
		put_man(out, arena, option_at(i));
	fclose(out);
	check_page(arena, &man, text);
	free(text);
	out = open_memstream(&text, &size);
	put_completion(out, arena);
	fclose(out);
	check_page(arena, &completion, text);
	free(text);
	arena_free(arena);
}

/* An option with a value but without help, or one that no verb takes, would be useless. */
static void each_option_has_help_and_a_verb(void)
{
	for (size_t i = 0; i < option_count(); i++) {
		const struct option *option = option_at(i);
		size_t verbs = 0;
		for (size_t v = 0; v < verb_count(); v++)
			verbs += option_taken(verb_at(v), option);
		if (option->kind == OPTION_HEADING)
			continue;
		if (!CHECK(verbs > 0 && option->help && strlen(option->help) > 10))
			printf("  --%s\n", option->name);
	}
}

/* A word in a verb's list that names no option would silently take nothing. */
static void each_listed_option_exists(void)
{
	for (size_t v = 0; v < verb_count(); v++) {
		const char *word = verb_at(v)->options;
		for (; *word; word += strspn(word, " ")) {
			size_t from = strncmp(word, "case.", 5) == 0 ? 5 : 0;
			size_t size = strcspn(word, " ="), found = 0;
			for (size_t i = 0; i < option_count(); i++)
				found += strlen(option_at(i)->name) == size - from &&
					 memcmp(option_at(i)->name, word + from, size - from) == 0;
			if (!CHECK(found > 0))
				printf("  %s lists '%.*s'\n", verb_at(v)->name, (int)size, word);
			word += strcspn(word, " ");
		}
	}
}

static const struct test tests[] = {
	TEST(man_page_and_completion_match_the_table),
	TEST(each_option_has_help_and_a_verb),
	TEST(each_listed_option_exists),
};

int main(void)
{
	return TEST_MAIN(tests);
}
