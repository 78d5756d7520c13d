/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools: what several clients get of several GPUs, by hand.
 *
 * A client's GPU work W is the seconds of its kernels in a step. On a local GPU for itself a
 * step takes W + E, where E is the small part that nothing overlaps. The poller is off (it only
 * adds events), and a change of tenant is free unless it is tested. */
#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/num.h"
#include "sim/predict/predict.h"
#include "tests/test.h"

#define FREE_SWITCH "gpu.v100-sxm2.switch=0 s"
#define POOL                                                                                       \
	"case.topology=gpu-pool", "case.runtime=asynchronous", "case.program=spread",              \
		"stack.poller=false"
#define RUN_AHEAD "case.stack=pytorch" /* the GPU is never without work */

static struct arena *arena;

/* file: of topologies/cases, or NULL; settings end with NULL. */
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

/* W of a client: its kernels' seconds a step, alone and with all of the GPU. */
static double alone_busy_s(const char *batch)
{
	struct point alone = RUN("case.topology=gpu-pool", "stack.poller=false", batch);
	return alone.gpu_utilization * alone.step_s;
}

/* Neither can have more than the other, and the GPU always has work of one. */
static void two_that_saturate_get_half_each(void)
{
	struct point pool = RUN(POOL, RUN_AHEAD, FREE_SWITCH, "case.gpu=gpu1", "case.copies=2");

	CHECK(pool.job_count == 2);
	CHECK_NEAR(pool.jobs[0].ratio, 0.5, 0.01);
	CHECK_NEAR(pool.jobs[1].ratio, 0.5, 0.01);
	CHECK_NEAR(pool.throughput, pool.jobs[0].throughput + pool.jobs[1].throughput, 1e-12);
	CHECK_NEAR(pool.ratio, (pool.jobs[0].ratio + pool.jobs[1].ratio) / 2, 1e-12);
	CHECK(pool.gpu_utilization > 0.99 && pool.gpu_utilization <= 1 + 1e-9);
}

/* 100 us for each slice of 2 ms: 1 / 2 / (1 + 0.1 / 2) = 0.476. */
static void changing_tenants_costs_its_part_of_a_slice(void)
{
	struct point pool = RUN(POOL, RUN_AHEAD, "case.gpu=gpu1", "case.copies=2",
				"gpu.v100-sxm2.slice=2 ms", "gpu.v100-sxm2.switch=100 us");

	CHECK_NEAR(pool.jobs[0].ratio, 0.5 / 1.05, 0.01);
	CHECK_NEAR(pool.jobs[1].ratio, 0.5 / 1.05, 0.01);
}

/* Kernels take four times as long; the few microseconds between them do not. */
static void a_quarter_is_a_quarter(void)
{
	struct point quarter = RUN_FILE("quarter-gpu", RUN_AHEAD, "stack.poller=false");
	struct point local = RUN("case.topology=gpu-pool", RUN_AHEAD, "stack.poller=false",
				 "case.fraction=0.25");

	CHECK_NEAR(quarter.ratio, 0.25, 0.015);
	CHECK_NEAR(local.ratio, 0.25, 0.015);
	CHECK(quarter.ratio >= 0.25 && local.ratio >= 0.25);
}

/* Four quarters are one GPU; no client gets more when its neighbours sleep. */
static void four_quarters_are_one(void)
{
	struct point pool = RUN(POOL, RUN_AHEAD, FREE_SWITCH, "case.gpu=gpu1", "case.copies=4",
				"case.fraction=0.25");

	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(pool.jobs[i].ratio, 0.25, 0.02);
}

/* In turn over gpu1 to gpu4: i and i + 4 share a GPU, and each pair shares like
 * the only pair of a pool. */
static void eight_on_four_are_two_a_gpu(void)
{
	struct point pool = RUN_FILE("pool-8-on-4", RUN_AHEAD, FREE_SWITCH);

	CHECK(pool.job_count == 8);
	for (size_t i = 0; i < 8; i++) {
		const struct job_run *run = &pool.outcome.jobs[i];

		CHECK(run->entry->gpus[0] == i % 4);
		CHECK(run->entry->guests[0] == 2 + i); /* behind the two servers */
		CHECK_NEAR(pool.jobs[i].ratio, 0.5, 0.015);
	}
	CHECK(pool.gpu_utilization > 0.99 && pool.gpu_utilization <= 1 + 1e-9);
}

/* By vGPU nothing is forwarded, so the fixed half decides: E stays, W doubles,
 * and (W + E) / (2 W + E) is a little more than half. */
static void vgpu_gives_each_its_half(void)
{
	struct point vgpu = RUN_FILE("vgpu-8-on-4", "stack.poller=false", FREE_SWITCH);
	double busy_s = alone_busy_s("case.batch=32");
	double alone_s = vgpu.jobs[0].step_s * vgpu.jobs[0].ratio;
	double idle_s = alone_s - busy_s;

	for (size_t i = 0; i < 8; i++)
		CHECK_NEAR(vgpu.jobs[i].ratio, alone_s / (2 * busy_s + idle_s), 0.01);
}

/* The compute engine loses nothing while a kernel runs (changes are free), so
 * over one window
 *   utilisation x GPUs = sum of a client's steps a second x W,
 * whatever the clients' batches, phases and waits are. Means over windows that
 * differ would not add up. */
