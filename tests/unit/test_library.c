/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The choices of the library's model, by NCCL's constants. */
#include "sim/base/arena.h"
#include "sim/collective/library.h"
#include "tests/test.h"

/* Eight A100s behind NVSwitch, and two such machines with eight adapters of 25 GB/s. */
static const struct comm_shape one_node = {.rank_count = 8,
					   .node_count = 1,
					   .rank_most = 8,
					   .inside = HOP_NVLINK,
					   .inside_Bps = 282e9,
					   .ring_count = 1};

static struct comm_shape nodes(size_t node_count)
{
	struct comm_shape shape = one_node;
	shape.rank_count = 8 * node_count;
	shape.node_count = node_count;
	shape.network_Bps = 198e9;
	shape.ring_count = 8;
	return shape;
}

static const struct comm_shape pcie = {.rank_count = 8,
				       .node_count = 1,
				       .rank_most = 8,
				       .inside = HOP_PCI,
				       .inside_Bps = 14e9,
				       .ring_count = 1};

/* The defaults of the rows. */
static struct library_params defaults(void)
{
	struct arena *arena = arena_new();
	struct library_params library = {.algorithm = "auto"};
	for (size_t i = 0; i < library_table.count; i++) {
		const struct param_row *row = &library_table.rows[i];
		char *field = (char *)&library + row->offset;
		if (row->kind == PARAM_KIND_NUMBER)
			CHECK(!quantity_parse(arena, row->quantity, row->preset, (double *)field));
		else if (row->kind == PARAM_KIND_BOOL)
			*(bool *)field = strcmp(row->preset, "true") == 0;
	}
	arena_free(arena);
	return library;
}

static struct collective_choice all_reduce(const struct library_params *library,
					   const struct comm_shape *shape, double size_B)
{
	return library_choose(library, shape, COLLECTIVE_ALL_REDUCE, size_B);
}

static void protocols_by_size(void)
{
	struct library_params library = defaults();
	CHECK(all_reduce(&library, &one_node, 1024).protocol == PROTOCOL_LL);
	CHECK(all_reduce(&library, &one_node, 4e6).protocol == PROTOCOL_LL128);
	CHECK(all_reduce(&library, &one_node, 1e9).protocol == PROTOCOL_SIMPLE);
	CHECK_TEXT(all_reduce(&library, &one_node, 1e9).algorithm->name, "ring");
}

/* Ring, LL, 8 B over eight ranks: 6.6 + 14 * 0.6 us and 14 B by the one channel's 3.5
 * GB/s; the tree's base is 0.2 us longer. 24 channels are set up, a small message uses one. */
static void a_small_message_by_hand(void)
{
	struct library_params library = defaults();
	struct collective_choice choice = all_reduce(&library, &one_node, 8);
	CHECK_TEXT(choice.algorithm->name, "ring");
	CHECK_NEAR(choice.predicted_s, 15.004e-6, 1e-9);
	CHECK_NEAR(choice.start_s, 6.6e-6, 1e-12);
	CHECK(choice.hop_s[HOP_NVLINK] <= 0);            /* all of it is the wire's */
	CHECK_NEAR(choice.hop_s[HOP_NET], 1.2e-6, 1e-9); /* 2.7 us less the wire's 1.5 */
	CHECK(choice.block_count == 1 && choice.channel_count == 1);
	/* 1 MiB and LL: 4 KiB a rank for each channel, so 2^20 / 2^15 = 32 > 24. */
	library.protocol = CHOOSE_LL;
	CHECK(all_reduce(&library, &one_node, 1048576).block_count == 24);
	CHECK(all_reduce(&library, &one_node, 524288).block_count == 16);
	library.protocol = CHOOSE_SIMPLE;
	CHECK(all_reduce(&library, &one_node, 524288).block_count == 16);
	library.protocol = CHOOSE_LL128;
	CHECK(all_reduce(&library, &one_node, 51200).block_count == 10);
}

