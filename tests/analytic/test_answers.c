/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From runs to answers: the tests calculate the numbers of a prediction again, from the steps and
 * links of its run or by hand from its draws. */
#include <stdlib.h>
#include <unistd.h>

#include "sim/predict/baselines.h"
#include "sim/predict/draws.h"
#include "tests/case_points.h"

/* ---- draws ---- */

/* The outcomes of 39 draws are 1 to 39. A further outcome falls below the second smallest with
 * probability 2 / 40 = 5 %, and above the second largest with the same probability. */
static void interval_of_39_draws_leaves_out_one_draw_at_each_end(void)
{
	enum { COUNT = 39 };
	struct arena *arena = arena_new();
	struct draw_answers answers[COUNT];
	for (size_t i = 0; i < COUNT; i++) /* 17 and 39 have no common divisor */
		answers[i] =
			(struct draw_answers){.all = {.throughput = (double)(1 + i * 17 % COUNT)}};
	const struct draws draws = {.count = COUNT, .answers = answers};
	struct estimate e =
		draws_interval(arena, &draws, 20, -1, offsetof(struct job_point, throughput));
	CHECK(e.value == 20);
	CHECK_NEAR(e.low, 2, 1e-12);
	CHECK_NEAR(e.high, 38, 1e-12);
	arena_free(arena);
}

/* a = 4 with interval 2 to 32, b = 1 with interval 1/4 to 2; the two share no parameter. The lower
 * bound combines a / 2 and b * 2: in units of log 2, sqrt(1 + 1), a factor of 2^sqrt(2). The upper
 * bound combines a * 8 and b / 4: sqrt(9 + 4), a factor of 2^sqrt(13). */
static void quotient_of_independent_predictions_combines_log_deviations(void)
{
	const struct prediction a = {.throughput = {4, 2, 32}}, b = {.throughput = {1, 0.25, 2}};
	struct estimate q = draws_quotient(&a, &b).estimate;
	CHECK(q.value == 4);
	CHECK_NEAR(q.low, 4 / pow(2, sqrt(2)), 1e-12);
	CHECK_NEAR(q.high, 4 * pow(2, sqrt(13)), 1e-12);
}

/* ---- one job ---- */

#define DDL                                                                                        \
	"case.topology=c10-p100", "case.gpus=8", "case.batch=128", "case.stack=tf-1.4",            \
		"case.profile=ddl-c10-host", "case.exchange=ddl", "case.transport=tcp",            \
		"case.guest=os", "case.epochs=2"
static const struct settings ddl = {{DDL}};

static const struct prediction *prediction_of(struct arena *arena, const struct settings *of,
					      size_t draws_count)
{
	struct setting settings[16];
	size_t count = 0;
	for (; of->texts[count]; count++)
		settings[count] = (struct setting){.text = of->texts[count]};
	const struct case_request request = {
		.settings = settings, .setting_count = count, .data_root = data_root_find(arena)};
	const struct predict_options options = {.seed = 1, .draws_count = draws_count, .jobs = 1};
	const char *broken;
	const struct prediction *p =
		predict_case(arena, diag_new(arena), &request, &options, &broken);
	CHECK(p != NULL && p->ok);
	return p;
}

static double sum_of(const struct job_run *run, size_t offset)
{
	double sum = 0;
	for (size_t i = run->steady_first; i < run->steady_first + run->steady_count; i++)
		sum += *(const double *)(const void *)((const char *)&run->steps[i] + offset);
	return sum;
}

static double lasted_s(const struct job_run *run)
{
	int64_t sum_ps = 0;
	for (size_t i = run->steady_first; i < run->steady_first + run->steady_count; i++)
		sum_ps += run->steps[i].end_ps - run->steps[i].start_ps;
	return s_from_ps(sum_ps);
}

static double part_s(const struct prediction *p, const char *name)
{
	return prediction_part_s(p, name);
}

