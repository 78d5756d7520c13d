/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Phases of a job from launch to end (sim/workload/life.h, sim/predict/point.c).
 *
 * The machine is a desktop with two GPUs whose four cores run at the reference clock of 2.4 GHz. So
 * a thread with a core of its own does 1 s of work in 1 s. Its disk delivers 100 MB/s without
 * delay. The phases cost round numbers, and nothing is copied out of the page cache. */
#include <string.h>

#include "tests/case_points.h"

#define DESKTOP                                                                                    \
	"case.topology=closer2018-gtx1080", "case.stack=tf-1.4", "exchange.noise=0",               \
		"host.*.clock=2.4 GHz", "host.*.turbo=false", "host.*.copy_rate=1000 GB/s"
#define PHASES                                                                                     \
	"phases.process=2 s", "phases.context=1 s", "phases.graph_op=0 s", "phases.autotune=0",    \
		"phases.shuffle=0", "phases.end=0.5 s"
#define DISK "input.source=sata-ssd", "storage.bandwidth=100 MB/s", "storage.latency=0 s"

static const struct settings one = {{DESKTOP, PHASES, "case.gpus=1"}};
static const struct settings disk = {{DESKTOP, PHASES, DISK, "case.gpus=1"}};

static const struct settings two_on_disk = {{"exchange.noise=0", "host.*.clock=2.4 GHz",
					     "host.*.turbo=false", "host.*.copy_rate=1000 GB/s",
					     PHASES, DISK}};

#define STEPS(count) "case.job_steps=" #count
#define NEAR         1e-6

/* The case of two equal jobs, one on each GPU of a machine. */
static struct point two_jobs(struct arena *arena, const char *const *more)
{
	struct setting settings[32] = {{"case.model=resnet50", {"test", 0}},
				       {"case.batch=32", {"test", 0}},
				       {"job.background.model=resnet50", {"test", 0}},
				       {"job.background.batch=32", {"test", 0}}};
	size_t count = 4;
	for (const char *const *text = two_on_disk.texts; *text; text++)
		settings[count++] = (struct setting){*text, {"test", 0}};
	for (; *more; more++)
		settings[count++] = (struct setting){*more, {"test", 0}};
	struct diag *diag = diag_new(arena);
	const char *root = data_root_find(arena);
	const struct case_request request = {
		.path = arena_printf(arena, "%s/topologies/cases/closer2018-two-jobs.cfg", root),
		.settings = settings,
		.setting_count = count,
		.data_root = root};
	num_init();
	const struct scenario *scenario = case_read(arena, diag, &request);
	diag_print(diag, stdout);
	CHECK(scenario != NULL);
	struct point point = {.failed = true};
	if (scenario)
		point = predict_point(arena, scenario, 1, false, NULL, NULL);
	CHECK(!point.failed && !point.broken);
	return point;
}
#define TWO_JOBS(arena, ...) two_jobs((arena), (const char *const[]){__VA_ARGS__, NULL})

static double phase_s(const struct point *point, const char *name)
{
	for (size_t i = 0; i < point->phase_count; i++)
		if (strcmp(point->phases[i].name, name) == 0)
			return point->phases[i].seconds;
	return NAN;
}

/* A phase of the case with further settings. */
static double phase_of(const struct settings *base, const char *name, const char *const *more)
{
	struct arena *arena = arena_new();
	struct point point = point_of(arena, base, more);
	double seconds = phase_s(&point, name);
	arena_free(arena);
	return seconds;
}
#define PHASE(base, name, ...)                                                                     \
	phase_of(&(base), name, (const char *const[]){STEPS(100), __VA_ARGS__, NULL})

static void host_work_takes_its_time_on_a_core_of_its_own(void)
{
	CHECK_NEAR(PHASE(one, "process start", NULL), 2, NEAR);
	CHECK_NEAR(PHASE(one, "CUDA contexts", NULL), 1, NEAR);
	CHECK_NEAR(PHASE(one, "graph", NULL), 0, NEAR);
	CHECK_NEAR(PHASE(one, "end", NULL), 0.5, NEAR);
	/* Twice the clock, half the time; 24 % more work in the virtual machine. */
	CHECK_NEAR(PHASE(one, "process start", "host.*.clock=4.8 GHz"), 1, NEAR);
	CHECK_NEAR(PHASE(one, "process start", "case.guest=vm"), 2 * 1.24, NEAR);
	CHECK_NEAR(PHASE(one, "end", "case.guest=vm"), 0.5 * 1.24, NEAR);
}

/* One process for both GPUs makes two contexts one after the other. Two processes make one each at
 * the same time. On a single core they share it, and switching costs 4 %. */
