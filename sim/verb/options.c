/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses argv into a struct command. */
#include "sim/verb/options.h"

#include <unistd.h>

#include "plots/canvas.h"
#include "sim/base/table.h"
#include "sim/import/settings.h"
#include "sim/verb/parser.h"
#include "sim/verb/verbs.h"

static const struct registry_row verb_rows[] = {
#define VERB(name) REGISTRY_ROW(name),
#include "sim/verb/verbs.def"
#undef VERB
};
const struct registry verb_registry = REGISTRY("verb", "verbs", verb_rows);

void wrong(struct parser *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "farwire: %s\n",
		text_visible(p->arena, arena_vprintf(p->arena, format, args)));
	va_end(args);
	p->wrong = true;
}

/* Returns the option with that name that the verb accepts, or NULL. */
static const struct option *option_find(const struct verb *verb, const char *name)
{
	for (size_t i = 0; i < option_count(); i++)
		if (option_taken(verb, option_at(i)) && strcmp(option_at(i)->name, name) == 0)
			return option_at(i);
	return NULL;
}

/* Returns an option of another verb with this name, or else the near one that the message names;
 * NULL: there is none. */
static const struct option *unknown_option(struct parser *p, const char *name)
{
	const struct option *meant = NULL;
	const char **names = ARENA_ARRAY(p->arena, option_count(), const char *);
	size_t count = 0;
	for (size_t i = 0; i < option_count(); i++) {
		const struct option *option = option_at(i);
		if (!option_taken(p->command->verb, option))
			continue;
		names[count++] = option->name;
	}
	const char *near = diag_nearest(name, names, count);
	wrong(p, "`farwire %s` takes no option --%s%s%s%s", p->command->verb->name, name,
	      near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "");
	for (size_t i = 0; i < option_count() && !meant; i++)
		if (strcmp(option_at(i)->name, name) == 0)
			meant = option_at(i);
	return meant || !near ? meant : option_find(p->command->verb, near);
}

/* ---- help ---- */

static void usage_print(FILE *out)
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

static void verb_help_print(struct arena *arena, const struct verb *verb)
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

/* ---- values ---- */

static uint64_t count_of(struct parser *p, const struct option *option, const char *value)
{
	char *end;
	errno = 0;
	unsigned long long number = strtoull(value, &end, 10);
	if (errno || *end || end == value || value[0] == '-' || number < option->least ||
	    number > option->most) {
		wrong(p, "--%s must be a whole number from %llu to %llu, not '%s'", option->name,
		      (unsigned long long)option->least, (unsigned long long)option->most, value);
		return 0;
	}
	return number;
}

static double seconds_of(struct parser *p, const struct option *option, const char *value)
{
	char *end;
	double number = strtod(value, &end);
	if (end == value || *end || !(number > 0 && number <= 1e6))
		wrong(p, "--%s must be a number of seconds above 0 and up to 1000000, not '%s'",
		      option->name, value);
	return number;
}

static double part_of(struct parser *p, const struct option *option, const char *value)
{
	double part = 0;
	if (quantity_parse(p->arena, QUANTITY_RATIO, value, &part) || !(part > 0 && part < 1))
		wrong(p,
		      "--%s must be above 0 %% and below 100 %%, not '%s' (write 10%%, for "
		      "example)",
		      option->name, value);
	return part;
}

static unsigned choice_of(struct parser *p, const struct option *option, const char *value)
{
	unsigned index = 0;
	for (const char *word = option->value; word; word = strchr(word, '|'), index++) {
		word += *word == '|';
		size_t length = strcspn(word, "|");
		if (strlen(value) == length && memcmp(word, value, length) == 0)
			return index;
	}
	wrong(p, "--%s must be one of %s, not '%s'", option->name, option->value, value);
	return 0;
}

/* Checks that the name of an image file ends in a known format, before the long work. */
static const char *image_of(struct parser *p, const struct option *option, const char *value)
{
	enum image_format format;
	if (!image_format_of(value, &format))
		wrong(p, "--%s %s: the name must end in .svg, .pdf or .png", option->name, value);
	return value;
}

