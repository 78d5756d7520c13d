/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choices of the collective library's cost model, with NCCL's constants. */
#include "tests/library_shapes.h"

static const struct comm_shape pcie = {.rank_count = 8,
				       .node_count = 1,
				       .rank_most = 8,
				       .inside = HOP_PCI,
				       .inside_Bps = 14e9,
				       .ring_count = 1};

static void protocol_follows_the_message_size(void)
{
	struct library_params library = defaults();
	CHECK(all_reduce(&library, &one_node, 1024).protocol == PROTOCOL_LL);
	CHECK(all_reduce(&library, &one_node, 4e6).protocol == PROTOCOL_LL128);
	CHECK(all_reduce(&library, &one_node, 1e9).protocol == PROTOCOL_SIMPLE);
	CHECK_TEXT(all_reduce(&library, &one_node, 1e9).algorithm->name, "ring");
}

/* Ring with LL, 8 B over eight ranks: 6.6 + 14 * 0.6 us plus 14 B at 3.5 GB/s of one channel. The
 * tree's base time is 0.2 us longer. 24 channels are set up, but a small message uses one. */
static void small_message_time_matches_hand_calculation(void)
{
	struct library_params library = defaults();
	struct collective_choice choice = all_reduce(&library, &one_node, 8);
	CHECK_TEXT(choice.algorithm->name, "ring");
	CHECK_NEAR(choice.predicted_s, 15.004e-6, 1e-9);
	CHECK_NEAR(choice.start_s, 6.6e-6, 1e-12);
	CHECK_NEAR(choice.hop_s[HOP_NVLINK], 0.1e-6, 1e-9); /* 0.6 us minus the wire's 0.5 */
	CHECK_NEAR(choice.hop_s[HOP_NET], 1.2e-6, 1e-9);    /* 2.7 us minus the wire's 1.5 */
	CHECK(choice.block_count == 1 && choice.channel_count == 1);
	/* 1 MiB with LL: 4 KiB per rank and channel, so 2^20 / 2^15 = 32 > 24. */
	library.protocol = CHOOSE_LL;
	CHECK(all_reduce(&library, &one_node, 1048576).block_count == 24);
	CHECK(all_reduce(&library, &one_node, 524288).block_count == 16);
	library.protocol = CHOOSE_SIMPLE;
	CHECK(all_reduce(&library, &one_node, 524288).block_count == 16);
	library.protocol = CHOOSE_LL128;
	CHECK(all_reduce(&library, &one_node, 51200).block_count == 10);
}

/* Simple, 1 GB: 8.4 + 14 * 3.4 us + 1e9 * 14/8 / (282e9 * 0.85). */
static void large_message_time_matches_hand_calculation(void)
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

/* The latency of a ring grows with the number of ranks, that of a tree with the logarithm of the
 * number of nodes. */
static void trees_are_chosen_for_many_nodes(void)
{
	struct library_params library = defaults();
	struct comm_shape many = nodes(64);
	CHECK_TEXT(all_reduce(&library, &many, 1e6).algorithm->name, "double_tree");
	CHECK_TEXT(all_reduce(&library, &many, 32e6).algorithm->name, "double_tree");
	CHECK_TEXT(all_reduce(&library, &many, 8e9).algorithm->name, "ring");
	struct comm_shape two = nodes(2);
	CHECK_TEXT(all_reduce(&library, &two, 1e9).algorithm->name, "ring");
	/* Two nodes with eight adapters have 198 / 25 GB/s, so eight pairs, with one channel for
	 * each ring. */
	CHECK(all_reduce(&library, &two, 1e9).block_count == 16);
	CHECK(all_reduce(&library, &two, 1e9).channel_count == 8);
	library.channels_most_count = 12;
	CHECK(all_reduce(&library, &two, 1e9).block_count == 12);
}

static void ll128_is_chosen_only_with_nvlink(void)
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

/* The predicted time of the best choice never decreases with the message size, except at the steps
 * of the table by which NCCL corrects trees. */
static void predicted_time_grows_with_the_size(void)
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

static void fixed_algorithm_protocol_and_channels_are_used(void)
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
	/* Another collective has its own choice. */
	CHECK(library_choose(&library, &two, COLLECTIVE_ALL_GATHER, 1e6).algorithm->collective ==
	      COLLECTIVE_ALL_GATHER);
}

