/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Several training jobs in a case: their own values and their places. */
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/scenario/scenario.h"
#include "tests/test.h"

static struct arena *arena;
static struct diag *diag;       /* diagnostics of the last case */
static const char *beside = ""; /* further groups of the file */

static const struct scenario *read_jobs(const char *settings, const char *jobs)
{
	char path[] = "/tmp/farwire-jobs-XXXXXX";
	int fd = mkstemp(path);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!CHECK(out != NULL))
		return NULL;
	fprintf(out, "case = { topology = \"dgx1-v100\"; %s jobs = ( %s ); };\n%s\n", settings,
		jobs, beside);
	fclose(out);
	struct case_request request = {.path = path, .data_root = data_root_find(arena)};
	diag = diag_new(arena);
	const struct scenario *scenario = case_read(arena, diag, &request);
	unlink(path);
	return scenario;
}

/* A job uses the case's value for everything that it does not set. Values of the previous job do
 * not matter. */
static void job_values_do_not_affect_the_next_job(void)
{
	const struct scenario *s = read_jobs(
		"exchange = \"horovod-0.19\";",
		"{ gpus = 2; exchange = \"ddp\"; input = \"host\"; }, { gpus = 2; },"
		"{ gpus = 2; exchange = \"horovod-0.19\"; }, { gpus = 2; exchange = \"ddp\"; }");
	if (!CHECK(s && s->job_count == 4))
		return;
	const struct job_entry *jobs = s->jobs;
	CHECK(jobs[0].exchange->policy != jobs[1].exchange->policy);
	CHECK(jobs[2].exchange == jobs[1].exchange && jobs[2].library == jobs[1].library);
	CHECK(jobs[3].exchange == jobs[0].exchange && jobs[3].library == jobs[0].library);
	CHECK_TEXT(jobs[0].input->source, "host");
	for (size_t i = 1; i < 4; i++)
		CHECK_TEXT(jobs[i].input->source, "gpu");
}

/* The stack's values for input apply to every job, also to one with its own source, but the case's
 * own group overrides them. */
static void stack_sets_the_input_of_every_job(void)
{
	static const char two[] = "{ gpus = 2; input = \"host\"; }, { gpus = 2; }";
	const struct scenario *s = read_jobs("stack = \"tf-1.1-2017\";", two);
	if (!CHECK(s && s->job_count == 2))
		return;
	for (size_t i = 0; i < 2; i++) {
		CHECK(s->jobs[i].input->lockstep && s->jobs[i].input->one_process);
		CHECK(s->jobs[i].input->session_s > 0);
	}
	beside = "input = { lockstep = false; session = \"7 us\"; };";
	s = read_jobs("stack = \"tf-1.1-2017\";", two);
	beside = "";
	if (!CHECK(s && s->job_count == 2))
		return;
	CHECK(!s->jobs[1].input->lockstep && s->jobs[1].input->one_process);
	CHECK_NEAR(s->jobs[1].input->session_s, 7e-6, 0);
	s = read_jobs("stack = \"tf-1.12\";", two);
	CHECK(s && !s->jobs[0].input->lockstep && !s->jobs[1].input->one_process);
}

/* Jobs that name the same storage share it. */
static void jobs_share_one_storage(void)
{
	const struct scenario *s =
		read_jobs("", "{ gpus = 2; input = \"sata-ssd\"; }, { gpus = 2; input = "
			      "\"sata-ssd\"; }, { gpus = 2; input = \"nvme\"; }, { gpus = 2; }");
	if (!CHECK(s && s->job_count == 4))
		return;
	CHECK(s->jobs[0].storage && s->jobs[0].storage == s->jobs[1].storage);
	CHECK(s->jobs[2].storage && s->jobs[2].storage != s->jobs[0].storage);
	CHECK(!s->jobs[3].storage);
}

static bool takes(const struct job_entry *job, size_t count, const size_t *gpus)
{
	return job->rank_count == count && memcmp(job->gpus, gpus, count * sizeof *gpus) == 0;
}

/* The first job takes four GPUs of each machine with eight. The next job gets the others of the
 * same machines and shares their adapters. */
static void the_next_job_takes_free_gpus(void)
{
	const struct scenario *s =
		read_jobs("gpus_per_machine = 4;", "{ gpus = 8; }, { gpus = 8; }");
	if (!CHECK(s && s->job_count == 2))
		return;
	CHECK(takes(&s->jobs[0], 8, (const size_t[]){0, 1, 2, 3, 8, 9, 10, 11}));
	CHECK(takes(&s->jobs[1], 8, (const size_t[]){4, 5, 6, 7, 12, 13, 14, 15}));
	s = read_jobs("", "{ gpus = 2; gpus_per_machine = 1; }, { gpus = 3; },"
			  "{ gpus = 2; first_gpu = 5; }");
	if (!CHECK(s && s->job_count == 3))
		return;
	CHECK(takes(&s->jobs[0], 2, (const size_t[]){0, 8}));
	CHECK(takes(&s->jobs[1], 3, (const size_t[]){1, 2, 3}));
	CHECK(takes(&s->jobs[2], 2, (const size_t[]){5, 6}));
}

