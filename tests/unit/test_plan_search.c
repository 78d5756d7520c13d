/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A search of plans: its progress, and the intervals that follow from first steps. */
#include <math.h>

#include "sim/analysis/plan_search.h"
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "tests/test.h"

static const struct setting settings[] = {{"case.topology=dgx-h100", {"test", 0}},
					  {"case.model=gpt3-125m", {"test", 0}},
					  {"case.stack=pytorch-fsdp-bf16", {"test", 0}},
					  {"case.exchange=nccl-2.18", {"test", 0}},
					  {"case.gpus=4", {"test", 0}},
					  {"plan.global_batch=16", {"test", 0}}};
enum { SETTINGS = sizeof settings / sizeof settings[0], BEST = 3, DRAWS = 4, TOLD_MAX = 4096 };

struct progress_log {
	size_t count, done[TOLD_MAX], total[TOLD_MAX];
};

static void tell(void *ctx, size_t before, size_t done, size_t count)
{
	struct progress_log *log = ctx;
	if (CHECK(before == 0 && log->count < TOLD_MAX)) {
		log->done[log->count] = done;
		log->total[log->count++] = count;
	}
}

static const struct plan_search *search(struct arena *arena, struct progress_log *log,
					const char *data_root)
{
	struct diag *diag = diag_new(arena);
	struct sweep_fault fault;
	const struct plan_search_request request = {
		.input = {.request = {.settings = settings,
				      .setting_count = SETTINGS,
				      .data_root = data_root},
			  .options = {.seed = 1, .draws_count = DRAWS, .jobs = 2},
			  .watch = {tell, log}},
		.most_count = BEST};
	const struct plan_search *found = plan_search_run(arena, diag, &request, &fault);
	CHECK(found && !fault.broken && diag_count(diag) == 0);
	return found;
}

/* The best plans take a step each, and one for each draw. The first one, or several, take three
 * more steps, one to compare draws with, and one for each draw. */
static void progress_counts_all_steps_and_estimates_them_early(void)
{
	struct arena *arena = arena_new();
	struct progress_log *log = ARENA_NEW(arena, struct progress_log);
	*log = (struct progress_log){0};
	const struct plan_search *found = search(arena, log, data_root_find(arena));
	if (found && CHECK(log->count > 0)) {
		size_t last = log->count - 1, all = log->total[last];
		CHECK(log->done[last] == all);
		size_t each = 1 + DRAWS, confirmed = 3 + 1 + DRAWS;
		CHECK(all >= BEST * each + confirmed + found->needed_count);
		CHECK(all <= BEST * (each + confirmed) + found->fitting_count);
		for (size_t i = 0; i < log->count; i++) {
			CHECK(i == 0 || log->done[i] > log->done[i - 1]);
			CHECK(log->total[i] >= log->done[i]);
			if (i > BEST)
				CHECK(log->total[i] < 2 * all && all < 2 * log->total[i]);
		}
	}
	arena_free(arena);
}

/* Predicts the case with the plan "tp=2,pp=1,..." as `farwire run` does. */
static const struct prediction *run(struct arena *arena, const char *plan, const char *data_root)
{
	struct setting all[SETTINGS + 16];
	size_t count = 0;
	for (; count < SETTINGS; count++)
		all[count] = settings[count];
	for (const char *at = plan; *at && count < SETTINGS + 16; at += *at == ',') {
		int length = (int)strcspn(at, ",");
		all[count++] =
			(struct setting){arena_printf(arena, "plan.%.*s", length, at), {"test", 0}};
		at += length;
	}
	const struct case_request request = {
		.settings = all, .setting_count = count, .data_root = data_root};
	const struct predict_options options = {.seed = 1, .draws_count = DRAWS, .jobs = 2};
	const char *broken;
	return predict_case(arena, diag_new(arena), &request, &options, &broken);
}

/* The ends of the interval come from first steps, whose relative changes are those of later steps
 * within a percent. */
static void intervals_of_the_best_plan_are_those_of_a_prediction_within_a_percent(void)
{
	struct arena *arena = arena_new();
	struct progress_log *log = ARENA_NEW(arena, struct progress_log);
	const char *data_root = data_root_find(arena);
	*log = (struct progress_log){0};
	const struct plan_search *found = search(arena, log, data_root);
	if (found && CHECK(found->best_count == BEST)) {
		const struct prediction *p = run(arena, found->plans[0].name, data_root);
		if (CHECK(p && p->ok)) {
			struct estimate a = found->plans[0].prediction->throughput;
			CHECK(a.value == p->throughput.value);
			CHECK_NEAR(a.low, p->throughput.low, 0.01);
			CHECK_NEAR(a.high, p->throughput.high, 0.01);
			CHECK(a.low < a.value && a.value < a.high);
		}
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(progress_counts_all_steps_and_estimates_them_early),
	TEST(intervals_of_the_best_plan_are_those_of_a_prediction_within_a_percent),
};

int main(void)
{
	return TEST_MAIN(tests);
}