/* Two nodes with eight A100s, 16 channels: 15 concurrent messages with one block each, at 12 GB/s.
 * Inside a node up to 16 KiB each use LL; the network uses Simple. 8 messages to the other node are
 * posted in 1 us each. On one node of eight, two blocks serve each message. Two channels have seven
 * concurrent messages, which share their bandwidth. */
static void all_to_all_sends_messages_concurrently(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2), few = pcie;
	struct collective_choice choice =
		library_choose(&library, &two, COLLECTIVE_ALL_TO_ALL, 16 * 16384);
	CHECK(choice.protocol == PROTOCOL_LL && choice.channel_count == 15);
	CHECK_NEAR(choice.start_s, 6.6e-6 + 8e-6, 1e-9);
	CHECK_NEAR(choice.hop_s[HOP_PCI], 0.4e-6, 1e-9); /* 1.0 us minus the wire's 0.6 */
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

/* A chain forwards slices of 512 KiB, however many. The pieces of a tree over sockets are LL steps,
 * at most 64; those of a tree over RDMA are words. Words that are forwarded to a socket have no
 * rate of their own inside a machine. Small broadcasts have slices, too: 1 MiB of each block is
 * two. */
static void chains_and_trees_divide_messages_into_pieces(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2);
	struct collective_choice choice =
		library_choose(&library, &two, COLLECTIVE_BROADCAST, 4294967296);
	CHECK(choice.protocol == PROTOCOL_SIMPLE && choice.block_count == 16);
	CHECK(choice.pipeline_count == 512);
	library.protocol = CHOOSE_SIMPLE;
	choice = library_choose(&library, &two, COLLECTIVE_BROADCAST, 16777216);
	CHECK(choice.block_count == 16 && choice.pipeline_count == 2);
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_LL;
	choice = all_reduce(&library, &two, 1048576);
	CHECK(choice.block_count == 16 && choice.pipeline_count == 1024);
	/* 4 KiB fill a channel of a tree, however many ranks there are. */
	CHECK(all_reduce(&library, &two, 65536).block_count == 16);
	two.socket = true;
	choice = all_reduce(&library, &two, 1048576);
	CHECK(choice.pipeline_count == 2);
	CHECK(choice.channel_cap_Bps[HOP_NVLINK] <= 0 && choice.channel_cap_Bps[HOP_NET] > 0);
	CHECK(all_reduce(&library, &two, 1073741824).pipeline_count == 64);
}

/* A tree of nine hops, with Simple on 16 blocks. NCCL begins with slices of 512 KiB and halves them
 * while a block has fewer than 8 x 9 of them (above 128 KiB), 4 x 9 (above 64 KiB) or 9. */
static void trees_halve_their_chunks_until_they_fill_the_depth(void)
{
	static const struct {
		double block_KiB, chunk_KiB;
	} cases[] = {{72 * 512, 512}, {72 * 512 - 4, 256}, {72 * 256, 256}, {72 * 256 - 4, 128},
		     {36 * 128, 128}, {36 * 128 - 4, 64},  {9 * 64, 64},    {9 * 64 - 4, 32}};
	struct library_params library = defaults();
	struct comm_shape two = nodes(2);
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_SIMPLE;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct collective_choice choice =
			all_reduce(&library, &two, 16 * 1024 * cases[i].block_KiB);
		CHECK(choice.block_count == 16);
		CHECK(choice.pipeline_count ==
		      (size_t)ceil(cases[i].block_KiB / cases[i].chunk_KiB));
	}
}

/* The choice uses the hops that are simulated: 6.8 us, 14 hops of 1.08 us inside and two of 5 us,
 * 1.4 times as long. Then 1024 B go twice at 0.84 GB/s: LL's block to the network moves 1.4 GB/s,
 * of which one direction has 0.3. The costs of the start and the extra latency of Simple do not
 * change the choice. */
