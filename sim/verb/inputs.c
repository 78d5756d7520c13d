/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output files must not overwrite input files, including those that a case reads indirectly: its
 * topology, models, profiles, tables and their includes. This file does not know the meaning of
 * settings. So every text in a configuration that can be the name of a file counts as one. */
#include <limits.h>
#include <sys/stat.h>

#include "sim/cfg/cfg.h"
#include "sim/base/lines.h"
#include "sim/cfg/text.h"
#include "sim/verb/parser.h"

struct inputs {
	struct parser *p;
	VEC(const char *) paths;
};

/* Gets the status of the folder that contains the path. Returns the file's name in the folder, or
 * NULL if the folder does not exist. */
static const char *folder_status(struct arena *arena, const char *path, struct stat *status)
{
	const char *slash = strrchr(path, '/');
	const char *folder =
		slash ? arena_printf(arena, "%.*s", (int)(slash + 1 - path), path) : ".";
	return stat(folder, status) == 0 ? (slash ? slash + 1 : path) : NULL;
}

bool is_same_file(struct arena *arena, const char *a, const char *b)
{
	struct stat x, y;
	if (stat(a, &x) == 0)
		return stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
		       x.st_ino == y.st_ino;
	const char *name_a = folder_status(arena, a, &x), *name_b = folder_status(arena, b, &y);
	return name_a && name_b && strcmp(name_a, name_b) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

bool is_file(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static void add(struct inputs *inputs, const char *path)
{
	for (size_t i = 0; i < inputs->paths.count; i++)
		if (strcmp(inputs->paths.items[i], path) == 0)
			return;
	if (is_file(path))
		*VEC_PUSH(inputs->p->arena, &inputs->paths) = path;
}

/* Adds the files that `text`, written in the file `from`, can name: a path from the current folder
 * or from the folder of `from`, or a shipped file. */
static void add_named(struct inputs *inputs, const char *text, const char *from)
{
	struct arena *arena = inputs->p->arena;
	const char *root = inputs->p->command->data_root;
	const char *slash = strrchr(from, '/');
	if (!*text || strlen(text) >= PATH_MAX)
		return;
	add(inputs, text);
	if (slash && *text != '/')
		add(inputs, arena_printf(arena, "%.*s%s", (int)(slash + 1 - from), from, text));
	if (root && *text != '/')
		add(inputs, arena_printf(arena, "%s/calib/measured/%s", root, text));
	for (size_t i = 0; root && !strchr(text, '/') && i < FOLDER_COUNT; i++)
		add(inputs,
		    arena_printf(arena, "%s/%s/%s.cfg", root, shipped_folders[i].path, text));
}

/* Adds the files that a text can name. It can be a setting, key=a,b,c. */
static void add_text(struct inputs *inputs, const char *text, const char *from)
{
	static const char ends[] = ", \"'";
	const char *value = strchr(text, '=');
	add_named(inputs, text, from);
	for (value = value ? value + 1 : ""; *(value += strspn(value, ends));) {
		size_t length = strcspn(value, ends);
		add_named(inputs, arena_printf(inputs->p->arena, "%.*s", (int)length, value), from);
		value += length;
	}
}

static void add_tree(struct inputs *inputs, const struct cfg_node *node)
{
	if (cfg_text(node))
		add_text(inputs, cfg_text(node), cfg_origin(node).file);
	for (size_t i = 0; i < cfg_count(node); i++)
		add_tree(inputs, cfg_at(node, i));
}

/* Adds the files that cells of a table can name: words with letters after the last dot. */
static void add_table(struct inputs *inputs, const char *path)
{
	const char *why;
	FILE *in = file_once(path, &why);
	char line[1 << 16], *rest; /* datasets have no longer lines */
	while (in && fgets(line, sizeof line, in))
		for (char *cell = strtok_r(line, "\t\r\n", &rest); cell;
		     cell = strtok_r(NULL, "\t\r\n", &rest)) {
			const char *dot = strrchr(cell, '.');
			if (dot && isalpha((unsigned char)dot[1]))
				add_text(inputs, arena_strdup(inputs->p->arena, cell), path);
		}
	if (in)
		fclose(in);
}

static void find_inputs(struct inputs *inputs)
{
	struct arena *arena = inputs->p->arena;
	const struct command *c = inputs->p->command;
	for (size_t k = 0; k < c->word_count; k++)
		add_named(inputs, c->words[k], "");
	for (size_t k = 0; k < c->setting_count; k++)
		add_text(inputs, c->settings[k].text, "");
	for (size_t k = 0; k < c->vary.count; k++)
		add_text(inputs, c->vary.items[k], "");
	for (size_t i = 0; i < inputs->paths.count; i++) {
		const char *path = inputs->paths.items[i], *last = path;
		const char *end = strrchr(path, '.');
		struct diag *diag = diag_new(arena);
		struct cfg_source_text text = {0};
		if (end && strcmp(end, ".tsv") == 0)
			add_table(inputs, path);
		if (!cfg_source_expand(arena, arena, diag, path, NULL, &text))
			continue;
		for (size_t k = 0; k < text.lines.count; last = text.lines.items[k++].file)
			if (text.lines.items[k].file != last)
				add(inputs, text.lines.items[k].file);
		add_tree(inputs, cfg_read(arena, diag, path)); /* NULL has no text */
	}
}

void check_not_read(struct parser *p, const char *option, const char *path)
{
	struct inputs inputs = {.p = p};
	if (!is_file(path))
		return;
	find_inputs(&inputs);
	for (size_t i = 0; i < inputs.paths.count; i++)
		if (is_same_file(p->arena, path, inputs.paths.items[i])) {
			wrong(p, "%s %s: refusing to overwrite an input file (write another name)",
			      option, path);
			return;
		}
}
