/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The communicator runs the schedule of each algorithm over links that share nothing. It takes the
 * ideal time of the algorithm, exact to the picosecond.
 *
 * Each pair of GPUs has its own link: NVLink inside a host, InfiniBand between hosts. The links are
 * much wider than one channel of the library. So the limit of a channel sets the bandwidth, also if
 * two trees use one link. At 10 MB/s a byte takes 100,000 ps, and all sizes divide into whole
 * bytes, so nothing is rounded. (With rounding, each message on the critical path may add up to one
 * picosecond.) */
#include "tests/comm_world.h"
#include "tests/ideal_times.h"

#define WIRE_BPS   10e6
#define LINK_BPS   1e12
#define LINK_S     2e-6
#define HOP_S      3e-6
#define SIZE_B     20160.0 /* 2^6 3^2 5 7; below 32 KiB, above which NCCL cuts smaller pieces */
#define REDUCE_BPS 80e6    /* of the CPU of a server */

struct cluster {
	size_t node_count, per_node, server_count, pieces;
	const char *algorithm; /* of the all-reduce */
	enum collective collective;
};

static void link_all(struct comm_world *w, const struct cluster *c)
{
	for (size_t a = 0; a < w->gpu_count; a++)
		for (size_t b = a + 1; b < w->gpu_count; b++)
			comm_link(w, a / c->per_node == b / c->per_node ? "nvlink" : "infiniband",
				  gpu_name(w->gpus[a]), gpu_name(w->gpus[b]), LINK_BPS, LINK_S);
}

/* Servers are additional GPUs, each on its own host. */
static struct comm_world *make(const struct cluster *c)
{
	struct comm_world *w = comm_world_new();
	struct library_params *library = &w->library;
	for (size_t node = 0; node < c->node_count; node++) {
		size_t host = comm_host(w);
		for (size_t i = 0; i < c->per_node; i++)
			comm_gpu(w, host);
	}
	for (size_t i = 0; i < c->server_count; i++)
		comm_gpu(w, comm_host(w));
	w->rank_count -= c->server_count;
	w->server_count = c->server_count;
	link_all(w, c);
	w->transport = "rdma";
	net_presets(w->arena, transport_kind_find("rdma")->table, w->transport_params);
	library->algorithm = c->algorithm ? c->algorithm : "ring";
	library->ring_search = false;
	library->plateau_ratio = 1;
	library->channel_bandwidth_Bps = library->channel_tree_Bps = WIRE_BPS;
	struct nccl_latencies *table = comm_world_latencies(library);
	for (size_t tree = 0; tree < 2; tree++)
		table->hop_s[tree][HOP_NVLINK][PROTOCOL_SIMPLE] =
			table->hop_s[tree][HOP_NET][PROTOCOL_SIMPLE] = HOP_S;
	library->slice_B = SIZE_B / (double)c->pieces;
	return w;
}

static int64_t ran_ps(struct comm_world *w, const struct cluster *c)
{
	struct communicator *comm = comm_make(w, "job");
	if (!CHECK(comm != NULL)) {
		printf("  %s\n", w->reason);
		return -1;
	}
	w->comm = comm;
	comm_all(w, comm, c->collective, SIZE_B, 0);
	comm_run(w);
	return w->done_ps[0];
}

/* Ideal time of the algorithm that the library chooses, with one channel. */
static int64_t ideal_ps(const struct comm_world *w, const struct cluster *c, double reduce_spB)
{
	const struct comm_shape shape = {
		.rank_count = w->rank_count,
		.node_count = c->node_count,
		.rank_most = c->per_node,
		.inside = c->per_node > 1 ? HOP_NVLINK : HOP_NET,
		.inside_Bps = c->per_node > 1 ? LINK_BPS : 0,
		.network_Bps = c->node_count > 1 ? LINK_BPS : 0,
		.ring_count = 1,
	};
	struct collective_choice choice =
		library_choose(&w->library, &shape, c->collective, SIZE_B);
	uint32_t node_of[COMM_RANKS_MAX];
	for (size_t i = 0; i < w->rank_count; i++)
		node_of[i] = (uint32_t)(i / c->per_node);
	const struct algorithm_spec spec = {
		.rank_count = w->rank_count,
		.size_B = SIZE_B,
		.channel_count = choice.channel_count,
		.pipeline_count = choice.pipeline_count,
		.server_count = w->server_count,
		.node_of = node_of,
		.node_count = c->node_count,
	};
	const struct ideal_link link = {HOP_S + LINK_S, 1 / choice.channel_cap_Bps[HOP_NVLINK],
					reduce_spB};
	/* to all other ranks at the same time, at most eight */
	if (c->collective == COLLECTIVE_ALL_TO_ALL)
		CHECK(choice.channel_count == (w->rank_count < 9 ? w->rank_count - 1 : 8));
	else
		CHECK(choice.channel_count == 1 && choice.pipeline_count == c->pieces);
	CHECK(!c->algorithm || strcmp(choice.algorithm->name, c->algorithm) == 0);
	return ps_from_s(ideal_s(choice.algorithm, &spec, &link));
}

