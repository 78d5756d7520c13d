/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole jobs: which steps count, how ranks of a machine begin, and what their counters hold. */
#include "sim/engine/trace.h"
#include "tests/case_points.h"

static const struct settings two_gpus = {{"case.topology=dgx1-v100", "case.model=alexnet",
					  "case.batch=16", "case.gpus=2", "exchange.noise=0"}};

/* A job has two warm-up steps at least, or as many as the case says. Equal steps end the
 * measurement after two of them; with noise a mean needs six. */
static void warm_up_and_measurement_have_their_steps(void)
{
	static const struct {
		const char *warm, *noise;
		size_t first, least, most;
	} rows[] = {{"case.steps_warmup=0", "exchange.noise=0", 2, 2, 3},
		    {"case.steps_warmup=1", "exchange.noise=0", 2, 2, 3},
		    {"case.steps_warmup=5", "exchange.noise=0", 5, 2, 3},
		    {"case.steps_warmup=5", "exchange.noise=0.01", 5, 6, 16},
		    /* steps that differ by 1e-9 are no less random */
		    {"case.steps_warmup=2", "exchange.noise=1e-9", 2, 6, 6}};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct point point = POINT(arena, two_gpus, rows[i].warm, rows[i].noise);
		const struct job_run *run = &point.outcome.jobs[0];
		if (!CHECK(run->steady_first == rows[i].first &&
			   run->steady_count >= rows[i].least && run->steady_count <= rows[i].most))
			printf("  row %zu: %zu steps from %zu on\n", i, run->steady_count,
			       run->steady_first);
	}
	arena_free(arena);
}

/* One thread of a machine starts its two ranks one after the other. Machines do so at the same
 * time, so that a second one delays nothing. All messages take one adapter. With an adapter for
 * each rank, a delayed rank would leave its own idle. */
static void each_machine_starts_its_own_ranks(void)
{
	static const struct settings pairs = {{"case.topology=c10-p100", "case.stack=tf-1.12",
					       "case.model=alexnet", "case.batch=16",
					       "case.exchange=ddp", "exchange.noise=0",
					       "case.guest=os", "library.own_sockets=false"}};
	double delay_s[2];
	for (int machines = 1; machines <= 2; machines++) {
		const char *gpus = machines == 1 ? "case.gpus=2" : "case.gpus=4";
		delay_s[machines - 1] = STEP_S(pairs, gpus, "exchange.stagger=20 us") -
					STEP_S(pairs, gpus, "exchange.stagger=0 us");
	}
	CHECK(delay_s[0] > 1e-3);
	CHECK_NEAR(delay_s[1], delay_s[0], 1e-3);
}

/* If one GPU takes twice the time, the other one waits for it. */
static void only_the_first_rank_is_a_straggler(void)
{
	static const struct settings busy = {{"case.topology=dgx1-v100", "case.model=resnet50",
					      "case.batch=64", "case.gpus=2", "exchange.noise=0"}};
	struct arena *arena = arena_new();
	double plain_s = STEP_S(busy, "case.straggler=1");
	struct point point = POINT(arena, busy, "case.straggler=2");
	const struct job_run *run = &point.outcome.jobs[0];
	const struct step_record *step = &run->steps[run->steady_first];
	CHECK(point.step_s > 1.7 * plain_s && point.step_s < 2.1 * plain_s);
	/* the mean over both ranks */
	CHECK(step->straggler_s > 0.3 * plain_s && step->straggler_s < 0.6 * plain_s);
	CHECK(step->kernel_s > 1.3 * plain_s && step->kernel_s < 1.55 * plain_s);
	arena_free(arena);
}

/* Tensor groups send inside their machine, and data groups to the other one, through the network.
 */
static void counters_tell_bytes_on_the_network(void)
{
	static const struct settings plan = {{"case.topology=dgx-a100", "case.model=gpt2",
					      "case.stack=megatron-bf16",
					      "case.exchange=nccl-2.18"}};
	struct arena *arena = arena_new();
	struct point one = POINT(arena, plan, "case.gpus=2", "plan.tp=2");
	struct point two = POINT(arena, plan, "case.gpus=16", "plan.tp=4", "plan.global_batch=4");
	CHECK(one.outcome.jobs[0].comm.sent_B > 0 && one.outcome.jobs[0].comm.network_B == 0);
	CHECK(two.outcome.jobs[0].comm.network_B > 0);
	CHECK(two.outcome.jobs[0].comm.network_B < 0.9 * two.outcome.jobs[0].comm.sent_B);
	arena_free(arena);
}

