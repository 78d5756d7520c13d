/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Three parts hold the pending events:
 *
 *   SLOTS  the function of each event, and a serial. The id of an event is its slot and
 *          the current serial of that slot.
 *   FRONT  nodes (time, slot, serial) of all events before front_end, sorted.
 *   WHEEL  the nodes of all other events, unsorted, in buckets.
 *
 * The wheel reads a time as a number of LEVELS digits of DIGIT_BITS bits. The level of a node is
 * the highest digit in which its time differs from `base`. Its bucket on that level is the value of
 * that digit. So all nodes of a lower level precede all nodes of a higher level, and on one level a
 * lower digit comes first. A bit map of the level finds the next bucket. If the nodes of that
 * bucket fit into one chunk, they are sorted into the front. Otherwise their earliest time becomes
 * the base, and they are filed again on lower levels, whose buckets are all empty then. A node only
 * sinks, through at most LEVELS levels. Bits that all nodes share cost nothing.
 *
 *   time 0x2f7, base 0x2c1:  the digits are 2, f, 7; they differ in the second:
 *   level 1, bucket f. When it is opened with base 0x2f4: level 0, bucket 7.
 *
 * The order of adding needs no number of its own. Nodes of one time are in one bucket, later nodes
 * behind earlier ones. Filing again keeps their order and fills empty buckets. The front inserts a
 * node behind all nodes of its time.
 *
 * An event that is added before front_end is inserted into the front. When the front becomes long,
 * it spills back into the wheel, on lower levels than it came from.
 */
#include "sim/engine/queue.h"

enum {
	DIGIT_BITS = 6,
	DIGITS = 1 << DIGIT_BITS,
	LEVELS = (63 + DIGIT_BITS - 1) / DIGIT_BITS,
	CHUNK_NODES = 31, /* 512 bytes with the chunk's head */
	CHUNKS_PER_BLOCK = 16,
	FRONT_MANY = 64, /* inserting into a longer front is slow */
	VOID_MANY = 1024,
};

struct node {
	int64_t time_ps;
	uint32_t slot, serial; /* the node is void if the serial of its slot differs */
};

struct chunk {
	struct chunk *next;
	size_t count;
	struct node nodes[CHUNK_NODES];
};

struct bucket {
	struct chunk *first, *last;
};

struct event_slot {
	event_fn *fn;
	void *ctx;
	uint64_t arg;
	uint32_t serial; /* never 0 */
	union {
		uint32_t number; /* of a pending event: number of events added before, mod 2^32 */
		uint32_t free;   /* of a free slot: index of the next free slot + 1 */
	};
};

struct queue {
	struct arena *arena;
	size_t count;           /* number of pending events */
	uint64_t added_count;   /* number of events since the start */
	size_t void_count;      /* number of nodes of cancelled events */
	int64_t floor_ps;       /* time of the last event taken */
	VEC(struct node) front; /* sorted by time, valid from index `head` */
	size_t head;
	uint64_t front_end; /* no node of the wheel is earlier */
	uint64_t base;
	uint32_t levels;       /* bit set: the level holds nodes */
	uint64_t maps[LEVELS]; /* bit set: the bucket holds nodes */
	struct bucket buckets[LEVELS][DIGITS];
	struct chunk *chunk_free;
	VEC(struct event_slot) slots;
	uint32_t slot_free; /* index of the first free slot + 1 */
};

struct queue *queue_new(struct arena *arena)
{
	struct queue *queue = ARENA_NEW(arena, struct queue);
	queue->arena = arena;
	return queue;
}

/* ---- slots ---- */

static __attribute__((noinline)) void slot_add(struct queue *queue)
{
	FW_ASSERT(queue->slots.count < UINT32_MAX - 1);
	VEC_PUSH(queue->arena, &queue->slots)->serial = 1;
	queue->slot_free = (uint32_t)queue->slots.count;
}