/* Sizes that are whole numbers of KiB or MiB are shown so. 1.5 MiB are 1536 KiB. */
static void prediction_of_a_collective_names_its_size(void)
{
	static const char *const sizes[][2] = {{"1023 B", "1023 B"},
					       {"1024 B", "1 KiB"},
					       {"1 MiB", "1 MiB"},
					       {"1.5 MiB", "1536 KiB"}};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const struct settings settings = {
			{"case.topology=dgx-h100", "case.gpus=2", "case.exchange=nccl-2.18",
			 "case.collective=all_reduce",
			 arena_printf(arena, "case.collective_size=%s", sizes[i][0])}};
		const struct prediction *p = prediction_of(arena, &settings, 0);
		if (p)
			CHECK_TEXT(p->collective,
				   arena_printf(arena, "all_reduce, %s", sizes[i][1]));
	}
	arena_free(arena);
}

/* The step time, its parts and the time of its collectives are means over the steps of the window.
 */
static void step_time_is_the_mean_of_the_window(void)
{
	struct arena *arena = arena_new();
	struct point point = POINT(arena, ddl, "case.steps=6");
	const struct job_run *run = &point.outcome.jobs[0];
	double count = (double)run->steady_count;
	CHECK(run->steady_count >= 2);
	CHECK_NEAR(point.jobs[0].step_s * count, lasted_s(run), 1e-12);
	CHECK_NEAR(point.throughput, 8 * 128 * count / lasted_s(run), 1e-12);
	const struct settings six = {{DDL, "case.steps=6"}};
	const struct prediction *p = prediction_of(arena, &six, 0);
	if (!p)
		return;
	CHECK(p->step_s.value == point.step_s);
	CHECK_NEAR(p->communication_s,
		   sum_of(run, offsetof(struct step_record, collective_s)) / count, 1e-12);
	CHECK(p->communication_s < p->step_s.value);
	static const struct {
		const char *name;
		size_t offset;
	} parts[] = {{"kernel", offsetof(struct step_record, kernel_s)},
		     {"input wait", offsetof(struct step_record, input_s)},
		     {"collective exposed", offsetof(struct step_record, exposed_s)},
		     {"straggler", offsetof(struct step_record, straggler_s)},
		     {"other", offsetof(struct step_record, other_s)}};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		CHECK(fabs(part_s(p, parts[i].name) - sum_of(run, parts[i].offset) / count) <=
		      1e-12);
	arena_free(arena);
}

/* The waits of a step are those of the window, which has all its steps, divided by their number. */
static void waits_are_those_of_one_step(void)
{
	static const struct settings cycles = {{"case.topology=dgx1-v100-ethernet", "case.gpus=16",
						"case.model=alexnet", "case.batch=16"}};
	struct arena *arena = arena_new();
	struct point point = POINT(arena, cycles, "case.steps=5");
	const struct settings five = {{"case.topology=dgx1-v100-ethernet", "case.gpus=16",
				       "case.model=alexnet", "case.batch=16", "case.steps=5"}};
	const struct prediction *p = prediction_of(arena, &five, 0);
	double waits_s = 0, shown_s = 0;
	for (size_t i = 0; i < WAIT_COUNT; i++)
		waits_s += point.outcome.waits_s[i];
	for (size_t i = 0; p && i < p->wait_count; i++)
		shown_s += p->waits[i].seconds;
	CHECK(waits_s > 0 && point.outcome.jobs[0].steady_count > 1);
	CHECK_NEAR(shown_s * (double)point.outcome.jobs[0].steady_count, waits_s, 1e-9);
	arena_free(arena);
}

/* Timeouts of two connections overlap, so their sum is longer than the time that the GPU waits. The
 * part for them ends there, and nothing is left for the network. */
static void retransmission_is_not_longer_than_the_waits(void)
{
	static const struct settings lossy = {
		{"case.topology=vm-p100-vmxnet3", "case.runtime=flexdirect-1.11", "case.batch=64",
		 "case.program=client", "link.client-port.loss=0.05"}};
	struct arena *arena = arena_new();
	const struct prediction *p = prediction_of(arena, &lossy, 0);
	double sum_s = 0;
	for (size_t i = 0; p && i < p->breakdown_count; i++) {
		CHECK(p->breakdown[i].seconds >= 0);
		sum_s += p->breakdown[i].seconds;
	}
	CHECK(p && part_s(p, "retransmission") > 0.9 * p->step_s.value);
	CHECK(p && part_s(p, "network") == 0);
	CHECK(p && fabs(sum_s / p->step_s.value - 1) < 1e-9);
	arena_free(arena);
}

