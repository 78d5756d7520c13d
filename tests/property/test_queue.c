/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The event queue, compared with a simple binary heap of (time, insertion order) with a mark for
 * cancelled events. Random operations give the same events in the same order. */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/engine/queue.h"
#include "tests/test.h"

enum { EVENTS_MAX = 20000 };

struct plain {
	struct {
		int64_t time_ps;
		uint64_t number;
	} heap[EVENTS_MAX];
	size_t count, live_count;
	bool cancelled[EVENTS_MAX], taken[EVENTS_MAX];
	struct event_id ids[EVENTS_MAX];
};

static bool plain_less(const struct plain *plain, size_t a, size_t b)
{
	if (plain->heap[a].time_ps != plain->heap[b].time_ps)
		return plain->heap[a].time_ps < plain->heap[b].time_ps;
	return plain->heap[a].number < plain->heap[b].number;
}

static void plain_swap(struct plain *plain, size_t a, size_t b)
{
	int64_t time_ps = plain->heap[a].time_ps;
	uint64_t number = plain->heap[a].number;
	plain->heap[a] = plain->heap[b];
	plain->heap[b].time_ps = time_ps;
	plain->heap[b].number = number;
}

static void plain_add(struct plain *plain, int64_t time_ps, uint64_t number)
{
	size_t at = plain->count++;
	plain->live_count++;
	plain->heap[at].time_ps = time_ps;
	plain->heap[at].number = number;
	for (; at > 0 && plain_less(plain, at, (at - 1) / 2); at = (at - 1) / 2)
		plain_swap(plain, at, (at - 1) / 2);
}

static void plain_drop_first(struct plain *plain)
{
	plain_swap(plain, 0, --plain->count);
	for (size_t at = 0, child = 1; child < plain->count; at = child, child = 2 * at + 1) {
		if (child + 1 < plain->count && plain_less(plain, child + 1, child))
			child++;
		if (!plain_less(plain, child, at))
			break;
		plain_swap(plain, child, at);
	}
}

/* Removes cancelled events from the top, so that the earliest valid one is there. */
static void plain_clean(struct plain *plain)
{
	while (plain->count > 0 && plain->cancelled[plain->heap[0].number])
		plain_drop_first(plain);
}

struct pair {
	struct plain plain;
	struct queue *queue;
	struct rng rng;
	int64_t now_ps;
	uint64_t added;
};

static void nothing(void *ctx, uint64_t arg)
{
}

static void add(struct pair *pair, int64_t time_ps)
{
	pair->plain.ids[pair->added] = queue_add(pair->queue, time_ps, nothing, pair, pair->added);
	plain_add(&pair->plain, time_ps, pair->added++);
}

static void take(struct pair *pair)
{
	struct plain *plain = &pair->plain;
	plain_clean(plain);
	if (rng_below(&pair->rng, 4) == 0)
		CHECK(queue_next_ps(pair->queue) == plain->heap[0].time_ps);
	struct event event = queue_take(pair->queue);
	CHECK(event.time_ps == plain->heap[0].time_ps && event.arg == plain->heap[0].number);
	CHECK(event.fn == nothing && event.ctx == pair);
	pair->now_ps = plain->heap[0].time_ps;
	plain->taken[plain->heap[0].number] = true;
	plain_drop_first(plain);
	plain->live_count--;
	plain_clean(plain);
}

static void cancel(struct pair *pair, uint64_t number)
{
	struct plain *plain = &pair->plain;
	bool pending = !plain->cancelled[number] && !plain->taken[number];
	CHECK(queue_cancel(pair->queue, plain->ids[number]) == pending);
	if (!pending)
		return;
	plain->cancelled[number] = true;
	plain->live_count--;
}

/* A time of now, or later by a random distance, which is often a round number. */
static int64_t moment_ps(struct pair *pair, unsigned bits)
{
	if (rng_below(&pair->rng, 8) == 0)
		return pair->now_ps;
	uint64_t width = (uint64_t)1 << rng_below(&pair->rng, bits);
	uint64_t away = rng_below(&pair->rng, 3) ? rng_below(&pair->rng, width + 1) : width;
	int64_t most_ps = INT64_MAX - pair->now_ps;
	return pair->now_ps + (away < (uint64_t)most_ps ? (int64_t)away : most_ps);
}

static void burst(struct pair *pair, unsigned bits)
{
	int64_t time_ps = moment_ps(pair, bits);
	for (uint64_t i = rng_below(&pair->rng, 200); i > 0 && pair->added < EVENTS_MAX; i--)
		add(pair, time_ps);
}

