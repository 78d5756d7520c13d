/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farwire list: lists the shipped files and the built-in kinds, one per line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib/fit/import.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/table.h"
#include "sim/base/vec.h"
#include "sim/scenario/wiring.h"
#include "sim/training/plan.h"
#include "sim/verb/list_facts.h"
#include "sim/verb/verbs.h"

enum { LINE_WIDTH = 100 };

/* Folders of shipped files. group is the group of a file that contains its description. */
static const struct folder {
	const char *name, *path, *group;
} folders[] = {
	{"topologies", "topologies", "topology"},
	{"machines", "topologies/machines", "machine"},
	{"networks", "topologies/networks", "wiring"},
	{"gpus", "topologies/gpus", "gpu"},
	{"models", "models/networks", "network"},
	{"stacks", "models/stacks", "stack"},
	{"runtimes", "models/runtimes", "runtime"},
	{"profiles", "calib/profiles", "parameters"},
	{"datasets", "calib/measured", "dataset"},
	{"fits", "calib/fits", "fit"},
	{"cases", "topologies/cases", "case"},
	{"what-ifs", "topologies/what-ifs", "dataset"},
	{"exchanges", "models/exchanges", "exchange"},
	{"storages", "models/storages", "storage"},
};

static const struct registry *const registries[] = {
	&link_kind_registry,
	&wiring_kind_registry,
	&transport_kind_registry,
	&policy_registry,
	&framework_registry,
	&algorithm_registry,
	&collective_kind_registry,
	&exchange_policy_registry,
	&pipeline_schedule_registry,
	&importer_registry,
	&verb_registry,
};

enum { FOLDER_COUNT = sizeof folders / sizeof folders[0] };
enum { REGISTRY_COUNT = sizeof registries / sizeof registries[0] };

/* Returns the first sentence of the file's first comment, without the full stop. */
static const char *first_sentence(struct arena *arena, const char *path)
{
	const char *sentence = "";
	char line[512], *stop = NULL;
	FILE *file = fopen(path, "r");
	while (file && !stop && fgets(line, sizeof line, file)) {
		if (strstr(line, "SPDX"))
			continue;
		if (line[0] != '#' || line[1] != ' ')
			break;
		line[strcspn(line, "\n")] = '\0';
		char *text =
			arena_printf(arena, "%s%s%s", sentence, *sentence ? " " : "", line + 2);
		stop = strstr(text, ". ");
		if (stop)
			*stop = '\0';
		sentence = text;
	}
	if (file)
		fclose(file);
	size_t length = strlen(sentence);
	length -= length && sentence[length - 1] == '.';
	return arena_printf(arena, "%.*s", (int)length, sentence);
}

/* Returns the description of a file: help, title or source of its group, otherwise the first
 * sentence of its first comment. */
static const char *help_of(const struct command *command, const char *path,
			   const struct cfg_node *node)
{
	static const char *const keys[] = {"help", "title", "source"};
	for (size_t i = 0; i < 3; i++) {
		const char *text = cfg_text(cfg_child(node, keys[i]));
		if (text)
			return text;
	}
	return first_sentence(command->arena, path);
}

static void add(const struct command *command, struct table *table, const char *what,
		const char *group, const char *name, const char *help)
{
	if (command->plain) {
		printf("%s\n", name);
		return;
	}
	table_cells(table, CELLS(what, group, name, help));
}

struct shipped {
	const char *name, *text;
	struct facts facts;
};

static int by_group(const void *a, const void *b)
{
	const struct shipped *one = a, *other = b;
	if (one->facts.group_order != other->facts.group_order)
		return one->facts.group_order < other->facts.group_order ? -1 : 1;
	int groups = strcmp(one->facts.group, other->facts.group);
	if (groups)
		return groups;
	if (one->facts.order != other->facts.order)
		return one->facts.order < other->facts.order ? -1 : 1;
	return strcmp(one->name, other->name);
}

/* Describes a file by the facts that are computed from it, or by its own description. */
static struct shipped shipped_file(const struct command *command, const struct folder *folder,
				   const char *name)
{
	struct arena *arena = command->arena;
	const char *path =
		arena_printf(arena, "%s/%s/%s.cfg", command->data_root, folder->path, name);
	const struct cfg_node *node =
		cfg_child(cfg_read(arena, diag_new(arena), path), folder->group);
	struct shipped file = {.name = name, .text = help_of(command, path, node)};
	file.facts = facts_of(arena, command->data_root, folder->group, node);
	if (file.facts.beside_help)
		file.text = arena_printf(arena, "%s: %s", file.text, file.facts.text);
	else if (*file.facts.text)
		file.text = file.facts.text;
	return file;
}