/* Each repetition of the collective carries the same bytes. So the window carries the same part of
 * all bytes as it has of all steps, and its utilization is these bytes divided by capacity and
 * time. */
static void link_utilization_counts_the_bytes_of_the_window(void)
{
	static const struct settings collective = {{"case.topology=c10-p100", "case.gpus=8",
						    "case.exchange=nccl-2.8", "case.transport=tcp",
						    "case.guest=os", "case.collective=all_reduce",
						    "case.collective_size=8 MiB", "case.steps=5"}};
	struct arena *arena = arena_new();
	struct point point = POINT(arena, collective, "case.steps=5");
	const struct job_run *run = &point.outcome.jobs[0];
	const struct prediction *p = prediction_of(arena, &collective, 0);
	double part = (double)run->steady_count / (double)run->step_count;
	size_t used = 0;
	CHECK(p && p->link_count == point.outcome.link_count);
	for (size_t i = 0; p && i < p->link_count; i++) {
		const struct link_use *use = &point.outcome.links[i];
		double expected = use->carried_B * part / use->capacity_Bps / lasted_s(run);
		CHECK(fabs(p->links[i].utilization - expected) <= 1e-9);
		used += expected > 0.01;
	}
	CHECK(used > 0 && part < 1);
	arena_free(arena);
}

/* Two epochs of 1,281,167 images take their time at the throughput, and less than a minute before
 * and after the steps. */
static void training_time_is_that_of_the_images_and_the_start(void)
{
	struct arena *arena = arena_new();
	const struct prediction *p = prediction_of(arena, &ddl, 8);
	if (p) {
		CHECK(p->throughput.low < p->throughput.high);
		double steps_s = 2 * 1281167 / p->throughput.value;
		CHECK(p->training_s.value > steps_s && p->training_s.value < steps_s + 60);
		CHECK(p->training_s.low < p->training_s.value);
		CHECK(p->training_s.high > p->training_s.value);
		CHECK(p->training_s.value == p->elapsed_s.value);
	}
	arena_free(arena);
}

/* Tokens and images take their number divided by the throughput, and the ends of the interval its
 * other end. */
static void training_time_is_the_inverse_of_the_throughput(void)
{
	static const struct settings tokens = {{"case.topology=dgx1-v100", "case.model=gpt2",
						"case.stack=pytorch-amp", "case.batch=2",
						"case.gpus=2", "case.tokens=1000000"}};
	static const struct settings images = {
		{"case.topology=gpu-pool", "case.runtime=asynchronous", "case.transport=tcp",
		 "case.program=client1", "case.model=alexnet", "case.batch=8", "case.gpus=2",
		 "case.epochs=2", "case.images=500"}};
	for (int of_images = 0; of_images < 2; of_images++) {
		struct arena *arena = arena_new();
		const struct prediction *p = prediction_of(arena, of_images ? &images : &tokens, 4);
		double count = of_images ? 2 * 500 : 1e6;
		if (p) {
			const struct estimate *rate =
				of_images ? &p->throughput : &p->token_throughput;
			CHECK(rate->low < rate->value && rate->value < rate->high);
			CHECK_NEAR(p->training_s.value * rate->value, count, 1e-9);
			CHECK_NEAR(p->training_s.low * rate->high, count, 1e-9);
			CHECK_NEAR(p->training_s.high * rate->low, count, 1e-9);
		}
		arena_free(arena);
	}
}

/* PyTorch runs ahead of the GPU, so its first step is shorter than the others. The step on one GPU
 * that a job repeats is the second one, also if the job has no warm-up. */
static void profile_of_a_job_is_a_step_after_a_warm_up(void)
{
	static const struct settings alexnet = {{"case.topology=dgx1-v100", "case.model=alexnet",
						 "case.stack=pytorch", "case.batch=16"}};
	struct arena *arena = arena_new();
	double step_s = STEP_S(alexnet, "case.steps_warmup=1");
	CHECK(fabs(STEP_S(alexnet, "case.steps_warmup=0") / step_s - 1) > 1e-3);
	for (int warm = 0; warm < 3; warm += 2) {
		struct point point = POINT(arena, alexnet, "case.gpus=2",
					   warm ? "case.steps_warmup=2" : "case.steps_warmup=0");
		CHECK_NEAR(point.outcome.jobs[0].solo_step_s, step_s, 1e-9);
	}
	arena_free(arena);
}

