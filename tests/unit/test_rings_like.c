/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings of two machines that differ in one property of one link. Results of the first machine must
 * not be taken over. */
#include "tests/ring_site.h"

struct cable {
	double payload_B, overhead_B;
	int nic;          /* which of the two adapters is connected */
	bool from_switch; /* the switch is the first end of the link */
};

static void join_traits(struct site *site, const char *kind, int a, int b,
			const struct link_traits *traits)
{
	const char *name =
		arena_printf(site->arena, "%s%zu", kind, fabric_link_count(site->fabric));
	fabric_link_add(site->fabric, name, link_kind_find(kind), a, b, traits);
}

/* Adds a machine of three GPUs and two adapters. far is the GPU whose link has twice the latency of
 * the others. Returns the connected adapter. */
static int add_machine(struct site *site, int crossbar, size_t far, struct cable cable)
{
	int host = node(site, "host"), nics[2];
	const struct link_traits traits = {.capacity_Bps = {10e9, 10e9},
					   .packet_payload_B = cable.payload_B,
					   .packet_overhead_B = cable.overhead_B};
	for (size_t i = 0; i < 3; i++) {
		const struct link_traits slot = {.capacity_Bps = {12e9, 12e9},
						 .latency_s = i == far ? 2e-6 : 1e-6};
		int gpu = node(site, "gpu");
		join_traits(site, "pcie", host, gpu, &slot);
		add_rank(site, gpu, host);
	}
	for (size_t i = 0; i < 2; i++) {
		nics[i] = node(site, "nic");
		join(site, "pcie", host, nics[i], 12e9);
	}
	int nic = nics[cable.nic];
	join_traits(site, "infiniband", cable.from_switch ? crossbar : nic,
		    cable.from_switch ? nic : crossbar, &traits);
	return nic;
}

static size_t next_in(const uint32_t *order, uint32_t rank)
{
	size_t at = 0;
	while (order[at] != rank)
		at++;
	return order[(at + 1) % 3];
}

/* The nearest GPU comes next, so the far one is the last, in either machine. */
static void rings_follow_the_latencies_of_their_machine(void)
{
	for (size_t far = 1; far < 3; far++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		add_machine(&site, crossbar, far, (struct cable){0});
		add_machine(&site, crossbar, 3 - far, (struct cable){0});
		struct rings rings = found(&site);
		CHECK(next_in(rings.order, 0) == 3 - far);
		CHECK(next_in(rings.order + 3, 3) == 3 + far);
		arena_free(site.arena);
	}
}

/* Packets of 1000 B with 1000 B of overhead, or of 100 B with 100 B, halve the bandwidth of the
 * adapter. */
static void goodput_counts_the_packets_of_each_machine(void)
{
	static const struct cable cables[] = {{.payload_B = 1000, .overhead_B = 100},
					      {.payload_B = 1000, .overhead_B = 1000},
					      {.payload_B = 100, .overhead_B = 100}};
	for (size_t other = 0; other < 3; other++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		add_machine(&site, crossbar, 2, cables[0]);
		add_machine(&site, crossbar, 2, cables[other]);
		CHECK_NEAR(found(&site).shape.network_Bps, other ? 5e9 : 10e9 / 1.1, 1e-9);
		arena_free(site.arena);
	}
}

/* Each machine uses the adapter that has a cable, whichever end of the link it is. */
static void each_machine_uses_its_connected_adapter(void)
{
	for (int i = 0; i < 16; i++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch"), nics[2];
		for (int m = 0; m < 2; m++)
			nics[m] = add_machine(
				&site, crossbar, 2,
				(struct cable){.nic = i >> m & 1, .from_switch = i >> (2 + m) & 1});
		struct rings rings = found(&site);
		for (size_t r = 0; r < 6; r++)
			CHECK(rings.adapter_of[r] == nics[r / 3]);
		arena_free(site.arena);
	}
}

/* A mesh of nine GPUs has more cycles than the search keeps. All of these use the link between the
 * first two GPUs, so one cycle is left, in both directions. */
static void large_meshes_end_their_search(void)
{
	struct site site;
	site_open(&site);
	int host = node(&site, "host"), gpus[9];
	for (size_t i = 0; i < 9; i++) {
		gpus[i] = node(&site, "gpu");
		join(&site, "pcie", host, gpus[i], 12e9);
		add_rank(&site, gpus[i], host);
		for (size_t k = 0; k < i; k++)
			join(&site, "nvlink", gpus[k], gpus[i], 25e9);
	}
	struct rings rings = found(&site);
	CHECK(rings.shape.ring_count == 2);
	CHECK_NEAR(rings.shape.inside_Bps, 50e9, 1e-9);
	arena_free(site.arena);
}

