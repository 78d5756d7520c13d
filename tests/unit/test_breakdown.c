/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of the step and the bottleneck, of runs whose times are made up. */
#include "sim/predict/predict.h"

#include "sim/base/arena.h"
#include "sim/serving/serving.h"
#include "tests/test.h"

enum { STEPS = 3, FIRST = 1 };
static const struct runtime_params forwarded;

/* A job with STEPS equal steps of 1 s, of which the first is a warm-up. */
struct world {
	struct job_entry entry;
	struct step_record steps[STEPS];
	struct job_run run;
	struct scenario scenario;
	struct point point;
	struct prediction prediction;
};

static void finish(struct world *w, enum job_style style, struct step_record step)
{
	for (size_t i = 0; i < STEPS; i++) {
		w->steps[i] = step;
		w->steps[i].start_ps = (int64_t)i * PS_PER_S;
		w->steps[i].end_ps = (int64_t)(i + 1) * PS_PER_S;
	}
	w->entry.rank_count = w->entry.rank_count ? w->entry.rank_count : 1;
	w->run.entry = &w->entry;
	w->run.steps = w->steps;
	w->run.step_count = STEPS;
	w->run.steady_first = FIRST;
	w->run.steady_count = STEPS - FIRST;
	w->run.steady_work = STEPS - FIRST;
	w->scenario.style = style;
	w->scenario.jobs = &w->entry;
	w->scenario.job_count = 1;
	w->point.outcome.jobs = &w->run;
	w->point.outcome.job_count = 1;
	static struct arena *arena; /* of the texts and parts of the last two predictions */
	static struct arena *before;
	if (before)
		arena_free(before);
	before = arena;
	arena = arena_new();
	breakdown_summarize(arena, &w->point, &w->scenario, &w->prediction);
}

static double part(const struct world *w, const char *name)
{
	for (size_t i = 0; i < w->prediction.breakdown_count; i++)
		if (strcmp(w->prediction.breakdown[i].name, name) == 0)
			return w->prediction.breakdown[i].seconds;
	return NAN;
}

static void check_near(const struct world *w, const char *name, double expected)
{
	if (!CHECK(fabs(part(w, name) - expected) < 1e-12))
		printf("  %s is %g, not %g\n", name, part(w, name), expected);
}

/* A thread thinks, calls and waits. With the local driver a call costs the host, and a wait is one
 * for copies. With a runtime both are waits for the network, of which timeouts are a part. */
static void causes_of_idle_gpus_follow_from_what_the_thread_does(void)
{
	for (int remote = 0; remote < 2; remote++) {
		struct world w = {
			.run = {.window_stalled_s = remote ? 0.02 : 0, .window_timeouts_count = 8}};
		struct step_record step = {
			.gpu_busy_s = 0.4,
			.gpu_idle_s = {[TIME_THINK] = 0.1, [TIME_CALL] = 0.2, [TIME_WAIT] = 0.25},
			.calls_count = 7,
			.polls_count = 5};
		w.entry.runtime = remote ? &forwarded : NULL;
		finish(&w, JOBS_PROGRAMS, step);
		check_near(&w, PART_KERNEL, 0.4);
		check_near(&w, PART_ISSUE, remote ? 0.1 : 0.3);
		check_near(&w, PART_LOST, remote ? 0.01 : 0);
		check_near(&w, PART_NETWORK, remote ? 0.2 + 0.25 - 0.01 : 0);
		check_near(&w, PART_COPY, remote ? 0 : 0.25);
		check_near(&w, PART_OTHER, 0.05);
		CHECK(isnan(part(&w, PART_EXPOSED))); /* it has one GPU */
		CHECK_TEXT(w.prediction.bottleneck, remote ? "network-bound" : "host launch-bound");
		CHECK(w.prediction.calls_count == 7 && w.prediction.polls_count == 5);
		CHECK_NEAR(w.prediction.retransmission_timeouts, 4, 1e-12);
	}
}

/* The program runs ahead of its GPU: in the window it makes 30 calls, but the two steps that end in
 * it have 10 each. So it issues three steps, and each has a third of what its calls waited. */
