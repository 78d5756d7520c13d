/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives of ranks that differ: by their processor, their guest, their port or their links. A
 * chunk of 1 MB takes 100 us at 10 GB/s. */
#include "tests/comm_world.h"

static const double RATE_BPS = 10e9, CHUNK_B = 1e6;
static const double CHUNK_S = 100e-6;

/* Returns the time of an all-reduce of two GPUs, in chunk times. */
static double pair_time(struct comm_world *w)
{
	comm_all(w, comm_make(w, "job"), COLLECTIVE_ALL_REDUCE, 2 * CHUNK_B, 0);
	comm_run(w);
	double time = s_from_ps(w->done_ps[0]) / (2 * CHUNK_S);
	arena_free(w->arena);
	return time;
}

/* Adds two processors with a GPU each. The link between the processors has rate_Bps. */
static void add_processors(struct comm_world *w, double rate_Bps)
{
	static const char *const processors[] = {"cpu0", "cpu1"};
	size_t host = comm_host(w);
	for (size_t i = 0; i < 2; i++) {
		comm_link(w, "pcie", processors[i], gpu_name(w->gpus[comm_gpu(w, host)]), RATE_BPS,
			  0);
		comm_link(w, "socket", processors[i], "h0", 1e15, 0.9e-9);
	}
	comm_link(w, "socket", "cpu0", "cpu1", rate_Bps, 1e-9);
}

/* The buffer in host memory is at the receiver's processor, so the sender's writes cross the link
 * between the processors, which has half the bandwidth of the others. */
static void buffers_in_host_memory_are_at_the_receiver(void)
{
	struct comm_world *w = comm_world_new();
	w->library.p2p_level = PATH_NVL;
	add_processors(w, RATE_BPS / 2);
	CHECK_NEAR(pair_time(w), 2, 1e-3);
}

/* A copy from GPU to GPU that a root complex forwards keeps a half of the bandwidth, between
 * processors a fourth, and below a PCIe switch all of it. */
static void copies_between_gpus_depend_on_their_level(void)
{
	static const double expected[] = {1, 2, 4};
	for (size_t i = 0; i < 3; i++) {
		struct comm_world *w = comm_world_new();
		w->host_params.peer_root_ratio = 0.5;
		w->host_params.peer_socket_ratio = 0.25;
		if (i == 2) {
			add_processors(w, 1e15);
		} else {
			size_t host = comm_host(w);
			const char *parent = i == 0 ? "plx" : "h0";
			comm_link(w, "pcie", "plx", "h0", 1e15, 0);
			for (size_t k = 0; k < 2; k++)
				comm_link(w, "pcie", parent, gpu_name(w->gpus[comm_gpu(w, host)]),
					  RATE_BPS, 0);
		}
		CHECK_NEAR(pair_time(w), expected[i], 1e-3);
	}
}

static struct guest *second_guest(struct comm_world *w, const char *name,
				  const struct guest_params *params)
{
	return guest_new(w->hosts[0], name, fabric_node_add(w->fabric, name), params);
}

/* Two GPUs at one PCIe switch. If the sender's or the receiver's belongs to a virtual machine, a
 * message goes up to the root complex. */