/* A job without numbers takes one GPU. A job that begins at a free GPU passes over held ones. */
static void jobs_pass_over_held_gpus(void)
{
	const struct scenario *s = read_jobs("", "{ gpus = 2; }, { }, { gpus = 1; first_gpu = 4; },"
						 "{ gpus = 3; first_gpu = 3; }");
	if (!CHECK(s && s->job_count == 4))
		return;
	CHECK(takes(&s->jobs[0], 2, (const size_t[]){0, 1}));
	CHECK(takes(&s->jobs[1], 1, (const size_t[]){2}));
	CHECK(takes(&s->jobs[2], 1, (const size_t[]){4}));
	CHECK(takes(&s->jobs[3], 3, (const size_t[]){3, 5, 6}));
}

/* The input of a job that names its own is not that of an earlier job, or of the case. */
static void an_own_input_is_read_after_that_of_the_case(void)
{
	const struct scenario *s =
		read_jobs("", "{ gpus = 2; }, { gpus = 2; input = \"host\"; }, { gpus = 2; }");
	if (!CHECK(s && s->job_count == 3))
		return;
	CHECK_TEXT(s->jobs[0].input->source, "gpu");
	CHECK_TEXT(s->jobs[1].input->source, "host");
	CHECK(s->jobs[2].input == s->jobs[0].input);
}

static void two_jobs_on_one_gpu_are_refused(void)
{
	CHECK(!read_jobs("", "{ gpus = 4; }, { gpus = 2; first_gpu = 3; }"));
	CHECK(diag_count(diag) == 1 && strstr(diag_at(diag, 0), "at GPU 3, but job"));
}

/* Settings of programs with forwarded calls are refused in a case of jobs, not ignored. */
static void jobs_take_no_runtime(void)
{
	static const char *const settings[] = {
		"runtime = \"asynchronous\";",
		"program = \"nobody\";",
		"gpu = \"nobody\";",
		"copies = 2;",
	};
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
		CHECK(!read_jobs(settings[i], "{ gpus = 2; }"));
		CHECK(diag_count(diag) == 1 &&
		      strstr(diag_at(diag, 0), "has no effect on collectives"));
	}
}

static void collective_case_allows_only_one_job(void)
{
	CHECK(!read_jobs("collective = \"all_reduce\";", "{ gpus = 2; }, { gpus = 2; }"));
	CHECK(diag_count(diag) == 1 && strstr(diag_at(diag, 0), "one job, not 2"));
	CHECK(read_jobs("collective = \"all_reduce\";", "{ gpus = 2; }") != NULL);
}

static void shared_memory_joins_no_machines(void)
{
	CHECK(read_jobs("transport = \"shm\";", "{ gpus = 8; }") != NULL);
	CHECK(!read_jobs("transport = \"shm\";", "{ gpus = 16; }"));
	CHECK(diag_count(diag) == 1 && strstr(diag_at(diag, 0), "several machines"));
}

static double rate(const char *settings, const char *jobs, enum token_rate rate)
{
	const struct scenario *s =
		read_jobs(arena_printf(arena, "model = \"gpt2\"; %s", settings), jobs);
	diag_print(diag, stdout);
	return CHECK(s != NULL) ? scenario_token_rate(s, rate) : NAN;
}

/* A throughput of the whole system is divided by its GPUs. With twice as many, each has half of it.
 * This also holds for two equal jobs, and for eight machines of which one is simulated. */
static void rates_are_those_of_one_gpu(void)
{
	static const enum token_rate rates[] = {RATE_TOKENS_GPU, RATE_MODEL_FLOPS, RATE_MFU};
	const struct scenario *s = read_jobs(
		"symmetry = \"on\"; settings = [\"library.algorithm=ring\"]; model = \"gpt2\";",
		"{ gpus = 64; }");
	CHECK(s && s->topology.fold);
	for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
		double one = rate("", "{ gpus = 8; }", rates[i]);
		CHECK(one > 0);
		CHECK_NEAR(rate("", "{ gpus = 16; }", rates[i]), one / 2, 1e-12);
		CHECK_NEAR(rate("symmetry = \"on\"; settings = [\"library.algorithm=ring\"];",
				"{ gpus = 64; }", rates[i]),
			   one / 8, 1e-12);
		if (rates[i] != RATE_TOKENS_GPU)
			CHECK_NEAR(rate("", "{ gpus = 8; }, { gpus = 8; }", rates[i]), one / 2,
				   1e-12);
	}
}

