/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Points to be computed and points that are: the middle of a sweep, between
 * workers (threads here, other ranks) and the kept results. Safe for any
 * number of threads. Private to the sweep.
 */
#ifndef FARWIRE_ANALYSIS_SWEEP_QUEUE_H
#define FARWIRE_ANALYSIS_SWEEP_QUEUE_H

#include <pthread.h>

#include "sim/analysis/journal.h"
#include "sim/analysis/sweep_point.h"

struct sweep_queue {
	struct arena *arena;
	const struct sweep_task *task;
	const struct prediction **points;
	struct journal *journal; /* NULL: none */
	size_t next, before, done;
	size_t bad;          /* the first point with errors, or SIZE_MAX */
	const char **errors; /* of it */
	size_t error_count;
	const char *broken;
	const char *outside; /* what the file system refused; ends the sweep */
	struct names *texts; /* that points share */
	pthread_mutex_t lock;
};

/* Takes up to `most` points in a row that no worker has; 0: none are left. */
size_t queue_take_points(struct sweep_queue *queue, size_t most, size_t *first);
/* How many are left for each of takers, a fraction of it: what to give one of them
 * so that all end together. */
size_t queue_share(struct sweep_queue *queue, size_t takers);

/* A point as its line; from a journal (kept there already) or computed just now. */
void queue_put(struct sweep_queue *queue, const char *line, size_t size_B, bool computed);
/* Errors of a point, or what it broke. */
void queue_put_errors(struct sweep_queue *queue, size_t index, const char *const *errors,
		      size_t count, const char *broken);

#endif
