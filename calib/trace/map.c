/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/trace/map.h"

#include <stdlib.h>

static size_t bucket_of(const struct map *map, uint64_t key)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (map->bucket_count - 1);
}

static bool map_grow(struct map *map)
{
	struct map larger = *map;
	larger.bucket_count = map->bucket_count ? 2 * map->bucket_count : 256;
	larger.buckets = calloc(larger.bucket_count, sizeof(struct map_entry *));
	if (!larger.buckets)
		return false;
	for (size_t i = 0; i < map->bucket_count; i++) {
		for (struct map_entry *entry = map->buckets[i], *next; entry; entry = next) {
			size_t bucket = bucket_of(&larger, entry->key);
			next = entry->next;
			entry->next = larger.buckets[bucket];
			larger.buckets[bucket] = entry;
		}
	}
	free(map->buckets);
	*map = larger;
	return true;
}

static struct map_entry **place_of(const struct map *map, uint64_t key)
{
	struct map_entry **place = &map->buckets[bucket_of(map, key)];
	while (*place && (*place)->key != key)
		place = &(*place)->next;
	return place;
}

bool map_put(struct map *map, uint64_t key, uint64_t value)
{
	if (map->count >= map->bucket_count && !map_grow(map))
		return false;
	struct map_entry **place = place_of(map, key);
	if (*place) {
		(*place)->value = value;
		return true;
	}
	struct map_entry *entry = map->unused;
	if (entry)
		map->unused = entry->next;
	else
		entry = malloc(sizeof *entry);
	if (!entry)
		return false;
	*entry = (struct map_entry){key, value, NULL};
	*place = entry;
	map->count++;
	return true;
}

bool map_get(const struct map *map, uint64_t key, uint64_t *value)
{
	const struct map_entry *entry = map->count ? *place_of(map, key) : NULL;
	if (entry)
		*value = entry->value;
	return entry != NULL;
}

void map_remove(struct map *map, uint64_t key)
{
	struct map_entry **place = map->count ? place_of(map, key) : NULL;
	if (!place || !*place)
		return;
	struct map_entry *entry = *place;
	*place = entry->next;
	entry->next = map->unused;
	map->unused = entry;
	map->count--;
}

static void entries_free(struct map_entry *entry)
{
	for (struct map_entry *next; entry; entry = next) {
		next = entry->next;
		free(entry);
	}
}

void map_free(struct map *map)
{
	for (size_t i = 0; i < map->bucket_count; i++)
		entries_free(map->buckets[i]);
	entries_free(map->unused);
	free(map->buckets);
	*map = (struct map){0};
}