/* Simple, 1 GB: 8.4 + 14 * 3.4 us + 1e9 * 14/8 / (282e9 * 0.85). */
static void a_large_message_by_hand(void)
{
	struct library_params library = defaults();
	struct collective_choice choice = all_reduce(&library, &one_node, 1e9);
	CHECK_NEAR(choice.predicted_s, 56.0e-6 + 1.75e9 / (282e9 * 0.85), 1e-9);
	CHECK_NEAR(choice.goodput_ratio[HOP_NVLINK], 0.85, 1e-12);
	CHECK_NEAR(choice.goodput_ratio[HOP_NET], 0.97, 1e-12);
	/* One channel, driven by 24 blocks of 12 GB/s. */
	CHECK(choice.channel_count == 1 && choice.block_count == 24);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NVLINK], 24 * 12e9, 1e-9);
}

/* A ring's latency grows with the ranks, a tree's with the logarithm of the nodes. */
static void trees_for_many_nodes(void)
{
	struct library_params library = defaults();
	struct comm_shape many = nodes(64);
	CHECK_TEXT(all_reduce(&library, &many, 1e6).algorithm->name, "double_tree");
	CHECK_TEXT(all_reduce(&library, &many, 32e6).algorithm->name, "double_tree");
	CHECK_TEXT(all_reduce(&library, &many, 8e9).algorithm->name, "ring");
	struct comm_shape two = nodes(2);
	CHECK_TEXT(all_reduce(&library, &two, 1e9).algorithm->name, "ring");
	/* Two nodes with eight adapters: 198 / 25 GB/s, eight pairs; a channel for each ring. */
	CHECK(all_reduce(&library, &two, 1e9).block_count == 16);
	CHECK(all_reduce(&library, &two, 1e9).channel_count == 8);
}

static void ll128_needs_nvlink(void)
{
	struct library_params library = defaults();
	bool seen = false;
	for (double size_B = 8; size_B < 1e10; size_B *= 2) {
		CHECK(all_reduce(&library, &pcie, size_B).protocol != PROTOCOL_LL128);
		seen |= all_reduce(&library, &one_node, size_B).protocol == PROTOCOL_LL128;
	}
	CHECK(seen);
	library.ll128 = false;
	for (double size_B = 8; size_B < 1e10; size_B *= 2)
		CHECK(all_reduce(&library, &one_node, size_B).protocol != PROTOCOL_LL128);
}

/* The guess of the best never falls as messages grow, but for the steps of the table
 * by which NCCL corrects trees. */
static void guesses_grow_with_size(void)
{
	struct library_params library = defaults();
	library.algorithm = "ring";
	const struct comm_shape shapes[] = {one_node, pcie, nodes(2), nodes(64)};
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		double before_s = 0;
		for (double size_B = 8; size_B < 1e10; size_B *= 1.5) {
			struct collective_choice choice = all_reduce(&library, &shapes[s], size_B);
			CHECK(choice.predicted_s >= before_s);
			CHECK(choice.channel_count >= 1);
			CHECK(choice.channel_count <= choice.block_count);
			before_s = choice.predicted_s;
		}
	}
}

static void what_is_fixed_is_honoured(void)
{
	struct library_params library = defaults();
	library.algorithm = "hierarchical";
	library.protocol = CHOOSE_SIMPLE;
	library.channels_count = 3;
	struct comm_shape two = nodes(2);
	struct collective_choice choice = all_reduce(&library, &two, 100);
	CHECK_TEXT(choice.algorithm->name, "hierarchical");
	CHECK(choice.protocol == PROTOCOL_SIMPLE);
	CHECK(choice.block_count == 3 && choice.channel_count == 3);
	/* Another collective has its own. */
	CHECK(library_choose(&library, &two, COLLECTIVE_ALL_GATHER, 1e6).algorithm->collective ==
	      COLLECTIVE_ALL_GATHER);
}

/* Two nodes of eight A100, 16 channels: 15 messages at once, one block each, of 12 GB/s;
 * up to 16 KiB each with LL inside, and the network with Simple. 8 messages to the other
 * node are posted in 1 us each. On one node of eight two blocks serve each message; two
 * channels have seven messages at once and share their rate among them. */
