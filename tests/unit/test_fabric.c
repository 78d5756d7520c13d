/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/link.h"
#include "sim/transport/path.h"
#include "tests/test.h"

/* ---- flows ---- */

static void count_up(void *ctx, uint64_t arg)
{
	(*(size_t *)ctx)++;
}

static void ids_of_ended_flows_do_nothing(void)
{
	struct arena *arena = arena_new();
	struct engine *engine = engine_new(arena, NULL);
	struct fabric *fabric = fabric_new(arena, engine);
	size_t ended = 0;
	struct flow_spec spec = {.size = 1, .cap = 1, .done = count_up, .ctx = &ended};
	struct flow_id first = fabric_flow_start(fabric, &spec);
	CHECK(fabric_flow_count(fabric) == 1);
	CHECK(fabric_flow_rate(fabric, first) == 1);
	CHECK(engine_run(engine) == ENGINE_DRAINED);
	CHECK(ended == 1);
	struct flow_id second = fabric_flow_start(fabric, &spec);
	CHECK(second.slot == first.slot);
	CHECK(!fabric_flow_cancel(fabric, first));
	CHECK(!fabric_flow_cap_set(fabric, first, 5));
	CHECK(fabric_flow_rate(fabric, first) == 0);
	CHECK(!fabric_flow_cancel(fabric, (struct flow_id){0}));
	CHECK(fabric_flow_rate(fabric, second) == 1);
	CHECK(engine_run(engine) == ENGINE_DRAINED);
	CHECK(ended == 2);
	arena_free(arena);
}

struct passing {
	struct engine *engine;
	struct fabric *fabric;
	int link;
	int64_t took_ps[3];
};

static void pass_three_times(void *ctx, uint64_t arg)
{
	struct passing *passing = ctx;
	struct flow_spec spec = {.size = 1000, .uses = {{passing->link, 1}}, .use_count = 1};
	for (int i = 0; i < 3; i++) {
		int64_t before_ps = engine_now_ps(passing->engine);
		if (i == 2)
			fabric_capacity_set(passing->fabric, passing->link, 0.5e9);
		CHECK(fabric_flow_pass(passing->fabric, &spec));
		passing->took_ps[i] = engine_now_ps(passing->engine) - before_ps;
	}
}

/* 100 B at a limit of 1 kB/s take 100 ms. Without a limit and a link, a flow takes no time. */
static void pass_without_links(void *ctx, uint64_t arg)
{
	struct passing *passing = ctx;
	struct flow_spec limited = {.size = 100, .cap = 1e3}, free = {.size = 100};
	CHECK(flow_pass(passing->engine, passing->fabric, &limited));
	CHECK(engine_now_ps(passing->engine) == PS_PER_S / 10);
	CHECK(flow_pass(passing->engine, passing->fabric, &free));
	CHECK(engine_now_ps(passing->engine) == PS_PER_S / 10);
}

static void passing_flows_without_links_keep_their_limit(void)
{
	struct arena *arena = arena_new();
	struct passing passing = {.engine = engine_new(arena, NULL)};
	passing.fabric = fabric_new(arena, passing.engine);
	engine_after(passing.engine, 0, pass_without_links, &passing, 0);
	CHECK(engine_run(passing.engine) == ENGINE_DRAINED);
	arena_free(arena);
}

/* A flow of 1000 B at 1 GB/s runs twice, and then with half the capacity. */
static void passing_flows_use_a_changed_capacity(void)
{
	struct arena *arena = arena_new();
	struct passing passing = {.engine = engine_new(arena, NULL)};
	passing.fabric = fabric_new(arena, passing.engine);
	passing.link = fabric_resource_add(passing.fabric, "link", 1e9);
	engine_at(passing.engine, 5, pass_three_times, &passing, 0);
	CHECK(engine_run(passing.engine) == ENGINE_DRAINED);
	CHECK(passing.took_ps[0] == 1000000 && passing.took_ps[1] == 1000000);
	CHECK(passing.took_ps[2] == 2000000);
	fabric_account(passing.fabric);
	CHECK(engine_failure(passing.engine) == NULL);
	arena_free(arena);
}