static const struct job_entry *job_with(const char *programs, const char *stack, const char *more)
{
	struct setting settings[] = {{.text = "case.topology=dgx1-v100-ethernet"},
				     {.text = "case.model=resnet50"},
				     {.text = "case.gpus=16"},
				     {.text = "case.runtime=asynchronous"},
				     {.text = "case.transport=tcp"},
				     {.text = programs},
				     {.text = stack},
				     {.text = more}};
	const struct case_request request = {.settings = settings,
					     .setting_count = sizeof settings / sizeof settings[0],
					     .data_root = data_root_find(arena)};
	diag = diag_new(arena);
	const struct scenario *s = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	return CHECK(s != NULL) ? &s->jobs[0] : NULL;
}

/* A program runs beside the first of its GPUs. One program has GPUs of both machines, two have one
 * machine each. */
static void programs_run_beside_their_first_gpu(void)
{
	for (size_t programs = 1; programs <= 2; programs++) {
		const struct job_entry *job =
			job_with(programs == 1 ? "case.programs=1" : "case.programs=2",
				 "case.stack=tf-1.12", "exchange.noise=0");
		if (!job)
			return;
		size_t each = 16 / programs;
		CHECK(job->servers[0] != job->servers[15]);
		CHECK(job->spread && job->spread->device_count == each);
		for (size_t i = 0; i < 16; i++)
			CHECK(job->guests[i] == job->servers[i / each * each]);
	}
}

/* Gradients have 4 B, 2 B with a stack that computes them in fp16, or the bytes of the exchange. */
static void gradients_have_the_type_of_the_stack_or_of_the_exchange(void)
{
	static const struct {
		const char *stack, *exchange;
		double element_B;
	} rows[] = {{"stack.fp16_gradients=false", "exchange.noise=0", 4},
		    {"stack.fp16_gradients=true", "exchange.noise=0", 2},
		    {"stack.fp16_gradients=true", "exchange.gradient_element=4 B", 4}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct job_entry *job =
			job_with("case.programs=1", rows[i].stack, rows[i].exchange);
		CHECK(job && job->spread &&
		      exchange_gradient_B(job->spread->exchange, 1, job->spread->element_B) ==
			      rows[i].element_B);
	}
}

/* Returns the index of the GPU that the last rank of a plan with this size of context groups has. A
 * tensor group has 8 ranks. */
static size_t last_gpu(const char *gpus, const char *context, const char *more)
{
	const struct setting list[] = {{"case.topology=gb300-nvl72", {"--set", 0}},
				       {"case.model=llama3-8b", {"--set", 0}},
				       {"case.stack=megatron-bf16", {"--set", 0}},
				       {"case.exchange=nccl-2.18", {"--set", 0}},
				       {"case.symmetry=off", {"--set", 0}},
				       {"plan.global_batch=144", {"--set", 0}},
				       {"plan.tp=8", {"--set", 0}},
				       {gpus, {"--set", 0}},
				       {context, {"--set", 0}},
				       {more, {"--set", 0}}};
	const struct case_request request = {.settings = list,
					     .setting_count = sizeof list / sizeof list[0],
					     .data_root = data_root_find(arena)};
	diag = diag_new(arena);
	const struct scenario *s = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	return CHECK(s) ? s->jobs[0].gpus[s->jobs[0].rank_count - 1] : SIZE_MAX;
}

/* A rack has 72 GPUs. Groups of 16 neighbouring ranks fill 64 of them, so rank 95 is GPU 31 of the
 * second rack. Groups of 8 fill all 72, as do 144 ranks on two racks. */
static void groups_of_a_plan_do_not_straddle_racks(void)
{
	CHECK(last_gpu("case.gpus=96", "plan.cp=2", "case.copies=1") == 72 + 31);
	CHECK(last_gpu("case.gpus=96", "plan.cp=1", "case.copies=1") == 95);
	CHECK(last_gpu("case.gpus=96", "plan.cp=2", "case.gpus_per_machine=32") == 2 * 72 + 31);
	CHECK(last_gpu("case.gpus=144", "plan.cp=2", "cluster.count=2") == 143);
}

static const struct test tests[] = {
	TEST(programs_run_beside_their_first_gpu),
	TEST(gradients_have_the_type_of_the_stack_or_of_the_exchange),
	TEST(rates_are_those_of_one_gpu),
	TEST(job_values_do_not_affect_the_next_job),
	TEST(stack_sets_the_input_of_every_job),
	TEST(jobs_share_one_storage),
	TEST(the_next_job_takes_free_gpus),
	TEST(jobs_pass_over_held_gpus),
	TEST(an_own_input_is_read_after_that_of_the_case),
	TEST(two_jobs_on_one_gpu_are_refused),
	TEST(jobs_take_no_runtime),
	TEST(collective_case_allows_only_one_job),
	TEST(shared_memory_joins_no_machines),
	TEST(groups_of_a_plan_do_not_straddle_racks),
};

int main(void)
{
	num_init();
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