static inline uint32_t slot_take(struct queue *queue)
{
	if (queue->slot_free == 0)
		slot_add(queue);
	uint32_t index = queue->slot_free - 1;
	queue->slot_free = queue->slots.items[index].free;
	return index;
}

/* A slot that has used every serial is never reused. */
static void slot_release(struct queue *queue, uint32_t index)
{
	struct event_slot *slot = &queue->slots.items[index];
	if (++slot->serial == UINT32_MAX)
		return;
	slot->free = queue->slot_free;
	queue->slot_free = index + 1;
}

static bool is_void(const struct queue *queue, struct node node)
{
	return queue->slots.items[node.slot].serial != node.serial;
}

/* ---- the wheel ---- */

static struct chunk *chunk_take(struct queue *queue)
{
	if (!queue->chunk_free) {
		struct chunk *block = ARENA_ARRAY(queue->arena, CHUNKS_PER_BLOCK, struct chunk);
		for (size_t i = 0; i < CHUNKS_PER_BLOCK; i++) {
			block[i].next = queue->chunk_free;
			queue->chunk_free = &block[i];
		}
	}
	struct chunk *chunk = queue->chunk_free;
	queue->chunk_free = chunk->next;
	chunk->next = NULL;
	chunk->count = 0;
	return chunk;
}

/* Frees chunk and returns the next chunk of its bucket. */
static struct chunk *chunk_release(struct queue *queue, struct chunk *chunk)
{
	struct chunk *next = chunk->next;
	chunk->next = queue->chunk_free;
	queue->chunk_free = chunk;
	return next;
}

/* Files a node whose bucket has no chunk or a full last chunk. */
static __attribute__((noinline)) void file_in_chunk(struct queue *queue, unsigned level,
						    unsigned digit, struct node node)
{
	struct bucket *bucket = &queue->buckets[level][digit];
	struct chunk *chunk = chunk_take(queue);
	if (bucket->last) {
		bucket->last->next = chunk;
	} else {
		bucket->first = chunk;
		queue->maps[level] |= (uint64_t)1 << digit;
		queue->levels |= 1u << level;
	}
	bucket->last = chunk;
	chunk->nodes[chunk->count++] = node;
}

static inline void file(struct queue *queue, struct node node)
{
	uint64_t differs = ((uint64_t)node.time_ps ^ queue->base) | 1;
	unsigned level = (63u - (unsigned)__builtin_clzll(differs)) / DIGIT_BITS;
	unsigned digit = (unsigned)(node.time_ps >> level * DIGIT_BITS) % DIGITS;
	struct chunk *last = queue->buckets[level][digit].last;
	if (last && last->count < CHUNK_NODES)
		last->nodes[last->count++] = node;
	else
		file_in_chunk(queue, level, digit, node);
}

/* Empties a bucket and returns the list of its chunks. */
static struct chunk *bucket_take(struct queue *queue, unsigned level, unsigned digit)
{
	struct bucket *bucket = &queue->buckets[level][digit];
	struct chunk *chunks = bucket->first;
	*bucket = (struct bucket){0};
	queue->maps[level] &= ~((uint64_t)1 << digit);
	if (queue->maps[level] == 0)
		queue->levels &= ~(1u << level);
	return chunks;
}

static void file_again(struct queue *queue, struct chunk *chunks)
{
	int64_t least_ps = INT64_MAX;
	for (const struct chunk *chunk = chunks; chunk; chunk = chunk->next)
		for (size_t i = 0; i < chunk->count; i++)
			if (chunk->nodes[i].time_ps < least_ps)
				least_ps = chunk->nodes[i].time_ps;
	queue->base = queue->front_end = (uint64_t)least_ps;
	while (chunks) {
		for (size_t i = 0; i < chunks->count; i++)
			file(queue, chunks->nodes[i]);
		chunks = chunk_release(queue, chunks);
	}
}

/* ---- the front ---- */

