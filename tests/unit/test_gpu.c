/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expected times are added by hand from the numbers of cuda_world.h. */
#include "sim/gpu/kernel.h"
#include "tests/cuda_world.h"

static struct world w;

static void setup(void)
{
	memset(&w, 0, sizeof w);
	world_presets(&w);
}

static void submit_event(struct gpu_stream *stream, enum gpu_op_kind kind, struct gpu_event *event,
			 uint64_t arg)
{
	struct gpu_op op = {.kind = kind, .event = event, .done = world_log, .ctx = &w, .arg = arg};

	gpu_submit(stream, &op);
}

/* Submits a kernel of 5 us, logged under arg. */
static struct gpu_stream *later_stream;
static void submit_later(void *ctx, uint64_t arg)
{
	world_kernel(&w, later_stream, 5, arg);
}

static void stream_runs_its_operations_in_order(void)
{
	struct gpu_event event = {0};

	setup();
	world_build(&w);
	later_stream = gpu_stream_new(w.context, "s");
	world_kernel(&w, later_stream, 10, 0); /* latency 4: runs 4..14 */
	world_kernel(&w, later_stream, 20, 1); /* gap 1: runs 15..35 */
	submit_event(later_stream, GPU_OP_RECORD, &event, 2);
	CHECK(!gpu_stream_idle(later_stream) && !gpu_context_idle(w.context));
	/* Submitted 1 us before the end of the previous kernel, so the latency decides: 38..43. */
	engine_at(w.engine, 34000000, submit_later, NULL, 3);
	/* After a long idle time: 104..109. */
	engine_at(w.engine, 100000000, submit_later, NULL, 4);
	world_run(&w);
	CHECK_US(w.log_ps[0], 14);
	CHECK_US(w.log_ps[1], 35);
	CHECK_US(w.log_ps[2], 35);
	CHECK_US(w.log_ps[3], 43);
	CHECK_US(w.log_ps[4], 109);
	CHECK(event.recorded_count == 1 && event.completed_count == 1);
	CHECK(gpu_stream_idle(later_stream) && gpu_context_idle(w.context));
	CHECK(gpu_kernels_count(w.context) == 4);
	CHECK_NEAR(gpu_busy_s(w.gpu), 40 * US, 1e-9);
	world_release(&w);
}

/* A run of three kernels begins three gaps after the kernel before it, which ends at 14: 17..47. */
static void each_kernel_of_a_run_has_a_gap(void)
{
	setup();
	world_build(&w);
	struct gpu_stream *stream = gpu_stream_new(w.context, "s");
	const struct gpu_op run = {.kind = GPU_OP_KERNEL,
				   .duration_s = 30 * US,
				   .kernels_count = 3,
				   .done = world_log,
				   .ctx = &w,
				   .arg = 1};
	world_kernel(&w, stream, 10, 0);
	gpu_submit(stream, &run);
	world_run(&w);
	CHECK_US(w.log_ps[0], 14);
	CHECK_US(w.log_ps[1], 47);
	CHECK(gpu_kernels_count(w.context) == 4);
	world_release(&w);
}

static void check_half_way(void *ctx, uint64_t arg)
{
	CHECK_NEAR(gpu_busy_s(w.gpu), (double)arg * US, 1e-9);
	CHECK_US(gpu_context_busy_ps(w.context), (double)arg);
	CHECK_US(gpu_context_work_ps(w.context), (double)arg);
}

/* A kernel that continues a sequence has no launch latency and no gap: 0..10, 10..30 and 30..60. A
 * running kernel counts as far as it has come. */