struct chain {
	struct fabric *fabric;
	struct flow_spec spec;
	size_t left;
};

static void start_next(void *ctx, uint64_t arg)
{
	struct chain *chain = ctx;
	if (chain->left == 0)
		return;
	chain->left--;
	fabric_flow_start(chain->fabric, &chain->spec);
}

/* Eight chains of flows share one resource. Once every slot exists, a thousand more flows allocate
 * nothing. */
static void repeated_flows_allocate_nothing(void)
{
	struct arena *arena = arena_new();
	struct engine *engine = engine_new(arena, NULL);
	struct chain chain = {.fabric = fabric_new(arena, engine), .left = 100};
	int resource = fabric_resource_add(chain.fabric, "r", 100);
	chain.spec = (struct flow_spec){.size = 10,
					.uses = {{resource, 1}},
					.use_count = 1,
					.done = start_next,
					.ctx = &chain};
	size_t warm_B = 0;
	for (int round = 0; round < 2; round++) {
		chain.left = round ? 1000 : 100;
		for (int i = 0; i < 8; i++)
			start_next(&chain, 0);
		CHECK(engine_run(engine) == ENGINE_DRAINED);
		CHECK(!round || arena_used_B(arena) == warm_B);
		warm_B = arena_used_B(arena);
	}
	CHECK(fabric_carried(chain.fabric, resource) == 11000);
	arena_free(arena);
}

/* All flows run at the same time between 100 hosts. The bound covers a flow, its two uses, its end,
 * and the solver's data with room to grow: docs/PERFORMANCE.md. */
static void flow_takes_less_than_700_bytes(void)
{
	enum { HOSTS = 100 };
	struct arena *arena = arena_new();
	struct engine *engine = engine_new(arena, NULL);
	struct fabric *fabric = fabric_new(arena, engine);
	int up[HOSTS], down[HOSTS];
	for (int i = 0; i < HOSTS; i++) {
		up[i] = fabric_resource_add(fabric, arena_printf(arena, "up%d", i), 100);
		down[i] = fabric_resource_add(fabric, arena_printf(arena, "down%d", i), 100);
	}
	size_t before_B = arena_used_B(arena), ended = 0;
	for (int i = 0; i < HOSTS * HOSTS; i++) {
		struct flow_spec spec = {
			.size = 1, .use_count = 2, .done = count_up, .ctx = &ended};
		spec.uses[0] = (struct flow_use){up[i / HOSTS], 1};
		spec.uses[1] = (struct flow_use){down[i % HOSTS], 1};
		fabric_flow_start(fabric, &spec);
	}
	CHECK(engine_run(engine) == ENGINE_DRAINED);
	CHECK(ended == HOSTS * HOSTS);
	/* A hundred flows of one byte on each link of 100 bytes/s. */
	CHECK(engine_now_ps(engine) == PS_PER_S);
	CHECK(arena_used_B(arena) - before_B < 700 * ended);
	arena_free(arena);
}

/* Two flows of 100 units share a capacity of 100 and use 2 of it for each unit. A flow takes 2 s
 * alone and 4 s beside the other one, which delays it by 2 s. With a cap of 25 units/s it takes 4 s
 * alone, too. */
static void shared_flows_count_how_long_others_delay_them(void)
{
	static const struct {
		double cap, waited_s;
	} cases[] = {{0, 4}, {25, 0}, {40, 3}}; /* alone at 40 units/s: 2.5 s */
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct arena *arena = arena_new();
		struct engine *engine = engine_new(arena, NULL);
		struct fabric *fabric = fabric_new(arena, engine);
		struct flow_spec spec = {.size = 100,
					 .cap = cases[c].cap,
					 .uses = {{fabric_resource_add(fabric, "r", 100), 2}},
					 .use_count = 1};
		for (int i = 0; i < 2; i++)
			fabric_flow_start(fabric, &spec);
		CHECK(engine_run(engine) == ENGINE_DRAINED);
		CHECK_NEAR(s_from_ps(engine_now_ps(engine)), 4, 1e-11);
		CHECK_NEAR(s_from_ps(engine_wait_ps(engine, WAIT_SHARED)), cases[c].waited_s,
			   1e-11);
		arena_free(arena);
	}
}

