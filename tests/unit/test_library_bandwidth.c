/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bandwidth of the collective library's choices, and their limits. */
#include "sim/collective/algorithm.h"
#include "sim/collective/msccl.h"
#include "tests/library_shapes.h"

/* Half of LL's bytes to the network are flags. Inside a node LL does not fill the links. Blocks
 * copy the last results together. */
static void flags_and_copies_take_their_part_of_the_bandwidth(void)
{
	struct library_params library = defaults();
	const struct comm_shape two = nodes(2);
	library.algorithm = "ring";
	library.protocol = CHOOSE_LL;
	library.block_copy_Bps = 10e9;
	struct collective_choice choice = all_reduce(&library, &two, 1e6);
	CHECK(library.ll_ratio > 0 && library.ll_ratio < 0.5);
	CHECK_NEAR(choice.goodput_ratio[HOP_NET], 0.5 * library.net_efficiency_ratio, 1e-12);
	CHECK_NEAR(choice.goodput_ratio[HOP_NVLINK],
		   library.ll_ratio * library.nvlink_efficiency_ratio, 1e-12);
	CHECK(choice.block_count > 1);
	CHECK_NEAR(choice.copy_spB, 1 / (10e9 * (double)choice.block_count), 1e-12);
}

/* Two machines: a head has an eighth of the adapters, 24.0 GB/s. With more machines it sends to two
 * others and has half. NCCL's model takes 5/6 of both. */
static void heads_of_more_than_two_machines_share_their_adapters(void)
{
	struct library_params library = defaults();
	library.algorithm = "nvls_tree";
	library.protocol = CHOOSE_SIMPLE;
	for (size_t n = 2; n <= 8; n *= 2) {
		struct comm_shape shape = nodes(n);
		shape.generation = GENERATION_HOPPER;
		shape.multicast = true;
		shape.inside_Bps = 370e9;
		double slope_spB = (all_reduce(&library, &shape, 3e9).predicted_s -
				    all_reduce(&library, &shape, 1e9).predicted_s) /
				   2e9;
		double head_Bps = 198e9 * library.net_efficiency_ratio / 8 / (n > 2 ? 2 : 1);
		CHECK_TEXT(all_reduce(&library, &shape, 1e9).algorithm->name, "nvls_tree");
		CHECK_NEAR(slope_spB, 1 / (5.0 / 6 * head_Bps * 8), 1e-6);
	}
}

/* The proxies' time to post a message delays each hop inside nodes of a ring that leaves them: 30
 * hops of 16 ranks but those to the other node. Simple posts three times. Trees do not wait. */
static void rings_that_leave_a_node_wait_for_posted_messages(void)
{
	static const struct {
		const char *algorithm;
		int protocol;
		double posts;
	} rows[] = {{"ring", CHOOSE_SIMPLE, 3},
		    {"ring", CHOOSE_LL128, 1},
		    {"double_tree", CHOOSE_SIMPLE, 0},
		    {"double_tree", CHOOSE_LL128, 0}};
	const struct comm_shape two = nodes(2);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct library_params library = defaults();
		library.algorithm = rows[i].algorithm;
		library.protocol = rows[i].protocol;
		library.plateau_ratio = 1;
		library.net_overhead_s = 1e-3;
		double one_s = all_reduce(&library, &two, 1e6).predicted_s;
		library.net_overhead_s = 2e-3;
		double more_s = all_reduce(&library, &two, 1e6).predicted_s - one_s;
		double hops = 30 - 2 - library.net_steps_more_count;
		CHECK_NEAR(more_s, 1e-3 * rows[i].posts * hops * library.latency_scale_ratio, 1e-9);
	}
}

/* A ratio of trees with LL128 is for one node. */
static void trees_across_nodes_have_the_goodput_of_rings(void)
{
	const struct comm_shape two = nodes(2);
	struct library_params library = defaults();
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_LL128;
	double inside_s = all_reduce(&library, &one_node, 1e8).predicted_s;
	double across_s = all_reduce(&library, &two, 1e8).predicted_s;
	library.ll128_tree_ratio /= 2;
	CHECK(all_reduce(&library, &one_node, 1e8).predicted_s > 1.2 * inside_s);
	CHECK_NEAR(all_reduce(&library, &two, 1e8).predicted_s, across_s, 1e-12);
}

/* When all channels work, the time of a ring with LL across nodes grows by 30/16 of the size over
 * the lower bandwidth: that of the links, or of all blocks to the network. */