static void add_text(struct arena *arena, struct texts *texts, const char *value)
{
	const char **items = ARENA_ARRAY(arena, texts->count + 1, const char *);
	for (size_t i = 0; i < texts->count; i++)
		items[i] = texts->items[i];
	items[texts->count++] = value;
	texts->items = items;
}

static void add_setting(struct parser *p, const char *text, const char *from)
{
	struct setting *setting = VEC_PUSH(p->arena, &p->settings);
	*setting = (struct setting){text, {from, 0}};
}

/* Adds a setting of each part of "tp=8,pp=4" in the option's group. Plans allow names of other
 * tools. */
static void add_group(struct parser *p, const struct option *option, const char *list)
{
	const char *group = option->name;
	while (*list) {
		size_t length = strcspn(list, ","), name = strcspn(list, "=,");
		const char *key = arena_printf(p->arena, "%.*s", (int)name, list);
		if (name == 0 || name == length)
			wrong(p, "--%s: '%.*s' sets nothing (write --%s %s)", group, (int)length,
			      list, group, option->value);
		if (strcmp(group, "plan") == 0)
			settings_plan_key(list, name, &key);
		add_setting(p,
			    arena_printf(p->arena, "%s.%s%.*s", group, key, (int)(length - name),
					 list + name),
			    arena_printf(p->arena, "--%s", group));
		list += length + (list[length] == ',');
	}
}

/* Sets the field of struct command that the option's row names. For flags, value is not used. */
static void set_field(struct parser *p, const struct option *option, const char *value)
{
	void *field = (char *)p->command + option->offset;
	switch (option->kind) {
	case OPTION_CASE:
		add_setting(p, arena_printf(p->arena, "case.%s=%s", option->name, value),
			    arena_printf(p->arena, "--%s", option->name));
		break;
	case OPTION_SETTING:
		add_setting(p, value, arena_printf(p->arena, "--%s", option->name));
		break;
	case OPTION_GROUP:
		add_group(p, option, value);
		break;
	case OPTION_TEXT:
		*(const char **)field = value;
		break;
	case OPTION_TEXTS:
		add_text(p->arena, field, value);
		break;
	case OPTION_IMAGE:
		*(const char **)field = image_of(p, option, value);
		break;
	case OPTION_COUNT:
		*(uint64_t *)field = count_of(p, option, value);
		break;
	case OPTION_SECONDS:
		*(double *)field = seconds_of(p, option, value);
		break;
	case OPTION_PART:
		*(double *)field = part_of(p, option, value);
		break;
	case OPTION_CHOICE:
		*(unsigned *)field = choice_of(p, option, value);
		break;
	default: /* a flag */
		*(bool *)field = option->kind == OPTION_ON;
	}
}

static bool is_flag(const struct option *option)
{
	return option->kind == OPTION_ON || option->kind == OPTION_OFF;
}

/* Values of other kinds of options have their own errors, which show the empty text. */
static bool is_text(const struct option *option)
{
	return option->kind == OPTION_CASE || option->kind == OPTION_GROUP ||
	       option->kind == OPTION_TEXT || option->kind == OPTION_TEXTS;
}

/* Returns true if the word is an option of the verb, and so not the value of another one. */
static bool is_option(const struct parser *p, const char *word)
{
	return strncmp(word, "--", 2) == 0 &&
	       option_find(p->command->verb,
			   arena_printf(p->arena, "%.*s", (int)strcspn(word + 2, "="), word + 2));
}

static void take_option(struct parser *p, const char *word)
{
	const char *equals = strchr(word, '='), *value = equals ? equals + 1 : NULL;
	const char *name = arena_printf(p->arena, "%.*s", (int)strcspn(word, "="), word);
	const struct option *option = option_find(p->command->verb, name);
	if (!option) {
		option = unknown_option(p, name);
		if (option && !value && !is_flag(option)) /* its value is not a case */
			p->next++;
		return;
	}
	if (!value && !is_flag(option) && p->next < p->argc && !is_option(p, p->argv[p->next]))
		value = p->argv[p->next++];
	if (is_flag(option) ? value != NULL : !value) {
		if (value)
			wrong(p, "--%s takes no value", name);
		else
			wrong(p, "--%s needs a value (%s)", name, option->value);
		return;
	}
	if (value && !*value && is_text(option)) {
		wrong(p, "--%s must not be empty (write --%s %s)", name, name, option->value);
		return;
	}
	add_text(p->arena, &p->command->given, option->name);
	set_field(p, option, value);
}

