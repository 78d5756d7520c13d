/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cables of trunks and pauses of ports, with rates derived by hand. Ports and trunks have 120
 * units/s. Two leaves are joined by one trunk of two cables with 60 units/s each. Three hosts are
 * at the first leaf, three at the second one. */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/link.h"
#include "tests/test.h"

struct site {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	int hosts[6];
};

static void join(struct site *site, const char *name, int a, int b, struct link_traits traits)
{
	traits.capacity_Bps[0] = traits.capacity_Bps[1] = 120;
	fabric_link_add(site->fabric, name, link_kind_find("roce"), a, b, &traits);
}

static struct site open_wide(uint32_t cables, enum cable_choice choice, enum congestion congestion)
{
	struct site site = {.arena = arena_new()};
	site.engine = engine_new(site.arena, NULL);
	site.fabric = fabric_new(site.arena, site.engine);
	int leaves[2] = {fabric_node_add(site.fabric, "leaf0"),
			 fabric_node_add(site.fabric, "leaf1")};
	struct link_traits traits = {
		.cable_choice = choice, .congestion = congestion, .shared_ratio = 0.9};
	for (uint32_t i = 0; i < 6; i++) {
		const char *name = arena_printf(site.arena, "host%u", i);
		site.hosts[i] = fabric_node_add(site.fabric, name);
		traits.port = i + 1;
		join(&site, name, site.hosts[i], leaves[i / 3], traits);
	}
	traits.port = 0;
	traits.cable_count = cables;
	join(&site, "trunk", leaves[0], leaves[1], traits);
	return site;
}

static struct site open_site(enum cable_choice choice, enum congestion congestion)
{
	return open_wide(2, choice, congestion);
}

/* streams: the weight of the flow, which stands for that many streams. */
static struct flow_id send_streams(struct site *site, int from, int to, uint64_t key, size_t parts,
				   double streams)
{
	struct flow_spec spec = {.size = 1e6, .key = key, .key_count = parts, .weight = streams};
	const struct route *route =
		fabric_route(site->fabric, site->hosts[from], site->hosts[to], TRAFFIC_RDMA);
	route_uses(site->fabric, route, 0, 1e6, &spec);
	return fabric_flow_start(site->fabric, &spec);
}

static struct flow_id send(struct site *site, int from, int to, uint64_t key, size_t parts)
{
	return send_streams(site, from, to, key, parts, 1);
}

static double rate(struct site *site, struct flow_id flow)
{
	return fabric_flow_rate(site->fabric, flow);
}

/* Runs all flows to their ends, and checks the accounts of all resources. */
static void close_site(struct site *site)
{
	CHECK(engine_run(site->engine) == ENGINE_DRAINED);
	fabric_account(site->fabric);
	CHECK(!engine_failure(site->engine));
	arena_free(site->arena);
}

static void stop(void *ctx, uint64_t arg)
{
	engine_stop(ctx);
}

/* Two flows of 60 fit the two cables. If both are on one cable, each gets 30. With two cables the
 * probability is 1/2: of 400 pairs 200, with a standard deviation of 10. */
static void ecmp_puts_half_of_the_pairs_of_flows_on_one_of_two_cables(void)
{
	int collisions = 0;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct site site = open_site(CABLES_ECMP, CONGESTION_FAIR);
		struct flow_id a = send(&site, 0, 3, 1000 * seed, 1);
		struct flow_id b = send(&site, 1, 4, 1000 * seed + 1, 1);
		bool collide = fabs(rate(&site, a) - 30) < 1e-9;
		CHECK_NEAR(rate(&site, a), collide ? 30 : 60, 1e-9);
		CHECK_NEAR(rate(&site, b), collide ? 30 : 60, 1e-9);
		collisions += collide;
		arena_free(site.arena);
	}
	CHECK(collisions > 160 && collisions < 240);
}

/* Many queue pairs use both cables, so one flow gets more than a cable's 60: with k of 64 parts on
 * the fuller cable, 60 * 64 / k. */