static void busy_channels_of_ll_reach_the_lower_bandwidth(void)
{
	const struct comm_shape two = nodes(2);
	for (size_t i = 0; i < 2; i++) {
		struct library_params library = defaults();
		library.algorithm = "ring";
		library.protocol = CHOOSE_LL;
		if (i == 1) /* links are slower than blocks */
			library.channel_ll_Bps = library.channel_ll_net_Bps = 1e12;
		struct collective_choice choice = all_reduce(&library, &two, 2e9);
		double more_s = choice.predicted_s - all_reduce(&library, &two, 1e9).predicted_s;
		double links_Bps = library.ll_ratio * 198e9 * library.net_efficiency_ratio;
		double blocks_Bps = (double)choice.block_count * library.channel_ll_net_Bps;
		CHECK((links_Bps < blocks_Bps) == (i == 1));
		CHECK_NEAR(more_s, 30e9 / 16 / fmin(links_Bps, blocks_Bps), 1e-6);
	}
}

/* Proxies limit LL's bytes to the network, so a correction of blocks counts only inside nodes. */
static void corrections_of_ll_blocks_end_at_the_network(void)
{
	const struct comm_shape two = nodes(2);
	struct library_params library = defaults();
	library.algorithm = "ring";
	library.protocol = CHOOSE_LL;
	library.block_ll_ratio = 1;
	struct collective_choice all = all_reduce(&library, &two, 1e8);
	library.block_ll_ratio = 0.5;
	struct collective_choice half = all_reduce(&library, &two, 1e8);
	CHECK_NEAR(half.channel_cap_Bps[HOP_NVLINK], all.channel_cap_Bps[HOP_NVLINK] / 2, 1e-12);
	CHECK_NEAR(half.channel_cap_Bps[HOP_NET], all.channel_cap_Bps[HOP_NET], 1e-12);
}

/* Sixteen blocks work on chunks of eight heads. On three machines a chunk has 128 KiB, so 1 GiB
 * takes 64 rounds. On four or more it has 64 KiB: 128 rounds. EFA's plugin raises it to 512 KiB,
 * and NCCL takes half of that for less than 32 such rounds: 32 rounds. */
static void nvlink_sharp_halves_its_chunks_from_four_machines_on(void)
{
	for (size_t machines = 3; machines <= 5; machines++) {
		struct library_params library = defaults();
		struct comm_shape shape = nodes(machines);
		shape.multicast = true;
		shape.generation = GENERATION_HOPPER;
		library.algorithm = "nvls_tree";
		CHECK(all_reduce(&library, &shape, 1073741824).pipeline_count ==
		      (machines < 4 ? 64 : 128));
		shape.efa_generation = 2;
		CHECK(all_reduce(&library, &shape, 1073741824).pipeline_count == 32);
	}
}

/* An algorithm of MSCCL is used for its collective, from its smallest to its largest size. */
static void script_is_used_from_its_smallest_to_its_largest_size(void)
{
	struct schedule schedule = {.channel_count = 1, .rank_count = one_node.rank_count};
	struct msccl script = {.collective = COLLECTIVE_ALL_REDUCE,
			       .protocol = PROTOCOL_SIMPLE,
			       .least_B = 1024,
			       .most_B = 4096,
			       .block_count = 1,
			       .schedule = &schedule};
	struct library_params library = defaults();
	library.script = &script;
	for (double size_B = 1023; size_B <= 4097; size_B++)
		CHECK((all_reduce(&library, &one_node, size_B).algorithm == &algorithm_msccl) ==
		      (size_B >= 1024 && size_B <= 4096));
	CHECK(library_choose(&library, &one_node, COLLECTIVE_BROADCAST, 2048).algorithm !=
	      &algorithm_msccl);
	schedule.rank_count++;
	CHECK(all_reduce(&library, &one_node, 2048).algorithm != &algorithm_msccl);
}

/* Four heads have 60 GB/s each in a machine, of which NCCL 2.28 plans 0.85 x 2 x 3/4 = 76.5 GB/s.
 * Its tables leave 57.7 GB/s on two machines and 45.5 GB/s on three: 8/14 and 12/22 of this is the
 * bandwidth. Adapters of 200 GB/s for each head do not limit; those of 40 GB/s have twice of it on
 * two machines, 77.6. A hop takes 20.9 us, not 14: 25 + 2 x 20.9 = 66.8 us. */
static void nvlink_sharp_is_slower_on_three_machines_than_on_two(void)
{
	for (size_t machines = 2; machines <= 3; machines++) {
		struct library_params library = defaults();
		struct comm_shape shape = hopper(4);
		shape.node_count = machines;
		shape.rank_count = 4 * machines;
		shape.network_Bps = 800e9;
		library.algorithm = "nvls_tree";
		library.nvls_model = NVLS_MODEL_2_28;
		double ranks = (double)shape.rank_count;
		double each_Bps = machines == 2 ? 57.7e9 : 45.5e9;
		double slope_spB = 2 * (ranks - 1) / ranks / (4 * each_Bps);
		CHECK_NEAR(all_reduce(&library, &shape, 3e9).predicted_s, 66.8e-6 + 3e9 * slope_spB,
			   1e-9);
		shape.network_Bps = 160e9;
		if (machines == 3)
			slope_spB = 2 * (ranks - 1) / ranks / (0.97 * 160e9);
		CHECK_NEAR(all_reduce(&library, &shape, 3e9).predicted_s, 66.8e-6 + 3e9 * slope_spB,
			   1e-9);
	}
}

