/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from 64-bit keys to 64-bit values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_entry {
	uint64_t key, value;
	struct map_entry *next;
};

struct map { /* an all-zero struct is an empty map */
	struct map_entry **buckets;
	size_t bucket_count, count; /* bucket_count is a power of two */
	struct map_entry *unused;
};

/* Returns false if memory runs out. */
bool map_put(struct map *map, uint64_t key, uint64_t value);
bool map_get(const struct map *map, uint64_t key, uint64_t *value);
void map_remove(struct map *map, uint64_t key);
void map_free(struct map *map);
