/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Violates the invariants of a run on purpose: each planted error stops the run with the simulated
 * time, the event and a sentence that names the object. */
#include "sim/collective/wire.h"
#include "sim/fabric/state.h"
#include "sim/transport/path.h"
#include "tests/comm_world.h"
#include "tests/fabric_check.h"

#define STOPPED_BY(engine, part) CHECK_PART(engine_failure(engine), part)

/* ---- a flow of 100 units over a wire of 10 units/s, from 0 to 10 s ---- */

struct system {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	int wire;
	struct flow_id id;
	size_t done_count;
};

static void flow_done(void *ctx, uint64_t arg)
{
	struct system *s = ctx;
	s->done_count += arg;
}

static void open_system(struct system *s)
{
	*s = (struct system){.arena = arena_new()};
	s->engine = engine_new(s->arena, NULL);
	s->fabric = fabric_new(s->arena, s->engine);
	s->wire = fabric_resource_add(s->fabric, "wire", 10);
	const struct flow_spec spec = {.size = 100,
				       .uses = {{s->wire, 1}},
				       .use_count = 1,
				       .done = flow_done,
				       .ctx = s,
				       .arg = 1};
	s->id = fabric_flow_start(s->fabric, &spec);
}

static struct flow *flow_of(const struct system *s)
{
	return s->fabric->flows.items[s->id.slot];
}

static struct resource *wire_of(const struct system *s)
{
	return &s->fabric->resources.items[s->wire];
}

static void plant_rate(void *ctx, uint64_t arg)
{
	struct system *s = ctx;
	flow_of(s)->rate = 9;
}

static void plant_start(void *ctx, uint64_t arg)
{
	struct system *s = ctx;
	flow_of(s)->started_ps = engine_now_ps(s->engine);
}

static void plant_late_event(void *ctx, uint64_t arg)
{
	struct system *s = ctx;
	engine_at(s->engine, engine_now_ps(s->engine) - 3, plant_start, s, arg);
}

static void plant_negative_delay(void *ctx, uint64_t arg)
{
	struct system *s = ctx;
	engine_after(s->engine, -2000000, plant_start, s, arg);
}

static void plant_high_rate(void *ctx, uint64_t arg)
{
	struct system *s = ctx;
	flow_of(s)->cap = 4;
}

static void stop_here(void *ctx, uint64_t arg)
{
	struct system *s = ctx;
	engine_stop(s->engine);
}

static void check_stop(event_fn *plant, const char *what)
{
	struct system s;
	open_system(&s);
	engine_at(s.engine, 4 * PS_PER_S, plant, &s, 0);
	CHECK(engine_run(s.engine) == ENGINE_FAILED);
	STOPPED_BY(s.engine, what);
	arena_free(s.arena);
}

static void event_in_the_past_stops_the_run(void)
{
	check_stop(plant_late_event,
		   "at 4.000000000000 s (event 1): event scheduled 0.000000000003 s in the past");
	check_stop(plant_negative_delay, "event scheduled 0.000002000000 s in the past");
}

/* It has moved 40 of 100 units at 4 s, and moves 54 in the next 6 s at the planted rate. With a
 * start planted at 4 s it could have moved at most 60. */
static void flow_that_moves_too_much_or_too_fast_stops_the_run(void)
{
	check_stop(plant_rate,
		   "at 10.000000000000 s (event 2): flow 0, which started 10.000000000000 s ago, "
		   "has moved 100 of 100 units: this is more than its rates allow (90");
	check_stop(plant_start,
		   "has moved 100 of 100 units: this is more than it could move alone on wire (60");
	check_stop(plant_high_rate, "its rate is above its cap (10)");
}

static void run_to_4_s(struct system *s)
{
	open_system(s);
	engine_at(s->engine, 4 * PS_PER_S, stop_here, s, 0);
	CHECK(engine_run(s->engine) == ENGINE_STOPPED);
	fabric_account(s->fabric);
	CHECK(engine_failure(s->engine) == NULL);
}

static void check_account(struct system *s, const char *what)
{
	fabric_account(s->fabric);
	STOPPED_BY(s->engine, what);
	arena_free(s->arena);
}

/* Runs fabric_check after planting an error at 4 s. */
static void check_rates(event_fn *plant, const char *what)
{
	struct system s;
	run_to_4_s(&s);
	fabric_check(s.fabric);
	CHECK(engine_failure(s.engine) == NULL);
	plant(&s, 0);
	fabric_check(s.fabric);
	STOPPED_BY(s.engine, what);
	arena_free(s.arena);
}

