/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A search of plans: its progress, and the intervals that follow from first steps. */
#include <math.h>
#include <stdlib.h>

#include "sim/analysis/plan_keys.h"
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
	char best[256]; /* the fastest plan that was told last, and its step */
	double best_s;
};

static void tell(void *ctx, size_t before, size_t done, size_t count)
{
	struct progress_log *log = ctx;
	if (CHECK(before == 0 && log->count < TOLD_MAX)) {
		log->done[log->count] = done;
		log->total[log->count++] = count;
	}
}

static void tell_best(void *ctx, const char *name, double step_s)
{
	struct progress_log *log = ctx;
	snprintf(log->best, sizeof log->best, "%s", name);
	log->best_s = step_s;
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

static const char *const few[] = {"plan.recompute=none", "plan.sharding=none", "plan.schedule=auto",
				  "plan.chunks=1",       "plan.micro_batch=4", NULL};
static const char *const few_first_steps[] = {
	"plan.recompute=none", "plan.sharding=none",   "plan.schedule=auto",
	"plan.chunks=1",       "plan.micro_batch=4",   "case.steps=1",
	"case.steps_warmup=0", "case.micro_batches=0", NULL};

/* Searches plans with further settings on one thread. */
static const struct plan_search *search_with(struct arena *arena, struct progress_log *log,
					     struct plan_search_request request,
					     const char *const *more)
{
	struct setting all[SETTINGS + 16];
	size_t count = SETTINGS;
	memcpy(all, settings, sizeof settings);
	for (size_t i = 0; more[i] && count < SETTINGS + 16; i++)
		all[count++] = (struct setting){more[i], {"test", 0}};
	request.input.request = (struct case_request){
		.settings = all, .setting_count = count, .data_root = data_root_find(arena)};
	request.input.options.seed = request.input.options.jobs = 1;
	if (log)
		request.input.watch = (struct watch){tell, log};
	request.tell_best = log ? tell_best : NULL;
	request.most_count = request.most_count ? request.most_count : BEST;
	struct diag *diag = diag_new(arena);
	struct sweep_fault fault;
	const struct plan_search *found = plan_search_run(arena, diag, &request, &fault);
	diag_print(diag, stdout);
	CHECK(found && !fault.broken && diag_count(diag) == 0);
	return found;
}

/* Each plan takes a first step. If they are all simulated, their number is known from the
 * beginning. Then the best ones take a step and a step for each draw. Whole steps are assumed to
 * follow for one plan: three steps, and before them, one more plan with draws. */
static void steps_of_all_plans_and_their_draws_are_expected_from_the_first_one(void)
{
	struct arena *arena = arena_new();
	struct progress_log *log = ARENA_NEW(arena, struct progress_log);
	struct plan_search_request request = {.exhaustive = true};
	request.input.options.draws_count = DRAWS;
	const struct plan_search *found = search_with(arena, log, request, few);
	size_t later = (BEST + 1) * (1 + DRAWS) + 3, drawn = BEST * (1 + DRAWS);
	if (found && CHECK(log->count > found->fitting_count + drawn)) {
		size_t plans = found->fitting_count, confirmed = 0;
		for (size_t i = 0; i < plans + drawn; i++) {
			CHECK(log->done[i] == i + 1);
			CHECK(log->total[i] == plans + later);
		}
		for (size_t i = plans + drawn; i < log->count; confirmed++)
			for (size_t k = 0; k <= DRAWS && i < log->count; k++, i++)
				CHECK(log->total[i] ==
				      plans + drawn + (confirmed + 1) * (4 + DRAWS));
		CHECK(log->done[log->count - 1] == log->total[log->count - 1]);
		CHECK(found->first_count == BEST - confirmed); /* the others show first steps */
	}
	arena_free(arena);
}

/* With steps of the user's settings no plan is confirmed, and the three steps that were expected
 * for it count as done in the end. The search expects to simulate only the best plans, because the
 * estimates of the others are more than 2 % longer. */
static void fastest_plan_so_far_is_the_best_one_in_the_end(void)
{
	struct arena *arena = arena_new();
	struct progress_log *log = ARENA_NEW(arena, struct progress_log);
	const struct plan_search *found =
		search_with(arena, log, (struct plan_search_request){0}, few_first_steps);
	if (found && CHECK(found->best_count == BEST && found->first_count == 0)) {
		CHECK_TEXT(log->best, found->plans[0].name);
		CHECK(log->best_s == found->plans[0].prediction->step_s.value);
		CHECK(found->fitting_count == 6 && found->needed_count == BEST);
		CHECK(log->count == BEST + 1 && log->done[BEST] == BEST + 3);
		for (size_t i = 0; i < log->count; i++)
			CHECK(log->total[i] == BEST + 3 && (i == BEST || log->done[i] == i + 1));
	}
	arena_free(arena);
}

/* Sorts by the first number of a pair. */
static int by_first(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Returns how many plans of an exhaustive search are needed. Plans are simulated in order of their
 * estimates, up to the first one that is certainly slower than the plan in place `most`: its
 * estimate is more than 2 % above the step of that plan. Before, the estimate is multiplied by the
 * smallest ratio of a step to its estimate so far. The ratio is at most ratio_most, and at most 1
 * for the first ten plans. */
static size_t needed_of(const struct plan_search *found, size_t most, double ratio_most)
{
	double pairs[32][2], steps[32], ratio = ratio_most;
	size_t needed = 0, all = found->plan_count;
	if (!CHECK(all == found->fitting_count && all <= 32))
		return 0;
	for (size_t i = 0; i < all; i++) {
		pairs[i][0] = found->plans[i].estimate_s;
		pairs[i][1] = found->plans[i].prediction->step_s.value;
	}
	qsort(pairs, all, sizeof pairs[0], by_first);
	for (; needed < all; needed++) {
		double least = needed < 10 ? fmin(ratio, 1) : ratio;
		if (needed >= most && pairs[needed][0] * least > 1.02 * steps[most - 1])
			break;
		steps[needed] = pairs[needed][1];
		ratio = fmin(ratio, pairs[needed][1] / pairs[needed][0]);
		qsort(steps, needed + 1, sizeof steps[0], by_first);
	}
	return needed;
}

/* On PCIe, steps are shorter than some estimates. On NVLink they are longer, so that the last plans
 * are not needed. */
static void search_ends_when_no_estimate_can_reach_the_last_of_the_best_plans(void)
{
	static const char *const pcie[] = {"case.topology=l40s-8gpu",
					   "plan.recompute=none",
					   "plan.micro_batch=1",
					   "case.steps=1",
					   "case.steps_warmup=0",
					   "case.micro_batches=0",
					   NULL};
	static const char *const nvlink[] = {"plan.recompute=none",  "plan.sharding=none",
					     "plan.schedule=auto",   "plan.chunks=1",
					     "case.steps=1",         "case.steps_warmup=0",
					     "case.micro_batches=0", NULL};
	struct arena *arena = arena_new();
	struct plan_search_request request = {.exhaustive = true};
	const struct plan_search *found = search_with(arena, NULL, request, pcie);
	if (found) {
		CHECK(found->needed_count == needed_of(found, BEST, 1.03));
		CHECK(found->needed_count > 10 && found->needed_count < found->plan_count);
	}
	request.most_count = 10;
	found = search_with(arena, NULL, request, nvlink);
	if (found) {
		CHECK(found->needed_count == needed_of(found, 10, 1.03));
		CHECK(found->needed_count < needed_of(found, 10, 1));
	}
	arena_free(arena);
}

/* The search of one key varies its usual values. Four GPUs are one machine, so a tensor group has
 * 1, 2 or 4 of them. A rank has four of the 16 sequences, so micro-batches of 8 are impossible. The
 * six blocks of a stage have no four equal chunks. Schedules differ only between stages of one
 * chunk. Attention that is not fused has one value more. */
static void each_key_has_its_usual_values(void)
{
#define ONE "plan.tp=1", "plan.pp=1", "plan.chunks=1", "plan.ep=1"
	static const struct {
		const char *settings[10];
		size_t count;
	} rows[] = {
		{{ONE, "plan.micro_batch=1", "plan.sharding=none", "plan.schedule=auto"}, 2},
		{{ONE, "plan.micro_batch=1", "plan.sharding=none", "plan.schedule=auto",
		  "stack.fused_attention=false"},
		 3},
		{{ONE, "plan.recompute=none", "plan.sharding=none", "plan.schedule=auto"}, 3},
		{{ONE, "plan.recompute=none", "plan.micro_batch=1", "plan.schedule=auto"}, 3},
		{{ONE, "plan.recompute=none", "plan.micro_batch=1", "plan.sharding=none"}, 1},
		{{"plan.tp=1", "plan.pp=2", "plan.chunks=1", "plan.ep=1", "plan.recompute=none",
		  "plan.micro_batch=1", "plan.sharding=none"},
		 2},
		{{"plan.tp=1", "plan.pp=2", "plan.schedule=auto", "plan.ep=1",
		  "plan.recompute=none", "plan.micro_batch=1", "plan.sharding=none"},
		 2},
		{{"plan.pp=1", "plan.chunks=1", "plan.schedule=auto", "plan.ep=1",
		  "plan.recompute=none", "plan.micro_batch=1", "plan.sharding=none"},
		 3},
		{{ONE, "plan.recompute=none", "plan.sharding=none", "plan.schedule=auto",
		  "plan.global_batch=32"},
		 4},
		{{"plan.tp=1", "plan.pp=3", "plan.schedule=auto", "plan.ep=1",
		  "plan.recompute=none", "plan.micro_batch=1", "plan.sharding=none", "case.gpus=3",
		  "plan.global_batch=12"},
		 3},
		{{"plan.cp=2", "plan.tp=1", "plan.pp=1", "plan.schedule=auto", "plan.ep=1",
		  "plan.recompute=none", "plan.micro_batch=1", "case.gpus=2",
		  "plan.global_batch=12"},
		 3},
		{{"plan.tp=2", "plan.pp=1", "plan.schedule=auto", "plan.ep=1",
		  "plan.recompute=none", "plan.micro_batch=1", "case.gpus=2",
		  "plan.global_batch=12"},
		 1},
		{{"plan.tp=1", "plan.chunks=1", "plan.schedule=auto", "plan.ep=1",
		  "plan.recompute=none", "plan.micro_batch=1", "plan.sharding=none"},
		 3},
		{{"plan.tp=1", "plan.chunks=1", "plan.schedule=auto", "plan.ep=1",
		  "plan.recompute=none", "plan.micro_batch=1", "plan.sharding=none", "case.gpus=6",
		  "plan.global_batch=12"},
		 4},
	};
#undef ONE
	const struct plan_search_request request = {.count_only = true};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct arena *arena = arena_new();
		const struct plan_search *found =
			search_with(arena, NULL, request, rows[i].settings);
		if (!CHECK(found && found->possible_count == rows[i].count))
			printf("  row %zu: %zu plans\n", i, found ? found->possible_count : 0);
		CHECK(!found || (found->fitting_count == rows[i].count && found->plan_count == 0));
		arena_free(arena);
	}
}

/* A search refuses values outside of a key's bounds and unknown words. Other values set the key. */
static void values_of_keys_are_set_or_refused(void)
{
	static const char *const good[] = {"plan.tp=8", "plan.sharding=optimizer",
					   "plan.anyway=true", "plan.sequence_parallel=false",
					   "plan.schedule=1f1b"};
	static const char *const bad[] = {"plan.tp=0",         "plan.tp=2.5",
					  "plan.tp=1e99",      "plan.tp=2x",
					  "plan.tp=",          "plan.sharding=optimize",
					  "plan.anyway=maybe", "plan.sharding="};
	struct plan_params params = {.sequence_parallel = true};
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		const struct param_row *row = plan_key_row(good[i]);
		CHECK(row && plan_key_set(row, &params, strchr(good[i], '=') + 1));
	}
	CHECK(params.tp_count == 8 && params.sharding == SHARDING_OPTIMIZER && params.anyway &&
	      !params.sequence_parallel);
	CHECK_TEXT(params.schedule, "1f1b");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const struct param_row *row = plan_key_row(bad[i]);
		CHECK(row && !plan_key_set(row, &params, strchr(bad[i], '=') + 1));
	}
	CHECK(!plan_key_row("plan.t=1") && !plan_key_row("plan.tpp=1") && !plan_key_row("plan.=1"));
}

