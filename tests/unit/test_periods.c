/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps of many micro-batches that are extended equal those that are simulated whole. */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/engine/trace.h"
#include "sim/predict/predict.h"
#include "tests/test.h"

enum { MOST = 12 };

static const struct scenario *read_plan(struct arena *arena, const char *const *more)
{
	static const char *const same[] = {
		"case.topology=dgx-h100",  "case.model=gpt3-1.3b", "case.stack=pytorch-fsdp-bf16",
		"case.exchange=nccl-2.18", "case.gpus=8",          "gpu.h100-sxm5.queue_depth=64"};
	struct setting settings[sizeof same / sizeof same[0] + MOST];
	size_t count = 0;
	for (; count < sizeof same / sizeof same[0]; count++)
		settings[count] = (struct setting){same[count], {"test", 0}};
	for (; *more && count < sizeof settings / sizeof settings[0]; more++)
		settings[count++] = (struct setting){*more, {"test", 0}};
	const struct case_request request = {
		.settings = settings, .setting_count = count, .data_root = data_root_find(arena)};
	return case_read(arena, diag_new(arena), &request);
}

/* Checks that the times of two steps are equal within a time. */
static void check_step(const struct step_record *a, const struct step_record *b, double within_s)
{
	CHECK(fabs(a->gpu_busy_s - b->gpu_busy_s) <= within_s);
	CHECK(fabs(a->exposed_s - b->exposed_s) <= within_s);
	CHECK(fabs(s_from_ps(a->end_ps - a->start_ps) - s_from_ps(b->end_ps - b->start_ps)) <=
	      within_s);
	CHECK(fabs(s_from_ps(a->mark_ps - a->start_ps) - s_from_ps(b->mark_ps - b->start_ps)) <=
	      within_s);
	for (int k = 0; k < TIME_KIND_COUNT; k++) {
		CHECK(fabs(a->thread_s[k] - b->thread_s[k]) <= within_s);
		CHECK(fabs(a->gpu_idle_s[k] - b->gpu_idle_s[k]) <= within_s);
	}
}

/* Checks that each time is right within a part of the step, and each counter within this part of
 * itself. */
static void check_equal(const struct scenario *scenario, const struct world_outcome *a,
			const struct world_outcome *b, double within)
{
	const struct job_run *x = &a->jobs[0], *y = &b->jobs[0];
	double step_s = job_run_step_s(y);
	CHECK_NEAR(job_run_step_s(x), step_s, within);
	for (size_t i = 0; i < scenario->jobs[0].rank_count; i++)
		for (int k = 0; k < GPU_TIME_COUNT; k++)
			CHECK(fabs(s_from_ps(x->rank_times[i].ps[k]) / x->steady_work -
				   s_from_ps(y->rank_times[i].ps[k]) / y->steady_work) <=
			      5 * within * step_s);
	const struct step_record *u = &x->steps[x->step_count - 1];
	const struct step_record *v = &y->steps[y->step_count - 1];
	CHECK(u->calls_count == v->calls_count);
	CHECK_NEAR(u->work_ps, v->work_ps, within);
	CHECK_NEAR(s_from_ps(u->start_ps) / ((double)x->step_count - 1),
		   s_from_ps(v->start_ps) / ((double)y->step_count - 1), 5 * within);
	CHECK_NEAR(x->comm.network_B / (double)x->step_count,
		   y->comm.network_B / (double)y->step_count, within);
	CHECK_NEAR(x->comm.sent_B / (double)x->step_count, y->comm.sent_B / (double)y->step_count,
		   within);
	check_step(u, v, 5 * within * step_s);
	double steps = (double)x->step_count, others = (double)y->step_count;
	CHECK_NEAR(x->comm.delivered_B / steps, y->comm.delivered_B / others, within);
	CHECK_NEAR((double)x->comm.sends_count / steps, (double)y->comm.sends_count / others,
		   within);
	CHECK_NEAR((double)x->comm.collectives_count / steps,
		   (double)y->comm.collectives_count / others, within);
	CHECK_NEAR(a->end_s / steps, b->end_s / others, 5 * within);
	for (size_t i = 0; i < scenario->topology.gpu_count; i++)
		CHECK(fabs(a->gpu_busy_s[i] / a->window_s - b->gpu_busy_s[i] / b->window_s) <=
		      5 * within);
	for (int i = 0; i < WAIT_COUNT; i++)
		CHECK(fabs(a->waits_s[i] / a->window_s - b->waits_s[i] / b->window_s) <=
		      5 * within);
	for (size_t i = 0; i < a->link_count; i++) {
		const struct link_use *one = &a->links[i], *other = &b->links[i];
		double within_Bps = 5 * within * one->capacity_Bps;
		CHECK(fabs(one->window_B / a->window_s - other->window_B / b->window_s) <=
		      within_Bps);
		CHECK(fabs(one->carried_B / a->end_s - other->carried_B / b->end_s) <= within_Bps);
		CHECK(fabs(one->busy_s / a->end_s - other->busy_s / b->end_s) <= 5 * within);
	}
}

