/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools: shares of several clients on several GPUs.
 *
 * The GPU work W of a client is the time of its kernels in a step. On a local GPU for itself a step
 * takes W + E, where E is the small part that nothing overlaps. The poller is off, because it only
 * adds events. Switching between tenants is free except in the tests of switching. */
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/predict/predict.h"
#include "tests/test.h"

#define FREE_SWITCH "gpu.v100-sxm2.switch=0 s"
#define POOL                                                                                       \
	"case.topology=gpu-pool", "case.runtime=asynchronous", "case.program=spread", TF,          \
		"stack.poller=false"
#define TF        "case.stack=tf-1.12" /* waits for each step; a later setting replaces it */
#define RUN_AHEAD "case.stack=pytorch" /* the GPU always has work */

static struct arena *arena;

/* file: a file of topologies/cases, or NULL. settings: ends with NULL. */
static struct point run(const char *file, const char *const *settings)
{
	enum { SETTINGS_MAX = 32 };
	struct setting list[SETTINGS_MAX];
	struct diag *diag = diag_new(arena);
	struct case_request request = {.settings = list, .data_root = data_root_find(arena)};
	for (; *settings; settings++)
		list[request.setting_count++] = (struct setting){*settings, {"test", 0}};
	if (file)
		request.path =
			arena_printf(arena, "%s/topologies/cases/%s.cfg", request.data_root, file);
	const struct scenario *scenario = case_read(arena, diag, &request);
	struct point point = {.failed = true};
	if (scenario)
		point = predict_point(arena, scenario, 1, true, NULL, NULL);
	diag_print(diag, stdout);
	CHECK(scenario && !point.failed && !point.broken);
	return point;
}
#define RUN(...)            run(NULL, (const char *const[]){__VA_ARGS__, NULL})
#define RUN_FILE(file, ...) run(file, (const char *const[]){__VA_ARGS__, NULL})

/* W of a client: time of its kernels in a step, with the whole GPU for itself. */
static double alone_busy_s(const char *batch)
{
	struct point alone = RUN("case.topology=gpu-pool", TF, "stack.poller=false", batch);
	return alone.gpu_utilization * alone.step_s;
}

/* The GPU always has work of at least one client, and neither can get more than the other. */
static void two_saturating_clients_get_half_of_the_gpu_each(void)
{
	struct point pool = RUN(POOL, RUN_AHEAD, FREE_SWITCH, "case.gpu=gpu1", "case.copies=2");

	CHECK(pool.job_count == 2);
	CHECK_NEAR(pool.jobs[0].ratio, 0.5, 0.01);
	CHECK_NEAR(pool.jobs[1].ratio, 0.5, 0.01);
	CHECK_NEAR(pool.throughput, pool.jobs[0].throughput + pool.jobs[1].throughput, 1e-12);
	CHECK_NEAR(pool.ratio, (pool.jobs[0].ratio + pool.jobs[1].ratio) / 2, 1e-12);
	CHECK(pool.gpu_utilization > 0.99 && pool.gpu_utilization <= 1 + 1e-9);
}

/* A switch takes 100 us for each slice of 2 ms: 1 / 2 / (1 + 0.1 / 2) = 0.476. */
static void switching_takes_its_part_of_each_slice(void)
{
	struct point pool = RUN(POOL, RUN_AHEAD, "case.gpu=gpu1", "case.copies=2",
				"gpu.v100-sxm2.slice=2 ms", "gpu.v100-sxm2.switch=100 us");

	CHECK_NEAR(pool.jobs[0].ratio, 0.5 / 1.05, 0.01);
	CHECK_NEAR(pool.jobs[1].ratio, 0.5 / 1.05, 0.01);
}

/* Kernels take four times as long. The few microseconds between them do not change. */
static void fraction_of_a_quarter_gives_a_quarter_of_the_throughput(void)
{
	struct point quarter = RUN_FILE("quarter-gpu", RUN_AHEAD, "stack.poller=false");
	struct point local = RUN("case.topology=gpu-pool", RUN_AHEAD, "stack.poller=false",
				 "case.fraction=0.25");

	CHECK_NEAR(quarter.ratio, 0.25, 0.015);
	CHECK_NEAR(local.ratio, 0.25, 0.015);
	CHECK(quarter.ratio >= 0.25 && local.ratio >= 0.25);
}

/* The throughputs of four quarters add up to that of one GPU. No client gets more while others
 * wait. */
static void four_quarters_give_the_throughput_of_one_gpu(void)
{
	struct point pool = RUN(POOL, RUN_AHEAD, FREE_SWITCH, "case.gpu=gpu1", "case.copies=4",
				"case.fraction=0.25");

	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(pool.jobs[i].ratio, 0.25, 0.02);
}

/* Clients go to gpu1 to gpu4 in turn, so clients i and i + 4 share a GPU. Each pair shares it like
 * the only pair of a pool. */