static void exact(const struct cluster *c)
{
	struct comm_world *w = make(c);
	int64_t expected_ps = ideal_ps(w, c, 0), done_ps = ran_ps(w, c);
	CHECK(expected_ps > 0);
	if (!CHECK(done_ps == expected_ps))
		printf("  %s by %s, %zu x %zu, %zu pieces: %lld ps, ideally %lld\n",
		       collective_name(c->collective), c->algorithm ? c->algorithm : "default",
		       c->node_count, c->per_node, c->pieces, (long long)done_ps,
		       (long long)expected_ps);
	arena_free(w->arena);
}

static const size_t clusters[][2] = {{1, 2}, {1, 3}, {1, 4}, {1, 8}, {2, 1}, {4, 1},
				     {5, 1}, {2, 2}, {3, 2}, {2, 4}, {7, 1}, {4, 4}};
enum { CLUSTER_COUNT = sizeof clusters / sizeof clusters[0] };

static void all_reduce_by(const char *algorithm, const size_t *pieces, size_t pieces_count)
{
	for (size_t i = 0; i < CLUSTER_COUNT; i++)
		for (size_t p = 0; p < pieces_count; p++) {
			const struct cluster c = {
				.node_count = clusters[i][0],
				.per_node = clusters[i][1],
				.server_count = strcmp(algorithm, "parameter_server") ? 0 : 1 + p,
				.pieces = pieces[p],
				.algorithm = algorithm,
				.collective = COLLECTIVE_ALL_REDUCE,
			};
			exact(&c);
		}
}

static void ring_takes_its_ideal_time(void)
{
	all_reduce_by("ring", (const size_t[]){1}, 1);
}

static void halving_doubling_takes_its_ideal_time(void)
{
	all_reduce_by("halving_doubling", (const size_t[]){1}, 1);
}

static void trees_take_their_ideal_time(void)
{
	all_reduce_by("binary_tree", (const size_t[]){1, 2, 5}, 3);
	all_reduce_by("double_tree", (const size_t[]){1, 2, 5}, 3);
}

/* 4 * 128 messages for each of 64 pieces are too many, so two pieces travel as one train. */
static void trees_of_128_ranks_take_their_ideal_time(void)
{
	static const char *const algorithms[] = {"binary_tree", "double_tree"};
	static const size_t shapes[][2] = {{128, 1}, {32, 4}};
	for (size_t i = 0; i < 4; i++) {
		const struct cluster c = {.node_count = shapes[i / 2][0],
					  .per_node = shapes[i / 2][1],
					  .pieces = 64,
					  .algorithm = algorithms[i % 2],
					  .collective = COLLECTIVE_ALL_REDUCE};
		exact(&c);
	}
}

/* 4 * 512 messages for each of 64 pieces: eight trains, but two in a training. On links that share
 * nothing the times are equal, with a quarter of the messages. */
static void trees_of_a_training_have_fewer_messages_and_the_same_time(void)
{
	const struct cluster c = {.node_count = 128,
				  .per_node = 4,
				  .pieces = 64,
				  .algorithm = "double_tree",
				  .collective = COLLECTIVE_ALL_REDUCE};
	int64_t done_ps[2];
	uint64_t sends_count[2];
	for (size_t i = 0; i < 2; i++) {
		struct comm_world *w = make(&c);
		w->training = i == 1;
		done_ps[i] = ran_ps(w, &c);
		sends_count[i] = communicator_counters(w->comm)->sends_count;
		arena_free(w->arena);
	}
	CHECK(done_ps[0] > 0 && done_ps[1] == done_ps[0]);
	CHECK(sends_count[1] > 0 && sends_count[0] == 4 * sends_count[1]);
}

