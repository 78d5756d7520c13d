/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives over links whose time can be calculated by hand. Links have no packet overhead. A
 * chunk of 1 MB takes 100 us at 10 GB/s. */
#include "tests/comm_world.h"

#define US             1000000LL /* in ps */
#define RATE_BPS       10e9
#define CHUNK_B        1e6
#define CHUNK_PS       (100 * US)
#define ALL_REDUCE     COLLECTIVE_ALL_REDUCE
#define SECONDS(ps)    s_from_ps(ps)
#define CHECK_PS(a, b) check_ps((a), (b), __LINE__)

static void check_ps(int64_t a, int64_t b, int line)
{
	if (!test_check(a == b, "the time, to the picosecond", __FILE__, line))
		printf("  %.9f us instead of %.9f us\n", (double)a / 1e6, (double)b / 1e6);
}

/* 2 (n - 1) (h + L + S / (n B)), with the library's time per hop h, latency L, size S, bandwidth B
 */
static void ring_all_reduce_time_matches_the_formula(void)
{
	static const size_t counts[] = {2, 4, 8};
	for (size_t c = 0; c < 3; c++) {
		struct comm_world *w = comm_world_new();
		size_t n = counts[c];
		comm_star(w, n, RATE_BPS, 2e-6);
		comm_world_latencies(&w->library)->hop_s[0][HOP_NVLINK][PROTOCOL_SIMPLE] = 3e-6;
		struct communicator *comm = comm_make(w, "job");
		comm_all(w, comm, ALL_REDUCE, CHUNK_B * (double)n, 0);
		comm_run(w);
		CHECK_PS(w->done_ps[0], 2 * (int64_t)(n - 1) * (5 * US + CHUNK_PS));
		const struct communicator_counters *counters = communicator_counters(comm);
		CHECK(counters->collectives_count == 1);
		CHECK(counters->sends_count == 2 * n * (n - 1));
		CHECK(counters->sent_B == 2 * (double)(n * (n - 1)) * CHUNK_B);
		CHECK(counters->delivered_B == counters->sent_B);
		CHECK(counters->network_B == 0);
		CHECK(w->rank_done_count[0] == n);
		arena_free(w->arena);
	}
}

/* The block copies the last chunk at twice the rate of the links. */
static void start_cost_and_local_copy_add_to_the_ring_time(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 4, RATE_BPS, 0);
	comm_world_latencies(&w->library)->base_s[0][PROTOCOL_SIMPLE] = 7e-6;
	w->library.block_copy_Bps = 2 * RATE_BPS;
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 4 * CHUNK_B, 0);
	comm_run(w);
	CHECK_PS(w->done_ps[0], 7 * US + 6 * CHUNK_PS + CHUNK_PS / 2);
	arena_free(w->arena);
}

/* Each flow gets half of each link. */
static void two_groups_share_links_equally(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 4, RATE_BPS, 1e-6);
	struct communicator *a = comm_make(w, "a"), *b = comm_make(w, "b");
	comm_all(w, a, ALL_REDUCE, 4 * CHUNK_B, 0);
	comm_all(w, b, ALL_REDUCE, 4 * CHUNK_B, 1);
	comm_run(w);
	CHECK_PS(w->done_ps[0], 6 * (US + 2 * CHUNK_PS));
	CHECK_PS(w->done_ps[1], 6 * (US + 2 * CHUNK_PS));
	arena_free(w->arena);
}

/* The second collective of the same group starts on each rank when the first has finished there. */
static void collectives_of_one_group_run_one_after_the_other(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 4, RATE_BPS, 1e-6);
	struct communicator *comm = comm_make(w, "job");
	comm_all(w, comm, ALL_REDUCE, 4 * CHUNK_B, 0);
	comm_all(w, comm, COLLECTIVE_ALL_GATHER, 4 * CHUNK_B, 1);
	for (uint64_t i = 2; i < 40; i++) /* more than the initial capacity of the queue */
		comm_all(w, comm, ALL_REDUCE, 4, i);
	comm_run(w);
	CHECK_PS(w->done_ps[0], 6 * (US + CHUNK_PS));
	CHECK_PS(w->done_ps[1], 9 * (US + CHUNK_PS));
	CHECK_PS(w->done_ps[39], 9 * (US + CHUNK_PS) + 38 * 6 * (US + 100));
	arena_free(w->arena);
}