static void continued_kernels_start_at_once(void)
{
	setup();
	world_build(&w);
	later_stream = gpu_stream_new(w.context, "s");
	struct gpu_op op = {.kind = GPU_OP_KERNEL, .continued = true, .done = world_log, .ctx = &w};
	for (unsigned i = 0; i < 3; i++) {
		op.duration_s = 10 * (i + 1) * US;
		op.arg = i;
		gpu_submit(later_stream, &op);
	}
	engine_at(w.engine, 4000000, check_half_way, NULL, 4);
	engine_at(w.engine, 27000000, check_half_way, NULL, 27);
	engine_at(w.engine, 45000000, check_half_way, NULL, 45);
	world_run(&w);
	CHECK_US(w.log_ps[0], 10);
	CHECK_US(w.log_ps[1], 30);
	CHECK_US(w.log_ps[2], 60);
	world_release(&w);
}

/* The second kernel is submitted at 10.5 and could start 4 later, at 14.5. The first one ends at
 * 14, so the gap of 1 decides. */
static void gap_follows_a_kernel_that_ended_just_before(void)
{
	setup();
	world_build(&w);
	later_stream = gpu_stream_new(w.context, "s");
	world_kernel(&w, later_stream, 10, 0);
	engine_at(w.engine, 10500000, submit_later, NULL, 1);
	world_run(&w);
	CHECK_US(w.log_ps[0], 14);
	CHECK_US(w.log_ps[1], 15 + 5);
	world_release(&w);
}

/* 20 of 80 multiprocessors leave three quarters of the GPU: 12 us of work take 16. */
static void reserved_multiprocessors_slow_kernels_down(void)
{
	setup();
	w.gpu_params.multiprocessors_count = 80;
	world_build(&w);
	CHECK_NEAR(gpu_blocks_ratio(w.gpu, 20), 0.25, 1e-12);
	CHECK_NEAR(gpu_blocks_ratio(w.gpu, 160), 1, 0);
	gpu_reserve_add(w.gpu, gpu_blocks_ratio(w.gpu, 20));
	world_kernel(&w, gpu_stream_new(w.context, "s"), 12, 0);
	world_run(&w);
	CHECK_US(w.log_ps[0], 4 + 16);
	world_release(&w);
}

static void two_streams_share_the_compute_engine(void)
{
	struct gpu_stream *a, *b;

	setup();
	world_build(&w);
	a = gpu_stream_new(w.context, "a");
	b = gpu_stream_new(w.context, "b");
	world_kernel(&w, a, 10, 0);
	world_kernel(&w, b, 20, 1);
	world_run(&w);
	/* Both get half from 4 on: a's 10 end at 24, and b's other 10 run alone. */
	CHECK_US(w.log_ps[0], 24);
	CHECK_US(w.log_ps[1], 34);
	/* The union of both times, not their sum. */
	CHECK_NEAR(gpu_busy_s(w.gpu), 30 * US, 1e-9);
	CHECK_US(gpu_context_busy_ps(w.context), 30);
	world_release(&w);
}

/* The power of a board is one GPU-second for each second: the kernels of two GPUs take twice as
 * long. It is the first resource of this world. */
static void gpus_of_a_board_share_its_power(void)
{
	setup();
	world_build(&w);
	struct arena *arena = arena_new();
	struct engine *engine = engine_new(arena, NULL);
	struct fabric *fabric = fabric_new(arena, engine);
	int node = fabric_node_add(fabric, "a"), board = fabric_resource_add(fabric, "board", 1);
	CHECK(board == 0);
	for (int i = 0; i < 2; i++) {
		struct gpu *gpu =
			gpu_new(arena, engine, fabric, i ? "g" : "h", node, &w.gpu_params);
		gpu_board_set(gpu, board);
		struct gpu_op op = {
			.kind = GPU_OP_KERNEL, .continued = true, .duration_s = 10 * US};
		gpu_submit(gpu_stream_new(gpu_context_new(gpu, "t", 1), "s"), &op);
	}
	CHECK(engine_run(engine) == ENGINE_DRAINED);
	CHECK_US(engine_now_ps(engine), 20);
	arena_free(arena);
	world_release(&w);
}

