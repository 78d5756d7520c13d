/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clusters: number and names of machines, routes through each kind of wiring, capacities between
 * halves, and parameters that are read once. */
#include <time.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/scenario/system.h"
#include "sim/scenario/wiring.h"
#include "tests/test.h"

static struct arena *arena;
static struct diag *diag; /* diagnostics of the last case */

static const struct scenario *read_case(const char *const *settings)
{
	enum { SETTINGS_MAX = 24 };
	struct setting list[SETTINGS_MAX];
	struct case_request request = {.settings = list, .data_root = data_root_find(arena)};
	diag = diag_new(arena);
	for (; *settings; settings++)
		list[request.setting_count++] = (struct setting){*settings, {"--set", 0}};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	CHECK(scenario != NULL);
	return scenario;
}
#define READ(...) read_case((const char *const[]){__VA_ARGS__, NULL})

static struct system *build(const struct scenario *scenario)
{
	struct system *system = ARENA_NEW(arena, struct system);
	system_build(system, arena, scenario, NULL);
	return system;
}

/* Returns the links of the route for RDMA, in order. */
static const char *way(struct system *system, const char *from, const char *to)
{
	int a = fabric_node_find(system->fabric, from), b = fabric_node_find(system->fabric, to);
	if (!CHECK(a >= 0 && b >= 0))
		return "?";
	const struct route *route = fabric_route(system->fabric, a, b, TRAFFIC_RDMA);
	const char *text = "";
	for (size_t i = 0; route && i < route->count; i++)
		text = arena_printf(arena, "%s%s%s", text, i ? " " : "",
				    fabric_link_name(system->fabric, route->hops[i].link));
	return route ? text : "none";
}

static double capacity_Bps(const struct topology *topology, const char *link)
{
	for (size_t i = 0; i < topology->link_count; i++)
		if (strcmp(topology->links[i].name, link) == 0)
			return topology->links[i].traits.capacity_Bps[0];
	printf("  no link %s\n", link);
	return 0;
}

#define C4140   "case.topology=c4140-m"
#define EDR_Bps 12.5e9

/* ---- machines ---- */

static void cluster_has_as_many_machines_as_the_job_needs(void)
{
	/* four GPUs per machine */
	const struct scenario *one = READ(C4140, "case.gpus=4");
	const struct scenario *two = READ(C4140, "case.gpus=5");
	const struct scenario *spread = READ(C4140, "case.gpus=5", "case.gpus_per_machine=1");
	const struct scenario *fixed = READ(C4140, "case.gpus=4", "cluster.count=3");
	if (!one || !two || !spread || !fixed)
		return;
	CHECK(one->topology.host_count == 1 && one->topology.gpu_count == 4);
	CHECK(two->topology.host_count == 2 && two->topology.gpu_count == 8);
	CHECK(spread->topology.host_count == 5);
	CHECK(fixed->topology.host_count == 3);
	/* a job cannot use more GPUs of a machine than it has */
	const struct scenario *more = READ(C4140, "case.gpus=8", "case.gpus_per_machine=8");
	CHECK(more && more->topology.host_count == 2);
	CHECK_TEXT(two->topology.hosts[1].name, "n1");
	CHECK_TEXT(two->topology.guests[1].name, "n1.os");
	CHECK_TEXT(two->topology.gpus[7].name, "n1.gpu3");
	CHECK(two->topology.gpus[7].host == 1 && two->topology.guests[1].host == 1);
	CHECK(two->jobs[0].guests[4] == 1);
}

/* One record describes all copies, and one setting changes all of them. */
static void one_setting_applies_to_all_copies_of_a_machine(void)
{
	const struct scenario *s =
		READ(C4140, "case.gpus=64", "case.stack=pytorch",
		     "link.network.bandwidth=25 Gbit/s", "host.node.cores=7", "guest.os.kind=vm",
		     "link.slot3.lanes=8", "gpu.*.profile=p100-sxm2");
	const struct scenario *small = READ(C4140, "case.gpus=4", "case.stack=pytorch");
	if (!s || !small)
		return;
	CHECK(s->topology.hosts[15].params.cores_count == 7);
	CHECK(s->topology.guests[9].params.kind == GUEST_VM);
	CHECK_TEXT(s->topology.gpus[63].profile, "p100-sxm2");
	CHECK_NEAR(capacity_Bps(&s->topology, "fabric.n3.nic0"), 25e9 / 8, 1e-12);
	CHECK_NEAR(capacity_Bps(&s->topology, "n15.slot3"),
		   capacity_Bps(&s->topology, "n15.slot2") / 2, 1e-12);
	CHECK(cfg_param_count(s->resolution) == cfg_param_count(small->resolution));
	CHECK(cfg_param_find(s->resolution, "link.network.bandwidth") != NULL);
	CHECK(cfg_param_find(s->resolution, "link.fabric.n0.nic0.bandwidth") == NULL);
}