static void fitted_latencies_change_run_and_choice(void)
{
	struct library_params library = defaults();
	library.channel_net_s = 0;
	struct comm_shape two = nodes(2);
	struct collective_choice before = all_reduce(&library, &two, 1024);
	CHECK_TEXT(before.algorithm->name, "double_tree");
	CHECK_NEAR(before.predicted_s, 31.92e-6 + 1024 / 0.42e9, 1e-9);
	library.latency_scale_ratio = 1.4;
	library.start_s = 3e-6;
	library.channel_start_s = 1e-6;
	library.simple_scale_ratio = 2;
	struct collective_choice after = all_reduce(&library, &two, 1024);
	CHECK(after.algorithm == before.algorithm && after.protocol == before.protocol);
	CHECK_NEAR(after.predicted_s, 1.4 * 31.92e-6 + 1024 / 0.42e9, 1e-9);
	CHECK_NEAR(after.start_s, 1.4 * before.start_s + 3e-6 + 1e-6 * (double)after.block_count,
		   1e-9);
	CHECK_NEAR(after.hop_s[HOP_NET] + 1.5e-6, 1.4 * (before.hop_s[HOP_NET] + 1.5e-6), 1e-9);
	/* LL inside one of several nodes takes 1.8 * 0.6 us in the model, and twice that here. */
	library = defaults();
	library.protocol = CHOOSE_LL;
	CHECK(after.protocol == PROTOCOL_LL);
	CHECK_NEAR(before.hop_s[HOP_NVLINK], 0.58e-6, 1e-9);
	library.ll_nodes_scale_ratio = 2;
	after = all_reduce(&library, &two, 1024);
	CHECK_NEAR(after.hop_s[HOP_NVLINK], 1.66e-6, 1e-9);
	CHECK_NEAR(after.hop_s[HOP_NET], before.hop_s[HOP_NET], 1e-9);
	CHECK_NEAR(after.predicted_s, before.predicted_s + 14 * 1.08e-6, 1e-9);
	/* Hops of a tree with Simple take 4 and 14 us in the model, and twice that here. */
	library = defaults();
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_SIMPLE;
	before = all_reduce(&library, &two, 1024);
	library.simple_scale_ratio = 2;
	after = all_reduce(&library, &two, 1024);
	CHECK_NEAR(after.hop_s[HOP_NVLINK], 7.5e-6, 1e-9);
	CHECK_NEAR(after.hop_s[HOP_NET], 26.5e-6, 1e-9);
	CHECK_NEAR(after.predicted_s, before.predicted_s, 1e-12);
}

/* Two nodes with one adapter of 10 GB/s each: NCCL's model of a tree counts the links inside, up to
 * twice the adapter, and with three nodes the adapter. 4 GB, Simple, one ring of two blocks:
 * 2 S over 20 GB/s x 0.97 x 0.92, and 8.4 + 14 * 4 + 2 * 14 us. */
static void trees_of_two_nodes_count_the_links_inside(void)
{
	struct library_params library = defaults();
	struct comm_shape shape = nodes(2);
	shape.network_Bps = 10e9;
	shape.ring_count = 1;
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_SIMPLE;
	CHECK_NEAR(all_reduce(&library, &shape, 4e9).predicted_s,
		   92.4e-6 + 8e9 / (20e9 * 0.97 * 0.92), 1e-9);
	shape = nodes(3);
	shape.network_Bps = 10e9;
	shape.ring_count = 1;
	CHECK_NEAR(all_reduce(&library, &shape, 4e9).predicted_s,
		   92.4e-6 + 8e9 / (10e9 * 0.97 * 0.92), 1e-9);
}

/* Two nodes, 256 MB, a ring with LL128: 14 us, 26 hops of 1.9 inside, 4 of 4 across, and 30/16 of
 * the bytes at 16 blocks of 10 GB/s, because 0.92 of 198 GB/s x 0.97 is more. With Simple it is 1.4
 * times (8.4 us, 26 hops of 3.4 and 4 of 14), at the bandwidth of the adapters. Release 2.8 counts
 * two fewer steps across nodes. */
static void time_across_nodes_matches_hand_calculation(void)
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

/* In a tree inside one node LL128 reaches 7/9 of the bandwidth of trees: 2 S over 282 GB/s x 0.85 x
 * 0.92 x 0.778, times 0.9 from the table at 64 MiB. */
