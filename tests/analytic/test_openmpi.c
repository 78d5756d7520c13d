/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks in host memory that exchange messages over TCP as Open MPI does. Every cost is zero except
 * the links of 100 MB/s, so that 1 MB takes 10 ms. The latency of 1 us is small beside it. */
#include "sim/transport/transport.h"
#include "tests/comm_world.h"

static const double MB = 1e6, MB_S = 0.01;

struct start {
	struct comm_world *world;
	enum collective collective;
	double size_B;
};

static void begin(void *ctx, uint64_t arg)
{
	const struct start *start = ctx;
	comm_opened(start->world, 0);
	comm_all(start->world, start->world->comm, start->collective, start->size_B, 0);
}

static struct comm_world *hosts(size_t count)
{
	struct comm_world *w = comm_world_new();
	const struct link_traits traits = {.capacity_Bps = {100e6, 100e6}, .latency_s = 0.5e-6};
	w->transport = "tcp";
	net_presets(w->arena, transport_kind_find("tcp")->table, w->transport_params);
	fabric_node_add(w->fabric, "switch");
	for (size_t i = 0; i < count; i++) {
		size_t host = comm_host(w);
		w->ranks[w->rank_count++] = (struct comm_rank){.guest = w->guests[host]};
		fabric_link_add(w->fabric, arena_printf(w->arena, "port %zu", i),
				link_kind_find("ethernet"), guest_node(w->guests[host]),
				fabric_node_find(w->fabric, "switch"), &traits);
	}
	w->library.rules = RULES_OPENMPI;
	w->library.algorithm = "auto";
	w->library.channels_count = 0;
	w->library.host_memory = true;
	w->library.eager_B = 65536;
	w->library.ring_search = false;
	w->library.cpu_reduce_Bps = 1e15;
	return w;
}

static double run_s(struct comm_world *w, enum collective collective, double size_B)
{
	w->comm = comm_make(w, "job");
	struct start start = {w, collective, size_B};
	communicator_open(w->comm, begin, &start, 0);
	comm_run(w);
	CHECK(!w->reason && w->done_ps[0] > 0);
	return s_from_ps(w->done_ps[0]) - w->opened_s;
}

/* Each rank sends 10 MB to the other. The consent to the second message is behind the data of the
 * first, so both together take 2 x 100 ms. */
static void large_messages_of_a_pair_take_turns(void)
{
	struct comm_world *w = hosts(2);
	CHECK_NEAR(run_s(w, COLLECTIVE_ALL_TO_ALL, 20 * MB), 20 * MB_S, 2e-3);
	arena_free(w->arena);
}

static void messages_without_consent_use_both_directions(void)
{
	struct comm_world *w = hosts(2);
	w->library.eager_B = 0;
	CHECK_NEAR(run_s(w, COLLECTIVE_ALL_TO_ALL, 20 * MB), 10 * MB_S, 2e-3);
	arena_free(w->arena);
	/* 60 kB are less than eager. */
	w = hosts(2);
	double seconds = run_s(w, COLLECTIVE_ALL_TO_ALL, 0.12 * MB);
	CHECK(seconds >= 0.06 * MB_S && seconds < 0.07 * MB_S);
	arena_free(w->arena);
	/* and 65,536 B are not more than eager */
	w = hosts(2);
	seconds = run_s(w, COLLECTIVE_ALL_TO_ALL, 2 * 65536);
	CHECK(seconds >= 0.065536 * MB_S && seconds < 0.08 * MB_S);
	arena_free(w->arena);
}

/* The neighbours of a ring of four differ, so messages do not meet on a connection. Without a queue
 * in the adapter each of the 6 messages of 1 MB takes 10 ms. */
static void rings_keep_their_bandwidth_without_a_queue(void)
{
	struct comm_world *w = hosts(4);
	w->library.algorithm = "ring";
	w->library.queued_B = 0;
	w->library.stagger_s = 20e-6;
	CHECK_NEAR(run_s(w, COLLECTIVE_ALL_REDUCE, 4 * MB), 6 * MB_S, 5e-3);
	arena_free(w->arena);
}