/* A guest's messages cross the host's PCIe, which also carries the GPUs' copies. */
static void guest_messages_cross_the_hosts_pcie(void)
{
	const struct scenario *s = READ("case.topology=closer2018-gtx1080", "case.gpus=4",
					"case.transport=tcp", "case.guest=vm");
	if (!s)
		return;
	struct system *system = build(s);
	const struct route *route =
		fabric_route(system->fabric, fabric_node_find(system->fabric, "n0.vm"),
			     fabric_node_find(system->fabric, "n1.os"), TRAFFIC_SOCKETS);
	static const char *const expected[] = {"n0.vm-host",     "n0.chipset", "fabric.n0.nic0",
					       "fabric.n1.nic0", "n1.chipset", "n1.os-host"};
	if (!CHECK(route && route->count == 6))
		return;
	for (size_t i = 0; i < 6; i++)
		CHECK_TEXT(fabric_link_name(system->fabric, route->hops[i].link), expected[i]);
	CHECK(s->topology.guests[s->jobs[0].guests[2]].host == 1);
	CHECK_TEXT(s->topology.guests[s->jobs[0].guests[2]].name, "n1.vm");
}

static double step_s(const char *board)
{
	const struct scenario *s =
		READ("case.topology=gce-8xk80", "case.gpus=2", "case.transport=tcp", board);
	if (!s)
		return 0;
	struct world_outcome outcome = world_run(arena, s, 1, NULL);
	CHECK(!outcome.broken && !outcome.jobs[0].failed);
	return job_run_step_s(&outcome.jobs[0]);
}

/* The power is enough for 1.6 of two dies, so kernels on both dies take 1 / 0.8 times as long. Only
 * work during which the other die is idle keeps its speed. */
static void dies_of_a_board_slow_each_other(void)
{
	double free_s = step_s("gpu.k80.board=1"), shared_s = step_s("gpu.k80.board=0.8");
	CHECK(shared_s > 1.2 * free_s && shared_s < 1.26 * free_s);
	/* it is enough for one die at least, so each of two has half */
	double half_s = step_s("gpu.k80.board=0.2");
	CHECK(half_s > 1.9 * free_s && half_s < 2.05 * free_s);
}

/* A machine without guests has one guest "os", whose messages pass the host's memory. */
static void a_bare_machine_has_a_guest_at_its_memory(void)
{
	const struct scenario *s = READ(C4140, "case.gpus=5", "host.node.dram_bandwidth=77 GB/s");
	for (size_t i = 0; s && i < s->topology.link_count; i++) {
		const struct link_entry *link = &s->topology.links[i];
		if (strcmp(link->name, "n1.os-host") != 0)
			continue;
		CHECK_TEXT(link->ends[0], "n1.os");
		CHECK_TEXT(link->ends[1], "n1");
		CHECK_NEAR(link->traits.capacity_Bps[0], 77e9, 1e-12);
		CHECK_NEAR(link->traits.capacity_Bps[1], 77e9, 1e-12);
		CHECK(link->traits.own_packets);
		return;
	}
	CHECK(false); /* the topology has no node n1.os-host */
}

/* ---- wirings ---- */

static void switch_connects_all_ports(void)
{
	const struct scenario *s =
		READ("case.topology=c10-p100", "case.gpus=6", "case.transport=tcp");
	if (!s)
		return;
	/* 3 machines with 2 ports each, and two servers */
	size_t cables = 0;
	for (size_t i = 0; i < s->topology.link_count; i++)
		cables += strncmp(s->topology.links[i].name, "fabric.", 7) == 0;
	CHECK(cables == 3 * 2 + 2);
	CHECK(capacity_Bps(&s->topology, "fabric.file-server") > 0);
}

