/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sweep from its check to its end: threads around a queue of points. */
#include "sim/predict/sweep.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/hash.h"
#include "sim/engine/names.h"
#include "sim/predict/sweep_queue.h"
#include "sim/predict/sweep_ranks.h"

/* Values of an axis that are read before any point is computed; of longer axes as
 * many, evenly spread, with both ends. */
enum { CHECKED_MAX = 256, ERRORS_MAX = 20 };

/* ---- before the first point ---- */

/* Reads the case at the first values of all axes and then along each of them, so
 * that what is wrong with a value is said at once. *read: a hash of all the
 * files. The first reading's recorded program is read no second time. */
static bool check_values(struct arena *arena, struct diag *diag, struct sweep_task *task,
			 struct case_request *request, uint64_t *read)
{
	const struct case_request base = sweep_request(arena, task, 0);
	const struct scenario *scenario = case_read(arena, diag, &base);
	*read = diag_read(diag);
	request->calls = sweep_calls(task, scenario);
	size_t stride = task->point_count;
	for (size_t a = 0; a < task->axis_count && diag_count(diag) == 0; a++) {
		size_t count = task->axes[a].count;
		size_t checked = count < CHECKED_MAX ? count : CHECKED_MAX;
		stride /= count;
		for (size_t i = 1; i < checked; i++) {
			struct arena *scratch = arena_new();
			size_t index = i * (count - 1) / (checked - 1);
			const struct case_request one =
				sweep_request(scratch, task, index * stride);
			struct diag *own = diag_new(scratch);
			case_read(scratch, own, &one);
			*read = hash_count(*read, diag_read(own));
			for (size_t e = 0; e < diag_count(own) && e < ERRORS_MAX; e++)
				diag_error(diag, (struct origin){0}, "%s", diag_at(own, e));
			arena_free(scratch);
		}
	}
	return diag_count(diag) == 0;
}

static uint64_t hash_program(void)
{
	char block[1 << 14];
	uint64_t hash = hash_text(HASH_START, FARWIRE_VERSION);
	FILE *program = fopen("/proc/self/exe", "rb");
	for (size_t got; program && (got = fread(block, 1, sizeof block, program)) > 0;)
		hash = hash_bytes(hash, block, got);
	if (program)
		fclose(program);
	return hash;
}

static struct journal *open_journal(struct arena *arena, struct diag *diag,
				    struct sweep_queue *queue, uint64_t read,
				    struct journal_reader reader, struct sweep_fault *fault)
{
	const struct sweep_task *task = queue->task;
	uint64_t settings = hash_count(HASH_START, task->options.seed), axes = HASH_START;
	settings = hash_count(settings, task->options.draws_count);
	for (size_t i = 0; i < task->request->setting_count; i++)
		settings = hash_text(settings, task->request->settings[i].text);
	for (size_t a = 0; a < task->axis_count; a++) {
		axes = hash_count(axes, task->axes[a].count);
		for (size_t i = 0; i < task->axes[a].count; i++)
			axes = hash_text(axes, task->axes[a].texts[i]);
	}
	const struct journal_part parts[] = {{"program", "the program", hash_program()},
					     {"files", "the files that it reads", read},
					     {"settings", "the settings", settings},
					     {"axes", "the axes", axes}};
	const struct journal_head head = {task->point_count, parts, sizeof parts / sizeof parts[0]};
	bool refused;
	struct journal *journal =
		journal_open(arena, diag, queue->how->journal, &head, reader, &refused);
	fault->outside = !journal && !refused;
	return journal;
}

static void take_kept(void *ctx, const char *line, size_t size_B)
{
	queue_put(ctx, line, size_B, false);
}

/* ---- the points ---- */

static void compute_one(struct sweep_queue *queue, size_t index)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct sweep_result result = sweep_point(arena, diag, queue->task, index);
	if (result.line) {
		queue_put(queue, result.line, result.size_B, true);
	} else {
		const char *errors[ERRORS_MAX];
		size_t count = 0;
		for (; count < diag_count(diag) && count < ERRORS_MAX; count++)
			errors[count] = diag_at(diag, count);
		queue_put_errors(queue, index, errors, count, result.broken);
	}
	arena_free(arena);
}