struct arrival {
	struct communicator *comm;
	size_t rank;
};

static void arrive(void *ctx, uint64_t number)
{
	const struct arrival *arrival = ctx;
	communicator_arrive(arrival->comm, number, arrival->rank);
}

/* Rank 3 arrives at T, when the other ranks have done all that they can do without it. Its first
 * message goes around the ring once and two hops further: rank 1 is the last to finish, after six
 * hops. Its third message is ready at T, too, and has left at T + 3 message times. Four latencies
 * and three message times later rank 2 has sent its last message. */
static void late_rank_delays_all_ranks(void)
{
	enum { LATE_US = 5000 };
	struct comm_world *w = comm_world_new();
	comm_star(w, 4, RATE_BPS, 2e-6);
	struct communicator *comm = comm_make(w, "job");
	uint64_t number = comm_begin(w, comm, ALL_REDUCE, 4 * CHUNK_B, 0);
	for (size_t i = 0; i < 3; i++)
		communicator_arrive(comm, number, i);
	struct arrival late = {comm, 3};
	engine_at(w->engine, LATE_US * US, arrive, &late, number);
	comm_run(w);
	CHECK_PS(w->done_ps[0], LATE_US * US + 6 * (2 * US + CHUNK_PS));
	CHECK_PS(w->rank_done_ps[0][1], w->done_ps[0]);
	CHECK_PS(w->rank_done_ps[0][2], LATE_US * US + 6 * CHUNK_PS + 4 * 2 * US);
	CHECK(w->rank_done_count[0] == 4 && w->rank_order[0][0] == 2);
	arena_free(w->arena);
}

/* The link of one GPU has half the bandwidth. Each of its messages in and out takes twice as long,
 * so the ring takes as long as if all links were slow. */
static void slowest_link_sets_the_ring_time(void)
{
	struct comm_world *w = comm_world_new();
	size_t host = comm_host(w);
	for (size_t i = 0; i < 4; i++) {
		size_t n = comm_gpu(w, host);
		comm_link(w, "nvlink", gpu_name(w->gpus[n]), "switch",
			  i == 0 ? RATE_BPS / 2 : RATE_BPS, 0);
	}
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 4 * CHUNK_B, 0);
	comm_run(w);
	CHECK_PS(w->done_ps[0], 6 * 2 * CHUNK_PS);
	arena_free(w->arena);
}

/* ---- inside a host, over PCIe ---- */

/* Time of an all-reduce by two GPUs under a PCIe switch. Each link of a GPU and the link above the
 * switch have 10 GB/s. With the level loc, the GPUs have an NVLink, too. */
static int64_t pcie_time_ps(enum guest_kind kind, enum path_level level, double dram_Bps, bool acs)
{
	struct comm_world *w = comm_world_new();
	w->guest_params.kind = (int)kind;
	w->host_params.dram_bandwidth_Bps = dram_Bps;
	w->library.p2p_level = (int)level;
	w->library.acs = acs;
	comm_world_latencies(&w->library)->hop_s[0][HOP_PCI][PROTOCOL_SIMPLE] = 3e-6;
	size_t host = comm_host(w);
	for (size_t i = 0; i < 2; i++)
		comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), "plx", RATE_BPS, 1e-6);
	comm_link(w, "pcie", "plx", "h0", RATE_BPS, 1e-6);
	if (level == PATH_LOC)
		comm_link(w, "nvlink", gpu_name(w->gpus[0]), gpu_name(w->gpus[1]), RATE_BPS, 1e-6);
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 2 * CHUNK_B, 0);
	comm_run(w);
	int64_t done_ps = w->done_ps[0];
	arena_free(w->arena);
	return done_ps;
}

