/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives between hosts: RDMA from GPU memory, staged RDMA, TCP, a parameter server. A chunk of
 * 1 MB takes 100 us at 10 GB/s. */
#include "tests/comm_world.h"

#define US         1000000LL /* in ps */
#define RATE_BPS   10e9
#define CHUNK_B    1e6
#define CHUNK_PS   (100 * US)
#define ALL_REDUCE COLLECTIVE_ALL_REDUCE

#define CHECK_PS(a, b) check_ps((a), (b), __LINE__)

static void check_ps(int64_t a, int64_t b, int line)
{
	if (!test_check(a == b, "the time, to the picosecond", __FILE__, line))
		printf("  %.9f us instead of %.9f us\n", (double)a / 1e6, (double)b / 1e6);
}

/* Each host has one GPU, in a slot of 10 GB/s, and an adapter of 10 GB/s. A route between two GPUs
 * has four links of 1 us each. */
static void rdma_hosts(struct comm_world *w, size_t count)
{
	w->transport = "rdma";
	comm_world_latencies(&w->library)->hop_s[0][HOP_NET][PROTOCOL_SIMPLE] = 6e-6;
	for (size_t i = 0; i < count; i++) {
		size_t host = comm_host(w), gpu = comm_gpu(w, host);
		const char *name = host_name(w->hosts[host]);
		comm_link(w, "pcie", gpu_name(w->gpus[gpu]), name, RATE_BPS, 1e-6);
		comm_link(w, "roce", name, "switch", RATE_BPS, 1e-6);
	}
}

static int64_t ring_time_ps(struct comm_world *w, size_t count)
{
	struct communicator *comm = comm_make(w, "job");
	comm_all(w, comm, ALL_REDUCE, (double)count * CHUNK_B, 0);
	comm_run(w);
	const struct communicator_counters *counters = communicator_counters(comm);
	CHECK(counters->network_B == counters->sent_B && counters->sent_B > 0);
	return w->done_ps[0];
}

static int64_t sliced_time_ps(bool gpudirect, double dram_Bps, double slice_B)
{
	struct comm_world *w = comm_world_new();
	w->library.gpudirect = gpudirect;
	w->library.slice_B = slice_B;
	w->host_params.dram_bandwidth_Bps = dram_Bps;
	rdma_hosts(w, 4);
	int64_t done_ps = ring_time_ps(w, 4);
	arena_free(w->arena);
	return done_ps;
}

static int64_t rdma_time_ps(bool gpudirect, double dram_Bps)
{
	return sliced_time_ps(gpudirect, dram_Bps, 100e3); /* 10 us */
}

static void staging_adds_two_slices_and_memory_traffic(void)
{
	CHECK_PS(rdma_time_ps(true, 1e15), 6 * ((6 + 4) * US + CHUNK_PS));
	CHECK_PS(rdma_time_ps(true, 1e9), 6 * ((6 + 4) * US + CHUNK_PS));
	/* Two copies follow each other, each one slice later. */
	CHECK_PS(rdma_time_ps(false, 1e15), 6 * ((6 + 4 + 20) * US + CHUNK_PS));
	/* A slice is at most the message. */
	CHECK_PS(sliced_time_ps(false, 1e15, 3 * CHUNK_B), 6 * ((6 + 4) * US + 3 * CHUNK_PS));
	/* Each host writes incoming and outgoing bytes to memory and reads them again, so 20 GB/s
	 * give 5 GB/s to each of these four streams. Two of them would get 10 GB/s each. */
	CHECK_PS(rdma_time_ps(false, 20e9), 6 * ((6 + 4 + 20) * US + 2 * CHUNK_PS));
}

/* A step of two GPUs without GPUDirect has three stages: a copy to host memory, the wire, a copy to
 * the GPU. Slices of 100 kB pass them like a pipeline. So a message takes the latencies, its bytes
 * at the rate of the slowest stage, and one slice at the rate of each other stage. */
static int64_t stages_time_ps(double slot_Bps, double wire_Bps)
{
	struct comm_world *w = comm_world_new();
	w->transport = "rdma";
	w->library.gpudirect = false;
	w->library.slice_B = 100e3;
	for (size_t i = 0; i < 2; i++) {
		size_t host = comm_host(w), gpu = comm_gpu(w, host);
		const char *name = host_name(w->hosts[host]);
		comm_link(w, "pcie", gpu_name(w->gpus[gpu]), name, slot_Bps, 1e-6);
		comm_link(w, "roce", name, "switch", wire_Bps, 1e-6);
	}
	int64_t done_ps = ring_time_ps(w, 2);
	arena_free(w->arena);
	return done_ps;
}