static void calls_of_a_step_are_a_part_of_all_calls_in_the_window(void)
{
	struct world w = {.entry.runtime = &forwarded};
	struct kind_counters *kinds = w.run.window_kinds;
	kinds[CALL_CREATE_CONTEXT] =
		(struct kind_counters){.calls_count = 3, .waited_s = 0.6, .served_s = 0.3};
	kinds[CALL_LAUNCH] = (struct kind_counters){.calls_count = 24, .waited_s = 0.12};
	kinds[CALL_STREAM_SYNCHRONIZE] = (struct kind_counters){.calls_count = 3, .waited_s = 0.9};
	finish(&w, JOBS_PROGRAMS,
	       (struct step_record){.gpu_busy_s = 0.4,
				    .gpu_idle_s = {[TIME_CALL] = 0.35, [TIME_WAIT] = 0.25},
				    .calls_count = 9,
				    .polls_count = 1});
	check_near(&w, PART_SESSION, 0.2);
	check_near(&w, PART_NETWORK, 0.35 + 0.25 - 0.2);
	CHECK(w.prediction.waiting_call_count == 3);
	static const double rows[][5] = {/* calls, waits, mean, share and served time of a step */
					 {1, 0.3, 0.3, 0.3, 0},
					 {1, 0.2, 0.2, 0.2, 0.1},
					 {8, 0.04, 0.005, 0.04, 0}};
	for (size_t i = 0; i < w.prediction.waiting_call_count; i++) {
		const struct call_prediction *call = &w.prediction.waiting_calls[i];
		const double found[] = {call->per_step_count, call->waited_s, call->mean_s,
					call->share_ratio, call->served_s};
		for (size_t k = 0; k < 5; k++)
			CHECK_NEAR(found[k], rows[i][k], 1e-12);
	}
}

static void programs_on_several_gpus_have_exposed_communication(void)
{
	struct world w = {.entry = {.rank_count = 2}};
	finish(&w, JOBS_PROGRAMS, (struct step_record){.gpu_busy_s = 0.7, .exposed_s = 0.3});
	check_near(&w, PART_EXPOSED, 0.3);
	check_near(&w, PART_OTHER, 0);
	CHECK_TEXT(w.prediction.bottleneck, "exposed communication");
}

/* A recorded rank is one GPU that calls collectives. */
static void a_single_rank_with_collectives_has_exposed_communication(void)
{
	struct world w = {.entry = {.rank_count = 1}};
	finish(&w, JOBS_PROGRAMS, (struct step_record){.gpu_busy_s = 0.7, .exposed_s = 0.3});
	check_near(&w, PART_EXPOSED, 0.3);
}

/* GPUs of two programs compute for 0.7 and 0.3 s of a step of 1 s. */
static void parts_of_several_jobs_are_their_mean(void)
{
	struct world one = {0}, two = {0};
	struct arena *arena = arena_new();
	finish(&one, JOBS_PROGRAMS, (struct step_record){.gpu_busy_s = 0.7});
	finish(&two, JOBS_PROGRAMS, (struct step_record){.gpu_busy_s = 0.3});
	struct job_run runs[] = {one.run, two.run};
	one.point.outcome.jobs = runs;
	one.point.outcome.job_count = 2;
	breakdown_summarize(arena, &one.point, &one.scenario, &one.prediction);
	check_near(&one, PART_KERNEL, 0.5);
	check_near(&one, PART_OTHER, 0.5);
	arena_free(arena);
}

/* The bottleneck is the largest part besides the kernels that is above a tenth of the step.
 * Without a smaller part, the step would be at most 11 % faster. */