static void peer_copies_turn_at_the_switch_except_in_a_vm_or_with_acs(void)
{
	/* Peer to peer: two links and one hop of the library. */
	CHECK_PS(pcie_time_ps(GUEST_BARE, PATH_PIX, 1e15, false), 2 * ((3 + 2) * US + CHUNK_PS));
	CHECK_PS(pcie_time_ps(GUEST_CONTAINER, PATH_SYS, 1e15, false),
		 2 * ((3 + 2) * US + CHUNK_PS));
	/* In a virtual machine they turn at the root complex: both messages cross the link above
	 * the switch. */
	CHECK_PS(pcie_time_ps(GUEST_VM, PATH_SYS, 1e15, false), 2 * ((3 + 4) * US + 2 * CHUNK_PS));
	/* And with ACS on. */
	CHECK_PS(pcie_time_ps(GUEST_BARE, PATH_SYS, 1e15, true), 2 * ((3 + 4) * US + 2 * CHUNK_PS));
	/* Without peer to peer they use a buffer in host memory: two hops of the library. */
	CHECK_PS(pcie_time_ps(GUEST_BARE, PATH_NVL, 1e15, false),
		 2 * ((6 + 4) * US + 2 * CHUNK_PS));
	/* Both messages are written to host memory and read from it, so 8 GB/s give 2 GB/s to each.
	 */
	CHECK_PS(pcie_time_ps(GUEST_BARE, PATH_NVL, 8e9, false), 2 * ((6 + 4) * US + 5 * CHUNK_PS));
	/* The level loc forbids NVLink, too. */
	CHECK_PS(pcie_time_ps(GUEST_BARE, PATH_LOC, 1e15, false),
		 2 * ((6 + 4) * US + 2 * CHUNK_PS));
}

/* A server with two processors. Each processor has a switch with two GPUs, and its memory is behind
 * a slow socket link. */
static void peer_copies_in_a_vm_turn_at_their_processor(void)
{
	static const char *const switches[] = {"plx0", "plx0", "plx1", "plx1"};
	struct comm_world *w = comm_world_new();
	w->guest_params.kind = GUEST_VM;
	size_t host = comm_host(w);
	for (size_t i = 0; i < 4; i++)
		comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), switches[i], RATE_BPS,
			  0);
	for (size_t i = 0; i < 2; i++) {
		comm_link(w, "pcie", switches[2 * i], i ? "cpu1" : "cpu0", 2 * RATE_BPS, 0);
		comm_link(w, "socket", "h0", i ? "cpu1" : "cpu0", RATE_BPS / 100, 1e-6);
	}
	comm_link(w, "socket", "cpu0", "cpu1", RATE_BPS / 2, 1e-6);
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 4 * CHUNK_B, 0);
	comm_run(w);
	/* The ring crosses the link between the processors once in each direction. This link has
	 * half the bandwidth and sets the pace. The slow links to memory are not used. */
	CHECK_PS(w->done_ps[0], 6 * 2 * CHUNK_PS + US);
	arena_free(w->arena);
}

/* Three GPUs in a chain of NVLinks. A library that searches for rings sends messages from GPU 2 to
 * GPU 0 through GPU 1. Another library uses PCIe, up and down, and these four messages take the
 * longest. */
static void nvlink_routes_pass_through_a_gpu_only_with_a_search(void)
{
	for (int search = 0; search < 2; search++) {
		struct comm_world *w = comm_world_new();
		size_t host = comm_host(w);
		w->library.ring_search = search;
		for (size_t i = 0; i < 3; i++)
			comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), "h0", RATE_BPS,
				  1e-6);
		comm_link(w, "nvlink", "u0", "u1", 10 * RATE_BPS, 0);
		comm_link(w, "nvlink", "u1", "u2", 10 * RATE_BPS, 0);
		comm_all(w, comm_make(w, "job"), ALL_REDUCE, 3 * CHUNK_B, 0);
		comm_run(w);
		CHECK_PS(w->done_ps[0], search ? 4 * CHUNK_PS / 10 : 4 * CHUNK_PS + 2 * US);
		arena_free(w->arena);
	}
}

/* ---- collectives and kernels on one GPU ---- */

struct kernel {
	struct comm_world *world;
	int64_t end_ps;
};

static void kernel_over(void *ctx, uint64_t arg)
{
	struct kernel *kernel = ctx;
	kernel->end_ps = engine_now_ps(kernel->world->engine);
}

/* End time of a kernel of 10 ms on the first of four GPUs. The kernel starts together with
 * all-reduces, whose ends are in the log of the world. */
static int64_t kernel_end_after_ps(struct comm_world *w, uint64_t collectives)
{
	comm_star(w, 4, RATE_BPS, 0);
	struct kernel kernel = {.world = w};
	struct gpu_op op = {.kind = GPU_OP_KERNEL,
			    .duration_s = 10e-3,
			    .continued = true,
			    .done = kernel_over,
			    .ctx = &kernel};
	struct gpu_context *context = gpu_context_new(w->gpus[0], "tenant", 1);
	gpu_submit(gpu_stream_new(context, "stream"), &op);
	struct communicator *comm = comm_make(w, "job");
	for (uint64_t i = 0; i < collectives; i++)
		comm_all(w, comm, ALL_REDUCE, 4 * CHUNK_B, i);
	comm_run(w);
	return kernel.end_ps;
}