static void one_virtual_machine_redirects_messages(void)
{
	for (size_t vm = 0; vm <= 2; vm++) { /* 2: none */
		struct comm_world *w = comm_world_new();
		struct guest_params params = w->guest_params;
		params.kind = GUEST_VM;
		w->host_params.peer_root_ratio = 0.5;
		size_t host = comm_host(w);
		comm_link(w, "pcie", "plx", "h0", 1e15, 0);
		for (size_t i = 0; i < 2; i++)
			comm_link(w, "pcie", "plx", gpu_name(w->gpus[comm_gpu(w, host)]), RATE_BPS,
				  0);
		struct guest *machine = second_guest(w, "vm", &params);
		if (vm < 2)
			w->ranks[vm].guest = machine;
		w->library.algorithm = "binomial_broadcast";
		comm_all(w, comm_make(w, "job"), COLLECTIVE_BROADCAST, CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR(s_from_ps(w->done_ps[0]) / CHUNK_S, vm < 2 ? 2 : 1, 1e-3);
		arena_free(w->arena);
	}
}

/* GPUs 0 and 1 communicate through GPU 2 or 3, whichever has the faster links: 40 GB/s instead of
 * 10. GPU 0 sends to GPUs 2 and 1, and GPU 2 then to GPU 3 through GPU 0 at 10 GB/s. If GPU 2 is
 * fast, both messages of GPU 0 share its link: 2 / 4 + 1. If GPU 3 is fast, that to GPU 2 takes 1.
 */
static void messages_pass_through_the_gpu_with_the_fastest_links(void)
{
	for (size_t fast = 2; fast < 4; fast++) {
		struct comm_world *w = comm_world_new();
		size_t host = comm_host(w);
		for (size_t i = 0; i < 4; i++)
			comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), "h0", 1e9, 1e-6);
		for (size_t i = 2; i < 4; i++)
			for (size_t k = 0; k < 2; k++)
				comm_link(w, "nvlink", gpu_name(w->gpus[k]), gpu_name(w->gpus[i]),
					  i == fast ? 4 * RATE_BPS : RATE_BPS, 0);
		w->library.algorithm = "binomial_broadcast";
		struct communicator *comm = comm_make(w, "job");
		comm_all(w, comm, COLLECTIVE_BROADCAST, CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR(s_from_ps(w->done_ps[0]) / CHUNK_S, fast == 2 ? 1.5 : 2, 1e-6);
		arena_free(w->arena);
	}
}

/* GPU 0 reaches GPU 1 through GPU 3, with 10 GB/s on both links, and not through GPU 2, with 40
 * and 5. From 1/4 on, its message shares the link to GPU 3 with the one from GPU 2: 1/4 + 2 x 3/4.
 */
static void slower_link_counts_on_the_way_through_a_gpu(void)
{
	struct comm_world *w = comm_world_new();
	size_t host = comm_host(w);
	for (size_t i = 0; i < 4; i++)
		comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), "h0", 1e9, 1e-6);
	comm_link(w, "nvlink", "u0", "u2", 4 * RATE_BPS, 0);
	comm_link(w, "nvlink", "u2", "u1", RATE_BPS / 2, 0);
	comm_link(w, "nvlink", "u0", "u3", RATE_BPS, 0);
	comm_link(w, "nvlink", "u3", "u1", RATE_BPS, 0);
	w->library.algorithm = "binomial_broadcast";
	comm_all(w, comm_make(w, "job"), COLLECTIVE_BROADCAST, CHUNK_B, 0);
	comm_run(w);
	CHECK_NEAR(s_from_ps(w->rank_done_ps[0][1]) / CHUNK_S, 1.75, 1e-6);
	CHECK_NEAR(s_from_ps(w->done_ps[0]) / CHUNK_S, 2, 1e-6);
	arena_free(w->arena);
}

/* Four pairs of machines broadcast over a trunk of four cables at once. Static routes choose the
 * cable by the port of the receiver, so each message has a cable of its own. */
