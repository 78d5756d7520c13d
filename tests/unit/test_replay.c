/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replay of recorded programs. A modelled program (ResNet-50 with either framework) runs in a small
 * world while all its calls are recorded like a recorder does: function, begin, end, and the
 * kernel's time. It is written as a call file, read again and replayed in the same world; a step
 * must take as long. Further tests check threads that wait for each other, and polling, by hand
 * with the numbers of cuda_world.h. The test must run from the root folder. */
#include "sim/training/framework.h"
#include "sim/traces/profile.h"
#include "tests/recording.h"

static const struct calls_params as_recorded = {
	.kernel_ratio = 1, .think_ratio = 1, .copies_ratio = 1, .arguments_B = 120};

/* ---- playing ---- */

static double step_s(const struct player *player, size_t index)
{
	const struct step_record *step = player_step_at(player, index);
	return s_from_ps(step->end_ps - step->start_ps);
}

static const struct recorded_calls *written_and_read(struct arena *arena)
{
	char path[64];
	snprintf(path, sizeof path, "/tmp/farwire-test-replay.%ld", (long)getpid());
	recording_write(arena, path);
	struct diag *diag = diag_new(arena);
	const struct recorded_calls *read = call_file_read(arena, diag, path);
	diag_print(diag, stdout);
	unlink(path);
	return read;
}

static const struct program *replayed(struct arena *arena, const struct recorded_calls *recorded,
				      const struct calls_params *params)
{
	struct diag *diag = diag_new(arena);
	struct replay_step step;
	bool found = replay_step_find(diag, (struct origin){NULL, 0}, recorded, params, &step);
	diag_print(diag, stdout);
	CHECK(found);
	return replay_program(arena, &(struct replay_spec){.recorded = recorded,
							   .step = &step,
							   .params = params,
							   .host_clock_Hz = REFERENCE_CLOCK_HZ});
}

/* ---- the round trip ---- */

static const struct program *modelled(struct arena *arena, const char *framework, bool input)
{
	static const struct efficiency_params efficiency = {.peak_ratio = 1};
	struct stack_params stack = {.dispatch_s = 5e-6,
				     .autograd_ratio = 1,
				     .update_ratio = 1,
				     .calls_per_library_op_count = 3,
				     .calls_per_launch_count = 1,
				     .l2_loss = L2_LOSS_NONE,
				     .poller = true,
				     .poll_sleep_s = 10e-6,
				     .real_input = input,
				     .session_s = 300e-6,
				     .arguments_B = 120,
				     .library_arguments_B = 100};
	for (size_t i = 0; i < framework_count(); i++)
		if (strcmp(framework_at(i)->name, framework) == 0)
			stack.framework = (int)i;
	struct diag *diag = diag_new(arena);
	const struct cfg_node *file = cfg_read(arena, diag, "models/networks/resnet50.cfg");
	const struct network *network = network_read(arena, diag, file, 0);
	return framework_at((size_t)stack.framework)
		->program(arena, &(struct step_spec){network, 8, &stack, &w.gpu_params, &efficiency,
						     NULL, NULL});
}

static void round_trip(const char *framework, bool input, double flops)
{
	enum { STEPS = 7 };
	struct arena *arena = arena_new();
	memset(&w, 0, sizeof w);
	world_presets(&w);
	w.gpu_params.fp32_flops = flops;
	world_build(&w);
	struct player *player = play(modelled(arena, framework, input), STEPS, true);
	double wanted_s = step_s(player, STEPS - 1);
	const struct recorded_calls *recorded = written_and_read(arena);
	size_t calls_count = player_step_at(player, STEPS - 1)->calls_count;
	world_release(&w);
	if (!recorded)
		return;
	CHECK(recorded->mark_count == STEPS);
	world_build(&w);
	player = play(replayed(arena, recorded, &as_recorded), STEPS, false);
	CHECK_NEAR(step_s(player, STEPS - 1), wanted_s, 0.01);
	CHECK(player_step_at(player, STEPS - 1)->calls_count >= calls_count);
	world_release(&w);
	arena_free(arena);
}

/* The GPU waits for the host, and in the last row the host waits for the GPU. */
static void replayed_tensorflow_step_takes_as_long(void)
{
	round_trip("tensorflow-1", false, 1e12);
	round_trip("tensorflow-1", true, 1e12);
	round_trip("tensorflow-1", false, 1e14);
}