static void ll128_tree_time_matches_hand_calculation(void)
{
	struct library_params library = defaults();
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_LL128;
	library.tree_split_ll_ratio = 0.5;
	struct collective_choice choice = all_reduce(&library, &one_node, 67108864);
	double bus_Bps = 282e9 * 0.85 * 0.92 * 0.778;
	CHECK_NEAR(choice.predicted_s, 31.5e-6 + 2 * 67108864 / (0.9 * bus_Bps), 1e-9);
	/* The factor at 8 MiB is 0.9, and 0.7 in release 2.8, which starts in 4.4 us, not in 14 us.
	 */
	CHECK_NEAR(all_reduce(&library, &one_node, 8388608).predicted_s,
		   31.5e-6 + 2 * 8388608 / (0.9 * bus_Bps), 1e-9);
	library.tuning = TUNING_2_8;
	CHECK_NEAR(all_reduce(&library, &one_node, 8388608).predicted_s,
		   21.9e-6 + 2 * 8388608 / (0.7 * bus_Bps), 1e-9);
	/* With 30 % of the threads for one direction, 24 blocks of 10 GB/s bound the tree. */
	library.tree_split_ll_ratio = 0.3;
	CHECK_NEAR(all_reduce(&library, &one_node, 67108864).predicted_s,
		   21.9e-6 + 67108864 / (24 * 10e9 * 0.3), 1e-9);
}

/* Each of the two trees of a channel has half of its blocks: 24 blocks of 10 GB/s with LL128, of
 * which 30 % serve the slower direction. */
static void trees_of_a_pair_share_the_blocks_of_a_channel(void)
{
	struct library_params library = defaults();
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_LL128;
	struct collective_choice choice = all_reduce(&library, &one_node, 67108864);
	CHECK(choice.block_count == 24 && choice.channel_count == 1);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NVLINK], 24 * 10e9 * 0.3 / 2, 1);
	library.algorithm = "binary_tree";
	choice = all_reduce(&library, &one_node, 67108864);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NVLINK], 24 * 10e9 * 0.3, 1);
}

/* The plugin's regions for p5 at 16 ranks: a tree with LL128 up to 30 MiB. On 12 nodes the border
 * is halfway between 117440512 (64 ranks) and 301989888 B (128), and rings with LL128 follow up to
 * 2 GiB. NVLS trees follow halfway between 2 and 6 GiB, and then rings with Simple. Without the
 * tuner NCCL adds 75 us to each hop and takes a tree. The first generation keeps no order, so only
 * Simple remains, at 150 us twice a hop without access to GPU memory. If the user gives the
 * protocol, NCCL's own model chooses: a ring has half of the adapters' 192 GB/s, and an NVLS tree
 * 5/6 of that half. */
static void efa_changes_the_choice(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2), twelve = nodes(12);
	two.efa_generation = twelve.efa_generation = 2;
	struct collective_choice choice = all_reduce(&library, &two, 8);
	CHECK_TEXT(choice.algorithm->name, "double_tree");
	CHECK(choice.protocol == PROTOCOL_LL128);
	struct comm_shape half = two; /* the regions are for eight GPUs in a machine */
	half.rank_most = 4;
	half.rank_count = 8;
	CHECK(all_reduce(&library, &half, 8).protocol == PROTOCOL_LL);
	choice = all_reduce(&library, &twelve, 209715200);
	CHECK_TEXT(choice.algorithm->name, "double_tree");
	choice = all_reduce(&library, &twelve, 209715201);
	CHECK_TEXT(choice.algorithm->name, "ring");
	CHECK(choice.protocol == PROTOCOL_LL128);
	twelve.multicast = true;
	twelve.generation = GENERATION_HOPPER;
	CHECK_TEXT(all_reduce(&library, &twelve, 4294967296).algorithm->name, "nvls_tree");
	library.protocol = CHOOSE_SIMPLE;
	CHECK_TEXT(all_reduce(&library, &twelve, 4294967296).algorithm->name, "ring");
	library.protocol = CHOOSE_PROTOCOL_AUTO;
	choice = all_reduce(&library, &twelve, 4294967297);
	CHECK_TEXT(choice.algorithm->name, "ring");
	CHECK(choice.protocol == PROTOCOL_SIMPLE);
	library.efa_tuner = false;
	double with_s = all_reduce(&library, &two, 8).predicted_s;
	CHECK(all_reduce(&library, &two, 8).protocol == PROTOCOL_LL);
	two.efa_generation = 0;
	CHECK_NEAR(with_s - all_reduce(&library, &two, 8).predicted_s, 150e-6, 1e-9);
	two.efa_generation = 1;
	two.host_memory_only = true;
	choice = all_reduce(&library, &two, 8);
	CHECK(choice.protocol == PROTOCOL_SIMPLE);
	two.efa_generation = 0;
	library.protocol = CHOOSE_SIMPLE;
	CHECK_NEAR(choice.predicted_s - all_reduce(&library, &two, 8).predicted_s, 600e-6, 1e-9);
}

