/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives inside one machine: constants of the generation, and the kernels of model servers. */
#include "sim/collective/constants.h"
#include "sim/collective/generation.h"
#include "tests/library_shapes.h"

static const char *custom(size_t gpus, double size_B)
{
	struct library_params library = defaults();
	struct comm_shape shape = hopper(gpus);
	shape.peer_access = true;
	library.custom_all_reduce = CUSTOM_ON;
	return all_reduce(&library, &shape, size_B).algorithm->name;
}

/* The sizes are those of vLLM's csrc/custom_all_reduce.cuh. */
static void custom_all_reduce_takes_one_shot_for_small_buffers_and_two_for_larger_ones(void)
{
	const double kib = 1024;
	CHECK_TEXT(custom(2, 4096 * kib), "one_shot");
	CHECK_TEXT(custom(2, 8192 * kib), "ring");
	CHECK_TEXT(custom(4, 512 * kib - 16), "one_shot");
	CHECK_TEXT(custom(4, 512 * kib), "two_shot");
	CHECK_TEXT(custom(4, 32768 * kib), "ring");
	CHECK_TEXT(custom(6, 256 * kib), "two_shot");
	CHECK_TEXT(custom(8, 256 * kib - 16), "one_shot");
	CHECK_TEXT(custom(8, 256 * kib), "two_shot");
	CHECK_TEXT(custom(8, 65536 * kib), "nvls");
	CHECK_TEXT(custom(3, kib), "ring");
	CHECK_TEXT(custom(10, kib), "ring");
}

/* SGLang's _MAX_CAR_SIZE is 8 MiB on each GPU. TensorRT-LLM's workspace is 16 MB for two GPUs and
 * 8 MB for more; one shot ends at 1 MB for four GPUs and at 500 kB for eight. */
static void each_engine_has_its_own_sizes(void)
{
	static const struct {
		int engine;
		size_t gpus;
		double size_B;
		const char *wanted;
	} rows[] = {{ENGINE_SGLANG, 8, 256 * 1024 - 16, "one_shot"},
		    {ENGINE_SGLANG, 8, 256 * 1024, "two_shot"},
		    {ENGINE_SGLANG, 4, 8 * 1048576, "ring"},
		    {ENGINE_TENSORRT_LLM, 2, 15.9e6, "one_shot"},
		    {ENGINE_TENSORRT_LLM, 2, 16e6, "ring"},
		    {ENGINE_TENSORRT_LLM, 4, 999e3, "one_shot"},
		    {ENGINE_TENSORRT_LLM, 4, 1e6, "two_shot"},
		    {ENGINE_TENSORRT_LLM, 4, 8e6, "ring"},
		    {ENGINE_TENSORRT_LLM, 8, 499e3, "one_shot"},
		    {ENGINE_TENSORRT_LLM, 8, 500e3, "two_shot"}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct library_params library = defaults();
		struct comm_shape shape = hopper(rows[i].gpus);
		shape.peer_access = true;
		library.custom_all_reduce = CUSTOM_ON;
		library.engine = rows[i].engine;
		CHECK_TEXT(all_reduce(&library, &shape, rows[i].size_B).algorithm->name,
			   rows[i].wanted);
	}
}

/* src/platform-aws.cpp of aws-ofi-nccl has 150 us for p3dn, 75 us for p4d and p5, 35 us later. */
static void the_plugin_of_efa_plans_with_a_latency_of_the_generation(void)
{
	static const double wanted_us[] = {0, 150, 75, 35, 35};
	for (int i = 0; i < 5; i++) {
		struct comm_shape shape = nodes(2);
		shape.efa_generation = i;
		shape.host_memory_only = i == 1;
		CHECK_NEAR(efa_planned_s(&shape), 1e-6 * wanted_us[i], 1e-12);
	}
}

/* The tuner of EFA's plugin for B200: trees with LL128 end at 4,718,592 B for 16 GPUs and at
 * 18,350,080 B for 32, so in the middle for 24. Rings with Simple follow NVLink SHARP from 22.7 GB
 * on with 1024 GPUs, and never with 2048 or more. */