/* ---- routes ---- */

struct map {
	struct arena *arena;
	struct fabric *fabric;
};

static struct map open_map(void)
{
	struct map map = {.arena = arena_new()};
	map.fabric = fabric_new(map.arena, engine_new(map.arena, NULL));
	return map;
}

static int node(struct map *map, const char *name)
{
	int found = fabric_node_find(map->fabric, name);
	return found >= 0 ? found : fabric_node_add(map->fabric, name);
}

static void join(struct map *map, const char *name, const char *kind, const char *a, const char *b,
		 double latency_s)
{
	struct link_traits traits = {.capacity_Bps = {1e9, 2e9},
				     .latency_s = latency_s,
				     .packet_payload_B = 1500,
				     .packet_overhead_B = 38,
				     .loss_ratio = {0.1, 0.5}};
	fabric_link_add(map->fabric, name, link_kind_find(kind), node(map, a), node(map, b),
			&traits);
}

/* Returns the names of the route's links with a sign for their direction: "+x -y". */
static const char *way(struct map *map, const char *from, const char *to, unsigned traffic)
{
	const struct route *route =
		fabric_route(map->fabric, node(map, from), node(map, to), traffic);
	if (!route)
		return "none";
	const char *text = "";
	for (size_t i = 0; i < route->count; i++)
		text = arena_printf(map->arena, "%s%s%s%s", text, i ? " " : "",
				    route->hops[i].direction ? "-" : "+",
				    fabric_link_name(map->fabric, route->hops[i].link));
	return text;
}

static void route_with_least_latency_is_taken(void)
{
	struct map map = open_map();
	join(&map, "direct", "ethernet", "a", "b", 5e-6);
	CHECK_TEXT(way(&map, "a", "b", TRAFFIC_ANY), "+direct");
	join(&map, "one", "ethernet", "a", "m", 2e-6);
	join(&map, "two", "ethernet", "b", "m", 2e-6);
	CHECK_TEXT(way(&map, "a", "b", TRAFFIC_ANY), "+one -two"); /* not the route kept before */
	CHECK_TEXT(way(&map, "b", "a", TRAFFIC_ANY), "+two -one");
	CHECK_TEXT(way(&map, "a", "a", TRAFFIC_ANY), "");
	node(&map, "island");
	CHECK_TEXT(way(&map, "a", "island", TRAFFIC_ANY), "none");
	const struct route *route =
		fabric_route(map.fabric, node(&map, "a"), node(&map, "b"), TRAFFIC_ANY);
	CHECK_NEAR(route->latency_s, 4e-6, 1e-12);
	CHECK_NEAR(route->loss_ratio, 1 - 0.9 * 0.5, 1e-12);
	CHECK(route->mtu_B == 1500);
	CHECK(!route->physical_nic);
	/* The links have 1 GB/s from their first end and 2 GB/s back: the slowest on the way
	 * counts. */
	CHECK_NEAR(route_least_spB(map.fabric, route), 1e-9, 1e-12);
	route = fabric_route(map.fabric, node(&map, "m"), node(&map, "a"), TRAFFIC_ANY);
	CHECK_NEAR(route_least_spB(map.fabric, route), 0.5e-9, 1e-12);
	CHECK_NEAR(route->loss_ratio, 0.5, 1e-12);
	/* Either hop of a route can be the one with a physical NIC. */
	for (int end = 0; end < 2; end++) {
		const char *name = end ? "behind b" : "behind a", *other = end ? "a" : "b";
		struct link_traits traits = {.capacity_Bps = {1e9, 1e9}, .physical_nic = true};
		fabric_link_add(map.fabric, name, link_kind_find("ethernet"), node(&map, name),
				node(&map, end ? "b" : "a"), &traits);
		for (int back = 0; back < 2; back++)
			CHECK(fabric_route(map.fabric, node(&map, back ? other : name),
					   node(&map, back ? name : other), TRAFFIC_ANY)
				      ->physical_nic);
	}
	for (double mtu_B = 9000; mtu_B > 500; mtu_B -= 8000) { /* the smallest MTU counts */
		const char *end = mtu_B > 1500 ? "jumbo" : "dwarf";
		struct link_traits traits = {.capacity_Bps = {1e9, 1e9}, .packet_payload_B = mtu_B};
		double least_B = mtu_B > 1500 ? 1500 : mtu_B;
		fabric_link_add(map.fabric, end, link_kind_find("ethernet"), node(&map, "b"),
				node(&map, end), &traits);
		CHECK(fabric_route(map.fabric, node(&map, "a"), node(&map, end), TRAFFIC_ANY)
			      ->mtu_B == least_B);
		CHECK(fabric_route(map.fabric, node(&map, end), node(&map, "a"), TRAFFIC_ANY)
			      ->mtu_B == least_B);
	}
	route = fabric_route(map.fabric, node(&map, "a"), node(&map, "b"), TRAFFIC_ANY);
	CHECK(route == fabric_route(map.fabric, node(&map, "a"), node(&map, "b"), TRAFFIC_ANY));
	arena_free(map.arena);
}

