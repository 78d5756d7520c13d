/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shipped cases of jobs on several GPUs that are played call by call. The tests compare them with
 * the times of their bytes, micro-batches and collectives. */
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/scenario/scenario.h"
#include "tests/test.h"

static struct arena *arena;

/* Bytes on an Ethernet wire for each byte of TCP payload: a frame of 1,538 bytes with its gap
 * carries 1,448. */
static const double WIRE_RATIO = 1538.0 / 1448;

#define CHECK_BETWEEN(value, low, high) CHECK((value) >= (low) && (value) <= (high))

/* Bytes of the gradients of ResNet-50 in this program: 25.6 million variables of 4 bytes. */
static double gradients_B(const struct scenario *scenario)
{
	return scenario->jobs[0].network->parameters_count * 4;
}

static const struct scenario *read_case_with(const char *name, const char *setting,
					     const char *also)
{
	struct diag *diag = diag_new(arena);
	const char *root = data_root_find(arena);
	const struct setting settings[] = {{setting, {"test", 1}}, {also, {"test", 1}}};
	const struct case_request request = {
		.path = name[0] ? arena_printf(arena, "%s/topologies/cases/%s.cfg", root, name)
				: NULL,
		.settings = settings,
		.setting_count = also      ? 2
				 : setting ? 1
					   : 0,
		.data_root = root};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	CHECK(scenario != NULL);
	return scenario;
}

struct answer {
	const struct scenario *scenario;
	struct world_outcome outcome;
	double step_s, steps;
};

static const struct scenario *read_case(const char *name, const char *setting)
{
	return read_case_with(name, setting, NULL);
}

/* The means over ranks of busy, exposed and idle time add up to the mean step. */
static void check_parts(const struct job_run *run)
{
	for (size_t i = 0; i < run->step_count; i++) {
		const struct step_record *step = &run->steps[i];
		double sum_s = step->gpu_busy_s + step->exposed_s;
		for (int kind = 0; kind < TIME_KIND_COUNT; kind++)
			sum_s += step->gpu_idle_s[kind];
		CHECK_NEAR(sum_s, s_from_ps(step->end_ps - step->start_ps), 1e-6);
	}
}

static struct answer run_scenario(const struct scenario *scenario)
{
	struct answer answer = {.scenario = scenario};
	answer.outcome = world_run(arena, answer.scenario, 1, NULL);
	CHECK(!answer.outcome.jobs[0].failed && !answer.outcome.broken);
	check_parts(&answer.outcome.jobs[0]);
	answer.step_s = job_run_step_s(&answer.outcome.jobs[0]);
	answer.steps = answer.outcome.window_s / answer.step_s;
	return answer;
}

static struct answer run_case(const char *name, const char *setting)
{
	return run_scenario(read_case(name, setting));
}

static double step_B(const struct answer *answer, const char *link)
{
	for (size_t i = 0; i < answer->outcome.link_count; i++)
		if (strstr(answer->outcome.links[i].link, link))
			return answer->outcome.links[i].window_B / answer->steps;
	CHECK_TEXT(link, "a link of the topology");
	return 0;
}

/* In each step the gradients of each GPU go to the client and the variables go back to each. The
 * calls add a little in one direction. */
static void variables_on_the_client_cross_its_port_for_each_gpu(void)
{
	static const char *const names[] = {"remote-2-gpus", "remote-4-gpus"};
	num_init();
	arena = arena_new();
	for (size_t i = 0; i < 2; i++) {
		struct answer a = run_case(names[i], NULL);
		double ranks = (double)a.scenario->jobs[0].rank_count;
		double all_B = gradients_B(a.scenario) * ranks * WIRE_RATIO;
		CHECK_BETWEEN(step_B(&a, "tor>client1") / all_B, 0.98, 1.03);
		CHECK_BETWEEN(step_B(&a, "client1>tor") / all_B, 0.98, 1.10);
		/* The same without headers, in all steps; the last ones may be under way. */
		const struct job_run *run = &a.outcome.jobs[0];
		double steps_B = gradients_B(a.scenario) * ranks * (double)run->step_count;
		CHECK_BETWEEN(run->remote.received_B / steps_B, 0.99, 1.5);
		CHECK_BETWEEN(run->remote.sent_B / steps_B, 0.99, 1.6);
		CHECK(run->remote.calls_count[CLASS_BULK] > 0 && run->remote.messages_count > 0);
		/* 25 Gb/s, both directions at the same time */
		CHECK(a.step_s > all_B / (25e9 / 8));
	}
	arena_free(arena);
}

