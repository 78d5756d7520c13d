/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The expected times are added by hand from the numbers of cuda_world.h. */
#include "sim/engine/trace.h"
#include "tests/cuda_world.h"

static struct world w;
static struct cuda_process *process;
static struct cpu *core;
static int results[WORLD_LOG_MAX]; /* by arg; -1: has not returned */

static void setup(void)
{
	memset(&w, 0, sizeof w);
	for (int i = 0; i < WORLD_LOG_MAX; i++)
		results[i] = -1;
	world_presets(&w);
}

static void build(void)
{
	world_build(&w);
	process = world_process(&w, 2, 2);
	core = guest_core(w.guest);
}

/* A program that makes one call after the other. The return of call i is logged at i. */
struct script {
	const struct cuda_call *calls;
	size_t count;
	struct cpu *core;
	uint64_t base; /* first index of its log */
};

static void script_done(void *ctx, uint64_t arg, enum call_result result)
{
	struct script *script = ctx;

	world_log(&w, script->base + arg);
	results[script->base + arg] = (int)result;
	if (++arg < script->count)
		driver_call(process, script->core, &script->calls[arg], script_done, script, arg);
}

static void script_start(struct script *script)
{
	if (!script->core)
		script->core = core;
	driver_call(process, script->core, &script->calls[0], script_done, script, 0);
}

#define SCRIPT(...)                                                                                \
	static const struct cuda_call calls[] = {__VA_ARGS__};                                     \
	static struct script script;                                                               \
	script = (struct script){.calls = calls, .count = sizeof calls / sizeof calls[0]};         \
	script_start(&script);                                                                     \
	world_run(&w)

#define LAUNCH(us)                                                                                 \
	{                                                                                          \
		.kind = CALL_LAUNCH, .duration_s = (us)*US                                         \
	}

static void kinds_of_calls_have_cuda_names(void)
{
	CHECK_TEXT(call_kind_name(CALL_LAUNCH), "cudaLaunchKernel");
	CHECK_TEXT(call_kind_name(CALL_CREATE_HANDLE), "cudaEventCreate");
}

static void calls_without_gpu_work_take_their_cost(void)
{
	setup();
	build();
	SCRIPT({.kind = CALL_MALLOC}, {.kind = CALL_GET_DEVICE}, {.kind = CALL_GET_ATTRIBUTE},
	       {.kind = CALL_CREATE_HANDLE}, {.kind = CALL_LIBRARY}, {.kind = CALL_FREE},
	       {.kind = CALL_DEVICE_SYNCHRONIZE}, {.kind = CALL_STREAM_QUERY});
	CHECK_US(w.log_ps[0], 50);
	CHECK_US(w.log_ps[1], 50.5);
	CHECK_US(w.log_ps[2], 51);
	CHECK_US(w.log_ps[3], 58);
	CHECK_US(w.log_ps[4], 58.25);
	CHECK_US(w.log_ps[5], 98.25);  /* nothing on the GPU: no wait and no wake-up */
	CHECK_US(w.log_ps[6], 100.25); /* likewise */
	CHECK_US(w.log_ps[7], 103.25);
	CHECK(results[7] == CALL_OK);
	world_release(&w);
}

/* Calls that a framework makes inside the dispatch of another take no time of their own. */
static void calls_in_a_dispatch_return_at_once(void)
{
	setup();
	build();
	struct cuda_port *port = cuda_process_port(process);
	const struct cuda_call calls[] = {{.kind = CALL_MALLOC, .in_dispatch = true},
					  {.kind = CALL_MALLOC}};
	static struct script script;
	for (uint64_t i = 0; i < 2; i++)
		port->call(port, 0, core, &calls[i], script_done, &script, i);
	CHECK(results[0] == CALL_OK && results[1] < 0);
	world_run(&w);
	CHECK_US(w.log_ps[0], 0);
	CHECK_US(w.log_ps[1], 50);
	world_release(&w);
}

static void calls_on_a_faster_core_take_less_time(void)
{
	setup();
	w.host_params.clock_Hz = 2 * REFERENCE_CLOCK_HZ;
	build();
	SCRIPT({.kind = CALL_MALLOC});
	CHECK_US(w.log_ps[0], 25);
	world_release(&w);
}