static void the_plugin_of_efa_interpolates_its_table(void)
{
	static const struct {
		size_t machines;
		double size_B;
		enum cost_model cost;
		enum protocol protocol;
	} rows[] = {{3, 393216, COST_TREE, PROTOCOL_LL},
		    {3, 393217, COST_TREE, PROTOCOL_LL128},
		    {3, 11534336, COST_TREE, PROTOCOL_LL128},
		    {3, 11534337, COST_RING, PROTOCOL_LL128},
		    {4, 18350080, COST_TREE, PROTOCOL_LL128},
		    {4, 18350081, COST_RING, PROTOCOL_LL128},
		    {128, 22732444432, COST_MULTICAST, PROTOCOL_SIMPLE},
		    {128, 22732444433, COST_RING, PROTOCOL_SIMPLE},
		    {256, 1e12, COST_MULTICAST, PROTOCOL_SIMPLE},
		    {512, 1e12, COST_MULTICAST, PROTOCOL_SIMPLE}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct comm_shape shape = nodes(rows[i].machines);
		enum cost_model cost = COST_SHOTS;
		enum protocol protocol = PROTOCOL_COUNT;
		shape.efa_generation = 4;
		CHECK(efa_tuned(&shape, rows[i].size_B, &cost, &protocol));
		CHECK(cost == rows[i].cost && protocol == rows[i].protocol);
		shape.rank_count--;
		CHECK(!efa_tuned(&shape, rows[i].size_B, &cost, &protocol));
	}
}

/* Two experts of a token are on two machines: 2 (1 - 1/4) = 1.5 machines have one, so a row for
 * each expert is 2/1.5 rows too many. 16 GPUs have 16 (1 - (15/16)^2) = 1.9375 of them. */
static void tokens_cross_the_network_once_for_each_machine(void)
{
	struct library_params library = defaults();
	struct comm_shape two = nodes(2), uneven = nodes(2);
	uneven.rank_count--;
	library.experts = EXPERTS_NODES;
	library.experts_top_count = 2;
	struct collective_choice once = library_choose(&library, &two, COLLECTIVE_ALL_TO_ALL, 1e6);
	CHECK_TEXT(once.algorithm->name, "all_to_all_nodes");
	CHECK_NEAR(once.goodput_ratio[HOP_NET], 0.97 * 2 / 1.5, 1e-12);
	CHECK_NEAR(once.goodput_ratio[HOP_NVLINK], 0.85 * 2 / 1.9375, 1e-12);
	CHECK_NEAR(once.start_s, 20e-6, 1e-15);
	library.experts_nodes_count = 1;
	once = library_choose(&library, &two, COLLECTIVE_ALL_TO_ALL, 1e6);
	CHECK_NEAR(once.goodput_ratio[HOP_NET], 0.97 * 2, 1e-12);
	/* both experts are on 8 GPUs of that machine: 8 (1 - (7/8)^2) = 1.875 */
	CHECK_NEAR(once.goodput_ratio[HOP_NVLINK], 0.85 * 2 / 1.875, 1e-12);
	CHECK_TEXT(library_choose(&library, &uneven, COLLECTIVE_ALL_TO_ALL, 1e6).algorithm->name,
		   "all_to_all");
	library.experts = EXPERTS_DIRECT;
	once = library_choose(&library, &two, COLLECTIVE_ALL_TO_ALL, 1e6);
	CHECK_TEXT(once.algorithm->name, "all_to_all");
	CHECK_NEAR(once.goodput_ratio[HOP_NET], 0.97, 1e-12);
	CHECK(once.channel_count == 15);
}

/* All pairs need access, more than two GPUs need an NVSwitch, and all ranks are in one machine. */
static void custom_all_reduce_needs_access_to_all_peers(void)
{
	struct library_params library = defaults();
	struct comm_shape shape = hopper(4);
	shape.peer_access = true;
	CHECK_TEXT(all_reduce(&library, &shape, 1024).algorithm->name, "ring");
	library.custom_all_reduce = CUSTOM_ON;
	shape.multicast = false;
	CHECK_TEXT(all_reduce(&library, &shape, 1024).algorithm->name, "ring");
	shape.multicast = true;
	shape.peer_access = false;
	CHECK_TEXT(all_reduce(&library, &shape, 1024).algorithm->name, "ring");
	shape.peer_access = true;
	library.custom_all_reduce = CUSTOM_OFF;
	CHECK_TEXT(all_reduce(&library, &shape, 1024).algorithm->name, "ring");
	struct comm_shape two = nodes(2);
	two.peer_access = two.multicast = true;
	library.custom_all_reduce = CUSTOM_ON;
	CHECK(all_reduce(&library, &two, 1024).algorithm->cost != COST_SHOTS);
}

