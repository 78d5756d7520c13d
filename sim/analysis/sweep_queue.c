/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/analysis/sweep_queue.h"

static const char point_key[] = "{\"point\":", prediction_key[] = ",\"prediction\":";

struct sweep_task sweep_task_of(const struct sweep_request *request)
{
	struct sweep_task task = {*request, request->list ? request->list->point_count : 1};
	for (size_t i = 0; i < request->axis_count; i++)
		task.point_count *= request->axes[i].count;
	if (request->most_drawn > 0 && task.point_count > request->most_drawn)
		task.request.input.options.draws_count = 0;
	return task;
}

struct case_request sweep_point_case(struct arena *arena, const struct sweep_task *task,
				     size_t index)
{
	const struct case_request *base = &task->request.input.request;
	const struct sweep_axis *axes = task->request.axes;
	const struct sweep_list *list = task->request.list;
	struct setting settings[AXES_MAX];
	size_t count = 0;
	if (list && list->requests)
		return list->requests[index];
	if (list)
		return request_with(arena, base, list->settings[index], list->setting_count);
	for (size_t a = task->request.axis_count; a-- > 0; index /= axes[a].count)
		settings[count++] =
			(struct setting){axes[a].texts[index % axes[a].count], {axes[a].from, 0}};
	return request_with(arena, base, settings, count);
}

void sweep_keep_calls(struct sweep_task *task, const struct scenario *scenario)
{
	for (size_t a = 0; a < task->request.axis_count; a++)
		if (strcmp(task->request.axes[a].key, "case.calls") == 0)
			return;
	task->request.input = analysis_with_calls(task->request.input, scenario);
}

struct prediction sweep_bare(const struct prediction *prediction)
{
	struct prediction bare = *prediction;
	bare.jobs = NULL;
	bare.links = NULL;
	bare.waiting_calls = NULL;
	bare.calls = NULL;
	bare.job_count = bare.link_count = bare.waiting_call_count = bare.call_kind_count = 0;
	bare.resolution = NULL;
	return bare;
}

const char *sweep_line(struct arena *arena, size_t index, const struct prediction *prediction)
{
	char *text = NULL;
	size_t size_B = 0;
	FILE *memory = open_memstream(&text, &size_B);
	if (!memory)
		return NULL;
	predictions_write(memory, FORMAT_JSONL, &prediction, 1);
	if (fclose(memory) != 0 || size_B == 0) {
		free(text);
		return NULL;
	}
	text[size_B - 1] = '\0'; /* replaces the line end */
	const char *line =
		arena_printf(arena, "%s%zu%s%s}\n", point_key, index, prediction_key, text);
	free(text);
	return line;
}

struct sweep_result sweep_point(struct arena *arena, struct diag *diag,
				const struct sweep_task *task, size_t index)
{
	struct sweep_result result = {0};
	struct predict_options options = task->request.input.options;
	struct case_request request = sweep_point_case(arena, task, index);
	options.jobs = 1;
	options.trace = NULL;
	const struct prediction *prediction =
		predict_case(arena, diag, &request, &options, &result.broken);
	if (!prediction)
		return result;
	struct prediction kept = sweep_bare(prediction);
	if (task->request.list && task->request.list->requests) {
		kept.jobs = prediction->jobs;
		kept.job_count = prediction->job_count;
	}
	result.line = sweep_line(arena, index, &kept);
	if (result.line)
		result.size_B = strlen(result.line);
	else
		result.broken = "out of memory";
	return result;
}

/* Returns the prediction in the line and its index; NULL if the line is not a point. */
static const struct prediction *read_line(struct arena *arena, const char *line, size_t size_B,
					  size_t *index)
{
	const size_t key_B = sizeof point_key - 1, next_B = sizeof prediction_key - 1;
	if (size_B < key_B + 2 || memcmp(line, point_key, key_B) != 0 || line[size_B - 1] != '\n')
		return NULL;
	char *end;
	*index = strtoull(line + key_B, &end, 10);
	size_t at = (size_t)(end - line) + next_B;
	if (at + 2 > size_B || memcmp(end, prediction_key, next_B) != 0)
		return NULL;
	return prediction_read(arena, line + at, size_B - 2 - at); /* without the end of the line */
}

/* ---- the queue ---- */

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
	const struct prediction *point = read_line(scratch, line, size_B, &index);
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