/* Reads a case that may be refused, with a network and its number of ports or machines. */
static bool is_accepted(const char *const *settings)
{
	struct setting list[8];
	struct case_request request = {.settings = list, .data_root = data_root_find(arena)};
	diag = diag_new(arena);
	for (; *settings; settings++)
		list[request.setting_count++] = (struct setting){*settings, {"--set", 0}};
	return case_read(arena, diag, &request) != NULL;
}
#define IS_ACCEPTED(...) is_accepted((const char *const[]){__VA_ARGS__, NULL})

/* Each wiring refuses machines for which it has no place, and takes as many as it has places for:
 * 8 cables, 2 x 2 routers of a torus, 2 x 2 x 2 places of a dragonfly, a leaf. */
static void networks_may_be_full_but_not_too_small(void)
{
#define SIX "case.topology=c10-p100", "case.gpus=6", "case.transport=tcp"
	CHECK(IS_ACCEPTED(SIX, "wiring.ports=8"));
	CHECK(!IS_ACCEPTED(SIX, "wiring.ports=7"));
	CHECK_PART(diag_at(diag, 0), "a switch of 7 ports is too small for 8 cables");
#define TORUS "case.topology=dgx1-v100-torus", "wiring.x=2", "wiring.y=2"
	CHECK(IS_ACCEPTED(TORUS, "case.gpus=32"));
	CHECK(!IS_ACCEPTED(TORUS, "case.gpus=40"));
#define DRAGONFLY                                                                                  \
	"case.topology=dgx1-v100-dragonfly", "wiring.groups=2", "wiring.routers_per_group=2"
	CHECK(IS_ACCEPTED(DRAGONFLY, "case.gpus=64"));
	CHECK(!IS_ACCEPTED(DRAGONFLY, "case.gpus=72"));
}

/* In a torus of 2 x 2 each router has one trunk to each of two neighbours. */
static void two_routers_of_a_torus_have_one_trunk(void)
{
	const struct scenario *s =
		READ("case.topology=dgx1-v100-torus", "case.gpus=32", "wiring.x=2", "wiring.y=2");
	size_t trunks = 0;
	for (size_t i = 0; s && i < s->topology.link_count; i++)
		trunks += strncmp(s->topology.links[i].name, "fabric.router", 13) == 0;
	CHECK(trunks == 4);
}

/* A leaf has 18 ports, so 18 machines with one port each. */
static void fat_tree_routes_through_leaves_and_spine(void)
{
	const struct scenario *s = READ(C4140, "case.gpus=144"); /* 36 machines and a file server */
	if (!s)
		return;
	struct system *system = build(s);
	CHECK_TEXT(way(system, "n0.gpu0", "n17.gpu0"), "n0.slot0 n0.nic-slot0 fabric.n0.nic0 "
						       "fabric.n17.nic0 n17.nic-slot0 n17.slot0");
	CHECK_TEXT(way(system, "n0.gpu2", "n18.gpu1"),
		   "n0.slot2 n0.sockets n0.nic-slot0 fabric.n0.nic0 fabric.leaf0-spine "
		   "fabric.leaf1-spine fabric.n18.nic0 n18.nic-slot0 n18.slot1");
	CHECK_TEXT(way(system, "n18.gpu1", "n0.gpu2"),
		   "n18.slot1 n18.nic-slot0 fabric.n18.nic0 fabric.leaf1-spine fabric.leaf0-spine "
		   "fabric.n0.nic0 n0.nic-slot0 n0.sockets n0.slot2");
	/* the leaf of the file server */
	CHECK(fabric_node_find(system->fabric, "fabric.leaf2") >= 0);
	CHECK(fabric_node_find(system->fabric, "fabric.leaf3") < 0);
	CHECK_NEAR(capacity_Bps(&s->topology, "fabric.leaf0-spine"), 18 * EDR_Bps, 1e-12);
}

/* Between two full leaves the bandwidth is that of their uplinks. Each of 18 pairs of machines gets
 * its whole port at 1:1 and a quarter at 4:1. */
