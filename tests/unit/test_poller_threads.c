/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which thread queries an event, over a port whose calls take no time. */
#include "sim/workload/player.h"
#include "tests/cuda_world.h"

/* Events are complete from 100 us on. */
struct query_port {
	struct cuda_port port;
	struct engine *engine;
	size_t queries_count[2]; /* by thread; 1 is the poller's */
	const struct cpu *cores[2];
};

static void call(struct cuda_port *port, unsigned thread, struct cpu *core,
		 const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg)
{
	struct query_port *queries = (struct query_port *)port;
	bool ready = engine_now_ps(queries->engine) >= ps_from_s(100 * US);
	CHECK(thread < 2 && (!queries->cores[thread] || queries->cores[thread] == core));
	queries->cores[thread] = core;
	queries->queries_count[thread] += call->kind == CALL_EVENT_QUERY;
	done(ctx, arg, call->kind == CALL_EVENT_QUERY && !ready ? CALL_NOT_READY : CALL_OK);
}

/* A thread records and watches two events, the second one behind a copy. Under the lock it then
 * queries the first event itself, once, because that is pending: on its own core and connection.
 * Without the lock only the poller does, which begins rounds 10 us apart: ten rounds find both
 * events pending from 0 to 90 us, and the next one finds them complete. */
static void only_a_thread_with_the_lock_queries_events(void)
{
	static const struct item items[] = {
		{.kind = ITEM_CALL, .call = {.kind = CALL_EVENT_RECORD}},
		{.kind = ITEM_WATCH},
		{.kind = ITEM_CALL, .call = {.kind = CALL_EVENT_RECORD, .event = 1}},
		{.kind = ITEM_WATCH, .call = {.event = 1}, .signal = 1, .count = 1},
		{.kind = ITEM_AWAIT, .count = 1},
		{.kind = ITEM_AWAIT, .signal = 1, .count = 1},
	};
	static const struct call_thread thread = {"main", items, sizeof items / sizeof items[0]};
	for (int lock = 0; lock < 2; lock++) {
		struct world w = {0};
		world_presets(&w);
		world_build(&w);
		const struct program program = {.threads = &thread,
						.thread_count = 1,
						.stream_count = 1,
						.event_count = 2,
						.signal_count = 2,
						.poller = {true, 10 * US, lock}};
		struct query_port port = {.port.call = call, .engine = w.engine};
		const struct player_spec spec = {.arena = w.arena,
						 .engine = w.engine,
						 .name = "client",
						 .program = &program,
						 .port = &port.port,
						 .guest = w.guest,
						 .steps_max = 1};
		struct player *player = player_new(&spec);
		player_start(player);
		world_run(&w);
		CHECK(player_step_count(player) == 1);
		CHECK(port.queries_count[0] == (lock ? 1 : 0));
		CHECK(port.queries_count[1] == 11 * 2);
		CHECK(port.cores[0] && port.cores[1] && port.cores[0] != port.cores[1]);
		world_release(&w);
	}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(only_a_thread_with_the_lock_queries_events),
	};
	return TEST_MAIN(tests);
}