static void replayed_pytorch_step_takes_as_long(void)
{
	round_trip("pytorch", false, 1e12);
	round_trip("pytorch", true, 1e12);
	round_trip("pytorch", false, 1e14);
}

/* ---- by hand ---- */

static struct recorded_call call_at(uint32_t thread, const char *function, double start_us,
				    double end_us)
{
	return (struct recorded_call){.start_s = start_us * US,
				      .end_s = end_us * US,
				      .gpu_start_s = -1,
				      .gpu_s = -1,
				      .function = function,
				      .stream = -1,
				      .event = -1,
				      .thread = thread};
}

static struct recorded_call launch_at(uint32_t thread, double start_us, double kernel_us)
{
	struct recorded_call call = call_at(thread, "cudaLaunchKernel", start_us, start_us + 5);
	call.gpu_s = kernel_us * US;
	call.stream = 7;
	return call;
}

static const struct program *stream_of(struct arena *arena, struct recorded_call *calls,
				       size_t count, struct recorded_mark *marks, size_t mark_count,
				       const struct calls_params *params)
{
	struct recorded_calls *recorded = ARENA_NEW(arena, struct recorded_calls);
	*recorded = (struct recorded_calls){.tool = "",
					    .gpu = "",
					    .calls = calls,
					    .call_count = count,
					    .marks = marks,
					    .mark_count = mark_count};
	recorded_calls_settle(arena, recorded);
	return replayed(arena, recorded, params);
}

/* Thread 0 launches at 10. Thread 1 launches at 100, 150 ... 800 and, taking 10, at 880. Thread 0
 * launches again at 900, after waiting for the last of them: it continues 10 after its end. Thread
 * 1 waits for no other thread: one launch of 5 is not half of its first 100. */
static void recorded_wait_for_another_thread_is_kept(void)
{
	struct recorded_call calls[18];
	struct recorded_mark marks[] = {{.t_s = 0, .step = 1}, {.t_s = 905 * US, .step = 2}};
	struct arena *arena = arena_new();
	calls[0] = launch_at(0, 10, 1);
	for (int i = 0; i < 16; i++)
		calls[1 + i] = launch_at(1, 100 + 50 * i, 1);
	calls[16].start_s = 880 * US;
	calls[16].end_s = 890 * US;
	calls[17] = launch_at(0, 900, 1);
	memset(&w, 0, sizeof w);
	world_presets(&w);
	world_build(&w);
	const struct program *program = stream_of(arena, calls, 18, marks, 2, &as_recorded);
	struct player *player = play(program, 1, false);
	/* A launch takes 5 here, also the last one: 5 less than recorded. */
	CHECK_NEAR(step_s(player, 0), 900 * US, 1e-6);
	world_release(&w);
	w.driver_params.launch_s = 20 * US;
	world_build(&w);
	player = play(program, 1, false);
	/* Thread 1: 100, 16 calls of 20, 14 gaps of 45, one of 75: until 1125. Then 10 + 20. */
	CHECK_NEAR(step_s(player, 0), 1155 * US, 1e-6);
	world_release(&w);
	arena_free(arena);
}

/* A kernel of 100 us and an event; four queries begin 13 apart, with 10 of sleep, and the last one
 * is ready. A GPU at half the speed needs more queries. */
static void replayed_polling_stops_when_ready(void)
{
	struct recorded_call calls[6];
	struct arena *arena = arena_new();
	struct calls_params slower = as_recorded;
	slower.kernel_ratio = 2;
	for (int i = 0; i < 4; i++) {
		calls[i] = call_at(0, "cudaEventQuery", 60 + 13 * i, 63 + 13 * i);
		calls[i].event = 3;
		calls[i].ready = i == 3 ? READY_YES : READY_NO;
	}
	calls[4] = launch_at(0, 0, 90);
	calls[5] = call_at(0, "cudaEventRecord", 5, 7);
	calls[5].event = 3;
	calls[5].stream = 7;
	for (int twice = 0; twice < 2; twice++) {
		memset(&w, 0, sizeof w);
		world_presets(&w);
		world_build(&w);
		const struct program *program =
			stream_of(arena, calls, 6, NULL, 0, twice ? &slower : &as_recorded);
		struct player *player = play(program, 1, false);
		/* The kernel starts at 5 + 4 and the event is complete at 99; queries are answered
		 * at 63, 76, 89, 102. With a kernel of 180 us: complete at 189, so answered at 193.
		 */
		CHECK_NEAR(step_s(player, 0), (twice ? 193 : 102) * US, 1e-6);
		CHECK(player_step_at(player, 0)->calls_count == (twice ? 2 + 11 : 2 + 4));
		world_release(&w);
	}
	arena_free(arena);
}