static void queue_pairs_spread_one_flow_over_cables(void)
{
	struct site site = open_site(CABLES_ECMP, CONGESTION_FAIR);
	CHECK_NEAR(rate(&site, send(&site, 0, 3, 7, 1)), 60, 1e-9);
	arena_free(site.arena);
	site = open_site(CABLES_ECMP, CONGESTION_FAIR);
	double most = rate(&site, send(&site, 0, 3, 7, 64));
	CHECK(most > 85 && most <= 120);
	close_site(&site);
}

/* A flow uses 64 resources at most: two ports, the trunk, and 61 cables. An adaptive switch gives
 * each part one of 64 cables, with 120 / 64. More parts are halved until they fit: 62 to 31. */
static void parts_of_a_flow_are_halved_until_their_cables_fit(void)
{
	static const size_t parts[][2] = {{61, 61}, {62, 31}, {64, 32}, {128, 32}};
	for (size_t i = 0; i < 4; i++) {
		struct site site = open_wide(64, CABLES_ADAPTIVE, CONGESTION_FAIR);
		double most = rate(&site, send(&site, 0, 3, 7, parts[i][0]));
		CHECK_NEAR(most, 120.0 / 64 * (double)parts[i][1], 1e-9);
		close_site(&site);
	}
}

/* Spraying shares the whole trunk. An adaptive switch gives two flows a cable each. A flow without
 * a key is spread over both. */
static void spraying_and_adaptive_switches_have_no_collisions(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct site site =
			open_site(seed % 2 ? CABLES_SPRAY : CABLES_ADAPTIVE, CONGESTION_FAIR);
		struct flow_id a = send(&site, 0, 3, 1000 * seed, 1);
		struct flow_id b = send(&site, 1, 4, 1000 * seed + 1, 1);
		CHECK_NEAR(rate(&site, a), 60, 1e-9);
		CHECK_NEAR(rate(&site, b), 60, 1e-9);
		close_site(&site);
	}
	/* also two parts of one flow */
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct site site = open_site(CABLES_ADAPTIVE, CONGESTION_FAIR);
		CHECK_NEAR(rate(&site, send(&site, 0, 3, 1000 * seed, 2)), 120, 1e-9);
		close_site(&site);
	}
	struct site site = open_site(CABLES_ECMP, CONGESTION_FAIR);
	CHECK_NEAR(rate(&site, send(&site, 0, 3, 0, 0)), 120, 1e-9);
	close_site(&site);
}

/* Hosts 3 and 5 have ports 4 and 6, which are equal modulo two cables, and host 4 has port 5. */
static void static_routes_collide_by_the_receiving_port(void)
{
	for (int other = 4; other <= 5; other++) {
		struct site site = open_site(CABLES_STATIC, CONGESTION_FAIR);
		struct flow_id a = send(&site, 0, 3, 1, 1), b = send(&site, 1, other, 2, 1);
		CHECK_NEAR(rate(&site, a), other == 5 ? 30 : 60, 1e-9);
		CHECK_NEAR(rate(&site, b), other == 5 ? 30 : 60, 1e-9);
		close_site(&site);
	}
}

/* A flow between switches reaches no port, so its cable is hashed, as with ECMP. */
static void static_routes_without_a_port_are_hashed(void)
{
	int collisions = 0;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct site site = open_site(CABLES_STATIC, CONGESTION_FAIR);
		int trunk = fabric_link_resource(site.fabric, 6, 0);
		struct flow_id flows[2];
		for (uint64_t i = 0; i < 2; i++) {
			struct flow_spec spec = {.size = 1e6,
						 .key = 1000 * seed + i,
						 .uses = {{trunk, 1}},
						 .use_count = 1};
			flows[i] = fabric_flow_start(site.fabric, &spec);
		}
		collisions += fabs(rate(&site, flows[0]) - 30) < 1e-9;
		arena_free(site.arena);
	}
	CHECK(collisions > 160 && collisions < 240);
}