static double slope_spB(const struct library_params *library, const struct comm_shape *shape,
			double least_B, double most_B)
{
	return (all_reduce(library, shape, most_B).predicted_s -
		all_reduce(library, shape, least_B).predicted_s) /
	       (most_B - least_B);
}

/* From Blackwell on, NCCL corrects trees of NVLink SHARP as it corrects others: by 0.6 from 64 x
 * 2^15 B = 2 MiB to twice of it. From 512 MiB on nothing is corrected. */
static void trees_of_nvlink_sharp_are_corrected_from_blackwell_on(void)
{
	for (int blackwell = 0; blackwell < 2; blackwell++) {
		struct library_params library = defaults();
		struct comm_shape shape = hopper(4);
		shape.node_count = 2;
		shape.rank_count = 8;
		shape.network_Bps = 800e9;
		shape.generation = blackwell ? GENERATION_BLACKWELL : GENERATION_HOPPER;
		library.algorithm = "nvls_tree";
		library.nvls_model = NVLS_MODEL_2_28;
		double medium_spB = slope_spB(&library, &shape, 2.2e6, 4e6);
		double large_spB = slope_spB(&library, &shape, 1e9, 2e9);
		CHECK_NEAR(medium_spB * (blackwell ? 0.6 : 1), large_spB, 1e-9);
	}
}

/* NCCL's search tries bandwidths down to a least one. Slower links give each of five parts its
 * share of them, so the time of a byte is proportional to the bandwidth. */
static void heads_of_slow_links_share_them(void)
{
	struct library_params library = defaults();
	struct comm_shape shape = hopper(4);
	library.algorithm = "nvls";
	shape.inside_Bps = 2e9;
	double slow_spB = slope_spB(&library, &shape, 1e9, 2e9);
	CHECK_NEAR(slow_spB, 1 / (5.0 / 6 * 4 * 2e9 * 0.85 * 0.97 / 5), 1e-9);
	shape.inside_Bps = 1e9;
	CHECK_NEAR(slope_spB(&library, &shape, 1e9, 2e9), 2 * slow_spB, 1e-9);
}

/* NVLink SHARP and switches that add need equally many GPUs in all machines, the switches also a
 * second machine. */
static void uneven_machines_use_no_switch(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2);
	two.generation = GENERATION_HOPPER;
	two.multicast = true;
	library.algorithm = "nvls_tree";
	CHECK_TEXT(all_reduce(&library, &two, 1e9).algorithm->name, "nvls_tree");
	two.rank_count--;
	CHECK_TEXT(all_reduce(&library, &two, 1e9).algorithm->name, "ring");
	struct comm_shape one = one_node;
	one.network_adds = library.collnet = true;
	library.algorithm = "collnet_chain";
	CHECK_TEXT(all_reduce(&library, &one, 1e9).algorithm->name, "ring");
}

/* EFA's plugin enlarges the chunks of trees across machines, not those inside a machine. */
static void efa_keeps_the_chunks_inside_a_machine(void)
{
	struct library_params library = defaults();
	struct comm_shape eight = hopper(8);
	library.algorithm = "nvls";
	size_t pieces = all_reduce(&library, &eight, 1073741824).pipeline_count;
	eight.efa_generation = 2;
	CHECK(all_reduce(&library, &eight, 1073741824).pipeline_count == pieces);
}

/* From Hopper on, a link reaches 97 % of the 85 % that it reaches before. */
static void links_of_hopper_reach_a_little_less(void)
{
	struct library_params library = defaults();
	struct comm_shape eight = hopper(8);
	library.algorithm = "ring";
	library.protocol = CHOOSE_SIMPLE;
	CHECK_NEAR(all_reduce(&library, &eight, 1e9).goodput_ratio[HOP_NVLINK], 0.85 * 0.97, 1e-12);
	CHECK_NEAR(all_reduce(&library, &one_node, 1e9).goodput_ratio[HOP_NVLINK], 0.85, 1e-12);
}

