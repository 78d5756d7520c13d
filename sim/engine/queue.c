/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/engine/queue.h"

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"

enum { ARITY = 4 };

struct node {
	int64_t time_ps;
	uint64_t sequence;
	uint32_t slot;
};

struct slot {
	event_fn *fn;
	void *ctx;
	uint64_t arg;
	uint32_t serial; /* never 0 */
	uint32_t place;  /* in the heap while pending; else the next free slot, plus 1 */
};

struct queue {
	struct arena *arena;
	VEC(struct node) heap;
	VEC(struct slot) slots;
	uint32_t free; /* first free slot, plus 1 */
	uint64_t sequence;
};

struct queue *queue_new(struct arena *arena)
{
	struct queue *queue = ARENA_NEW(arena, struct queue);
	queue->arena = arena;
	return queue;
}

static bool earlier(const struct node *a, const struct node *b)
{
	return a->time_ps < b->time_ps || (a->time_ps == b->time_ps && a->sequence < b->sequence);
}

static void put(struct queue *queue, size_t place, const struct node *node)
{
	queue->heap.items[place] = *node;
	queue->slots.items[node->slot].place = (uint32_t)place;
}

/* Moves parents that are later than (time_ps, sequence) down from place; the
 * place that is left for it. A node handed over by its address would be written
 * and read again at once in pieces of other sizes, which processors wait for. */
static size_t sift_up(struct queue *queue, size_t place, int64_t time_ps, uint64_t sequence)
{
	while (place > 0) {
		size_t parent = (place - 1) / ARITY;
		const struct node *above = &queue->heap.items[parent];
		if (above->time_ps < time_ps ||
		    (above->time_ps == time_ps && above->sequence < sequence))
			break;
		put(queue, place, &queue->heap.items[parent]);
		place = parent;
	}
	return place;
}

static size_t sift_down(struct queue *queue, size_t place, const struct node *node)
{
	const struct node *heap = queue->heap.items;
	size_t count = queue->heap.count;
	for (;;) {
		size_t first = place * ARITY + 1;
		size_t end = first + ARITY < count ? first + ARITY : count;
		size_t least = first;
		if (first >= count)
			break;
		for (size_t i = first + 1; i < end; i++)
			if (earlier(&heap[i], &heap[least]))
				least = i;
		if (!earlier(&heap[least], node))
			break;
		put(queue, place, &heap[least]);
		place = least;
	}
	return place;
}

static uint32_t slot_take(struct queue *queue)
{
	if (queue->free > 0) {
		uint32_t index = queue->free - 1;
		queue->free = queue->slots.items[index].place;
		return index;
	}
	FW_ASSERT(queue->slots.count < UINT32_MAX - 1);
	struct slot *slot = VEC_PUSH(queue->arena, &queue->slots);
	slot->serial = 1;
	return (uint32_t)(queue->slots.count - 1);
}

static void slot_release(struct queue *queue, uint32_t index)
{
	struct slot *slot = &queue->slots.items[index];
	slot->serial = slot->serial == UINT32_MAX ? 1 : slot->serial + 1;
	slot->place = queue->free;
	queue->free = index + 1;
}

struct event_id queue_add(struct queue *queue, const struct event *event)
{
	uint32_t index = slot_take(queue);
	struct slot *slot = &queue->slots.items[index];
	slot->fn = event->fn;
	slot->ctx = event->ctx;
	slot->arg = event->arg;
	if (queue->heap.count == queue->heap.room)
		(void)VEC_PUSH(queue->arena, &queue->heap);
	else
		queue->heap.count++;
	uint64_t sequence = queue->sequence++;
	size_t place = sift_up(queue, queue->heap.count - 1, event->time_ps, sequence);
	queue->heap.items[place] = (struct node){event->time_ps, sequence, index};
	slot->place = (uint32_t)place;
	return (struct event_id){index, slot->serial};
}

/* Takes the node at place out of the heap; its slot stays as it is. */
static void heap_remove(struct queue *queue, size_t place)
{
	struct node last = queue->heap.items[--queue->heap.count];
	if (place == queue->heap.count)
		return;
	if (place > 0 && earlier(&last, &queue->heap.items[(place - 1) / ARITY]))
		place = sift_up(queue, place, last.time_ps, last.sequence);
	else
		place = sift_down(queue, place, &last);
	put(queue, place, &last);
}

bool queue_cancel(struct queue *queue, struct event_id id)
{
	if (id.serial == 0 || id.slot >= queue->slots.count ||
	    queue->slots.items[id.slot].serial != id.serial)
		return false;
	heap_remove(queue, queue->slots.items[id.slot].place);
	slot_release(queue, id.slot);
	return true;
}

size_t queue_count(const struct queue *queue)
{
	return queue->heap.count;
}

int64_t queue_next_ps(const struct queue *queue)
{
	FW_ASSERT(queue->heap.count > 0);
	return queue->heap.items[0].time_ps;
}

struct event queue_take(struct queue *queue)
{
	FW_ASSERT(queue->heap.count > 0);
	struct node node = queue->heap.items[0];
	const struct slot *slot = &queue->slots.items[node.slot];
	struct event event = {node.time_ps, slot->fn, slot->ctx, slot->arg};
	heap_remove(queue, 0);
	slot_release(queue, node.slot);
	return event;
}