static void launches_return_at_once_and_synchronise_waits_for_the_gpu(void)
{
	setup();
	build();
	SCRIPT(LAUNCH(10), LAUNCH(20), {.kind = CALL_STREAM_SYNCHRONIZE});
	CHECK_US(w.log_ps[0], 5);
	CHECK_US(w.log_ps[1], 10);
	/* The kernels run 9..19 and 20..40, and the wake-up follows. */
	CHECK_US(w.log_ps[2], 41.5);
	CHECK_NEAR(gpu_busy_s(w.gpu), 30 * US, 1e-9);
	world_release(&w);
}

static void free_waits_for_the_device_and_memset_does_not(void)
{
	setup();
	build();
	SCRIPT({.kind = CALL_MEMSET_ASYNC, .stream = 1, .duration_s = 100 * US},
	       {.kind = CALL_STREAM_SYNCHRONIZE}, {.kind = CALL_FREE});
	CHECK_US(w.log_ps[0], 5);
	CHECK_US(w.log_ps[1], 7); /* the work is in another stream, so there is no wait */
	/* The 40 of the free end at 47, and the memset runs 9..109. cudaFree waits for the device.
	 */
	CHECK_US(w.log_ps[2], 110.5);
	world_release(&w);
}

static void events_report_whether_their_record_is_reached(void)
{
	setup();
	build();
	SCRIPT(LAUNCH(10), {.kind = CALL_EVENT_RECORD}, {.kind = CALL_EVENT_QUERY},
	       {.kind = CALL_STREAM_QUERY}, {.kind = CALL_EVENT_SYNCHRONIZE},
	       {.kind = CALL_EVENT_QUERY}, {.kind = CALL_EVENT_SYNCHRONIZE},
	       {.kind = CALL_EVENT_QUERY, .event = 1});
	CHECK_US(w.log_ps[2], 10);
	CHECK(results[2] == CALL_NOT_READY); /* the kernel runs 9..19 */
	CHECK(results[3] == CALL_NOT_READY); /* queried at 13 */
	CHECK_US(w.log_ps[4], 20.5);         /* 19 plus the wake-up */
	CHECK_US(w.log_ps[5], 23.5);
	CHECK(results[5] == CALL_OK);
	CHECK_US(w.log_ps[6], 25.5);
	CHECK(results[7] == CALL_OK); /* never recorded: complete, as in CUDA */
	/* The event was complete at 19, and the first query that found it so ended at 23.5. */
	CHECK_US(engine_wait_ps(w.engine, WAIT_POLL), 4.5);
	world_release(&w);
}

static void stream_waits_for_an_event_of_another_stream(void)
{
	setup();
	build();
	SCRIPT(LAUNCH(50), {.kind = CALL_EVENT_RECORD, .event = 1},
	       {.kind = CALL_STREAM_WAIT_EVENT, .stream = 1, .event = 1},
	       {.kind = CALL_LAUNCH, .stream = 1, .duration_s = 10 * US},
	       {.kind = CALL_DEVICE_SYNCHRONIZE});
	CHECK_US(w.log_ps[3], 13); /* 5 + 2 + 1 + 5: no call blocks on the host */
	CHECK_US(w.log_ps[4], 59 + 1 + 10 + 1.5);
	world_release(&w);
}

/* The queue has 2 operations; kernels of 100 end at 109, 210, 311 ... A third launch, ready at 15,
 * returns at 109; the fourth, ready at 114, returns at 210. */
static void launches_block_when_the_queue_is_full(void)
{
	setup();
	w.gpu_params.queue_depth_count = 2;
	build();
	SCRIPT(LAUNCH(100), LAUNCH(100), LAUNCH(100), LAUNCH(100), {.kind = CALL_EVENT_QUERY},
	       {.kind = CALL_DEVICE_SYNCHRONIZE});
	CHECK_US(w.log_ps[0], 5);
	CHECK_US(w.log_ps[1], 10);
	CHECK_US(w.log_ps[2], 109);
	CHECK_US(w.log_ps[3], 210);
	CHECK_US(w.log_ps[4], 213); /* queries need no room in the queue */
	CHECK_US(w.log_ps[5], 413.5);
	world_release(&w);
}

/* A program that issues faster than the GPU works runs ahead: with a queue of 64, launch i (from 0)
 * returns at 5 (i + 1), or when kernel i - 64 ends if that is later. */
