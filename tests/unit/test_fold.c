/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where messages between folded machines meet, and the folds of groups. */
#include "sim/collective/fold.h"
#include "tests/ring_site.h"

static int meeting(struct site *site, int top, int a, int b, enum fold_level level)
{
	return fold_meeting(site->fabric, top, a, b, level, TRAFFIC_RDMA);
}

/* Adapters 0 and 1 are at the first leaf and 2 at the second, adapter 3 is at the spine, and
 * adapter 4 has no cable. */
static void messages_meet_at_the_first_common_switch(void)
{
	struct site site;
	site_open(&site);
	int spine = node(&site, "spine"), leaves[] = {node(&site, "leaf"), node(&site, "leaf")};
	int ends[5], above[] = {leaves[0], leaves[0], leaves[1], spine};
	for (size_t i = 0; i < 5; i++) {
		int nic = node(&site, "nic");
		ends[i] = node(&site, "gpu");
		join(&site, "pcie", nic, ends[i], 1e9);
		if (i < 4)
			join(&site, "infiniband", nic, above[i], 1e9);
	}
	for (size_t i = 0; i < 2; i++)
		join(&site, "infiniband", leaves[i], spine, 1e9);
	CHECK(meeting(&site, spine, ends[0], ends[1], FOLD_LEAF) == leaves[0]);
	CHECK(meeting(&site, spine, ends[0], ends[1], FOLD_POD) == spine);
	CHECK(meeting(&site, spine, ends[0], ends[1], FOLD_TOP) == spine);
	CHECK(meeting(&site, spine, ends[0], ends[2], FOLD_LEAF) == spine);
	CHECK(meeting(&site, spine, ends[0], ends[3], FOLD_LEAF) == -1);
	CHECK(meeting(&site, spine, ends[4], ends[4], FOLD_LEAF) == -1);
	arena_free(site.arena);
}

/* Two equal machines with two ranks each, of which the first represents both. A group has a fold if
 * its members have the same places in both machines. */
static void groups_fold_if_their_members_have_equal_places(void)
{
	static const struct {
		size_t members[4], count, simulated_count;
	} cases[] = {{{0, 2}, 2, 1},    {{1, 3}, 2, 1},    {{0, 1, 2, 3}, 4, 2}, {{0, 3}, 2, 0},
		     {{0, 1, 2}, 3, 0}, {{0, 2, 3}, 3, 0}, {{2, 3}, 2, 2}};
	uint32_t machine_of[] = {0, 0, 1, 1}, first_rank[] = {0, 2, 4}, leaf_of[] = {0, 1};
	uint32_t pod_of[] = {0, 0}, like[] = {0, 0}, count_of[] = {2, 0};
	const struct fold fold = {.rank_count = 4,
				  .machine_count = 2,
				  .machine_of = machine_of,
				  .first_rank = first_rank,
				  .leaf_of = leaf_of,
				  .pod_of = pod_of,
				  .like = like,
				  .count_of = count_of};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *arena = arena_new();
		const struct fold *part = fold_part(arena, &fold, cases[i].members, cases[i].count);
		CHECK((part != NULL) == (cases[i].simulated_count > 0));
		if (part) {
			CHECK(part->simulated_count == cases[i].simulated_count);
			CHECK(part->class_count == 1 && part->count_of[0] == 2);
			CHECK(part->rank_of[0] == 0);
		}
		arena_free(arena);
	}
}

/* The level of two machines follows from their leaves and pods. */
static void levels_follow_leaves_and_pods(void)
{
	uint32_t leaf_of[] = {0, 0, 1, 2}, pod_of[] = {0, 0, 1};
	const struct fold fold = {.leaf_of = leaf_of, .pod_of = pod_of};
	static const enum fold_level expected[] = {FOLD_INSIDE, FOLD_LEAF, FOLD_POD, FOLD_TOP};
	for (size_t m = 0; m < 4; m++)
		CHECK(fold_level(&fold, 0, m) == expected[m]);
}

static const struct test tests[] = {
	TEST(messages_meet_at_the_first_common_switch),
	TEST(groups_fold_if_their_members_have_equal_places),
	TEST(levels_follow_leaves_and_pods),
};

int main(void)
{
	return TEST_MAIN(tests);
}