/* On four machines a collective in the switches takes 31 us in the network and 2 (3.7 + 7 x 0.4) us
 * inside, 44 us. It has half of the adapters' 0.97 x 198 GB/s. Each of 16 blocks has 62.5 MB, in
 * chunks of 512 KiB for each of eight heads: 15. A chain takes 30 + 14 x 2.8 us. NCCL
 * takes neither without the switches, and the direct one only with an NVSwitch. */
static void collnet_needs_switches_that_add(void)
{
	struct library_params library = defaults();
	struct comm_shape four = nodes(4);
	library.collnet = true;
	library.protocol = CHOOSE_SIMPLE;
	library.algorithm = "collnet_direct";
	CHECK_TEXT(all_reduce(&library, &four, 1e9).algorithm->name, "ring");
	four.network_adds = true;
	struct collective_choice choice = all_reduce(&library, &four, 1e9);
	CHECK_NEAR(choice.predicted_s, 44e-6 + 2 * 1e9 / (0.97 * 198e9), 1e-9);
	CHECK_NEAR(choice.goodput_ratio[HOP_NET], 0.97 * 1.5, 1e-9);
	CHECK(choice.block_count == 16 && choice.pipeline_count == 15);
	/* From Hopper on, the direct one reaches 85 % of it. */
	four.generation = GENERATION_HOPPER;
	CHECK_NEAR(all_reduce(&library, &four, 1e9).predicted_s,
		   44e-6 + 2 * 1e9 / (0.85 * 0.97 * 198e9), 1e-9);
	four.generation = nodes(4).generation;
	library.algorithm = "collnet_chain";
	CHECK_NEAR(all_reduce(&library, &four, 8).predicted_s, 69.2e-6, 1e-5);
	library.algorithm = "auto";
	CHECK_TEXT(all_reduce(&library, &four, 8).algorithm->name, "collnet_chain");
	four.rank_count--; /* one machine has seven GPUs */
	CHECK_TEXT(all_reduce(&library, &four, 8).algorithm->name, "double_tree");
	four.rank_count++;
	four.multicast = true;
	CHECK_TEXT(all_reduce(&library, &four, 8).algorithm->name, "collnet_direct");
	library.collnet = false;
	CHECK_TEXT(all_reduce(&library, &four, 8).algorithm->name, "double_tree");
}

/* Each block adds 2 us at the start. The time of a call grows with its size by 2 (n - 1) / n over
 * the bus bandwidth for an all-reduce, and by 1 over it for a broadcast. */
static void choice_time_has_start_and_slope(void)
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

/* Two machines of eight H100. Eight adapters of 50 GB/s carry eight rings of 48 GB/s, with two
 * blocks each: 16. Two adapters carry two rings, with four blocks each: 8. One adapter of 25 GB/s
 * carries one ring below 45 GB/s: 2. Inside one machine 450 GB/s are twelve rings of 37.5: 24. */
static void rings_of_hopper_across_machines_have_a_block_pair_for_each_adapter(void)
{
	struct library_params library = defaults();
	library.algorithm = "ring";
	library.protocol = CHOOSE_SIMPLE;
	struct comm_shape shape = hopper(16);
	const struct {
		size_t rings, blocks;
		double network_Bps;
	} rows[] = {{8, 16, 400e9}, {2, 8, 100e9}, {1, 2, 25e9}};
	CHECK(all_reduce(&library, &shape, 1e9).block_count == 24);
	shape.node_count = 2;
	shape.rank_most = 8;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		shape.ring_count = rows[i].rings;
		shape.network_Bps = rows[i].network_Bps;
		CHECK(all_reduce(&library, &shape, 1e9).block_count == rows[i].blocks);
	}
}

/* On two machines a message of 1 MB takes LL128 if an adapter shares a PCIe switch with a GPU. It
 * does not if all adapters are behind a root complex, nor on a P100. NCCL_PROTO can force it. */
static void ll128_across_machines_needs_volta_and_an_adapter_behind_the_switch_of_a_gpu(void)
{
	struct library_params library = defaults();
	struct comm_shape near = nodes(2), far = nodes(2), old = nodes(2);
	far.far_adapter = true;
	old.generation = GENERATION_PASCAL;
	CHECK(all_reduce(&library, &near, 1e6).protocol == PROTOCOL_LL128);
	CHECK(all_reduce(&library, &far, 1e6).protocol != PROTOCOL_LL128);
	CHECK(all_reduce(&library, &old, 1e6).protocol != PROTOCOL_LL128);
	library.protocol = CHOOSE_LL128;
	CHECK(all_reduce(&library, &far, 1e6).protocol == PROTOCOL_LL128);
}

