/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pending events, earliest first.
 *
 * The one thing behind the engine whose speed matters: everything that the
 * rest of the program may know of it is below, so that another structure (a
 * calendar queue, a ladder) can take its place. Here it is a 4-ary heap of
 * (time, sequence, slot) and a pool of slots that hold what is to be called.
 * The sequence makes the order total: events of one time leave in the order in
 * which they came. A slot's serial changes each time it is emptied, so that an
 * old id never meets a newer event. Storage doubles when full and is never
 * given back before the arena.
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
struct event_id queue_add(struct queue *queue, const struct event *event);
/* True if it was pending and is now gone. */
bool queue_cancel(struct queue *queue, struct event_id id);
size_t queue_count(const struct queue *queue);
/* Time of the earliest event; count > 0. */
int64_t queue_next_ps(const struct queue *queue);
/* Takes the earliest event out; count > 0. */
struct event queue_take(struct queue *queue);

#endif