static void processes_of_a_machine_start_side_by_side(void)
{
	static const char two[] = "case.gpus=2", joined[] = "input.one_process=true",
			  core[] = "host.*.cores=1";

	CHECK_NEAR(PHASE(one, "process start", two), 2, NEAR);
	CHECK_NEAR(PHASE(one, "CUDA contexts", two), 1, NEAR);
	CHECK_NEAR(PHASE(one, "process start", two, joined), 2, NEAR);
	CHECK_NEAR(PHASE(one, "CUDA contexts", two, joined), 2, NEAR);
	CHECK_NEAR(PHASE(one, "process start", two, core), 2 * 2 * 1.04, NEAR);
	CHECK_NEAR(PHASE(one, "process start", two, joined, core), 2, NEAR);
}

/* Each op of the step costs the same, for each GPU of the process. */
static void graph_grows_with_ops_and_gpus(void)
{
	double one_s = PHASE(one, "graph", "phases.graph_op=1 ms");

	CHECK(one_s > 0.1); /* ResNet-50 has some hundred ops */
	CHECK_NEAR(PHASE(one, "graph", "phases.graph_op=2 ms"), 2 * one_s, NEAR);
	CHECK_NEAR(PHASE(one, "graph", "phases.graph_op=1 ms", "case.gpus=2",
			 "input.one_process=true"),
		   2 * one_s, NEAR);
}

/* The first batch needs 10,000 images of 115 kB and its own 32 from the disk, is decoded in 32 x 4
 * ms by four cores, and is copied: 19 MB in less than 10 ms. */
static void shuffle_buffer_fills_before_the_first_batch(void)
{
	double read_s = 32 * 115e3 / 100e6, decode_s = 32 * 4e-3 / 4;
	double first_s = PHASE(disk, "first batch", NULL);
	double filled_s = PHASE(disk, "first batch", "phases.shuffle=10000");

	CHECK_NEAR(PHASE(one, "first batch", NULL), 0, NEAR);
	CHECK(first_s > read_s + decode_s && first_s < read_s + decode_s + 0.01);
	CHECK_NEAR(filled_s - first_s, 10000 * 115e3 / 100e6, NEAR);
	/* Each process has a buffer, and both read from one disk. */
	CHECK_NEAR(PHASE(disk, "first batch", "phases.shuffle=10000", "case.gpus=2") / filled_s, 2,
		   0.01);
	CHECK_NEAR(PHASE(disk, "first batch", "phases.shuffle=10000", "case.gpus=2",
			 "input.one_process=true") /
			   filled_s,
		   1, 0.01);
	/* Two machines have a process and a disk each. */
	CHECK_NEAR(PHASE(disk, "first batch", "phases.shuffle=10000", "case.gpus=4",
			 "input.one_process=true") /
			   filled_s,
		   1, 0.01);
}

/* Two jobs that start together share the disk and, with one core, the core. */
static void jobs_that_start_together_share_disk_and_cores(void)
{
	struct arena *arena = arena_new();
	struct point point = TWO_JOBS(arena, STEPS(100), "phases.shuffle=10000");
	double alone_s = PHASE(disk, "first batch", "phases.shuffle=10000");

	CHECK_NEAR(phase_s(&point, "first batch") / alone_s, 2, 0.01);
	CHECK_NEAR(phase_s(&point, "process start"), 2, NEAR);
	point = TWO_JOBS(arena, STEPS(100), "host.*.cores=1");
	CHECK_NEAR(phase_s(&point, "process start"), 2 * 2 * 1.04, NEAR);
	arena_free(arena);
}

/* The second job is shorter and then longer than the first; the phases are those of the longer one.
 */
static void elapsed_time_is_that_of_the_longest_job(void)
{
	static const char *const models[] = {"job.background.model=googlenet",
					     "job.background.model=resnet152"};
	struct arena *arena = arena_new();
	for (int longer = 0; longer < 2; longer++) {
		struct point point = TWO_JOBS(arena, STEPS(100), models[longer]);
		double first_s = point.jobs[0].elapsed_s, second_s = point.jobs[1].elapsed_s,
		       sum_s = 0;
		CHECK(longer ? second_s > first_s : second_s < first_s);
		CHECK_NEAR(point.elapsed_s, fmax(first_s, second_s), 1e-12);
		for (size_t i = 0; i < point.phase_count; i++)
			sum_s += point.phases[i].seconds;
		CHECK_NEAR(sum_s, point.elapsed_s, 1e-9);
	}
	arena_free(arena);
}

