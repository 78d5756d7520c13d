/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The warm-up and the measured steps of jobs whose steps are given. */
#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/engine/engine.h"
#include "sim/engine/trace.h"
#include "sim/workload/life.h"
#include "tests/test.h"

enum { STEPS_MAX = 300, JOBS_MAX = 2, WORK_PS = 1000 };

/* Each step takes time_s, each second one odd_s more. The GPU does part_ratio of a step's work. */
struct fake {
	struct job job; /* first */
	struct job_run run;
	int64_t begun_ps;
	double step_s; /* measured */
	double time_s, odd_s, part_ratio;
	bool varies, in_doubt, drained;
	int64_t pause_ps; /* -1: it did not pause */
	size_t pauses;
};

static struct fake *fake_of(const struct job *job)
{
	return (struct fake *)(void *)job;
}

static const char *waiting(const struct job *job, struct arena *arena)
{
	return "the kernel";
}

static bool varies(const struct job *job)
{
	return fake_of(job)->varies;
}

static bool in_doubt(const struct job *job, size_t step_count)
{
	return fake_of(job)->in_doubt;
}

static bool drained(struct job *job)
{
	return fake_of(job)->drained;
}

static void pause_it(struct job *job, int64_t pause_ps)
{
	fake_of(job)->pause_ps = pause_ps;
	fake_of(job)->pauses++;
}

static void nothing_read(struct job *job)
{
}

static void opened(void *ctx)
{
}

/* Two equal steps end the measurement, or six with one mean. */
static const struct job_kind equal_steps = {.waiting = waiting,
					    .varies = varies,
					    .in_doubt = in_doubt,
					    .drained = drained,
					    .read = nothing_read,
					    .repeats_ratio = 1e-6,
					    .settled_ratio = 1e-6,
					    .settled_events = INFINITY};

static void step(void *ctx, uint64_t index)
{
	struct fake *f = ctx;
	struct engine *engine = f->job.workload->engine;
	double time_s = f->time_s + (index % 2 ? f->odd_s : 0);
	if (index > 0) {
		const struct step_record record = {.start_ps = f->begun_ps,
						   .end_ps = engine_now_ps(engine),
						   .work_ps = f->part_ratio * WORK_PS};
		if (!job_step_over(&f->job, &record))
			return;
	}
	if (!CHECK(index < STEPS_MAX))
		return;
	f->begun_ps = engine_now_ps(engine);
	engine_after(engine, ps_from_s(time_s), step, f, index + 1);
}

static struct workload workload_of(size_t job_count, double warmup_count)
{
	struct workload w = {.arena = arena_new(),
			     .warmup_count = warmup_count,
			     .limits = {.program_count = job_count},
			     .window_opened = opened};
	w.engine = engine_new(w.arena, NULL);
	workload_init(&w);
	return w;
}

static void add(struct workload *w, size_t index, struct fake *f, const struct job_kind *kind,
		const char *name)
{
	job_init(&f->job, w, kind, name, &f->run);
	f->job.work_ps = WORK_PS;
	f->pause_ps = -1;
	w->jobs[index] = &f->job;
}

static void measure(struct fake *f, const struct job_kind *kind, double warmup_count)
{
	struct workload w = workload_of(1, warmup_count);
	add(&w, 0, f, kind, "job");
	step(f, 0);
	engine_run(w.engine);
	workload_read(&w, NULL);
	CHECK(!f->run.failed && f->job.over);
	f->step_s = job_run_step_s(&f->run);
	arena_free(w.arena);
}

/* The step that begins when the window opens is its first one. A kind may compare it with the last
 * step of the warm-up. */
static void two_equal_steps_end_the_window(void)
{
	for (size_t early = 0; early < 2; early++) {
		struct job_kind kind = equal_steps;
		kind.repeats_early = early;
		struct fake f = {.time_s = 1, .part_ratio = 1};
		measure(&f, &kind, 3);
		CHECK(f.run.steady_first == 3 && f.run.steady_count == (early ? 1 : 2));
		CHECK_NEAR(f.step_s, 1, 1e-12);
	}
}