static void run_ahead_is_limited_by_the_queue_depth(void)
{
	static struct cuda_call calls[200];
	static struct script script;

	setup();
	w.gpu_params.queue_depth_count = 64;
	build();
	for (int i = 0; i < 200; i++)
		calls[i] = (struct cuda_call)LAUNCH(99);
	script = (struct script){.calls = calls, .count = 200};
	script_start(&script);
	world_run(&w);
	CHECK_US(w.log_ps[63], 320);
	/* Kernel k ends at 9 + 99 + 100 k. */
	for (int i = 64; i < 200; i++)
		CHECK_US(w.log_ps[i], fmax(5 * (i + 1), 108 + 100 * (i - 64)));
	CHECK_US(engine_now_ps(w.engine), 108 + 100 * 199);
	world_release(&w);
}

#define COPY(kind_, stream_, pageable_)                                                            \
	{                                                                                          \
		.kind = kind_, .stream = stream_, .payload_B = 1e6, .pageable = pageable_          \
	} /* 100 us */

static void synchronous_copies_return_when_done(void)
{
	setup();
	build();
	SCRIPT(COPY(CALL_MEMCPY_H2D, 0, false), COPY(CALL_MEMCPY_D2H, 0, false),
	       {.kind = CALL_MEMCPY_D2H});
	CHECK_US(w.log_ps[0], 6 + 100 + 1.5);
	CHECK_US(w.log_ps[1], 2 * 107.5);
	CHECK_US(w.log_ps[2], 2 * 107.5 + 7.5); /* an empty copy */
	world_release(&w);
}

/* 1 MB is copied to the device and 2 MB back, each on its own direction of the slot. */
static void copies_use_their_direction_of_the_link(void)
{
	setup();
	build();
	SCRIPT({.kind = CALL_MEMCPY_H2D, .payload_B = 1e6},
	       {.kind = CALL_MEMCPY_D2H, .payload_B = 2e6});
	for (int direction = 0; direction < 2; direction++)
		CHECK_NEAR(fabric_carried(w.fabric, fabric_link_resource(w.fabric, 0, direction)),
			   1e6 * (direction + 1), 1e-9);
	world_release(&w);
}

static void asynchronous_copy_overlaps_a_kernel(void)
{
	setup();
	build();
	SCRIPT(COPY(CALL_MEMCPY_H2D_ASYNC, 1, false), LAUNCH(80),
	       {.kind = CALL_STREAM_QUERY, .stream = 1}, {.kind = CALL_DEVICE_SYNCHRONIZE},
	       {.kind = CALL_STREAM_QUERY, .stream = 1});
	CHECK_US(w.log_ps[0], 6);
	CHECK_US(w.log_ps[1], 11);
	CHECK(results[2] == CALL_NOT_READY);
	CHECK_US(w.log_ps[3], 106 + 1.5); /* copy 6..106, kernel 15..95 */
	CHECK(results[4] == CALL_OK);
	CHECK_NEAR(gpu_busy_s(w.gpu), 80 * US, 1e-9);
	world_release(&w);
}

/* An asynchronous copy from pageable memory blocks its caller until the bytes are copied, so not
 * before the PCIe time, 100. */
static void pageable_asynchronous_copies_block_their_caller(void)
{
	setup();
	build();
	SCRIPT(COPY(CALL_MEMCPY_H2D_ASYNC, 1, true), {.kind = CALL_STREAM_QUERY, .stream = 1},
	       COPY(CALL_MEMCPY_D2H_ASYNC, 1, true), {.kind = CALL_STREAM_QUERY, .stream = 1});
	CHECK(w.log_ps[0] >= 107500000);
	CHECK(results[1] == CALL_OK);
	CHECK(w.log_ps[2] - w.log_ps[1] >= 107500000);
	CHECK(results[3] == CALL_OK);
	world_release(&w);
}

/* Two threads run on their own cores. The driver works for one call of a context at a time, so the
 * second launch returns at 10, and the first thread synchronises behind it. The kernels of the two
 * streams share the GPU: one begins at 9, the other at 14, when the first has done 5. Its other 5
 * take 10, until 24. The second kernel then has 5 left. */