static void two_level_algorithms_take_their_ideal_time(void)
{
	all_reduce_by("hierarchical", (const size_t[]){1}, 1);
	all_reduce_by("multi_ring", (const size_t[]){1}, 1);
}

static void parameter_servers_take_their_ideal_time(void)
{
	all_reduce_by("parameter_server", (const size_t[]){1, 2, 4}, 3);
}

static void other_collectives_take_their_ideal_time(void)
{
	static const enum collective collectives[] = {
		COLLECTIVE_REDUCE_SCATTER,
		COLLECTIVE_ALL_GATHER,
		COLLECTIVE_BROADCAST,
		COLLECTIVE_ALL_TO_ALL,
	};
	for (size_t k = 0; k < 4; k++)
		for (size_t i = 0; i < CLUSTER_COUNT; i++)
			for (size_t pieces = 1; pieces < 4; pieces += 2) {
				const struct cluster c = {.node_count = clusters[i][0],
							  .per_node = clusters[i][1],
							  .pieces = pieces,
							  .collective = collectives[k]};
				exact(&c);
			}
}

/* There are 256 pieces, of which four travel as one train. */
static void broadcast_of_256_pieces_takes_its_ideal_time(void)
{
	static const size_t shapes[][2] = {{1, 8}, {16, 1}, {4, 4}};
	for (size_t i = 0; i < 3; i++) {
		const struct cluster c = {.node_count = shapes[i][0],
					  .per_node = shapes[i][1],
					  .pieces = 256,
					  .collective = COLLECTIVE_BROADCAST};
		exact(&c);
	}
}

/* Pieces of a multi-ring overlap: the time is at least the bound, and less than with one piece. */
static void multi_ring_pieces_overlap_within_the_bound(void)
{
	const struct cluster c = {.node_count = 4,
				  .per_node = 4,
				  .pieces = 3,
				  .algorithm = "multi_ring",
				  .collective = COLLECTIVE_ALL_REDUCE};
	struct cluster one = c;
	one.pieces = 1;
	struct comm_world *w = make(&c), *w_one = make(&one);
	int64_t bound_ps = ideal_ps(w, &c, 0), done_ps = ran_ps(w, &c);
	CHECK(done_ps >= bound_ps);
	CHECK(done_ps < ideal_ps(w_one, &one, 0));
	arena_free(w->arena);
	arena_free(w_one->arena);
}

/* Two rings connect the GPUs of one host by different links. Each carries half of the buffer at
 * half the bandwidth, so they take as long as one ring. Four blocks are twice as fast as two. */
static void parallel_rings_divide_the_buffer(void)
{
	static const double blocks[] = {2, 4};
	for (size_t i = 0; i < 2; i++) {
		const struct cluster c = {.node_count = 1,
					  .per_node = 8,
					  .pieces = 1,
					  .algorithm = "ring",
					  .collective = COLLECTIVE_ALL_REDUCE};
		struct comm_world *w = make(&c);
		w->library.ring_search = true;
		w->library.channels_count = blocks[i];
		double message_s = SIZE_B / 8 / WIRE_BPS / blocks[i];
		CHECK(ran_ps(w, &c) == ps_from_s(2 * 7 * (HOP_S + LINK_S + message_s)));
		arena_free(w->arena);
	}
}

/* A server in host memory adds the gradients that three workers push over PCIe. It stores the first
 * of the three and adds the two others. */
static void parameter_server_on_the_cpu_adds_its_sums(void)
{
	const struct cluster c = {.node_count = 1,
				  .per_node = 3,
				  .pieces = 1,
				  .algorithm = "parameter_server",
				  .collective = COLLECTIVE_ALL_REDUCE};
	struct comm_world *w = make(&c);
	for (size_t i = 0; i < 3; i++)
		comm_link(w, "pcie", gpu_name(w->gpus[i]), "h0", LINK_BPS, LINK_S);
	comm_world_latencies(&w->library)->hop_s[0][HOP_PCI][PROTOCOL_SIMPLE] = HOP_S;
	w->library.cpu_reduce_Bps = REDUCE_BPS;
	w->library.cpu_reduce_threads_count = 1;
	comm_server(w, 0);
	int64_t expected_ps = ideal_ps(w, &c, 1 / REDUCE_BPS);
	/* 2 (5 us + 2016 us) + 2 * 252 us */
	CHECK(expected_ps == 4546000000);
	CHECK(ran_ps(w, &c) == expected_ps);
	arena_free(w->arena);
}