/* Two steps have twice the collectives of one. */
static void collectives_are_counted_for_each_step(void)
{
	static const char *const steps[] = {"case.steps=2", "case.steps=4"};
	struct arena *arena = arena_new();
	double counts[2] = {0};
	for (size_t i = 0; i < 2; i++) {
		const struct settings job = {{"case.topology=dgx1-v100", "case.model=alexnet",
					      "case.batch=16", "case.gpus=2", "case.exchange=ddp",
					      steps[i]}};
		const struct prediction *p = prediction_of(arena, &job, 0);
		counts[i] = p ? p->collectives_count : 0;
	}
	CHECK(counts[0] >= 1);
	CHECK_NEAR(counts[1], counts[0], 1e-12);
	arena_free(arena);
}

/* The job reads real data, which its input pipelines simulate, and a straggler slows down its first
 * GPU by half. Neither belongs to the step of one GPU or to the baseline. */
static void baseline_of_a_job_has_no_input_and_no_straggler(void)
{
	static const struct settings alexnet = {{"case.topology=dgx1-v100", "case.model=alexnet",
						 "case.stack=tf-1.12", "case.batch=16",
						 "case.gpus=2"}};
	struct arena *arena = arena_new();
	static const char *const more[][2] = {
		{"case.straggler=1"}, {"case.straggler=1.5"}, {"stack.real_input=true"}};
	struct point points[3] = {0};
	for (size_t i = 0; i < 3; i++) {
		const struct scenario *scenario = scenario_of(arena, &alexnet, more[i]);
		if (scenario)
			points[i] = predict_point(arena, scenario, 1, true, NULL, NULL);
	}
	struct point plain = points[0], slow = points[1], input = points[2];
	CHECK(slow.throughput < 0.9 * plain.throughput);
	CHECK_NEAR(slow.throughput / slow.ratio, plain.throughput / plain.ratio, 1e-9);
	CHECK_NEAR(input.outcome.jobs[0].solo_step_s, plain.outcome.jobs[0].solo_step_s, 1e-9);
	arena_free(arena);
}

/* Two stages of two GPUs each. The second one has the logits, so it needs more memory. The times of
 * each stage add up to the step. */
static void stages_of_a_plan_have_their_ranks_memory_and_times(void)
{
	static const struct settings plan = {
		{"case.topology=dgx-a100", "case.model=gpt2", "case.stack=megatron-bf16",
		 "case.gpus=4", "plan.pp=2", "plan.micro_batch=4", "plan.schedule=gpipe"}};
	struct arena *arena = arena_new();
	const struct prediction *p = prediction_of(arena, &plan, 0);
	if (p && CHECK(p->stage_count == 3)) {
		CHECK_TEXT(p->stages[0].name, "stage 0");
		CHECK_TEXT(p->stages[1].name, "stage 1");
		CHECK_PART(p->stages[2].name, "which computes longest");
		CHECK(p->stages[0].rank_count == 2 && p->stages[1].rank_count == 2);
		CHECK(p->stages[2].rank_count == 1);
		CHECK(p->stages[1].memory_B > p->stages[0].memory_B);
		CHECK(p->memory_B == p->stages[1].memory_B);
		CHECK_TEXT(p->stages[2].parts[0].name, PART_KERNEL);
		CHECK(p->stages[2].parts[0].seconds >= p->stages[1].parts[0].seconds);
		CHECK(p->stages[1].parts[0].seconds > p->stages[0].parts[0].seconds);
		for (size_t i = 0; i < 3; i++) {
			double sum_s = 0;
			for (size_t k = 0; k < p->stages[i].part_count; k++)
				sum_s += p->stages[i].parts[k].seconds;
			CHECK_NEAR(sum_s, p->step_s.value, 1e-9);
		}
	}
	arena_free(arena);
}

