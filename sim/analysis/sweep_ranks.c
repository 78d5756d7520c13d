/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a sweep on several ranks. Rank 0 has the queue, the journal and the output, and computes
 * points, too. After a list it sends all points to the others. */
#include "sim/analysis/ranks.h"
#include "sim/analysis/sweep_queue.h"

#include <time.h>

#include "sim/base/parallel.h"

enum rank_tag {
	TAG_WANT = 1, /* to rank 0: asks for points */
	TAG_CHUNK,    /* from rank 0: "first count"; count 0: no point is left; "": no sweep */
	TAG_POINT,    /* to rank 0: the line of a point */
	TAG_BROKEN,   /* to rank 0: "index" and the message of the broken invariant, on two lines */
	TAG_ERRORS,   /* to rank 0: "index" and one line for each error */
	TAG_REFUSED,  /* "index" and why the list has no such point, on two lines */
	TAG_GONE,     /* to rank 0: as TAG_ERRORS; this rank asks for nothing more */
	TAG_END,      /* from rank 0: the sweep and its points are complete; "failed": it failed */
};
enum { ERRORS_MAX = 20 };

/* A blocking wait of MPI would use a whole core. A point takes milliseconds, so this sleep is
 * short enough. */
static void wait_a_moment(void)
{
	const struct timespec moment = {.tv_nsec = 200000};
	nanosleep(&moment, NULL);
}

static void say(const struct ranks *ranks, int to, enum rank_tag tag, const char *text)
{
	ranks->send(to, (int)tag, text, strlen(text));
}

/* ---- rank 0 ---- */

static void give_chunk(const struct ranks *ranks, int to, struct sweep_queue *queue, size_t takers,
		       size_t *over)
{
	char text[64];
	size_t first = 0;
	size_t count = queue_take_points(queue, queue_share(queue, takers), &first);
	snprintf(text, sizeof text, "%zu %zu", first, count);
	say(ranks, to, TAG_CHUNK, text);
	*over += count == 0;
}

/* Reads the index and then one error on each line of text. */
static void take_errors(struct sweep_queue *queue, char *text, int tag)
{
	const char *errors[ERRORS_MAX];
	size_t count = 0;
	char *end;
	size_t index = strtoull(text, &end, 10);
	for (char *line = *end ? end + 1 : end; line && *line && count < ERRORS_MAX;) {
		errors[count++] = line;
		line = strchr(line, '\n');
		if (line)
			*line++ = '\0';
	}
	bool broken = tag == TAG_BROKEN && count > 0;
	if (tag == TAG_REFUSED && count > 0 && index < queue->task->point_count)
		queue_refuse(queue, index, errors[0]);
	else
		queue_put_errors(queue, index, errors, broken ? 0 : count,
				 broken ? errors[0] : NULL);
}

/* Waits for a text, and returns it. */
static char *receive(const struct ranks *ranks, struct arena *arena, int *from, int *tag,
		     size_t *size_B)
{
	while (!ranks->waiting(from, tag, size_B))
		wait_a_moment();
	char *bytes = arena_alloc(arena, *size_B + 1);
	ranks->receive(*from, *tag, bytes, *size_B);
	return bytes;
}

void sweep_serve(const struct ranks *ranks, unsigned jobs, struct sweep_queue *queue)
{
	jobs = queue && jobs ? jobs : 1;
	size_t others = (size_t)(ranks->count - 1) * jobs;
	size_t over = (size_t)*ranks->gone_count * jobs;
	while (over < others) {
		int from, tag;
		size_t size_B;
		struct arena *scratch = arena_new();
		char *bytes = receive(ranks, scratch, &from, &tag, &size_B);
		if (tag == TAG_GONE) {
			over += jobs;
			++*ranks->gone_count;
		}
		if (tag == TAG_WANT && queue)
			give_chunk(ranks, from, queue, others + jobs, &over);
		else if (tag == TAG_WANT)
			say(ranks, from, TAG_CHUNK, "");
		else if (queue && tag == TAG_POINT)
			queue_put(queue, bytes, size_B, true);
		else if (queue)
			take_errors(queue, bytes, tag);
		arena_free(scratch);
	}
}

/* ---- the other ranks ---- */

struct helping {
	struct sweep_queue *queue;
	const struct ranks *ranks;
	pthread_mutex_t lock; /* guards all calls of ranks, and ended */
	bool ended;           /* the first rank has no such sweep */
};

