/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A map from a pair of small numbers and a third one: (from, to, channel). Open addressing. It
 * is only looked up and never iterated, so the order of its places decides nothing. */
#ifndef FARWIRE_COLLECTIVE_PAIRS_H
#define FARWIRE_COLLECTIVE_PAIRS_H

#include <stddef.h>
#include <stdint.h>

struct arena;

struct pair {
	uint64_t key; /* plus 1; 0: free */
	void *value;
};
struct pairs { /* all zero: empty */
	struct pair *items;
	size_t count, room;
};

/* Each below 2^21. The place of its value, NULL at first. Valid until the next
 * call. */
void **pairs_at(struct arena *arena, struct pairs *pairs, size_t from, size_t to, size_t channel);

#endif
