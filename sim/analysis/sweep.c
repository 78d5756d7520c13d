/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a sweep: checks it, and predicts its points with several threads that share a queue. */
#include "sim/analysis/sweep.h"
#include "sim/base/hash.h"
#include "sim/base/parallel.h"
#include "sim/analysis/knobs.h"
#include "sim/engine/names.h"
#include "sim/analysis/sweep_queue.h"
#include "sim/analysis/ranks.h"

/* Number of values of each axis that are read before any point is predicted. If an axis is longer,
 * evenly spread values with both ends are read. */
enum { CHECKED_MAX = 256, ERRORS_MAX = 20 };

/* ---- before the first point ---- */

/* Returns the words for the parameters of the axes. */
static const char *const *words_of(struct arena *arena, const struct sweep_request *request,
				   const struct scenario *scenario)
{
	const char **words = ARENA_ARRAY(arena, request->axis_count, const char *);
	for (size_t a = 0; a < request->axis_count; a++) {
		const char *key = request->axes[a].key;
		const struct param_row *row = NULL;
		for (size_t i = 0; i < cfg_param_count(scenario->resolution) && !row; i++)
			if (paths_match(key, cfg_param_at(scenario->resolution, i)->path))
				row = cfg_param_at(scenario->resolution, i)->row;
		words[a] = cfg_param_words(arena, key, row);
	}
	return words;
}

/* Reads a case, adds its files to the hash and notes its prices. Returns what is wrong with the
 * case.
 */
static const struct diag *read_files(struct arena *arena, const struct case_request *request,
				     uint64_t *read, bool *prices)
{
	struct diag *own = diag_new(arena);
	const struct scenario *scenario = case_read(arena, own, request);
	*read = hash_count(*read, diag_read(own));
	if (prices)
		scenario_note_prices(request, scenario, prices);
	return own;
}

/* Reads the case at the first values of all axes and then along each axis, so that wrong values are
 * reported before a run. Sets *read to a hash of all files and *words to the words for the axes. A
 * recorded program is read only once. */