static void kernels_wait_for_a_free_slot(void)
{
	struct gpu_stream *a, *b, *c;

	setup();
	w.gpu_params.concurrent_kernels_count = 1;
	world_build(&w);
	a = gpu_stream_new(w.context, "a");
	b = gpu_stream_new(w.context, "b");
	c = gpu_stream_new(w.context, "c");
	world_kernel(&w, a, 10, 0);
	world_kernel(&w, b, 20, 1);
	world_kernel(&w, c, 0, 2); /* takes no time, but waits for its turn */
	world_run(&w);
	CHECK_US(w.log_ps[0], 14);
	CHECK_US(w.log_ps[1], 34);
	CHECK_US(w.log_ps[2], 34);
	world_release(&w);
}

static void stream_waits_for_the_last_record_before_it(void)
{
	struct gpu_event event = {0}, never = {0};
	struct gpu_stream *a, *b;

	setup();
	world_build(&w);
	a = gpu_stream_new(w.context, "a");
	b = gpu_stream_new(w.context, "b");
	CHECK(gpu_context_waits_for(w.context, true) == NULL);
	submit_event(b, GPU_OP_WAIT, &never, 0); /* never recorded: does not wait */
	world_kernel(&w, a, 10, 1);              /* runs 4..14 */
	submit_event(a, GPU_OP_RECORD, &event, 2);
	submit_event(b, GPU_OP_WAIT, &event, 3);
	world_kernel(&w, a, 50, 4); /* would run 15..65 alone */
	/* A record after the wait is not waited for. */
	submit_event(a, GPU_OP_RECORD, &event, 5);
	world_kernel(&w, b, 5, 6); /* shares with a from 15: 5 of work at half speed, until 25 */
	gpu_when_event(w.context, &event, 1, world_log, &w, 7);
	gpu_when_event(w.context, &event, 2, world_log, &w, 8);
	world_run(&w);
	CHECK_US(w.log_ps[0], 0);
	CHECK_US(w.log_ps[2], 14);
	CHECK_US(w.log_ps[3], 14);
	CHECK_US(w.log_ps[6], 25);
	CHECK_US(w.log_ps[4], 70);
	CHECK_US(w.log_ps[7], 14);
	CHECK_US(w.log_ps[8], 70);
	gpu_when_event(w.context, &event, 2, world_log, &w, 9); /* complete already */
	world_run(&w);
	CHECK_US(w.log_ps[9], 70);
	CHECK(w.log_count == 10);
	world_release(&w);
}

/* A copy that takes *ctx microseconds. */
static void copy_end(void *ctx, uint64_t arg)
{
	gpu_copy_finished(ctx);
}

static void copy_start(void *ctx, uint64_t arg, struct gpu_stream *stream)
{
	const unsigned *us = ctx;
	engine_after(w.engine, (int64_t)*us * 1000000, copy_end, stream, 0);
}

static void submit_copy(struct gpu_stream *stream, enum copy_direction direction, unsigned us,
			uint64_t arg)
{
	unsigned *takes_us = ARENA_NEW(w.arena, unsigned);
	*takes_us = us;
	struct gpu_op op = {
		.kind = GPU_OP_COPY,
		.direction = direction,
		.done = world_log,
		.ctx = &w,
		.arg = arg,
	};
	if (direction == COPY_ON_DEVICE) {
		op.duration_s = us * US;
	} else {
		op.start = copy_start;
		op.start_ctx = takes_us;
	}

	gpu_submit(stream, &op);
}

static void copies_on(unsigned copy_engines_count)
{
	struct gpu_stream *streams[5];

	setup();
	w.gpu_params.copy_engines_count = copy_engines_count;
	world_build(&w);
	for (int i = 0; i < 5; i++)
		streams[i] =
			gpu_stream_new(w.context, (const char *[]){"a", "b", "c", "d", "e"}[i]);
	submit_copy(streams[0], COPY_TO_DEVICE, 30, 0);
	submit_copy(streams[1], COPY_TO_DEVICE, 10, 1);
	submit_copy(streams[2], COPY_TO_HOST, 20, 2);
	world_kernel(&w, streams[3], 10, 3); /* runs at the same time as the copies */
	submit_copy(streams[2], COPY_TO_DEVICE, 5, 4);
	world_run(&w);
}

