/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads case files and compares the place and the text of the first error of each. */
#pragma once

#include <string.h>

#include "sim/scenario/scenario.h"
#include "tests/own_folder.h"

/* A case file: the second line of its group `case`, its settings, which blanks separate, and what
 * follows the group (NULL: nothing). A topology that follows is in a file of its own, top.cfg. Each
 * setting has a line of its own, from the fourth line on. wanted: the first error, with the name of
 * the file without its folder; NULL: there is none. */
struct row {
	const char *text, *settings, *beside, *wanted;
};

static inline bool has_topology(const struct row *row)
{
	return row->beside && strncmp(row->beside, "topology", 8) == 0;
}

static inline const char *case_text(const struct row *row)
{
	const char *text = arena_printf(arena, "case = {\n%s\nsettings = [\n", row->text);
	char *words = arena_strdup(arena, row->settings);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		text = arena_printf(arena, "%s%s\"%s\"", text, word == words ? "" : ",\n", word);
	return arena_printf(arena, "%s];\n};\n%s\n", text,
			    row->beside && !has_topology(row) ? row->beside : "");
}

/* Returns the text without the folder of the test's files, and without that of shipped files. */
static inline const char *without_folder(const char *text)
{
	const char *before[] = {path_of(""), arena_printf(arena, "%s/", data_root_find(arena))};
	for (size_t i = 0; i < 2; i++)
		if (strncmp(text, before[i], strlen(before[i])) == 0)
			text += strlen(before[i]);
	return text;
}

static inline void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct case_request request = {.path = path_of("case.cfg"),
						     .data_root = data_root_find(arena)};
		write_file("case.cfg", case_text(&rows[i]));
		write_file("top.cfg", has_topology(&rows[i]) ? rows[i].beside : "");
		diag = diag_new(arena);
		bool good = case_read(arena, diag, &request) != NULL;
		CHECK(good == !rows[i].wanted && good == (diag_count(diag) == 0));
		CHECK_TEXT(good ? "none" : without_folder(diag_at(diag, 0)),
			   rows[i].wanted ? rows[i].wanted : "none");
	}
	remove(path_of("case.cfg"));
	remove(path_of("top.cfg"));
}
