/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times of iterations, and missed objectives, that the simulations of a search share. */
#include <pthread.h>

#include "sim/serving/model_parts.h"

struct memo_entry {
	struct memo_entry *next;
	struct memo_key key;
	double *known_s[MODEL_TIME_COUNT];
	size_t most[MODEL_TIME_COUNT];
	struct overhead tables[2];
};

struct serving_memo {
	struct arena *arena;
	pthread_mutex_t lock;
	struct memo_entry *entries;
	VEC(struct missed_run {
		struct memo_load load;
		struct serving_use use;
	})
	missed;
};

struct serving_memo *serving_memo_new(void)
{
	struct arena *arena = arena_new(); /* others are not used under the lock */
	struct serving_memo *memo = ARENA_NEW(arena, struct serving_memo);
	memo->arena = arena;
	pthread_mutex_init(&memo->lock, NULL);
	return memo;
}

void serving_memo_free(struct serving_memo *memo)
{
	pthread_mutex_destroy(&memo->lock);
	arena_free(memo->arena);
}

static struct memo_entry *find(const struct serving_memo *memo, const struct memo_key *key)
{
	struct memo_entry *entry = memo->entries;
	while (entry && memcmp(&entry->key, key, sizeof *key) != 0)
		entry = entry->next;
	return entry;
}

/* Copies the times that `from` has. */
static void merge(double *to, const double *from, size_t most)
{
	for (size_t i = 0; i <= most; i++)
		to[i] = from[i] < 0 ? to[i] : from[i];
}

bool serving_memo_recall(struct serving_memo *memo, const struct memo_key *key,
			 struct serving_model *model, const struct overhead *tables[2])
{
	pthread_mutex_lock(&memo->lock);
	const struct memo_entry *entry = find(memo, key);
	for (enum model_time i = 0; entry && i < MODEL_TIME_COUNT; i++) {
		size_t most = model_time_most(model, i);
		merge(model->known_s[i], entry->known_s[i],
		      most < entry->most[i] ? most : entry->most[i]);
	}
	pthread_mutex_unlock(&memo->lock);
	for (size_t i = 0; entry && i < 2; i++)
		tables[i] = &entry->tables[i];
	return entry;
}

void serving_memo_keep(struct serving_memo *memo, const struct memo_key *key,
		       const struct serving_model *model)
{
	pthread_mutex_lock(&memo->lock);
	struct memo_entry *entry = find(memo, key);
	if (!entry) {
		entry = ARENA_NEW(memo->arena, struct memo_entry);
		*entry = (struct memo_entry){.next = memo->entries, .key = *key};
		for (size_t i = 0; i < 2; i++)
			entry->tables[i] = *model->tables[i];
		memo->entries = entry;
	}
	for (enum model_time i = 0; i < MODEL_TIME_COUNT; i++) {
		size_t most = model_time_most(model, i);
		if (!entry->known_s[i] || entry->most[i] < most) {
			double *more = ARENA_ARRAY(memo->arena, most + 1, double);
			for (size_t k = 0; k <= most; k++)
				more[k] = entry->known_s[i] && k <= entry->most[i]
						  ? entry->known_s[i][k]
						  : -1;
			entry->known_s[i] = more;
			entry->most[i] = most;
		}
		merge(entry->known_s[i], model->known_s[i], most);
	}
	pthread_mutex_unlock(&memo->lock);
}

void serving_memo_miss(struct serving_memo *memo, const struct memo_load *load,
		       const struct serving_use *use)
{
	pthread_mutex_lock(&memo->lock);
	*VEC_PUSH(memo->arena, &memo->missed) = (struct missed_run){*load, *use};
	pthread_mutex_unlock(&memo->lock);
}

bool serving_memo_missed(struct serving_memo *memo, const struct memo_load *load,
			 const struct serving_use *limits)
{
	bool found = false;
	pthread_mutex_lock(&memo->lock);
	for (size_t i = 0; i < memo->missed.count && !found; i++) {
		const struct missed_run *run = &memo->missed.items[i];
		found = memcmp(&run->load, load, sizeof *load) == 0 &&
			run->use.running < limits->running && run->use.tokens < limits->tokens &&
			run->use.blocks <= limits->blocks;
	}
	pthread_mutex_unlock(&memo->lock);
	return found;
}
