/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/cfg/names.h"

#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/cfg/cfg.h"

const char *cfg_suggestion(struct arena *arena, const char *word, const char *const *known,
			   size_t count)
{
	enum { LISTED_MAX = 12 };
	const char *near = diag_nearest(word, known, count);
	if (near)
		return arena_printf(arena, "did you mean '%s'?", near);
	if (count == 0)
		return "none is known here";
	const char *list = arena_printf(arena, "one of %s", known[0]);
	for (size_t i = 1; i < count && i < LISTED_MAX; i++)
		list = arena_printf(arena, "%s, %s", list, known[i]);
	return count > LISTED_MAX ? arena_printf(arena, "%s, ...", list) : list;
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
