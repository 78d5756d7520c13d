/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the words and output files of a command line before any work. */
#include <unistd.h>

#include "sim/verb/parser.h"

/* Turns the name of a shipped case (`farwire list cases`) into its path. A file with that name in
 * the current folder takes precedence. */
static const char *shipped_case(const struct command *c, const char *word)
{
	if (strchr(word, '/') || access(word, F_OK) == 0)
		return word;
	const char *path = arena_printf(c->arena, "%s/topologies/cases/%s.cfg", c->data_root, word);
	return access(path, R_OK) == 0 ? path : word;
}

static const char topology_key[] = "case.topology=";

static bool has_topology(const struct command *c)
{
	for (size_t i = 0; i < c->setting_count; i++)
		if (strncmp(c->settings[i].text, topology_key, strlen(topology_key)) == 0)
			return true;
	return false;
}

/* Divides the last --topology a,b,c, unless a file has this name. */
static void list_systems(struct parser *p)
{
	struct command *c = p->command;
	size_t at = c->setting_count, length = strlen(topology_key);
	while (at > 0 && strncmp(c->settings[at - 1].text, topology_key, length) != 0)
		at--;
	const char *list = at > 0 ? c->settings[at - 1].text + length : "";
	if (!c->verb->systems || !strchr(list, ',') || access(list, F_OK) == 0)
		return;
	const char **names = ARENA_ARRAY(p->arena, strlen(list) + 1, const char *);
	c->systems.items = names;
	c->system_setting = at - 1;
	const char *from = list;
	do {
		size_t name_B = strcspn(from, ",");
		const char *name = arena_printf(p->arena, "%.*s", (int)name_B, from);
		const char *base = command_base_name(c, name);
		for (size_t i = 0; i < c->systems.count; i++)
			if (*name && strcmp(command_base_name(c, names[i]), base) == 0)
				wrong(p, "--topology %s: '%s' stands there twice (name it once)",
				      list, base);
		if (!*name)
			wrong(p,
			      "--topology %s: a name is missing (write --topology "
			      "dgx-a100,dgx-h100, for example)",
			      list);
		names[c->systems.count++] = name;
		from += name_B;
	} while (*from++ == ',');
	if (c->word_count > 1)
		wrong(p, "several topologies are for one case, but '%s' is another one (remove it)",
		      c->words[1]);
}

/* Prints an error if the word must be a case, but no case with this name ships. After --topology
 * the words of `explain` are keys, not cases. */
static void check_case(struct parser *p, const char *word)
{
	const struct command *c = p->command;
	bool cases_alone = strspn(c->verb->words, "CASE. ") == strlen(c->verb->words);
	bool case_first = strncmp(c->verb->words, "CASE ", 5) == 0 && word == p->words.items[0];
	if (!(cases_alone || (case_first && !has_topology(c))) || strpbrk(word, "/.") ||
	    access(word, F_OK) == 0)
		return;
	if (access(arena_printf(p->arena, "%s/topologies/%s.cfg", c->data_root, word), R_OK) == 0) {
		wrong(p, "'%s' is a topology, not a case (write --topology %s)", word, word);
		return;
	}
	struct diag *diag = diag_new(p->arena);
	data_path(p->arena, diag, (struct origin){"farwire", 0}, c->data_root, "topologies/cases",
		  "case", word, NULL);
	diag_print(diag, stderr);
	p->wrong = true;
}

/* Returns the least number of words: those that stand before a bracket. --topology can replace one
 * case. */
static size_t words_min(const char *words)
{
	size_t count = 0;
	for (; *words && *words != '['; words += strspn(words, " "), count++)
		words += strcspn(words, " ");
	return count;
}

static void check_words(struct parser *p)
{
	const struct command *c = p->command;
	size_t least = words_min(c->verb->words);
	bool flags = verb_has_cases(c->verb) && least == 1; /* options can replace the case */
	if (c->word_count < least && !(flags && has_topology(c)) && !c->systems.count)
		wrong(p, "`farwire %s` needs %s%s", c->verb->name, c->verb->words,
		      flags ? " or --topology NAME (`farwire list topologies` shows the names)"
		      : strncmp(c->verb->words, "KIND", 4) == 0
			      ? " (`farwire list importers` shows each KIND)"
			      : "");
	if (c->word_count && !c->step && !has_topology(c) && strncmp(c->verb->words, "LOG", 3) == 0)
		wrong(p, "a log needs its machine (write --topology NAME; `farwire list "
			 "topologies` shows the names, and `farwire import topology` reads yours)");
	if (c->word_count > 0 && !*c->verb->words)
		wrong(p, "`farwire %s` takes only options, not '%s' (see farwire %s --help)",
		      c->verb->name, c->words[0], c->verb->name);
	else if (c->word_count > 1 && !strstr(c->verb->words, "..."))
		wrong(p, "`farwire %s` takes one %s, but '%s' is another one (remove it)",
		      c->verb->name, c->verb->words, c->words[1]);
}

/* Checks that no output file overwrites an input file or another output file. */
static void check_outputs(struct parser *p)
{
	const struct command *c = p->command;
	struct command_output outputs[COMMAND_OUTPUTS];
	command_outputs(c, outputs);
	for (size_t i = 0; i < COMMAND_OUTPUTS; i++) {
		const char *path = outputs[i].path;
		if (!path || strcmp(path, "-") == 0)
			continue;
		for (size_t k = 0; k < i; k++)
			if (outputs[k].path && is_same_file(p->arena, path, outputs[k].path))
				wrong(p,
				      "%s and %s name the same file '%s' (write two different "
				      "names)",
				      outputs[k].option, outputs[i].option, path);
		check_not_read(p, outputs[i].option, path);
	}
}

/* Refuses options about images in a command that draws none, because the user expects an effect.
 * `farwire report` takes no --plot, and the output of `farwire plot` can be an image. */
static void check_idle(struct parser *p)
{
	const struct command *c = p->command;
	static const char *const options[] = {"title", "no-data", "all-ranks"};
	if (!strstr(c->verb->options, " plot") || strcmp(c->verb->name, "plot") == 0)
		return;
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		bool ranks = i == 2, idle = !c->timeline && (ranks || !c->plot);
		if (idle && command_gave(c, options[i]))
			wrong(p, "--%s has an effect only on images (write %s, or leave it out)",
			      options[i], ranks ? "--timeline FILE.svg" : "--plot FILE.svg");
	}
}

void check_command(struct parser *p)
{
	struct command *c = p->command;
	if (!c->data_root)
		wrong(p, "the folders topologies/ and models/ were not found in the folder "
			 "FARWIRE_DATA, or without it near the program (set FARWIRE_DATA to the "
			 "folder that contains them)");
	list_systems(p);
	check_words(p);
	check_outputs(p);
	check_idle(p);
	for (size_t i = 0; verb_has_cases(c->verb) && c->data_root && i < p->words.count; i++) {
		p->words.items[i] = shipped_case(c, p->words.items[i]);
		check_case(p, p->words.items[i]);
	}
}