/* Many pending events are close together and far in the future. Peeking opens their bucket and
 * sorts them again. Events that are added then are earlier than all of them. */
static void peek_and_add(struct pair *pair)
{
	if (pair->plain.live_count == 0)
		return;
	plain_clean(&pair->plain);
	int64_t next_ps = pair->plain.heap[0].time_ps;
	uint64_t width = (uint64_t)1 << rng_below(&pair->rng, 20);
	for (int i = 0; i < 100 && next_ps < INT64_MAX / 2 && pair->added < EVENTS_MAX; i++)
		add(pair, next_ps + (int64_t)rng_below(&pair->rng, width));
	int64_t gap_ps = queue_next_ps(pair->queue) - pair->now_ps;
	for (uint64_t i = rng_below(&pair->rng, 200); i > 0 && pair->added < EVENTS_MAX; i--)
		add(pair, pair->now_ps + (int64_t)rng_below(&pair->rng, (uint64_t)gap_ps + 1));
}

static void step(struct pair *pair, unsigned bits, uint64_t adds)
{
	uint64_t choice = rng_below(&pair->rng, 100);
	if (choice < adds)
		add(pair, moment_ps(pair, bits));
	else if (choice == adds)
		burst(pair, bits);
	else if (choice == adds + 1)
		peek_and_add(pair);
	else if (choice < 75 && pair->added > 0)
		cancel(pair, pair->added - 1 - rng_below(&pair->rng, pair->added));
	else if (pair->plain.live_count > 0)
		take(pair);
}

static void random_operations_give_the_order_of_a_heap(void)
{
	struct pair *pair = malloc(sizeof *pair);
	for (uint64_t round = 0; pair && round < 60; round++) {
		struct arena *arena = arena_new();
		memset(pair, 0, sizeof *pair);
		pair->queue = queue_new(arena);
		pair->rng = rng_named(round, "queue");
		/* The distances are from a few picoseconds to the end of time. The queue grows and
		 * then shrinks. */
		unsigned bits = (unsigned)(1 + round % 63);
		while (pair->added < 2000)
			step(pair, bits, 45);
		for (int i = 0; i < 3000 && pair->added < EVENTS_MAX; i++)
			step(pair, bits, 20);
		CHECK(queue_count(pair->queue) == pair->plain.live_count);
		while (pair->plain.live_count > 0)
			take(pair);
		CHECK(queue_count(pair->queue) == 0);
		arena_free(arena);
	}
	free(pair);
}

/* Timers in the far future are cancelled soon, so most nodes in the queue are void. They take no
 * more memory with time and do not change the order. */
static void cancelled_timers_do_not_accumulate(void)
{
	struct arena *arena = arena_new();
	struct queue *queue = queue_new(arena);
	struct event_id timer = {0};
	size_t warm_B = 0;
	for (uint64_t i = 0; i < 200000; i++) {
		int64_t now_ps = (int64_t)i * 1000;
		queue_cancel(queue, timer);
		timer = queue_add(queue, now_ps + 1000000000000, nothing, NULL, i);
		queue_add(queue, now_ps + 1000, nothing, NULL, i);
		struct event event = queue_take(queue);
		CHECK(event.time_ps == now_ps + 1000 && event.arg == i);
		if (i == 20000)
			warm_B = arena_used_B(arena);
	}
	CHECK(arena_used_B(arena) == warm_B);
	CHECK(queue_count(queue) == 1);
	arena_free(arena);
}

/* The number of pending events stays the same, at random distances. The queue allocates nothing
 * more and takes about 100 bytes for each event. */
static void constant_number_of_events_allocates_nothing(void)
{
	struct arena *arena = arena_new();
	struct queue *queue = queue_new(arena);
	struct rng rng = rng_named(1, "hold");
	enum { PENDING = 50000 };
	for (uint64_t i = 0; i < PENDING; i++)
		queue_add(queue, (int64_t)rng_below(&rng, 1000000), nothing, NULL, i);
	size_t warm_B = 0;
	for (int i = 0; i < 400000; i++) {
		struct event event = queue_take(queue);
		event.time_ps += (int64_t)rng_below(&rng, 1000000);
		queue_add(queue, event.time_ps, event.fn, event.ctx, event.arg);
		if (i == 200000)
			warm_B = arena_used_B(arena);
	}
	CHECK(arena_used_B(arena) == warm_B);
	CHECK(warm_B < 110 * PENDING);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(random_operations_give_the_order_of_a_heap),
	TEST(cancelled_timers_do_not_accumulate),
	TEST(constant_number_of_events_allocates_nothing),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