static void try_to_pass(void *ctx, uint64_t arg)
{
	struct site *site = ctx;
	struct flow_spec spec = {.size = 120, .key = arg};
	const struct route *route =
		fabric_route(site->fabric, site->hosts[0], site->hosts[3], TRAFFIC_RDMA);
	route_uses(site->fabric, route, 0, 120, &spec);
	CHECK_NEAR(fabric_flow_alone(site->fabric, &spec), arg ? 60 : 120, 1e-9);
	CHECK(!fabric_flow_pass(site->fabric, &spec));
}

/* A short message on an idle trunk has the bandwidth of one cable, so it is a flow of its own. */
static void single_messages_have_the_bandwidth_of_a_cable(void)
{
	for (uint64_t key = 0; key < 2; key++) {
		struct site site = open_site(CABLES_ECMP, CONGESTION_FAIR);
		engine_do_at(site.engine, 0, try_to_pass, &site, key);
		close_site(&site);
	}
}

/* Flows 1 to 0 and 3 to 0 have own limits of 10 and share a resource of 10, so they are not blocked
 * at the port of host 0. The other flows of hosts 1 and 3 get the rest of their ports. */
static void flows_that_something_else_limits_pause_no_port(void)
{
	for (int capped = 0; capped < 2; capped++) {
		struct site site = open_site(CABLES_SPRAY, CONGESTION_PFC);
		int core = fabric_resource_add(site.fabric, "core", 20);
		struct flow_id others[2];
		for (int i = 0; i < 2; i++) {
			int from = 1 + 2 * i;
			struct flow_spec spec = {.size = 1e6, .cap = capped ? 10 : 0};
			const struct route *route = fabric_route(site.fabric, site.hosts[from],
								 site.hosts[0], TRAFFIC_RDMA);
			route_uses(site.fabric, route, 0, 1e6, &spec);
			if (!capped)
				flow_use_add(&spec, core, 1);
			CHECK(fabric_flow_start(site.fabric, &spec).serial > 0);
			others[i] = send(&site, from, from + 1, 0, 0);
		}
		for (int i = 0; i < 2; i++)
			CHECK_NEAR(rate(&site, others[i]), 110, 1e-9);
		close_site(&site);
	}
}

/* Hosts 1, 2 and 3 send to host 0, 40 each. A core with 100, which host 3 needs for its flow, gives
 * the other 60 to another flow, because only ports are paused. */
static void only_ports_are_paused(void)
{
	struct site site = open_site(CABLES_SPRAY, CONGESTION_PFC);
	int core = fabric_resource_add(site.fabric, "core", 100);
	(void)send(&site, 1, 0, 0, 0);
	(void)send(&site, 2, 0, 0, 0);
	struct flow_spec spec = {.size = 1e6}, work = {.size = 1e6};
	flow_use_add(&spec, core, 1);
	flow_use_add(&work, core, 1);
	route_uses(site.fabric,
		   fabric_route(site.fabric, site.hosts[3], site.hosts[0], TRAFFIC_RDMA), 0, 1e6,
		   &spec);
	struct flow_id blocked = fabric_flow_start(site.fabric, &spec);
	struct flow_id other = fabric_flow_start(site.fabric, &work);
	CHECK_NEAR(rate(&site, blocked), 40, 1e-9);
	CHECK_NEAR(rate(&site, other), 60, 1e-9);
	close_site(&site);
}

/* Hosts 1 and 2 send to host 0 of their leaf, as host 3 does over the trunk: 40 each. Host 3 also
 * sends to host 4. Its port has 80 left for that, or with DCQCN (36 each) 84. PFC pauses the port
 * of host 3, so this flow gets 40, too. */