/* Thread 0 launches until 100 and from 300 on. A call of thread 1 ends at 150 or 250. Only the
 * second one fills half of the gap, although the first one takes 150, too. */
static void only_the_part_of_a_call_inside_of_a_gap_counts(void)
{
	for (int half = 0; half < 2; half++) {
		struct recorded_call calls[] = {
			launch_at(0, 95, 1),
			call_at(1, "cudaHostAlloc", half ? 100 : 0, half ? 250 : 150),
			launch_at(0, 300, 1)};
		struct arena *arena = arena_new();
		const struct program *program = stream_of(arena, calls, 3, NULL, 0, &as_recorded);
		CHECK(program->signal_count == (half ? 1 : 0));
		arena_free(arena);
	}
}

/* Thread 0 does nothing from 100 to 900. Thread 1 fills 450 of this gap, and thread 2 730. */
static void the_thread_that_fills_most_of_a_gap_is_awaited(void)
{
	struct recorded_call calls[] = {launch_at(0, 95, 1), call_at(1, "cudaHostAlloc", 100, 550),
					call_at(2, "cudaHostAlloc", 150, 880),
					launch_at(0, 900, 1)};
	struct arena *arena = arena_new();
	const struct program *program = stream_of(arena, calls, 4, NULL, 0, &as_recorded);
	size_t posts[3] = {0};
	for (size_t t = 0; t < program->thread_count && CHECK(t < 3); t++)
		for (size_t i = 0; i < program->threads[t].count; i++)
			posts[t] += program->threads[t].items[i].kind == ITEM_POST;
	CHECK(posts[0] == 0 && posts[1] == 0 && posts[2] == 1);
	arena_free(arena);
}

/* A single query whose answer is not recorded may have waited for nothing. */
static void a_single_query_without_an_answer_is_no_poll(void)
{
	struct recorded_call calls[] = {launch_at(0, 10, 1), call_at(1, "cudaEventQuery", 20, 25)};
	struct arena *arena = arena_new();
	calls[1].event = 5;
	calls[1].ready = READY_UNKNOWN;
	const struct program *program = stream_of(arena, calls, 2, NULL, 0, &as_recorded);
	CHECK(program->thread_count == 2);
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++)
			CHECK(program->threads[t].items[i].kind != ITEM_POLL);
	arena_free(arena);
}

static void a_thread_does_not_await_its_own_record(void)
{
	struct recorded_call calls[] = {call_at(0, "cudaEventRecord", 5, 10),
					call_at(0, "cudaEventSynchronize", 40, 42)};
	struct arena *arena = arena_new();
	calls[0].event = calls[1].event = 5;
	calls[0].stream = 7;
	CHECK(stream_of(arena, calls, 2, NULL, 0, &as_recorded)->signal_count == 0);
	arena_free(arena);
}

/* Threads 0 and 1 record event 5, and end this at 20 and at 10. Thread 2 synchronises at 40 or 20,
 * so it waits for thread 0. Threads are numbered by their first call. */
static void latest_record_is_awaited_at(double sync_us)
{
	struct recorded_call calls[] = {
		call_at(0, "cudaGetDevice", 1, 2), call_at(0, "cudaEventRecord", 15, 20),
		call_at(1, "cudaGetDevice", 2, 3), call_at(1, "cudaEventRecord", 5, 10),
		call_at(2, "cudaEventSynchronize", sync_us, 42)};
	struct recorded_mark marks[] = {{.t_s = 0, .step = 1}, {.t_s = 70 * US, .step = 2}};
	struct arena *arena = arena_new();
	for (size_t i = 1; i < 5; i++)
		calls[i].event = i == 2 ? -1 : 5;
	calls[1].stream = calls[3].stream = 7;
	const struct program *program = stream_of(arena, calls, 5, marks, 2, &as_recorded);
	size_t posts[3] = {0};
	for (size_t t = 0; t < program->thread_count && CHECK(t < 3); t++)
		for (size_t i = 0; i < program->threads[t].count; i++)
			posts[t] += program->threads[t].items[i].kind == ITEM_POST;
	CHECK(posts[0] == 1 && posts[1] == 0 && posts[2] == 0);
	arena_free(arena);
}