/* Rank 2 asks rank 0 when that sends to rank 1. The consent waits for at most 0.1 MB in the queue
 * of the adapter, 1 ms. This happens at least once, and at most with each of the 2 messages of a
 * rank. */
static void consent_waits_in_the_queue_of_the_adapter(void)
{
	struct comm_world *w = hosts(3);
	w->library.algorithm = "all_gather";
	w->library.queued_B = 0.1 * MB;
	w->library.stagger_s = 20e-6;
	double seconds = run_s(w, COLLECTIVE_ALL_GATHER, 3 * MB);
	CHECK(seconds > 2 * MB_S + 0.1 * MB_S && seconds < 2 * MB_S + 2 * 0.1 * MB_S + 1e-3);
	arena_free(w->arena);
}

/* Rank i starts 2 i ms late, each message of 1 MB takes 10 ms, and the queue has no limit. From 0
 * to 10 ms rank 0 sends to rank 1, and from 2 ms on rank 1 sends to rank 2, two messages in a row
 * until 22 ms. Rank 2 asks rank 0 at 4 ms. The rest of the data of rank 0 needs another 6 ms, so
 * rank 2 sends from 10 to 30 ms. Rank 0 has the first of these two messages at 20 ms and asks rank
 * 1, whose data needs another 2 ms. So the last message takes from 22 to 32 ms. */
static void consent_waits_only_for_data_that_has_not_left(void)
{
	struct comm_world *w = hosts(3);
	w->library.algorithm = "all_gather";
	w->library.queued_B = 100 * MB;
	w->library.stagger_s = 2e-3;
	CHECK_NEAR(run_s(w, COLLECTIVE_ALL_GATHER, 3 * MB), 32e-3, 1e-3);
	arena_free(w->arena);
}

static void begin_gather(void *ctx, uint64_t arg)
{
	struct comm_world *w = ctx;
	w->library.algorithm = "all_gather";
	comm_all(w, w->comm, COLLECTIVE_ALL_GATHER, 4 * MB, 1);
}

/* Adds the megabytes delivered so far to the log of the world. */
static void note_delivered(void *ctx, uint64_t arg)
{
	struct comm_world *w = ctx;
	w->rank_done_ps[2][arg] = (int64_t)round(communicator_counters(w->comm)->delivered_B / MB);
}

/* A broadcast of 10 MB begins at 0. Rank 0 sends to ranks 1 and 2 at 50 MB/s each, until 200 ms. At
 * 60 ms an all-gather of 1 MB from each of four ranks begins. Rank 3 asks rank 0, which has 7 MB
 * left for each of two ranks, so its consent comes at 200 ms. Until then rank 2 sends to rank 3 (70
 * ms), rank 1 at 50 MB/s to rank 2 (80 ms), and rank 2 this to rank 3 (90 ms). At 200 ms both
 * messages of 10 MB have arrived. Ranks 3 and 0 send their 1 MB in 10 ms. */
static void consent_waits_for_all_connections_of_the_adapter(void)
{
	struct comm_world *w = hosts(4);
	w->library.queued_B = 100 * MB;
	w->library.at_once_count = 2;
	w->library.algorithm = "binomial_broadcast";
	w->comm = comm_make(w, "job");
	struct start start = {w, COLLECTIVE_BROADCAST, 10 * MB};
	communicator_open(w->comm, begin, &start, 0);
	static const double at_ms[] = {75, 85, 195, 205, 214}, expected_MB[] = {1, 2, 3, 23, 25};
	engine_at(w->engine, ps_from_s(60e-3), begin_gather, w, 0);
	for (uint64_t i = 0; i < 5; i++)
		engine_at(w->engine, ps_from_s(at_ms[i] * 1e-3), note_delivered, w, i);
	comm_run(w);
	for (uint64_t i = 0; i < 5; i++)
		CHECK((double)w->rank_done_ps[2][i] == expected_MB[i]);
	arena_free(w->arena);
}

/* The root's adapter sends the buffer to two children at the same time, so both have it after two
 * buffer times. The grandchild has it one later. */