static void eight_clients_on_four_gpus_share_in_pairs(void)
{
	struct point pool = RUN_FILE("pool-8-on-4", RUN_AHEAD, FREE_SWITCH);

	CHECK(pool.job_count == 8);
	for (size_t i = 0; i < 8; i++) {
		const struct job_run *run = &pool.outcome.jobs[i];

		CHECK(run->entry->gpus[0] == i % 4);
		CHECK(run->entry->guests[0] == 2 + i); /* guests 0 and 1 are the two servers */
		CHECK_NEAR(pool.jobs[i].ratio, 0.5, 0.015);
	}
	CHECK(pool.gpu_utilization > 0.99 && pool.gpu_utilization <= 1 + 1e-9);
}

/* A vGPU forwards nothing, so only the fixed half matters: W doubles and E does not. The ratio (W +
 * E) / (2 W + E) is slightly more than half. */
static void two_vgpus_get_half_of_the_gpu_each(void)
{
	struct point vgpu = RUN_FILE("vgpu-8-on-4", "stack.poller=false", FREE_SWITCH);
	double busy_s = alone_busy_s("case.batch=32");
	double alone_s = vgpu.jobs[0].step_s * vgpu.jobs[0].ratio;
	double idle_s = alone_s - busy_s;

	for (size_t i = 0; i < 8; i++)
		CHECK_NEAR(vgpu.jobs[i].ratio, alone_s / (2 * busy_s + idle_s), 0.01);
}

/* The compute engine loses no time while a kernel runs, because switches are free. So over one
 * window
 *
 *   utilisation x GPUs = sum of (steps per second of a client) x W
 *
 * for any batches, phases and waits of the clients. Means over different windows would not add
 * up. */
static void utilisation_is_the_work_of_all_clients(void)
{
	struct point pool =
		RUN_FILE("mixed-pool", "stack.poller=false", FREE_SWITCH, "stack.real_input=false");
	double work = 0;
	size_t used = 4;

	for (size_t i = 0; i < pool.job_count; i++) {
		const struct job_entry *entry = pool.outcome.jobs[i].entry;
		struct point alone = RUN("case.topology=gpu-pool", TF, "stack.poller=false",
					 arena_printf(arena, "case.model=%s", entry->model),
					 arena_printf(arena, "case.batch=%g", entry->batch_count));
		work += alone.gpu_utilization * alone.step_s / pool.jobs[i].step_s;
	}
	CHECK_NEAR(pool.gpu_utilization * (double)used, work, 0.03);
	CHECK(pool.gpu_utilization <= 1 + 1e-9);
	for (size_t i = 0; i < pool.job_count; i++)
		CHECK(pool.jobs[i].gpu_utilization > 0 && pool.jobs[i].gpu_utilization <= 1 + 1e-9);
}

/* Each call waits for a round trip of more than 100 us, so one client leaves its GPU idle most of
 * the time. A second client uses this time: together they reach more than 1.8 times the throughput
 * of one, and at most twice. (Compared with one client over the same wire. Compared with a local
 * GPU the ratio of each is far below 1.) */
static void clients_with_long_round_trips_share_a_gpu_well(void)
{
	static const char *const wire[] = {"case.topology=gpu-pool",
					   "case.runtime=synchronous",
					   "case.program=spread",
					   "stack.poller=false",
					   "link.port-c1.latency=50 us",
					   "link.port-c2.latency=50 us",
					   "case.gpu=gpu1",
					   FREE_SWITCH};
	struct point one =
		RUN(wire[0], wire[1], wire[2], wire[3], wire[4], wire[5], wire[6], wire[7]);
	struct point two = RUN(wire[0], wire[1], wire[2], wire[3], wire[4], wire[5], wire[6],
			       wire[7], "case.copies=2");
	double gain = two.throughput / one.throughput;

	CHECK(one.gpu_utilization < 0.4);
	CHECK(gain > 1.8 && gain <= 2);
	CHECK_NEAR(two.gpu_utilization, gain * one.gpu_utilization, 0.02);
}

#define SLOW_PORTS                                                                                 \
	"stack.real_input=true", "case.gpu=spread", "link.port-s1.bandwidth=1 Gbit/s",             \
		"link.port-s2.bandwidth=1 Gbit/s"

/* Real input of 224 x 224 x 3 floats: S = 32 x 602,112 B = 19.27 MB for each client and step. A
 * port of 1 Gb/s with 1448 of 1538 B of payload carries 117.7 MB/s, so S takes 164 ms. Two clients
 * of one server need 327 ms for a step of both, and their GPUs (one each) 85 ms. The third client
 * has the other server for itself. The bytes of the calls add 3 %. With a connection for each
 * thread the copy overlaps with the step. */
