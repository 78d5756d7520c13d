/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The points of a sweep, and the queue between its workers (threads and other ranks) and its
 * results. Only the sweep uses these functions.
 *
 * Every point is converted to a line of the journal and back, even without a journal. A sweep that
 * was resumed, or computed on many machines, therefore gives the same bytes as any other. The queue
 * holds points to compute and finished points. Any number of threads may use it. */
#pragma once

#include <pthread.h>

#include "sim/analysis/journal.h"
#include "sim/analysis/sweep.h"

struct sweep_task { /* shared by all points */
	struct sweep_request request;
	size_t point_count;
};

/* Returns the task of the request. Its points have no draws if only some of them have any. */
struct sweep_task sweep_task_of(const struct sweep_request *request);

/* Returns the case of a point. Its settings are in arena. */
struct case_request sweep_point_case(struct arena *arena, const struct sweep_task *task,
				     size_t index);

/* Keeps the recorded program of `scenario`, the case of a point, for the other points, if all
 * points use it. */
void sweep_keep_calls(struct sweep_task *task, const struct scenario *scenario);

struct sweep_result {
	const char *line; /* NULL: there are errors in diag, or an invariant broke */
	size_t size_B;
	const char *broken;
};
struct sweep_result sweep_point(struct arena *arena, struct diag *diag,
				const struct sweep_task *task, size_t index);

/* Returns the line of a point, with its line end; NULL: out of memory. */
const char *sweep_line(struct arena *arena, size_t index, const struct prediction *prediction);

/* Returns the prediction without clients, calls, links and parameters. */
struct prediction sweep_bare(const struct prediction *prediction);

struct sweep_queue {
	struct arena *arena;
	const struct sweep_task *task;
	const struct prediction **points;
	struct journal *journal; /* NULL: none */
	size_t next, before, done;
	size_t bad;          /* index of the first point with errors; SIZE_MAX: none */
	const char **errors; /* errors of that point */
	size_t error_count;
	const char *broken;
	const char *outside; /* message of a file system error, which ends the sweep; NULL: none */
	struct names *texts; /* texts that the points share */
	pthread_mutex_t lock;
};

/* Takes up to `most` consecutive points that no other worker has, from *first. Returns their
 * number; 0: none is left. */
size_t queue_take_points(struct sweep_queue *queue, size_t most, size_t *first);
/* Returns how many points one of `takers` workers should take next: a part of its share of the
 * points left, so that all workers end at about the same time. */
size_t queue_share(struct sweep_queue *queue, size_t takers);

/* Stores a finished point given as its line. computed = false: the line comes from the journal
 * and is not added to it again. */
void queue_put(struct sweep_queue *queue, const char *line, size_t size_B, bool computed);
/* Stores why a point of a list cannot be simulated. */
void queue_refuse(struct sweep_queue *queue, size_t index, const char *why);
/* Runs on rank 0: gives points of the queue to the other ranks, each with `jobs` threads, until all
 * these threads have been told that no point is left. The other ranks take a few points at a time
 * and send each one back when it is finished, so that no rank waits for a slower one. queue NULL:
 * each rank is told to end, because the sweep was refused. */
void sweep_serve(const struct ranks *ranks, unsigned jobs, struct sweep_queue *queue);
/* Runs on the other ranks: computes points until none is left. Returns false if the first rank has
 * no such sweep. */
bool sweep_help(struct sweep_queue *queue);
/* Runs on all ranks after a sweep: sends the points of a list from the first rank to the others.
 * failed: the sweep has errors. Returns false on a rank that gets none. */
bool sweep_share(struct sweep_queue *queue, bool failed);

/* Stores the errors of a point, or the message of its broken invariant. */
void queue_put_errors(struct sweep_queue *queue, size_t index, const char *const *errors,
		      size_t count, const char *broken);