/* Six equal steps settle the mean of random steps. Without a mean all 16 steps are measured. */
static void random_steps_are_not_over_when_two_are_equal(void)
{
	for (size_t doubt = 0; doubt < 2; doubt++) {
		struct fake f = {.time_s = 1, .part_ratio = 1, .varies = true, .in_doubt = doubt};
		measure(&f, &equal_steps, 1);
		CHECK(f.run.steady_first == 1 && f.run.steady_count == (doubt ? 16 : 6));
	}
	/* steps of 1 and 1.1 s in turn have no common mean */
	struct fake f = {.time_s = 1, .odd_s = 0.1, .part_ratio = 1};
	measure(&f, &equal_steps, 1);
	CHECK(f.run.steady_count == 16);
	CHECK_NEAR(f.step_s, 1.05, 1e-12);
}

/* A GPU that does half the work of each step needs eight steps for the warm-up and eight for the
 * measurement, whose steps take twice as long. */
static void a_gpu_that_falls_behind_is_measured_by_its_work(void)
{
	struct fake f = {.time_s = 1, .part_ratio = 0.5};
	measure(&f, &equal_steps, 2);
	CHECK(f.run.steady_first == 8 && f.run.steady_count == 8);
	CHECK_NEAR(f.run.steady_work, 4, 1e-12);
	CHECK_NEAR(f.step_s, 2, 1e-12);
}

/* Two jobs begin the measurement at random parts of a step, which differ. */
static void jobs_together_pause_for_parts_of_a_step(void)
{
	struct workload w = workload_of(2, 1);
	struct job_kind kind = equal_steps;
	kind.pause = pause_it;
	struct fake a = {.time_s = 1, .part_ratio = 1}, b = a;
	add(&w, 0, &a, &kind, "first");
	add(&w, 1, &b, &kind, "second");
	step(&a, 0);
	step(&b, 0);
	engine_run(w.engine);
	CHECK(a.job.over && b.job.over);
	CHECK(a.pause_ps >= 0 && a.pause_ps < PS_PER_S);
	CHECK(b.pause_ps >= 0 && b.pause_ps < PS_PER_S);
	CHECK(a.pause_ps != b.pause_ps);
	arena_free(w.arena);
}

/* The second step takes 1 ms, so it ends before a pause within the first one does. The pause goes
 * on, and no second one begins. */
static void a_job_pauses_once(void)
{
	struct workload w = workload_of(2, 1);
	struct job_kind kind = equal_steps;
	kind.pause = pause_it;
	struct fake a = {.time_s = 1, .odd_s = -0.999, .part_ratio = 1}, b = a;
	add(&w, 0, &a, &kind, "first");
	add(&w, 1, &b, &kind, "second");
	step(&a, 0);
	step(&b, 0);
	engine_run(w.engine);
	CHECK(a.pauses == 1 && b.pauses == 1);
	CHECK(a.pause_ps > PS_PER_S / 1000 && b.pause_ps > PS_PER_S / 1000);
	arena_free(w.arena);
}

/* A single step without a warm-up has no step before or behind it. */
static void one_step_without_a_warm_up_is_single(void)
{
	static const struct {
		double warmup_count, steps_count;
		bool single;
	} rows[] = {{0, 1, true}, {0, 0, false}, {0, 2, false}, {1, 1, false}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct workload w = workload_of(1, rows[i].warmup_count);
		w.limits.steps_count = rows[i].steps_count;
		CHECK(workload_does_one_step(&w) == rows[i].single);
		arena_free(w.arena);
	}
}

/* A job without a step has failed. Its reason is the invariant that the run broke. */
static void a_job_without_steps_has_failed(void)
{
	static const char *const broken[] = {NULL, "bytes are missing"};
	for (size_t i = 0; i < 2; i++) {
		struct workload w = workload_of(1, 1);
		struct fake f = {.time_s = 1};
		add(&w, 0, &f, &equal_steps, "job");
		workload_read(&w, broken[i]);
		CHECK(f.run.failed && f.run.step_count == 0);
		CHECK_TEXT(f.run.reason, i ? broken[1] : "no step has ended");
		arena_free(w.arena);
	}
}

/* The first reason stays, and the run ends with the other job, because a failed one has ended. */
static void a_failed_job_lets_the_others_go_on(void)
{
	struct workload w = workload_of(2, 1);
	struct fake a = {.time_s = 1, .part_ratio = 1}, b = a;
	add(&w, 0, &a, &equal_steps, "first");
	add(&w, 1, &b, &equal_steps, "second");
	job_failed(&a.job, "no memory");
	job_failed(&a.job, "no route");
	CHECK_TEXT(a.run.reason, "no memory");
	CHECK(a.job.over && a.job.warm && !workload_is_over(&w));
	step(&b, 0);
	engine_run(w.engine);
	workload_read(&w, NULL);
	CHECK(workload_is_over(&w) && !b.run.failed);
	CHECK(b.run.steady_first == 1 && b.run.steady_count == 2);
	CHECK_NEAR(job_run_step_s(&b.run), 1, 1e-12);
	arena_free(w.arena);
}