/* Adds a machine of two PCIe switches with two GPUs each, and an adapter. Its ranks are in the
 * order of its GPUs, which alternate between the switches, or switch by switch. */
static void add_pairs(struct site *site, int crossbar, bool alternates)
{
	int host = node(site, "host"), plx[2], gpus[4], nic = node(site, "nic");
	for (size_t i = 0; i < 2; i++) {
		plx[i] = node(site, "plx");
		join(site, "pcie", host, plx[i], 10e9);
	}
	for (size_t i = 0; i < 4; i++) {
		gpus[i] = node(site, "gpu");
		join(site, "pcie", plx[i % 2], gpus[i], 12e9);
	}
	join(site, "pcie", host, nic, 10e9);
	join(site, "infiniband", nic, crossbar, 10e9);
	for (size_t i = 0; i < 4; i++)
		add_rank(site, gpus[alternates ? i : i % 2 * 2 + i / 2], host);
}

/* The GPUs of a PCIe switch are neighbours on the ring, whichever ranks use them. */
static void rings_follow_the_order_of_their_machines_ranks(void)
{
	static const uint32_t expected[2][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}};
	for (int first = 0; first < 2; first++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		add_pairs(&site, crossbar, first);
		add_pairs(&site, crossbar, !first);
		struct rings rings = found(&site);
		for (uint32_t i = 0; i < 4; i++) {
			CHECK(rings.order[i] == expected[first][i]);
			CHECK(rings.order[4 + i] == 4 + expected[!first][i]);
		}
		arena_free(site.arena);
	}
}

/* Adds a machine with NVLinks between its GPUs. links has their goodput by pair: of GPUs 1 and 0, 2
 * and 0, 2 and 1. */
static void add_mesh(struct site *site, size_t count, const double links_Bps[3])
{
	int host = node(site, "host"), gpus[3];
	for (size_t i = 0; i < count; i++) {
		gpus[i] = node(site, "gpu");
		join(site, "pcie", host, gpus[i], 12e9);
		add_rank(site, gpus[i], host);
		for (size_t k = 0; k < i; k++)
			join(site, "nvlink", gpus[k], gpus[i], links_Bps[i - 1 + k]);
	}
}

/* Parallel NVLinks between two GPUs add up, and so do the links of a GPU to several switches. */
static void parallel_links_add_up(void)
{
	struct site site;
	site_open(&site);
	add_mesh(&site, 2, (const double[]){25e9, 0, 0});
	join(&site, "nvlink", site.ranks[1].gpu_node, site.ranks[0].gpu_node, 50e9);
	CHECK_NEAR(found(&site).shape.inside_Bps, 75e9, 1e-9);
	arena_free(site.arena);
	site_open(&site);
	int host = node(&site, "host"), switches[] = {node(&site, "switch"), node(&site, "switch")};
	for (size_t i = 0; i < 3; i++) {
		int gpu = node(&site, "gpu");
		join(&site, "pcie", host, gpu, 12e9);
		add_rank(&site, gpu, host);
		join(&site, "nvlink", gpu, switches[0], 25e9);
		join(&site, "nvlink", switches[1], gpu, 50e9);
	}
	CHECK_NEAR(found(&site).shape.inside_Bps, 75e9, 1e-9);
	arena_free(site.arena);
}

/* The weakest pair of a mesh is one link, whichever pair it is, and each direction of the cycle is
 * a ring of its bandwidth. */
static void weakest_pair_sets_the_rings_of_a_mesh(void)
{
	for (size_t weakest = 0; weakest < 3; weakest++) {
		struct site site;
		double links_Bps[] = {50e9, 50e9, 50e9};
		links_Bps[weakest] = 20e9;
		site_open(&site);
		add_mesh(&site, 3, links_Bps);
		struct rings rings = found(&site);
		CHECK(rings.shape.ring_count == 2 && rings.shape.inside == HOP_NVLINK);
		CHECK_NEAR(rings.shape.inside_Bps, 40e9, 1e-9);
		arena_free(site.arena);
	}
}

/* Two rings inside each machine, with 80 GB/s each, carry what the network brings, or if it brings
 * more, all that they have. */