static void two_threads_share_the_gpu_through_two_streams(void)
{
	static const struct cuda_call calls[2][2] = {
		{LAUNCH(10), {.kind = CALL_STREAM_SYNCHRONIZE}},
		{{.kind = CALL_LAUNCH, .stream = 1, .duration_s = 10 * US},
		 {.kind = CALL_STREAM_SYNCHRONIZE, .stream = 1}},
	};
	static struct script scripts[2];

	setup();
	build();
	for (unsigned t = 0; t < 2; t++) {
		scripts[t] = (struct script){calls[t], 2, guest_core(w.guest), 10 * t};
		script_start(&scripts[t]);
	}
	world_run(&w);
	CHECK_US(w.log_ps[0], 5);
	CHECK_US(w.log_ps[10], 10);
	CHECK_US(w.log_ps[1], 24 + 1.5);
	CHECK_US(w.log_ps[11], 29 + 1.5);
	world_release(&w);
}

/* A VM whose work costs 50 % more and whose interrupts cost 3: launches at 7.5 and 15, kernels
 * 11.5..21.5 and 22.5..42.5, woken by an interrupt, 3, and 1.5 x 1.5. Costs that were measured in
 * such a guest are not increased. */
static void in_a_vm(bool guest_work)
{
	setup();
	w.guest_params.kind = GUEST_VM;
	w.guest_params.work_cost_ratio = 0.5;
	w.guest_params.interrupt_s = 3 * US;
	w.guest_work = guest_work;
	build();
	SCRIPT(LAUNCH(10), LAUNCH(20), {.kind = CALL_STREAM_SYNCHRONIZE});
}

static void guest_adds_cost_to_work_and_interrupts(void)
{
	in_a_vm(true);
	CHECK_US(w.log_ps[0], 7.5);
	CHECK_US(w.log_ps[1], 15);
	CHECK_US(w.log_ps[2], 42.5 + 3 + 2.25);
	world_release(&w);
	in_a_vm(false);
	CHECK_US(w.log_ps[0], 5);
	CHECK_US(w.log_ps[2], 41.5);
	world_release(&w);
}

/* Peers that all begin at that time (-1: later) and end after 100 us. */
static int64_t all_begun_ps;

static uint64_t join_peers(struct cuda_peers *peers, size_t member, const struct cuda_call *call)
{
	return 0;
}

static const int64_t *begin_peers(struct cuda_peers *peers, size_t member, uint64_t ticket,
				  const struct cuda_call *call, event_fn *done, void *ctx,
				  uint64_t arg)
{
	engine_after(w.engine, ps_from_s(100 * US), done, ctx, arg);
	return &all_begun_ps;
}

/* Calls and launches take no time, so this GPU begins at time 0, too. No rank was late, and
 * all 100 us are exposed communication. */
static void ranks_that_begin_at_time_zero_are_not_late(void)
{
	struct cuda_peers peers = {join_peers, begin_peers};
	int64_t times_ps[GPU_TIME_COUNT];
	setup();
	w.driver_params.launch_s = w.driver_params.synchronize_s = 0;
	w.gpu_params.launch_latency_s = w.gpu_params.kernel_gap_s = 0;
	build();
	process = cuda_process_new(&(struct cuda_process_spec){.arena = w.gpu_arena,
							       .engine = w.engine,
							       .fabric = w.fabric,
							       .context = w.context,
							       .guest = w.guest,
							       .driver = &w.driver_params,
							       .dma = &w.dma_params,
							       .stream_count = 1,
							       .peers = &peers,
							       .role = "rank"});
	SCRIPT({.kind = CALL_ALL_REDUCE, .exposed = GPU_DATA}, {.kind = CALL_STREAM_SYNCHRONIZE});
	cuda_process_times(process, times_ps);
	CHECK_US(w.log_ps[1], 101.5);
	CHECK_US(times_ps[GPU_STRAGGLER], 0);
	CHECK_US(times_ps[GPU_DATA], 100);
	CHECK_US(times_ps[GPU_HOST], 1.5);
	world_release(&w);
}

static void exposed_by_now(void *ctx, uint64_t us)
{
	CHECK_US(cuda_process_exposed_ps(process), (double)us);
}