static int64_t kernel_end_ps(struct comm_world *w)
{
	return kernel_end_after_ps(w, 1);
}

static void collective_kernels_occupy_multiprocessors(void)
{
	/* The collective lasts 0.6 ms. Its two or three blocks occupy that many of the 20
	 * multiprocessors (10 % and 15 %), and the second library takes 10 % more. So the kernel
	 * ends 60 or 150 us later. */
	const double blocks_count[] = {2, 3}, loss_ratio[] = {0, 0.1};
	const int64_t late_us[] = {60, 150};
	for (size_t i = 0; i < 2; i++) {
		struct comm_world *w = comm_world_new();
		w->library.channels_count = blocks_count[i];
		w->library.block_share_ratio = 1;
		w->library.kernel_loss_ratio = loss_ratio[i];
		CHECK_PS(kernel_end_ps(w), (10000 + late_us[i]) * US);
		CHECK_PS(w->done_ps[0], 6 * CHUNK_PS);
		arena_free(w->arena);
	}
}

/* The GPU is occupied until the second of two all-reduces of 0.6 ms ends. */
static void the_next_collective_occupies_the_gpu_too(void)
{
	struct comm_world *w = comm_world_new();
	w->library.channels_count = 2;
	w->library.block_share_ratio = 1;
	CHECK_PS(kernel_end_after_ps(w, 2), (10000 + 120) * US);
	CHECK_PS(w->done_ps[1], 12 * CHUNK_PS);
	arena_free(w->arena);
}

static void collectives_share_memory_bandwidth_with_kernels(void)
{
	struct comm_world *w = comm_world_new();
	w->library.memory_traffic_ratio = 2;
	/* The GPU sends 6 MB, which are 12 MB of memory traffic at 100 GB/s: the kernel loses 120
	 * us. */
	int64_t end_ps = kernel_end_ps(w);
	CHECK_NEAR(SECONDS(end_ps), 10e-3 + 120e-6, 1e-9);
	/* The link demands 20 of 100 GB/s and the kernel all 100. So messages from and to the first
	 * GPU get 1 / 1.2 of their bandwidth, and they set the pace. */
	CHECK_NEAR(SECONDS(w->done_ps[0]), 6 * 120e-6, 1e-9);
	arena_free(w->arena);
}

/* A message needs memory bandwidth of the sender's and of the receiver's GPU. A kernel on the
 * sender, with 50 GB/s, makes it take 1.4 times as long. A kernel on the receiver, with 100 GB/s,
 * makes it 1.2 times. With both, the slower one counts. This is also so if a thread block limits
 * the message, and not the links. */