static void static_routes_take_the_ports_of_receivers(void)
{
	struct comm_world *w = comm_world_new();
	struct link_traits port = {.capacity_Bps = {RATE_BPS, RATE_BPS}};
	struct link_traits trunk = {.capacity_Bps = {4 * RATE_BPS, 4 * RATE_BPS},
				    .cable_count = 4,
				    .cable_choice = CABLES_STATIC};
	w->transport = "rdma";
	w->library.algorithm = "binomial_broadcast";
	int leaves[] = {fabric_node_add(w->fabric, "leaf0"), fabric_node_add(w->fabric, "leaf1")};
	fabric_link_add(w->fabric, "trunk", link_kind_find("roce"), leaves[0], leaves[1], &trunk);
	for (uint32_t i = 0; i < 8; i++) {
		size_t host = comm_host(w);
		const char *nic = arena_printf(w->arena, "nic%u", i);
		comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]),
			  host_name(w->hosts[host]), 1e15, 0);
		comm_link(w, "pcie", host_name(w->hosts[host]), nic, 1e15, 0);
		port.port = i / 2 + 1;
		fabric_link_add(w->fabric, arena_printf(w->arena, "port%u", i),
				link_kind_find("roce"), fabric_node_find(w->fabric, nic),
				leaves[i % 2], &port);
	}
	struct comm_rank all[8];
	memcpy(all, w->ranks, sizeof all);
	w->rank_count = 2;
	for (uint64_t i = 0; i < 4; i++) {
		memcpy(w->ranks, all + 2 * i, 2 * sizeof *all);
		comm_all(w, comm_make(w, arena_printf(w->arena, "job%d", (int)i)),
			 COLLECTIVE_BROADCAST, CHUNK_B, i);
	}
	comm_run(w);
	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(s_from_ps(w->done_ps[i]), CHUNK_S, 1e-8);
	arena_free(w->arena);
}

/* One of two guests on a host has an adapter with a fourth of the bandwidth. The ring leaves the
 * host from the GPU of the second guest, through its adapter, and enters by the first one. Each
 * rank sends 6 quarters of 400 MB. */
static void each_guest_uses_its_own_sockets(void)
{
	for (size_t slow = 0; slow <= 3; slow++) { /* 2: that of the other host, 3: none */
		struct comm_world *w = comm_world_new();
		const struct link_traits fast = {.capacity_Bps = {1e9, 1e9}, .latency_s = 1e-6};
		const struct link_traits quarter = {.capacity_Bps = {0.25e9, 0.25e9},
						    .latency_s = 1e-6};
		w->transport = "tcp";
		net_presets(w->arena, transport_kind_find("tcp")->table, w->transport_params);
		int center = fabric_node_add(w->fabric, "switch");
		size_t hosts[] = {comm_host(w), comm_host(w)};
		struct guest *other = second_guest(w, "other", &w->guest_params);
		for (size_t i = 0; i < 4; i++)
			comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, hosts[i / 2])]),
				  i < 2 ? "h0" : "h1", 1e15, 0);
		w->ranks[1].guest = other;
		struct guest *guests[] = {w->guests[0], other, w->guests[1]};
		for (size_t i = 0; i < 3; i++)
			fabric_link_add(w->fabric, arena_printf(w->arena, "port %zu", i),
					link_kind_find("ethernet"), guest_node(guests[i]), center,
					i == slow ? &quarter : &fast);
		struct communicator *comm = comm_make(w, "job");
		communicator_open(comm, comm_opened, w, 0);
		comm_run(w);
		double start_s = s_from_ps(engine_now_ps(w->engine));
		comm_all(w, comm, COLLECTIVE_ALL_REDUCE, 400e6, 0);
		comm_run(w);
		CHECK_NEAR(s_from_ps(w->done_ps[0]) - start_s, slow < 3 ? 2.4 : 0.6, 1e-3);
		arena_free(w->arena);
	}
}

/* The root of a broadcast receives nothing, so it stores nothing, although the all-reduce before it
 * did. The other rank stores the buffer in half of a chunk's time. */
