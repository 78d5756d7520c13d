/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/baselines.h"

#include <pthread.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/hash.h"
#include "sim/base/vec.h"
#include "sim/engine/names.h"
#include "sim/scenario/scenario.h"
#include "sim/training/network.h"

enum { KEPT_MAX = 4096, BUCKETS_COUNT = 1024 };

struct kept {
	struct baseline_key key;
	double value;
	const struct kept *next;
};

struct baselines {
	struct arena *arena, *kept;
	pthread_mutex_t lock;
	const struct kept *buckets[BUCKETS_COUNT];
	size_t count;
};

struct baselines *baselines_new(void)
{
	struct arena *arena = arena_new();
	struct baselines *baselines = ARENA_NEW(arena, struct baselines);
	baselines->arena = arena;
	baselines->kept = arena_new();
	pthread_mutex_init(&baselines->lock, NULL);
	return baselines;
}

void baselines_free(struct baselines *baselines)
{
	if (!baselines)
		return;
	pthread_mutex_destroy(&baselines->lock);
	arena_free(baselines->kept);
	arena_free(baselines->arena);
}

/* ---- keys ---- */

struct key_text {
	struct arena *arena;
	VEC(char) text;
};

static void put(struct key_text *key, const void *bytes, size_t size_B)
{
	for (size_t i = 0; i < size_B; i++)
		memcpy(VEC_PUSH(key->arena, &key->text), (const char *)bytes + i, 1);
}

static void put_text(struct key_text *key, const char *text)
{
	put(key, text, strlen(text) + 1);
}

/* Returns true if the path is "<group>.<key>". */
static bool is_in(const char *path, const char *group)
{
	size_t length = strlen(group);
	return strncmp(path, group, length) == 0 && path[length] == '.' &&
	       !strchr(path + length + 1, '.');
}

/* Returns true if a program with the local driver can use links of that kind. */
static bool is_local(const struct link_kind *kind)
{
	return link_carries(kind, TRAFFIC_COPIES | TRAFFIC_PEERS);
}

/* Returns the names of the links that a program with the local driver cannot use. */
static const struct names *wire_names(struct arena *arena, const struct topology *topology)
{
	struct names *wires = names_new(arena);
	for (size_t i = 0; i < topology->link_count; i++)
		if (!is_local(topology->links[i].kind))
			names_add(wires, topology->links[i].name);
	return wires;
}

/* Returns true if the path is link.<name>.<key> of such a link. */
static bool is_of_a_wire(struct arena *arena, const struct names *wires, const char *path)
{
	const char *name = path + strlen("link."), *dot = strrchr(path, '.');
	return strncmp(path, "link.", strlen("link.")) == 0 && dot > name &&
	       names_find(wires, arena_printf(arena, "%.*s", (int)(dot - name), name)) >= 0;
}

/* Returns true if the parameter cannot influence a program with the local driver. */
static bool is_far_from_client(const struct job_entry *client, const char *path)
{
	return is_in(path, "runtime") ||
	       (client->transport && is_in(path, client->transport->name));
}

/* Returns true if the parameter cannot influence a step on one GPU without input pipeline and
 * exchange. */
static bool is_far_from_solo(const struct job_entry *job, const char *path)
{
	static const char *const groups[] = {"exchange", "library", "input", "storage", "error"};
	for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
		if (is_in(path, groups[i]))
			return true;
	return strcmp(path, "case.gpus") == 0 || strcmp(path, "case.exchange") == 0 ||
	       (job->transport && is_in(path, job->transport->name));
}

/* Adds facts that are not parameters: the kinds of the GPUs and the links between them. */
static void put_wiring(struct key_text *key, const struct topology *topology)
{
	for (size_t i = 0; i < topology->gpu_count; i++) {
		const struct gpu_entry *gpu = &topology->gpus[i];
		put_text(key, gpu->name);
		put_text(key, gpu->profile);
		put_text(key, gpu->like);
		put_text(key, gpu->board ? gpu->board : "");
	}
	for (size_t i = 0; i < topology->link_count; i++) {
		const struct link_entry *link = &topology->links[i];
		if (!is_local(link->kind))
			continue;
		put_text(key, link->name);
		put_text(key, link->kind->name);
		put_text(key, link->ends[0]);
		put_text(key, link->ends[1]);
	}
}