static void stages_of_a_staged_message_overlap(void)
{
	/* 1 MB at 1 GB/s takes 1000 us, and a slice at 10 GB/s 10 us in each of two slots. */
	CHECK_PS(stages_time_ps(RATE_BPS, RATE_BPS / 10), 2 * (4 + 1000 + 2 * 10) * US);
	/* The slots are the slowest stage: a slice takes 10 us on the wire and 100 us in the
	 * second slot. */
	CHECK_PS(stages_time_ps(RATE_BPS / 10, RATE_BPS), 2 * (4 + 1000 + 10 + 100) * US);
}

/* The library reaches half of a link's bandwidth, so each chunk takes twice as long. */
static void network_efficiency_of_a_library_limits_its_messages(void)
{
	struct comm_world *w = comm_world_new();
	w->library.gpudirect = true;
	w->library.net_efficiency_ratio = 0.5;
	rdma_hosts(w, 4);
	CHECK_PS(ring_time_ps(w, 4), 6 * ((6 + 4) * US + 2 * CHUNK_PS));
	arena_free(w->arena);
}

/* Two machines with two GPUs and an adapter each, whose GPUs do not access each other. Two of four
 * steps of a part are inside a machine. Through host memory such a step takes two hops of 4 us and
 * two links. Without shared memory it takes a hop of the network and the way to the adapter and
 * back. A step to the other machine takes one hop and four links. */
static void gpus_without_shared_memory_use_their_adapter(void)
{
	for (int shm = 0; shm < 2; shm++) {
		struct comm_world *w = comm_world_new();
		w->transport = "rdma";
		comm_world_latencies(&w->library)->hop_s[0][HOP_NET][PROTOCOL_SIMPLE] = 6e-6;
		comm_world_latencies(&w->library)->hop_s[0][HOP_PCI][PROTOCOL_SIMPLE] = 4e-6;
		w->library.p2p_level = PATH_LOC;
		w->library.shm = shm;
		for (size_t i = 0; i < 4; i++) {
			size_t host = i % 2 ? w->host_count - 1 : comm_host(w);
			const char *name = host_name(w->hosts[host]);
			comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), name, RATE_BPS,
				  1e-6);
			if (i % 2)
				comm_link(w, "roce", name, "switch", RATE_BPS, 1e-6);
		}
		struct communicator *comm = comm_make(w, "job");
		comm_all(w, comm, ALL_REDUCE, 4 * CHUNK_B, 0);
		comm_run(w);
		const struct communicator_counters *counters = communicator_counters(comm);
		CHECK(counters->network_B == (shm ? 0.5 : 1) * counters->sent_B);
		int64_t inside_ps = (shm ? 2 * 4 + 2 : 6 + 2) * US;
		CHECK_PS(w->done_ps[0], 3 * (inside_ps + (6 + 4) * US) + 6 * CHUNK_PS);
		arena_free(w->arena);
	}
}

static void messages_are_staged_if_the_adapter_belongs_to_the_guest(void)
{
	/* The network link ends at the guest, which has no PCIe link. So no route leads from the
	 * GPU to it. */
	struct comm_world *w = comm_world_new();
	w->transport = "rdma";
	w->library.slice_B = 100e3;
	for (size_t i = 0; i < 2; i++) {
		size_t host = comm_host(w), gpu = comm_gpu(w, host);
		comm_link(w, "pcie", gpu_name(w->gpus[gpu]), host_name(w->hosts[host]), RATE_BPS,
			  1e-6);
		comm_link(w, "infiniband", guest_name(w->guests[host]), "switch", RATE_BPS, 1e-6);
	}
	CHECK_PS(ring_time_ps(w, 2), 2 * ((4 + 20) * US + CHUNK_PS));
	arena_free(w->arena);
}

/* Each of two machines has two GPUs and two adapters at one PCIe switch. Each of the two rings
 * leaves a machine through the adapter of its own GPU, although the other adapter is as near. A
 * link between the machines carries 2 (4 - 1) messages of a quarter of half the buffer. Links
 * inside a machine take no time. */
