/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table for values of (from, to, channel), with open addressing. It is never iterated, so
 * the positions in it have no influence on results. */
#pragma once

#include "sim/base/base.h"

struct arena;

struct pair {
	uint64_t key; /* key plus 1; 0: free */
	void *value;
};
struct pairs { /* an all-zero struct is empty */
	struct pair *items;
	size_t count, room;
};

/* Returns the place of a value, which is NULL at first. Each number must be below 2^21. The place
 * is valid until the next call. */
void **pairs_at(struct arena *arena, struct pairs *pairs, size_t from, size_t to, size_t channel);