static void binomial_broadcast_shares_the_adapter_of_the_root(void)
{
	struct comm_world *w = hosts(4);
	w->library.algorithm = "binomial_broadcast";
	CHECK_NEAR(run_s(w, COLLECTIVE_BROADCAST, 10 * MB), 30 * MB_S, 2e-3);
	arena_free(w->arena);
}

/* A core adds the 1 MB of rank 0 in 5 ms before rank 1 has the sum; both directions take turns. */
static void ranks_in_host_memory_add_on_their_core(void)
{
	struct comm_world *w = hosts(2);
	w->library.algorithm = "recursive_doubling";
	w->library.cpu_reduce_threads_count = 1;
	w->library.cpu_reduce_Bps = 200e6;
	CHECK_NEAR(run_s(w, COLLECTIVE_ALL_REDUCE, MB), 2 * MB_S + 0.005, 1e-3);
	arena_free(w->arena);
}

/* Gloo sends one half of a part while it adds the other: 1 MB takes 10 ms on the wire and 5 ms on
 * the core, so the 4 steps of three ranks with parts of 2 MB take 20 ms each. A ring without
 * segments waits for its two additions of 10 ms. Copies at 1 GB/s take 6 ms each way. */
static void gloo_adds_one_half_while_it_sends_the_other(void)
{
	static const double copy_Bps[] = {0, 1e9, 0}, seconds[] = {0.08, 0.092, 0.1};
	for (size_t i = 0; i < 3; i++) {
		struct comm_world *w = hosts(3);
		w->library.rules = i < 2 ? RULES_GLOO : RULES_OPENMPI;
		w->library.algorithm = i < 2 ? "auto" : "ring";
		w->library.eager_B = 0;
		w->library.cpu_reduce_threads_count = 1;
		w->library.cpu_reduce_Bps = 200e6;
		w->library.host_copy_Bps = copy_Bps[i];
		CHECK_NEAR(run_s(w, COLLECTIVE_ALL_REDUCE, 6 * MB), seconds[i], 2e-3);
		arena_free(w->arena);
	}
}

/* PyTorch's reduce-scatter over Gloo is an all-reduce of the whole buffer, and 6 MB of three ranks
 * take 80 ms of either. An all-gather sends 2 parts of 2 MB in 40 ms, and copies 2 + 6 MB at 1
 * GB/s. */
static void gloo_reduces_the_whole_buffer_and_gathers_parts(void)
{
	static const double seconds[] = {0.08, 0.048};
	for (size_t i = 0; i < 2; i++) {
		struct comm_world *w = hosts(3);
		w->library.rules = RULES_GLOO;
		w->library.eager_B = 0;
		w->library.cpu_reduce_threads_count = 1;
		w->library.cpu_reduce_Bps = 200e6;
		w->library.host_copy_Bps = i > 0 ? 1e9 : 0;
		enum collective of = i > 0 ? COLLECTIVE_ALL_GATHER : COLLECTIVE_REDUCE_SCATTER;
		CHECK_NEAR(run_s(w, of, 6 * MB), seconds[i], 2e-3);
		arena_free(w->arena);
	}
}