static void plant_double_use(void *ctx, uint64_t arg)
{
	wire_of(ctx)->users.items[0].per_unit = 2;
}

static void plant_no_end(void *ctx, uint64_t arg)
{
	flow_of(ctx)->end.serial = 0;
}

static void unfair_rates_stop_the_run(void)
{
	check_rates(plant_rate, "flow 0 has rate 9, its fair share is 10");
	check_rates(plant_double_use, "resource 'wire' carries 20 of 10");
	check_rates(plant_no_end, "flow 0 waits for none to end");
}

static void wrong_accounts_of_links_and_flows_stop_the_run(void)
{
	struct system s;
	run_to_4_s(&s); /* 40 of 40 possible units; one more is too much */
	wire_of(&s)->carried = 1;
	check_account(&s, "at 4.000000000000 s (event 1): 'wire' with 10 units per second has "
			  "carried 41 in 4.000000000000 s of use");
	run_to_4_s(&s);
	wire_of(&s)->busy_ps = 1;
	check_account(&s, "'wire' was in use for 4.000000000001 s of 4.000000000000 s");
	run_to_4_s(&s);
	wire_of(&s)->delivered = 40.5;
	check_account(&s, "'wire' has carried 40 bytes, but 40.5 bytes were delivered over it");
	run_to_4_s(&s);
	wire_of(&s)->flow_count = 2;
	check_account(&s, "'wire' has 1 flows, but counts 2");
	run_to_4_s(&s);
	s.fabric->flows_over = 1;
	check_account(&s, "of 1 flows, 1 have ended and 1 are active");
	run_to_4_s(&s);
	engine_cancel(s.engine, flow_of(&s)->end);
	flow_of(&s)->end = (struct event_id){0};
	CHECK_TEXT(fabric_unfinished(s.fabric, s.arena),
		   "1 flow, the first of 100 units over 'wire'");
	check_account(&s, "it will never end");
}

/* A link that represents two carries half of what is delivered over both. */
static void links_account_for_the_links_that_they_represent(void)
{
	for (int copies = 1; copies <= 2; copies++) {
		struct arena *arena = arena_new();
		struct engine *engine = engine_new(arena, NULL);
		struct fabric *fabric = fabric_new(arena, engine);
		const struct link_traits traits = {.capacity_Bps = {10, 10}};
		int a = fabric_node_add(fabric, "a"), b = fabric_node_add(fabric, "b");
		fabric_link_add(fabric, "wire", link_kind_find("ethernet"), a, b, &traits);
		const struct route *route = fabric_route(fabric, a, b, TRAFFIC_ANY);
		struct flow_spec spec = {.size = 100};
		route_uses(fabric, route, 0, 100, &spec);
		fabric_flow_start(fabric, &spec);
		CHECK(engine_run(engine) == ENGINE_DRAINED);
		fabric_delivered(fabric, route, 200, (const double[]){copies, copies});
		fabric_account(fabric);
		CHECK((engine_failure(engine) == NULL) == (copies == 2));
		arena_free(arena);
	}
}

static void ended_flows_stay_in_the_accounts(void)
{
	struct system s;
	open_system(&s);
	CHECK(engine_run(s.engine) == ENGINE_DRAINED);
	CHECK(s.done_count == 1);
	CHECK(fabric_unfinished(s.fabric, s.arena) == NULL);
	fabric_account(s.fabric);
	CHECK(engine_failure(s.engine) == NULL);
	arena_free(s.arena);
}

/* ---- messages ---- */

static struct net *connected(const char *transport)
{
	struct net *net = net_new();
	if (strcmp(transport, "shm") == 0)
		net->link_kind = "shm";
	else if (strcmp(transport, "rdma") == 0)
		net->link_kind = "infiniband";
	net->link.latency_s = 2e-6;
	void *params = arena_array(net->arena, 1, TRANSPORT_PARAMS_SIZE_MAX);
	net_presets(net->arena, transport_kind_find(transport)->table, params);
	net_build(net);
	net_connect(net, transport, params);
	if (CHECK(net->connection != NULL))
		net_run(net);
	return net;
}

static const char *const transports[] = {"tcp", "rdma", "shm"};

