/* SPDX-License-Identifier: Apache-2.0 */
/* A table from numbers to words of 64 bits, by open hashing. */
#ifndef FARWIRE_TRACE_MAP_H
#define FARWIRE_TRACE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key, value;
	struct map_entry *next;
};

struct map { /* all zero: empty */
	struct map_entry **buckets;
	size_t bucket_count, count; /* a power of two */
	struct map_entry *unused;
};

/* False: no memory. */
bool map_put(struct map *map, uint64_t key, uint64_t value);
bool map_get(const struct map *map, uint64_t key, uint64_t *value);
void map_remove(struct map *map, uint64_t key);
void map_free(struct map *map);

#endif