static void *sweep_worker(void *ctx)
{
	struct sweep_queue *queue = ctx;
	size_t index;
	while (queue_take_points(queue, 1, &index))
		compute_one(queue, index);
	return NULL;
}

static void run_workers(struct arena *arena, struct sweep_queue *queue)
{
	unsigned jobs = queue->task->options.jobs ? queue->task->options.jobs : 1, started = 0;
	const struct ranks *ranks = queue->how->ranks;
	/* beside other ranks this thread serves them */
	unsigned wanted = ranks ? jobs : jobs - 1;
	pthread_t *threads = ARENA_ARRAY(arena, wanted + 1, pthread_t);
	while (started < wanted &&
	       pthread_create(&threads[started], NULL, sweep_worker, queue) == 0)
		started++;
	if (ranks)
		ranks_serve(ranks, jobs, queue);
	if (!ranks || started == 0)
		sweep_worker(queue);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

static void say_errors(struct diag *diag, const struct sweep_queue *queue,
		       struct sweep_fault *fault)
{
	for (size_t i = 0; i < queue->error_count; i++)
		diag_error(diag, (struct origin){0}, "%s", queue->errors[i]);
	fault->broken = queue->broken;
	if (!queue->outside)
		return;
	fault->outside = true;
	diag_error(diag, (struct origin){queue->how->journal, 0}, "%s", queue->outside);
}

static void run_queue(struct arena *arena, struct diag *diag, struct sweep_queue *queue,
		      uint64_t read, struct sweep_fault *fault)
{
	pthread_mutex_init(&queue->lock, NULL);
	if (queue->how->journal)
		queue->journal = open_journal(arena, diag, queue, read,
					      (struct journal_reader){take_kept, queue}, fault);
	if (!queue->how->journal || queue->journal)
		run_workers(arena, queue);
	else if (queue->how->ranks)
		sweep_dismiss(queue->how->ranks, queue->task->options.jobs);
	if (queue->journal && journal_close(queue->journal) != 0 && !queue->outside)
		queue->outside = "its last points did not reach the disk";
	pthread_mutex_destroy(&queue->lock);
	say_errors(diag, queue, fault);
}

const struct sweep *sweep_run(struct arena *arena, struct diag *diag,
			      const struct case_request *request, const struct sweep_axis *axes,
			      size_t axis_count, const struct predict_options *options,
			      const struct sweep_how *how, struct sweep_fault *fault)
{
	struct sweep *sweep = ARENA_NEW(arena, struct sweep);
	struct case_request shared = *request;
	struct sweep_task task = {.request = &shared,
				  .axes = axes,
				  .axis_count = axis_count,
				  .point_count = 1,
				  .options = *options};
	*fault = (struct sweep_fault){0};
	for (size_t i = 0; i < axis_count; i++)
		task.point_count *= axes[i].count;
	uint64_t read = HASH_START;
	if (!sweep_axes_check(diag, axes, axis_count) ||
	    !check_values(arena, diag, &task, &shared, &read)) {
		if (how->ranks)
			sweep_dismiss(how->ranks, options->jobs);
		return NULL;
	}
	*sweep = (struct sweep){
		.axes = axes,
		.axis_count = axis_count,
		.points = ARENA_ARRAY(arena, task.point_count, const struct prediction *),
		.point_count = task.point_count};
	struct sweep_queue queue = {.arena = arena,
				    .task = &task,
				    .how = how,
				    .points = sweep->points,
				    .bad = SIZE_MAX,
				    .texts = names_new(arena)};
	run_queue(arena, diag, &queue, read, fault);
	return diag_count(diag) || fault->broken ? NULL : sweep;
}

size_t sweep_axis_index(const struct sweep *sweep, size_t point, size_t axis)
{
	for (size_t a = sweep->axis_count; a-- > axis + 1;)
		point /= sweep->axes[a].count;
	return point % sweep->axes[axis].count;
}