static void each_ring_uses_the_adapter_of_its_gpu(void)
{
	struct comm_world *w = comm_world_new();
	w->transport = "rdma";
	w->library.channels_count = 2;
	for (size_t m = 0; m < 2; m++) {
		size_t host = comm_host(w);
		const char *plx = arena_printf(w->arena, "plx%zu", m);
		const char *nvswitch = arena_printf(w->arena, "nvswitch%zu", m);
		comm_link(w, "pcie", host_name(w->hosts[host]), plx, 1e15, 0);
		for (size_t i = 0; i < 2; i++) {
			const char *gpu = gpu_name(w->gpus[comm_gpu(w, host)]);
			const char *nic = arena_printf(w->arena, "nic%zu.%zu", m, i);
			comm_link(w, "nvlink", gpu, nvswitch, 1e15, 0);
			comm_link(w, "pcie", plx, gpu, 1e15, 0);
			comm_link(w, "pcie", plx, nic, 1e15, 0);
			comm_link(w, "infiniband", nic, "switch", RATE_BPS, 0);
		}
	}
	struct communicator *comm = comm_make(w, "job");
	comm_all(w, comm, ALL_REDUCE, 8 * CHUNK_B, 0);
	comm_run(w);
	CHECK_NEAR((double)w->done_ps[0], 6.0 * CHUNK_PS, 0.001);
	arena_free(w->arena);
}

/* The GPUs are at the second processor, the adapters at the first. Copies are staged in memory of
 * the second processor and cross the link between the sockets, which has half the bandwidth. */
static void staged_copies_cross_the_link_between_sockets(void)
{
	struct comm_world *w = comm_world_new();
	w->transport = "rdma";
	w->library.gpudirect = false;
	w->library.slice_B = 1000;
	for (size_t m = 0; m < 2; m++) {
		size_t host = comm_host(w);
		const char *memory = host_name(w->hosts[host]);
		const char *near = arena_printf(w->arena, "near%zu", m);
		const char *far = arena_printf(w->arena, "far%zu", m);
		const char *nic = arena_printf(w->arena, "nic%zu", m);
		comm_link(w, "socket", memory, near, 1e15, 90e-9);
		comm_link(w, "socket", memory, far, 1e15, 90e-9);
		comm_link(w, "socket", near, far, RATE_BPS / 2, 60e-9);
		comm_link(w, "pcie", far, gpu_name(w->gpus[comm_gpu(w, host)]), 1e15, 0);
		comm_link(w, "pcie", near, nic, 1e15, 0);
		comm_link(w, "infiniband", nic, "switch", RATE_BPS, 0);
	}
	CHECK_NEAR((double)ring_time_ps(w, 2), 2.0 * 2 * CHUNK_PS, 0.02);
	arena_free(w->arena);
}

/* GPU and adapter are at one processor (PHB). By default GPUDirect reaches to PXB, so copies are
 * staged. Host memory carries each byte that leaves twice, and each that arrives twice. It has half
 * of the link's bandwidth, so a step takes eight times as long. With phb adapters access GPUs. */
static void gpudirect_reaches_to_the_chosen_level(void)
{
	for (int level = PATH_LOC; level <= PATH_SYS; level++) {
		struct comm_world *w = comm_world_new();
		w->transport = "rdma";
		w->library.net_gdr_level = level;
		w->library.slice_B = 1000;
		w->host_params.dram_bandwidth_Bps = RATE_BPS / 2;
		for (size_t m = 0; m < 2; m++) {
			size_t host = comm_host(w);
			const char *nic = arena_printf(w->arena, "nic%zu", m);
			comm_link(w, "pcie", host_name(w->hosts[host]),
				  gpu_name(w->gpus[comm_gpu(w, host)]), 1e15, 0);
			comm_link(w, "pcie", host_name(w->hosts[host]), nic, 1e15, 0);
			comm_link(w, "infiniband", nic, "switch", RATE_BPS, 0);
		}
		double factor = level >= PATH_PHB ? 1 : 8;
		CHECK_NEAR((double)ring_time_ps(w, 2), 2.0 * factor * CHUNK_PS, 0.02);
		arena_free(w->arena);
	}
}