/* Three links limit a stream to 5 GB/s, to nothing and to 2 GB/s, in either order. */
static void the_lowest_limit_of_a_stream_on_three_links_counts(void)
{
	static const double limits[] = {5e9, 0, 2e9};
	static const char *const ends[] = {"a", "m", "n", "b"};
	struct map map = open_map();
	for (size_t i = 0; i < 3; i++) {
		struct link_traits traits = {.capacity_Bps = {1e10, 1e10}, .flow_Bps = limits[i]};
		fabric_link_add(map.fabric, ends[i], link_kind_find("ethernet"),
				node(&map, ends[i]), node(&map, ends[i + 1]), &traits);
	}
	int a = node(&map, "a"), n = node(&map, "n"), b = node(&map, "b");
	CHECK(fabric_route(map.fabric, a, b, TRAFFIC_ANY)->flow_Bps == 2e9);
	CHECK(fabric_route(map.fabric, b, a, TRAFFIC_ANY)->flow_Bps == 2e9);
	CHECK(fabric_route(map.fabric, a, n, TRAFFIC_ANY)->flow_Bps == 5e9);
	arena_free(map.arena);
}

/* 0.1 + 0.2 + 0.3 us and 0.6 us are equal in picoseconds, so one hop wins over three. */
static void equal_latencies_take_the_fewest_hops(void)
{
	struct map map = open_map();
	join(&map, "a1", "ethernet", "a", "m", 0.1e-6);
	join(&map, "a2", "ethernet", "m", "n", 0.2e-6);
	join(&map, "a3", "ethernet", "n", "b", 0.3e-6);
	join(&map, "z", "ethernet", "a", "b", 0.6e-6);
	CHECK_TEXT(way(&map, "a", "b", TRAFFIC_ANY), "+z");
	arena_free(map.arena);
}

/* Two planes: links 1 and 4, or 2 and 3. The paths part at an end, a, which takes the first of its
 * links by name. Read from b it would be "3 2", but both directions use the same links. The order
 * of adding links does not matter. */
static void equal_routes_are_chosen_by_name_in_both_directions(void)
{
	for (int turned = 0; turned < 2; turned++) {
		struct map map = open_map();
		for (int i = 0; i < 4; i++) {
			switch (turned ? 3 - i : i) {
			case 0:
				join(&map, "1", "ethernet", "a", "m", 1e-6);
				break;
			case 1:
				join(&map, "2", "ethernet", "a", "n", 1e-6);
				break;
			case 2:
				join(&map, "3", "ethernet", "n", "b", 1e-6);
				break;
			default:
				join(&map, "4", "ethernet", "m", "b", 1e-6);
			}
		}
		CHECK_TEXT(way(&map, "a", "b", TRAFFIC_ANY), "+1 +4");
		CHECK_TEXT(way(&map, "b", "a", TRAFFIC_ANY), "-4 -1");
		/* There are parallel links, and a longer route of equal latency whose first hop
		 * decides. */
		join(&map, "0", "ethernet", "m", "b", 1e-6);
		CHECK_TEXT(way(&map, "a", "b", TRAFFIC_ANY), "+1 +0");
		arena_free(map.arena);
	}
}