/* Four machines on one switch. With additions in the network, an adapter carries the buffer once in
 * each direction: S / B and two hops, in place of a ring's 3/2 S / B and six hops. In machines of
 * two GPUs with an adapter each, direct heads have half of the buffer each. NVLink then carries
 * what belongs to the other's head, S/2, and back what other machines have added, 3/4 of it. In a
 * chain the second GPU sends S and gets 3/4 S at the end. */
static void switches_that_add_halve_the_traffic(void)
{
	static const struct {
		const char *algorithm;
		size_t per_node;
		bool adds;
		double hops, adapters_B, inside_B;
	} cases[] = {
		{"collnet_direct", 1, true, 2, SIZE_B, 0},
		{"collnet_chain", 1, true, 2, SIZE_B, 0},
		{"collnet_chain", 1, false, 6, 1.5 * SIZE_B, 0},
		{"collnet_direct", 2, true, 4, SIZE_B / 2, 0.875 * SIZE_B},
		{"collnet_chain", 2, true, 4, SIZE_B, 1.75 * SIZE_B},
	};
	for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
		const struct cluster c = {.node_count = 4,
					  .per_node = cases[k].per_node,
					  .pieces = 1,
					  .algorithm = cases[k].algorithm,
					  .collective = COLLECTIVE_ALL_REDUCE};
		struct comm_world *w = comm_world_new();
		const struct link_traits port = {.capacity_Bps = {WIRE_BPS, WIRE_BPS},
						 .latency_s = LINK_S / 2,
						 .adds = cases[k].adds};
		int network = fabric_node_add(w->fabric, "switch");
		for (size_t i = 0; i < 4 * c.per_node; i++) {
			size_t host = i % c.per_node ? w->host_count - 1 : comm_host(w);
			const char *gpu = gpu_name(w->gpus[comm_gpu(w, host)]);
			const char *nic = arena_printf(w->arena, "nic%zu", i);
			comm_link(w, "pcie", gpu, nic, LINK_BPS, 0);
			comm_link(w, "pcie", nic, arena_printf(w->arena, "h%zu", host), LINK_BPS,
				  0);
			fabric_link_add(w->fabric, nic, link_kind_find("infiniband"),
					fabric_node_find(w->fabric, nic), network, &port);
			if (i % c.per_node)
				comm_link(w, "nvlink", gpu_name(w->gpus[i - 1]), gpu,
					  100 * WIRE_BPS, LINK_S);
		}
		w->transport = "rdma";
		net_presets(w->arena, transport_kind_find("rdma")->table, w->transport_params);
		w->library.algorithm = c.algorithm;
		w->library.collnet = true;
		w->library.slice_B = SIZE_B;
		double seconds = cases[k].hops * LINK_S + cases[k].adapters_B / WIRE_BPS +
				 cases[k].inside_B / (100 * WIRE_BPS);
		CHECK_NEAR((double)ran_ps(w, &c), seconds * 1e12, 1e-9);
		arena_free(w->arena);
	}
}

int main(void)
{
	static const struct test tests[] = {
		TEST(ring_takes_its_ideal_time),
		TEST(halving_doubling_takes_its_ideal_time),
		TEST(trees_take_their_ideal_time),
		TEST(trees_of_128_ranks_take_their_ideal_time),
		TEST(trees_of_a_training_have_fewer_messages_and_the_same_time),
		TEST(two_level_algorithms_take_their_ideal_time),
		TEST(switches_that_add_halve_the_traffic),
		TEST(parameter_servers_take_their_ideal_time),
		TEST(other_collectives_take_their_ideal_time),
		TEST(broadcast_of_256_pieces_takes_its_ideal_time),
		TEST(multi_ring_pieces_overlap_within_the_bound),
		TEST(parallel_rings_divide_the_buffer),
		TEST(parameter_server_on_the_cpu_adds_its_sums),
	};
	return TEST_MAIN(tests);
}
