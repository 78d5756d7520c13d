/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of queue_work.h on farwire's event queue. */
#include "sim/base/arena.h"
#include "sim/engine/queue.h"

typedef event_fn work_fn;

static struct queue *queue;
static int64_t now_ps;

static uint64_t pending_add(int64_t time_ps, work_fn *fn, void *ctx, uint64_t arg)
{
	struct event_id id = queue_add(queue, time_ps, fn, ctx, arg);
	return (uint64_t)id.serial << 32 | id.slot;
}

static void pending_cancel(uint64_t id)
{
	queue_cancel(queue, (struct event_id){(uint32_t)id, (uint32_t)(id >> 32)});
}

static void pending_step(void)
{
	struct event event = queue_take(queue);
	now_ps = event.time_ps;
	event.fn(event.ctx, event.arg);
}

static int64_t pending_now_ps(void)
{
	return now_ps;
}

#include "tests/bench/queue_work.h"

int main(int argc, char **argv)
{
	struct arena *arena = arena_new();
	queue = queue_new(arena);
	int code = work_main(argc, argv);
	arena_free(arena);
	return code;
}