static void bottleneck_is_the_largest_part_above_a_tenth(void)
{
	static const struct {
		double input_s, exposed_s, straggler_s, other_s;
		const char *bottleneck;
	} rows[] = {
		{0.2, 0.1, 0.1, 0.1, "input-bound"},
		{0.1, 0.2, 0.1, 0.1, "exposed communication"},
		{0.1, 0.1, 0.2, 0.1, "straggler-bound"},
		{0.1, 0.1, 0.1, 0.2, "host-bound: framework"},
		{0.101, 0, 0, 0.02, "input-bound"},
		{0.099, 0.099, 0.099, 0.099, "kernel-bound"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct world w = {.prediction.communication_s = -1};
		struct step_record step = {.input_s = rows[i].input_s,
					   .exposed_s = rows[i].exposed_s,
					   .straggler_s = rows[i].straggler_s,
					   .other_s = rows[i].other_s,
					   .collective_s = i ? 0.3 : 0};
		step.kernel_s = 1 - step.input_s - step.exposed_s - step.straggler_s - step.other_s;
		finish(&w, JOBS_RANKS, step);
		check_near(&w, PART_KERNEL, step.kernel_s);
		check_near(&w, PART_INPUT, step.input_s);
		check_near(&w, PART_EXPOSED, step.exposed_s);
		check_near(&w, PART_STRAGGLER, step.straggler_s);
		check_near(&w, PART_OTHER, step.other_s);
		CHECK_TEXT(w.prediction.bottleneck, rows[i].bottleneck);
		/* only the row with collectives has a time of communication */
		CHECK(i ? fabs(w.prediction.communication_s - 0.3) < 1e-12
			: isnan(w.prediction.communication_s));
	}
}

/* One part takes more than half of a latency of 1 s. The bottleneck of a queue is the resource for
 * which requests wait longest. If queues grow, it is the bottleneck whatever the parts are, and a
 * queue for the GPU is bound by the largest part of an iteration. A link that carries 80 % of its
 * bandwidth or more is the bottleneck of transfers. */
static void bottleneck_of_a_model_server_is_its_largest_part(void)
{
	static const struct {
		enum serve_part part;
		bool remote;
		enum queue_cause cause;
		double overload_ratio, link_ratio;
		const char *name, *bottleneck;
	} rows[] = {
		{SERVE_KERNEL, false, QUEUE_FOR_MEMORY, 0, 1, PART_KERNEL, "kernel-bound"},
		{SERVE_KERNEL, false, QUEUE_FOR_MEMORY, 0.5, 1, PART_KERNEL, "KV memory-bound"},
		{SERVE_KERNEL, false, QUEUE_FOR_GPU, 0.5, 1, PART_KERNEL, "kernel-bound"},
		{SERVE_EXCHANGE, false, QUEUE_FOR_GPU, 0, 1, PART_TENSOR,
		 "exposed tensor parallelism"},
		{SERVE_OVERHEAD, false, QUEUE_FOR_GPU, 0.5, 1, PART_ISSUE, "host launch-bound"},
		{SERVE_OVERHEAD, true, QUEUE_FOR_GPU, 0, 1, PART_NETWORK, "network-bound"},
		{SERVE_QUEUE, false, QUEUE_FOR_MEMORY, 0, 1, PART_QUEUE, "KV memory-bound"},
		{SERVE_QUEUE, false, QUEUE_FOR_TRANSFERS, 0, 0.8, PART_QUEUE, "network-bound"},
		{SERVE_QUEUE, false, QUEUE_FOR_TRANSFERS, 0, 0.7, PART_QUEUE, "KV transfer-bound"},
		{SERVE_QUEUE, false, QUEUE_FOR_LIMIT, 0, 1, PART_QUEUE, "batch limit"},
		{SERVE_QUEUE, false, QUEUE_FOR_OTHERS, 0, 1, PART_QUEUE, "batching"},
		{SERVE_QUEUE, false, QUEUE_FOR_GPU, 0, 1, PART_QUEUE, "queueing"},
		{SERVE_TRANSFER, false, QUEUE_FOR_GPU, 0, 0.7, PART_TRANSFER, "KV transfer-bound"},
		{SERVE_TRANSFER, false, QUEUE_FOR_GPU, 0, 0.8, PART_TRANSFER, "network-bound"},
		{SERVE_OTHER, false, QUEUE_FOR_GPU, 0, 1, PART_BATCH, "batching"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct link_prediction link = {.name = "wire", .utilization = rows[i].link_ratio};
		struct world w = {
			.point.serving = {.mean_s = 1, .overload_ratio = rows[i].overload_ratio}};
		w.prediction.links = &link;
		w.prediction.link_count = 1;
		w.point.serving.queue_ratios[rows[i].cause] = 1;
		for (size_t k = 0; k < SERVE_PART_COUNT; k++)
			w.point.serving.parts_s[k] = k == rows[i].part ? 0.6 : 0.08;
		w.entry.runtime = rows[i].remote ? &forwarded : NULL;
		finish(&w, JOBS_SERVING, (struct step_record){0});
		check_near(&w, rows[i].name, 0.6);
		CHECK_TEXT(w.prediction.bottleneck, rows[i].bottleneck);
	}
}

/* A front end that works for 0.9 of the time is the bottleneck if requests wait for it longest, or
 * if queues grow. */
static void a_busy_front_end_is_the_bottleneck_of_a_model_server(void)
{
	static const struct {
		double busy_ratio, overload_ratio, waits_s;
		const char *bottleneck;
	} rows[] = {
		{0.9, 0, 0.6, "front end-bound"},
		{0.7, 0, 0.6, "host launch-bound"},
		{0.9, 0, 0.1, "kernel-bound"},
		{0.9, 0.5, 0.1, "front end-bound"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct world w = {.point.serving = {.mean_s = 1,
						    .overload_ratio = rows[i].overload_ratio,
						    .front_end_ratio = rows[i].busy_ratio}};
		w.point.serving.queue_ratios[QUEUE_FOR_GPU] = 1;
		w.point.serving.parts_s[SERVE_OVERHEAD] = rows[i].waits_s;
		w.point.serving.parts_s[SERVE_KERNEL] = 1 - rows[i].waits_s;
		finish(&w, JOBS_SERVING, (struct step_record){0});
		CHECK_TEXT(w.prediction.bottleneck, rows[i].bottleneck);
	}
}

static const struct test tests[] = {
	TEST(causes_of_idle_gpus_follow_from_what_the_thread_does),
	TEST(calls_of_a_step_are_a_part_of_all_calls_in_the_window),
	TEST(programs_on_several_gpus_have_exposed_communication),
	TEST(a_single_rank_with_collectives_has_exposed_communication),
	TEST(parts_of_several_jobs_are_their_mean),
	TEST(bottleneck_is_the_largest_part_above_a_tenth),
	TEST(bottleneck_of_a_model_server_is_its_largest_part),
	TEST(a_busy_front_end_is_the_bottleneck_of_a_model_server),
};

int main(void)
{
	return TEST_MAIN(tests);
}