static void messages_are_posted_at_once(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2), few = pcie;
	struct collective_choice choice =
		library_choose(&library, &two, COLLECTIVE_ALL_TO_ALL, 16 * 16384);
	CHECK(choice.protocol == PROTOCOL_LL && choice.channel_count == 15);
	CHECK_NEAR(choice.start_s, 6.6e-6 + 8e-6, 1e-9);
	CHECK_NEAR(choice.hop_s[HOP_PCI], 0.4e-6, 1e-9); /* 1.0 us less the wire's 0.6 */
	CHECK_NEAR(choice.hop_s[HOP_NET], 12.5e-6, 1e-9);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NVLINK], 3.5e9, 1e-9);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NET], 12e9, 1e-9);
	CHECK_NEAR(choice.goodput_ratio[HOP_NVLINK], 0.85 / 2, 1e-9);
	choice = library_choose(&library, &two, COLLECTIVE_ALL_TO_ALL, 16 * 16385);
	CHECK(choice.protocol == PROTOCOL_SIMPLE && choice.block_count == 15);
	CHECK_NEAR(choice.start_s, 8.4e-6 + 8e-6, 1e-9);
	choice = library_choose(&library, &one_node, COLLECTIVE_ALL_TO_ALL, 1e9);
	CHECK(choice.channel_count == 7 && choice.block_count == 28);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NVLINK], 4 * 12e9, 1e-9);
	few.inside_Bps = 14e9;
	choice = library_choose(&library, &few, COLLECTIVE_ALL_TO_ALL, 1e9);
	CHECK(choice.channel_count == 7 && choice.block_count == 2);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_PCI], 24e9 / 7, 1e-9);
	library.protocol = CHOOSE_SIMPLE;
	CHECK(library_choose(&library, &two, COLLECTIVE_ALL_TO_ALL, 8).protocol == PROTOCOL_SIMPLE);
}

/* A chain hands on slices of 512 KiB, however many; a tree over sockets has LL's steps
 * for pieces, of which 64 at most, and one over RDMA has its words. */
static void pieces_of_chains_and_trees(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2);
	struct collective_choice choice =
		library_choose(&library, &two, COLLECTIVE_BROADCAST, 4294967296);
	CHECK(choice.protocol == PROTOCOL_SIMPLE && choice.block_count == 16);
	CHECK(choice.pipeline_count == 512);
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_LL;
	choice = all_reduce(&library, &two, 1048576);
	CHECK(choice.block_count == 16 && choice.pipeline_count == 1024);
	two.socket = true;
	CHECK(all_reduce(&library, &two, 1048576).pipeline_count == 2);
	CHECK(all_reduce(&library, &two, 1073741824).pipeline_count == 64);
}

/* The fitted numbers act on what is run, not on what is chosen. */
static void a_system_may_be_slower_than_the_model(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2);
	struct collective_choice before = all_reduce(&library, &two, 1024);
	library.latency_scale_ratio = 1.4;
	library.start_s = 3e-6;
	library.channel_start_s = 1e-6;
	struct collective_choice after = all_reduce(&library, &two, 1024);
	CHECK(after.algorithm == before.algorithm && after.protocol == before.protocol);
	CHECK_NEAR(after.predicted_s, before.predicted_s, 1e-12);
	CHECK_NEAR(after.start_s, 1.4 * before.start_s + 3e-6 + 1e-6 * (double)after.block_count,
		   1e-9);
	CHECK_NEAR(after.hop_s[HOP_NET] + 1.5e-6, 1.4 * (before.hop_s[HOP_NET] + 1.5e-6), 1e-9);
	/* LL inside one of several nodes: 1.8 * 0.6 us by the model, twice that here. */
	library = defaults();
	CHECK(after.protocol == PROTOCOL_LL);
	CHECK_NEAR(before.hop_s[HOP_NVLINK], 0.08e-6, 1e-9);
	library.ll_nodes_scale_ratio = 2;
	after = all_reduce(&library, &two, 1024);
	CHECK_NEAR(after.hop_s[HOP_NVLINK], 1.16e-6, 1e-9);
	CHECK_NEAR(after.hop_s[HOP_NET], before.hop_s[HOP_NET], 1e-9);
	CHECK_NEAR(after.predicted_s, before.predicted_s, 1e-12);
}

/* Two nodes, 256 MB, a ring with LL128: 14 us, 26 hops of 1.9 inside, 4 of 4 across, and
 * 30/16 of the bytes at 16 blocks of 10 GB/s, since 0.92 of 198 GB/s x 0.97 are more. With
 * Simple, 1.4 times (8.4 us, 26 hops of 3.4 and 4 of 14), at what the adapters carry.
 * Release 2.8 counts two steps fewer across. */