static void check_extended(const char *const plans[][MOST], size_t count, double within)
{
	for (size_t i = 0; i < count; i++) {
		struct arena *arena = arena_new();
		const struct scenario *scenario = read_plan(arena, plans[i]);
		if (CHECK(scenario)) {
			const struct world_outcome fast = periods_run(arena, scenario, 1, NULL);
			const struct world_outcome whole = world_run(arena, scenario, 1, NULL);
			if (CHECK(!fast.broken && !fast.jobs[0].failed && !whole.broken)) {
				CHECK(fast.jobs[0].extended_ratio > 0);
				check_equal(scenario, &fast, &whole, within);
			}
		}
		arena_free(arena);
	}
}

/* The steps have 870 to 880 micro-batches. Short launch queues fill early. zb-h1 repeats after two
 * of them, and interleaved stages after pp. */
static void extended_steps_equal_whole_ones_within_a_ten_thousandth(void)
{
	static const char *const plans[][MOST] = {
		{"plan.pp=4", "plan.schedule=zb-h1", "plan.global_batch=2208",
		 "plan.sharding=optimizer"},
		{"plan.pp=4", "plan.chunks=2", "plan.global_batch=2400"},
		{"plan.pp=2", "plan.chunks=2", "plan.layout=Et*4|t*8|t*8|t*4L",
		 "plan.global_batch=3520", "plan.overlap_gradients=false"},
		{"case.model=gpt2-xl", "plan.pp=4", "plan.micro_batch=2", "plan.global_batch=3480",
		 "plan.schedule=zb-h1", "plan.recompute=full"},
	};
	check_extended(plans, sizeof plans / sizeof plans[0], 1e-4);
}

/* With case.micro_batches=0 a few micro-batches are extended to the 40 or 64 of these steps. */
static void quickly_extended_steps_equal_whole_ones_within_a_thousandth(void)
{
	static const char *const plans[][MOST] = {
		{"case.micro_batches=0", "plan.pp=2", "plan.global_batch=256"},
		{"case.micro_batches=0", "plan.pp=4", "plan.global_batch=128",
		 "plan.schedule=zb-h1"},
		{"case.micro_batches=0", "plan.pp=2", "plan.chunks=2", "plan.global_batch=256"},
		{"case.micro_batches=0", "plan.tp=2", "plan.global_batch=160",
		 "plan.recompute=full", "plan.sharding=parameters"},
	};
	check_extended(plans, sizeof plans / sizeof plans[0], 1e-3);
}
/* A run with a trace shows all micro-batches, and few of them are not worth three shorter runs. A
 * host that is ahead in the forward passes of gpipe fills the launch queue only after many of
 * them. Then backward passes wait for it, which added 4.7 % to the extended time of this plan. */
