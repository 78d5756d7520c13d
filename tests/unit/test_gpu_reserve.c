/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Influence of collectives and memory traffic on a GPU's kernels. Times are computed by hand, in
 * microseconds. */
#include "tests/cuda_world.h"

static struct world w;

static void setup(void)
{
	memset(&w, 0, sizeof w);
	world_presets(&w);
	world_build(&w);
}

static void continued(struct gpu_stream *stream, double us, uint64_t arg)
{
	struct gpu_op op = {.kind = GPU_OP_KERNEL,
			    .duration_s = us * US,
			    .continued = true,
			    .done = world_log,
			    .ctx = &w,
			    .arg = arg};

	gpu_submit(stream, &op);
}

static void continued_kernels_have_no_gap(void)
{
	struct gpu_stream *stream;

	setup();
	stream = gpu_stream_new(w.context, "s");
	continued(stream, 10, 0);
	continued(stream, 10, 1);
	world_kernel(&w, stream, 10, 2); /* after its gap: runs 21..31 */
	world_run(&w);
	CHECK_US(w.log_ps[0], 10);
	CHECK_US(w.log_ps[1], 20);
	CHECK_US(w.log_ps[2], 31);
	world_release(&w);
}

static void reserve_quarter(void *ctx, uint64_t back)
{
	gpu_reserve_add(w.gpu, back ? -0.25 : 0.25);
}

static void reserved_parts_add_and_slow_kernels(void)
{
	setup();
	engine_at(w.engine, 10000000, reserve_quarter, NULL, 0);
	engine_at(w.engine, 20000000, reserve_quarter, NULL, 0);
	engine_at(w.engine, 30000000, reserve_quarter, NULL, 1);
	engine_at(w.engine, 40000000, reserve_quarter, NULL, 1);
	continued(gpu_stream_new(w.context, "s"), 40, 0);
	world_run(&w);
	/* 10 + 7.5 + 5 + 7.5 of work is done by 40. */
	CHECK_US(w.log_ps[0], 50);
	world_release(&w);
}

static void at_least_five_percent_stays_for_kernels(void)
{
	setup();
	gpu_reserve_add(w.gpu, 0.9);
	gpu_reserve_add(w.gpu, 0.9);
	continued(gpu_stream_new(w.context, "s"), 1, 0);
	world_run(&w);
	CHECK_US(w.log_ps[0], 20);
	world_release(&w);
}

static void more_traffic(void *ctx, uint64_t arg)
{
	gpu_traffic_add(w.gpu, 800e3);
}

static void memory_traffic_delays_kernels_in_lumps(void)
{
	struct gpu_stream *stream;

	setup();
	/* 400 kB at 80 of 100 GB/s take 5 us of the GPU. */
	CHECK_NEAR(gpu_traffic_s(w.gpu, 400e3), 5 * US, 1e-12);
	w.gpu_params.traffic_lump_s = 2 * gpu_traffic_s(w.gpu, 400e3); /* 10 us, without rounding */
	gpu_traffic_add(w.gpu, 400e3); /* no kernel is running, so nothing is charged */
	stream = gpu_stream_new(w.context, "s");
	continued(stream, 18, 0);
	CHECK(gpu_is_computing(w.gpu));
	gpu_traffic_add(w.gpu, 400e3);
	continued(stream, 100, 1);
	CHECK(fabric_flow_count(w.fabric) == 1); /* the lump is not full yet */
	gpu_traffic_add(w.gpu, 400e3);           /* 10 us, shared equally until 20 */
	CHECK(fabric_flow_count(w.fabric) == 2);
	engine_at(w.engine, 50000000, more_traffic, NULL, 0); /* another 10 us */
	world_run(&w);
	CHECK_US(w.log_ps[0], 28);
	CHECK_US(w.log_ps[1], 138);
	CHECK(!gpu_is_computing(w.gpu));
	CHECK_NEAR(gpu_busy_s(w.gpu), 138 * US, 1e-9);
	world_release(&w);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(continued_kernels_have_no_gap),
		TEST(reserved_parts_add_and_slow_kernels),
		TEST(at_least_five_percent_stays_for_kernels),
		TEST(memory_traffic_delays_kernels_in_lumps),
	};
	return TEST_MAIN(tests);
}