/* Scripts get names in alphabetical order; readers get groups of files. */
static void list_folder(const struct command *command, struct table *table,
			const struct folder *folder)
{
	const char *const *names;
	size_t count = data_names(command->arena, command->data_root, folder->path, &names);
	if (command->plain) {
		for (size_t i = 0; i < count; i++)
			add(command, table, folder->name, "", names[i], "");
		return;
	}
	VEC(struct shipped) files = {0};
	for (size_t i = 0; i < count; i++)
		*VEC_PUSH(command->arena, &files) = shipped_file(command, folder, names[i]);
	if (files.count)
		qsort(files.items, files.count, sizeof *files.items, by_group);
	for (size_t i = 0; i < files.count; i++)
		add(command, table, folder->name, files.items[i].facts.group, files.items[i].name,
		    files.items[i].text);
}

static void list_kinds(const struct command *command, struct table *table,
		       const struct registry *registry)
{
	for (size_t i = 0; i < registry->count; i++)
		add(command, table, registry->listed, "", *registry->rows[i].name,
		    *registry->rows[i].help);
}

static void list_rows(const struct command *command, struct table *table,
		      const struct param_table *params)
{
	for (size_t i = 0; i < params->count; i++) {
		const struct param_row *row = &params->rows[i];
		char key[80];
		param_key(row, key, sizeof key);
		const char *preset = "must be given";
		if (row->preset)
			preset = row->preset[0]
					 ? arena_printf(command->arena, "default %s", row->preset)
					 : "empty by default";
		add(command, table, params->name, "",
		    command->plain ? arena_printf(command->arena, "%s.%s", params->name, key) : key,
		    arena_printf(command->arena, "%s (%s)", row->help, preset));
	}
}

/* Lists every key of every group. The list is long, so it is printed only on request. */
static void list_parameters(const struct command *command, struct table *table)
{
	static const struct param_table *const tables[] = {
		&case_table,       &host_table,     &guest_table,   &gpu_table,     &kernel_table,
		&efficiency_table, &law_table,      &stack_table,   &runtime_table, &driver_table,
		&dma_table,        &exchange_table, &library_table, &input_table,   &storage_table,
		&calls_table,      &serve_table};
	for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
		list_rows(command, table, tables[i]);
	for (size_t i = 0; i < transport_kind_count(); i++)
		list_rows(command, table, transport_kind_at(i)->table);
	for (size_t i = 0; i < link_kind_count(); i++)
		list_rows(command, table, link_kind_at(i)->table);
}

/* Returns whether a list was asked for by name. Without words, all lists but `parameters` are. */
static bool wanted(const struct command *command, const char *name)
{
	for (size_t i = 0; i < command->word_count; i++)
		if (strcmp(command->words[i], name) == 0)
			return true;
	return command->word_count == 0 && strcmp(name, "parameters") != 0;
}

/* Returns EXIT_USAGE, with an error, if no list has this name. */
static int check_name(const struct command *command, const char *word)
{
	const char *names[FOLDER_COUNT + REGISTRY_COUNT + 1] = {"parameters"}, *all = "parameters";
	for (size_t i = 0; i < FOLDER_COUNT; i++)
		names[1 + i] = folders[i].name;
	for (size_t i = 0; i < REGISTRY_COUNT; i++)
		names[1 + FOLDER_COUNT + i] = registries[i]->listed;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(word, names[i]) == 0)
			return EXIT_DONE;
		all = i > 0 ? arena_printf(command->arena, "%s, %s", all, names[i]) : all;
	}
	const char *near = diag_nearest(word, names, sizeof names / sizeof names[0]);
	return command_stop(EXIT_USAGE, "list: '%s' is not a list (%s%s%s)", word,
			    near ? "did you mean '" : "there are ", near ? near : all,
			    near ? "'?" : "");
}

static int run(const struct command *command)
{
	for (size_t i = 0; i < command->word_count; i++)
		if (check_name(command, command->words[i]) != EXIT_DONE)
			return EXIT_USAGE;
	struct table *table = table_new(command->arena);
	bool parameters = command->word_count == 1 && strcmp(command->words[0], "parameters") == 0;
	/* Other lists are broken only on a terminal, so that grep finds whole lines. */
	size_t width = command_line_width(command);
	table_line_width(table, width || !parameters ? width : LINE_WIDTH);
	table_columns(table, "what|group|name");
	table_column(table, "", false);
	for (size_t i = 0; i < FOLDER_COUNT; i++)
		if (wanted(command, folders[i].name))
			list_folder(command, table, &folders[i]);
	for (size_t i = 0; i < REGISTRY_COUNT; i++)
		if (wanted(command, registries[i]->listed))
			list_kinds(command, table, registries[i]);
	if (wanted(command, "parameters"))
		list_parameters(command, table);
	if (!command->plain)
		table_print(table, stdout);
	return EXIT_DONE;
}

const struct verb verb_list = {
	.name = "list",
	.words = "[WHAT...]",
	.help = "lists the shipped topologies, models, runtimes, kinds of links and more",
	.examples = "  farwire list\n  farwire list topologies --plain\n"
		    "  farwire list parameters   # all keys of configuration files\n",
	.options = "plain quiet color",
	.words_min = 0,
	.run = run,
};
