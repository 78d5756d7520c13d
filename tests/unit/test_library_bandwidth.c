/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bandwidth of the collective library's choices. */
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

static const struct test tests[] = {
	TEST(flags_and_copies_take_their_part_of_the_bandwidth),
	TEST(heads_of_more_than_two_machines_share_their_adapters),
};

int main(void)
{
	return TEST_MAIN(tests);
}