/* Training data come from a remote file system, so that a step waits for input. */
static void input_wait_is_not_exposed_communication(void)
{
	static const struct settings fed = {
		{"case.topology=c10-p100", "case.gpus=2", "case.batch=128", "case.stack=tf-1.5",
		 "case.profile=ddl-c10-s3fs", "case.exchange=ddl", "case.transport=tcp",
		 "case.guest=os", "input.source=s3fs"}};
	struct arena *arena = arena_new();
	struct point point = POINT(arena, fed, "case.gpus=2");
	const struct job_run *run = &point.outcome.jobs[0];
	const struct prediction *p = prediction_of(arena, &fed, 0);
	double count = (double)run->steady_count;
	double input_s = sum_of(run, offsetof(struct step_record, input_s)) / count;
	CHECK(input_s > 0.01 * point.step_s);
	if (p) {
		CHECK_NEAR(part_s(p, "input wait"), input_s, 1e-12);
		CHECK_NEAR(part_s(p, "kernel") + part_s(p, "input wait") +
				   part_s(p, "collective exposed") + part_s(p, "straggler") +
				   part_s(p, "other"),
			   p->step_s.value, 1e-9);
	}
	arena_free(arena);
}

/* Checks that each of four machines sends and receives `copies` times the gradients of ResNet-50,
 * 25,557,032 of 4 B, in each step. */
static void four_machines_carry(const char *algorithm, double copies)
{
	static const struct settings served = {
		{"case.topology=c10-p100", "case.gpus=8", "case.batch=64", "case.model=resnet50",
		 "case.stack=tf-1.4", "case.profile=ddl-c10-host", "case.exchange=ddl",
		 "case.transport=tcp", "case.guest=os", "library.servers=4", "exchange.noise=0"}};
	const double gradients_B = 4 * 25557032.0;
	struct arena *arena = arena_new();
	struct point point = POINT(arena, served, "case.steps=2", algorithm);
	size_t wires = 0;
	for (size_t i = 0; i < point.outcome.link_count; i++) {
		const struct link_use *use = &point.outcome.links[i];
		double steps = (double)point.outcome.jobs[0].step_count;
		if (use->capacity_Bps != 1.25e9 || use->carried_B <= 0)
			continue;
		wires++;
		CHECK(use->carried_B >= copies * gradients_B * steps);
		CHECK(use->carried_B <= copies * gradients_B * steps * 1.1);
	}
	CHECK(wires == 8);
	arena_free(arena);
}

/* A quarter of the gradients S goes to each of four servers on four machines. A machine sends 3/4 S
 * for each of its two workers. Its server sends S/4 to each of the six workers of other machines.
 * So the machine sends 3 S, and it receives as much. */
static void parameter_servers_are_spread_over_machines(void)
{
	four_machines_carry("library.algorithm=parameter_server", 3);
}

/* A machine sends 3/4 S once, and its server S/4 to each of the three other machines. */
static void two_level_servers_send_one_copy_for_each_machine(void)
{
	four_machines_carry("library.algorithm=two_level_server", 1.5);
}

/* ---- several jobs, several programs ---- */

static const char two_unlike[] =
	"case = { name = \"two unlike\"; topology = \"dgx1-p100\"; stack = \"tf-1.1-2017\";\n"
	"model = \"alexnet_tf\"; batch = 64; profile = \"tf-2017-nccl1\";\n"
	"exchange = \"tf-replicated-nccl1\"; settings = [\"exchange.noise=0\", "
	"\"input.source=gpu\"];\n"
	"jobs = ( { name = \"one\"; gpus = 1; first_gpu = 0; },\n"
	"{ name = \"two\"; gpus = 2; first_gpu = 2; batch = 32; } ); };\n";

static struct point point_of_text(struct arena *arena, const char *text, size_t size,
				  struct baselines *baselines)
{
	char path[] = "/tmp/farwire-answers-XXXXXX";
	int file = mkstemp(path);
	struct point point = {.failed = true};
	if (!CHECK(file >= 0))
		return point;
	CHECK(write(file, text, size) == (ssize_t)size);
	close(file);
	struct diag *diag = diag_new(arena);
	const struct case_request request = {.path = path, .data_root = data_root_find(arena)};
	const struct scenario *scenario = case_read(arena, diag, &request);
	remove(path);
	diag_print(diag, stdout);
	if (CHECK(scenario != NULL))
		point = predict_point(arena, scenario, 1, true, baselines, NULL);
	CHECK(!point.broken && !point.failed);
	return point;
}

