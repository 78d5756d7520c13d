/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include "sim/base/base.h"

struct sharing {
	void (*work)(void *ctx, size_t index);
	void *ctx;
	size_t count;
	atomic_size_t next;
};

static void *worker(void *ctx)
{
	struct sharing *s = ctx;
	for (size_t index; (index = atomic_fetch_add(&s->next, 1)) < s->count;)
		s->work(s->ctx, index);
	return NULL;
}

void parallel_each(unsigned jobs, size_t count, void (*work)(void *ctx, size_t index), void *ctx)
{
	struct sharing sharing = {.work = work, .ctx = ctx, .count = count};
	struct arena *scratch = arena_new();
	pthread_t *threads = ARENA_ARRAY(scratch, (size_t)jobs + 1, pthread_t);
	size_t started = 0;
	while (started + 1 < jobs && started + 1 < count &&
	       pthread_create(&threads[started], NULL, worker, &sharing) == 0)
		started++;
	worker(&sharing);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	arena_free(scratch);
}
