/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues and pools of structs that are linked by a member.
 *
 *   QUEUE(struct call) waiting = {0};
 *   QUEUE_PUSH(&waiting, call, next);
 *   struct call *first = waiting.head;
 *   waiting.head = first->next;
 *
 * An empty queue has no head. Its tail has no meaning then, so that code which removes the head
 * need not change the tail.
 *
 * A pool is a list of structs that are free. POOL_TAKE takes one of them, or makes a zeroed one in
 * the arena if there is none. POOL_GIVE gives one back.
 */
#pragma once

#include "sim/base/arena.h"

#define QUEUE(type)                                                                                \
	struct {                                                                                   \
		type *head, *tail;                                                                 \
	}

/* Adds an item behind the tail; `link` is the member that links items. */
#define QUEUE_PUSH(queue, item, link)                                                              \
	((item)->link = NULL, *((queue)->head ? &(queue)->tail->link : &(queue)->head) = (item),   \
	 (void)((queue)->tail = (item)))

/* Sets `item` to a struct of the pool `free`, a pointer to its first one. */
#define POOL_TAKE(arena, free, item, type)                                                         \
	((item) = (free) ? (free) : ARENA_NEW((arena), type), (void)((free) = (item)->next))
#define POOL_GIVE(free, item) ((item)->next = (free), (void)((free) = (item)))