static void copies_queue_for_their_engine(void)
{
	copies_on(2); /* to the device: 30, 40, then 45; to the host: 20 */
	CHECK_US(w.log_ps[0], 30);
	CHECK_US(w.log_ps[1], 40);
	CHECK_US(w.log_ps[2], 20);
	CHECK_US(w.log_ps[3], 14);
	CHECK_US(w.log_ps[4], 45);
	world_release(&w);
	copies_on(1); /* all in the order of submission: 30, 40, 60, 65 */
	CHECK_US(w.log_ps[0], 30);
	CHECK_US(w.log_ps[1], 40);
	CHECK_US(w.log_ps[2], 60);
	CHECK_US(w.log_ps[3], 14);
	CHECK_US(w.log_ps[4], 65);
	world_release(&w);
}

static void copies_on_the_device_run_as_kernels(void)
{
	struct gpu_stream *a;

	setup();
	world_build(&w);
	a = gpu_stream_new(w.context, "a");
	submit_copy(a, COPY_ON_DEVICE, 10, 0); /* runs 4..14 */
	world_kernel(&w, a, 10, 1);            /* runs 15..25 */
	world_run(&w);
	CHECK_US(w.log_ps[0], 14);
	CHECK_US(w.log_ps[1], 25);
	CHECK_NEAR(gpu_busy_s(w.gpu), 20 * US, 1e-9);
	world_release(&w);
}

static struct gpu_stream *room_stream;
static void room_submit(void *ctx, uint64_t arg)
{
	world_log(&w, arg);
	world_kernel(&w, room_stream, 10, 10 + arg);
}

static void full_launch_queue_delays_submission(void)
{
	setup();
	w.gpu_params.queue_depth_count = 2;
	world_build(&w);
	room_stream = gpu_stream_new(w.context, "a");
	gpu_when_room(w.context, world_log, &w, 20); /* there is room: called at once */
	world_kernel(&w, room_stream, 10, 0);        /* runs 4..14 */
	CHECK(gpu_has_room(w.context));
	world_kernel(&w, room_stream, 10, 1); /* runs 15..25 */
	CHECK(!gpu_has_room(w.context));
	gpu_when_room(w.context, room_submit, NULL, 2);
	gpu_when_room(w.context, room_submit, NULL, 3);
	world_run(&w);
	/* registered first, but two kernels filled the queue before its event */
	CHECK_US(w.log_ps[20], 14);
	CHECK_US(w.log_ps[2], 14);
	CHECK_US(w.log_ps[3], 25);
	CHECK_US(w.log_ps[12], 36); /* runs 26..36 */
	CHECK_US(w.log_ps[13], 47); /* runs 37..47 */
	world_release(&w);
}

/* Two runs of five kernels fill a launch queue of ten, and leave it empty when they have ended. */
static void runs_of_kernels_leave_the_places_that_they_took(void)
{
	setup();
	w.gpu_params.queue_depth_count = 10;
	world_build(&w);
	struct gpu_stream *stream = gpu_stream_new(w.context, "a");
	const struct gpu_op run = {
		.kind = GPU_OP_KERNEL, .duration_s = 50 * US, .kernels_count = 5};
	for (int round = 0; round < 2; round++) {
		gpu_submit(stream, &run);
		CHECK(gpu_has_room(w.context));
		gpu_submit(stream, &run);
		CHECK(!gpu_has_room(w.context));
		world_run(&w);
		CHECK(gpu_has_room(w.context));
	}
	world_release(&w);
}

/* A run that waits behind another kernel takes further kernels, unless they have another name or
 * someone waits for its end. */