static void the_latest_record_of_an_event_is_awaited(void)
{
	latest_record_is_awaited_at(40);
	latest_record_is_awaited_at(20);
}

/* In each of two steps a collective of stream 20 follows a kernel of stream 7, and an event is
 * recorded at its end. Only the second step has a wait. It is for the collective of this step. */
static void a_wait_is_for_a_collective_of_its_step(void)
{
	struct recorded_call calls[] = {
		launch_at(0, 10, 1),
		call_at(0, "ncclAllReduce", 30, 31),
		call_at(0, "cudaEventRecord", 50, 51),
		launch_at(0, 110, 1),
		call_at(0, "ncclAllReduce", 130, 131),
		call_at(0, "cudaEventRecord", 150, 151),
		call_at(0, "cudaStreamWaitEvent", 200, 201),
	};
	struct recorded_mark marks[] = {
		{.t_s = 0, .step = 1}, {.t_s = 100 * US, .step = 2}, {.t_s = INFINITY}};
	struct recorded_calls recorded = {
		.calls = calls, .call_count = 7, .marks = marks, .mark_count = 2};
	struct arena *arena = arena_new();
	calls[1].size_B = calls[4].size_B = 4096;
	calls[1].stream = calls[4].stream = 20;
	profile_order_streams(arena, &recorded);
	CHECK(calls[2].event >= 0 && calls[2].stream == 20);
	CHECK(calls[5].event >= 0 && calls[5].event != calls[2].event);
	CHECK(calls[6].event == calls[5].event && calls[6].stream == 7);
	arena_free(arena);
}

struct noting_port {
	struct cuda_port port; /* must be first, because call_noted casts a port to this struct */
	unsigned thread;
	int count;
};

static void call_noted(struct cuda_port *port, unsigned thread, struct cpu *core,
		       const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg)
{
	struct noting_port *noting = (struct noting_port *)port;
	noting->thread = thread;
	noting->count++;
}

/* Threads 0 and 1 are the first ones of devices 0 and 1; threads 4 and 5 are their third ones. A
 * call goes to the port of its device. */
static void threads_of_devices_are_numbered_in_turn(void)
{
	struct arena *arena = arena_new();
	struct noting_port ports[2] = {{.port = {.call = call_noted}},
				       {.port = {.call = call_noted}}};
	struct cuda_port *const both[] = {&ports[0].port, &ports[1].port};
	struct cuda_port *port = device_ports_join(arena, both, 2);
	struct cuda_call call = {.device = 1};
	port->call(port, 5, NULL, &call, NULL, NULL, 0);
	CHECK(ports[0].count == 0 && ports[1].count == 1 && ports[1].thread == 2);
	call.device = 0;
	port->call(port, 3, NULL, &call, NULL, NULL, 0);
	CHECK(ports[0].count == 1 && ports[1].count == 1 && ports[0].thread == 1);
	arena_free(arena);
}

static void unknown_calls_keep_their_recorded_time(void)
{
	struct recorded_call calls[] = {
		call_at(0, "cudaGraphInstantiate", 0, 300),   /* has its own time */
		call_at(0, "cudaLaunchKernel", 310, 315),     /* captured into a graph: no kernel */
		call_at(0, "cudaEventSynchronize", 320, 325), /* the event is unknown */
		call_at(0, "cudaMemcpyAsync", 330, 340),
		call_at(0, "cudaGraphLaunch", 350, 360),
	};
	struct arena *arena = arena_new();
	calls[3].copy = COPY_D2D;
	calls[3].gpu_s = calls[4].gpu_s = 50 * US;
	memset(&w, 0, sizeof w);
	world_presets(&w);
	world_build(&w);
	const struct program *program = stream_of(arena, calls, 5, NULL, 0, &as_recorded);
	const struct item *items = program->threads[0].items;
	CHECK(program->threads[0].count == 9); /* with four gaps between */
	CHECK(items[0].call.kind == CALL_MALLOC);
	CHECK_NEAR(items[0].call.host_s, 300 * US, 1e-6);
	CHECK(items[2].call.kind == CALL_LIBRARY);
	CHECK(items[4].call.kind == CALL_EVENT_SYNCHRONIZE);
	CHECK(items[6].call.kind == CALL_MEMSET_ASYNC);
	CHECK_NEAR(items[6].call.duration_s, 50 * US, 1e-9);
	CHECK(items[8].call.kind == CALL_LAUNCH);
	CHECK_NEAR(items[8].call.host_s, 10 * US, 1e-6);
	play(program, 2, false);
	world_release(&w);
	arena_free(arena);
}