/* Rows of coll_tuned_decision_fixed.c of Open MPI 4.1, read by hand. */
static void choices_are_those_of_coll_tuned(void)
{
	static const struct {
		enum collective collective;
		size_t ranks;
		double size_B;
		const char *algorithm;
		size_t channels;
	} rows[] = {
		{COLLECTIVE_ALL_REDUCE, 4, 4096, "recursive_doubling", 1},
		{COLLECTIVE_ALL_REDUCE, 4, 8192, "halving_doubling", 1},
		{COLLECTIVE_ALL_REDUCE, 3, 65536, "ring", 1},
		{COLLECTIVE_ALL_REDUCE, 2, 262144, "halving_doubling", 1},
		{COLLECTIVE_REDUCE_SCATTER, 8, 65536, "recursive_halving", 1},
		{COLLECTIVE_REDUCE_SCATTER, 6, 65536, "reduce_scatter", 1},
		{COLLECTIVE_REDUCE_SCATTER, 8, 262144, "reduce_scatter", 1},
		{COLLECTIVE_ALL_GATHER, 8, 1 << 20, "doubling_all_gather", 1},
		{COLLECTIVE_ALL_GATHER, 6, 1 << 20, "all_gather", 1},
		{COLLECTIVE_BROADCAST, 8, 1 << 20, "linear_broadcast", 1},
		{COLLECTIVE_BROADCAST, 8, 16384, "binomial_broadcast", 1},
		{COLLECTIVE_ALL_TO_ALL, 4, 4 * 65536, "all_to_all", 3},
		{COLLECTIVE_ALL_TO_ALL, 4, 4 * 524288, "all_to_all", 1},
		{COLLECTIVE_ALL_TO_ALL, 2, 2 * 524288, "all_to_all", 1},
	};
	struct comm_world *w = hosts(2);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct comm_shape shape = {.rank_count = rows[i].ranks,
						 .node_count = rows[i].ranks,
						 .rank_most = 1,
						 .ring_count = 1,
						 .socket = true};
		struct collective_choice choice =
			library_choose(&w->library, &shape, rows[i].collective, rows[i].size_B);
		CHECK_TEXT(choice.algorithm->name, rows[i].algorithm);
		CHECK(choice.channel_count == rows[i].channels);
	}
	/* library.channels limits the peers at a time, of which there are seven at most */
	const struct comm_shape eight = {
		.rank_count = 8, .node_count = 8, .rank_most = 1, .ring_count = 1, .socket = true};
	static const double given[] = {1, 3, 7, 20};
	for (size_t i = 0; i < 4; i++) {
		w->library.channels_count = given[i];
		CHECK(library_choose(&w->library, &eight, COLLECTIVE_ALL_TO_ALL, 8e6)
			      .channel_count == (size_t)fmin(7, given[i]));
	}
	arena_free(w->arena);
}

/* Gloo sends to all peers of an all-to-all together, whatever their number and the size, where Open
 * MPI's rules send to one after the other. */
static void gloo_exchanges_with_all_peers_together(void)
{
	static const size_t ranks[] = {2, 4, 6};
	struct comm_world *w = hosts(2);
	w->library.rules = RULES_GLOO;
	for (size_t i = 0; i < 3; i++) {
		size_t n = ranks[i];
		const struct comm_shape shape = {.rank_count = n,
						 .node_count = n,
						 .rank_most = 1,
						 .ring_count = 1,
						 .socket = true};
		struct collective_choice choice = library_choose(
			&w->library, &shape, COLLECTIVE_ALL_TO_ALL, (double)n * 524288);
		CHECK_TEXT(choice.algorithm->name, "all_to_all");
		CHECK(choice.channel_count == n - 1);
	}
	arena_free(w->arena);
}

/* Buffers of GPUs are copied to host memory and back: 2 x 10 MB at 1 GB/s. */
static void buffers_of_gpus_are_copied_there_and_back(void)
{
	struct comm_world *w = hosts(2);
	const struct comm_shape two = {
		.rank_count = 2, .node_count = 2, .rank_most = 1, .ring_count = 1, .socket = true};
	double start_s = library_choose(&w->library, &two, COLLECTIVE_ALL_REDUCE, 10e6).start_s;
	w->library.host_copy_Bps = 1e9;
	CHECK_NEAR(library_choose(&w->library, &two, COLLECTIVE_ALL_REDUCE, 10e6).start_s - start_s,
		   20e-3, 1e-12);
	arena_free(w->arena);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(large_messages_of_a_pair_take_turns),
		TEST(messages_without_consent_use_both_directions),
		TEST(rings_keep_their_bandwidth_without_a_queue),
		TEST(consent_waits_in_the_queue_of_the_adapter),
		TEST(consent_waits_only_for_data_that_has_not_left),
		TEST(consent_waits_for_all_connections_of_the_adapter),
		TEST(binomial_broadcast_shares_the_adapter_of_the_root),
		TEST(ranks_in_host_memory_add_on_their_core),
		TEST(gloo_adds_one_half_while_it_sends_the_other),
		TEST(gloo_reduces_the_whole_buffer_and_gathers_parts),
		TEST(gloo_exchanges_with_all_peers_together),
		TEST(choices_are_those_of_coll_tuned),
		TEST(buffers_of_gpus_are_copied_there_and_back),
	};
	return TEST_MAIN(tests);
}