static void runs_take_only_kernels_of_their_name(void)
{
	static const char *const names[] = {"a", "b"};
	setup();
	world_build(&w);
	struct gpu_op run = {.kind = GPU_OP_KERNEL,
			     .duration_s = 50 * US,
			     .kernels_count = 2,
			     .label = names[0]};
	struct gpu_op other = run;
	other.label = names[1];
	struct gpu_stream *stream = gpu_stream_new(w.context, "a");
	CHECK(!gpu_extend(stream, &run));
	gpu_submit(stream, &run);
	gpu_submit(stream, &run);
	CHECK(gpu_extend(stream, &run));
	CHECK(!gpu_extend(stream, &other));
	gpu_mark(stream, world_log, &w, 0);
	CHECK(!gpu_extend(stream, &run));
	world_run(&w);
	CHECK(gpu_kernels_count(w.context) == 5);
	world_release(&w);
}

static void idle_waits_only_for_work_submitted_so_far(void)
{
	struct gpu_stream *a, *b;

	setup();
	world_build(&w);
	a = gpu_stream_new(w.context, "a");
	b = gpu_stream_new(w.context, "b");
	gpu_when_idle(w.context, NULL, world_log, &w, 10);      /* idle already: called at once */
	world_kernel(&w, b, 20, 1);                             /* runs 4..34 */
	CHECK(gpu_context_waits_for(w.context, false) == NULL); /* the first stream is empty */
	CHECK(gpu_context_waits_for(w.context, true)->duration_s == 20 * US);
	world_kernel(&w, a, 10, 0); /* runs 4..24 */
	CHECK(gpu_context_waits_for(w.context, false)->duration_s == 10 * US);
	gpu_when_idle(w.context, a, world_log, &w, 11);
	gpu_when_idle(w.context, NULL, world_log, &w, 12);
	world_kernel(&w, a, 100, 2); /* submitted later: not waited for */
	world_run(&w);
	CHECK_US(w.log_ps[10], 0);
	CHECK_US(w.log_ps[11], 24);
	/* b has done 10 at 24, runs alone until a's next kernel at 25, and does its last 9 at half
	 * speed: 43. */
	CHECK_US(w.log_ps[1], 43);
	CHECK_US(w.log_ps[12], 43);
	world_release(&w);
}

/* A stream is idle when all of its operations have ended: kernels run 4..14 and 15..35. */
static void idle_stream_has_ended_all_its_work(void)
{
	setup();
	world_build(&w);
	struct gpu_stream *a = gpu_stream_new(w.context, "a");
	world_kernel(&w, a, 10, 0);
	world_kernel(&w, a, 20, 1);
	gpu_when_idle(w.context, a, world_log, &w, 2);
	gpu_when_idle(w.context, NULL, world_log, &w, 3);
	world_run(&w);
	CHECK_US(w.log_ps[2], 35);
	CHECK_US(w.log_ps[3], 35);
	world_release(&w);
}

static void fraction_limits_the_memory_of_a_tenant(void)
{
	struct gpu_context *quarter;

	setup();
	world_build(&w);
	quarter = gpu_context_new(w.gpu, "quarter", 0.25); /* a quarter of 4 GB */
	CHECK(gpu_memory_take(quarter, 1e9));
	CHECK(!gpu_memory_take(quarter, 1));
	CHECK(gpu_memory_take(w.context, 3e9));
	CHECK(!gpu_memory_take(w.context, 1)); /* the GPU is full */
	CHECK(gpu_memory_take(w.context, -1e9));
	CHECK(!gpu_memory_take(quarter, 1)); /* limited to its quarter */
	world_release(&w);
}