/* Four machines of eight H100 with eight adapters of 50 GB/s, of which 48.5 are used. NCCL 2.18
 * gives an NVLS tree over more than two machines half of them for each of eight heads, and takes
 * 5/6: 161.7 GB/s after 25 + 4 x 14 = 81 us. A ring has the 360 GB/s of the links inside x 32/62 =
 * 185.8 GB/s after 1.4 x (8.4 + 54 x 3.4 + 8 x 14) = 426 us. Both are equal at 345 us / (1/161.7 -
 * 1/185.8) = 430 MB, so rings follow from there on. Their two blocks for each adapter carry the 48
 * GB/s that NCCL's search gives to a ring, and are not limited by the constant of trees, 38.7 GB/s.
 * NCCL 2.28 gives the tree 8 x 45.5 x 32/62 = 187.9 GB/s, so it always takes the tree. */
static void rings_of_hopper_carry_the_bandwidth_that_the_search_plans(void)
{
	struct library_params library = defaults();
	struct comm_shape shape = hopper(8);
	shape.node_count = 4;
	shape.rank_count = 32;
	shape.network_Bps = 400e9;
	shape.ring_count = 8;
	CHECK_TEXT(all_reduce(&library, &shape, 420e6).algorithm->name, "nvls_tree");
	struct collective_choice choice = all_reduce(&library, &shape, 440e6);
	CHECK_TEXT(choice.algorithm->name, "ring");
	CHECK(choice.protocol == PROTOCOL_SIMPLE && choice.block_count == 16);
	library.nvls_model = NVLS_MODEL_2_28;
	CHECK_TEXT(all_reduce(&library, &shape, 16e9).algorithm->name, "nvls_tree");
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NET] * (double)choice.channel_count, 8 * 48e9, 1e-9);
	library.algorithm = "double_tree";
	library.protocol = CHOOSE_SIMPLE;
	choice = all_reduce(&library, &shape, 440e6);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NET] * (double)choice.channel_count * 2,
		   library.tree_split_ratio * 8 * 38.7e9, 1e-9);
}

/* A small message between eight ranks takes one block for each of seven peers. A rank of 512 has
 * only eight messages at a time. */
static void messages_of_an_all_to_all_are_limited(void)
{
	struct library_params library = defaults();
	struct comm_shape many = nodes(64);
	struct collective_choice choice =
		library_choose(&library, &one_node, COLLECTIVE_ALL_TO_ALL, 8);
	CHECK(choice.protocol == PROTOCOL_LL && choice.block_count == 7);
	CHECK(library_choose(&library, &many, COLLECTIVE_ALL_TO_ALL, 1e9).channel_count == 8);
}

/* The plugin's regions for p6-b200 at 96 ranks lie halfway between those at 64 and 128: a tree with
 * LL128 up to 48758784 B and a ring with LL128 up to 88604672 B. Two machines are left to NCCL,
 * which takes LL for 8 B. */
static void efa_of_p6_tunes_more_than_two_machines(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2), twelve = nodes(12);
	two.efa_generation = twelve.efa_generation = 4;
	twelve.multicast = true;
	twelve.generation = GENERATION_BLACKWELL;
	CHECK(all_reduce(&library, &two, 8).protocol == PROTOCOL_LL);
	two.efa_generation = 2;
	CHECK(all_reduce(&library, &two, 8).protocol == PROTOCOL_LL128);
	CHECK_TEXT(all_reduce(&library, &twelve, 48758784).algorithm->name, "double_tree");
	CHECK_TEXT(all_reduce(&library, &twelve, 48758785).algorithm->name, "ring");
	CHECK_TEXT(all_reduce(&library, &twelve, 88604673).algorithm->name, "nvls_tree");
	twelve.efa_generation = 5;
	CHECK_TEXT(all_reduce(&library, &twelve, 48758785).algorithm->name, "double_tree");
}

static const struct test tests[] = {
	TEST(efa_of_p6_tunes_more_than_two_machines),
	TEST(rings_that_leave_a_node_wait_for_posted_messages),
	TEST(trees_across_nodes_have_the_goodput_of_rings),
	TEST(busy_channels_of_ll_reach_the_lower_bandwidth),
	TEST(corrections_of_ll_blocks_end_at_the_network),
	TEST(flags_and_copies_take_their_part_of_the_bandwidth),
	TEST(heads_of_more_than_two_machines_share_their_adapters),
	TEST(nvlink_sharp_halves_its_chunks_from_four_machines_on),
	TEST(script_is_used_from_its_smallest_to_its_largest_size),
	TEST(nvlink_sharp_is_slower_on_three_machines_than_on_two),
	TEST(trees_of_nvlink_sharp_are_corrected_from_blackwell_on),
	TEST(heads_of_slow_links_share_them),
	TEST(uneven_machines_use_no_switch),
	TEST(efa_keeps_the_chunks_inside_a_machine),
	TEST(links_of_hopper_reach_a_little_less),
	TEST(rings_of_hopper_carry_the_bandwidth_that_the_search_plans),
	TEST(messages_of_an_all_to_all_are_limited),
};

int main(void)
{
	return TEST_MAIN(tests);
}
