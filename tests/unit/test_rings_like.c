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

static const struct test tests[] = {
	TEST(rings_follow_the_latencies_of_their_machine),
	TEST(goodput_counts_the_packets_of_each_machine),
	TEST(each_machine_uses_its_connected_adapter),
	TEST(large_meshes_end_their_search),
};

int main(void)
{
	return TEST_MAIN(tests);
}