/* Two leaves with eight ends each, and four spines with equal paths between them. A hash of the 64
 * pairs of ends takes each spine 16 times on average, with a standard deviation of sqrt(64 x 1/4 x
 * 3/4) = 3.5. So no spine has fewer than 6 or more than 26 pairs. Both directions of a pair use the
 * same spine. */
static void pairs_of_ends_are_spread_over_equal_paths_of_switches(void)
{
	struct map map = open_map();
	size_t counts[4] = {0};
	for (size_t i = 0; i < 16; i++)
		join(&map, arena_printf(map.arena, "port%zu", i), "ethernet",
		     arena_printf(map.arena, "end%zu", i), i < 8 ? "leaf0" : "leaf1", 1e-6);
	for (size_t i = 0; i < 8; i++)
		join(&map, arena_printf(map.arena, "up%zu", i), "ethernet",
		     i < 4 ? "leaf0" : "leaf1", arena_printf(map.arena, "spine%zu", i % 4), 1e-6);
	for (size_t i = 0; i < 64; i++) {
		const char *from = arena_printf(map.arena, "end%zu", i / 8);
		const char *to = arena_printf(map.arena, "end%zu", 8 + i % 8);
		const char *there = way(&map, from, to, TRAFFIC_ANY);
		size_t spine = (size_t)(strstr(there, "+up")[3] - '0');
		char back[32];
		snprintf(back, sizeof back, "-up%zu", spine);
		CHECK(spine < 4 && strstr(way(&map, to, from, TRAFFIC_ANY), back));
		counts[spine < 4 ? spine : 0]++;
	}
	for (size_t i = 0; i < 4; i++)
		CHECK(counts[i] >= 6 && counts[i] <= 26);
	arena_free(map.arena);
}

static void slot(struct map *map, const char *name, const char *a, const char *b)
{
	const struct link_traits traits = {
		.capacity_Bps = {1e9, 1e9}, .latency_s = 1e-7, .own_packets = true};
	fabric_link_add(map->fabric, name, link_kind_find("pcie"), node(map, a), node(map, b),
			&traits);
}

/* x and y are in different networks; box has an adapter in each. The route through its PCIe would
 * be shorter than the cable between the networks, but adapters do not forward. */
static void routes_avoid_the_inside_of_other_machines(void)
{
	struct map map = open_map();
	slot(&map, "x-slot", "x", "x-nic");
	slot(&map, "y-slot", "y", "y-nic");
	slot(&map, "box-a", "box", "box-nic-a");
	slot(&map, "box-b", "box", "box-nic-b");
	join(&map, "x-port", "infiniband", "x-nic", "net-a", 1e-6);
	join(&map, "y-port", "infiniband", "y-nic", "net-b", 1e-6);
	join(&map, "port-a", "infiniband", "box-nic-a", "net-a", 1e-6);
	join(&map, "port-b", "infiniband", "box-nic-b", "net-b", 1e-6);
	/* Without another route, box acts as a gateway. */
	CHECK_TEXT(way(&map, "x", "y", TRAFFIC_ANY),
		   "+x-slot +x-port -port-a -box-a +box-b +port-b -y-port -y-slot");
	join(&map, "far", "infiniband", "net-a", "net-b", 9e-6);
	CHECK_TEXT(way(&map, "x", "y", TRAFFIC_ANY), "+x-slot +x-port +far -y-port -y-slot");
	CHECK_TEXT(way(&map, "y", "x", TRAFFIC_ANY), "+y-slot +y-port -far -x-port -x-slot");
	/* A route may use the inside of its own machine. */
	CHECK_TEXT(way(&map, "box-nic-a", "y", TRAFFIC_ANY),
		   "-box-a +box-b +port-b -y-port -y-slot");
	arena_free(map.arena);
}