static size_t ask(struct helping *h, size_t *first)
{
	struct arena *scratch = arena_new();
	int from, tag;
	size_t size_B, count;
	pthread_mutex_lock(&h->lock);
	say(h->ranks, 0, TAG_WANT, "");
	const char *text = receive(h->ranks, scratch, &from, &tag, &size_B);
	bool given = sscanf(text, "%zu %zu", first, &count) == 2;
	h->ended |= !given;
	pthread_mutex_unlock(&h->lock);
	arena_free(scratch);
	return given ? count : 0;
}

static const char *errors_text(struct arena *arena, size_t index, const struct diag *diag)
{
	const char *text = arena_printf(arena, "%zu\n", index);
	for (size_t i = 0; i < diag_count(diag) && i < ERRORS_MAX; i++)
		text = arena_printf(arena, "%s%s\n", text, diag_at(diag, i));
	return text;
}

static void help_with(struct helping *h, size_t index)
{
	const struct sweep_task *task = h->queue->task;
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct sweep_result result = sweep_point(arena, diag, task, index);
	bool refuses = task->request.list && task->request.list->refused;
	pthread_mutex_lock(&h->lock);
	if (result.line)
		h->ranks->send(0, TAG_POINT, result.line, result.size_B);
	else if (result.broken)
		say(h->ranks, 0, TAG_BROKEN, arena_printf(arena, "%zu\n%s", index, result.broken));
	else
		say(h->ranks, 0, refuses ? TAG_REFUSED : TAG_ERRORS,
		    errors_text(arena, index, diag));
	pthread_mutex_unlock(&h->lock);
	arena_free(arena);
}

static void help_worker(void *ctx, size_t worker)
{
	struct helping *h = ctx;
	size_t first, count;
	(void)worker;
	while ((count = ask(h, &first)) > 0)
		for (size_t i = 0; i < count; i++)
			help_with(h, first + i);
}

bool sweep_help(struct sweep_queue *queue)
{
	const struct predict_options *options = &queue->task->request.input.options;
	unsigned jobs = options->jobs ? options->jobs : 1;
	struct helping h = {.queue = queue, .ranks = options->ranks};
	pthread_mutex_init(&h.lock, NULL);
	/* Each worker asks rank 0 until no point is left, also one without an own thread. */
	parallel_each(jobs, jobs, help_worker, &h);
	pthread_mutex_destroy(&h.lock);
	return !h.ended;
}

/* ---- all ranks ---- */

static void send_points(const struct ranks *ranks, const struct sweep_queue *queue)
{
	const struct sweep_list *list = queue->task->request.list;
	for (size_t i = 0; i < queue->task->point_count; i++) {
		struct arena *scratch = arena_new();
		const struct prediction *point = queue->points[i];
		bool refused = !point && list->refused && list->refused[i];
		const char *text = point     ? sweep_line(scratch, i, point)
				   : refused ? arena_printf(scratch, "%zu\n%s", i, list->refused[i])
					     : NULL;
		for (int to = 1; text && to < ranks->count; to++)
			say(ranks, to, point ? TAG_POINT : TAG_REFUSED, text);
		arena_free(scratch);
	}
}

bool sweep_share(struct sweep_queue *queue, bool failed)
{
	const struct ranks *ranks = queue->task->request.input.options.ranks;
	if (ranks->rank == 0 && queue->task->request.list && !failed)
		send_points(ranks, queue);
	for (int to = 1; ranks->rank == 0 && to < ranks->count; to++)
		say(ranks, to, TAG_END, failed ? "failed" : "");
	for (int tag = ranks->rank == 0 ? TAG_END : 0; tag != TAG_END;) {
		struct arena *scratch = arena_new();
		int from;
		size_t size_B;
		char *bytes = receive(ranks, scratch, &from, &tag, &size_B);
		if (tag == TAG_POINT)
			queue_put(queue, bytes, size_B, false);
		else if (tag == TAG_REFUSED)
			take_errors(queue, bytes, tag);
		else
			failed = size_B > 0;
		arena_free(scratch);
	}
	return !failed;
}

void sweep_leave(const struct ranks *ranks, const char *text)
{
	if (ranks->rank == 0)
		sweep_serve(ranks, 1, NULL);
	else
		say(ranks, 0, TAG_GONE, text);
}
