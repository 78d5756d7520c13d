/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues of structs that are linked by a member.
 *
 *   QUEUE(struct call) waiting = {0};
 *   QUEUE_PUSH(&waiting, call, next);
 *   struct call *first = waiting.head;
 *   waiting.head = first->next;
 *
 * An empty queue has no head. Its tail has no meaning then, so that code which removes the head
 * need not change the tail.
 */
#pragma once

#include <stddef.h>

#define QUEUE(type)                                                                                \
	struct {                                                                                   \
		type *head, *tail;                                                                 \
	}

/* Adds an item behind the tail; `link` is the member that links items. */
#define QUEUE_PUSH(queue, item, link)                                                              \
	((item)->link = NULL, *((queue)->head ? &(queue)->tail->link : &(queue)->head) = (item),   \
	 (void)((queue)->tail = (item)))
