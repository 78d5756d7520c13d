/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cfg/resolution.h"

const char *cfg_list(struct arena *arena, const char *const *words, size_t count)
{
	enum { LISTED_MAX = 12 };
	const char *list = count ? words[0] : "nothing";
	for (size_t i = 1; i < count && i < LISTED_MAX; i++)
		list = arena_printf(arena, "%s, %s", list, words[i]);
	return count > LISTED_MAX ? arena_printf(arena, "%s, ...", list) : list;
}

const char *cfg_suggestion(struct arena *arena, const char *word, const char *const *known,
			   size_t count)
{
	const char *near = diag_nearest(word, known, count);
	return near ? arena_printf(arena, "did you mean '%s'?", near)
		    : arena_printf(arena, "known: %s", cfg_list(arena, known, count));
}

bool cfg_known_name(struct diag *diag, const struct cfg_node *node, const char *about,
		    const char *const *known, size_t count)
{
	const char *name = cfg_name(node);
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, known[i]) == 0)
			return true;
	struct arena *scratch = arena_new();
	diag_error(diag, cfg_origin(node), "%sunknown key '%s' (%s)", about, name,
		   cfg_suggestion(scratch, name, known, count));
	arena_free(scratch);
	return false;
}