static const char *no_end(void *ctx, const char *text)
{
	return text;
}

/* Jobs fail at a limit. Without a limit they wait, unless their kind knows why. */
static void unfinished_jobs_fail_at_a_limit(void)
{
	static const char text[] = "job 'job' waits: the kernel";
	for (size_t i = 0; i < 4; i++) {
		struct workload w = workload_of(1, 1);
		struct job_kind kind = equal_steps;
		struct fake f = {.time_s = 1, .drained = i == 2};
		kind.drained = i == 3 ? NULL : drained;
		add(&w, 0, &f, &kind, "job");
		const char *first =
			workload_unfinished(&w, i == 0 ? ENGINE_EVENTS : ENGINE_DRAINED, no_end);
		CHECK(f.run.failed == (i == 0));
		if (i == 0)
			CHECK_TEXT(f.run.reason, text);
		if (i == 2)
			CHECK(!first);
		else
			CHECK_TEXT(first, text);
		arena_free(w.arena);
	}
}

/* Three ranks in two processes, whose phases take no time: an event begins, and each process then
 * has one in each of three phases, and each rank in the two behind them. A limit of events ends the
 * run before the second process has started, or before two ranks have their batch. The job has no
 * window, so a run without steps does not fail it. */
static void a_job_that_starts_waits_for_its_phase(void)
{
	static const struct {
		uint64_t events;
		size_t ended; /* phases */
		const char *last, *text;
	} rows[] = {
		{2, 0, NULL, "job 'job' waits: phase 'process start' has not ended in 1 places"},
		{3 + 2, 2, "CUDA contexts",
		 "job 'job' waits: phase 'graph' has not ended in 2 places"},
		{1 + 3 * 2 + 1, 3, "graph",
		 "job 'job' waits: phase 'first batch' has not ended in 2 places"}};
	static const struct phases_params free_phases;
	static const struct gradients gradients = {.ops_count = 7};
	static const struct dp_rank ranks[3] = {{.process = 4}, {.process = 4}, {.process = 5}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct workload w = workload_of(1, 1);
		struct fake f = {.time_s = 1};
		const struct engine_limits limits = {.events_max = rows[i].events};
		w.engine = engine_new(w.arena, &limits);
		engine_trace_set(w.engine, trace_new(w.arena));
		add(&w, 0, &f, &equal_steps, "job");
		const struct life_spec spec = {
			.params = &free_phases,
			.steps = {.host = {.rank_count = 3, .gradients = &gradients},
				  .ranks = ranks},
			.steps_count = 1};
		life_begin(&f.job, &spec);
		CHECK(engine_run(w.engine) == ENGINE_EVENTS);
		workload_read(&w, NULL);
		CHECK(!f.run.failed);
		CHECK_TEXT(workload_unfinished(&w, ENGINE_EVENTS, no_end), rows[i].text);
		CHECK(f.run.failed);
		CHECK_TEXT(f.run.reason, rows[i].text);
		/* the trace has a span for each phase that has ended */
		const struct trace *trace = engine_trace(w.engine);
		if (CHECK(trace_span_count(trace) == rows[i].ended) && rows[i].ended > 0)
			CHECK_TEXT(trace_span_at(trace, rows[i].ended - 1)->name, rows[i].last);
		arena_free(w.arena);
	}
}

static const struct test tests[] = {
	TEST(a_job_that_starts_waits_for_its_phase),
	TEST(two_equal_steps_end_the_window),
	TEST(random_steps_are_not_over_when_two_are_equal),
	TEST(a_gpu_that_falls_behind_is_measured_by_its_work),
	TEST(jobs_together_pause_for_parts_of_a_step),
	TEST(a_job_pauses_once),
	TEST(one_step_without_a_warm_up_is_single),
	TEST(a_job_without_steps_has_failed),
	TEST(a_failed_job_lets_the_others_go_on),
	TEST(unfinished_jobs_fail_at_a_limit),
};

int main(void)
{
	return TEST_MAIN(tests);
}