static void clients_of_one_server_share_its_port(void)
{
	struct point pool = RUN(POOL, SLOW_PORTS, "runtime.connections=2", "case.copies=3");
	double input_s = 32 * 602112.0 / (1e9 / 8 * 1448 / 1538);

	for (size_t i = 0; i < 2; i++) {
		CHECK(pool.jobs[i].step_s >= 2 * input_s);
		CHECK_NEAR(pool.jobs[i].step_s, 2 * 1.03 * input_s, 0.01);
	}
	CHECK(pool.jobs[2].step_s >= input_s);
	CHECK_NEAR(pool.jobs[2].step_s, 1.03 * input_s, 0.01);
}

/* On one connection the launches of a step follow its input, so their times add up. While one of
 * two such clients computes, the other copies. */
static void one_connection_sends_launches_after_the_input(void)
{
	struct point pool = RUN(POOL, SLOW_PORTS, "case.copies=3");
	double input_s = 1.03 * 32 * 602112.0 / (1e9 / 8 * 1448 / 1538);
	double busy_s = alone_busy_s("case.batch=32");

	CHECK_NEAR(pool.jobs[2].step_s, input_s + busy_s, 0.02);
	for (size_t i = 0; i < 2; i++) {
		CHECK(pool.jobs[i].step_s > 2 * input_s);
		CHECK(pool.jobs[i].step_s < 2 * input_s + busy_s);
	}
}

/* The published recurrence (docs/models/remoting.md) follows the calls of one client and contains
 * no other clients. So it gives each client of a pool the throughput of a single client. This is
 * right for clients with separate GPUs and servers. On one GPU it is wrong by half. */
static void recurrence_of_one_client_misses_contention(void)
{
	struct point alone = RUN(POOL, FREE_SWITCH, "case.gpu=gpu1");
	struct point apart = RUN(POOL, FREE_SWITCH, "case.gpu=spread", "case.copies=4");
	struct point shared = RUN(POOL, FREE_SWITCH, "case.gpu=gpu1", "case.copies=2");

	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(apart.jobs[i].throughput, alone.throughput, 0.005);
	CHECK(shared.jobs[0].throughput < 0.55 * alone.throughput);
	CHECK(shared.jobs[1].throughput < 0.55 * alone.throughput);
}

/* A program that runs ahead issues its first steps faster than the GPU runs them; the throughput is
 * that of the GPU. AlexNet's steps are about 60 launches, so 17 of them fit into the launch queue.
 */
static void run_ahead_does_not_count_as_throughput(void)
{
	static const char *const models[] = {"case.model=alexnet", "case.model=resnet50"};

	for (size_t i = 0; i < 2; i++) {
		struct point waits = RUN("case.topology=gpu-pool", TF, "stack.poller=false",
					 models[i], "stack.l2_loss=none");
		struct point ahead = RUN("case.topology=gpu-pool", TF, "stack.poller=false",
					 models[i], RUN_AHEAD, "stack.optimiser_copies=0");
		double busy_s = waits.gpu_utilization * waits.step_s;

		CHECK(ahead.step_s < waits.step_s);
		CHECK_NEAR(ahead.step_s * ahead.gpu_utilization, busy_s, 0.01);
	}
}

/* With a huge queue the backlog grows during the whole run. */
static void growing_backlog_does_not_count_as_throughput(void)
{
	struct point deep = RUN("case.topology=gpu-pool", RUN_AHEAD, "case.model=alexnet",
				"gpu.v100-sxm2.queue_depth=1000000");
	struct point shallow = RUN("case.topology=gpu-pool", RUN_AHEAD, "case.model=alexnet");

	CHECK_NEAR(deep.throughput, shallow.throughput, 0.02);
}

static void repeated_pool_run_gives_equal_results(void)
{
	struct point a = RUN(POOL, "case.gpu=gpu1", "case.copies=2");
	struct point b = RUN(POOL, "case.gpu=gpu1", "case.copies=2");

	CHECK(a.throughput == b.throughput && a.gpu_utilization == b.gpu_utilization);
	CHECK(a.jobs[1].ratio == b.jobs[1].ratio);
}

static const struct test tests[] = {
	TEST(two_saturating_clients_get_half_of_the_gpu_each),
	TEST(switching_takes_its_part_of_each_slice),
	TEST(fraction_of_a_quarter_gives_a_quarter_of_the_throughput),
	TEST(four_quarters_give_the_throughput_of_one_gpu),
	TEST(eight_clients_on_four_gpus_share_in_pairs),
	TEST(two_vgpus_get_half_of_the_gpu_each),
	TEST(utilisation_is_the_work_of_all_clients),
	TEST(clients_with_long_round_trips_share_a_gpu_well),
	TEST(clients_of_one_server_share_its_port),
	TEST(one_connection_sends_launches_after_the_input),
	TEST(recurrence_of_one_client_misses_contention),
	TEST(run_ahead_does_not_count_as_throughput),
	TEST(growing_backlog_does_not_count_as_throughput),
	TEST(repeated_pool_run_gives_equal_results),
};

int main(void)
{
	num_init();
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