bool command_gave(const struct command *command, const char *option)
{
	for (size_t i = 0; i < command->given.count; i++)
		if (strcmp(command->given.items[i], option) == 0)
			return true;
	return false;
}

/* Sets the defaults of all options that are not on the command line. This includes options that the
 * verb does not accept. */
static void set_defaults(struct parser *p)
{
	const struct command *c = p->command;
	for (size_t i = 0; i < option_count(); i++) {
		const struct option *option = option_at(i);
		const char *value = option_initial(p->arena, c->verb, option);
		if (option->swept && c->vary.count)
			value = option->swept;
		if (value && !command_gave(c, option->name))
			set_field(p, option, value);
	}
}

/* ---- the line ---- */

static const struct verb *find_verb(struct parser *p, const char *name)
{
	const struct verb *verb = verb_find(name);
	if (verb)
		return verb;
	const char *near =
		diag_nearest(name, registry_names(p->arena, &verb_registry, NULL), verb_count());
	wrong(p, "there is no verb '%s'%s%s%s (see farwire --help)", name,
	      near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return NULL;
}

/* Returns "output" for "-o", or NULL if no option has the letter. */
static const char *long_name(const char *word)
{
	for (size_t i = 0; i < option_count() && strlen(word) == 2; i++)
		if (option_at(i)->letter && option_at(i)->letter == word[1])
			return option_at(i)->name;
	return NULL;
}

static bool parse_words(struct parser *p)
{
	bool ended = false; /* by "--": further words are names, even if they begin with "-" */
	while (p->next < p->argc) {
		char *word = p->argv[p->next++];
		if (ended) {
			*VEC_PUSH(p->arena, &p->words) = word;
			continue;
		}
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			verb_help_print(p->arena, p->command->verb);
			return false;
		}
		const char *full = word[0] == '-' ? long_name(word) : NULL;
		if (strcmp(word, "--") == 0)
			ended = true;
		else if (strncmp(word, "--", 2) == 0)
			take_option(p, word + 2);
		else if (full)
			take_option(p, full);
		else if (word[0] == '-' && word[1])
			wrong(p,
			      "'%s' is not an option (see farwire %s --help; write -- before a "
			      "name that begins with -)",
			      word, p->command->verb->name);
		else
			*VEC_PUSH(p->arena, &p->words) = word;
	}
	return true;
}

const struct command *command_parse(struct arena *arena, int argc, char **argv, int *exit_code)
{
	*exit_code = EXIT_USAGE;
	bool help = argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0 ||
				 strcmp(argv[0], "help") == 0);
	if (argc == help) {
		usage_print(help ? stdout : stderr);
		*exit_code = help ? EXIT_DONE : EXIT_USAGE;
		return NULL;
	}
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct command *c = ARENA_NEW(arena, struct command);
	*c = (struct command){.arena = arena, .jobs = cores > 0 ? (uint64_t)cores : 1};
	struct parser p = {.arena = arena, .command = c, .argc = argc, .argv = argv, .next = 1};
	c->verb = find_verb(&p, argv[help]);
	if (!c->verb)
		return NULL;
	if (help)
		verb_help_print(arena, c->verb);
	if (help || !parse_words(&p)) {
		*exit_code = EXIT_DONE;
		return NULL;
	}
	set_defaults(&p);
	c->words = p.words.items;
	c->word_count = p.words.count;
	c->settings = p.settings.items;
	c->setting_count = p.settings.count;
	c->data_root = data_root_find(arena);
	check_command(&p);
	if (p.wrong)
		return NULL;
	c->baselines = baselines_new();
	return c;
}