/* 1 MB takes at least 2 us and 1 ms; the wire carried what was delivered. */
static void miscounted_messages_stop_the_run(void)
{
	for (size_t i = 0; i < 3; i++) {
		struct net *net = connected(transports[i]);
		for (uint64_t k = 0; k < 10; k++)
			net_send(net, (int)(k % 2), 1e5 * (double)k, k);
		net_run(net);
		const struct connection_counters *counters = connection_counters(net->connection);
		for (int k = 0; k < 2; k++) {
			CHECK(counters->delivered_count[k] == 5);
			CHECK(counters->messages_count[k] == 5);
			CHECK_NEAR(counters->payload_delivered_B[k], k ? 2.5e6 : 2e6, 1e-12);
		}
		connection_account(net->connection, net->fabric);
		fabric_account(net->fabric);
		CHECK(engine_failure(net->engine) == NULL);
		/* as if all messages arrived twice */
		connection_account(net->connection, net->fabric);
		fabric_account(net->fabric);
		STOPPED_BY(net->engine, "delivered");
		net_free(net);
	}
}

static void stop(void *ctx, uint64_t arg)
{
	engine_stop(ctx);
}

/* A run that stops in the middle of a message has not delivered it, and half of it was carried. */
static void message_on_its_way_is_not_delivered(void)
{
	for (size_t i = 0; i < 3; i++) {
		struct net *net = connected(transports[i]);
		net_send(net, 0, 1e6, 0);
		engine_after(net->engine, ps_from_s(0.5e-3), stop, net->engine, 0);
		CHECK(engine_run(net->engine) == ENGINE_STOPPED);
		CHECK(connection_counters(net->connection)->delivered_count[0] == 0);
		connection_account(net->connection, net->fabric);
		fabric_account(net->fabric);
		CHECK(engine_failure(net->engine) == NULL);
		net_free(net);
	}
}

static void message_that_was_never_sent_stops_the_run(void)
{
	for (size_t i = 0; i < 3; i++) {
		struct net *net = connected(transports[i]);
		struct connection_counters *counters =
			(struct connection_counters *)connection_counters(net->connection);
		net_send(net, 0, 1e6, 0);
		counters->messages_count[0] = 0;
		CHECK(engine_run(net->engine) == ENGINE_FAILED);
		STOPPED_BY(net->engine, "a>b: 1 messages of 1000000 bytes were delivered, but 0 of "
					"1000000 bytes were sent");
		net_free(net);
		net = connected(transports[i]);
		counters = (struct connection_counters *)connection_counters(net->connection);
		net_send(net, 0, 1e6, 0);
		counters->payload_sent_B[0] -= 1;
		CHECK(engine_run(net->engine) == ENGINE_FAILED);
		STOPPED_BY(net->engine, "a>b: 1 messages of 1000000 bytes were delivered, but 1 of "
					"999999 bytes were sent");
		net_free(net);
	}
}

static void message_that_arrives_too_early_stops_the_run(void)
{
	struct net *net = connected("shm");
	struct path path = {.route = fabric_route(net->fabric, guest_node(net->guest[0]),
						  guest_node(net->guest[1]), TRAFFIC_ANY),
			    .latency_s = 2e-6,
			    .least_spB = 1e-9};
	const struct connection_spec spec = {
		.engine = net->engine, .fabric = net->fabric, .name = "a>b"};
	struct connection_counters counters = {.messages_count = {2, 1}, .payload_sent_B = {2e6}};
	int64_t now_ps = engine_now_ps(net->engine);
	CHECK_NEAR(route_least_spB(net->fabric, path.route), 1e-9, 1e-15);
	path_delivered(&spec, &path, 1, 0, now_ps - 2000000,
		       &counters); /* a message without bytes */
	path_delivered(&spec, &path, 0, 1e6, now_ps - 1002000000, &counters);
	CHECK(engine_failure(net->engine) == NULL);
	path_delivered(&spec, &path, 0, 1e6, now_ps - 1001000000, &counters);
	STOPPED_BY(net->engine, "a>b: a message of 1000000 bytes arrived after 0.001001000000 s, "
				"but its way takes at least 0.001002000000 s");
	net_free(net);
}

/* ---- collectives ---- */

static struct comm_world *two_ranks(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 2, 1e9, 2e-6);
	w->comm = comm_make(w, "pair");
	return w;
}

static void plant_bytes(void *ctx, uint64_t arg)
{
	struct comm_world *w = ctx;
	(*w->comm->operations)->delivered_B += (double)arg;
}

