/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/pairs.h"

enum { ROOM_FIRST = 64, BITS = 21 };

/* Returns the place of key among `room` places, a power of two, or the place where it would be
 * stored. */
static struct pair *place_of(struct pair *items, size_t room, uint64_t key)
{
	/* Fibonacci hashing: the upper bits of key * 2^64/phi. */
	uint64_t mixed = key * UINT64_C(0x9E3779B97F4A7C15);
	size_t at = (size_t)(mixed >> 32) & (room - 1);
	while (items[at].key != 0 && items[at].key != key)
		at = (at + 1) & (room - 1);
	return &items[at];
}

static void grow(struct arena *arena, struct pairs *pairs)
{
	size_t room = pairs->room ? pairs->room * 2 : ROOM_FIRST;
	struct pair *items = ARENA_ARRAY(arena, room, struct pair);
	for (size_t i = 0; i < pairs->room; i++)
		if (pairs->items[i].key != 0)
			*place_of(items, room, pairs->items[i].key) = pairs->items[i];
	pairs->items = items;
	pairs->room = room;
}

void **pairs_at(struct arena *arena, struct pairs *pairs, size_t from, size_t to, size_t channel)
{
	FW_ASSERT(from >> BITS == 0 && to >> BITS == 0 && channel >> BITS == 0);
	uint64_t key = ((uint64_t)channel << 2 * BITS | (uint64_t)from << BITS | (uint64_t)to) + 1;
	if (pairs->count * 2 >= pairs->room)
		grow(arena, pairs);
	struct pair *pair = place_of(pairs->items, pairs->room, key);
	if (pair->key == 0) {
		pair->key = key;
		pairs->count++;
	}
	return &pair->value;
}