static void kernel_at_either_end_slows_a_message(void)
{
	static const double expected_s[] = {100e-6, 140e-6, 120e-6, 140e-6};
	for (unsigned i = 0; i < 8; i++) {
		unsigned busy = i % 4; /* a bit for each GPU */
		bool by_block = i >= 4;
		struct comm_world *w = comm_world_new();
		struct gpu_params slower = w->gpu_params;
		slower.memory_bandwidth_Bps = 50e9;
		w->library.memory_traffic_ratio = 2;
		w->library.tree_split_ratio = 1;
		w->library.channel_tree_Bps = by_block ? RATE_BPS : 1e13;
		size_t host = comm_host(w);
		for (size_t g = 0; g < 2; g++) {
			const char *name = arena_printf(w->arena, "u%zu", g);
			w->gpus[g] = gpu_new(w->arena, w->engine, w->fabric, name,
					     fabric_node_add(w->fabric, name),
					     g == 0 ? &slower : &w->gpu_params);
			w->ranks[w->rank_count++] =
				(struct comm_rank){.gpu = w->gpus[g], .guest = w->guests[host]};
			comm_link(w, "nvlink", name, "switch", by_block ? 1e13 : RATE_BPS, 0);
		}
		struct kernel kernel = {.world = w};
		struct gpu_op op = {.kind = GPU_OP_KERNEL,
				    .duration_s = 10e-3,
				    .continued = true,
				    .done = kernel_over,
				    .ctx = &kernel};
		for (unsigned g = 0; g < 2; g++)
			if (busy >> g & 1)
				gpu_submit(gpu_stream_new(gpu_context_new(w->gpus[g], "tenant", 1),
							  "stream"),
					   &op);
		w->library.algorithm = "binomial_broadcast";
		comm_all(w, comm_make(w, "job"), COLLECTIVE_BROADCAST, CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR(SECONDS(w->done_ps[0]), expected_s[busy], 1e-9);
		arena_free(w->arena);
	}
}

/* ---- order of construction ---- */

static int64_t mesh_time_ps(bool backwards)
{
	struct comm_world *w = comm_world_new();
	size_t host = comm_host(w);
	for (size_t i = 0; i < 4; i++)
		comm_gpu(w, host);
	for (size_t i = 0; i < 4; i++) {
		size_t n = backwards ? 3 - i : i;
		comm_link(w, "nvlink", gpu_name(w->gpus[n]), "switch",
			  RATE_BPS / (1 + (double)n / 7), 1e-6 / (double)(n + 1));
	}
	w->library.algorithm = "halving_doubling";
	w->library.memory_traffic_ratio = 3;
	for (uint64_t i = 0; i < 3; i++)
		comm_all(w, comm_make(w, i ? i > 1 ? "a" : "b" : "c"), ALL_REDUCE, 1234567, i);
	comm_run(w);
	int64_t done_ps = w->done_ps[0] + 3 * w->done_ps[1] + 7 * w->done_ps[2];
	arena_free(w->arena);
	return done_ps;
}

static void order_of_links_does_not_change_the_result(void)
{
	CHECK_PS(mesh_time_ps(true), mesh_time_ps(false));
}

/* Two ranks on one GPU copy in its memory, which reads and writes each byte at 100 GB/s. Each of
 * two rounds copies half of 10 MB. */
static void ranks_on_one_gpu_copy_in_its_memory(void)
{
	struct comm_world *w = comm_world_new();
	comm_gpu(w, comm_host(w));
	w->ranks[w->rank_count++] = w->ranks[0];
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 10e6, 0);
	comm_run(w);
	CHECK_PS(w->done_ps[0], ps_from_s(10e6 * 2 / 100e9));
	arena_free(w->arena);
	/* one thread block of 10 GB/s is slower */
	w = comm_world_new();
	w->library.channels_count = 1;
	w->library.channel_bandwidth_Bps = 10e9;
	comm_gpu(w, comm_host(w));
	w->ranks[w->rank_count++] = w->ranks[0];
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 10e6, 0);
	comm_run(w);
	CHECK_PS(w->done_ps[0], ps_from_s(10e6 / 10e9));
	arena_free(w->arena);
}

/* Two machines with one adapter, which shares a PCIe switch with the first GPU only. The ring
 * enters at the first GPU and leaves at the second one. With PXN the message goes over NVLink to
 * the first GPU and from there to the adapter, although the second GPU has no other adapter. So
 * each of six steps takes the time of a chunk. Without PXN copies are staged in host memory, as
 * above. */