/* A store of baselines does not change the answers of several jobs, the first and the next time. */
static void stored_baselines_are_those_of_one_job(void)
{
	struct arena *arena = arena_new();
	struct baselines *store = baselines_new();
	struct point plain = point_of_text(arena, two_unlike, sizeof two_unlike - 1, NULL);
	for (size_t time = 0; time < 2 && !plain.failed; time++) {
		struct point point = point_of_text(arena, two_unlike, sizeof two_unlike - 1, store);
		for (size_t i = 0; i < 2 && !point.failed; i++) {
			CHECK_NEAR(point.jobs[i].ratio, plain.jobs[i].ratio, 1e-12);
			CHECK_NEAR(point.jobs[i].step_s, plain.jobs[i].step_s, 1e-12);
			CHECK_NEAR(point.outcome.jobs[i].solo_step_s,
				   plain.outcome.jobs[i].solo_step_s, 1e-12);
		}
	}
	baselines_free(store);
	arena_free(arena);
}

/* The baseline of a job is one GPU that trains the job's own batch. The two jobs also begin at
 * different times. */
static void each_job_has_its_own_baseline(void)
{
	static const struct settings alone = {
		{"case.topology=dgx1-p100", "case.stack=tf-1.1-2017", "case.model=alexnet_tf",
		 "case.profile=tf-2017-nccl1", "case.exchange=tf-replicated-nccl1", "case.gpus=1",
		 "exchange.noise=0", "input.source=gpu"}};
	static const char *const batches[] = {"case.batch=64", "case.batch=32"};
	struct arena *arena = arena_new();
	struct point point = point_of_text(arena, two_unlike, sizeof two_unlike - 1, NULL);
	for (size_t i = 0; i < 2 && !point.failed; i++) {
		struct point own = POINT(arena, alone, batches[i]);
		double ranks = (double)(i + 1);
		CHECK_NEAR(point.outcome.jobs[i].solo_step_s, own.outcome.jobs[0].solo_step_s,
			   1e-9);
		CHECK_NEAR(point.jobs[i].ratio, point.jobs[i].throughput / own.throughput / ranks,
			   1e-9);
	}
	if (!point.failed) {
		const struct job_run *jobs = point.outcome.jobs;
		const struct job_point *of = point.jobs;
		CHECK_NEAR(point.throughput, of[0].throughput + of[1].throughput, 1e-12);
		CHECK_NEAR(point.step_s, (of[0].step_s + of[1].step_s) / 2, 1e-12);
		CHECK_NEAR(point.ratio, (of[0].ratio + of[1].ratio) / 2, 1e-12);
		/* the second job has two of the three GPUs, each busy for at most the window */
		CHECK(of[1].gpu_utilization <= 1);
		CHECK_NEAR(point.gpu_utilization,
			   (of[0].gpu_utilization + 2 * of[1].gpu_utilization) / 3, 1e-12);
		CHECK(fabs(s_from_ps(jobs[0].steps[0].start_ps - jobs[1].steps[0].start_ps)) >
		      1e-3 * jobs[0].solo_step_s);
	}
	arena_free(arena);
}

/* Two equal programs use different kinds of GPU. The baseline of each is a local GPU of the kind
 * that it uses. */
static void each_program_has_a_baseline_on_its_own_kind_of_gpu(void)
{
	static const char text[] =
		"case = { name = \"two GPUs\"; topology = \"gpu-pool\"; runtime = "
		"\"asynchronous\"; transport = \"tcp\"; model = \"resnet50\"; batch = 8;\n"
		"settings = [\"gpu.gpu2.profile=gtx-1080\"];\n"
		"clients = ( { name = \"one\"; program = \"client1\"; gpu = \"gpu1\"; },\n"
		"{ name = \"two\"; program = \"client2\"; gpu = \"gpu2\"; } ); };\n";
	struct arena *arena = arena_new();
	struct point point = point_of_text(arena, text, sizeof text - 1, NULL);
	if (!point.failed) {
		double first = point.jobs[0].throughput / point.jobs[0].ratio;
		double second = point.jobs[1].throughput / point.jobs[1].ratio;
		CHECK(first > 1.3 * second);
		CHECK(point.jobs[1].ratio <= 1 + 1e-9);
	}
	arena_free(arena);
}

/* Two programs share one of the four GPUs of a pool. The baseline of each is a whole local GPU with
 * its own batch. The utilisation of the pool is that of the GPU in use. */