static void pfc_slows_the_other_flows_of_a_paused_sender(void)
{
	static const double blocked[] = {40, 36, 40}, victim[] = {80, 84, 40};
	for (int c = CONGESTION_FAIR; c <= CONGESTION_PFC; c++) {
		struct site site = open_site(CABLES_SPRAY, (enum congestion)c);
		struct flow_id last = {0};
		for (int from = 1; from <= 3; from++)
			last = send(&site, from, 0, 0, 0);
		struct flow_id other = send(&site, 3, 4, 0, 0);
		CHECK_NEAR(rate(&site, last), blocked[c], 1e-9);
		CHECK_NEAR(rate(&site, other), victim[c], 1e-9);
		close_site(&site);
	}
}

/* Hosts 1, 2 and 3 send to host 0, 40 each. Host 4 sends to hosts 1 and 5, and without pauses 60 to
 * each, because the trunk has 80 left. PFC pauses the trunk behind the port of host 0, so the flow
 * to host 1 gets 40. Then the port of host 4 is paused, too, and so is its flow to host 5. When the
 * flow from host 3 is cancelled, all pauses end. */
static void pauses_spread_through_the_trunk_to_senders_and_end(void)
{
	struct site site = open_site(CABLES_SPRAY, CONGESTION_PFC);
	struct flow_id blocked = send(&site, 3, 0, 0, 0);
	(void)send(&site, 1, 0, 0, 0);
	(void)send(&site, 2, 0, 0, 0);
	struct flow_id first = send(&site, 4, 1, 0, 0), second = send(&site, 4, 5, 0, 0);
	CHECK_NEAR(rate(&site, blocked), 40, 1e-9);
	CHECK_NEAR(rate(&site, first), 40, 1e-9);
	CHECK_NEAR(rate(&site, second), 40, 1e-9);
	CHECK(fabric_flow_cancel(site.fabric, blocked));
	CHECK_NEAR(rate(&site, first), 60, 1e-9);
	CHECK_NEAR(rate(&site, second), 60, 1e-9);
	close_site(&site);
}

/* Hosts 1 and 2 send one stream each to host 0, and host 3 sends `blocked` streams: 120 / 3 or 120
 * / 4 for each stream. Host 3 also sends `others` streams to host 4. The pause gives each of them
 * what a blocked stream gets, although their own port could carry more. In the last case this port
 * is full, with 120 / 4 for each stream. */
static void a_pause_limits_each_stream_of_a_flow(void)
{
	static const struct {
		double blocked, others, blocked_rate, rate;
	} cases[] = {
		{1, 1, 40, 40}, {1, 1.5, 40, 60}, {2, 1, 60, 30}, {2, 1.5, 60, 45}, {1, 3, 30, 90}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct site site = open_site(CABLES_SPRAY, CONGESTION_PFC);
		struct flow_id one = send(&site, 1, 0, 0, 0), two = send(&site, 2, 0, 0, 0);
		struct flow_id blocked = send_streams(&site, 3, 0, 0, 0, cases[i].blocked);
		struct flow_id others = send_streams(&site, 3, 4, 0, 0, cases[i].others);
		CHECK_NEAR(rate(&site, one), (120 - cases[i].blocked_rate) / 2, 1e-9);
		CHECK_NEAR(rate(&site, two), (120 - cases[i].blocked_rate) / 2, 1e-9);
		CHECK_NEAR(rate(&site, blocked), cases[i].blocked_rate, 1e-9);
		CHECK_NEAR(rate(&site, others), cases[i].rate, 1e-9);
		close_site(&site);
	}
}

/* With DCQCN, two flows at a port share 108 of 120. When the first has ended, the other gets all.
 */
static void congested_port_recovers_when_one_flow_is_left(void)
{
	struct site site = open_site(CABLES_SPRAY, CONGESTION_DCQCN);
	struct flow_id first = send(&site, 1, 0, 0, 0), second = send(&site, 2, 0, 0, 0);
	CHECK_NEAR(rate(&site, first), 54, 1e-9);
	CHECK_NEAR(rate(&site, second), 54, 1e-9);
	fabric_flow_cancel(site.fabric, first);
	CHECK_NEAR(rate(&site, second), 120, 1e-9);
	(void)send(&site, 3, 0, 0, 0);
	CHECK_NEAR(rate(&site, second), 54, 1e-9);
	close_site(&site);
}

