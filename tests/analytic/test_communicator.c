/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives over links whose answer can be worked out by hand. Links are
 * without framing; a chunk of 1 MB at 10 GB/s takes 100 us. */
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

/* 2 (n - 1) (h + L + S / (n B)) */
static void a_ring_takes_what_the_formula_says(void)
{
	static const size_t counts[] = {2, 4, 8};
	for (size_t c = 0; c < 3; c++) {
		struct comm_world *w = comm_world_new();
		size_t n = counts[c];
		comm_star(w, n, RATE_BPS, 2e-6);
		w->library.ring_nvlink_simple_s = 3e-6;
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

static void start_and_local_copy_come_on_top(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 4, RATE_BPS, 0);
	w->library.base_ring_simple_s = 7e-6;
	w->library.local_copy_ratio = 0.5;
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 4 * CHUNK_B, 0);
	comm_run(w);
	CHECK_PS(w->done_ps[0], 7 * US + 6 * CHUNK_PS + CHUNK_PS / 2);
	arena_free(w->arena);
}

/* Each flow has half of each link. */
static void two_communicators_share_the_links(void)
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

/* One after the other, on each rank: the second takes as long as the first. */
static void collectives_of_one_communicator_queue(void)
{
	struct comm_world *w = comm_world_new();
	comm_star(w, 4, RATE_BPS, 1e-6);
	struct communicator *comm = comm_make(w, "job");
	comm_all(w, comm, ALL_REDUCE, 4 * CHUNK_B, 0);
	comm_all(w, comm, COLLECTIVE_ALL_GATHER, 4 * CHUNK_B, 1);
	for (uint64_t i = 2; i < 40; i++) /* more than the queue has room for at first */
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

/* Rank 3 comes at T, when everything that can go on without it has. Its first
 * message then goes once round and once more: six hops to rank 1, which is the last
 * to be done. Its third one is ready at T, too, and leaves at T + 3 s; from there
 * it is four latencies and three messages until rank 2 has sent its last one. */
static void a_late_rank_holds_up_its_neighbours(void)
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

/* One GPU's link has half the rate. Its messages out and in take two units, and
 * after k of them 2 k have passed: as if all links were slow. */
static void a_slow_link_sets_the_pace(void)
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

/* The time of an all-reduce by two GPUs under a PCIe switch: 10 GB/s to each and
 * from the switch up. */
static int64_t pcie_time_ps(enum guest_kind kind, bool peer_to_peer, double dram_Bps)
{
	struct comm_world *w = comm_world_new();
	w->guest_params.kind = (int)kind;
	w->host_params.dram_bandwidth_Bps = dram_Bps;
	w->library.peer_to_peer = peer_to_peer;
	w->library.ring_pci_simple_s = 3e-6;
	size_t host = comm_host(w);
	for (size_t i = 0; i < 2; i++)
		comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), "plx", RATE_BPS, 1e-6);
	comm_link(w, "pcie", "plx", "h0", RATE_BPS, 1e-6);
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 2 * CHUNK_B, 0);
	comm_run(w);
	int64_t done_ps = w->done_ps[0];
	arena_free(w->arena);
	return done_ps;
}

static void peers_meet_in_the_switch_or_higher_up(void)
{
	/* Two links, one hop. */
	CHECK_PS(pcie_time_ps(GUEST_BARE, true, 1e15), 2 * ((3 + 2) * US + CHUNK_PS));
	CHECK_PS(pcie_time_ps(GUEST_CONTAINER, true, 1e15), 2 * ((3 + 2) * US + CHUNK_PS));
	/* In a VM by the root complex: both messages cross the link above the switch. */
	CHECK_PS(pcie_time_ps(GUEST_VM, true, 1e15), 2 * ((3 + 4) * US + 2 * CHUNK_PS));
	/* Through a buffer in host memory: two of the library's hops. */
	CHECK_PS(pcie_time_ps(GUEST_BARE, false, 1e15), 2 * ((6 + 4) * US + 2 * CHUNK_PS));
	/* Each byte is written there and read, of both messages: 8 GB/s are 2 for each. */
	CHECK_PS(pcie_time_ps(GUEST_BARE, false, 8e9), 2 * ((6 + 4) * US + 5 * CHUNK_PS));
}

/* As in a server with two processors: each has its part of the memory behind a
 * socket link, and its GPUs behind a switch. */
static void a_virtual_machines_peers_turn_at_the_processor(void)
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
	/* The link between processors has half the rate and sets the pace of the ring,
	 * which crosses it once each way. Memory is not in the way. */
	CHECK_PS(w->done_ps[0], 6 * 2 * CHUNK_PS + US);
	arena_free(w->arena);
}