/* An adapter without access to GPU memory stages copies as above, whatever the level. */
static void adapters_for_host_memory_only_stage_copies(void)
{
	struct comm_world *w = comm_world_new();
	const struct link_traits adapter = {.capacity_Bps = {RATE_BPS, RATE_BPS},
					    .host_memory_only = true};
	w->transport = "rdma";
	w->library.net_gdr_level = PATH_SYS;
	w->library.slice_B = 1000;
	w->host_params.dram_bandwidth_Bps = RATE_BPS / 2;
	int center = fabric_node_add(w->fabric, "switch");
	for (size_t m = 0; m < 2; m++) {
		size_t host = comm_host(w);
		const char *nic = arena_printf(w->arena, "nic%zu", m);
		comm_link(w, "pcie", host_name(w->hosts[host]),
			  gpu_name(w->gpus[comm_gpu(w, host)]), 1e15, 0);
		comm_link(w, "pcie", host_name(w->hosts[host]), nic, 1e15, 0);
		fabric_link_add(w->fabric, arena_printf(w->arena, "cable%zu", m),
				link_kind_find("efa"), fabric_node_find(w->fabric, nic), center,
				&adapter);
	}
	CHECK_NEAR((double)ring_time_ps(w, 2), 2.0 * 8 * CHUNK_PS, 0.02);
	arena_free(w->arena);
}

/* Two machines with two A100 and one adapter each. A ring of 1 MB with LL128 takes 14 us, two hops
 * of 1.9 us, four of 4 us, and 1.5 MB at 0.92 of 10 GB/s x 0.97: 202 us in NCCL's model, less than
 * the 254 us of Simple and the 642 us of LL. NCCL needs a PCIe switch that the adapter shares with
 * some GPU in each machine. The second GPU may have it. */
static void ll128_needs_an_adapter_behind_the_switch_of_some_gpu(void)
{
	for (size_t both = 0; both < 9; both++) {
		const size_t near_of[] = {both / 3, both % 3}; /* 2: no GPU */
		bool far = near_of[0] == 2 || near_of[1] == 2;
		struct comm_world *w = comm_world_new();
		w->transport = "rdma";
		w->gpu_params.generation = GENERATION_AMPERE;
		net_presets(w->arena, &library_table, &w->library);
		w->library.own_latencies = NULL;
		w->library.algorithm = "ring";
		for (size_t m = 0; m < 2; m++) {
			size_t host = comm_host(w), a = comm_gpu(w, host), b = comm_gpu(w, host);
			const char *root = host_name(w->hosts[host]);
			const char *nic = arena_printf(w->arena, "nic%zu", m);
			const char *plx = arena_printf(w->arena, "plx%zu", m);
			const char *gpus[] = {gpu_name(w->gpus[a]), gpu_name(w->gpus[b])};
			size_t near = near_of[m];
			comm_link(w, "nvlink", gpus[0], gpus[1], 100e9, 0);
			comm_link(w, "pcie", root, plx, 1e15, 0);
			for (size_t i = 0; i < 2; i++)
				comm_link(w, "pcie", i == near ? plx : root, gpus[i], 1e15, 0);
			comm_link(w, "pcie", near < 2 ? plx : root, nic, 1e15, 0);
			comm_link(w, "infiniband", nic, "switch", RATE_BPS, 0);
		}
		struct communicator *comm = comm_make(w, "job");
		const char *text = communicator_choice_text(comm, ALL_REDUCE, 1e6);
		CHECK((strstr(text, "LL128") != NULL) == !far);
		CHECK((strstr(text, "Simple") != NULL) == far);
		arena_free(w->arena);
	}
}

/* A message passes a virtual NIC of 2 us at each end. */
static void virtual_nics_add_their_latency_at_both_ends(void)
{
	struct comm_world *w = comm_world_new();
	w->guest_params.vnic = VNIC_PVRDMA;
	w->guest_params.vnic_latency_s = 2e-6;
	rdma_hosts(w, 4);
	CHECK_PS(ring_time_ps(w, 4), 6 * ((6 + 4 + 4) * US + CHUNK_PS));
	arena_free(w->arena);
}

/* Go-back-N with loss p = 0.01. The round trip is 8 us, in which 10 GB/s send a window of
 * 19.53 packets of 4096 B, which are also assumed if the link has none. The link reaches this part
 * of its bandwidth:
 *
 *   (1 - p) / (1 - p + p * window) */
