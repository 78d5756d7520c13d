/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/predict/baselines.h"

#include <pthread.h>

#include "sim/base/hash.h"
#include "sim/engine/names.h"
#include "sim/scenario/scenario.h"
#include "sim/training/network.h"

enum { KEPT_MAX = 4096 };

struct baselines {
	pthread_mutex_t lock;
	struct kept {
		uint64_t key;
		bool known;
		double value;
	} kept[KEPT_MAX]; /* each key has one place; a later key takes it */
};

struct baselines *baselines_new(void)
{
	struct baselines *baselines = calloc(1, sizeof *baselines);
	if (!baselines)
		arena_out_of_memory();
	pthread_mutex_init(&baselines->lock, NULL);
	return baselines;
}

void baselines_free(struct baselines *baselines)
{
	if (!baselines)
		return;
	pthread_mutex_destroy(&baselines->lock);
	free(baselines);
}

/* ---- keys ---- */

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
static uint64_t hash_wiring(uint64_t key, const struct topology *topology)
{
	for (size_t i = 0; i < topology->gpu_count; i++) {
		const struct gpu_entry *gpu = &topology->gpus[i];
		key = hash_text(hash_text(key, gpu->name), gpu->profile);
		key = hash_text(hash_text(key, gpu->like), gpu->board ? gpu->board : "");
	}
	for (size_t i = 0; i < topology->link_count; i++) {
		const struct link_entry *link = &topology->links[i];
		if (!is_local(link->kind))
			continue;
		key = hash_text(hash_text(key, link->name), link->kind->name);
		key = hash_text(hash_text(key, link->ends[0]), link->ends[1]);
	}
	return key;
}

/* Completes a key with all parameters that can influence the baseline. */
static uint64_t finish(uint64_t key, const struct scenario *scenario,
		       bool (*is_far)(const struct job_entry *job, const char *path),
		       const struct job_entry *job)
{
	struct arena *scratch = arena_new();
	const struct names *wires = wire_names(scratch, &scenario->topology);
	key = hash_wiring(key, &scenario->topology);
	for (size_t i = 0; i < cfg_param_count(scenario->resolution); i++) {
		const struct cfg_param *param = cfg_param_at(scenario->resolution, i);
		if (is_far(job, param->path) || is_of_a_wire(scratch, wires, param->path))
			continue;
		key = hash_text(key, param->path);
		key = hash_bytes(key, &param->value, sizeof param->value);
		key = hash_text(key, param->text ? param->text : "");
	}
	arena_free(scratch);
	return key;
}

static uint64_t key_of(const struct scenario *scenario, const struct job_entry *entry,
		       uint64_t seed, bool solo)
{
	size_t first = 0; /* the first job with this stack */
	while (scenario->jobs[first].stack != entry->stack)
		first++;
	const uint64_t place[] = {seed, first,
				  solo ? entry->guests[0] : scenario_local_guest(scenario, entry),
				  entry->gpus[0]};
	uint64_t key = hash_text(HASH_START, solo ? entry->name : "client");
	key = hash_count(key, solo);
	key = hash_bytes(key, place, sizeof place);
	key = hash_bytes(key, &entry->batch_count, sizeof entry->batch_count);
	key = hash_text(key, entry->network ? entry->network->name : "");
	key = hash_text(key, entry->model ? entry->model : "");
	return finish(key, scenario, solo ? is_far_from_solo : is_far_from_client, entry);
}

uint64_t baseline_key(const struct scenario *scenario, size_t job, uint64_t seed)
{
	return key_of(scenario, &scenario->jobs[job], seed, false);
}

uint64_t baseline_solo_key(const struct scenario *scenario, uint64_t seed)
{
	return key_of(scenario, &scenario->jobs[0], seed, true);
}

/* ---- stored values ---- */

bool baselines_find(struct baselines *baselines, uint64_t key, double *value)
{
	pthread_mutex_lock(&baselines->lock);
	const struct kept *kept = &baselines->kept[key % KEPT_MAX];
	bool found = kept->known && kept->key == key;
	if (found)
		*value = kept->value;
	pthread_mutex_unlock(&baselines->lock);
	return found;
}

void baselines_add(struct baselines *baselines, uint64_t key, double value)
{
	pthread_mutex_lock(&baselines->lock);
	baselines->kept[key % KEPT_MAX] = (struct kept){key, true, value};
	pthread_mutex_unlock(&baselines->lock);
}