/* A remote GPU receives a batch in each step, and sends a loss of 4 B and answers back. */
static void counters_tell_the_directions_of_forwarded_bytes(void)
{
	static const struct settings fed = {{"case.topology=gpu-pool", "case.runtime=asynchronous",
					     "case.transport=tcp", "case.program=client1",
					     "case.model=alexnet", "case.batch=16",
					     "stack.real_input=true"}};
	struct arena *arena = arena_new();
	struct point point = POINT(arena, fed, "case.steps=2");
	const struct remote_counters *remote = &point.outcome.jobs[0].remote;
	double batch_B = 16 * 227 * 227 * 3 * 4;
	CHECK(remote->sent_B > batch_B * (double)point.outcome.jobs[0].step_count);
	CHECK(remote->received_B > 0 && remote->received_B < 0.2 * remote->sent_B);
	arena_free(arena);
}

/* A runtime forwards calls of a program in the guest that serves its GPU, too. It has to connect.
 */
static void runtimes_forward_inside_a_guest(void)
{
	struct arena *arena = arena_new();
	for (size_t i = 0; i < 2; i++) {
		const char *runtime = i ? "case.runtime=flexdirect-1.11" : "case.runtime=none";
		struct point point = POINT(arena, beside_gpu, "case.batch=16", runtime);
		CHECK((point.outcome.jobs[0].remote.messages_count > 0) == (i == 1));
		CHECK((point.outcome.jobs[0].connect_s > 0) == (i == 1));
	}
	arena_free(arena);
}

/* Returns the relative standard error of the measured steps' mean. */
static double error_of(const struct job_run *run)
{
	double n = (double)run->steady_count, sum = 0, squares = 0;
	for (size_t i = run->steady_first; i < run->step_count; i++) {
		double time_s = s_from_ps(run->steps[i].end_ps - run->steps[i].start_ps);
		sum += time_s;
		squares += time_s * time_s;
	}
	double variance = fmax(0, (squares - sum * sum / n) / (n - 1));
	return sqrt(variance / n) / (sum / n);
}

/* Losses make steps of forwarded calls differ, but not those of a local GPU. All 16 steps are
 * measured, or fewer whose mean has an error of 0.4 % at most. The measurement leaves out the time
 * that messages of the warm-up stalled. */
static void losses_prolong_the_measurement_of_forwarded_calls(void)
{
	static const struct {
		const struct settings *of;
		const char *loss;
		bool lossy;
	} rows[] = {{&same_esxi, "link.vswitch.loss=0", false},
		    {&beside_gpu, "link.vswitch.loss=0.01", false},
		    {&same_esxi, "link.vswitch.loss=0.01", true}};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct point point = POINT(arena, *rows[i].of, "case.batch=16", rows[i].loss);
		const struct job_run *run = &point.outcome.jobs[0];
		CHECK(rows[i].lossy ? run->steady_count >= 6 : run->steady_count <= 3);
		CHECK(!rows[i].lossy || run->steady_count == 16 || error_of(run) <= 0.004);
		if (rows[i].lossy)
			CHECK(run->window_stalled_s > 0.1 * run->remote.stalled_s &&
			      run->window_stalled_s < 0.999 * run->remote.stalled_s);
		else
			CHECK(run->remote.losses_count == 0 && run->window_stalled_s <= 0);
	}
	arena_free(arena);
}

/* A timeline names the collective that is repeated. */
static void timelines_name_the_collective(void)
{
	static const struct settings gather = {
		{"case.topology=dgx1-v100", "case.gpus=4", "case.exchange=nccl-2.18"}};
	static const char *const names[] = {"all_gather", "reduce_scatter", "broadcast"};
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		struct arena *arena = arena_new();
		const char *setting = arena_printf(arena, "case.collective=%s", names[i]);
		const struct scenario *scenario =
			scenario_of(arena, &gather, (const char *const[]){setting, NULL});
		struct trace *trace = trace_new(arena);
		size_t found = 0;
		if (scenario)
			(void)predict_point(arena, scenario, 1, false, NULL, trace);
		for (size_t k = 0; k < trace_span_count(trace); k++)
			found += strncmp(trace_span_at(trace, k)->name, names[i],
					 strlen(names[i])) == 0;
		CHECK(found >= 4 * 2); /* each rank, in each of at least two repetitions */
		arena_free(arena);
	}
}

static const struct test tests[] = {
	TEST(warm_up_and_measurement_have_their_steps),
	TEST(each_machine_starts_its_own_ranks),
	TEST(only_the_first_rank_is_a_straggler),
	TEST(counters_tell_bytes_on_the_network),
	TEST(counters_tell_the_directions_of_forwarded_bytes),
	TEST(runtimes_forward_inside_a_guest),
	TEST(losses_prolong_the_measurement_of_forwarded_calls),
	TEST(timelines_name_the_collective),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
