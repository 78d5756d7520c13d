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

/* Parts of 0.1 that end leave nothing of 0.3, although their sum is rounded. */
static void reserved_parts_end_in_any_order(void)
{
	setup();
	gpu_reserve_add(w.gpu, 0.3);
	for (int i = 0; i < 3; i++)
		gpu_reserve_add(w.gpu, -0.1);
	continued(gpu_stream_new(w.context, "s"), 10, 0);
	world_run(&w);
	CHECK_US(w.log_ps[0], 10);
	world_release(&w);
}

/* Each of two processes runs one kernel at a time, so the first kernels of both share the GPU until
 * 24, each with a half. The second kernel of each follows. */
static void each_process_has_kernel_slots_of_its_own(void)
{
	memset(&w, 0, sizeof w);
	world_presets(&w);
	w.gpu_params.concurrent_kernels_count = 1;
	w.gpu_params.sharing = SHARING_MPS;
	world_build(&w);
	struct gpu_context *other = gpu_context_new(w.gpu, "other", 1);
	for (uint64_t i = 0; i < 4; i++)
		world_kernel(&w, gpu_stream_new(i % 2 ? other : w.context, "s"), 10, i);
	world_run(&w);
	for (size_t i = 0; i < 4; i++)
		CHECK_US(w.log_ps[i], i < 2 ? 24 : 44);
	world_release(&w);
}

/* The first kernel of a stream follows no other, so only the latency of 4 delays it, and not the
 * gap of 6. The second one begins 6 after the end of the first. */
static void first_kernel_of_a_stream_has_no_gap(void)
{
	memset(&w, 0, sizeof w);
	world_presets(&w);
	w.gpu_params.kernel_gap_s = 6 * US;
	world_build(&w);
	struct gpu_stream *stream = gpu_stream_new(w.context, "s");
	world_kernel(&w, stream, 10, 0);
	world_kernel(&w, stream, 10, 1);
	world_run(&w);
	CHECK_US(w.log_ps[0], 14);
	CHECK_US(w.log_ps[1], 30);
	world_release(&w);
}

/* Two marks after one kernel are both reached when it ends. A mark on an idle stream is reached at
 * once. */
static void marks_of_one_kernel_are_all_reached(void)
{
	setup();
	struct gpu_stream *stream = gpu_stream_new(w.context, "s");
	continued(stream, 10, 0);
	gpu_mark(stream, world_log, &w, 1);
	gpu_mark(stream, world_log, &w, 2);
	gpu_mark(gpu_stream_new(w.context, "idle"), world_log, &w, 3);
	world_run(&w);
	for (size_t i = 0; i < 4; i++)
		CHECK_US(w.log_ps[i], i < 3 ? 10 : 0);
	world_release(&w);
}

static void submit_event(struct gpu_stream *stream, enum gpu_op_kind kind, struct gpu_event *event)
{
	gpu_submit(stream, &(struct gpu_op){.kind = kind, .event = event});
}

/* The event was recorded on stream `first`, and then behind a longer kernel on `second`. So the
 * context's stream waits for that kernel, also when the first record is complete. */
static void context_waits_for_the_stream_of_the_last_record(void)
{
	setup();
	struct gpu_event event = {0};
	struct gpu_stream *own = gpu_stream_new(w.context, "own");
	struct gpu_stream *first = gpu_stream_new(w.context, "first");
	struct gpu_stream *second = gpu_stream_new(w.context, "second");
	continued(first, 10, 0);
	submit_event(first, GPU_OP_RECORD, &event);
	continued(second, 20, 1);
	submit_event(second, GPU_OP_RECORD, &event);
	submit_event(own, GPU_OP_WAIT, &event);
	const struct gpu_op *op = gpu_context_waits_for(w.context, false);
	CHECK(op && op->kind == GPU_OP_KERNEL && op->arg == 1);
	world_run(&w);
	CHECK(!gpu_context_waits_for(w.context, true));
	world_release(&w);
}

int main(void)
{
	static const struct test tests[] = {
		TEST(continued_kernels_have_no_gap),
		TEST(reserved_parts_add_and_slow_kernels),
		TEST(at_least_five_percent_stays_for_kernels),
		TEST(memory_traffic_delays_kernels_in_lumps),
		TEST(reserved_parts_end_in_any_order),
		TEST(each_process_has_kernel_slots_of_its_own),
		TEST(first_kernel_of_a_stream_has_no_gap),
		TEST(marks_of_one_kernel_are_all_reached),
		TEST(context_waits_for_the_stream_of_the_last_record),
	};
	return TEST_MAIN(tests);
}
