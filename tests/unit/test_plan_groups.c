/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The groups of a plan with unequal sizes on all axes, the parts of unequal stages, and the numbers
 * of micro-batches that are simulated. */
#include "tests/test.h"
#include "tests/tiny_plan.h"

static struct arena *arena;

/* Returns the group of that kind to which the rank belongs, as text; "": it is alone. */
static const char *group_of(const struct training_plan *plan, enum plan_group kind, size_t rank)
{
	const struct plan_groups groups = plan_groups(arena, plan, true);
	const char *text = "";
	if (groups.of[kind][rank] == 0)
		return text;
	const struct program_group *group = &groups.groups[groups.of[kind][rank] - 1];
	for (size_t i = 0; i < group->count; i++)
		text = arena_printf(arena, "%s%s%zu", text, i ? " " : "", group->members[i]);
	return text;
}

/* Returns a plan of tp 2, cp 3, dp 4, pp 3 and ep 4, with the axes in this order. */
static struct training_plan plan_of(const struct plan_params *params, enum plan_axis first,
				    enum plan_axis second, enum plan_axis third,
				    enum plan_axis fourth)
{
	return (struct training_plan){.params = params,
				      .sizes = {2, 3, 4, 3},
				      .order = {first, second, third, fourth},
				      .rank_count = 72,
				      .expert_count = 4};
}

/* Rank 1 + 2 (2 + 3 (3 + 4 x 1)) = 47 is number 1 of tp, 2 of cp, 3 of dp and 1 of pp. It is number
 * 23 of the 24 ranks of its stage. The embedding's matrix is in the first and in the last stage. */
static void ranks_next_to_each_other_are_of_the_innermost_group(void)
{
	struct plan_params params = one_gpu;
	const struct training_plan plan =
		plan_of(&params, AXIS_TENSOR, AXIS_CONTEXT, AXIS_DATA, AXIS_PIPELINE);
	CHECK_TEXT(group_of(&plan, PLAN_TENSOR, 47), "46 47");
	CHECK_TEXT(group_of(&plan, PLAN_CONTEXT, 47), "43 45 47");
	CHECK_TEXT(group_of(&plan, PLAN_DATA, 47), "25 27 29 31 33 35 37 39 41 43 45 47");
	CHECK_TEXT(group_of(&plan, PLAN_REPLICAS, 47), "");
	CHECK_TEXT(group_of(&plan, PLAN_EXPERT, 47), "44 45 46 47");
	CHECK_TEXT(group_of(&plan, PLAN_EXPERT_DATA, 47), "27 31 35 39 43 47");
	CHECK_TEXT(group_of(&plan, PLAN_EMBEDDING, 47), "");
	CHECK_TEXT(group_of(&plan, PLAN_EMBEDDING, 71), "23 71");
	CHECK(plan_sharers(&plan) == 3 * 4);
	/* 36 tensor, 24 context, 6 data, 18 expert, 12 expert data and 24 embedding groups */
	CHECK(plan_groups(arena, &plan, true).count == 36 + 24 + 6 + 18 + 12 + 24);
	CHECK(plan_groups(arena, &plan, false).count == 36 + 24 + 6 + 18 + 12);
	/* Two replicas have two numbers of dp each. */
	params.replicas_count = 2;
	CHECK_TEXT(group_of(&plan, PLAN_DATA, 47), "37 39 41 43 45 47");
	CHECK_TEXT(group_of(&plan, PLAN_REPLICAS, 47), "35 47");
	CHECK(plan_sharers(&plan) == 3 * 4 / 2);
}

/* The same place is rank 1 + 3 (1 + 2 (3 + 4 x 2)) = 70 if stages are innermost. It is rank 1 + 2
 * (1
 * + 3 (3 + 4 x 2)) = 69 if they are in the middle. It is number 23 of its stage in both. Expert
 * groups are neighbours within the stage. */
static void experts_are_neighbours_within_their_stage(void)
{
	const struct training_plan innermost =
		plan_of(&one_gpu, AXIS_PIPELINE, AXIS_TENSOR, AXIS_DATA, AXIS_CONTEXT);
	const struct training_plan middle =
		plan_of(&one_gpu, AXIS_TENSOR, AXIS_PIPELINE, AXIS_DATA, AXIS_CONTEXT);
	CHECK_TEXT(group_of(&innermost, PLAN_EXPERT, 70), "61 64 67 70");
	CHECK_TEXT(group_of(&innermost, PLAN_EXPERT_DATA, 70), "10 22 34 46 58 70");
	CHECK_TEXT(group_of(&innermost, PLAN_TENSOR, 70), "67 70");
	CHECK_TEXT(group_of(&middle, PLAN_EXPERT, 69), "62 63 68 69");
	CHECK_TEXT(group_of(&middle, PLAN_EXPERT_DATA, 69), "9 21 33 45 57 69");
}

/* The embedding alone takes the place of a block in the first of three parts, or the loss in the
 * last one. The other parts have one of the two blocks each. */
static void embedding_or_loss_takes_its_own_place(void)
{
	const struct network *network = read_tiny(arena);
	for (int loss = 0; loss < 2; loss++) {
		struct plan_params params = one_gpu;
		const char *why = NULL;
		params.pp_count = 3;
		params.embedding_as_block = !loss;
		params.loss_as_block = loss;
		const struct training_plan *plan = plan_new(arena, network, &params, 3, &why);
		if (!CHECK(plan))
			continue;
		const size_t wanted[2][4] = {{0, 1, 2, 2}, {0, 0, 1, 2}};
		for (size_t unit = 0, first = 0; unit < 4;
		     unit++, first = plan_unit_end(plan, first))
			CHECK(plan->parts[first] == wanted[loss][unit]);
	}
}

/* Four stages with one part each repeat after 1 or 2 micro-batches. Behind the first 4, a period of
 * 2 and the rest of 23 are 7. With several parts, a period has 4, so 22 micro-batches begin with 4
 * + 4 + 2. A plan that is not longer than its programs is played whole. */
static void programs_have_whole_periods_of_micro_batches(void)
{
	static const struct {
		size_t chunks, all, periods, played;
	} rows[] = {{1, 23, 0, 7},  {1, 23, 2, 11}, {1, 24, 2, 10}, {1, 11, 2, 11},
		    {1, 12, 2, 10}, {1, 9, 2, 9},   {2, 24, 0, 8},  {2, 22, 0, 10},
		    {2, 24, 3, 20}, {2, 24, 4, 24}, {2, 25, 4, 25}, {2, 400, 2, 16}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct training_plan plan = {.params = &one_gpu,
						   .sizes = {1, 1, 1, 4},
						   .chunk_count = rows[i].chunks,
						   .micro_batch_count = rows[i].all,
						   .played_count = rows[i].all};
		const struct training_plan shorter = plan_shorter(&plan, rows[i].periods);
		CHECK(shorter.played_count == rows[i].played);
		CHECK(shorter.micro_batch_count == rows[i].all);
	}
}

static const struct test tests[] = {
	TEST(ranks_next_to_each_other_are_of_the_innermost_group),
	TEST(experts_are_neighbours_within_their_stage),
	TEST(embedding_or_loss_takes_its_own_place),
	TEST(programs_have_whole_periods_of_micro_batches),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