static void oversubscription_divides_the_bisection(void)
{
	static const char *const ratios[] = {"wiring.oversubscription=1",
					     "wiring.oversubscription=4"};
	static const double shares[] = {1, 0.25};
	for (size_t r = 0; r < 2; r++) {
		const struct scenario *s = READ(C4140, "case.gpus=144", ratios[r]);
		if (!s)
			return;
		struct system *system = build(s);
		struct flow_id flows[18];
		for (int i = 0; i < 18; i++) {
			struct flow_spec flow = {.size = 1e9};
			const struct route *route = fabric_route(
				system->fabric,
				fabric_node_find(system->fabric,
						 arena_printf(arena, "n%d.nic0", i)),
				fabric_node_find(system->fabric,
						 arena_printf(arena, "n%d.nic0", i + 18)),
				TRAFFIC_ANY);
			for (size_t h = 0; h < route->count; h++)
				flow.uses[flow.use_count++] = (struct flow_use){
					fabric_link_resource(system->fabric, route->hops[h].link,
							     route->hops[h].direction),
					1};
			flows[i] = fabric_flow_start(system->fabric, &flow);
		}
		for (int i = 0; i < 18; i++)
			CHECK_NEAR(fabric_flow_rate(system->fabric, flows[i]), shares[r] * EDR_Bps,
				   1e-9);
	}
}

/* A leaf has two machines, and a pod has two leaves. */
static void fat_tree_with_pods_routes_through_the_core(void)
{
	const struct scenario *s =
		READ(C4140, "case.gpus=32", "wiring.ports_per_leaf=2", "wiring.leaves_per_pod=2",
		     "wiring.oversubscription=2", "wiring.core_oversubscription=2");
	if (!s)
		return;
	struct system *system = build(s);
	CHECK_TEXT(way(system, "n0.nic0", "n2.nic0"), "fabric.n0.nic0 fabric.leaf0-pod0 "
						      "fabric.leaf1-pod0 fabric.n2.nic0");
	CHECK_TEXT(way(system, "n0.nic0", "n7.nic0"),
		   "fabric.n0.nic0 fabric.leaf0-pod0 fabric.pod0-core fabric.pod1-core "
		   "fabric.leaf3-pod1 fabric.n7.nic0");
	/* 2 ports / 2 upwards from a leaf; 2 leaves x 1 / 2 upwards from a pod */
	CHECK_NEAR(capacity_Bps(&s->topology, "fabric.leaf0-pod0"), EDR_Bps, 1e-12);
	CHECK_NEAR(capacity_Bps(&s->topology, "fabric.pod0-core"), EDR_Bps, 1e-12);
}

/* A DGX-1 has four ports, so the fifth port of each leaf stays free. */
static void free_ports_of_a_leaf_have_no_uplinks(void)
{
	const struct scenario *s = READ("case.topology=dgx1-v100", "case.gpus=16",
					"wiring.ports_per_leaf=5", "wiring.oversubscription=2");
	if (s)
		CHECK_NEAR(capacity_Bps(&s->topology, "fabric.leaf0-spine"), 4 / 2 * EDR_Bps,
			   1e-12);
}

static void equal_rails_communicate_over_one_leaf(void)
{
	const struct scenario *s = READ("case.topology=hgx-a100", "case.gpus=128");
	if (!s)
		return;
	struct system *system = build(s);
	for (int rail = 0; rail < 8; rail++)
		CHECK_TEXT(way(system, arena_printf(arena, "n3.gpu%d", rail),
			       arena_printf(arena, "n11.gpu%d", rail)),
			   arena_printf(arena,
					"n3.slot%d n3.nic-slot%d fabric.n3.nic%d fabric.n11.nic%d "
					"n11.nic-slot%d n11.slot%d",
					rail, rail, rail, rail, rail, rail));
	/* GPU 1 of the other machine has its adapter on rail 1, so the route uses the spine */
	CHECK_TEXT(way(system, "n0.nic0", "n1.nic1"), "fabric.n0.nic0 fabric.rail0.0-spine "
						      "fabric.rail1.0-spine fabric.n1.nic1");
}

/* Leaves of four ports for 16 machines: each unit of four machines has its own leaves. A machine
 * alone has no network. */
static void machines_of_a_unit_share_its_leaves(void)
{
	const struct scenario *s =
		READ("case.topology=hgx-a100", "case.gpus=128", "wiring.ports_per_leaf=4");
	if (!s)
		return;
	struct system *system = build(s);
	CHECK_TEXT(way(system, "n4.nic0", "n7.nic0"), "fabric.n4.nic0 fabric.n7.nic0");
	CHECK_TEXT(way(system, "n3.nic0", "n4.nic0"), "fabric.n3.nic0 fabric.rail0.0-spine "
						      "fabric.rail0.1-spine fabric.n4.nic0");
}

