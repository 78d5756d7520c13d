/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/engine/names.h"

#include <limits.h>

struct names {
	struct arena *arena;
	VEC(const char *) texts;
	int *cells;  /* open addressing: index + 1, or 0 if empty */
	size_t size; /* a power of two, at least twice the count */
};

struct names *names_new(struct arena *arena)
{
	struct names *names = ARENA_NEW(arena, struct names);
	names->arena = arena;
	names->size = 16;
	names->cells = ARENA_ARRAY(arena, names->size, int);
	return names;
}

static size_t hash(const char *name) /* FNV-1a */
{
	uint64_t h = 14695981039346656037u;
	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 1099511628211u;
	return (size_t)(h ^ (h >> 32));
}

/* Returns the cell that holds name, or the empty cell where it belongs. */
static size_t cell_of(const struct names *names, const char *name)
{
	size_t cell = hash(name) & (names->size - 1);
	while (names->cells[cell] && strcmp(names->texts.items[names->cells[cell] - 1], name) != 0)
		cell = (cell + 1) & (names->size - 1);
	return cell;
}

int names_find(const struct names *names, const char *name)
{
	return names->cells[cell_of(names, name)] - 1;
}

static void rehash(struct names *names)
{
	names->size *= 2;
	names->cells = ARENA_ARRAY(names->arena, names->size, int);
	for (size_t i = 0; i < names->texts.count; i++)
		names->cells[cell_of(names, names->texts.items[i])] = (int)i + 1;
}

int names_add(struct names *names, const char *name)
{
	size_t cell = cell_of(names, name);
	if (names->cells[cell])
		return names->cells[cell] - 1;
	FW_ASSERT(names->texts.count < INT_MAX - 1);
	*VEC_PUSH(names->arena, &names->texts) = arena_strdup(names->arena, name);
	int index = (int)names->texts.count - 1;
	names->cells[cell] = index + 1;
	if (names->texts.count * 2 > names->size)
		rehash(names);
	return index;
}

size_t names_count(const struct names *names)
{
	return names->texts.count;
}

const char *names_at(const struct names *names, size_t index)
{
	FW_ASSERT(index < names->texts.count);
	return names->texts.items[index];
}
