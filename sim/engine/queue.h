/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pending events, earliest first; of one time, in the order of adding.
 *
 * Time never runs back: an event is never added before one that was taken. So
 * this need not be a heap, which orders all that is pending at every step. It
 * sorts what is due next and keeps the rest in ever coarser buckets (a radix
 * heap, also known as a hierarchical timing wheel; queue.c explains it). An
 * event is copied a few times, always to the end of an array, and compared
 * with a few others: the cost hardly grows with the number of events pending.
 *
 * Cancelling only empties the event's slot; its node is dropped when its time
 * comes, or when more nodes are void than not. A slot's serial changes each time
 * it is emptied, so that an old id never meets a newer event. Storage grows by
 * doubling and is never given back before the arena.
 */
#ifndef FARWIRE_ENGINE_QUEUE_H
#define FARWIRE_ENGINE_QUEUE_H

#include "sim/engine/engine.h"

struct queue;

struct event {
	int64_t time_ps;
	event_fn *fn;
	void *ctx;
	uint64_t arg;
};

struct queue *queue_new(struct arena *arena);
/* Not before the last event taken, nor before 0 (asserted). */
struct event_id queue_add(struct queue *queue, int64_t time_ps, event_fn *fn, void *ctx,
			  uint64_t arg);
/* True if it was pending and is now gone. */
bool queue_cancel(struct queue *queue, struct event_id id);
size_t queue_count(const struct queue *queue);
/* Time of the earliest event; count > 0. */
int64_t queue_next_ps(struct queue *queue);
/* Takes the earliest event out; count > 0. */
struct event queue_take(struct queue *queue);

#endif