static double all_reduce_s(const char *uplinks, const char *pxn)
{
	const struct scenario *s =
		READ("case.topology=hgx-a100", "case.gpus=16", "case.exchange=nccl-2.18",
		     "case.transport=rdma", "case.collective=all_reduce", uplinks, pxn);
	if (!s)
		return 0;
	struct world_outcome outcome = world_run(arena, s, 1, NULL);
	CHECK(!outcome.broken && !outcome.jobs[0].failed);
	return job_run_step_s(&outcome.jobs[0]);
}

/* Rings stay on their rail. If each GPU uses only its own adapter, a ring that leaves through
 * another adapter than it entered crosses the spine. */
static void rings_with_pxn_do_not_cross_the_spine(void)
{
	double whole_s = all_reduce_s("wiring.oversubscription=1", "library.pxn=true");
	double eighth_s = all_reduce_s("wiring.oversubscription=8", "library.pxn=true");
	double own_s = all_reduce_s("wiring.oversubscription=8", "library.pxn=false");
	CHECK_NEAR(eighth_s, whole_s, 1e-9);
	CHECK(own_s > 2 * whole_s);
}

static void torus_routes_take_the_shorter_direction(void)
{
	const struct scenario *s = READ("case.topology=dgx1-v100-torus", "case.gpus=128");
	if (!s)
		return;
	struct system *system = build(s);
	/* 4 x 4: machine 3 is next to 0 around the end, 4 in y. Routes to 5 and back begin in x. */
	CHECK_TEXT(way(system, "n0.nic0", "n3.nic0"),
		   "fabric.n0.nic0 fabric.router3.0.0-router0.0.0 fabric.n3.nic0");
	CHECK_TEXT(way(system, "n0.nic0", "n4.nic0"),
		   "fabric.n0.nic0 fabric.router0.0.0-router0.1.0 fabric.n4.nic0");
	CHECK_TEXT(way(system, "n0.nic0", "n5.nic0"),
		   "fabric.n0.nic0 fabric.router0.0.0-router1.0.0 fabric.router1.0.0-router1.1.0 "
		   "fabric.n5.nic0");
	CHECK_TEXT(way(system, "n5.nic0", "n0.nic0"),
		   "fabric.n5.nic0 fabric.router0.1.0-router1.1.0 fabric.router0.0.0-router0.1.0 "
		   "fabric.n0.nic0");
	/* four ports per machine */
	CHECK_NEAR(capacity_Bps(&s->topology, "fabric.router0.0.0-router1.0.0"), 4 * EDR_Bps,
		   1e-12);
}

/* Counts over each directed link of a torus the routes of a uniform all-to-all, and checks that all
 * links of a dimension carry the mean. With N routers and an even number k of them in a dimension,
 * the distances of one router to the k routers of its ring add up to k^2 / 4. All N routers send to
 * N / k such rings, over 2 N directed links of the dimension. So each carries N k / 8 routes. Two
 * routers have one trunk, so there are only N directed links, which carry N / 2 each. */
static void check_torus(const struct scenario *s, const size_t sizes[3])
{
	size_t count = sizes[0] * sizes[1] * sizes[2];
	struct fabric *fabric = s ? build(s)->fabric : NULL;
	size_t links = s ? fabric_link_count(fabric) : 0,
	       *loads = ARENA_ARRAY(arena, 2 * links, size_t);
	for (size_t i = 0; s && i < count * count; i++) {
		int from = fabric_node_find(fabric, arena_printf(arena, "n%zu.nic0", i / count));
		int to = fabric_node_find(fabric, arena_printf(arena, "n%zu.nic0", i % count));
		const struct route *route = fabric_route(fabric, from, to, TRAFFIC_RDMA);
		for (size_t h = 0; CHECK(route) && h < route->count; h++)
			loads[2 * route->hops[h].link + route->hops[h].direction]++;
	}
	for (size_t i = 0; i < 2 * links; i++) {
		const struct link_traits *traits = fabric_link_traits(fabric, (int)(i / 2));
		size_t d = traits->in_torus ? 0 : 3;
		while (d < 3 && traits->router[0][d] == traits->router[1][d])
			d++;
		CHECK(d == 3 || loads[i] == (sizes[d] == 2 ? count / 2 : count * sizes[d] / 8));
	}
}