static void across_nodes_by_hand(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2);
	const double part_B = 256e6 * 30 / 16;
	library.algorithm = "ring";
	library.protocol = CHOOSE_LL128;
	CHECK_NEAR(all_reduce(&library, &two, 256e6).predicted_s, 79.4e-6 + part_B / 160e9, 1e-9);
	library.net_steps_more_count = 0;
	CHECK_NEAR(all_reduce(&library, &two, 256e6).predicted_s, 75.2e-6 + part_B / 160e9, 1e-9);
	library.net_overhead_s = 2e-6; /* AMD: each of the 28 steps inside takes 0.1 us more */
	CHECK_NEAR(all_reduce(&library, &two, 256e6).predicted_s, 78e-6 + part_B / 160e9, 1e-9);
	library = defaults();
	library.algorithm = "ring";
	library.protocol = CHOOSE_SIMPLE;
	CHECK_NEAR(all_reduce(&library, &two, 256e6).predicted_s,
		   1.4 * 152.8e-6 + part_B / (198e9 * 0.97), 1e-9);
}

/* In a tree inside one node LL128 reaches 7/9 of what trees do: 2 S over 282 GB/s x 0.85
 * x 0.92 x 0.778, the table's 0.9 at 64 MiB. */
static void ll128_in_a_tree_by_hand(void)
{
	struct library_params library = defaults();
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_LL128;
	struct collective_choice choice = all_reduce(&library, &one_node, 67108864);
	double bus_Bps = 282e9 * 0.85 * 0.92 * 0.778;
	CHECK_NEAR(choice.predicted_s, 31.5e-6 + 2 * 67108864 / (0.9 * bus_Bps), 1e-9);
	/* 8 MiB: 0.9, and 0.7 in release 2.8. */
	CHECK_NEAR(all_reduce(&library, &one_node, 8388608).predicted_s,
		   31.5e-6 + 2 * 8388608 / (0.9 * bus_Bps), 1e-9);
	library.tree_correction = TREE_CORRECTION_2_8;
	CHECK_NEAR(all_reduce(&library, &one_node, 8388608).predicted_s,
		   31.5e-6 + 2 * 8388608 / (0.7 * bus_Bps), 1e-9);
}

/* Each block adds 2 us at the start. A call's time grows with its size by 2 (n - 1) / n over
 * the bus of an all-reduce, by 1 over that of a broadcast. */
static void starts_and_slopes(void)
{
	struct library_params library = defaults();
	library.protocol = CHOOSE_SIMPLE;
	library.channel_start_s = 2e-6;
	struct collective_choice small = all_reduce(&library, &one_node, 8),
				 large = all_reduce(&library, &one_node, 1e9);
	CHECK(small.block_count == 1 && large.block_count > 8);
	CHECK_NEAR(large.start_s - small.start_s, 2e-6 * (double)(large.block_count - 1), 1e-9);
	library.algorithm = "ring";
	double sum_s = all_reduce(&library, &one_node, 2e9).predicted_s -
		       all_reduce(&library, &one_node, 1e9).predicted_s;
	double send_s = library_choose(&library, &one_node, COLLECTIVE_BROADCAST, 2e9).predicted_s -
			library_choose(&library, &one_node, COLLECTIVE_BROADCAST, 1e9).predicted_s;
	CHECK_NEAR(sum_s / send_s, 2.0 * 7 / 8, 1e-6);
}

static const struct test tests[] = {
	TEST(protocols_by_size),           TEST(a_small_message_by_hand),
	TEST(a_large_message_by_hand),     TEST(trees_for_many_nodes),
	TEST(ll128_needs_nvlink),          TEST(guesses_grow_with_size),
	TEST(what_is_fixed_is_honoured),   TEST(a_system_may_be_slower_than_the_model),
	TEST(across_nodes_by_hand),        TEST(ll128_in_a_tree_by_hand),
	TEST(messages_are_posted_at_once), TEST(pieces_of_chains_and_trees),
	TEST(starts_and_slopes),
};

int main(void)
{
	return TEST_MAIN(tests);
}
