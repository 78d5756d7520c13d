/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings on topologies whose rings can be counted by hand. */
#include "tests/ring_site.h"

/* Number of links of 25 GB/s between the GPUs of a DGX-1 with V100s (NVIDIA's DGX-1 with Tesla V100
 * white paper, figure 4): two quads, with GPU i connected to GPU i + 4. */
static const int hybrid_mesh[8][8] = {
	{0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
	{2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
	{0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
};

/* A machine with a PCIe switch and an adapter for each pair of GPUs, and NVLinks as in mesh (NULL:
 * none; p100: each link once, as on P100s). */
static int add_machine(struct site *site, size_t gpu_count, const int mesh[8][8], bool p100,
		       int *adapters)
{
	int host = node(site, "host"), gpus[8], plx = -1;
	for (size_t i = 0; i < gpu_count; i++) {
		if (i % 2 == 0) {
			plx = node(site, "plx");
			join(site, "pcie", host, plx, 12e9);
			adapters[i / 2] = node(site, "nic");
			join(site, "pcie", plx, adapters[i / 2], 12e9);
		}
		gpus[i] = node(site, "gpu");
		join(site, "pcie", plx, gpus[i], 12e9);
		add_rank(site, gpus[i], host);
	}
	for (size_t a = 0; mesh && a < gpu_count; a++)
		for (size_t b = 0; b < a; b++)
			if (mesh[a][b] > 0)
				join(site, "nvlink", gpus[b], gpus[a],
				     p100 ? 20e9 : 25e9 * mesh[a][b]);
	return host;
}

/* Counts how often each directed pair of ranks are neighbours. */
static void count_pairs(const struct rings *rings, size_t rank_count, int uses[8][8])
{
	memset(uses, 0, 8 * sizeof(uses[0]));
	for (size_t ring = 0; ring < rings->shape.ring_count; ring++) {
		const uint32_t *order = rings->order + ring * rank_count;
		for (size_t i = 0; i < rank_count; i++)
			uses[order[i]][order[(i + 1) % rank_count]]++;
	}
}

static bool is_permutation(const uint32_t *order, size_t count)
{
	bool seen[1024] = {false};
	for (size_t i = 0; i < count; i++) {
		if (order[i] >= count || seen[order[i]])
			return false;
		seen[order[i]] = true;
	}
	return true;
}

/* Six links of a GPU can carry six rings, three cycles in each direction: each direction of each
 * link is used exactly once. */
static void dgx1_v100_rings_use_every_link_once_per_direction(void)
{
	struct site site;
	int adapters[4];
	site_open(&site);
	add_machine(&site, 8, hybrid_mesh, false, adapters);
	struct rings rings = found(&site);
	CHECK(rings.shape.ring_count == 6);
	CHECK(rings.shape.inside == HOP_NVLINK);
	CHECK_NEAR(rings.shape.inside_Bps, 150e9, 1e-9);
	CHECK(rings.shape.node_count == 1 && rings.shape.rank_most == 8);
	CHECK(rings.shape.network_Bps <= 0);
	int uses[8][8];
	count_pairs(&rings, 8, uses);
	for (size_t a = 0; a < 8; a++)
		for (size_t b = 0; b < 8; b++)
			CHECK(uses[a][b] == hybrid_mesh[a][b]);
	arena_free(site.arena);
}

/* A P100 has four links, one to each neighbour: two cycles, so four rings. */
static void dgx1_p100_has_four_rings(void)
{
	struct site site;
	int adapters[4];
	site_open(&site);
	add_machine(&site, 8, hybrid_mesh, true, adapters);
	struct rings rings = found(&site);
	CHECK(rings.shape.ring_count == 4);
	CHECK_NEAR(rings.shape.inside_Bps, 80e9, 1e-9);
	int uses[8][8];
	count_pairs(&rings, 8, uses);
	for (size_t a = 0; a < 8; a++)
		for (size_t b = 0; b < 8; b++)
			CHECK(uses[a][b] == (hybrid_mesh[a][b] > 0));
	arena_free(site.arena);
}

/* Without a search the ranks keep their order; 3-4 and 7-0 are not neighbours in the mesh, so PCIe
 * limits. */
static void rings_in_rank_order_leave_nvlink(void)
{
	struct site site;
	int adapters[4];
	site_open(&site);
	add_machine(&site, 8, hybrid_mesh, true, adapters);
	struct rings eight = rings_find(site.arena, site.fabric, site.ranks, 8, TRAFFIC_RDMA, NULL,
					false, false);
	CHECK(eight.shape.ring_count == 1);
	CHECK(eight.shape.inside == HOP_PCI);
	CHECK_NEAR(eight.shape.inside_Bps, 12e9, 1e-9);
	for (uint32_t i = 0; i < 8; i++)
		CHECK(eight.order[i] == i);
	/* Four of them form a ring over single links. */
	struct rings four = rings_find(site.arena, site.fabric, site.ranks, 4, TRAFFIC_RDMA, NULL,
				       false, false);
	CHECK(four.shape.inside == HOP_NVLINK);
	CHECK_NEAR(four.shape.inside_Bps, 20e9, 1e-9);
	arena_free(site.arena);
}

/* Two GPUs: one ring has all links between them. Three of a quad: the pair with the fewest links
 * (1) limits the cycles. */
static void rings_of_few_gpus_use_all_links_between_them(void)
{
	struct site site;
	int adapters[4];
	site_open(&site);
	add_machine(&site, 8, hybrid_mesh, false, adapters);
	struct ring_place pair[] = {site.ranks[0], site.ranks[3]};
	struct rings two =
		rings_find(site.arena, site.fabric, pair, 2, TRAFFIC_RDMA, NULL, true, false);
	CHECK(two.shape.ring_count == 1);
	CHECK_NEAR(two.shape.inside_Bps, 50e9, 1e-9);
	struct rings three =
		rings_find(site.arena, site.fabric, site.ranks, 3, TRAFFIC_RDMA, NULL, true, false);
	CHECK(three.shape.ring_count == 2);
	CHECK_NEAR(three.shape.inside_Bps, 50e9, 1e-9);
	/* 0 and 5 have no common link. */
	struct ring_place far[] = {site.ranks[0], site.ranks[5]};
	struct rings over_pcie =
		rings_find(site.arena, site.fabric, far, 2, TRAFFIC_RDMA, NULL, true, false);
	CHECK(over_pcie.shape.inside == HOP_PCI);
	CHECK_NEAR(over_pcie.shape.inside_Bps, 12e9, 1e-9);
	arena_free(site.arena);
}

/* Among the first five GPUs of a DGX-1, GPU 4 has two links, both to GPU 0. One cycle passes GPU 0
 * twice, there and back over both links, so there are two rings of one link each. With eight GPUs
 * no ring needs this. */
static void five_gpus_of_a_mesh_form_rings_through_a_gpu(void)
{
	struct site site;
	int adapters[4];
	site_open(&site);
	add_machine(&site, 8, hybrid_mesh, false, adapters);
	struct rings rings =
		rings_find(site.arena, site.fabric, site.ranks, 5, TRAFFIC_RDMA, NULL, true, false);
	CHECK(rings.shape.inside == HOP_NVLINK);
	CHECK(rings.shape.ring_count == 2);
	CHECK_NEAR(rings.shape.inside_Bps, 50e9, 1e-9);
	int uses[8][8];
	count_pairs(&rings, 5, uses);
	CHECK(uses[0][4] + uses[4][0] == 2);
	CHECK(uses[1][4] + uses[2][4] + uses[3][4] == 1);
	arena_free(site.arena);
}

/* Four GPUs have two links between each pair (C4140). K4 has three Hamiltonian cycles that use each
 * pair twice, so there are six rings. */
static void full_mesh_of_four_gpus_has_six_rings(void)
{
	struct site site;
	site_open(&site);
	int host = node(&site, "host"), gpus[4];
	for (size_t i = 0; i < 4; i++) {
		gpus[i] = node(&site, "gpu");
		join(&site, "pcie", host, gpus[i], 12e9);
		add_rank(&site, gpus[i], host);
	}
	for (size_t a = 0; a < 4; a++)
		for (size_t b = 0; b < a; b++)
			join(&site, "nvlink", gpus[a], gpus[b], 50e9);
	struct rings rings = found(&site);
	CHECK(rings.shape.ring_count == 6);
	CHECK_NEAR(rings.shape.inside_Bps, 150e9, 1e-9);
	int uses[8][8];
	count_pairs(&rings, 4, uses);
	for (size_t a = 0; a < 4; a++)
		for (size_t b = 0; b < 4; b++)
			CHECK(uses[a][b] == (a == b ? 0 : 2));
	arena_free(site.arena);
}

/* Behind a switch the order does not matter, so one ring has all the bandwidth. */
static void nvswitch_gives_one_ring(void)
{
	for (size_t weak = 0; weak <= 8; weak++) { /* the GPU with fewer links; 8: none */
		struct site site;
		site_open(&site);
		int host = node(&site, "host"), nvswitch = node(&site, "nvswitch");
		for (size_t i = 0; i < 8; i++) {
			int gpu = node(&site, "gpu");
			join(&site, "pcie", host, gpu, 24e9);
			join(&site, "nvlink", gpu, nvswitch, i == weak ? 200e9 : 300e9);
			add_rank(&site, gpu, host);
		}
		struct rings rings = found(&site);
		CHECK(rings.shape.ring_count == 1 && rings.shape.inside == HOP_NVLINK);
		CHECK_NEAR(rings.shape.inside_Bps, weak < 8 ? 200e9 : 300e9, 1e-9);
		arena_free(site.arena);
	}
}

/* The names of the GPUs make the order of ranks alternate between PCIe switches: 0 and 2 share one,
 * 1 and 3 the other. */
static void ring_visits_gpus_of_a_pcie_switch_together(void)
{
	struct site site;
	site_open(&site);
	int host = node(&site, "host"), plx[2];
	for (size_t i = 0; i < 2; i++) {
		plx[i] = node(&site, "plx");
		join(&site, "pcie", host, plx[i], 10e9);
	}
	for (size_t i = 0; i < 4; i++) {
		int gpu = node(&site, "gpu");
		join(&site, "pcie", plx[i % 2], gpu, 12e9);
		add_rank(&site, gpu, host);
	}
	struct rings rings = found(&site);
	CHECK(rings.shape.ring_count == 1 && rings.shape.inside == HOP_PCI);
	CHECK_NEAR(rings.shape.inside_Bps, 10e9, 1e-9);
	static const uint32_t expected[] = {0, 2, 1, 3};
	CHECK(memcmp(rings.order, expected, sizeof(expected)) == 0);
	arena_free(site.arena);
}

/* Opens machine_count DGX-1s on one switch. */
static void open_cluster(struct site *site, size_t machine_count)
{
	site_open(site);
	int crossbar = node(site, "switch");
	for (size_t m = 0; m < machine_count; m++) {
		int adapters[4];
		add_machine(site, 8, hybrid_mesh, false, adapters);
		for (size_t k = 0; k < 4; k++)
			join(site, "infiniband", adapters[k], crossbar, 10e9);
	}
}

/* Four adapters give four rings. Each passes a machine completely, enters and leaves through the
 * GPUs next to its adapter, and each pair of GPUs has one ring. */
static void rings_use_every_adapter_of_a_machine(void)
{
	struct site site;
	open_cluster(&site, 3);
	struct rings rings = found(&site);
	CHECK(rings.shape.node_count == 3 && rings.shape.rank_count == 24);
	CHECK(rings.shape.ring_count == 4);
	CHECK_NEAR(rings.shape.network_Bps, 40e9, 1e-9);
	CHECK_NEAR(rings.shape.inside_Bps, 150e9, 1e-9);
	bool entered[4] = {false};
	for (size_t channel = 0; channel < 4; channel++) {
		const uint32_t *order = rings.order + channel * 24;
		CHECK(is_permutation(order, 24));
		for (size_t m = 0; m < 3; m++) {
			for (size_t i = 0; i < 8; i++)
				CHECK(rings.node_of[order[8 * m + i]] == m);
			uint32_t in = order[8 * m] % 8, out = order[8 * m + 7] % 8;
			CHECK(in / 2 == channel && out / 2 == channel);
			entered[in / 2] = true;
		}
	}
	CHECK(entered[0] && entered[1] && entered[2] && entered[3]);
	arena_free(site.arena);
}

/* One of two machines has half the adapters' bandwidth, the first one or the second. */
static void the_slowest_machine_sets_the_bandwidth_to_the_network(void)
{
	for (size_t slow = 0; slow < 2; slow++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		for (size_t m = 0; m < 2; m++) {
			int adapters[4];
			add_machine(&site, 8, hybrid_mesh, false, adapters);
			for (size_t k = 0; k < 4; k++)
				join(&site, "infiniband", adapters[k], crossbar,
				     m == slow ? 5e9 : 10e9);
		}
		CHECK_NEAR(found(&site).shape.network_Bps, 20e9, 1e-9);
		arena_free(site.arena);
	}
}

/* Two GPUs at each of two processors and one adapter at the second. The ring enters and leaves each
 * machine at GPUs of the second processor, so no message crosses the link between processors. */
static void rings_enter_and_leave_next_to_the_only_adapter(void)
{
	struct site site;
	site_open(&site);
	int crossbar = node(&site, "switch");
	for (size_t m = 0; m < 2; m++) {
		int host = node(&site, "host"), nvswitch = node(&site, "nvswitch"), cpus[2];
		for (size_t c = 0; c < 2; c++) {
			cpus[c] = node(&site, "cpu");
			join(&site, "socket", host, cpus[c], 100e9);
		}
		join(&site, "socket", cpus[0], cpus[1], 20e9);
		for (size_t g = 0; g < 4; g++) {
			int gpu = node(&site, "gpu");
			join(&site, "pcie", cpus[g / 2], gpu, 12e9);
			join(&site, "nvlink", gpu, nvswitch, 100e9);
			add_rank(&site, gpu, host);
		}
		int nic = node(&site, "nic");
		join(&site, "pcie", cpus[1], nic, 12e9);
		join(&site, "infiniband", nic, crossbar, 12e9);
	}
	struct rings rings = found(&site);
	CHECK(rings.shape.ring_count == 1 && is_permutation(rings.order, 8));
	for (size_t m = 0; m < 2; m++) {
		CHECK(rings.order[4 * m] % 4 >= 2);
		CHECK(rings.order[4 * m + 3] % 4 >= 2);
	}
	arena_free(site.arena);
}

/* Hosts that Ethernet also connects remain separate machines for RDMA. */
static void second_network_does_not_merge_machines(void)
{
	struct site site;
	open_cluster(&site, 2);
	int crossbar = node(&site, "management");
	for (size_t m = 0; m < 2; m++)
		join(&site, "ethernet", site.ranks[8 * m].host_node, crossbar, 1e8);
	struct rings rings = found(&site);
	CHECK(rings.shape.ring_count == 4);
	CHECK_NEAR(rings.shape.network_Bps, 40e9, 1e-9);
	arena_free(site.arena);
}

/* Two GPUs and two adapters at each PCIe switch: each GPU gets its own adapter, although all four
 * routes are equally long. */
static void equally_near_adapters_are_distributed(void)
{
	struct site site;
	int nics[2][2], crossbar;
	site_open(&site);
	crossbar = node(&site, "switch");
	for (size_t m = 0; m < 2; m++) {
		int host = node(&site, "host"), plx = node(&site, "plx");
		int nvswitch = node(&site, "nvswitch");
		join(&site, "pcie", host, plx, 24e9);
		for (size_t i = 0; i < 2; i++) {
			int gpu = node(&site, "gpu");
			nics[m][i] = node(&site, "nic");
			join(&site, "pcie", plx, gpu, 24e9);
			join(&site, "pcie", plx, nics[m][i], 24e9);
			join(&site, "nvlink", gpu, nvswitch, 300e9);
			join(&site, "infiniband", nics[m][i], crossbar, 20e9);
			add_rank(&site, gpu, host);
		}
	}
	struct rings rings = found(&site);
	for (size_t i = 0; i < 4; i++)
		CHECK(rings.adapter_of[i] == nics[i / 2][i % 2]);
	CHECK(rings.shape.ring_count == 2);
	CHECK_NEAR(rings.shape.network_Bps, 40e9, 1e-9);
	/* Each GPU is entered once and left once. */
	CHECK(rings.order[0] != rings.order[4]);
	arena_free(site.arena);
}

/* A group has one GPU of each machine. Groups of different GPUs use different adapters, and both
 * machines use the adapter of the same rail. */
static void groups_of_one_gpu_use_different_adapters(void)
{
	size_t used[2][2] = {{0}};
	for (size_t group = 0; group < 2; group++) {
		struct site site;
		int crossbar, gpus[2], nics[2][2];
		site_open(&site);
		crossbar = node(&site, "switch");
		for (size_t m = 0; m < 2; m++) {
			int host = node(&site, "host"), plx = node(&site, "plx");
			join(&site, "pcie", host, plx, 24e9);
			for (size_t i = 0; i < 2; i++)
				gpus[i] = node(&site, "gpu");
			for (size_t i = 0; i < 2; i++) {
				nics[m][i] = node(&site, "nic");
				join(&site, "pcie", plx, gpus[i], 24e9);
				join(&site, "pcie", plx, nics[m][i], 24e9);
				join(&site, "infiniband", nics[m][i], crossbar, 20e9);
			}
			add_rank(&site, gpus[group], host);
		}
		struct rings rings = found(&site);
		for (size_t m = 0; m < 2; m++)
			used[group][m] = rings.adapter_of[m] == nics[m][1];
		arena_free(site.arena);
	}
	CHECK(used[0][0] == used[0][1] && used[1][0] == used[1][1]);
	CHECK(used[0][0] != used[1][0]);
}

static struct rings with_sockets(struct site *site, bool binds)
{
	open_cluster(site, 2);
	return rings_find(site->arena, site->fabric, site->ranks, 16, TRAFFIC_SOCKETS, NULL, true,
			  binds);
}

/* With sockets of NCCL, each GPU uses the adapter nearest to it: four for eight GPUs. */
static void bound_sockets_use_all_adapters(void)
{
	struct site site;
	struct rings rings = with_sockets(&site, true);
	CHECK(rings.shape.ring_count == 4);
	CHECK_NEAR(rings.shape.network_Bps, 40e9, 1e-9);
	CHECK(rings.adapter_of[0] == rings.adapter_of[1]);
	CHECK(rings.adapter_of[2] != rings.adapter_of[0]);
	arena_free(site.arena);
}

/* With other sockets, all GPUs use one adapter of the host. */
static void unbound_sockets_use_one_adapter(void)
{
	struct site site;
	struct rings rings = with_sockets(&site, false);
	CHECK(rings.shape.ring_count == 1);
	CHECK_NEAR(rings.shape.network_Bps, 10e9, 1e-9);
	for (size_t i = 1; i < 8; i++)
		CHECK(rings.adapter_of[i] == rings.adapter_of[0]);
	arena_free(site.arena);
}

/* A cluster with 1,024 GPUs needs no special case. */
static void rings_of_a_thousand_ranks_are_found(void)
{
	struct site site;
	open_cluster(&site, 128);
	struct rings rings = found(&site);
	CHECK(rings.shape.node_count == 128 && rings.shape.ring_count == 4);
	for (size_t channel = 0; channel < 4; channel++)
		CHECK(is_permutation(rings.order + channel * 1024, 1024));
	arena_free(site.arena);
}

/* Two machines with 300 GPUs each, in pairs below PCIe switches: rings still pass each pair
 * together. */
static void rings_of_machines_with_300_gpus_are_found(void)
{
	enum { GPUS = 300 };
	struct site site;
	site_open(&site);
	int crossbar = node(&site, "switch");
	for (size_t m = 0; m < 2; m++) {
		int host = node(&site, "host"), nic = node(&site, "nic"), plx = -1;
		join(&site, "pcie", host, nic, 12e9);
		join(&site, "infiniband", nic, crossbar, 6e9);
		for (size_t i = 0; i < GPUS; i++) {
			int gpu = node(&site, "gpu");
			if (i % 2 == 0) {
				plx = node(&site, "plx");
				join(&site, "pcie", host, plx, 12e9);
			}
			join(&site, "pcie", plx, gpu, 12e9);
			add_rank(&site, gpu, host);
		}
	}
	struct rings rings = found(&site);
	CHECK(rings.shape.node_count == 2 && rings.shape.rank_most == GPUS);
	if (CHECK(is_permutation(rings.order, 2 * (size_t)GPUS)))
		for (size_t i = 0; i < 2 * GPUS; i += 2)
			CHECK(rings.order[i] / 2 == rings.order[i + 1] / 2);
	arena_free(site.arena);
}

/* Each machine has one GPU, whose neighbours are across the network. */
static void single_gpus_are_joined_across_the_network(void)
{
	struct site site;
	site_open(&site);
	int crossbar = node(&site, "switch");
	for (size_t m = 0; m < 3; m++) {
		int host = node(&site, "host"), gpu = node(&site, "gpu"), nic = node(&site, "nic");
		join(&site, "pcie", host, gpu, 12e9);
		join(&site, "pcie", host, nic, 12e9);
		join(&site, "infiniband", nic, crossbar, 6e9);
		add_rank(&site, gpu, host);
	}
	struct rings rings = found(&site);
	CHECK(rings.shape.node_count == 3 && rings.shape.rank_most == 1);
	CHECK(rings.shape.inside_Bps <= 0);
	CHECK_NEAR(rings.shape.network_Bps, 6e9, 1e-9);
	CHECK(rings.shape.ring_count == 1);
	CHECK(is_permutation(rings.order, 3));
	arena_free(site.arena);
}

/* Two GPUs and an adapter at a PCIe switch, or if strong, four GPUs at an NVLink switch with two
 * adapters, whose network has more features. */
static void add_unequal_machine(struct site *site, int crossbar, bool strong)
{
	int host = node(site, "host"), nvswitch = strong ? node(site, "nvswitch") : -1;
	const struct link_traits cable = {.capacity_Bps = {10e9, 10e9},
					  .latency_s = 1e-6,
					  .efa_generation = strong ? 3 : 2,
					  .provider = strong ? PROVIDER_AWS : PROVIDER_GOOGLE,
					  .host_memory_only = !strong,
					  .adds = strong};
	for (size_t k = 0; k < (strong ? 2 : 1); k++) {
		int plx = node(site, "plx"), nic = node(site, "nic");
		join(site, "pcie", host, plx, 12e9);
		join(site, "pcie", plx, nic, 12e9);
		fabric_link_add(site->fabric, fabric_node_name(site->fabric, nic),
				link_kind_find("infiniband"), nic, crossbar, &cable);
		for (size_t i = 0; i < 2; i++) {
			int gpu = node(site, "gpu");
			join(site, "pcie", plx, gpu, 12e9);
			if (strong)
				join(site, "nvlink", gpu, nvswitch, 100e9);
			add_rank(site, gpu, host);
		}
	}
}

/* The library chooses for the weakest machine, in whatever order the machines come. */
static void unequal_machines_have_the_shape_of_the_weakest(void)
{
	for (int strong_first = 0; strong_first < 2; strong_first++) {
		struct site site;
		site_open(&site);
		int crossbar = node(&site, "switch");
		add_unequal_machine(&site, crossbar, strong_first);
		add_unequal_machine(&site, crossbar, !strong_first);
		const struct comm_shape shape = found(&site).shape;
		CHECK(shape.rank_count == 6 && shape.node_count == 2 && shape.rank_most == 4);
		CHECK(shape.inside == HOP_PCI && !shape.multicast);
		CHECK_NEAR(shape.inside_Bps, 12e9, 1e-9);
		CHECK_NEAR(shape.network_Bps, 10e9, 1e-9);
		CHECK(shape.ring_count == 1);
		CHECK(shape.efa_generation == 2 && shape.host_memory_only && !shape.network_adds);
		CHECK(shape.provider == PROVIDER_NONE);
		arena_free(site.arena);
	}
	struct site site;
	site_open(&site);
	int crossbar = node(&site, "switch");
	for (size_t m = 0; m < 2; m++)
		add_unequal_machine(&site, crossbar, true);
	const struct comm_shape shape = found(&site).shape;
	CHECK(shape.inside == HOP_NVLINK && shape.multicast);
	CHECK_NEAR(shape.network_Bps, 20e9, 1e-9);
	CHECK(shape.efa_generation == 3 && !shape.host_memory_only && shape.network_adds);
	CHECK(shape.provider == PROVIDER_AWS);
	arena_free(site.arena);
}

static const struct test tests[] = {
	TEST(dgx1_v100_rings_use_every_link_once_per_direction),
	TEST(dgx1_p100_has_four_rings),
	TEST(rings_in_rank_order_leave_nvlink),
	TEST(rings_of_few_gpus_use_all_links_between_them),
	TEST(five_gpus_of_a_mesh_form_rings_through_a_gpu),
	TEST(full_mesh_of_four_gpus_has_six_rings),
	TEST(nvswitch_gives_one_ring),
	TEST(ring_visits_gpus_of_a_pcie_switch_together),
	TEST(rings_use_every_adapter_of_a_machine),
	TEST(unequal_machines_have_the_shape_of_the_weakest),
	TEST(the_slowest_machine_sets_the_bandwidth_to_the_network),
	TEST(rings_enter_and_leave_next_to_the_only_adapter),
	TEST(second_network_does_not_merge_machines),
	TEST(equally_near_adapters_are_distributed),
	TEST(groups_of_one_gpu_use_different_adapters),
	TEST(bound_sockets_use_all_adapters),
	TEST(unbound_sockets_use_one_adapter),
	TEST(rings_of_a_thousand_ranks_are_found),
	TEST(rings_of_machines_with_300_gpus_are_found),
	TEST(single_gpus_are_joined_across_the_network),
};

int main(void)
{
	return TEST_MAIN(tests);
}