/* Each of n heads gets the largest bandwidth of NCCL's list of which n + 1 fit in 18 x 20.6 GB/s:
 * 60 GB/s for four and five GPUs, 50 for six, 40 for seven and eight. NVLink SHARP has 5/6 n times
 * that, and a ring n / (2 (n - 1)) times 360 GB/s: 200 and 240 GB/s for four GPUs, 250 and 225 for
 * five. */
static void nvlink_sharp_is_chosen_for_large_messages_of_five_gpus(void)
{
	struct library_params library = defaults();
	struct comm_shape shape = hopper(4), five = hopper(5), six = hopper(6), eight = hopper(8);
	CHECK_TEXT(all_reduce(&library, &shape, 8e9).algorithm->name, "ring");
	CHECK_TEXT(all_reduce(&library, &five, 8e9).algorithm->name, "nvls");
	CHECK_NEAR(all_reduce(&library, &five, 8e9).predicted_s, 25e-6 + 8e9 / 250e9, 1e-9);
	CHECK_NEAR(all_reduce(&library, &six, 8e9).predicted_s, 25e-6 + 8e9 / 250e9, 1e-9);
	CHECK_NEAR(all_reduce(&library, &eight, 8e9).predicted_s, 25e-6 + 8e9 / (800e9 / 3), 1e-9);
	/* A round of 16 blocks with 128 KiB for each of eight heads takes 4 us, and passes a link
	 * in 9/8 of its bytes: each GPU sends, and the head of its part receives the sum. */
	double round_s = 4e-6 + 16777216 * 9 / 8.0 / (library.nvls_efficiency_ratio * 450e9);
	CHECK_NEAR(all_reduce(&library, &eight, 8e9).channel_cap_Bps[HOP_NVLINK], 2097152 / round_s,
		   1e-9);
	CHECK_TEXT(all_reduce(&library, &eight, 2097152).algorithm->name, "nvls");
	CHECK_TEXT(all_reduce(&library, &eight, 1048576).algorithm->name, "ring");
	CHECK(all_reduce(&library, &eight, 1048576).protocol == PROTOCOL_LL);
	CHECK_TEXT(library_choose(&library, &eight, COLLECTIVE_ALL_GATHER, 8e9).algorithm->name,
		   "all_gather");
}

/* From 2.28 on a head of n H100 has 0.85 x 2 (n - 1) / n of its bandwidth, at most 60 GB/s. The
 * heads of five GPUs would have 81.6 GB/s and get 60, so NVLink SHARP has 300 x 5/8 = 187.5 GB/s,
 * less than the ring's 225. Those of eight have 59.5: 476 x 8/14 = 272 GB/s. B200 have eighteen
 * links of 50 GB/s, and heads of six and seven GPUs 90 GB/s. Until 2.27 this is 450 and 525 GB/s,
 * more than the rings' 720 x 6/10 = 432 and 720 x 7/12 = 420. From 2.28 on it is 90 x 6 x 6/10 =
 * 324 and 90 x 7 x 7/12 = 367.5 GB/s, less. */
static void releases_differ_in_when_nvlink_sharp_is_chosen(void)
{
	struct library_params library = defaults();
	struct comm_shape five = hopper(5), eight = hopper(8);
	library.nvls_model = NVLS_MODEL_2_28;
	CHECK_TEXT(all_reduce(&library, &five, 8e9).algorithm->name, "ring");
	CHECK_TEXT(all_reduce(&library, &eight, 8e9).algorithm->name, "nvls");
	CHECK_NEAR(all_reduce(&library, &eight, 8e9).predicted_s, 25e-6 + 8e9 / 272e9, 1e-9);
	for (size_t gpus = 5; gpus <= 8; gpus++) {
		struct comm_shape shape = hopper(gpus);
		shape.generation = GENERATION_BLACKWELL;
		shape.inside_Bps = 900e9;
		library.nvls_model = NVLS_MODEL_2_17;
		CHECK_TEXT(all_reduce(&library, &shape, 8e9).algorithm->name,
			   gpus < 6 ? "ring" : "nvls");
		library.nvls_model = NVLS_MODEL_2_28;
		CHECK_TEXT(all_reduce(&library, &shape, 8e9).algorithm->name,
			   gpus < 8 ? "ring" : "nvls");
	}
}