static void root_of_a_broadcast_stores_nothing(void)
{
	struct comm_world *w = comm_world_new();
	w->library.block_copy_Bps = 2 * RATE_BPS;
	w->library.slice_B = 1e9;
	comm_star(w, 2, RATE_BPS, 0);
	struct communicator *comm = comm_make(w, "job");
	comm_all(w, comm, COLLECTIVE_ALL_REDUCE, 2 * CHUNK_B, 0);
	comm_all(w, comm, COLLECTIVE_BROADCAST, CHUNK_B, 1);
	comm_run(w);
	CHECK_NEAR(s_from_ps(w->rank_done_ps[0][0]) / CHUNK_S, 2.5, 1e-9);
	CHECK_NEAR(s_from_ps(w->rank_done_ps[1][0]) / CHUNK_S, 3.5, 1e-9);
	CHECK_NEAR(s_from_ps(w->rank_done_ps[1][1]) / CHUNK_S, 4, 1e-9);
	arena_free(w->arena);
}

/* Links of 150 GB/s get six rings of at most 25 GB/s on Ampere, and four of 37.5 GB/s on Hopper,
 * with two channels each. The older of two GPUs decides, whichever is first. */
static void oldest_gpu_sets_the_constants(void)
{
	for (size_t older = 0; older <= 2; older++) { /* 2: none */
		struct comm_world *w = comm_world_new();
		w->library.channels_count = 0;
		w->gpu_params.generation = GENERATION_HOPPER;
		struct gpu_params ampere = w->gpu_params;
		ampere.generation = GENERATION_AMPERE;
		size_t host = comm_host(w);
		for (size_t i = 0; i < 2; i++) {
			const char *name = arena_printf(w->arena, "u%zu", i);
			struct gpu *gpu = gpu_new(w->arena, w->engine, w->fabric, name,
						  fabric_node_add(w->fabric, name),
						  i == older ? &ampere : &w->gpu_params);
			w->ranks[w->rank_count++] =
				(struct comm_rank){.gpu = gpu, .guest = w->guests[host]};
			comm_link(w, "nvlink", name, "switch", 150e9, 0);
		}
		CHECK_TEXT(
			communicator_choice_text(comm_make(w, "job"), COLLECTIVE_ALL_REDUCE, 1e9),
			older < 2 ? "ring, Simple, 12 channels" : "ring, Simple, 8 channels");
		arena_free(w->arena);
	}
}

/* Across machines, a channel has at most its buffer in each round trip of 20 us: 1 MB with Simple,
 * 8 steps of 512 threads with 64 B with LL, and of 640 threads with 900 B with LL128. Four channels
 * have four buffers. Both steps of a chunk also take the latency of 10 us. */
static void buffers_bound_the_bytes_of_a_round_trip(void)
{
	static const double buffers_B[] = {8.0 * 512 * 64, 8.0 * 640 * 900, 1e6, 4e6};
	for (int i = 0; i < 4; i++) {
		struct comm_world *w = comm_world_new();
		struct nccl_latencies *table = comm_world_latencies(&w->library);
		memset(table, 0, sizeof *table);
		w->transport = "rdma";
		w->library.protocol = CHOOSE_LL + (i < PROTOCOL_COUNT ? i : PROTOCOL_SIMPLE);
		w->library.channels_count = i < 3 ? 1 : 4;
		w->library.buffer_B = 1e6;
		w->library.channel_ll_net_Bps = w->library.channel_ll_Bps =
			w->library.channel_ll128_Bps = 1e15;
		for (size_t m = 0; m < 2; m++) {
			size_t host = comm_host(w);
			const char *nic = arena_printf(w->arena, "nic%zu", m);
			comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]), nic, 1e15, 0);
			comm_link(w, "pcie", host_name(w->hosts[host]), nic, 1e15, 0);
			comm_link(w, "infiniband", nic, "switch", 1e15, 5e-6);
		}
		comm_all(w, comm_make(w, "job"), COLLECTIVE_ALL_REDUCE, 2 * CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR(s_from_ps(w->done_ps[0]), 2 * (CHUNK_B / buffers_B[i] * 20e-6 + 10e-6),
			   1e-6);
		arena_free(w->arena);
	}
}