static void kernel_duration_follows_roofline_and_half_work(void)
{
	struct efficiency_params efficiency = {.peak_ratio = 0.5, .half_work_flop = 1e8};
	struct kernel_work compute = {.flop = 1e9, .bytes_B = 1e6}, stream = {.bytes_B = 80e6},
			   pass = {.bytes_B = 8e6}, both = {.flop = 1e8, .bytes_B = 80e6};

	setup();
	/* (1e9 + 1e8) / (1e12 x 0.5) = 2.2 ms, plus 2 us. */
	CHECK_NEAR(kernel_duration_s(&w.gpu_params, &efficiency, &compute), 2.202e-3, 1e-12);
	/* 80 MB / (100 GB/s x 0.8) = 1 ms. */
	CHECK_NEAR(kernel_duration_s(&w.gpu_params, &efficiency, &stream), 1.002e-3, 1e-12);
	/* Without arithmetic the half-efficiency work has no effect. */
	CHECK_NEAR(kernel_duration_s(&w.gpu_params, &efficiency, &pass), 0.102e-3, 1e-12);
	/* 0.4 ms of arithmetic and 1 ms of memory traffic: the larger decides. */
	CHECK_NEAR(kernel_duration_s(&w.gpu_params, &efficiency, &both), 1.002e-3, 1e-12);
	/* Without an fp16 peak rate fp32 is used. */
	compute.type = NUMBER_FP16;
	CHECK_NEAR(kernel_duration_s(&w.gpu_params, &efficiency, &compute), 2.202e-3, 1e-12);
	w.gpu_params.fp16_flops = 2e12;
	CHECK_NEAR(kernel_duration_s(&w.gpu_params, &efficiency, &compute), 1.102e-3, 1e-12);
	/* At half_work half of the peak is reached: 1e8 flop at 0.25e12 flop/s. */
	compute = (struct kernel_work){.flop = 1e8};
	CHECK_NEAR(kernel_duration_s(&w.gpu_params, &efficiency, &compute), 0.402e-3, 1e-12);
}

static void repeated_steps_allocate_nothing(void)
{
	struct gpu_stream *a, *b;
	struct gpu_event event = {0};
	size_t used_B = 0;

	setup();
	world_build(&w);
	a = gpu_stream_new(w.context, "a");
	b = gpu_stream_new(w.context, "b");
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++) {
			world_kernel(&w, a, 1, 0);
			submit_event(a, GPU_OP_RECORD, &event, 1);
			submit_event(b, GPU_OP_WAIT, &event, 2);
			world_kernel(&w, b, 1, 3);
		}
		gpu_when_idle(w.context, NULL, world_log, &w, 4);
		world_run(&w);
		if (round == 0)
			used_B = arena_used_B(w.gpu_arena);
	}
	CHECK(w.log_count == 20 * 401);
	CHECK(arena_used_B(w.gpu_arena) == used_B);
	world_release(&w);
}

static const struct test tests[] = {
	TEST(stream_runs_its_operations_in_order),
	TEST(each_kernel_of_a_run_has_a_gap),
	TEST(continued_kernels_start_at_once),
	TEST(gap_follows_a_kernel_that_ended_just_before),
	TEST(reserved_multiprocessors_slow_kernels_down),
	TEST(two_streams_share_the_compute_engine),
	TEST(gpus_of_a_board_share_its_power),
	TEST(kernels_wait_for_a_free_slot),
	TEST(stream_waits_for_the_last_record_before_it),
	TEST(copies_queue_for_their_engine),
	TEST(copies_on_the_device_run_as_kernels),
	TEST(full_launch_queue_delays_submission),
	TEST(runs_of_kernels_leave_the_places_that_they_took),
	TEST(runs_take_only_kernels_of_their_name),
	TEST(idle_waits_only_for_work_submitted_so_far),
	TEST(idle_stream_has_ended_all_its_work),
	TEST(fraction_limits_the_memory_of_a_tenant),
	TEST(kernel_duration_follows_roofline_and_half_work),
	TEST(repeated_steps_allocate_nothing),
};

int main(void)
{
	return TEST_MAIN(tests);
}