/* A GPU between two others does not forward; a switch does. */
static void nvlink_does_not_lead_through_a_gpu(void)
{
	struct comm_world *w = comm_world_new();
	size_t host = comm_host(w);
	for (size_t i = 0; i < 3; i++)
		comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), "h0", RATE_BPS, 1e-6);
	comm_link(w, "nvlink", "u0", "u1", 10 * RATE_BPS, 0);
	comm_link(w, "nvlink", "u1", "u2", 10 * RATE_BPS, 0);
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 3 * CHUNK_B, 0);
	comm_run(w);
	/* From 2 to 0 over PCIe, up and down: its four messages are what takes long. */
	CHECK_PS(w->done_ps[0], 4 * CHUNK_PS + 2 * US);
	arena_free(w->arena);
}

/* ---- what it takes from kernels, and they from it ---- */

struct kernel {
	struct comm_world *world;
	int64_t end_ps;
};

static void kernel_over(void *ctx, uint64_t arg)
{
	struct kernel *kernel = ctx;
	(void)arg;
	kernel->end_ps = engine_now_ps(kernel->world->engine);
}

/* When a kernel of 10 ms on the first of four GPUs ends that starts together with
 * an all-reduce, whose end is in the world's log. */
static int64_t kernel_end_ps(struct comm_world *w)
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
	comm_all(w, comm_make(w, "job"), ALL_REDUCE, 4 * CHUNK_B, 0);
	comm_run(w);
	return kernel.end_ps;
}

static void its_kernels_hold_multiprocessors(void)
{
	/* Two blocks on the twenty multiprocessors, and three, and what the second library's
	 * take beyond: for the 0.6 ms of the collective that part of the engine is gone. */
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

static void memory_bandwidth_is_shared_with_kernels(void)
{
	struct comm_world *w = comm_world_new();
	w->library.memory_traffic_ratio = 2;
	/* 6 MB sent are 12 MB of traffic at 100 GB/s: 120 us that the kernel misses. */
	int64_t end_ps = kernel_end_ps(w);
	CHECK_NEAR(SECONDS(end_ps), 10e-3 + 120e-6, 1e-9);
	/* The link wants 20 of 100 GB/s and the kernel all: 1/1.2 of the rate for the
	 * messages from and to the first GPU, which set the pace. */
	CHECK_NEAR(SECONDS(w->done_ps[0]), 6 * 120e-6, 1e-9);
	arena_free(w->arena);
}

/* Both ends of a message want their GPU's memory: one to whose receiver computes takes 1.2
 * times as long, too. */
static void a_busy_receiver_slows_messages(void)
{
	for (size_t busy = 0; busy < 3; busy++) {
		struct comm_world *w = comm_world_new();
		w->library.memory_traffic_ratio = 2;
		comm_star(w, 2, RATE_BPS, 0);
		struct kernel kernel = {.world = w};
		struct gpu_op op = {.kind = GPU_OP_KERNEL,
				    .duration_s = 10e-3,
				    .continued = true,
				    .done = kernel_over,
				    .ctx = &kernel};
		if (busy < 2)
			gpu_submit(gpu_stream_new(gpu_context_new(w->gpus[busy], "tenant", 1),
						  "stream"),
				   &op);
		w->library.algorithm = "binomial_tree";
		comm_all(w, comm_make(w, "job"), COLLECTIVE_BROADCAST, CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR(SECONDS(w->done_ps[0]), busy < 2 ? 120e-6 : 100e-6, 1e-9);
		arena_free(w->arena);
	}
}

/* ---- the same again ---- */

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

static void the_order_of_links_changes_nothing(void)
{
	CHECK_PS(mesh_time_ps(true), mesh_time_ps(false));
}

int main(void)
{
	static const struct test tests[] = {
		TEST(a_ring_takes_what_the_formula_says),
		TEST(start_and_local_copy_come_on_top),
		TEST(two_communicators_share_the_links),
		TEST(collectives_of_one_communicator_queue),
		TEST(a_late_rank_holds_up_its_neighbours),
		TEST(a_slow_link_sets_the_pace),
		TEST(peers_meet_in_the_switch_or_higher_up),
		TEST(a_virtual_machines_peers_turn_at_the_processor),
		TEST(nvlink_does_not_lead_through_a_gpu),
		TEST(its_kernels_hold_multiprocessors),
		TEST(memory_bandwidth_is_shared_with_kernels),
		TEST(a_busy_receiver_slows_messages),
		TEST(the_order_of_links_changes_nothing),
	};
	return TEST_MAIN(tests);
}
