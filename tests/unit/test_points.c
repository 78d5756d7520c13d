/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers of points of a case: each has its own settings, and those without a number say why. */
#include "sim/analysis/points.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "tests/test.h"

enum { POINTS = 4 };

static const struct setting job[] = {{"case.topology=dgx1-v100", {"test", 0}},
				     {"case.model=alexnet", {"test", 0}},
				     {"case.stack=pytorch", {"test", 0}},
				     {"case.steps=1", {"test", 0}}};

struct told {
	size_t times, done, count;
};

static void tell(void *ctx, size_t before, size_t done, size_t count)
{
	struct told *told = ctx;
	told->times++;
	CHECK(before == 0 && done == told->times);
	told->done = done;
	told->count = count;
}

/* Batches of 8 and 16 images take the times of a prediction. No batch of 100,000 fits into the
 * memory, and one of 0 is refused. A draw replaces the batch. */
static void each_point_has_its_own_answer_or_reason(void)
{
	static const struct setting batches[] = {{"case.batch=16", {"test", 0}},
						 {"case.batch=100000", {"test", 0}},
						 {"case.batch=0", {"test", 0}},
						 {"case.batch=16", {"test", 0}}};
	static const struct draw_value eight = {"case.batch", 8};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	struct told told = {0};
	struct points points = {.input = {.request = {.settings = job,
						      .setting_count = 4,
						      .data_root = data_root_find(arena)},
					  .options = {.seed = 1, .jobs = 2},
					  .watch = {tell, &told}}};
	const struct scenario *scenario = case_read(arena, diag, &points.input.request);
	if (!CHECK(scenario))
		return arena_free(arena);
	points.reported = reported_find(arena, diag, (struct origin){0},
					reporting_of(arena, scenario), "throughput");
	struct case_point list[POINTS];
	struct case_answer answers[POINTS];
	for (size_t i = 0; i < POINTS; i++)
		list[i] = (struct case_point){.settings = &batches[i], .setting_count = 1};
	list[3].draws = &eight;
	list[3].draw_count = 1;
	const char *broken = "not set";
	CHECK(points_answer(arena, &points, list, POINTS, answers, &broken) && !broken);
	CHECK(told.times == POINTS && told.done == POINTS && told.count == POINTS);
	CHECK(!answers[0].refused && !answers[0].reason && answers[0].number.value > 0);
	CHECK(!answers[1].refused && isnan(answers[1].number.value));
	CHECK_PART(answers[1].reason, "out of GPU memory");
	CHECK(answers[2].refused && isnan(answers[2].number.value));
	CHECK_PART(answers[2].reason, "case.batch");
	CHECK(!answers[3].refused && !answers[3].reason);
	CHECK(answers[3].number.value < 0.99 * answers[0].number.value);
	/* one point takes all draws, which several points share */
	static const struct setting small = {"case.batch=8", {"test", 0}};
	const struct case_point one = {.settings = &small, .setting_count = 1};
	struct case_answer answer;
	told = (struct told){0};
	points.input.options.draws_count = 2;
	CHECK(points_answer(arena, &points, &one, 1, &answer, &broken));
	CHECK(answer.number.value == answers[3].number.value);
	CHECK(answer.number.low < answer.number.value && answer.number.high > answer.number.value);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(each_point_has_its_own_answer_or_reason),
};

int main(void)
{
	return TEST_MAIN(tests);
}