/* Collectives of two streams, from 0 to 100 and from 50 to 150, are exposed together for 150. */
static void overlapping_collectives_are_exposed_once(void)
{
	struct cuda_peers peers = {join_peers, begin_peers};
	setup();
	w.driver_params.launch_s = 0;
	build();
	process = cuda_process_new(&(struct cuda_process_spec){.arena = w.gpu_arena,
							       .engine = w.engine,
							       .fabric = w.fabric,
							       .context = w.context,
							       .guest = w.guest,
							       .driver = &w.driver_params,
							       .dma = &w.dma_params,
							       .stream_count = 2,
							       .peers = &peers});
	for (uint64_t us = 30; us <= 180; us += 30)
		engine_at(w.engine, (int64_t)us * 1000000, exposed_by_now, NULL,
			  us < 150 ? us : 150);
	SCRIPT({.kind = CALL_ALL_REDUCE}, {.kind = CALL_MALLOC},
	       {.kind = CALL_ALL_REDUCE, .stream = 1}, {.kind = CALL_DEVICE_SYNCHRONIZE});
	CHECK_US(w.log_ps[3], 150 + 1.5);
	exposed_by_now(NULL, 150);
	world_release(&w);
}

/* A port that notes the last thread for which it was asked. */
struct noting_port {
	struct cuda_port port;
	unsigned core_thread, call_thread;
};

static struct cpu *noted_core(struct cuda_port *port, unsigned thread)
{
	((struct noting_port *)port)->core_thread = thread;
	return core;
}

static void noted_call(struct cuda_port *port, unsigned thread, struct cpu *on,
		       const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg)
{
	((struct noting_port *)port)->call_thread = thread;
}

/* Thread 7 of a program with 3 GPUs is thread 2 of GPU 1. Its calls go to the GPU that they name.
 */
static void joined_ports_divide_threads_and_calls(void)
{
	enum { NONE = 99 };
	struct noting_port ports[3];
	struct cuda_port *list[3];
	struct arena *arena = arena_new();
	setup();
	build();
	for (size_t i = 0; i < 3; i++) {
		ports[i] = (struct noting_port){{noted_core, noted_call}, NONE, NONE};
		list[i] = &ports[i].port;
	}
	struct cuda_port *joined = device_ports_join(arena, list, 3);
	CHECK(joined->core(joined, 7) == core);
	joined->call(joined, 7, core, &(struct cuda_call){.device = 2}, NULL, NULL, 0);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(ports[i].core_thread == (i == 1 ? 2 : NONE));
		CHECK(ports[i].call_thread == (i == 2 ? 2 : NONE));
	}
	ports[1].port.core = NULL;
	CHECK(joined->core(joined, 7) == NULL);
	CHECK(device_ports_join(arena, list, 1) == list[0]);
	world_release(&w);
	arena_free(arena);
}

/* Defaults that are assumed to be equal, or a third, of others are so: see their sources. */
static void default_costs_follow_from_each_other(void)
{
	static const struct {
		const char *field, *of;
		double part;
	} rows[] = {{"memset_s", "launch_s", 1},
		    {"record_s", "launch_s", 1.0 / 3},
		    {"wait_event_s", "record_s", 1},
		    {"free_s", "malloc_s", 1}};
	struct arena *arena = arena_new();
	for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
		double values[2] = {0, 0};
		for (size_t i = 0; i < driver_table.count; i++)
			for (int k = 0; k < 2; k++)
				if (strcmp(driver_table.rows[i].field,
					   k ? rows[r].of : rows[r].field) == 0)
					CHECK(!quantity_parse(arena, QUANTITY_TIME,
							      driver_table.rows[i].preset,
							      &values[k]));
		CHECK(values[1] > 0);
		CHECK_NEAR(values[0], rows[r].part * values[1], 1e-9);
	}
	arena_free(arena);
}

static void last_begins(void *ctx, uint64_t arg)
{
	all_begun_ps = engine_now_ps(w.engine);
}

/* The last rank begins at 40 of 100 us. The time before is a bubble in a pipeline, otherwise the
 * wait for a straggler. The timeline names each. */