/* Completes a key with all parameters that can influence the baseline. A hash replaces each
 * path; parameters have a fixed order. */
static struct baseline_key finish(struct key_text *key, const struct scenario *scenario,
				  bool (*is_far)(const struct job_entry *job, const char *path),
				  const struct job_entry *job)
{
	struct arena *scratch = arena_new();
	const struct names *wires = wire_names(scratch, &scenario->topology);
	put_wiring(key, &scenario->topology);
	for (size_t i = 0; i < cfg_param_count(scenario->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		if (is_far(job, param->path) || is_of_a_wire(scratch, wires, param->path))
			continue;
		uint64_t path = hash_text(HASH_START, param->path);
		put(key, &path, sizeof path);
		put(key, &param->value, sizeof param->value);
		put_text(key, param->text ? param->text : "");
	}
	arena_free(scratch);
	return (struct baseline_key){key->text.items, key->text.count,
				     hash_bytes(HASH_START, key->text.items, key->text.count)};
}

static struct baseline_key key_of(struct arena *arena, const struct scenario *scenario,
				  const struct job_entry *entry, uint64_t seed, bool solo)
{
	const uint64_t place[] = {seed,
				  solo ? entry->guests[0] : scenario_local_guest(scenario, entry),
				  entry->gpus[0]};
	struct key_text key = {.arena = arena};
	put_text(&key, solo ? entry->name : "client");
	put(&key, &solo, sizeof solo);
	put(&key, place, sizeof place);
	put(&key, &entry->batch_count, sizeof entry->batch_count);
	put_text(&key, entry->network ? entry->network->name : "");
	put_text(&key, entry->model ? entry->model : "");
	return finish(&key, scenario, solo ? is_far_from_solo : is_far_from_client, entry);
}

struct baseline_key baseline_key(struct arena *arena, const struct scenario *scenario, size_t job,
				 uint64_t seed)
{
	return key_of(arena, scenario, &scenario->jobs[job], seed, false);
}

struct baseline_key baseline_solo_key(struct arena *arena, const struct scenario *scenario,
				      uint64_t seed)
{
	return key_of(arena, scenario, &scenario->jobs[0], seed, true);
}

/* ---- stored values ---- */

static const struct kept *find(const struct baselines *baselines, struct baseline_key key)
{
	const struct kept *kept = baselines->buckets[key.hash % BUCKETS_COUNT];
	while (kept && (kept->key.size_B != key.size_B ||
			memcmp(kept->key.bytes, key.bytes, key.size_B) != 0))
		kept = kept->next;
	return kept;
}

bool baselines_find(struct baselines *baselines, struct baseline_key key, double *value)
{
	pthread_mutex_lock(&baselines->lock);
	const struct kept *kept = find(baselines, key);
	if (kept)
		*value = kept->value;
	pthread_mutex_unlock(&baselines->lock);
	return kept != NULL;
}

/* A search rarely visits a point again, so a full store is emptied. */
static void forget(struct baselines *baselines)
{
	arena_free(baselines->kept);
	baselines->kept = arena_new();
	memset(baselines->buckets, 0, sizeof baselines->buckets);
	baselines->count = 0;
}

void baselines_add(struct baselines *baselines, struct baseline_key key, double value)
{
	pthread_mutex_lock(&baselines->lock);
	if (baselines->count == KEPT_MAX)
		forget(baselines);
	if (!find(baselines, key)) {
		struct kept *kept = ARENA_NEW(baselines->kept, struct kept);
		char *bytes = arena_alloc(baselines->kept, key.size_B);
		memcpy(bytes, key.bytes, key.size_B);
		const struct kept **bucket = &baselines->buckets[key.hash % BUCKETS_COUNT];
		*kept = (struct kept){{bytes, key.size_B, key.hash}, value, *bucket};
		*bucket = kept;
		baselines->count++;
	}
	pthread_mutex_unlock(&baselines->lock);
}