/* Makes room for more nodes, by removing the taken ones if they are at least half of all. */
static void front_grow(struct queue *queue)
{
	size_t left = queue->front.count - queue->head;
	if (queue->head > left) {
		VEC_DROP(&queue->front, queue->head);
		queue->head = 0;
	} else {
		(void)VEC_PUSH(queue->arena, &queue->front);
		queue->front.count--;
	}
}

/* Inserts node into nodes[count], which is sorted, behind all nodes up to its time. */
static inline void place_last(struct node *nodes, size_t count, struct node node)
{
	for (; count > 0 && nodes[count - 1].time_ps > node.time_ps; count--)
		nodes[count] = nodes[count - 1];
	nodes[count] = node;
}

/* Inserts node behind all nodes up to its time. If it precedes all others, it uses the room of
 * nodes already taken. */
static void front_insert(struct queue *queue, struct node node)
{
	if (queue->head > 0 && queue->head < queue->front.count &&
	    node.time_ps < queue->front.items[queue->head].time_ps) {
		queue->front.items[--queue->head] = node;
		return;
	}
	if (queue->front.count == queue->front.room)
		front_grow(queue);
	place_last(queue->front.items + queue->head, queue->front.count - queue->head, node);
	queue->front.count++;
}

static void front_clear(struct queue *queue)
{
	queue->head = queue->front.count = 0;
}

/* Returns true if floor_ps can be the base. Nodes already in the wheel were filed with another one,
 * so the two may differ only in digits up to the lowest level with nodes. */
static bool can_spill(const struct queue *queue)
{
	uint64_t differs = (uint64_t)queue->floor_ps ^ queue->base;
	unsigned first = (unsigned)__builtin_ctz(queue->levels | 1u << (LEVELS - 1));
	return (uint64_t)queue->floor_ps + 1 < queue->front_end &&
	       differs >> first * DIGIT_BITS < DIGITS;
}

/* Files the nodes of the front in the wheel. */
static void front_spill(struct queue *queue)
{
	queue->base = queue->front_end = (uint64_t)queue->floor_ps;
	for (size_t i = queue->head; i < queue->front.count; i++)
		file(queue, queue->front.items[i]);
	front_clear(queue);
}

static __attribute__((noinline)) void front_add(struct queue *queue, struct node node)
{
	front_insert(queue, node);
	if (queue->front.count - queue->head > FRONT_MANY && can_spill(queue))
		front_spill(queue);
}

/* Sorts the next bucket into the empty front, unless the bucket must be filed again. */
static __attribute__((noinline)) void open_bucket(struct queue *queue)
{
	FW_ASSERT(queue->levels != 0);
	unsigned level = (unsigned)__builtin_ctz(queue->levels);
	unsigned digit = (unsigned)__builtin_ctzll(queue->maps[level]);
	struct chunk *chunks = bucket_take(queue, level, digit);
	if (chunks->next && level > 0) {
		file_again(queue, chunks);
		return;
	}
	uint64_t width = (uint64_t)1 << level * DIGIT_BITS;
	queue->base = (queue->base & ~(width * DIGITS - 1)) | digit * width;
	queue->front_end = queue->base + width;
	size_t count = 0;
	while (chunks) {
		while (queue->front.room < count + chunks->count)
			queue->front.items =
				vec_grow(queue->arena, queue->front.items, queue->front.room,
					 &queue->front.room, sizeof(struct node));
		for (size_t i = 0; i < chunks->count; i++) {
			place_last(queue->front.items, count++, chunks->nodes[i]);
			__builtin_prefetch(&queue->slots.items[chunks->nodes[i].slot]);
		}
		chunks = chunk_release(queue, chunks);
	}
	queue->front.count = count;
}

static __attribute__((noinline)) struct node first_node_find(struct queue *queue)
{
	FW_ASSERT(queue->count > 0);
	for (;;) {
		for (; queue->head < queue->front.count; queue->head++) {
			struct node node = queue->front.items[queue->head];
			if (!is_void(queue, node))
				return node;
			queue->void_count--;
		}
		front_clear(queue);
		open_bucket(queue);
	}
}