/* Many routes are requested again in another order. Each must be the one that was found first. */
static void kept_routes_are_found_again(void)
{
	enum { LEAVES = 40 };
	struct map map = open_map();
	const struct route *first[LEAVES][LEAVES];
	int leaves[LEAVES];
	for (int i = 0; i < LEAVES; i++) {
		const char *name = arena_printf(map.arena, "leaf%d", i);
		join(&map, arena_printf(map.arena, "cable%d", i), "ethernet", name, "hub", 1e-6);
		leaves[i] = node(&map, name);
	}
	for (int i = 0; i < LEAVES; i++)
		for (int j = 0; j < LEAVES; j++)
			first[i][j] = fabric_route(map.fabric, leaves[i], leaves[j], TRAFFIC_ANY);
	for (int j = LEAVES - 1; j >= 0; j--)
		for (int i = 0; i < LEAVES; i++) {
			const struct route *again =
				fabric_route(map.fabric, leaves[i], leaves[j], TRAFFIC_ANY);
			CHECK(again == first[i][j] && again->count == (i == j ? 0 : 2));
			if (i != j) {
				CHECK(again->hops[0].link == i && again->hops[1].link == j);
				CHECK(!fabric_route(map.fabric, leaves[i], leaves[j],
						    TRAFFIC_RDMA));
			}
		}
	arena_free(map.arena);
}

static void routes_use_only_links_that_carry_the_traffic(void)
{
	struct map map = open_map();
	join(&map, "slow", "infiniband", "a", "b", 9e-6);
	join(&map, "quick", "ethernet", "a", "b", 1e-6);
	CHECK_TEXT(way(&map, "a", "b", TRAFFIC_ANY), "+quick");
	CHECK_TEXT(way(&map, "a", "b", TRAFFIC_RDMA), "+slow");
	CHECK_TEXT(way(&map, "a", "b", TRAFFIC_RDMA | TRAFFIC_BETWEEN_HOSTS), "+slow");
	CHECK_TEXT(way(&map, "a", "b", TRAFFIC_COPIES), "none");
	CHECK_TEXT(way(&map, "a", "b", TRAFFIC_COPIES), "none");
	arena_free(map.arena);
}

static void link_has_one_resource_per_direction(void)
{
	struct map map = open_map();
	join(&map, "wire", "ethernet", "client", "server", 1e-6);
	CHECK(fabric_node_count(map.fabric) == 2 && fabric_link_count(map.fabric) == 1);
	CHECK_TEXT(fabric_link_kind(map.fabric, 0)->name, "ethernet");
	int there = fabric_link_resource(map.fabric, 0, 0);
	int back = fabric_link_resource(map.fabric, 0, 1);
	CHECK_TEXT(fabric_resource_name(map.fabric, there), "wire client>server");
	CHECK_TEXT(fabric_resource_name(map.fabric, back), "wire server>client");
	CHECK(fabric_capacity(map.fabric, there) == 1e9);
	CHECK(fabric_capacity(map.fabric, back) == 2e9);
	int a, b;
	fabric_link_nodes(map.fabric, 0, &a, &b);
	CHECK_TEXT(fabric_node_name(map.fabric, a), "client");
	CHECK_TEXT(fabric_node_name(map.fabric, b), "server");
	/* One segment with 52 bytes of TCP and IP headers: 1538/1448 on the way back, added to what
	 * the flow already uses. */
	struct flow_spec spec = {.uses = {{back, 2}}, .use_count = 1};
	const struct route *route = fabric_route(map.fabric, b, a, TRAFFIC_ANY);
	route_uses(map.fabric, route, 52, 1448, &spec);
	CHECK(spec.use_count == 1);
	CHECK_NEAR(spec.uses[0].per_unit, 2 + 1538.0 / 1448, 1e-15);
	arena_free(map.arena);
}

/* ---- bytes on the wire ---- */