static void rings_across_machines_match_the_slower_of_links_and_network(void)
{
	static const double network_Bps[] = {80e9, 90e9, 400e9};
	static const size_t expected[] = {1, 2, 2};
	for (size_t i = 0; i < 3; i++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		for (int m = 0; m < 2; m++) {
			int nic = node(&site, "nic");
			add_mesh(&site, 3, (const double[]){80e9, 80e9, 80e9});
			join(&site, "pcie", site.ranks[site.rank_count - 1].host_node, nic, 12e9);
			join(&site, "infiniband", nic, crossbar, network_Bps[i]);
		}
		struct rings rings = found(&site);
		CHECK_NEAR(rings.shape.inside_Bps, 160e9, 1e-9);
		CHECK(rings.shape.ring_count == expected[i]);
		arena_free(site.arena);
	}
}

/* An adapter that sends 40 GB/s and receives 10 counts with 40, whichever end of its link is the
 * machine's. */
static void adapters_count_with_what_they_send(void)
{
	for (int turned = 0; turned < 2; turned++) {
		struct site site;
		const struct link_traits traits = {
			.capacity_Bps = {turned ? 10e9 : 40e9, turned ? 40e9 : 10e9}};
		site_open(&site);
		int crossbar = node(&site, "switch");
		for (int m = 0; m < 2; m++) {
			int nic = node(&site, "nic");
			add_mesh(&site, 2, (const double[]){25e9, 0, 0});
			join(&site, "pcie", site.ranks[site.rank_count - 1].host_node, nic, 12e9);
			join_traits(&site, "infiniband", turned ? crossbar : nic,
				    turned ? nic : crossbar, &traits);
		}
		CHECK_NEAR(found(&site).shape.network_Bps, 40e9, 1e-9);
		arena_free(site.arena);
	}
}

/* The switches add only if the adapters of all machines reach switches that do. */
static void network_adds_if_it_does_for_all_machines(void)
{
	for (int adds = 0; adds < 4; adds++) { /* a bit for each machine */
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		for (int m = 0; m < 2; m++) {
			const struct link_traits traits = {.capacity_Bps = {10e9, 10e9},
							   .adds = adds >> m & 1};
			int nic = node(&site, "nic");
			add_mesh(&site, 2, (const double[]){25e9, 0, 0});
			join(&site, "pcie", site.ranks[site.rank_count - 1].host_node, nic, 12e9);
			join_traits(&site, "infiniband", nic, crossbar, &traits);
		}
		CHECK(found(&site).shape.network_adds == (adds == 3));
		arena_free(site.arena);
	}
}

/* Two adapters are two, also if the links of one are the first and the third of the machine. So its
 * three GPUs use two. */
static void adapter_with_two_cables_counts_once(void)
{
	struct site site;
	site_open(&site);
	int crossbars[] = {node(&site, "switch"), node(&site, "switch")};
	for (int m = 0; m < 2; m++) {
		int host = node(&site, "host"), nics[] = {node(&site, "nic"), node(&site, "nic")};
		for (size_t i = 0; i < 3; i++) {
			int gpu = node(&site, "gpu");
			join(&site, "pcie", host, gpu, 12e9);
			add_rank(&site, gpu, host);
		}
		for (size_t i = 0; i < 2; i++)
			join(&site, "pcie", host, nics[i], 12e9);
		join(&site, "infiniband", nics[0], crossbars[0], 10e9);
		join(&site, "infiniband", nics[1], crossbars[0], 10e9);
		join(&site, "infiniband", nics[0], crossbars[1], 10e9);
	}
	struct rings rings = found(&site);
	CHECK_NEAR(rings.shape.network_Bps, 20e9, 1e-9);
	CHECK(rings.shape.ring_count == 2);
	arena_free(site.arena);
}

static const struct test tests[] = {
	TEST(rings_follow_the_latencies_of_their_machine),
	TEST(goodput_counts_the_packets_of_each_machine),
	TEST(each_machine_uses_its_connected_adapter),
	TEST(large_meshes_end_their_search),
	TEST(rings_follow_the_order_of_their_machines_ranks),
	TEST(parallel_links_add_up),
	TEST(weakest_pair_sets_the_rings_of_a_mesh),
	TEST(rings_across_machines_match_the_slower_of_links_and_network),
	TEST(adapters_count_with_what_they_send),
	TEST(network_adds_if_it_does_for_all_machines),
	TEST(adapter_with_two_cables_counts_once),
};

int main(void)
{
	return TEST_MAIN(tests);
}
