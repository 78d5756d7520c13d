/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a sweep on several ranks. Rank 0 has the queue, the journal and the output, and computes
 * points, too. */
#include "sim/analysis/ranks.h"
#include "sim/analysis/sweep_queue.h"

#include <time.h>

#include "sim/base/parallel.h"

enum rank_tag {
	TAG_WANT = 1, /* to rank 0: asks for points */
	TAG_CHUNK,    /* from rank 0: "first count"; count 0: no point is left */
	TAG_POINT,    /* to rank 0: the line of a point */
	TAG_BROKEN,   /* to rank 0: "index" and the message of the broken invariant, on two lines */
	TAG_ERRORS,   /* to rank 0: "index" and one line for each error */
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
	size_t count = queue ? queue_take_points(queue, queue_share(queue, takers), &first) : 0;
	snprintf(text, sizeof text, "%zu %zu", first, count);
	say(ranks, to, TAG_CHUNK, text);
	*over += count == 0;
}

/* Reads the index and then one error on each line of text. */
static void take_errors(struct sweep_queue *queue, char *text, bool broken)
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
	queue_put_errors(queue, index, errors, broken ? 0 : count,
			 broken && count ? errors[0] : NULL);
}

void sweep_serve(const struct ranks *ranks, unsigned jobs, struct sweep_queue *queue)
{
	size_t others = (size_t)(ranks->count - 1) * (jobs ? jobs : 1), over = 0;
	while (over < others) {
		int from, tag;
		size_t size_B;
		if (!ranks->waiting(&from, &tag, &size_B)) {
			wait_a_moment();
			continue;
		}
		struct arena *scratch = arena_new();
		char *bytes = arena_alloc(scratch, size_B + 1);
		ranks->receive(from, tag, bytes, size_B);
		if (tag == TAG_WANT)
			give_chunk(ranks, from, queue, others + (jobs ? jobs : 1), &over);
		else if (queue && tag == TAG_POINT)
			queue_put(queue, bytes, size_B, true);
		else if (queue)
			take_errors(queue, bytes, tag == TAG_BROKEN);
		arena_free(scratch);
	}
}

/* ---- the other ranks ---- */

struct helping {
	const struct ranks *ranks;
	const struct sweep_task *task;
	const struct diag *diag; /* errors in this rank's input */
	pthread_mutex_t lock;    /* guards all calls of ranks */
};

static size_t ask(struct helping *h, size_t *first)
{
	char text[64] = "";
	int from, tag;
	size_t size_B, count;
	pthread_mutex_lock(&h->lock);
	say(h->ranks, 0, TAG_WANT, "");
	while (!h->ranks->waiting(&from, &tag, &size_B))
		wait_a_moment();
	h->ranks->receive(from, tag, text, size_B < sizeof text ? size_B : sizeof text - 1);
	pthread_mutex_unlock(&h->lock);
	return sscanf(text, "%zu %zu", first, &count) == 2 ? count : 0;
}

static void send_errors(struct helping *h, struct arena *arena, size_t index,
			const struct diag *diag, const char *broken)
{
	char *text = arena_printf(arena, "%zu\n%s", index, broken ? broken : "");
	for (size_t i = 0; !broken && i < diag_count(diag) && i < ERRORS_MAX; i++)
		text = arena_printf(arena, "%s%s\n", text, diag_at(diag, i));
	say(h->ranks, 0, broken ? TAG_BROKEN : TAG_ERRORS, text);
}

static void help_with(struct helping *h, size_t index)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct sweep_result result = {0};
	bool able = diag_count(h->diag) == 0;
	if (able)
		result = sweep_point(arena, diag, h->task, index);
	pthread_mutex_lock(&h->lock);
	if (result.line)
		h->ranks->send(0, TAG_POINT, result.line, result.size_B);
	else
		send_errors(h, arena, index, able ? diag : h->diag, result.broken);
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

void sweep_help(struct diag *diag, const struct sweep_request *request)
{
	struct sweep_task task = sweep_task_of(request);
	struct arena *arena = arena_new();
	unsigned jobs = request->input.options.jobs ? request->input.options.jobs : 1;
	if (diag_count(diag) == 0) {
		const struct case_request first = sweep_point_case(arena, &task, 0);
		sweep_keep_calls(&task, case_read(arena, diag, &first));
	}
	struct helping h = {.ranks = request->ranks, .task = &task, .diag = diag};
	pthread_mutex_init(&h.lock, NULL);
	/* Each worker asks rank 0 until no point is left, also one without an own thread. */
	parallel_each(jobs, jobs, help_worker, &h);
	pthread_mutex_destroy(&h.lock);
	arena_free(arena);
}