static void all_to_all_loads_all_links_of_a_torus_dimension_equally(void)
{
	static const size_t tori[][3] = {{4, 4, 1}, {6, 4, 1}, {4, 2, 2}, {8, 1, 1}};
	for (size_t i = 0; i < 4; i++) {
		const size_t *n = tori[i];
		const char *gpus = arena_printf(arena, "case.gpus=%zu", 8 * n[0] * n[1] * n[2]);
		const char *x = arena_printf(arena, "wiring.x=%zu", n[0]);
		const char *y = arena_printf(arena, "wiring.y=%zu", n[1]);
		const char *z = arena_printf(arena, "wiring.z=%zu", n[2]);
		check_torus(READ("case.topology=dgx1-v100-torus", gpus, x, y, z), n);
	}
}

/* Adapters 0 to 3 of a DGX H100 are at the first socket, 4 to 7 at the second one. */
static void fewer_ports_are_spread_over_the_sockets(void)
{
	const struct scenario *s = READ("case.topology=dgx-h100", "case.gpus=9", "cluster.ports=4");
	const char *used = "";
	for (size_t i = 0; s && i < s->topology.link_count; i++)
		if (strncmp(s->topology.links[i].name, "fabric.n0.nic", 13) == 0)
			used = arena_printf(arena, "%s%s", used, s->topology.links[i].name + 13);
	CHECK_TEXT(used, "0246");
}

static void a_single_machine_has_no_network(void)
{
	for (int machines = 1; machines <= 2; machines++) {
		const struct scenario *s = READ("case.topology=dgx1-v100-torus",
						machines == 1 ? "case.gpus=8" : "case.gpus=16");
		size_t wires = 0;
		for (size_t i = 0; s && i < s->topology.link_count; i++)
			wires += strncmp(s->topology.links[i].name, "fabric.", 7) == 0;
		CHECK((wires > 0) == (machines > 1));
	}
}

/* 9 groups have 4 routers with 2 machines each. Group 0 reaches group h through its router (h - 1)
 * mod 4 and enters it at router 0 mod 4. */
static void dragonfly_routes_are_minimal(void)
{
	const struct scenario *s = READ("case.topology=dgx1-v100-dragonfly", "case.gpus=576");
	if (!s)
		return;
	struct system *system = build(s);
	CHECK_TEXT(way(system, "n0.nic0", "n6.nic0"),
		   "fabric.n0.nic0 fabric.group0.0-group0.3 fabric.n6.nic0");
	/* n44: router 22 = group 5, router 2; leaves group 0 at router 0, enters at router 0 */
	CHECK_TEXT(way(system, "n0.nic0", "n44.nic0"),
		   "fabric.n0.nic0 fabric.group0.0-group5.0 fabric.group5.0-group5.2 "
		   "fabric.n44.nic0");
	/* n63: router 31 = group 7, router 3; enters at router 2 */
	CHECK_TEXT(way(system, "n0.nic0", "n63.nic0"),
		   "fabric.n0.nic0 fabric.group0.0-group0.2 fabric.group0.2-group7.0 "
		   "fabric.group7.0-group7.3 fabric.n63.nic0");
}

static void cables_connect_equal_ports_of_two_machines(void)
{
	const struct scenario *s =
		READ("case.topology=dgx1-v100-torus", "case.gpus=16", "cluster.network=cable-edr");
	if (!s)
		return;
	struct system *system = build(s);
	CHECK_TEXT(way(system, "n0.gpu5", "n1.gpu4"), "n0.slot5 n0.nic-slot2 fabric.cable2 "
						      "n1.nic-slot2 n1.slot4");
	for (int cables = 0; cables <= 4; cables += 2) { /* 0: all four ports */
		s = READ("case.topology=dgx1-v100-torus", "case.gpus=16",
			 "cluster.network=cable-edr",
			 arena_printf(arena, "cluster.ports=%d", cables));
		int found = 0;
		for (size_t i = 0; s && i < s->topology.link_count; i++)
			found += strncmp(s->topology.links[i].name, "fabric.cable", 12) == 0;
		CHECK(found == (cables ? cables : 4));
	}
}

static void every_wiring_has_help_and_sources(void)
{
	for (size_t i = 0; i < wiring_kind_count(); i++) {
		const struct wiring_kind *kind = wiring_kind_at(i);
		CHECK(kind->help[0] && kind->table->size <= WIRING_PARAMS_SIZE_MAX);
		CHECK(wiring_kind_find(kind->name) == kind);
		CHECK_TEXT(kind->table->name, kind->name);
		for (size_t r = 0; r < kind->table->count; r++)
			CHECK(kind->table->rows[r].source[0] != '\0');
	}
	CHECK(wiring_kind_find("hypercube") == NULL);
}