static void nvlink_sharp_needs_hopper_three_gpus_and_one_machine(void)
{
	struct library_params library = defaults();
	library.algorithm = "nvls";
	for (int without = 0; without < 6; without++) {
		struct comm_shape shape = hopper(without == 1 ? 2 : 8);
		shape.generation = without == 2 ? GENERATION_AMPERE : GENERATION_HOPPER;
		shape.multicast = without != 3;
		shape.node_count = without == 4 ? 2 : 1;
		library.nvls = without != 5;
		CHECK_TEXT(all_reduce(&library, &shape, 8e9).algorithm->name,
			   without ? "ring" : "nvls");
	}
}

/* Sixteen blocks work on a chunk of each of eight heads: 128 chunks in a round. Chunks of 128 KiB
 * need 64 rounds, of 64 KiB 8 and of 32 KiB 2; smaller messages have 16 KiB. In a round, links
 * carry 9/8 of its bytes at 0.7 of 450 GB/s, and are idle for 4 us. */
static void nvlink_sharp_works_in_rounds_of_chunks(void)
{
	struct library_params library = defaults();
	struct comm_shape eight = hopper(8);
	library.algorithm = "nvls";
	CHECK(all_reduce(&library, &eight, 1024 * 1048576.0).pipeline_count == 64);
	CHECK(all_reduce(&library, &eight, 512 * 1048576.0).pipeline_count == 64);
	CHECK(all_reduce(&library, &eight, 8 * 1048576.0).pipeline_count == 2);
	CHECK(all_reduce(&library, &eight, 4 * 1048576.0).pipeline_count == 2);
	CHECK(all_reduce(&library, &eight, 1000).pipeline_count == 1);
	struct collective_choice choice = all_reduce(&library, &eight, 1024 * 1048576.0);
	double round_s = 4e-6 + 16777216 * 1.125 / 315e9;
	CHECK(choice.block_count == 16);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NVLINK], 16777216 / 8 / round_s, 1);
	CHECK_NEAR(choice.goodput_ratio[HOP_NVLINK], 0.7 * 14 / 9, 1e-12);
	CHECK(choice.copy_spB <= 0);
	library.block_copy_Bps = 10e9; /* the last round's chunks of all heads */
	choice = all_reduce(&library, &eight, 1024 * 1048576.0);
	CHECK_NEAR(choice.copy_spB, 8 / 160e9, 1e-18);
	CHECK_NEAR(choice.start_s, 20e-6 + 16777216 / 160e9, 1e-9);
}

static const struct test tests[] = {
	TEST(protocol_follows_the_message_size),
	TEST(small_message_time_matches_hand_calculation),
	TEST(large_message_time_matches_hand_calculation),
	TEST(trees_are_chosen_for_many_nodes),
	TEST(ll128_is_chosen_only_with_nvlink),
	TEST(predicted_time_grows_with_the_size),
	TEST(fixed_algorithm_protocol_and_channels_are_used),
	TEST(trees_halve_their_chunks_until_they_fill_the_depth),
	TEST(fitted_latencies_change_run_and_choice),
	TEST(trees_of_two_nodes_count_the_links_inside),
	TEST(time_across_nodes_matches_hand_calculation),
	TEST(ll128_tree_time_matches_hand_calculation),
	TEST(all_to_all_sends_messages_concurrently),
	TEST(chains_and_trees_divide_messages_into_pieces),
	TEST(trees_of_a_pair_share_the_blocks_of_a_channel),
	TEST(efa_changes_the_choice),
	TEST(collnet_needs_switches_that_add),
	TEST(choice_time_has_start_and_slope),
	TEST(nvlink_sharp_is_chosen_for_large_messages_of_five_gpus),
	TEST(releases_differ_in_when_nvlink_sharp_is_chosen),
	TEST(rings_of_hopper_across_machines_have_a_block_pair_for_each_adapter),
	TEST(ll128_across_machines_needs_volta_and_an_adapter_behind_the_switch_of_a_gpu),
	TEST(nvlink_sharp_needs_hopper_three_gpus_and_one_machine),
	TEST(nvlink_sharp_works_in_rounds_of_chunks),
};

int main(void)
{
	return TEST_MAIN(tests);
}
