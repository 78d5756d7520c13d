/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing array whose storage belongs to an arena.
 *
 *   VEC(struct point) points = {0};
 *   struct point *p = VEC_PUSH(arena, &points);   // zeroed slot
 *   for (size_t i = 0; i < points.count; i++) use(&points.items[i]);
 *
 * Growing moves the items, so keep indices, not pointers, across pushes. The old storage stays
 * allocated until the arena ends. It is at most as large as the current storage.
 */
#pragma once

#include <stddef.h>
#include <string.h>

struct arena;

#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count;                                                                      \
		size_t room;                                                                       \
	}

/* Makes room for one more item and returns the storage, which may have moved. */
void *vec_grow(struct arena *arena, void *items, size_t count, size_t *room, size_t item_size);

#define VEC_PUSH(arena, vec)                                                                       \
	((vec)->items = (vec)->count < (vec)->room ? (vec)->items                                  \
						   : vec_grow((arena), (vec)->items, (vec)->count, \
							      &(vec)->room, sizeof *(vec)->items), \
	 &(vec)->items[(vec)->count++])

/* Removes the first n items. */
#define VEC_DROP(vec, n)                                                                           \
	(memmove((vec)->items, (vec)->items + (n), ((vec)->count - (n)) * sizeof *(vec)->items),   \
	 (vec)->count -= (n))