static void wire_bytes_include_packet_overhead(void)
{
	struct link_traits ethernet = {.packet_payload_B = 1500, .packet_overhead_B = 38};
	/* TCP with timestamps: 20 + 20 + 12 bytes of headers, so segments of 1448 bytes. */
	CHECK(link_wire_B(&ethernet, 0, 52, 1448) == 1538);
	CHECK(link_wire_B(&ethernet, 0, 52, 1449) == 1449 + 2 * 90);
	CHECK(link_wire_B(&ethernet, 0, 52, 1) == 91);
	CHECK(link_wire_B(&ethernet, 0, 52, 0) == 90);
	CHECK(link_wire_B(&ethernet, 0, 52, 1448e3) == 1538e3);
	/* A jumbo link on a route with a smaller MTU carries small packets. */
	struct link_traits jumbo = {.packet_payload_B = 9000, .packet_overhead_B = 38};
	CHECK(link_wire_B(&jumbo, 1500, 52, 2896) == 2 * 1538);
	CHECK(link_wire_B(&ethernet, 9000, 52, 2896) == 2 * 1538);
	/* 4000 B in three packets of 1500 B, with their headers, are 4156 B: 17 packets of PCIe */
	const struct link_traits pcie = {
		.own_packets = true, .packet_payload_B = 256, .packet_overhead_B = 24};
	CHECK(link_wire_B(&pcie, 1500, 52, 4000) == 4000 + 3 * 52 + 17 * 24);
	/* VXLAN over IPv4 adds 50 bytes to each packet. */
	CHECK(link_wire_B(&ethernet, 0, 102, 1398) == 1538);
	/* Without packets only the headers of one are added. */
	struct link_traits memory = {0};
	CHECK(link_wire_B(&memory, 0, 0, 1e6) == 1e6);
	CHECK(link_wire_B(&memory, 0, 16, 1e6) == 1e6 + 16);
}

/* PCIe divides all traffic: 1 MiB is 4096 TLPs of 256 + 24 bytes. Two network packets of 1500 (2896
 * bytes of data) are 3000 bytes, which are 12 TLPs. */
static void links_with_own_packets_divide_the_traffic_again(void)
{
	struct link_traits pcie = {
		.packet_payload_B = 256, .packet_overhead_B = 24, .own_packets = true};
	CHECK(link_wire_B(&pcie, 0, 0, 1048576) == 4096.0 * 280);
	CHECK(link_wire_B(&pcie, 0, 0, 257) == 257 + 48);
	CHECK(link_wire_B(&pcie, 1500, 52, 2896) == 3000 + 12 * 24);
	/* In a route they do not influence the MTU. */
	struct map map = open_map();
	join(&map, "wire", "ethernet", "a", "b", 1e-6);
	pcie.capacity_Bps[0] = pcie.capacity_Bps[1] = 16e9;
	fabric_link_add(map.fabric, "slot", link_kind_find("pcie"), node(&map, "b"),
			node(&map, "gpu"), &pcie);
	const struct route *route =
		fabric_route(map.fabric, node(&map, "a"), node(&map, "gpu"), TRAFFIC_ANY);
	CHECK(route->mtu_B == 1500);
	route = fabric_route(map.fabric, node(&map, "b"), node(&map, "gpu"), TRAFFIC_ANY);
	CHECK(route->mtu_B == 0);
	arena_free(map.arena);
}

static const struct test tests[] = {
	TEST(passing_flows_use_a_changed_capacity),
	TEST(passing_flows_without_links_keep_their_limit),
	TEST(ids_of_ended_flows_do_nothing),
	TEST(repeated_flows_allocate_nothing),
	TEST(flow_takes_less_than_700_bytes),
	TEST(shared_flows_count_how_long_others_delay_them),
	TEST(route_with_least_latency_is_taken),
	TEST(the_lowest_limit_of_a_stream_on_three_links_counts),
	TEST(equal_latencies_take_the_fewest_hops),
	TEST(equal_routes_are_chosen_by_name_in_both_directions),
	TEST(pairs_of_ends_are_spread_over_equal_paths_of_switches),
	TEST(routes_use_only_links_that_carry_the_traffic),
	TEST(routes_avoid_the_inside_of_other_machines),
	TEST(kept_routes_are_found_again),
	TEST(link_has_one_resource_per_direction),
	TEST(wire_bytes_include_packet_overhead),
	TEST(links_with_own_packets_divide_the_traffic_again),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
