/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/registry.h"
#include "sim/base/base.h"

const void *registry_at(const struct registry *registry, size_t index)
{
	FW_ASSERT(index < registry->count);
	return registry->rows[index].kind;
}

const void *registry_find(const struct registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->count; i++)
		if (strcmp(*registry->rows[i].name, name) == 0)
			return registry->rows[i].kind;
	return NULL;
}

const char *const *registry_names(struct arena *arena, const struct registry *registry,
				  const char *also)
{
	const char **names = ARENA_ARRAY(arena, registry->count + 2, const char *);
	for (size_t i = 0; i < registry->count; i++)
		names[i] = *registry->rows[i].name;
	names[registry->count] = also;
	return names;
}

const char *registry_unknown(struct arena *arena, const struct registry *registry, const char *name,
			     const char *also)
{
	const char *const *names = registry_names(arena, registry, also);
	const char *near = diag_nearest(name, names, registry->count + (also != NULL));
	const char *known = near ? arena_printf(arena, "did you mean '%s'?", near)
				 : arena_printf(arena, "there are %s", names[0]);
	for (size_t i = 1; !near && names[i]; i++)
		known = arena_printf(arena, "%s, %s", known, names[i]);
	return arena_printf(arena, "no %s is called '%.80s' (%s%s `farwire list %s` shows them)",
			    registry->what, name, known, near ? "" : ";", registry->listed);
}