/* A tree reaches half of the links' or of the blocks' bandwidth, so up and down a message of 32 KiB
 * takes 4 times its own time. The ring of an all-gather, whose messages are equally long, is not
 * slowed by that. */
static void equal_messages_of_another_algorithm_have_its_rate(void)
{
	for (int by_block = 0; by_block < 2; by_block++) {
		struct comm_world *w = comm_world_new();
		const double message_B = 32768;
		w->library.algorithm = "binary_tree";
		w->library.slice_B = message_B;
		w->library.tree_split_ratio = 1;
		if (by_block)
			w->library.channel_tree_Bps = RATE_BPS / 2;
		else
			w->library.tree_ratio = 0.5;
		comm_star(w, 2, RATE_BPS, 0);
		struct communicator *comm = comm_make(w, "job");
		comm_all(w, comm, COLLECTIVE_ALL_REDUCE, message_B, 0);
		comm_all(w, comm, COLLECTIVE_ALL_GATHER, 2 * message_B, 1);
		comm_run(w);
		CHECK_NEAR(s_from_ps(w->done_ps[0]) * RATE_BPS / message_B, 4, 1e-6);
		CHECK_NEAR(s_from_ps(w->done_ps[1]) * RATE_BPS / message_B, 5, 1e-6);
		arena_free(w->arena);
	}
}

/* Two machines at the ends of a trunk of four cables, which have the bandwidth of a port together,
 * or with `wide` ports and cables four times as much. */
static struct comm_world *trunk_world(enum cable_choice choice, double wide)
{
	struct comm_world *w = comm_world_new();
	struct link_traits trunk = {.capacity_Bps = {wide * RATE_BPS, wide * RATE_BPS},
				    .cable_count = 4,
				    .cable_choice = choice};
	w->transport = "rdma";
	w->library.algorithm = "binomial_broadcast";
	int leaves[] = {fabric_node_add(w->fabric, "leaf0"), fabric_node_add(w->fabric, "leaf1")};
	fabric_link_add(w->fabric, "trunk", link_kind_find("roce"), leaves[0], leaves[1], &trunk);
	for (size_t m = 0; m < 2; m++) {
		size_t host = comm_host(w);
		const char *nic = arena_printf(w->arena, "nic%zu", m);
		comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]),
			  host_name(w->hosts[host]), 1e15, 0);
		comm_link(w, "pcie", host_name(w->hosts[host]), nic, 1e15, 0);
		comm_link(w, "roce", nic, m ? "leaf1" : "leaf0", wide * RATE_BPS, 0);
	}
	return w;
}

/* Two NCCL channels with two queue pairs each send the parts of a message over four cables. One
 * channel uses two of them, and takes twice as long. */
static void each_channel_has_queue_pairs_of_its_own(void)
{
	for (int channels = 1; channels <= 2; channels++) {
		struct comm_world *w = trunk_world(CABLES_ADAPTIVE, 1);
		w->library.queue_pairs_count = 2;
		w->library.channels_count = channels;
		comm_all(w, comm_make(w, "job"), COLLECTIVE_BROADCAST, CHUNK_B, 0);
		comm_run(w);
		CHECK_NEAR(s_from_ps(w->done_ps[0]) / CHUNK_S, 2.0 / channels, 1e-6);
		arena_free(w->arena);
	}
}

/* The cable of a group's message follows from the group's name. So of 40 pairs of groups on the
 * same two ranks, about 30 use different cables, and take half as long as the others. */
static void groups_of_the_same_ranks_use_different_cables(void)
{
	size_t apart = 0;
	for (int i = 0; i < 40; i++) {
		struct comm_world *w = trunk_world(CABLES_ECMP, 4);
		comm_all(w, comm_make(w, "a"), COLLECTIVE_BROADCAST, CHUNK_B, 0);
		comm_all(w, comm_make(w, arena_printf(w->arena, "b%d", i)), COLLECTIVE_BROADCAST,
			 CHUNK_B, 1);
		comm_run(w);
		bool alone = w->done_ps[0] < ps_from_s(1.5 * CHUNK_S);
		CHECK_NEAR(s_from_ps(w->done_ps[0]) / CHUNK_S, alone ? 1 : 2, 1e-6);
		apart += alone;
		arena_free(w->arena);
	}
	CHECK(apart >= 20 && apart < 40);
}