/* With two chunks on a stage, auto means the interleaved schedule, so both are one plan. */
static void a_schedule_that_repeats_auto_is_left_out(void)
{
	static const char *const more[] = {
		"plan.tp=1",           "plan.pp=2",          "plan.chunks=2",      "plan.ep=1",
		"plan.recompute=none", "plan.micro_batch=1", "plan.sharding=none", NULL};
	struct arena *arena = arena_new();
	struct sweep_axis axis;
	struct plan_search_request request = {.count_only = true, .axes = &axis, .axis_count = 1};
	CHECK(sweep_axis_read(arena, diag_new(arena), "--vary", "plan.schedule=auto,interleaved",
			      &axis));
	const struct plan_search *found = search_with(arena, NULL, request, more);
	CHECK(found && found->possible_count == 1);
	arena_free(arena);
}

/* Nothing fits into 1 MiB, unless plan.anyway lets each plan fit into any memory. */
static void plans_that_are_allowed_anyway_fit_into_any_memory(void)
{
	const struct plan_search_request request = {.count_only = true};
	for (size_t i = 0; i < 2; i++) {
		const char *more[] = {"plan.tp=1", "plan.pp=1", "gpu.h100-sxm5.memory=1 MiB",
				      i ? "plan.anyway=true" : NULL, NULL};
		struct arena *arena = arena_new();
		const struct plan_search *found = search_with(arena, NULL, request, more);
		if (found) {
			CHECK(found->gpu_memory_B == 1 << 20 && found->possible_count > 0);
			CHECK(found->fitting_count == (i ? found->possible_count : 0));
		}
		arena_free(arena);
	}
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
		/* the second plan is near the first one, so it has whole steps, too */
		double step_s[BEST];
		for (size_t i = 0; i < BEST; i++)
			step_s[i] = found->plans[i].prediction->step_s.value;
		CHECK(step_s[1] < 1.008 * step_s[0] && step_s[2] > 1.02 * step_s[0]);
		CHECK(found->first_count == 1);
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
	TEST(steps_of_all_plans_and_their_draws_are_expected_from_the_first_one),
	TEST(fastest_plan_so_far_is_the_best_one_in_the_end),
	TEST(search_ends_when_no_estimate_can_reach_the_last_of_the_best_plans),
	TEST(each_key_has_its_usual_values),
	TEST(values_of_keys_are_set_or_refused),
	TEST(a_schedule_that_repeats_auto_is_left_out),
	TEST(plans_that_are_allowed_anyway_fit_into_any_memory),
	TEST(intervals_of_the_best_plan_are_those_of_a_prediction_within_a_percent),
};

int main(void)
{
	return TEST_MAIN(tests);
}