/* 36 blocks with 300 GB/s read three peers side by side. */
static void one_shot_divides_the_kernels_bandwidth_among_the_peers(void)
{
	struct library_params library = defaults();
	struct comm_shape shape = hopper(4);
	shape.peer_access = true;
	library.custom_all_reduce = CUSTOM_ON;
	struct collective_choice choice = all_reduce(&library, &shape, 1024);
	CHECK(choice.block_count == 36 && choice.channel_count == 1);
	CHECK_NEAR(choice.start_s, 5e-6, 1e-12);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NVLINK], 100e9, 1);
	CHECK_NEAR(all_reduce(&library, &shape, 1e6).start_s, 9e-6, 1e-12);
}

/* NCCL's model of eight H100: 32 KiB take 4.5 + 9 x 8 x 32 KiB / 320 GiB/s - 1 = 10.4 us with LL,
 * and 7.8 us through the switch; 16 KiB 6.9 us with LL. B200 have 11 and 19.5 us, and 600 GiB/s: 64
 * KiB 17.3 us. Windows need all pairs of one machine's GPUs on NVLink. Without NVLink SHARP, or
 * with two GPUs, each GPU reads the parts of others. */
static void windows_take_low_latency_until_its_bytes_cost_more(void)
{
	struct library_params library = defaults();
	struct comm_shape eight = hopper(8), two = hopper(2);
	eight.peer_access = two.peer_access = true;
	CHECK(all_reduce(&library, &eight, 16384).algorithm->cost != COST_SHOTS);
	library.symmetric = true;
	CHECK_TEXT(all_reduce(&library, &eight, 16384).algorithm->name, "one_shot");
	CHECK(all_reduce(&library, &eight, 16384).protocol == PROTOCOL_LL);
	CHECK_TEXT(all_reduce(&library, &eight, 32768).algorithm->name, "nvls");
	CHECK_TEXT(all_reduce(&library, &two, 1e6).algorithm->name, "two_shot");
	CHECK_TEXT(library_choose(&library, &two, COLLECTIVE_REDUCE_SCATTER, 1e6).algorithm->name,
		   "direct_reduce_scatter");
	CHECK_NEAR(all_reduce(&library, &eight, 1e9).predicted_s,
		   7.8e-6 + 1.125e9 / (480 * 1073741824.0) - 1e-6, 1e-9);
	eight.generation = GENERATION_BLACKWELL;
	CHECK_TEXT(all_reduce(&library, &eight, 65536).algorithm->name, "one_shot");
	eight.generation = GENERATION_HOPPER;
	library.nvls = false;
	CHECK_TEXT(all_reduce(&library, &eight, 32768).algorithm->name, "two_shot");
	eight.peer_access = false;
	CHECK(all_reduce(&library, &eight, 32768).algorithm->cost != COST_SHOTS);
	library.algorithm = "double_tree";
	CHECK_TEXT(all_reduce(&library, &two, 1e6).algorithm->name, "double_tree");
}

/* Returns the algorithm for 16 KiB on eight GPUs. */
static const char *window(const struct library_params *library, const struct comm_shape *shape,
			  enum collective collective)
{
	return library_choose(library, shape, collective, 16384).algorithm->name;
}

/* A given protocol or algorithm, another collective, GPUs without NVLink or without a switch, a
 * second machine and a single rank each prevent kernels for symmetric windows. */
