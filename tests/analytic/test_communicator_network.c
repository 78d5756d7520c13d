/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives between hosts: RDMA from GPU memory or staged, TCP, a parameter
 * server. A chunk of 1 MB at 10 GB/s takes 100 us. */
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

/* Hosts with a GPU each in a slot of 10 GB/s and an adapter of 10 GB/s in the host
 * itself: four links from GPU to GPU, a microsecond each. */
static void rdma_hosts(struct comm_world *w, size_t count)
{
	w->transport = "rdma";
	w->library.ring_net_simple_s = 6e-6;
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

static int64_t rdma_time_ps(bool gpudirect, double dram_Bps)
{
	struct comm_world *w = comm_world_new();
	w->library.gpudirect = gpudirect;
	w->library.slice_B = 100e3; /* 10 us */
	w->host_params.dram_bandwidth_Bps = dram_Bps;
	rdma_hosts(w, 4);
	int64_t done_ps = ring_time_ps(w, 4);
	arena_free(w->arena);
	return done_ps;
}

static void staging_costs_slices_and_memory(void)
{
	CHECK_PS(rdma_time_ps(true, 1e15), 6 * ((6 + 4) * US + CHUNK_PS));
	CHECK_PS(rdma_time_ps(true, 1e9), 6 * ((6 + 4) * US + CHUNK_PS));
	/* Two copies, a slice late each. */
	CHECK_PS(rdma_time_ps(false, 1e15), 6 * ((6 + 4 + 20) * US + CHUNK_PS));
	/* Each host's memory has what comes and what goes, written and read: 20 GB/s
	 * give 5 to each; alone a slice would have had 10 of them. */
	CHECK_PS(rdma_time_ps(false, 20e9), 6 * ((6 + 4 + 20) * US + 2 * CHUNK_PS));
}

/* Half of a link's bytes belong to the library: each chunk takes twice as long. */
static void what_a_library_reaches_of_a_link(void)
{
	struct comm_world *w = comm_world_new();
	w->library.gpudirect = true;
	w->library.net_efficiency_ratio = 0.5;
	rdma_hosts(w, 4);
	CHECK_PS(ring_time_ps(w, 4), 6 * ((6 + 4) * US + 2 * CHUNK_PS));
	arena_free(w->arena);
}

static void staged_where_adapters_are_the_guests(void)
{
	/* The network ends at the guest, which has no PCIe: no way for a GPU. */
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

/* Two machines, in each two GPUs and two adapters at one PCIe switch: each ring crosses by
 * the adapter of its own GPU, though the other is as near. A link between machines
 * carries 2 (4 - 1) messages of a quarter of a ring's half; inside all is at once. */
static void each_gpu_has_its_own_adapter(void)
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

/* GPUs at the second processor, adapters at the first: copies are staged beside the second
 * one and cross the link between the sockets, which halves the rate. */
static void staged_copies_cross_the_sockets(void)
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

/* A virtual NIC is in the way at both ends. */
static void virtual_adapters_add_their_latency(void)
{
	struct comm_world *w = comm_world_new();
	w->guest_params.vnic = VNIC_PVRDMA;
	w->guest_params.vnic_latency_s = 2e-6;
	rdma_hosts(w, 4);
	CHECK_PS(ring_time_ps(w, 4), 6 * ((6 + 4 + 4) * US + CHUNK_PS));
	arena_free(w->arena);
}

/* Go-back-N with p = 0.01 and 4 us there and back, 20 packets of 4096 B at 10 GB/s:
 * window 19.53, (1 - p) / (1 - p + p * window). */
static void lost_packets_take_of_the_rate(void)
{
	struct comm_world *w = comm_world_new();
	w->transport = "rdma";
	for (size_t i = 0; i < 2; i++)
		comm_gpu(w, comm_host(w));
	comm_link(w, "pcie", "u0", "h0", 10 * RATE_BPS, 0);
	comm_link(w, "pcie", "u1", "h1", 10 * RATE_BPS, 0);
	const struct link_traits traits = {.capacity_Bps = {RATE_BPS, RATE_BPS},
					   .latency_s = 4e-6,
					   .packet_payload_B = 4096,
					   .loss_ratio = {0.01, 0.01}};
	fabric_link_add(w->fabric, "cable", link_kind_find("roce"),
			fabric_node_find(w->fabric, "h0"), fabric_node_find(w->fabric, "h1"),
			&traits);
	double window = RATE_BPS * 8e-6 / 4096;
	double ratio = 0.99 / (0.99 + 0.01 * window);
	CHECK_NEAR(s_from_ps(ring_time_ps(w, 2)), 2 * (4e-6 + 100e-6 / ratio), 1e-8);
	arena_free(w->arena);
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
	(void)arg;
	comm_opened(start->world, 0);
	comm_all(start->world, start->world->comm, ALL_REDUCE, start->size_B, 0);
}

/* The time of a ring over TCP, connections being open. */
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

static void a_ring_over_tcp_fills_the_ethernet(void)
{
	/* 1448 bytes of data in 1538 on the wire; slow start costs the rest. */
	struct comm_world *w = comm_world_new();
	double wire_s = 2 * 0.75 * 400e6 / 1.25e9;
	double ratio = wire_s / tcp_time_s(w, 4, 12e9, 400e6);
	CHECK(ratio < 1448.0 / 1538);
	CHECK_NEAR(ratio, 1448.0 / 1538, 2e-3);
	arena_free(w->arena);
}

static void staging_goes_on_beside_tcp(void)
{
	/* A slot of 0.5 GB/s each way is slower than the wire: it sets the pace, but for
	 * the last slice of 1 MB, up and down. */
	struct comm_world *w = comm_world_new();
	w->library.slice_B = 1e6;
	double seconds = tcp_time_s(w, 2, 0.5e9, 400e6);
	CHECK_NEAR(seconds, 2 * (200e6 / 0.5e9 + 2 * 2e-3), 1e-4);
	arena_free(w->arena);
}

static void other_shapes_open_their_own_connections(void)
{
	struct comm_world *w = comm_world_new();
	tcp_time_s(w, 4, 12e9, 4e6); /* 0 and 2 are not neighbours */
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
	double work_cost_ratio; /* in virtual machines; 0: bare machines */
	double sum_inputs_count, after_ratio, at_once_count; /* 0: the presets */
};

/* All ports have 10 GB/s; each server is on a host of its own and has 10 kB of the
 * buffer, too little to be cut: 1 us. */
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
	w->library.ring_net_simple_s = 0;
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

/* Four workers, cores that add 1 GB/s. */
static int64_t added_ps(double threads_count, size_t servers, double work_cost_ratio)
{
	return server_time_ps((struct server_world){.reduce_Bps = 1e9,
						    .threads_count = threads_count,
						    .workers = 4,
						    .servers = servers,
						    .work_cost_ratio = work_cost_ratio});
}

static void workers_share_the_servers_port(void)
{
	/* Four pushes share a port, the server adds three times (10 us each at 1 GB/s),
	 * and its four answers share the port back. Three links each way. */
	CHECK_PS(added_ps(1, 1, 0), (4 + 3 * 10 + 4 + 6) * US);
	/* Four threads. */
	CHECK_PS(added_ps(4, 1, 0), 14 * US + 3 * 2500000);
	/* In a VM that makes half as much work again of each sum. */
	CHECK_PS(added_ps(1, 1, 0.5), (4 + 3 * 15 + 4 + 6) * US);
	/* Two servers have as much each, side by side; a worker's port has twice as much
	 * to carry, which is still less than a server's. */
	CHECK_PS(added_ps(1, 2, 0), (4 + 3 * 10 + 4 + 6) * US);
}

/* Four gradients in pairs are 3 x 3 bytes of memory for each byte of the sum, 27 us. All in one
 * pass are 4 + 1. The mean and the update add 5. Three in a pass, then the fourth and the sum,
 * are 4 + 3. */
static void sums_take_passes_over_memory(void)
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

/* 10 kB take 4 us of pushes, 30 of adding, 4 of answers, 6 of links. 1 kB takes a tenth, and
 * the links. Either they run one after the other, or the second is pushed after the first,
 * added at the same time and answered long before. */
static void several_tensors_are_added_at_once(void)
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
		TEST(staging_costs_slices_and_memory),
		TEST(what_a_library_reaches_of_a_link),
		TEST(staged_where_adapters_are_the_guests),
		TEST(staged_copies_cross_the_sockets),
		TEST(each_gpu_has_its_own_adapter),
		TEST(virtual_adapters_add_their_latency),
		TEST(lost_packets_take_of_the_rate),
		TEST(a_ring_over_tcp_fills_the_ethernet),
		TEST(staging_goes_on_beside_tcp),
		TEST(other_shapes_open_their_own_connections),
		TEST(workers_share_the_servers_port),
		TEST(sums_take_passes_over_memory),
		TEST(several_tensors_are_added_at_once),
	};
	return TEST_MAIN(tests);
}
