/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pending events, earliest first; events of the same time in the order of adding.
 *
 * An event is never added before one that was taken, because time never decreases. So the queue
 * need not be a heap, which orders all pending events at every step. It sorts only the events that
 * are due next and keeps the others in ever coarser buckets (a radix heap, also known as a
 * hierarchical timing wheel; queue.c explains it). An event is copied a few times, always to the
 * end of an array, and compared with a few others. The cost hardly grows with the number of pending
 * events.
 *
 * Cancelling only empties the slot of an event. Its node is dropped when its time comes, or when
 * void nodes outnumber valid ones. The serial of a slot changes each time it is emptied, so an old
 * id never matches a newer event. Storage grows by doubling and is freed only with the arena.
 */
#pragma once

#include "sim/engine/engine.h"

struct queue;

struct event {
	int64_t time_ps;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
};

struct queue *queue_new(struct arena *arena);
/* Adds an event. Its time must not be before the last event taken, nor negative (asserted). */
struct event_id queue_add(struct queue *queue, int64_t time_ps, event_fn *fn, void *ctx,
			  uint64_t arg);
/* Returns true if the event was pending and is now removed. */
bool queue_cancel(struct queue *queue, struct event_id id);
size_t queue_count(const struct queue *queue);
/* Returns the number of events added since the start. */
uint64_t queue_added_count(const struct queue *queue);
/* Returns true if the earliest event is among the first `count` that were added. Numbers are kept
 * modulo 2^32, so at most 2^31 events may have been added since. The queue must not be empty. */
bool queue_next_precedes(struct queue *queue, uint64_t count);
/* Returns the time of the earliest event. The queue must not be empty. */
int64_t queue_next_ps(struct queue *queue);
/* Removes and returns the earliest event. The queue must not be empty. */
struct event queue_take(struct queue *queue);