static void plant_latency(void *ctx, uint64_t arg)
{
	struct comm_world *w = ctx;
	w->comm->last_way->least_s = (double)arg;
}

/* An all-reduce of 2 MB with two ranks: each sends 1 MB twice. plant is the error, at a time and
 * with an amount. */
static struct comm_world *planted(event_fn *plant, int64_t at_ps, uint64_t arg)
{
	struct comm_world *w = two_ranks();
	comm_all(w, w->comm, COLLECTIVE_ALL_REDUCE, 2e6, 0);
	engine_at(w->engine, at_ps, plant, w, arg);
	CHECK(engine_run(w->engine) == ENGINE_FAILED);
	return w;
}

static void collective_with_wrong_bytes_or_times_stops_the_run(void)
{
	struct comm_world *w = two_ranks();
	comm_all(w, w->comm, COLLECTIVE_ALL_REDUCE, 2e6, 0);
	engine_run(w->engine);
	communicator_account(w->comm);
	fabric_account(w->fabric);
	CHECK(engine_failure(w->engine) == NULL);
	communicator_account(w->comm); /* as if all messages arrived twice */
	fabric_account(w->fabric);
	STOPPED_BY(w->engine, "has carried 2000000 bytes, but 4000000 bytes were delivered");
	arena_free(w->arena);

	w = planted(plant_bytes, 1500000000, 5);
	STOPPED_BY(w->engine, "pair: 4000000 bytes of 4 messages sent, 4000005 of 4 delivered");
	arena_free(w->arena);

	w = planted(plant_latency, 500000000, 1);
	STOPPED_BY(w->engine, "pair: 1000000 bytes from rank");
	STOPPED_BY(w->engine,
		   "arrived after 0.001002000000 s, but the way takes at least 1.001000000000 s");
	arena_free(w->arena);
}

static void plant_end(void *ctx, uint64_t rank)
{
	struct comm_world *w = ctx;
	comm_rank_over(*w->comm->operations, rank);
}

/* Rank 1 ends an all-reduce before rank 0 has arrived, and a broadcast before its root, rank 0. */
static void rank_that_ends_before_the_others_arrive_stops_the_run(void)
{
	static const struct {
		enum collective collective;
		const char *message;
	} rows[] = {
		{COLLECTIVE_ALL_REDUCE,
		 "pair: rank 1 ends all_reduce 0 after only 1 of 2 ranks have arrived"},
		{COLLECTIVE_BROADCAST,
		 "pair: rank 1 ends broadcast 0 after only 1 of 2 ranks have arrived"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct comm_world *w = two_ranks();
		uint64_t number = comm_begin(w, w->comm, rows[i].collective, 2e6, 0);
		communicator_arrive(w->comm, number, 1);
		engine_at(w->engine, 1000000, plant_end, w, 1);
		CHECK(engine_run(w->engine) == ENGINE_FAILED);
		STOPPED_BY(w->engine, rows[i].message);
		arena_free(w->arena);
	}
}

static void waiting_collective_is_named(void)
{
	struct comm_world *w = two_ranks();
	CHECK_TEXT(communicator_waiting(w->comm, w->arena), "no collective in progress");
	uint64_t number = comm_begin(w, w->comm, COLLECTIVE_ALL_REDUCE, 2e6, 0);
	communicator_arrive(w->comm, number, 1);
	CHECK(engine_run(w->engine) == ENGINE_DRAINED);
	CHECK_TEXT(communicator_waiting(w->comm, w->arena),
		   "all_reduce 0: 1 of 2 ranks arrived, 0 done, 1 of 1 messages delivered");
	arena_free(w->arena);
}

static const struct test tests[] = {
	TEST(event_in_the_past_stops_the_run),
	TEST(flow_that_moves_too_much_or_too_fast_stops_the_run),
	TEST(unfair_rates_stop_the_run),
	TEST(wrong_accounts_of_links_and_flows_stop_the_run),
	TEST(links_account_for_the_links_that_they_represent),
	TEST(ended_flows_stay_in_the_accounts),
	TEST(miscounted_messages_stop_the_run),
	TEST(message_on_its_way_is_not_delivered),
	TEST(message_that_was_never_sent_stops_the_run),
	TEST(message_that_arrives_too_early_stops_the_run),
	TEST(collective_with_wrong_bytes_or_times_stops_the_run),
	TEST(rank_that_ends_before_the_others_arrive_stops_the_run),
	TEST(waiting_collective_is_named),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
