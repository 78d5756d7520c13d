/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps of a grid and of a list: which points have draws, are refused or left out. */
#include "sim/analysis/sweep.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "tests/test.h"

static struct arena *arena;

/* Checks which points of a sweep over batches have draws, if two of them may. */
static void check_drawn(const char *batches, const char *drawn)
{
	static const struct setting job[] = {{"case.topology=dgx1-v100", {"--topology", 0}},
					     {"case.model=alexnet", {"--model", 0}},
					     {"case.stack=pytorch", {"--stack", 0}},
					     {"case.steps=1", {"--set", 0}}};
	struct diag *diag = diag_new(arena);
	struct sweep_axis axis;
	CHECK(sweep_axis_read(arena, diag, "--vary", arena_printf(arena, "case.batch=%s", batches),
			      &axis));
	const struct sweep_request request = {
		.input = {.request = {.settings = job,
				      .setting_count = 4,
				      .data_root = data_root_find(arena)},
			  .options = {.seed = 1, .draws_count = 2, .jobs = 1}},
		.axes = &axis,
		.axis_count = 1,
		.most_drawn = 2};
	struct sweep_fault fault;
	const struct sweep *sweep = sweep_run(arena, diag, &request, &fault);
	diag_print(diag, stdout);
	if (!CHECK(sweep && sweep->point_count == strlen(drawn)))
		return;
	for (size_t i = 0; drawn[i]; i++)
		CHECK((sweep->points[i]->drawn_count > 0) == (drawn[i] == 'd') &&
		      sweep->points[i]->ok == (drawn[i] != 'f'));
}

/* Larger batches are faster, and 1e5 images need more than the memory. A first point that fails (f)
 * has no draws (d), nor have points that fail beside it. */
static void first_and_fastest_points_have_draws_if_they_work(void)
{
	check_drawn("8,16,32", "d-d");
	check_drawn("100000,8,16,32", "f-dd");
	check_drawn("100000,8,99999", "fdf");
}

static const struct prediction *const *seen_points;

/* The third point is not needed once the first one is finished. */
static bool ends_at_two(const void *ctx, size_t point, const struct prediction *const *points)
{
	seen_points = points;
	return point >= 2 && points[0];
}

/* A batch of 0 is out of range, so this point of a list is refused. All others have predictions,
 * unless the list ends before them. */
static void points_of_a_list_are_refused_or_left_out(void)
{
	static const struct setting job[] = {{"case.topology=dgx1-v100", {"--topology", 0}},
					     {"case.model=alexnet", {"--model", 0}},
					     {"case.stack=pytorch", {"--stack", 0}},
					     {"case.steps=1", {"--set", 0}}};
	static const struct setting batches[] = {{"case.batch=8", {"test", 0}},
						 {"case.batch=0", {"test", 0}},
						 {"case.batch=16", {"test", 0}}};
	const struct setting *const settings[] = {&batches[0], &batches[1], &batches[2]};
	for (int ends = 0; ends < 2; ends++) {
		const char *refused[3] = {0};
		const struct sweep_list list = {.settings = settings,
						.setting_count = 1,
						.point_count = 3,
						.ends = ends ? ends_at_two : NULL,
						.refused = refused};
		const struct sweep_request request = {
			.input = {.request = {.settings = job,
					      .setting_count = 4,
					      .data_root = data_root_find(arena)},
				  .options = {.seed = 1, .jobs = 1}},
			.list = &list};
		struct diag *diag = diag_new(arena);
		struct sweep_fault fault;
		const struct sweep *sweep = sweep_run(arena, diag, &request, &fault);
		diag_print(diag, stdout);
		if (!CHECK(sweep && sweep->point_count == 3 && !refused[0] && !refused[2]))
			continue;
		CHECK(sweep->points[0] && !sweep->points[1] &&
		      (sweep->points[2] == NULL) == (ends == 1));
		CHECK_PART(refused[1], "case.batch = \"0\" is out of range");
		CHECK(!ends || seen_points == sweep->points);
	}
}

/* Two tensor ranks and two stages are possible on two GPUs, but not both together. */
static void errors_of_a_combination_of_values_are_reported(void)
{
	static const struct setting plan[] = {{"case.topology=dgx-h100", {"--topology", 0}},
					      {"case.model=gpt3-125m", {"--model", 0}},
					      {"case.stack=pytorch-fsdp-bf16", {"--stack", 0}},
					      {"case.exchange=nccl-2.18", {"--exchange", 0}},
					      {"case.gpus=2", {"--gpus", 0}},
					      {"plan.global_batch=2", {"--plan", 0}},
					      {"case.steps=1", {"--set", 0}}};
	struct sweep_axis both[2];
	struct diag *diag = diag_new(arena);
	CHECK(sweep_axis_read(arena, diag, "--vary", "plan.tp=1,2", &both[0]));
	CHECK(sweep_axis_read(arena, diag, "--vary", "plan.pp=1,2", &both[1]));
	const struct sweep_request request = {
		.input = {.request = {.settings = plan,
				      .setting_count = 7,
				      .data_root = data_root_find(arena)},
			  .options = {.seed = 1, .jobs = 2}},
		.axes = both,
		.axis_count = 2};
	struct sweep_fault fault;
	CHECK(!sweep_run(arena, diag, &request, &fault));
	CHECK(!fault.broken && !fault.outside && diag_count(diag) == 1);
	if (diag_count(diag) > 0)
		CHECK_PART(diag_at(diag, 0), "are not divisible by pp (2)");
}

static const struct test tests[] = {
	TEST(first_and_fastest_points_have_draws_if_they_work),
	TEST(points_of_a_list_are_refused_or_left_out),
	TEST(errors_of_a_combination_of_values_are_reported),
};

int main(void)
{
	arena = arena_new();
	int failed = TEST_MAIN(tests);
	arena_free(arena);
	return failed;
}