static void check_loss(double packet_B)
{
	struct comm_world *w = comm_world_new();
	w->transport = "rdma";
	for (size_t i = 0; i < 2; i++)
		comm_gpu(w, comm_host(w));
	comm_link(w, "pcie", "u0", "h0", 10 * RATE_BPS, 0);
	comm_link(w, "pcie", "u1", "h1", 10 * RATE_BPS, 0);
	const struct link_traits traits = {.capacity_Bps = {RATE_BPS, RATE_BPS},
					   .latency_s = 4e-6,
					   .packet_payload_B = packet_B,
					   .loss_ratio = {0.01, 0.01}};
	fabric_link_add(w->fabric, "cable", link_kind_find("roce"),
			fabric_node_find(w->fabric, "h0"), fabric_node_find(w->fabric, "h1"),
			&traits);
	double window = RATE_BPS * 8e-6 / 4096;
	double ratio = 0.99 / (0.99 + 0.01 * window);
	CHECK_NEAR(s_from_ps(ring_time_ps(w, 2)), 2 * (4e-6 + 100e-6 / ratio), 1e-8);
	arena_free(w->arena);
}

static void packet_loss_lowers_the_rdma_bandwidth(void)
{
	check_loss(4096);
	check_loss(0);
}

/* ---- TCP ---- */

struct tcp_start {
	struct comm_world *world;
	size_t count;
	double size_B;
};

static void begin_tcp(void *ctx, uint64_t arg)
{
	const struct tcp_start *start = ctx;
	comm_opened(start->world, 0);
	comm_all(start->world, start->world->comm, ALL_REDUCE, start->size_B, 0);
}

/* Time of an all-reduce over TCP in a ring whose connections are open. */
static double tcp_time_s(struct comm_world *w, size_t count, double slot_Bps, double size_B)
{
	const struct link_traits traits = {.capacity_Bps = {1.25e9, 1.25e9},
					   .latency_s = 5e-6,
					   .packet_payload_B = 1500,
					   .packet_overhead_B = 38};
	w->transport = "tcp";
	net_presets(w->arena, transport_kind_find("tcp")->table, w->transport_params);
	fabric_node_add(w->fabric, "switch");
	for (size_t i = 0; i < count; i++) {
		size_t host = comm_host(w), gpu = comm_gpu(w, host);
		comm_link(w, "pcie", gpu_name(w->gpus[gpu]), host_name(w->hosts[host]), slot_Bps,
			  1e-6);
		fabric_link_add(w->fabric, arena_printf(w->arena, "port %zu", i),
				link_kind_find("ethernet"), guest_node(w->guests[host]),
				fabric_node_find(w->fabric, "switch"), &traits);
	}
	w->comm = comm_make(w, "job");
	struct tcp_start start = {w, count, size_B};
	communicator_open(w->comm, begin_tcp, &start, 0);
	comm_run(w);
	CHECK(w->opened_s > 0 && w->done_ps[0] > 0);
	const struct communicator_counters *counters = communicator_counters(w->comm);
	CHECK(counters->delivered_B == counters->sent_B);
	return s_from_ps(w->done_ps[0]) - w->opened_s;
}

static void ring_over_tcp_reaches_the_ethernet_goodput(void)
{
	/* 1448 of 1538 B on the wire are payload. Slow start takes the rest of the time. */
	struct comm_world *w = comm_world_new();
	double wire_s = 2 * 0.75 * 400e6 / 1.25e9;
	double ratio = wire_s / tcp_time_s(w, 4, 12e9, 400e6);
	CHECK(ratio < 1448.0 / 1538);
	CHECK_NEAR(ratio, 1448.0 / 1538, 2e-3);
	arena_free(w->arena);
}

/* A library that reaches half of the network's bandwidth takes twice as long. */
static void network_efficiency_of_a_library_limits_its_sockets(void)
{
	struct comm_world *w = comm_world_new();
	w->library.net_efficiency_ratio = 0.5;
	double wire_s = 2 * 0.75 * 400e6 / 1.25e9 * 1538 / 1448;
	CHECK_NEAR(tcp_time_s(w, 4, 12e9, 400e6) / wire_s, 2, 2e-3);
	arena_free(w->arena);
}