static void waits_for_peers_have_their_kinds_and_names(void)
{
	static const struct {
		enum gpu_time kind, late;
		const char *name, *late_name;
	} cases[] = {{GPU_TENSOR, GPU_STRAGGLER, "tensor", "straggler"},
		     {GPU_CONTEXT, GPU_STRAGGLER, "context", "straggler"},
		     {GPU_EXPERT, GPU_STRAGGLER, "expert", "straggler"},
		     {GPU_DATA, GPU_STRAGGLER, "data", "straggler"},
		     {GPU_PIPELINE, GPU_BUBBLE, "pipeline", "bubble"}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct cuda_peers peers = {join_peers, begin_peers};
		int64_t times_ps[GPU_TIME_COUNT];
		setup();
		w.driver_params.launch_s = w.driver_params.synchronize_s = 0;
		build();
		struct trace *trace = trace_new(w.arena);
		engine_trace_set(w.engine, trace);
		process = cuda_process_new(&(struct cuda_process_spec){.arena = w.gpu_arena,
								       .engine = w.engine,
								       .fabric = w.fabric,
								       .context = w.context,
								       .guest = w.guest,
								       .driver = &w.driver_params,
								       .dma = &w.dma_params,
								       .stream_count = 1,
								       .peers = &peers,
								       .role = "rank"});
		all_begun_ps = -1;
		engine_at(w.engine, ps_from_s(40 * US), last_begins, NULL, 0);
		static struct cuda_call calls[2];
		calls[0] = (struct cuda_call){.kind = CALL_ALL_REDUCE,
					      .exposed = (uint8_t)cases[i].kind};
		calls[1] = (struct cuda_call){.kind = CALL_STREAM_SYNCHRONIZE};
		static struct script script;
		script = (struct script){.calls = calls, .count = 2};
		script_start(&script);
		world_run(&w);
		cuda_process_times(process, times_ps);
		CHECK_US(times_ps[cases[i].late], 40);
		CHECK_US(times_ps[cases[i].kind], 60);
		double named_ps[2] = {0};
		for (size_t s = 0; s < trace_span_count(trace); s++) {
			const struct span *span = trace_span_at(trace, s);
			for (int late = 0; late < 2; late++)
				if (strcmp(span->name, late ? cases[i].late_name : cases[i].name) ==
				    0)
					named_ps[late] += (double)(span->end_ps - span->start_ps);
		}
		CHECK_US(named_ps[0], 60);
		CHECK_US(named_ps[1], 40);
		world_release(&w);
	}
	all_begun_ps = 0;
}

/* Library calls do not take the context's lock, so two threads make them at the same time. */
static void library_calls_of_two_threads_overlap(void)
{
	static const struct cuda_call call = {.kind = CALL_LIBRARY};
	static struct script scripts[2];
	setup();
	build();
	for (unsigned t = 0; t < 2; t++) {
		scripts[t] = (struct script){&call, 1, guest_core(w.guest), t};
		script_start(&scripts[t]);
	}
	world_run(&w);
	CHECK_US(w.log_ps[0], 0.25);
	CHECK_US(w.log_ps[1], 0.25);
	world_release(&w);
}

/* A call with host work of its own takes that in place of the driver's 5 us. */
static void host_work_of_a_call_replaces_the_cost_of_its_kind(void)
{
	setup();
	build();
	SCRIPT({.kind = CALL_LAUNCH, .duration_s = US, .host_s = 20e-6F});
	CHECK_NEAR((double)w.log_ps[0], 20e6, 1e-6);
	world_release(&w);
}

static const struct test tests[] = {
	TEST(kinds_of_calls_have_cuda_names),
	TEST(calls_without_gpu_work_take_their_cost),
	TEST(calls_in_a_dispatch_return_at_once),
	TEST(calls_on_a_faster_core_take_less_time),
	TEST(launches_return_at_once_and_synchronise_waits_for_the_gpu),
	TEST(guest_adds_cost_to_work_and_interrupts),
	TEST(free_waits_for_the_device_and_memset_does_not),
	TEST(events_report_whether_their_record_is_reached),
	TEST(stream_waits_for_an_event_of_another_stream),
	TEST(launches_block_when_the_queue_is_full),
	TEST(run_ahead_is_limited_by_the_queue_depth),
	TEST(synchronous_copies_return_when_done),
	TEST(copies_use_their_direction_of_the_link),
	TEST(asynchronous_copy_overlaps_a_kernel),
	TEST(pageable_asynchronous_copies_block_their_caller),
	TEST(two_threads_share_the_gpu_through_two_streams),
	TEST(ranks_that_begin_at_time_zero_are_not_late),
	TEST(overlapping_collectives_are_exposed_once),
	TEST(waits_for_peers_have_their_kinds_and_names),
	TEST(joined_ports_divide_threads_and_calls),
	TEST(default_costs_follow_from_each_other),
	TEST(library_calls_of_two_threads_overlap),
	TEST(host_work_of_a_call_replaces_the_cost_of_its_kind),
};

int main(void)
{
	return TEST_MAIN(tests);
}