/* Replays the median of three steps, the shorter one of two, and a chosen step, and refuses invalid
 * choices. */
static void median_or_chosen_step_is_replayed(void)
{
	struct recorded_call calls[] = {launch_at(0, 10, 1), launch_at(0, 110, 1),
					launch_at(0, 310, 1)};
	struct recorded_mark marks[] = {
		{.t_s = 0}, {.t_s = 100 * US}, {.t_s = 300 * US}, {.t_s = 450 * US}};
	struct recorded_calls recorded = {.calls = calls,
					  .call_count = 3,
					  .marks = marks,
					  .mark_count = 3,
					  .thread_count = 1};
	struct arena *arena = arena_new();
	struct diag *diag = diag_new(arena);
	const struct origin nowhere = {NULL, 0};
	struct calls_params params = as_recorded;
	struct replay_step step;
	CHECK(replay_step_find(diag, nowhere, &recorded, &params, &step));
	CHECK(step.start_s == 0);
	recorded.mark_count = 4;
	CHECK(replay_step_find(diag, nowhere, &recorded, &params, &step));
	CHECK_NEAR(step.start_s, 300 * US, 1e-12);
	params.step_count = 2;
	CHECK(replay_step_find(diag, nowhere, &recorded, &params, &step));
	CHECK_NEAR(step.start_s, 100 * US, 1e-12);
	params.step_count = 4;
	CHECK(!replay_step_find(diag, nowhere, &recorded, &params, &step));
	CHECK(diag_count(diag) == 1);
	arena_free(arena);
}

/* Copies of memory that the recording does not name are pageable if they wait, and pinned if not.
 * The recorded 10 us are host work only of a call that returns by itself. A host with twice the
 * reference clock does 600 us of work in 300 us, also in a call whose cost is its own. */
static void copies_have_their_memory_and_host_work(void)
{
	static const struct {
		const char *function;
		enum recorded_memory memory;
		bool pageable;
		double host_s;
	} rows[] = {{"cudaMemcpyAsync", MEMORY_PINNED, false, 10 * US},
		    {"cudaMemcpyAsync", MEMORY_UNKNOWN, false, 10 * US},
		    {"cudaMemcpyAsync", MEMORY_PAGEABLE, true, 0},
		    {"cudaMemcpy", MEMORY_UNKNOWN, true, 0},
		    {"cudaMemcpy", MEMORY_PINNED, false, 0}};
	struct arena *arena = arena_new();
	struct calls_params params = as_recorded;
	params.host = CALLS_HOST_RECORDED;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct recorded_call call = call_at(0, rows[i].function, 0, 10);
		call.copy = COPY_H2D;
		call.memory = (uint8_t)rows[i].memory;
		call.size_B = 1e6;
		params.copies_ratio = 0.5 + (double)i;
		const struct program *program = stream_of(arena, &call, 1, NULL, 0, &params);
		const struct cuda_call *played = &program->threads[0].items[0].call;
		CHECK(played->pageable == rows[i].pageable);
		CHECK_NEAR(played->payload_B, 1e6 * params.copies_ratio, 0);
		CHECK_NEAR(played->host_s, rows[i].host_s, 1e-6);
	}
	struct recorded_call own = call_at(0, "cudaGraphInstantiate", 0, 300);
	params.clock_Hz = 2 * REFERENCE_CLOCK_HZ;
	const struct program *program = stream_of(arena, &own, 1, NULL, 0, &params);
	CHECK_NEAR(program->threads[0].items[0].call.host_s, 600 * US, 1e-6);
	arena_free(arena);
}

/* Launches took 4, 6 and, with a full queue, 500 us. They begin 100 us apart. On a host with twice
 * the reference clock a recorded second is two seconds of work at the reference clock. */