static void utilisation_is_what_the_clients_did(void)
{
	struct point pool =
		RUN_FILE("mixed-pool", "stack.poller=false", FREE_SWITCH, "stack.real_input=false");
	double work = 0;
	size_t used = 4;

	for (size_t i = 0; i < pool.job_count; i++) {
		const struct job_entry *entry = pool.outcome.jobs[i].entry;
		struct point alone = RUN("case.topology=gpu-pool", "stack.poller=false",
					 arena_printf(arena, "case.model=%s", entry->model),
					 arena_printf(arena, "case.batch=%g", entry->batch_count));
		work += alone.gpu_utilization * alone.step_s / pool.jobs[i].step_s;
	}
	CHECK_NEAR(pool.gpu_utilization * (double)used, work, 0.03);
	CHECK(pool.gpu_utilization <= 1 + 1e-9);
	for (size_t i = 0; i < pool.job_count; i++)
		CHECK(pool.jobs[i].gpu_utilization > 0 && pool.jobs[i].gpu_utilization <= 1 + 1e-9);
}

/* Why pools pay. Every call waits for a round trip of more than 100 us, so a
 * client alone leaves its GPU idle most of the time, and a second one fills that:
 * together they get more than 1.8 times what one gets, not once, and at most
 * twice. (Ratios to a client alone over the same wire; to the GPU beside the
 * program each is far below 1 all the same.) */
static void clients_that_wait_share_better(void)
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

/* Real input of 224 x 224 x 3 floats: S = 32 x 602,112 B = 19.27 MB a step and
 * client. A 1 Gb/s port with 1538 B on the wire for 1448 B carries 117.7 MB/s:
 * S takes 164 ms, and two clients of one server need 327 ms a step between them
 * where their GPUs (one each) need 85. The third is alone at the other server.
 * The calls' own bytes add 3 %. With a connection for each thread the copy
 * overlaps with the step. */
static void real_input_meets_at_the_servers_port(void)
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

/* On one connection the step's launches stand behind its input, so the two add
 * up; of two such clients one computes while the other copies. */
static void one_connection_keeps_the_order(void)
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

/* The published recurrence (docs/models/remoting.md) follows one client's calls;
 * others do not occur in it, so for each client of a pool it says what it says
 * for that client alone. That holds on GPUs and servers of their own, and on one
 * GPU it is wrong by half. */
static void contention_is_not_in_the_recurrence(void)
{
	struct point alone = RUN(POOL, FREE_SWITCH, "case.gpu=gpu1");
	struct point apart = RUN(POOL, FREE_SWITCH, "case.gpu=spread", "case.copies=4");
	struct point shared = RUN(POOL, FREE_SWITCH, "case.gpu=gpu1", "case.copies=2");

	for (size_t i = 0; i < 4; i++)
		CHECK_NEAR(apart.jobs[i].throughput, alone.throughput, 0.005);
	CHECK(shared.jobs[0].throughput < 0.55 * alone.throughput);
	CHECK(shared.jobs[1].throughput < 0.55 * alone.throughput);
}

/* A program that runs ahead issues its first steps faster than the GPU does
 * them; the GPU's rate is what counts. AlexNet's steps are some 60 launches, so
 * that 17 of them fit into the launch queue. */
static void running_ahead_is_no_throughput(void)
{
	static const char *const models[] = {"case.model=alexnet", "case.model=resnet50"};

	for (size_t i = 0; i < 2; i++) {
		struct point waits = RUN("case.topology=gpu-pool", "stack.poller=false", models[i],
					 "stack.l2_loss=none");
		struct point ahead = RUN("case.topology=gpu-pool", "stack.poller=false", models[i],
					 RUN_AHEAD, "stack.optimiser_copies=0");
		double busy_s = waits.gpu_utilization * waits.step_s;

		CHECK(ahead.step_s < waits.step_s);
		CHECK_NEAR(ahead.step_s * ahead.gpu_utilization, busy_s, 0.01);
	}
}

/* Even where the queue never fills. */
static void a_backlog_that_grows_is_no_throughput(void)
{
	struct point deep = RUN("case.topology=gpu-pool", RUN_AHEAD, "case.model=alexnet",
				"gpu.v100-sxm2.queue_depth=1000000");
	struct point shallow = RUN("case.topology=gpu-pool", RUN_AHEAD, "case.model=alexnet");

	CHECK_NEAR(deep.throughput, shallow.throughput, 0.02);
}

static void the_same_again(void)
{
	struct point a = RUN(POOL, "case.gpu=gpu1", "case.copies=2");
	struct point b = RUN(POOL, "case.gpu=gpu1", "case.copies=2");

	CHECK(a.throughput == b.throughput && a.gpu_utilization == b.gpu_utilization);
	CHECK(a.jobs[1].ratio == b.jobs[1].ratio);
}

static const struct test tests[] = {
	TEST(two_that_saturate_get_half_each),
	TEST(changing_tenants_costs_its_part_of_a_slice),
	TEST(a_quarter_is_a_quarter),
	TEST(four_quarters_are_one),
	TEST(eight_on_four_are_two_a_gpu),
	TEST(vgpu_gives_each_its_half),
	TEST(utilisation_is_what_the_clients_did),
	TEST(clients_that_wait_share_better),
	TEST(real_input_meets_at_the_servers_port),
	TEST(one_connection_keeps_the_order),
	TEST(contention_is_not_in_the_recurrence),
	TEST(running_ahead_is_no_throughput),
	TEST(a_backlog_that_grows_is_no_throughput),
	TEST(the_same_again),
};

int main(void)
{
	num_init();
	arena = arena_new();
	int code = TEST_MAIN(tests);
	arena_free(arena);
	return code;
}