static void windows_have_no_exceptions(void)
{
	struct library_params library = defaults(), given;
	struct comm_shape eight = hopper(8), other;
	library.symmetric = eight.peer_access = true;
	CHECK_TEXT(window(&library, &eight, COLLECTIVE_ALL_REDUCE), "one_shot");
	given = library;
	given.protocol = CHOOSE_LL;
	CHECK_TEXT(window(&given, &eight, COLLECTIVE_ALL_REDUCE), "double_tree");
	given = library;
	given.algorithm = "ring";
	CHECK_TEXT(window(&given, &eight, COLLECTIVE_ALL_REDUCE), "ring");
	CHECK_TEXT(window(&library, &eight, COLLECTIVE_BROADCAST), "broadcast");
	other = eight;
	other.inside = HOP_PCI;
	CHECK_TEXT(window(&library, &other, COLLECTIVE_ALL_REDUCE), "double_tree");
	other = eight;
	other.multicast = false;
	CHECK_TEXT(window(&library, &other, COLLECTIVE_ALL_REDUCE), "double_tree");
	other = nodes(2);
	other.multicast = other.peer_access = true;
	CHECK_TEXT(window(&library, &other, COLLECTIVE_ALL_REDUCE), "double_tree");
	other = hopper(1);
	other.peer_access = true;
	CHECK_TEXT(window(&library, &other, COLLECTIVE_ALL_REDUCE), "ring");
}

/* B200 take 19.5 us and 1000 GiB/s through the switch, with 32 blocks for eight heads. H100 have 16
 * blocks. */
static void windows_of_blackwell_have_their_own_model(void)
{
	struct library_params library = defaults();
	struct comm_shape eight = hopper(8);
	library.symmetric = eight.peer_access = true;
	CHECK(all_reduce(&library, &eight, 1e9).block_count == 2);
	eight.generation = GENERATION_BLACKWELL;
	struct collective_choice choice = all_reduce(&library, &eight, 1e9);
	CHECK_TEXT(choice.algorithm->name, "nvls");
	CHECK(choice.block_count == 4);
	CHECK_NEAR(choice.predicted_s, 19.5e-6 + 1.125e9 / (1000 * 1073741824.0) - 1e-6, 1e-9);
}

/* vLLM leaves buffers to NCCL from 2, 32, 128 and 128 MiB on with Blackwell, and from 8 MiB on
 * before Hopper. TensorRT-LLM needs NVLink, the others also work over PCIe. */
static void custom_all_reduce_depends_on_generation_and_links(void)
{
	static const double blackwell_mib[] = {2, 32, 128, 128};
	struct library_params library = defaults();
	library.custom_all_reduce = CUSTOM_ON;
	for (size_t gpus = 2; gpus <= 8; gpus += 2) {
		struct comm_shape shape = hopper(gpus);
		const char *own = gpus == 2 ? "one_shot" : "two_shot";
		shape.peer_access = true;
		for (int ampere = 0; ampere < 2; ampere++) {
			double most_B = 1048576 * (ampere ? 8 : blackwell_mib[gpus / 2 - 1]);
			shape.generation = ampere ? GENERATION_AMPERE : GENERATION_BLACKWELL;
			CHECK_TEXT(all_reduce(&library, &shape, most_B - 16).algorithm->name, own);
			CHECK(all_reduce(&library, &shape, most_B).algorithm->cost != COST_SHOTS);
		}
	}
	struct comm_shape two = hopper(2);
	two.peer_access = true;
	two.inside = HOP_PCI;
	CHECK_TEXT(all_reduce(&library, &two, 1024).algorithm->name, "one_shot");
	library.engine = ENGINE_TENSORRT_LLM;
	CHECK(all_reduce(&library, &two, 1024).algorithm->cost != COST_SHOTS);
}

/* The constants of NCCL's model contain the wire, once for each time that all ranks wait for each
 * other. So the start is shorter by what the simulated wire adds: twice for an all-reduce in two
 * phases, once for all others. */
static void windows_count_the_wire_once(void)
{
	struct comm_shape eight = hopper(8), two = hopper(2);
	eight.peer_access = two.peer_access = true;
	const struct {
		const struct comm_shape *shape;
		enum collective collective;
		double size_B, hops;
		const char *algorithm;
	} cases[] = {{&eight, COLLECTIVE_ALL_REDUCE, 16384, 1, "one_shot"},
		     {&eight, COLLECTIVE_ALL_REDUCE, 32768, 2, "nvls"},
		     {&two, COLLECTIVE_ALL_REDUCE, 1e6, 2, "two_shot"},
		     {&two, COLLECTIVE_REDUCE_SCATTER, 1e6, 1, "direct_reduce_scatter"},
		     {&two, COLLECTIVE_ALL_GATHER, 1e6, 1, "direct_all_gather"}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct collective_choice choices[2];
		for (int wire = 0; wire < 2; wire++) {
			struct library_params library = defaults();
			library.symmetric = true;
			library.wire_nvlink_s = wire ? 0.25e-6 : 0;
			choices[wire] = library_choose(&library, cases[i].shape,
						       cases[i].collective, cases[i].size_B);
			CHECK_TEXT(choices[wire].algorithm->name, cases[i].algorithm);
		}
		CHECK_NEAR(choices[0].start_s - choices[1].start_s, cases[i].hops * 0.25e-6, 1e-9);
	}
}