/* Returns the earliest node, which is then the head of the front. */
static inline struct node first_node(struct queue *queue)
{
	if (queue->head < queue->front.count) {
		struct node node = queue->front.items[queue->head];
		if (!is_void(queue, node))
			return node;
	}
	return first_node_find(queue);
}

/* ---- cancelled events ---- */

static void drop_void_nodes(struct queue *queue)
{
	size_t left = 0;
	for (size_t i = queue->head; i < queue->front.count; i++)
		if (!is_void(queue, queue->front.items[i]))
			queue->front.items[left++] = queue->front.items[i];
	queue->front.count = left;
	queue->head = 0;
	for (unsigned level = 0; level < LEVELS; level++) {
		for (uint64_t map = queue->maps[level]; map; map &= map - 1) {
			struct chunk *chunks =
				bucket_take(queue, level, (unsigned)__builtin_ctzll(map));
			while (chunks) {
				for (size_t i = 0; i < chunks->count; i++)
					if (!is_void(queue, chunks->nodes[i]))
						file(queue, chunks->nodes[i]);
				chunks = chunk_release(queue, chunks);
			}
		}
	}
	queue->void_count = 0;
}

/* ---- interface ---- */

struct event_id queue_add(struct queue *queue, int64_t time_ps, event_fn *fn, void *ctx,
			  uint64_t arg)
{
	FW_ASSERT(time_ps >= queue->floor_ps);
	uint32_t index = slot_take(queue);
	struct event_slot *slot = &queue->slots.items[index];
	slot->fn = fn;
	slot->ctx = ctx;
	slot->arg = arg;
	slot->number = (uint32_t)queue->added_count++;
	struct node node = {time_ps, index, slot->serial};
	queue->count++;
	if ((uint64_t)time_ps >= queue->front_end)
		file(queue, node);
	else
		front_add(queue, node);
	return (struct event_id){index, node.serial};
}

bool queue_cancel(struct queue *queue, struct event_id id)
{
	if (id.serial == 0 || id.slot >= queue->slots.count ||
	    queue->slots.items[id.slot].serial != id.serial)
		return false;
	slot_release(queue, id.slot);
	queue->count--;
	queue->void_count++;
	if (queue->void_count > queue->count + VOID_MANY)
		drop_void_nodes(queue);
	return true;
}

size_t queue_count(const struct queue *queue)
{
	return queue->count;
}

uint64_t queue_added_count(const struct queue *queue)
{
	return queue->added_count;
}

bool queue_next_precedes(struct queue *queue, uint64_t count)
{
	uint32_t number = queue->slots.items[first_node(queue).slot].number;
	return count > 0 && (uint32_t)count - number - 1 < UINT32_MAX / 2;
}

int64_t queue_next_ps(struct queue *queue)
{
	return first_node(queue).time_ps;
}

/* Prefetches the context of the next event into the cache while the current event runs. */
static inline void fetch_context(const struct queue *queue, uint32_t slot)
{
	enum { LINE_B = 64 };
	uintptr_t at = (uintptr_t)queue->slots.items[slot].ctx;
	__builtin_prefetch((const void *)at);
	__builtin_prefetch((const void *)(at + LINE_B));
	__builtin_prefetch((const void *)(at + 2 * LINE_B));
}

struct event queue_take(struct queue *queue)
{
	struct node node = first_node(queue);
	const struct event_slot *slot = &queue->slots.items[node.slot];
	struct event event = {node.time_ps, slot->fn, slot->ctx, slot->arg};
	queue->floor_ps = node.time_ps;
	queue->head++;
	queue->count--;
	slot_release(queue, node.slot);
	if (queue->head < queue->front.count)
		fetch_context(queue, queue->front.items[queue->head].slot);
	return event;
}