static void traces_and_short_steps_are_simulated_whole(void)
{
	static const char *const plans[][MOST] = {{"plan.pp=4", "plan.global_batch=80"},
						  {"plan.pp=4", "plan.global_batch=36"},
						  {"plan.pp=2", "plan.tp=2", "plan.schedule=gpipe",
						   "plan.global_batch=1600", "plan.recompute=full",
						   "plan.anyway=true"}};
	for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
		struct arena *arena = arena_new();
		const struct scenario *scenario = read_plan(arena, plans[i]);
		struct trace *trace = i == 0 ? trace_new(arena) : NULL;
		if (CHECK(scenario)) {
			const struct world_outcome run = periods_run(arena, scenario, 1, trace);
			CHECK(!(run.jobs[0].extended_ratio > 0));
			if (i == 2) /* long */
				CHECK(job_run_step_s(&run.jobs[0]) > 0);
			else
				CHECK(job_run_step_s(&run.jobs[0]) ==
				      job_run_step_s(&world_run(arena, scenario, 1, NULL).jobs[0]));
		}
		arena_free(arena);
	}
}

/* A plan that cannot run fails with the reason of the whole step. */
static void a_plan_without_memory_fails_at_once(void)
{
	static const char *const plan[MOST] = {"plan.pp=4", "plan.global_batch=4000",
					       "plan.schedule=gpipe", "gpu.h100-sxm5.memory=4 GiB"};
	struct arena *arena = arena_new();
	const struct scenario *scenario = read_plan(arena, plan);
	if (CHECK(scenario)) {
		const struct world_outcome run = periods_run(arena, scenario, 1, NULL);
		CHECK(run.jobs[0].failed);
		CHECK_PART(run.jobs[0].reason, "out of GPU memory");
	}
	arena_free(arena);
}

/* 20,000 micro-batches of 26 units on 8 GPUs are more passes than fit into memory. A plain question
 * plays few of them. */
static void only_a_trace_of_too_many_micro_batches_is_refused(void)
{
	static const char *const plan[MOST] = {"plan.global_batch=160000"};
	struct arena *arena = arena_new();
	const struct scenario *scenario = read_plan(arena, plan);
	if (CHECK(scenario)) {
		const struct world_outcome run = periods_run(arena, scenario, 1, NULL);
		CHECK(!run.broken && !run.jobs[0].failed && run.jobs[0].extended_ratio > 0);
		const struct world_outcome shown =
			periods_run(arena, scenario, 1, trace_new(arena));
		CHECK(shown.jobs[0].failed);
		CHECK_PART(shown.jobs[0].reason, "which is too much");
	}
	arena_free(arena);
}

/* 5e8 micro-batches on each of two copies take some 27 days of picoseconds for each millisecond
 * that one takes, so times would not fit into 63 bits. Their memory is that of a few. */
static void a_step_of_months_fails_instead_of_giving_a_time(void)
{
	static const char *const plans[][MOST] = {{"plan.pp=4", "plan.global_batch=1000000000"},
						  {"plan.pp=4", "plan.global_batch=400"}};
	double memory_B[2] = {0, 1};
	for (size_t i = 0; i < 2; i++) {
		struct arena *arena = arena_new();
		const struct scenario *scenario = read_plan(arena, plans[i]);
		if (CHECK(scenario)) {
			const struct job_entry *job = &scenario->jobs[0];
			memory_B[i] = plan_memory_B(job->plan, job->stack, 0);
			const struct world_outcome run = periods_run(arena, scenario, 1, NULL);
			CHECK(run.jobs[0].failed == (i == 0));
			if (i == 0 && run.jobs[0].failed)
				CHECK_PART(run.jobs[0].reason, "a run may take");
		}
		arena_free(arena);
	}
	CHECK(memory_B[0] == memory_B[1]);
}

static const struct test tests[] = {
	TEST(a_step_of_months_fails_instead_of_giving_a_time),
	TEST(extended_steps_equal_whole_ones_within_a_ten_thousandth),
	TEST(quickly_extended_steps_equal_whole_ones_within_a_thousandth),
	TEST(traces_and_short_steps_are_simulated_whole),
	TEST(a_plan_without_memory_fails_at_once),
	TEST(only_a_trace_of_too_many_micro_batches_is_refused),
};

int main(void)
{
	return TEST_MAIN(tests);
}