/* A flow of 100 units that ends, and what its end starts in the same event. */
struct ending {
	struct site *site;
	int core;
	struct flow_spec next;
	struct flow_id started;
};

static void start_next(void *ctx, uint64_t arg)
{
	struct ending *ending = ctx;
	struct fabric *fabric = ending->site->fabric;
	CHECK(fabric_flows_on(fabric, ending->core) == 1);
	CHECK_NEAR(fabric_carried(fabric, ending->core), 200, 1e-9);
	ending->started = fabric_flow_start(fabric, &ending->next);
}

/* Two flows share a core of 100. After 2 s the shorter one has moved 100, and is followed by a flow
 * that differs in one thing: nothing, its weight of 2, its own limit of 10, or its 2 units of the
 * core for each of its own. */
static void flow_that_follows_another_has_its_own_rate(void)
{
	static const double expected[] = {50, 200.0 / 3, 10, 100.0 / 3};
	for (int i = 0; i < 4; i++) {
		struct site site = open_site(CABLES_SPRAY, CONGESTION_FAIR);
		struct ending ending = {.site = &site, .next = {.size = 1000}};
		ending.core = fabric_resource_add(site.fabric, "core", 100);
		struct flow_spec spec = {.size = 1000};
		flow_use_add(&spec, ending.core, 1);
		(void)fabric_flow_start(site.fabric, &spec);
		spec.size = 100;
		spec.done = start_next;
		spec.ctx = &ending;
		(void)fabric_flow_start(site.fabric, &spec);
		flow_use_add(&ending.next, ending.core, i == 3 ? 2 : 1);
		ending.next.weight = i == 1 ? 2 : 0;
		ending.next.cap = i == 2 ? 10 : 0;
		engine_at(site.engine, ps_from_s(2.5), stop, site.engine, 0);
		CHECK(engine_run(site.engine) == ENGINE_STOPPED);
		CHECK_NEAR(rate(&site, ending.started), expected[i], 1e-9);
		close_site(&site);
	}
}

static void pass_after(void *ctx, uint64_t arg)
{
	struct site *site = ctx;
	struct flow_spec spec = {.size = 10};
	flow_use_add(&spec, 0, 1);
	flow_use_add(&spec, (int)arg, 1);
	CHECK(!fabric_flow_pass(site->fabric, &spec));
}

/* A message does not pass at once if a flow uses the second of its resources. */
static void a_flow_on_any_resource_stops_messages(void)
{
	struct site site = open_site(CABLES_SPRAY, CONGESTION_FAIR);
	int core = fabric_resource_add(site.fabric, "core", 100);
	struct flow_spec spec = {.size = 1000};
	flow_use_add(&spec, core, 1);
	(void)fabric_flow_start(site.fabric, &spec);
	engine_do_at(site.engine, ps_from_s(1), pass_after, &site, (uint64_t)core);
	close_site(&site);
}

static const struct test tests[] = {
	TEST(ecmp_puts_half_of_the_pairs_of_flows_on_one_of_two_cables),
	TEST(queue_pairs_spread_one_flow_over_cables),
	TEST(parts_of_a_flow_are_halved_until_their_cables_fit),
	TEST(spraying_and_adaptive_switches_have_no_collisions),
	TEST(static_routes_collide_by_the_receiving_port),
	TEST(static_routes_without_a_port_are_hashed),
	TEST(single_messages_have_the_bandwidth_of_a_cable),
	TEST(congested_port_recovers_when_one_flow_is_left),
	TEST(flow_that_follows_another_has_its_own_rate),
	TEST(a_flow_on_any_resource_stops_messages),
	TEST(flows_that_something_else_limits_pause_no_port),
	TEST(only_ports_are_paused),
	TEST(pfc_slows_the_other_flows_of_a_paused_sender),
	TEST(a_pause_limits_each_stream_of_a_flow),
	TEST(pauses_spread_through_the_trunk_to_senders_and_end),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