static bool check_values(struct arena *arena, struct diag *diag, struct sweep_task *task,
			 uint64_t *read, const char *const **words)
{
	const struct case_request base = sweep_point_case(arena, task, 0);
	struct diag *first = task->request.list ? diag_new(arena) : diag; /* it may be refused */
	const struct scenario *scenario = case_read(arena, first, &base);
	*read = diag_read(first);
	sweep_keep_calls(task, scenario);
	if (scenario)
		*words = words_of(arena, &task->request, scenario);
	bool *prices = ARENA_ARRAY(arena, base.setting_count + 1, bool);
	scenario_note_prices(&base, scenario, prices);
	size_t stride = task->point_count;
	for (size_t a = 0; a < task->request.axis_count && diag_count(diag) == 0; a++) {
		size_t count = task->request.axes[a].count;
		size_t checked = count < CHECKED_MAX ? count : CHECKED_MAX;
		stride /= count;
		for (size_t i = 1; i < checked; i++) {
			struct arena *scratch = arena_new();
			size_t index = i * (count - 1) / (checked - 1);
			const struct case_request one =
				sweep_point_case(scratch, task, index * stride);
			const struct diag *own = read_files(scratch, &one, read, prices);
			for (size_t e = 0; e < diag_count(own) && e < ERRORS_MAX; e++)
				diag_error(diag, (struct origin){0}, "%s", diag_at(own, e));
			arena_free(scratch);
		}
	}
	const struct sweep_list *list = task->request.list;
	for (size_t i = 1; task->request.journal && list && list->requests && i < list->point_count;
	     i++) {
		struct arena *scratch = arena_new();
		read_files(scratch, &list->requests[i], read, NULL);
		arena_free(scratch);
	}
	return diag_count(diag) == 0 && (list || scenario_check_prices(diag, &base, prices));
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
	const struct sweep_request *request = &queue->task->request;
	const struct analysis_input *input = &request->input;
	uint64_t settings = hash_count(HASH_START, input->options.seed), axes = HASH_START;
	settings = hash_count(settings, input->options.draws_count);
	for (size_t i = 0; i < input->request.setting_count; i++)
		settings = hash_text(settings, input->request.settings[i].text);
	for (size_t i = 0; request->list && i < request->list->point_count; i++) {
		const struct case_request point = sweep_point_case(arena, queue->task, i);
		axes = hash_text(axes, point.path ? point.path : "");
		for (size_t k = 0; k < point.setting_count; k++)
			axes = hash_text(axes, point.settings[k].text);
	}
	for (size_t a = 0; a < request->axis_count; a++) {
		axes = hash_count(axes, request->axes[a].count);
		for (size_t i = 0; i < request->axes[a].count; i++)
			axes = hash_text(axes, request->axes[a].texts[i]);
	}
	const struct journal_part parts[] = {
		{"program", "the program", hash_program()},
		{"files", "the files that it reads", read},
		{"settings", "the settings", settings},
		{"axes", request->list ? "the list of points" : "the axes", axes}};
	const struct journal_head head = {queue->task->point_count, parts,
					  sizeof parts / sizeof parts[0]};
	bool refused;
	struct journal *journal =
		journal_open(arena, diag, request->journal, &head, reader, &refused);
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
	const struct sweep_list *list = queue->task->request.list;
	if (list && list->refused && !result.line && !result.broken) {
		queue_refuse(queue, index, diag_at(diag, 0));
	} else if (result.line) {
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

/* Serves other ranks as the first of the workers, if there are any, and computes points as the
 * others. */
static void run_worker(void *ctx, size_t worker)
{
	struct sweep_queue *queue = ctx;
	const struct sweep_request *request = &queue->task->request;
	size_t index;
	if (worker == 0 && request->input.options.ranks)
		sweep_serve(request->input.options.ranks, request->input.options.jobs, queue);
	else
		while (queue_take_points(queue, 1, &index))
			compute_one(queue, index);
}

static void run_workers(struct sweep_queue *queue)
{
	const struct sweep_request *request = &queue->task->request;
	unsigned jobs = request->input.options.jobs;
	jobs = (jobs ? jobs : 1) + (request->input.options.ranks ? 1 : 0);
	parallel_each(jobs, jobs, run_worker, queue);
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
	diag_error(diag, (struct origin){queue->task->request.journal, 0}, "%s", queue->outside);
}

static void run_queue(struct arena *arena, struct diag *diag, struct sweep_queue *queue,
		      uint64_t read, struct sweep_fault *fault)
{
	const struct sweep_request *request = &queue->task->request;
	if (request->journal)
		queue->journal = open_journal(arena, diag, queue, read,
					      (struct journal_reader){take_kept, queue}, fault);
	bool runs = !request->journal || queue->journal;
	if (runs)
		run_workers(queue);
	if (queue->journal && journal_close(queue->journal) != 0 && !queue->outside)
		queue->outside = "the last points could not be written to the disk";
	say_errors(diag, queue, fault);
	if (runs && request->input.options.ranks)
		sweep_share(queue, diag_count(diag) || fault->broken);
}

/* Returns the fastest point without draws; SIZE_MAX: there is none. */
static size_t fastest_undrawn(const struct sweep *sweep)
{
	size_t best = SIZE_MAX;
	for (size_t i = 0; i < sweep->point_count; i++) {
		const struct prediction *p = sweep->points[i];
		if (p->ok && p->drawn_count == 0 &&
		    (best == SIZE_MAX ||
		     p->throughput.value > sweep->points[best]->throughput.value))
			best = i;
	}
	return best;
}

/* Predicts the first point and the fastest ones again, with draws. A decision is between these
 * points, and draws of all points of a large sweep would take several times as long. */
static void draw_some(struct arena *arena, struct diag *diag, const struct sweep_task *task,
		      size_t draws_count, struct sweep *sweep, struct sweep_fault *fault)
{
	struct predict_options options = task->request.input.options;
	options.draws_count = draws_count;
	for (size_t i = 0; i < task->request.most_drawn; i++) {
		bool first = i == 0 && sweep->points[0]->ok;
		size_t point = first ? 0 : fastest_undrawn(sweep);
		if (point == SIZE_MAX)
			return;
		const struct case_request request = sweep_point_case(arena, task, point);
		const struct prediction *drawn =
			predict_case(arena, diag, &request, &options, &fault->broken);
		if (!drawn)
			return;
		struct prediction *bare = ARENA_NEW(arena, struct prediction);
		*bare = sweep_bare(drawn);
		sweep->points[point] = bare;
	}
}

/* Checks the sweep and predicts its points, on rank 0 or without other ranks. */
static bool lead(struct arena *arena, struct diag *diag, struct sweep_task *task,
		 struct sweep_queue *queue, struct sweep *sweep, struct sweep_fault *fault)
{
	uint64_t read = HASH_START;
	if (sweep_axes_check(diag, task->request.axes, task->request.axis_count) &&
	    check_values(arena, diag, task, &read, &sweep->words))
		run_queue(arena, diag, queue, read, fault);
	return !diag_count(diag) && !fault->broken;
}

const struct sweep *sweep_run(struct arena *arena, struct diag *diag,
			      const struct sweep_request *request, struct sweep_fault *fault)
{
	struct sweep *sweep = ARENA_NEW(arena, struct sweep);
	struct sweep_task task = sweep_task_of(request);
	*fault = (struct sweep_fault){0};
	*sweep = (struct sweep){
		.axes = request->axes,
		.axis_count = request->axis_count,
		.points = ARENA_ARRAY(arena, task.point_count, const struct prediction *),
		.point_count = task.point_count};
	struct sweep_queue queue = {.arena = arena,
				    .task = &task,
				    .points = sweep->points,
				    .bad = SIZE_MAX,
				    .texts = names_new(arena)};
	pthread_mutex_init(&queue.lock, NULL);
	bool done = false;
	if (request->input.options.ranks && request->input.options.ranks->rank > 0) {
		const struct case_request first = sweep_point_case(arena, &task, 0);
		sweep_keep_calls(&task, case_read(arena, diag_new(arena), &first));
		done = sweep_help(&queue) && sweep_share(&queue, false) && request->list;
	} else if (lead(arena, diag, &task, &queue, sweep, fault)) {
		size_t draws_count = request->input.options.draws_count;
		if (task.request.input.options.draws_count < draws_count)
			draw_some(arena, diag, &task, draws_count, sweep, fault);
		done = !diag_count(diag) && !fault->broken;
	}
	pthread_mutex_destroy(&queue.lock);
	return done ? sweep : NULL;
}

size_t sweep_axis_index(const struct sweep *sweep, size_t point, size_t axis)
{
	for (size_t a = sweep->axis_count; a-- > axis + 1;)
		point /= sweep->axes[a].count;
	return point % sweep->axes[axis].count;
}