/* The constants change the time and not the choice: a start of 6.6 us and hops of 0.6 us, of which
 * 0.5 us are the wire's. Between machines a tree starts in 6.8 us, and its one channel adds 1.6 us
 * for the proxy. Sockets add nothing. */
static void constants_of_a_generation_scale_times_on_one_machine_and_on_two(void)
{
	struct arena *arena = arena_new();
	struct collective_constants constants;
	for (size_t i = 0; i < collective_table.count; i++)
		CHECK(!quantity_parse(
			arena, collective_table.rows[i].quantity, collective_table.rows[i].preset,
			(double *)((char *)&constants + collective_table.rows[i].offset)));
	arena_free(arena);
	struct library_params library = defaults();
	struct collective_choice before = all_reduce(&library, &one_node, 8);
	constants.start_ll_ratio = 1.5;
	constants.hop_ll_ratio = 2;
	constants.block_ll_ratio = 0.5;
	library.constants[GENERATION_AMPERE] = &constants;
	struct collective_choice choice = all_reduce(&library, &one_node, 8);
	CHECK_NEAR(choice.predicted_s, before.predicted_s, 1e-15);
	CHECK_NEAR(choice.start_s, 9.9e-6, 1e-12);
	CHECK_NEAR(choice.hop_s[HOP_NVLINK], 0.7e-6, 1e-12);
	CHECK_NEAR(choice.channel_cap_Bps[HOP_NVLINK], 1.75e9, 1);
	struct comm_shape two = nodes(2);
	library.protocol = CHOOSE_LL;
	library.algorithm = "double_tree";
	CHECK_NEAR(all_reduce(&library, &two, 8).start_s, 1.5 * 6.8e-6 + 1.6e-6, 1e-12);
	two.socket = true;
	CHECK_NEAR(all_reduce(&library, &two, 8).start_s, 1.5 * 6.8e-6, 1e-12);
}

/* An all-to-all of 8 GPUs copies each rank's own part, and has a time for each of 7 peers. With
 * Simple, the other constant replaces the 8.4 us of the model. */
static void all_to_all_pays_for_each_peer(void)
{
	struct library_params library = defaults();
	library.message_s = 1e-6;
	library.block_copy_Bps = 10e9;
	struct collective_choice small =
		library_choose(&library, &one_node, COLLECTIVE_ALL_TO_ALL, 1024);
	CHECK_NEAR(small.start_s, 13.6e-6, 1e-12);
	CHECK_NEAR(small.copy_spB, 1 / 320e9, 1e-15); /* 32 blocks */
	library.message_simple_s = 20e-6;
	CHECK_NEAR(library_choose(&library, &one_node, COLLECTIVE_ALL_TO_ALL, 1e6).start_s, 27e-6,
		   1e-12);
}

static const struct test tests[] = {
	TEST(custom_all_reduce_takes_one_shot_for_small_buffers_and_two_for_larger_ones),
	TEST(each_engine_has_its_own_sizes),
	TEST(the_plugin_of_efa_plans_with_a_latency_of_the_generation),
	TEST(the_plugin_of_efa_interpolates_its_table),
	TEST(tokens_cross_the_network_once_for_each_machine),
	TEST(custom_all_reduce_needs_access_to_all_peers),
	TEST(one_shot_divides_the_kernels_bandwidth_among_the_peers),
	TEST(windows_take_low_latency_until_its_bytes_cost_more),
	TEST(windows_have_no_exceptions),
	TEST(windows_of_blackwell_have_their_own_model),
	TEST(custom_all_reduce_depends_on_generation_and_links),
	TEST(windows_count_the_wire_once),
	TEST(constants_of_a_generation_scale_times_on_one_machine_and_on_two),
	TEST(all_to_all_pays_for_each_peer),
};

int main(void)
{
	return TEST_MAIN(tests);
}
