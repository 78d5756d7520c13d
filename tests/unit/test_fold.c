/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where messages between folded machines meet, and the folds of groups. */
#include "sim/scenario/fold.h"
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

/* Ranks take the GPUs of one machine after the other: two machines with three GPUs and one with
 * two. The last one may have free GPUs, but each machine needs a rank. */
static void ranks_are_assigned_machine_by_machine(void)
{
	static const struct fold_kind kinds[] = {{2, 3}, {1, 2}};
	static const uint32_t machines[] = {0, 0, 0, 1, 1, 1, 2, 2};
	struct arena *arena = arena_new();
	for (size_t ranks = 5; ranks <= 9; ranks++) {
		const struct fold *fold = fold_of_kinds(arena, kinds, 2, ranks);
		if (!CHECK((fold != NULL) == (ranks == 7 || ranks == 8)) || !fold)
			continue;
		CHECK(fold->rank_count == ranks && fold->machine_count == 3);
		CHECK(memcmp(fold->machine_of, machines, ranks * sizeof *machines) == 0);
		CHECK(fold->first_rank[0] == 0 && fold->first_rank[1] == 3);
		CHECK(fold->first_rank[2] == 6 && fold->first_rank[3] == ranks);
		CHECK(fold->kind_of[0] == 0 && fold->kind_of[1] == 0 && fold->kind_of[2] == 1);
		CHECK(fold->class_count == 2 && fold->simulated_count == 3 + ranks - 6);
		CHECK(fold->rank_of[0] == 0 && fold->rank_of[2] == 2 && fold->rank_of[3] == 6);
		CHECK(fold_count(fold, 0) == 2 && fold_count(fold, 3) == 1);
	}
	arena_free(arena);
}

/* Symmetry is for a single job on several GPUs. By default it needs 1024 of them, or 64 for a plan.
 */
static void large_single_jobs_are_folded(void)
{
	static const struct {
		enum symmetry symmetry;
		size_t jobs, gpus;
		bool plan, wanted;
	} rows[] = {
		{SYMMETRY_AUTO, 1, 1024, false, true},  {SYMMETRY_AUTO, 1, 1023, false, false},
		{SYMMETRY_AUTO, 1, 64, true, true},     {SYMMETRY_AUTO, 1, 63, true, false},
		{SYMMETRY_AUTO, 2, 1024, false, false}, {SYMMETRY_ON, 1, 2, false, true},
		{SYMMETRY_ON, 1, 1, false, false},      {SYMMETRY_ON, 2, 2048, false, false},
		{SYMMETRY_OFF, 1, 2048, true, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct case_params params = {.symmetry = (int)rows[i].symmetry};
		CHECK(fold_is_wanted(&params, rows[i].jobs, rows[i].gpus, rows[i].plan) ==
		      rows[i].wanted);
	}
}

static const struct test tests[] = {
	TEST(ranks_are_assigned_machine_by_machine),
	TEST(large_single_jobs_are_folded),
	TEST(messages_meet_at_the_first_common_switch),
	TEST(groups_fold_if_their_members_have_equal_places),
	TEST(levels_follow_leaves_and_pods),
};

int main(void)
{
	return TEST_MAIN(tests);
}