static void recorded_host_costs_are_used_up_to_their_median(void)
{
	struct recorded_call calls[] = {launch_at(0, 0, 1), launch_at(0, 104, 1),
					launch_at(0, 210, 1)};
	struct arena *arena = arena_new();
	struct calls_params params = as_recorded;
	params.host = CALLS_HOST_RECORDED;
	calls[0].end_s = 4 * US;
	calls[1].end_s = 110 * US;
	calls[2].end_s = 710 * US;
	for (int fast = 0; fast < 2; fast++) {
		memset(&w, 0, sizeof w);
		world_presets(&w);
		world_build(&w);
		params.clock_Hz = fast ? 2 * REFERENCE_CLOCK_HZ : 0;
		const struct program *program = stream_of(arena, calls, 3, NULL, 0, &params);
		for (int i = 0; i < 3; i++) /* the median is 6 */
			CHECK_NEAR(program->threads[0].items[2 * i].call.host_s,
				   (i ? 6 : 4) * US * (fast ? 2 : 1), 1e-6);
		CHECK_NEAR(program->threads[0].items[1].work_s, 100 * US * (fast ? 2 : 1), 1e-6);
		CHECK_NEAR(step_s(play(program, 1, false), 0), 216 * US * (fast ? 2 : 1), 1e-6);
		world_release(&w);
	}
	arena_free(arena);
}

/* A recording without the stream or event of a wait has a wait for the whole GPU, if the call took
 * at least 20 us. A collective of unknown size is the kernel that it started, or nothing on the GPU
 * if each rank runs by itself. An unknown function that starts a kernel is a launch. */
static void calls_of_incomplete_recordings_become_similar_ones(void)
{
	static const struct {
		const char *function;
		double lasts_us, gpu_us;
		int64_t stream;
		bool independent;
		enum call_kind kind;
	} rows[] = {
		{"cudaStreamSynchronize", 10, -1, 7, false, CALL_STREAM_SYNCHRONIZE},
		{"cudaStreamSynchronize", 10, -1, -1, false, CALL_DEVICE_SYNCHRONIZE},
		{"cudaEventSynchronize", 19, -1, -1, false, CALL_EVENT_SYNCHRONIZE},
		{"cudaEventSynchronize", 21, -1, -1, false, CALL_DEVICE_SYNCHRONIZE},
		{"ncclAllReduce", 10, 50, 7, false, CALL_LAUNCH},
		{"ncclAllReduce", 10, -1, 7, false, CALL_LIBRARY},
		{"ncclAllReduce", 10, 50, 7, true, CALL_LIBRARY},
		{"cudaNewFunction", 10, 50, 7, false, CALL_LAUNCH},
	};
	struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct recorded_call call = call_at(0, rows[i].function, 0, rows[i].lasts_us);
		call.stream = rows[i].stream;
		call.gpu_s = rows[i].gpu_us > 0 ? rows[i].gpu_us * US : -1;
		struct recorded_calls recorded = {
			.tool = "", .gpu = "", .calls = &call, .call_count = 1};
		recorded_calls_settle(arena, &recorded);
		const struct replay_step step = {.end_s = 1};
		const struct program *program = replay_program(
			arena, &(struct replay_spec){.recorded = &recorded,
						     .step = &step,
						     .params = &as_recorded,
						     .independent = rows[i].independent,
						     .host_clock_Hz = REFERENCE_CLOCK_HZ});
		if (!CHECK(program->threads[0].items[0].call.kind == rows[i].kind))
			printf("  row %zu: %d\n", i, (int)program->threads[0].items[0].call.kind);
	}
	arena_free(arena);
}

static const struct test tests[] = {
	TEST(calls_of_incomplete_recordings_become_similar_ones),
	TEST(copies_have_their_memory_and_host_work),
	TEST(recorded_host_costs_are_used_up_to_their_median),
	TEST(replayed_tensorflow_step_takes_as_long),
	TEST(replayed_pytorch_step_takes_as_long),
	TEST(recorded_wait_for_another_thread_is_kept),
	TEST(replayed_polling_stops_when_ready),
	TEST(the_latest_record_of_an_event_is_awaited),
	TEST(only_the_part_of_a_call_inside_of_a_gap_counts),
	TEST(the_thread_that_fills_most_of_a_gap_is_awaited),
	TEST(a_single_query_without_an_answer_is_no_poll),
	TEST(a_thread_does_not_await_its_own_record),
	TEST(a_wait_is_for_a_collective_of_its_step),
	TEST(threads_of_devices_are_numbered_in_turn),
	TEST(unknown_calls_keep_their_recorded_time),
	TEST(median_or_chosen_step_is_replayed),
};

int main(void)
{
	return TEST_MAIN(tests);
}