/* A virtual machine's disk has its own limit below that of the storage. */
static void virtual_disk_limits_the_first_batch(void)
{
	static const char shuffle[] = "phases.shuffle=10000",
			  slow[] = "host.*.virtual_disk=50 MB/s";
	double filled_s = PHASE(disk, "first batch", shuffle, slow, "case.guest=vm") -
			  PHASE(disk, "first batch", slow, "case.guest=vm");

	CHECK_NEAR(filled_s, 10000 * 115e3 / 50e6, NEAR);
	CHECK_NEAR(PHASE(disk, "first batch", shuffle, slow), PHASE(disk, "first batch", shuffle),
		   NEAR); /* bare metal */
}

/* Distorting a batch takes 10 ns for each of its 4 x 3 x 224 x 224 bytes an image, on four cores.
 */
static void distortions_are_work_for_each_pixel(void)
{
	double plain_s = PHASE(disk, "first batch", NULL);
	double distorted_s =
		PHASE(disk, "first batch", "input.distortions=true", "input.distort=10 ns/B");

	CHECK_NEAR(distorted_s - plain_s, 32 * 4 * 3 * 224 * 224 * 10e-9 / 4, 1e-4);
}

/* Trials are kernels: ten steps' worth on a GPU of its own. */
static void autotuning_takes_kernel_time_of_steps(void)
{
	double ten_s = PHASE(one, "autotuning", "phases.autotune=10");
	double step_s = STEP_S(one, STEPS(100));

	CHECK_NEAR(PHASE(one, "autotuning", NULL), 0, NEAR);
	CHECK(ten_s > 8 * step_s && ten_s <= 10 * step_s);
	CHECK_NEAR(PHASE(one, "autotuning", "phases.autotune=5"), ten_s / 2, 1e-4);
}

/* Steps beyond the simulated ones take a steady step each, and the phases add up. */
static void elapsed_time_is_the_sum_of_phases_and_steady_steps(void)
{
	struct arena *arena = arena_new();
	struct point few = POINT(arena, one, STEPS(5)), some = POINT(arena, one, STEPS(1000)),
		     more = POINT(arena, one, STEPS(3000));
	double sum_s = 0;
	for (size_t i = 0; i < some.phase_count; i++)
		sum_s += some.phases[i].seconds;
	CHECK_NEAR(sum_s, some.elapsed_s, 1e-9);
	CHECK_NEAR(more.elapsed_s - some.elapsed_s, 2000 * some.step_s, 1e-6);
	CHECK_NEAR(phase_s(&few, "steps"), 5 * few.step_s, 0.05 * few.step_s);
	/* 10,000 steps are those of an epoch of 320,000 images at batch 32. */
	CHECK_NEAR(POINT(arena, one, "case.epochs=1", "case.images=320000").elapsed_s,
		   POINT(arena, one, STEPS(10000)).elapsed_s, 1e-6);
	arena_free(arena);
}

/* ResNet-50 has 25.6 million parameters of 4 B, written at 100 MB/s every second epoch of nine, and
 * at the end. */
static void checkpoints_are_written_to_their_storage(void)
{
	static const char epochs[] = "case.epochs=9", to[] = "phases.checkpoint_storage=sata-ssd",
			  rate[] = "checkpoint_storage.bandwidth=100 MB/s",
			  every[] = "phases.checkpoint_epochs=2",
			  end[] = "phases.checkpoint_end=true";
	struct arena *arena = arena_new();
	double each_s = 25.6e6 * 4 / 100e6;

	struct point point = POINT(arena, one, epochs, to, rate, every);
	CHECK_NEAR(phase_s(&point, "checkpoints"), 4 * each_s, 0.01 * each_s);
	point = POINT(arena, one, epochs, to, rate, every, end);
	CHECK_NEAR(phase_s(&point, "checkpoints"), 5 * each_s, 0.01 * each_s);
	/* Two GPUs have an epoch in half the steps, and only one of them writes. */
	point = POINT(arena, one, epochs, to, rate, every, "case.gpus=2");
	CHECK_NEAR(phase_s(&point, "checkpoints"), 4 * each_s, 0.01 * each_s);
	point = POINT(arena, one, epochs);
	CHECK_NEAR(phase_s(&point, "checkpoints"), 0, NEAR);
	/* Serialising at 20 ns/B is slower than the disk: 50 MB/s on one core. */
	point = POINT(arena, one, epochs, to, rate, end, "phases.checkpoint=20 ns/B");
	CHECK_NEAR(phase_s(&point, "checkpoints"), 2 * each_s, 0.02 * each_s);
	arena_free(arena);
}

/* The storage of the input gets the checkpoints if its name is given, with its own bandwidth of 100
 * MB/s. Another storage, here with 50 MB/s, has parameters of its own. */