static void baseline_of_a_program_has_its_batch_and_a_whole_gpu(void)
{
	static const char text[] =
		"case = { name = \"one GPU\"; topology = \"gpu-pool\"; runtime = "
		"\"asynchronous\";\n"
		"transport = \"tcp\"; model = \"resnet50\"; gpu = \"gpu1\"; fraction = 0.5;\n"
		"clients = ( { name = \"one\"; program = \"client1\"; batch = 64; },\n"
		"{ name = \"two\"; program = \"client2\"; batch = 32; } ); };\n";
	static const struct settings local = {{"case.topology=gpu-pool", "case.model=resnet50",
					       "case.gpu=gpu1", "stack.dispatch=5 us",
					       "stack.autograd=1"}};
	static const char *const batches[] = {"case.batch=64", "case.batch=32"};
	struct arena *arena = arena_new();
	struct point point = point_of_text(arena, text, sizeof text - 1, NULL);
	for (size_t i = 0; i < 2 && !point.failed; i++) {
		struct point own = POINT(arena, local, batches[i]);
		CHECK_NEAR(point.jobs[i].throughput / point.jobs[i].ratio, own.throughput, 1e-9);
	}
	if (!point.failed)
		CHECK_NEAR(point.gpu_utilization,
			   point.outcome.gpu_busy_s[0] / point.outcome.window_s, 1e-12);
	/* A program with a part of its local GPU is not its own baseline. */
	const struct scenario *half =
		scenario_of(arena, &local, (const char *const[]){"case.fraction=0.5", NULL});
	if (half)
		CHECK(predict_point(arena, half, 1, true, NULL, NULL).ratio < 0.6);
	arena_free(arena);
}

/* When the window opens, no two of the equal programs begin a step at the same time. */
static void window_opens_at_different_phases_of_pool_clients(void)
{
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const char *root = data_root_find(arena);
	const struct case_request request = {
		.path = arena_printf(arena, "%s/topologies/cases/vgpu-8-on-4.cfg", root),
		.data_root = root};
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	if (!CHECK(scenario != NULL))
		return;
	struct point point = predict_point(arena, scenario, 1, false, NULL, NULL);
	const struct job_run *runs = point.outcome.jobs;
	for (size_t i = 0; i < point.job_count; i++)
		for (size_t k = 0; k < i; k++)
			CHECK(runs[i].steps[runs[i].steady_first].start_ps !=
			      runs[k].steps[runs[k].steady_first].start_ps);
	/* The first step that counts is the first one that begins in the window. */
	int64_t opened_ps = ps_from_s(point.outcome.end_s - point.outcome.window_s);
	for (size_t i = 0; i < point.job_count; i++) {
		const struct step_record *first = &runs[i].steps[runs[i].steady_first];
		CHECK(first->start_ps >= opened_ps - 1);
		CHECK(runs[i].steady_first > 0 && first[-1].start_ps < opened_ps);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(interval_of_39_draws_leaves_out_one_draw_at_each_end),
	TEST(quotient_of_independent_predictions_combines_log_deviations),
	TEST(prediction_of_a_collective_names_its_size),
	TEST(step_time_is_the_mean_of_the_window),
	TEST(waits_are_those_of_one_step),
	TEST(retransmission_is_not_longer_than_the_waits),
	TEST(link_utilization_counts_the_bytes_of_the_window),
	TEST(training_time_is_that_of_the_images_and_the_start),
	TEST(training_time_is_the_inverse_of_the_throughput),
	TEST(profile_of_a_job_is_a_step_after_a_warm_up),
	TEST(collectives_are_counted_for_each_step),
	TEST(baseline_of_a_job_has_no_input_and_no_straggler),
	TEST(stages_of_a_plan_have_their_ranks_memory_and_times),
	TEST(input_wait_is_not_exposed_communication),
	TEST(parameter_servers_are_spread_over_machines),
	TEST(two_level_servers_send_one_copy_for_each_machine),
	TEST(stored_baselines_are_those_of_one_job),
	TEST(each_job_has_its_own_baseline),
	TEST(each_program_has_a_baseline_on_its_own_kind_of_gpu),
	TEST(baseline_of_a_program_has_its_batch_and_a_whole_gpu),
	TEST(window_opens_at_different_phases_of_pool_clients),
};

int main(void)
{
	num_init();
	return TEST_MAIN(tests);
}
