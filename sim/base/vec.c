/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/vec.h"
#include "sim/base/base.h"

void *vec_grow(struct arena *arena, void *items, size_t count, size_t *room, size_t item_size)
{
	if (count < *room)
		return items;
	size_t room_new = *room ? *room * 2 : 8;
	void *moved = arena_array(arena, room_new, item_size);
	if (count)
		memcpy(moved, items, count * item_size);
	*room = room_new;
	return moved;
}