static void checkpoints_share_the_storage_of_the_input_by_name(void)
{
	static const char epochs[] = "case.epochs=9", end[] = "phases.checkpoint_end=true";
	struct arena *arena = arena_new();
	double each_s = 25.6e6 * 4 / 100e6;

	struct point point = POINT(arena, disk, epochs, end, "phases.checkpoint_storage=sata-ssd");
	CHECK_NEAR(phase_s(&point, "checkpoints"), each_s, 0.01 * each_s);
	point = POINT(arena, disk, epochs, end, "phases.checkpoint_storage=hdd",
		      "checkpoint_storage.bandwidth=50 MB/s", "checkpoint_storage.latency=0 s");
	CHECK_NEAR(phase_s(&point, "checkpoints"), 2 * each_s, 0.02 * each_s);
	arena_free(arena);
}

/* No link leads to a storage at a node that does not exist. */
static void checkpoint_without_a_route_fails_the_job(void)
{
	struct arena *arena = arena_new();
	struct point point = POINT(arena, one, "case.epochs=9", "phases.checkpoint_end=true",
				   "checkpoint_storage.node=nowhere");
	CHECK(point.failed);
	CHECK_PART(point.reason ? point.reason : "", "storage of its checkpoints");
	arena_free(arena);
}

/* Decoding 32 images of 10 ms each on four cores limits two GPUs to 400 images/s. Threads that poll
 * the network take no core if all GPUs are in one machine. */
static void network_threads_take_no_cores_in_a_single_machine(void)
{
	static const char gpus[] = "case.gpus=2", decode[] = "input.decode=10 ms";
	static const struct settings both = {{DESKTOP, DISK, "storage.bandwidth=10 GB/s"}};
	struct arena *arena = arena_new();
	struct point without = POINT(arena, both, gpus, decode, "exchange.network_threads=0");
	struct point with = POINT(arena, both, gpus, decode, "exchange.network_threads=3");
	CHECK(without.throughput > 200 && without.throughput < 400);
	CHECK_NEAR(with.throughput, without.throughput, 1e-12);
	arena_free(arena);
}

/* Nine epochs have three evaluations of 100 batches. A forward pass is about a third of a step's
 * kernels; with a disk of 2 MB/s, reading 32 images takes longer. */
static void evaluations_are_forward_passes_or_input(void)
{
	static const char epochs[] = "case.epochs=9", images[] = "phases.evaluation_images=3200",
			  every[] = "phases.evaluation_epochs=3";
	struct arena *arena = arena_new();
	struct point point = POINT(arena, one, epochs, images, every);
	double batch_s = phase_s(&point, "evaluations") / 300;

	CHECK(batch_s > 0.2 * point.step_s && batch_s < 0.5 * point.step_s);
	/* one image more needs a batch more; eleven epochs have no further evaluation */
	point = POINT(arena, one, "case.epochs=11", "phases.evaluation_images=3201", every);
	CHECK_NEAR(phase_s(&point, "evaluations") / 303, batch_s, 1e-9);
	point = POINT(arena, disk, epochs, images, every, "storage.bandwidth=2 MB/s");
	CHECK_NEAR(phase_s(&point, "evaluations") / 300, 32 * 115e3 / 2e6, 0.02);
	arena_free(arena);
}

/* Without a number of steps or epochs nothing is known of the time from launch to end. */
static void only_cases_that_ask_have_elapsed_time(void)
{
	static const struct settings plain = {{DESKTOP, "case.gpus=1"}};
	struct arena *arena = arena_new();
	struct point point = POINT(arena, plain, NULL);
	CHECK(isnan(point.elapsed_s) && point.phase_count == 0);
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(host_work_takes_its_time_on_a_core_of_its_own),
	TEST(processes_of_a_machine_start_side_by_side),
	TEST(graph_grows_with_ops_and_gpus),
	TEST(shuffle_buffer_fills_before_the_first_batch),
	TEST(jobs_that_start_together_share_disk_and_cores),
	TEST(elapsed_time_is_that_of_the_longest_job),
	TEST(virtual_disk_limits_the_first_batch),
	TEST(distortions_are_work_for_each_pixel),
	TEST(autotuning_takes_kernel_time_of_steps),
	TEST(elapsed_time_is_the_sum_of_phases_and_steady_steps),
	TEST(checkpoints_are_written_to_their_storage),
	TEST(checkpoints_share_the_storage_of_the_input_by_name),
	TEST(network_threads_take_no_cores_in_a_single_machine),
	TEST(checkpoint_without_a_route_fails_the_job),
	TEST(evaluations_are_forward_passes_or_input),
	TEST(only_cases_that_ask_have_elapsed_time),
};

int main(void)
{
	return TEST_MAIN(tests);
}