/* ---- size ---- */

/* 128 machines and 5,000 links are read in less than a second, and routes are found as fast. */
static void a_thousand_gpus_are_read_within_a_second(void)
{
	clock_t start = clock();
	const struct scenario *s = READ("case.topology=dgx1-v100", "case.gpus=1024",
					"case.transport=rdma", "case.symmetry=off");
	double read_s = (double)(clock() - start) / CLOCKS_PER_SEC;
	if (!s)
		return;
	CHECK(s->topology.gpu_count == 1024 && s->jobs[0].rank_count == 1024);
	struct system *system = build(s);
	start = clock();
	for (int i = 0; i < 1024; i++)
		CHECK(strcmp(way(system, s->topology.gpus[i].name,
				 s->topology.gpus[(i + 8) % 1024].name),
			     "none") != 0);
	double ways_s = (double)(clock() - start) / CLOCKS_PER_SEC;
	CHECK(read_s < 0.5 && ways_s < 1.5);
}

/* One machine represents four, unless a shared server or traffic through cores makes them
 * different. */
static void only_equal_machines_are_folded(void)
{
#define FOLDING                                                                                    \
	"case.topology=dgx2", "case.gpus=64", "case.exchange=nccl-2.8", "library.algorithm=ring",  \
		"case.symmetry=on", "exchange.noise=0", "case.transport=rdma"
	static const char *const unlike[] = {
		"library.algorithm=parameter_server",
		"case.transport=tcp",
		"input.source=s3fs",
		"case.symmetry=off",
	};
	const struct scenario *folded = READ(FOLDING);
	CHECK(folded && folded->topology.fold && folded->topology.host_count < 4);
	folded = READ(FOLDING, "input.source=nvme");
	CHECK(folded && folded->topology.fold);
	for (size_t i = 0; i < sizeof unlike / sizeof unlike[0]; i++) {
		const struct scenario *scenario = READ(FOLDING, unlike[i]);
		if (!CHECK(scenario && !scenario->topology.fold &&
			   scenario->topology.host_count == 4))
			printf("  folded in spite of %s\n", unlike[i]);
	}
	/* More ranks than the machines have GPUs are an error, not a fold. */
	const struct setting few[] = {{"case.topology=dgx2", {"--set", 0}},
				      {"case.gpus=64", {"--set", 0}},
				      {"case.symmetry=on", {"--set", 0}},
				      {"cluster.count=2", {"--set", 0}}};
	const struct case_request request = {
		.settings = few, .setting_count = 4, .data_root = data_root_find(arena)};
	diag = diag_new(arena);
	CHECK(!case_read(arena, diag, &request) && diag_count(diag) > 0);
	CHECK_PART(diag_at(diag, 0), "needs 64 GPUs");
}

static const struct test tests[] = {
	TEST(cluster_has_as_many_machines_as_the_job_needs),
	TEST(one_setting_applies_to_all_copies_of_a_machine),
	TEST(guest_messages_cross_the_hosts_pcie),
	TEST(dies_of_a_board_slow_each_other),
	TEST(a_bare_machine_has_a_guest_at_its_memory),
	TEST(networks_may_be_full_but_not_too_small),
	TEST(two_routers_of_a_torus_have_one_trunk),
	TEST(switch_connects_all_ports),
	TEST(fat_tree_routes_through_leaves_and_spine),
	TEST(oversubscription_divides_the_bisection),
	TEST(fat_tree_with_pods_routes_through_the_core),
	TEST(free_ports_of_a_leaf_have_no_uplinks),
	TEST(equal_rails_communicate_over_one_leaf),
	TEST(machines_of_a_unit_share_its_leaves),
	TEST(rings_with_pxn_do_not_cross_the_spine),
	TEST(a_single_machine_has_no_network),
	TEST(torus_routes_take_the_shorter_direction),
	TEST(fewer_ports_are_spread_over_the_sockets),
	TEST(all_to_all_loads_all_links_of_a_torus_dimension_equally),
	TEST(dragonfly_routes_are_minimal),
	TEST(cables_connect_equal_ports_of_two_machines),
	TEST(every_wiring_has_help_and_sources),
	TEST(a_thousand_gpus_are_read_within_a_second),
	TEST(only_equal_machines_are_folded),
};

int main(void)
{
	num_init();
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