/* The client has one of the four GPUs, whose gradients and variables stay in its machine. */
static void local_gpu_of_a_client_uses_the_local_driver(void)
{
	num_init();
	arena = arena_new();
	struct answer a = run_case("local-and-remote", "case.exchange=tf-parameter-server");
	double three_B = gradients_B(a.scenario) * 3 * WIRE_RATIO;
	CHECK_BETWEEN(step_B(&a, "tor>client") / three_B, 0.98, 1.03);
	arena_free(arena);
}

/* Each GPU sends 2 * 3 / 4 of the gradients around a ring of four GPUs. One of them sends to the
 * other server in each direction. The client sends only calls. */
static void all_reduce_of_remote_gpus_does_not_use_the_client_port(void)
{
	static const char *const names[] = {"remote-4-gpus-all-reduce", "remote-ranks"};
	num_init();
	arena = arena_new();
	double cpu_s = run_case("remote-4-gpus", NULL).step_s;
	for (size_t i = 0; i < 2; i++) {
		struct answer a = run_case(names[i], NULL);
		double ring_B = 1.5 * gradients_B(a.scenario) * WIRE_RATIO;
		CHECK(step_B(&a, "client1>tor") < 0.1 * gradients_B(a.scenario));
		CHECK_BETWEEN(step_B(&a, "server1>tor") / ring_B, 0.98, 1.05);
		CHECK(a.step_s < cpu_s);
		const char *choice = a.outcome.jobs[0].choice;
		CHECK_PART(choice ? choice : "no all-reduce", "ring");
	}
	arena_free(arena);
}

/* With M micro-batches and S stages kernels run for at most M / (M + S - 1) of the step. The stages
 * have equal arithmetic, so kernel times here are proportional to it. */
static void pipeline_is_idle_at_least_for_its_bubble(void)
{
	static const struct {
		const char *setting;
		double micro_batches;
	} rows[] = {
		{"plan.micro_batch=64", 2}, {"plan.micro_batch=32", 4}, {"plan.micro_batch=8", 16}};
	double before = 0;
	num_init();
	arena = arena_new();
	for (size_t i = 0; i < 3; i++) {
		struct answer a = run_scenario(read_case_with("pipeline-2-stages", rows[i].setting,
							      "efficiency.*.*.peak=0.6"));
		const struct job_run *run = &a.outcome.jobs[0];
		double busy = run->steps[run->step_count - 1].gpu_busy_s / a.step_s;
		double most = rows[i].micro_batches / (rows[i].micro_batches + 1);
		CHECK_BETWEEN(busy / most, 0.85, 1);
		CHECK(busy > before);
		before = busy;
	}
	arena_free(arena);
}