static void staging_overlaps_with_tcp(void)
{
	/* The PCIe slot has 0.5 GB/s in each direction, less than the wire. So it sets the pace.
	 * The last slice of 1 MB adds its way up and down. */
	struct comm_world *w = comm_world_new();
	w->library.slice_B = 1e6;
	double seconds = tcp_time_s(w, 2, 0.5e9, 400e6);
	CHECK_NEAR(seconds, 2 * (200e6 / 0.5e9 + 2 * 2e-3), 1e-4);
	arena_free(w->arena);
}

/* In each host the GPU's link moves the 10 MB of a broadcast to or from memory, a copy between
 * buffers reads and writes them, and the adapter moves them once more. */
static void both_hosts_of_a_socket_carry_the_message(void)
{
	struct comm_world *w = comm_world_new();
	tcp_time_s(w, 2, 12e9, 1e3);
	double before_B[2];
	for (size_t i = 0; i < 2; i++)
		before_B[i] = fabric_carried(w->fabric, host_dram(w->hosts[i]));
	comm_all(w, w->comm, COLLECTIVE_BROADCAST, 10e6, 1);
	comm_run(w);
	for (size_t i = 0; i < 2; i++)
		CHECK_NEAR(fabric_carried(w->fabric, host_dram(w->hosts[i])) - before_B[i],
			   (1 + 2 + 1) * 10e6, 1e-3);
	arena_free(w->arena);
}

static void trees_over_tcp_open_connections_beyond_the_ring(void)
{
	struct comm_world *w = comm_world_new();
	tcp_time_s(w, 4, 12e9, 4e6); /* ranks 0 and 2 are not neighbours */
	comm_all(w, w->comm, COLLECTIVE_ALL_TO_ALL, 4e6, 1);
	comm_run(w);
	CHECK(w->done_ps[1] > w->done_ps[0]);
	arena_free(w->arena);
}

/* ---- a parameter server ---- */

struct server_world {
	double reduce_Bps;
	double threads_count;
	size_t workers, servers;
	double work_cost_ratio; /* of virtual machines; 0: bare metal */
	double sum_inputs_count, after_ratio, at_once_count; /* 0: the default */
};

/* All ports have 10 GB/s. Each server is on its own host and holds 10 kB of the buffer, which one
 * message of 1 us carries. */
static struct comm_world *server_world(struct server_world shape)
{
	struct comm_world *w = comm_world_new();
	w->host_params.clock_Hz = REFERENCE_CLOCK_HZ;
	w->host_params.turbo = false;
	w->host_params.power_policy = POWER_MAX_PERFORMANCE;
	w->library.algorithm = "parameter_server";
	w->library.cpu_reduce_Bps = shape.reduce_Bps;
	w->library.cpu_reduce_threads_count = shape.threads_count;
	w->library.cpu_after_ratio = shape.after_ratio;
	if (shape.sum_inputs_count > 0)
		w->library.cpu_sum_inputs_count = shape.sum_inputs_count;
	if (shape.at_once_count > 0)
		w->library.at_once_count = shape.at_once_count;
	if (shape.work_cost_ratio > 0)
		w->guest_params.kind = GUEST_VM;
	w->guest_params.work_cost_ratio = shape.work_cost_ratio;
	rdma_hosts(w, shape.workers);
	comm_world_latencies(&w->library)->hop_s[0][HOP_NET][PROTOCOL_SIMPLE] = 0;
	for (size_t i = 0; i < shape.servers; i++) {
		size_t host = comm_host(w);
		comm_link(w, "roce", host_name(w->hosts[host]), "switch", RATE_BPS, 1e-6);
		comm_server(w, host);
	}
	return w;
}

static int64_t server_time_ps(struct server_world shape)
{
	struct comm_world *w = server_world(shape);
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, (double)shape.servers * 10e3, 0);
	comm_run(w);
	int64_t done_ps = w->done_ps[0];
	arena_free(w->arena);
	return done_ps;
}

/* Time with four workers and cores that add 1 GB/s. */
static int64_t added_ps(double threads_count, size_t servers, double work_cost_ratio)
{
	return server_time_ps((struct server_world){.reduce_Bps = 1e9,
						    .threads_count = threads_count,
						    .workers = 4,
						    .servers = servers,
						    .work_cost_ratio = work_cost_ratio});
}