static void rings_leave_through_the_gpu_next_to_the_only_adapter(void)
{
	for (int pxn = 0; pxn < 2; pxn++) {
		struct comm_world *w = comm_world_new();
		w->transport = "rdma";
		w->library.gpudirect = true;
		w->library.net_gdr_level = PATH_PXB;
		w->library.pxn = pxn;
		w->library.slice_B = 1000;
		w->host_params.dram_bandwidth_Bps = RATE_BPS / 2;
		for (size_t m = 0; m < 2; m++) {
			size_t host = comm_host(w);
			const char *root = host_name(w->hosts[host]);
			const char *plx = arena_printf(w->arena, "plx%zu", m);
			const char *nic = arena_printf(w->arena, "nic%zu", m);
			comm_link(w, "pcie", root, plx, 1e15, 0);
			comm_link(w, "pcie", plx, nic, 1e15, 0);
			comm_link(w, "infiniband", nic, "switch", RATE_BPS, 0);
			for (size_t i = 0; i < 2; i++) {
				const char *gpu = gpu_name(w->gpus[comm_gpu(w, host)]);
				comm_link(w, "nvlink", gpu,
					  arena_printf(w->arena, "nvswitch%zu", m), 1e15, 0);
				comm_link(w, "pcie", i == 0 ? plx : root, gpu, 1e15, 0);
			}
		}
		comm_all(w, comm_make(w, "job"), ALL_REDUCE, 4 * CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR((double)w->done_ps[0], 6.0 * (pxn ? 1 : 8) * CHUNK_PS, 0.02);
		arena_free(w->arena);
	}
}

/* The GPU and the adapter of machine `near` share a PCIe switch, those of the other machine only
 * the root complex. GPUDirect reaches to a switch, so messages of both directions are staged in
 * host memory, with an eighth of the bandwidth as above. If both machines are near (2), none is
 * staged.
 */
static void gpudirect_needs_a_near_adapter_at_both_ends(void)
{
	for (size_t near = 0; near <= 2; near++) {
		struct comm_world *w = comm_world_new();
		w->transport = "rdma";
		w->library.net_gdr_level = PATH_PXB;
		w->library.slice_B = 1000;
		w->host_params.dram_bandwidth_Bps = RATE_BPS / 2;
		for (size_t m = 0; m < 2; m++) {
			size_t host = comm_host(w);
			const char *root = host_name(w->hosts[host]);
			const char *plx = arena_printf(w->arena, "plx%zu", m);
			const char *nic = arena_printf(w->arena, "nic%zu", m);
			comm_link(w, "pcie", root, plx, 1e15, 0);
			comm_link(w, "pcie", near == 2 || near == m ? plx : root, nic, 1e15, 0);
			comm_link(w, "infiniband", nic, "switch", RATE_BPS, 0);
			comm_link(w, "pcie", plx, gpu_name(w->gpus[comm_gpu(w, host)]), 1e15, 0);
		}
		comm_all(w, comm_make(w, "job"), ALL_REDUCE, 2 * CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR((double)w->done_ps[0], 2.0 * (near == 2 ? 1 : 8) * CHUNK_PS, 0.02);
		arena_free(w->arena);
	}
}

/* Two machines of three GPUs, each with an adapter next to it, whose rails no switch joins. In an
 * all-to-all each GPU sends a chunk to each GPU of the other machine: to that at its own place by
 * its own adapter, and to the others over NVLink and by the adapters of its neighbours. So each
 * adapter sends and receives three chunks. */
static void messages_take_the_rail_of_the_receivers_place(void)
{
	struct comm_world *w = comm_world_new();
	w->transport = "rdma";
	w->library.pxn = true;
	for (size_t m = 0; m < 2; m++) {
		size_t host = comm_host(w);
		for (size_t i = 0; i < 3; i++) {
			size_t n = comm_gpu(w, host);
			const char *gpu = gpu_name(w->gpus[n]);
			const char *plx = arena_printf(w->arena, "plx%zu", n);
			const char *nic = arena_printf(w->arena, "nic%zu", n);
			comm_link(w, "pcie", host_name(w->hosts[host]), plx, 1e15, 0.1e-6);
			comm_link(w, "pcie", plx, nic, 1e15, 0);
			comm_link(w, "pcie", plx, gpu, 1e15, 0);
			comm_link(w, "infiniband", nic, arena_printf(w->arena, "rail%zu", i),
				  RATE_BPS, 0);
			comm_link(w, "nvlink", gpu, m ? "nvswitch1" : "nvswitch0", 1e15, 0);
		}
	}
	comm_all(w, comm_make(w, "job"), COLLECTIVE_ALL_TO_ALL, 6 * CHUNK_B, 0);
	comm_run(w);
	CHECK(!w->reason);
	CHECK_NEAR((double)w->done_ps[0], 3.0 * CHUNK_PS, 0.02);
	arena_free(w->arena);
}

/* Two GPUs at one PCIe switch. With ACS their requests go up to the root complex, which passes half
 * of the bandwidth on. Without ACS they do not reach it. */
static void acs_sends_requests_through_the_root_complex(void)
{
	for (int acs = 0; acs < 2; acs++) {
		struct comm_world *w = comm_world_new();
		w->library.acs = acs;
		w->host_params.peer_root_ratio = 0.5;
		size_t host = comm_host(w);
		comm_link(w, "pcie", host_name(w->hosts[host]), "plx", 1e15, 0);
		for (size_t i = 0; i < 2; i++)
			comm_link(w, "pcie", "plx", gpu_name(w->gpus[comm_gpu(w, host)]), RATE_BPS,
				  0);
		comm_all(w, comm_make(w, "job"), ALL_REDUCE, 2 * CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR((double)w->done_ps[0], 2.0 * (acs ? 2 : 1) * CHUNK_PS, 1e-3);
		arena_free(w->arena);
	}
}

/* The engine's own all-reduce needs access between all GPUs: one that refuses it is enough, and so
 * is a library that does not use access between processors (3). */
static void one_gpu_without_access_prevents_custom_all_reduces(void)
{
	for (size_t refuses = 0; refuses <= 3; refuses++) { /* 2: none */
		struct comm_world *w = comm_world_new();
		struct gpu_params closed = w->gpu_params;
		closed.peer_access = false;
		w->library.algorithm = "auto";
		w->library.custom_all_reduce = CUSTOM_ON;
		w->library.p2p_level = refuses == 3 ? PATH_PHB : PATH_SYS;
		size_t host = comm_host(w);
		for (size_t i = 0; i < 2; i++) {
			const char *name = arena_printf(w->arena, "u%zu", i);
			w->gpus[i] = gpu_new(w->arena, w->engine, w->fabric, name,
					     fabric_node_add(w->fabric, name),
					     i == refuses ? &closed : &w->gpu_params);
			w->ranks[w->rank_count++] =
				(struct comm_rank){.gpu = w->gpus[i], .guest = w->guests[host]};
			comm_link(w, "pcie", host_name(w->hosts[host]), name, RATE_BPS, 0);
		}
		const char *text = communicator_choice_text(comm_make(w, "job"), ALL_REDUCE, 1024);
		CHECK((strstr(text, "one_shot") == text) == (refuses == 2));
		arena_free(w->arena);
	}
}

/* Pieces go up to rank 0 at 1 GB/s and down again at 4 GB/s. The last of 200 pieces of 0.1 MB
 * begins to go down when it has come up, although the way down has carried all pieces before it. */
static void last_piece_of_a_tree_takes_its_own_time_downwards(void)
{
	struct comm_world *w = comm_world_new();
	const struct link_traits port = {.capacity_Bps = {4e9, 1e9}, .own_packets = true};
	size_t host = comm_host(w);
	w->library.algorithm = "binary_tree";
	w->library.slice_B = 1e5;
	comm_link(w, "nvlink", gpu_name(w->gpus[comm_gpu(w, host)]), "switch0", 1e15, 0);
	comm_link(w, "nvlink", gpu_name(w->gpus[comm_gpu(w, host)]), "switch1", 1e15, 0);
	fabric_link_add(w->fabric, "between", link_kind_find("nvlink"),
			fabric_node_find(w->fabric, "switch0"),
			fabric_node_find(w->fabric, "switch1"), &port);
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 20e6, 0);
	comm_run(w);
	CHECK_NEAR((double)w->done_ps[0] / 1e12, 20e6 / 1e9 + 1e5 / 4e9, 1e-6);
	arena_free(w->arena);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(rings_leave_through_the_gpu_next_to_the_only_adapter),
		TEST(gpudirect_needs_a_near_adapter_at_both_ends),
		TEST(messages_take_the_rail_of_the_receivers_place),
		TEST(acs_sends_requests_through_the_root_complex),
		TEST(last_piece_of_a_tree_takes_its_own_time_downwards),
		TEST(one_gpu_without_access_prevents_custom_all_reduces),
		TEST(ranks_on_one_gpu_copy_in_its_memory),
		TEST(ring_all_reduce_time_matches_the_formula),
		TEST(start_cost_and_local_copy_add_to_the_ring_time),
		TEST(two_groups_share_links_equally),
		TEST(collectives_of_one_group_run_one_after_the_other),
		TEST(late_rank_delays_all_ranks),
		TEST(slowest_link_sets_the_ring_time),
		TEST(peer_copies_turn_at_the_switch_except_in_a_vm_or_with_acs),
		TEST(peer_copies_in_a_vm_turn_at_their_processor),
		TEST(nvlink_routes_pass_through_a_gpu_only_with_a_search),
		TEST(collective_kernels_occupy_multiprocessors),
		TEST(the_next_collective_occupies_the_gpu_too),
		TEST(collectives_share_memory_bandwidth_with_kernels),
		TEST(kernel_at_either_end_slows_a_message),
		TEST(order_of_links_does_not_change_the_result),
	};
	return TEST_MAIN(tests);
}
