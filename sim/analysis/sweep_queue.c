/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/sweep_queue.h"

/* SHARES_COUNT: number of times that each worker takes points. SHARE_MAX: largest number of
 * points taken together. */
enum { SHARES_COUNT = 8, SHARE_MAX = 32 };

static bool is_over(const struct sweep_queue *queue)
{
	/* points after the first one with errors are not needed */
	if (queue->outside || queue->next >= queue->task->point_count || queue->next > queue->bad)
		return true;
	const struct sweep_list *list = queue->task->request.list;
	return list && list->ends && list->ends(list->ctx, queue->next, queue->points);
}

size_t queue_take_points(struct sweep_queue *queue, size_t most, size_t *first)
{
	size_t count = 0;
	pthread_mutex_lock(&queue->lock);
	while (!is_over(queue) && queue->points[queue->next])
		queue->next++;
	*first = queue->next;
	while (count < most && !is_over(queue) && !queue->points[queue->next]) {
		queue->next++;
		count++;
	}
	pthread_mutex_unlock(&queue->lock);
	return count;
}

size_t queue_share(struct sweep_queue *queue, size_t takers)
{
	pthread_mutex_lock(&queue->lock);
	size_t share = (queue->task->point_count - queue->next) / (SHARES_COUNT * takers);
	pthread_mutex_unlock(&queue->lock);
	return share < 1 ? 1 : share > SHARE_MAX ? SHARE_MAX : share;
}

void queue_put(struct sweep_queue *queue, const char *line, size_t size_B, bool computed)
{
	struct arena *scratch = arena_new();
	size_t index = 0;
	const struct prediction *point = sweep_point_read(scratch, line, size_B, &index);
	pthread_mutex_lock(&queue->lock);
	if (point && index < queue->task->point_count && !queue->points[index]) {
		queue->points[index] = prediction_copy(queue->arena, queue->texts, point);
		queue->done++;
		if (!computed)
			queue->before++;
		if (computed && queue->journal && !queue->outside &&
		    journal_add(queue->journal, line, size_B) != 0)
			queue->outside = arena_printf(
				queue->arena, "the file cannot be written: %s", strerror(errno));
		const struct watch *watch = &queue->task->request.input.watch;
		if (watch->tell)
			watch->tell(watch->ctx, queue->before, queue->done,
				    queue->task->point_count);
	} else if (!point && computed) {
		queue->broken = "a worker returned a malformed sweep point";
		queue->bad = 0;
	}
	pthread_mutex_unlock(&queue->lock);
	arena_free(scratch);
}

void queue_refuse(struct sweep_queue *queue, size_t index, const char *why)
{
	pthread_mutex_lock(&queue->lock);
	queue->task->request.list->refused[index] = arena_strdup(queue->arena, why);
	pthread_mutex_unlock(&queue->lock);
}

void queue_put_errors(struct sweep_queue *queue, size_t index, const char *const *errors,
		      size_t count, const char *broken)
{
	pthread_mutex_lock(&queue->lock);
	if (index < queue->bad) {
		queue->bad = index;
		queue->broken = broken ? arena_strdup(queue->arena, broken) : NULL;
		queue->error_count = count;
		queue->errors = ARENA_ARRAY(queue->arena, count + 1, const char *);
		for (size_t i = 0; i < count; i++)
			queue->errors[i] = arena_strdup(queue->arena, errors[i]);
	}
	pthread_mutex_unlock(&queue->lock);
}