static void workers_share_the_port_of_a_parameter_server(void)
{
	/* Four pushes share a port. The server adds three times, 10 us each. Its four answers share
	 * the port in the other direction. Each route has three links. */
	CHECK_PS(added_ps(1, 1, 0), (4 + 3 * 10 + 4 + 6) * US);
	/* Four threads add in parallel. */
	CHECK_PS(added_ps(4, 1, 0), 14 * US + 3 * 2500000);
	/* A virtual machine needs 1.5 times the work for each sum. */
	CHECK_PS(added_ps(1, 1, 0.5), (4 + 3 * 15 + 4 + 6) * US);
	/* Two servers hold 10 kB each and work in parallel. The port of a worker carries twice as
	 * much as before, still less than the port of a server. */
	CHECK_PS(added_ps(1, 2, 0), (4 + 3 * 10 + 4 + 6) * US);
}

/* Bytes of memory traffic for each byte of the sum of four gradients. Added in pairs: 3 x 3, which
 * take 27 us. All in one pass: 4 + 1. Mean and update add 5. Three in one pass and then the fourth
 * with their sum: 4 + 3. */
static void sum_of_gradients_takes_the_counted_passes_over_memory(void)
{
	static const struct {
		double inputs_count, after_ratio;
		int64_t sum_us;
	} rows[] = {{2, 0, 27}, {8, 0, 15}, {8, 5, 30}, {3, 0, 21}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		CHECK_PS(server_time_ps(
				 (struct server_world){.reduce_Bps = 10e9 / 9,
						       .threads_count = 1,
						       .workers = 4,
						       .servers = 1,
						       .sum_inputs_count = rows[i].inputs_count,
						       .after_ratio = rows[i].after_ratio}),
			 (14 + rows[i].sum_us) * US);
}

/* A tensor of 10 kB takes 4 us of pushes, 30 us of adding, 4 us of answers and 6 us of links. A
 * tensor of 1 kB takes a tenth of this, and the links. If one is added at a time, the second
 * follows the first. Otherwise the second is pushed after the first, added at the same time and
 * answered long before it. */
static void parameter_server_adds_several_tensors_in_parallel(void)
{
	struct server_world shape = {
		.reduce_Bps = 1e9, .threads_count = 1, .workers = 4, .servers = 1};
	for (int at_once = 1; at_once <= 2; at_once++) {
		shape.at_once_count = at_once;
		struct comm_world *w = server_world(shape);
		struct communicator *comm = comm_make(w, "job");
		comm_all(w, comm, ALL_REDUCE, 10e3, 0);
		comm_all(w, comm, ALL_REDUCE, 1e3, 1);
		comm_run(w);
		CHECK_PS(w->done_ps[0], 44 * US);
		CHECK_PS(w->done_ps[1], at_once == 1 ? 53800000 : 4 * US + 3800000 + 6 * US);
		arena_free(w->arena);
	}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(staging_adds_two_slices_and_memory_traffic),
		TEST(network_efficiency_of_a_library_limits_its_messages),
		TEST(gpus_without_shared_memory_use_their_adapter),
		TEST(stages_of_a_staged_message_overlap),
		TEST(messages_are_staged_if_the_adapter_belongs_to_the_guest),
		TEST(staged_copies_cross_the_link_between_sockets),
		TEST(gpudirect_reaches_to_the_chosen_level),
		TEST(ll128_needs_an_adapter_behind_the_switch_of_some_gpu),
		TEST(each_ring_uses_the_adapter_of_its_gpu),
		TEST(virtual_nics_add_their_latency_at_both_ends),
		TEST(packet_loss_lowers_the_rdma_bandwidth),
		TEST(ring_over_tcp_reaches_the_ethernet_goodput),
		TEST(staging_overlaps_with_tcp),
		TEST(both_hosts_of_a_socket_carry_the_message),
		TEST(trees_over_tcp_open_connections_beyond_the_ring),
		TEST(workers_share_the_port_of_a_parameter_server),
		TEST(sum_of_gradients_takes_the_counted_passes_over_memory),
		TEST(parameter_server_adds_several_tensors_in_parallel),
		TEST(adapters_for_host_memory_only_stage_copies),
		TEST(network_efficiency_of_a_library_limits_its_sockets),
	};
	return TEST_MAIN(tests);
}