/* Two machines with a GPU each, and two servers, the second with a fourth of the bandwidth. A
 * tensor of at least shard_least is divided over both: each gets a chunk from each machine, and the
 * slow one takes 2 x 4 chunk times for them and as long for its answers. A smaller tensor of a
 * chunk is on one server: 2 + 2, or on the slow one 8 + 8. They take turns, and each tensor has its
 * own schedule, although all have one group. */
static void small_tensors_are_on_one_server_in_turn(void)
{
	static const struct {
		double size_chunks;
		size_t turn;
		double expected;
	} rows[] = {{2, 0, 16}, {1, 0, 4}, {1, 1, 16}, {1, 2, 4}, {1.5, 0, 6}, {2, 1, 16}};
	struct comm_world *w = comm_world_new();
	w->transport = "rdma";
	w->library.algorithm = "two_level_server";
	w->library.shard_least_B = 2 * CHUNK_B;
	w->library.cpu_reduce_Bps = w->host_params.copy_rate_Bps = 1e16;
	w->host_params.dram_bandwidth_Bps = 1e18;
	for (size_t i = 0; i < 4; i++) {
		size_t host = comm_host(w);
		comm_link(w, "roce", host_name(w->hosts[host]), "switch",
			  i < 2    ? 1e15
			  : i == 2 ? RATE_BPS
				   : RATE_BPS / 4,
			  0);
		if (i < 2)
			comm_link(w, "pcie", gpu_name(w->gpus[comm_gpu(w, host)]),
				  host_name(w->hosts[host]), 1e15, 0);
		else
			comm_server(w, host);
	}
	for (size_t i = 0; i < 2; i++)
		w->ranks[4 + w->machine_count++] = (struct comm_rank){.guest = w->guests[i]};
	struct communicator *comm = comm_make(w, "job");
	for (uint64_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct collective_request request = {
			.collective = COLLECTIVE_ALL_REDUCE,
			.size_B = rows[i].size_chunks * CHUNK_B,
			.turn = rows[i].turn,
			.done = comm_done,
			.ctx = w,
			.arg = i,
		};
		double start_s = s_from_ps(engine_now_ps(w->engine));
		uint64_t number = communicator_begin(comm, &request);
		for (size_t r = 0; r < 2; r++)
			communicator_arrive(comm, number, r);
		comm_run(w);
		CHECK_NEAR((s_from_ps(w->done_ps[i]) - start_s) / CHUNK_S, rows[i].expected, 1e-3);
	}
	arena_free(w->arena);
}

static const struct test tests[] = {
	TEST(buffers_in_host_memory_are_at_the_receiver),
	TEST(copies_between_gpus_depend_on_their_level),
	TEST(one_virtual_machine_redirects_messages),
	TEST(messages_pass_through_the_gpu_with_the_fastest_links),
	TEST(slower_link_counts_on_the_way_through_a_gpu),
	TEST(static_routes_take_the_ports_of_receivers),
	TEST(each_guest_uses_its_own_sockets),
	TEST(root_of_a_broadcast_stores_nothing),
	TEST(oldest_gpu_sets_the_constants),
	TEST(buffers_bound_the_bytes_of_a_round_trip),
	TEST(equal_messages_of_another_algorithm_have_its_rate),
	TEST(each_channel_has_queue_pairs_of_its_own),
	TEST(groups_of_the_same_ranks_use_different_cables),
	TEST(small_tensors_are_on_one_server_in_turn),
};

int main(void)
{
	return TEST_MAIN(tests);
}