/* Time of a step of a case without a file, whose jobs are played call by call or not. */
static double step_of_settings(const struct setting *settings, size_t count, bool played)
{
	struct diag *diag = diag_new(arena);
	const struct case_request request = {
		.settings = settings, .setting_count = count, .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	if (!CHECK(scenario != NULL && (scenario->style == JOBS_PROGRAMS) == played))
		return 0;
	struct world_outcome outcome = world_run(arena, scenario, 1, NULL);
	CHECK(!outcome.jobs[0].failed);
	return job_run_step_s(&outcome.jobs[0]);
}

/* The step time is 2.5 ms of kernels and the time of the same all-reduce without them. */
static void recorded_rank_takes_its_kernels_and_one_all_reduce(void)
{
	static const struct setting alone[] = {
		{"case.topology=dgx1-v100", {"test", 1}},
		{"case.gpus=2", {"test", 1}},
		{"case.collective=all_reduce", {"test", 1}},
		{"case.collective_size=100000000 B", {"test", 1}},
		{"case.exchange=nccl-2.18", {"test", 1}},
	};
	num_init();
	arena = arena_new();
	struct answer a = run_case("recorded-ranks", NULL);
	double collective_s = step_of_settings(alone, sizeof alone / sizeof alone[0], false);
	CHECK_BETWEEN(a.step_s - collective_s, 2.5e-3, 2.55e-3);
	arena_free(arena);
}

/* The job of remote-ranks with local GPUs runs once as programs and once with fused ranks. The two
 * model the overlap of exchange and backward at different granularity. */
static void fused_ranks_and_programs_agree_within_five_percent(void)
{
	static const struct setting fused[] = {
		{"case.topology=gpu-pool", {"test", 1}}, {"case.gpus=4", {"test", 1}},
		{"case.batch=32", {"test", 1}},          {"case.stack=pytorch", {"test", 1}},
		{"case.exchange=ddp", {"test", 1}},      {"case.transport=tcp", {"test", 1}},
	};
	num_init();
	arena = arena_new();
	struct scenario local = *read_case("remote-ranks", NULL);
	struct job_entry job = local.jobs[0];
	job.runtime = NULL;
	job.guests = job.servers;
	local.jobs = &job;
	struct world_outcome called = world_run(arena, &local, 1, NULL);
	CHECK(!called.jobs[0].failed);
	double fused_s = step_of_settings(fused, sizeof fused / sizeof fused[0], false);
	CHECK_BETWEEN(job_run_step_s(&called.jobs[0]) / fused_s, 0.95, 1.05);
	arena_free(arena);
}

/* Forwards the calls of ranks to servers of their own guests. A program holds each GPU, or one
 * program holds both. */
static double step_in_own_guest(const char *gpus, const char *programs)
{
	const struct setting settings[] = {
		{"case.topology=dgx-h100", {"test", 1}},
		{"case.model=gpt2", {"test", 1}},
		{"case.batch=2", {"test", 1}},
		{"case.stack=pytorch-bf16-adamw", {"test", 1}},
		{"case.exchange=ddp", {"test", 1}},
		{"case.runtime=synchronous", {"test", 1}},
		{"runtime.unmarshal=1 us", {"test", 1}},
		{"case.transport=shm", {"test", 1}},
		{"stack.dispatch=5 us", {"test", 1}},
		{"stack.autograd=1", {"test", 1}},
		{gpus, {"test", 1}},
		{programs, {"test", 1}},
	};
	return step_of_settings(settings, sizeof settings / sizeof settings[0], true);
}

/* A rank makes the same calls for any number of ranks, and each rank has its own connection and
 * cores. Each synchronous call waits for its round trip, longer than the exchange over NVLink. So
 * two ranks take as long as one; without forwarded calls they would take 0.4 of it. */
static void runtime_in_own_guest_costs_each_rank_what_it_costs_one(void)
{
	num_init();
	arena = arena_new();
	double one_s = step_in_own_guest("case.gpus=1", "case.programs=1");
	CHECK_BETWEEN(one_s, 0.05, 0.057); /* 21 ms with the local driver */
	CHECK_NEAR(step_in_own_guest("case.gpus=2", "case.programs=2"), one_s, 0.01);
	CHECK_NEAR(step_in_own_guest("case.gpus=2", "case.programs=1"), one_s, 0.01);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(variables_on_the_client_cross_its_port_for_each_gpu),
	TEST(local_gpu_of_a_client_uses_the_local_driver),
	TEST(all_reduce_of_remote_gpus_does_not_use_the_client_port),
	TEST(pipeline_is_idle_at_least_for_its_bubble),
	TEST(recorded_rank_takes_its_kernels_and_one_all_reduce),
	TEST(fused_ranks_and_programs_agree_within_five_percent),
	TEST(runtime_in_own_guest_costs_each_rank_what_it_costs_one),
};

int main(void)
{
	return TEST_MAIN(tests);
}
