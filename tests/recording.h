/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records a program that runs in the small world of cuda_world.h. A port notes the same data of
 * each call as a recorder does and passes the call on. */
#pragma once

#include <unistd.h>

#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/traces/call_file.h"
#include "sim/traces/replay.h"
#include "tests/cuda_world.h"

static struct world w;

struct recording_port {
	struct cuda_port port;
	struct cuda_port *below;
	VEC(struct recorded_call) calls;
	VEC(struct recorded_mark) marks;
	struct {
		size_t index; /* index of the current call */
		call_done_fn *done;
		void *ctx;
		uint64_t arg;
	} threads[8];
};
static struct recording_port recording;

static double now_s(void)
{
	return s_from_ps(engine_now_ps(w.engine));
}

static void recorded_done(void *ctx, uint64_t thread, enum call_result result)
{
	struct recorded_call *call = &recording.calls.items[recording.threads[thread].index];
	call->end_s = now_s();
	if (strstr(call->function, "Query"))
		call->ready = result == CALL_OK ? READY_YES : READY_NO;
	recording.threads[thread].done(recording.threads[thread].ctx, recording.threads[thread].arg,
				       result);
}

/* CUDA has no function named cudaMemcpyAsyncHostToDevice. */
static const char *function_of(enum call_kind kind)
{
	switch (kind) {
	case CALL_MEMCPY_H2D:
	case CALL_MEMCPY_D2H:
		return "cudaMemcpy";
	case CALL_MEMCPY_H2D_ASYNC:
	case CALL_MEMCPY_D2H_ASYNC:
		return "cudaMemcpyAsync";
	case CALL_LIBRARY:
		return "cudaLaunchHostFunc"; /* any function with its own time */
	default:
		return call_kind_name(kind);
	}
}

static void recording_call(struct cuda_port *port, unsigned thread, struct cpu *core,
			   const struct cuda_call *call, call_done_fn *done, void *ctx,
			   uint64_t arg)
{
	bool to_device = call->kind == CALL_MEMCPY_H2D || call->kind == CALL_MEMCPY_H2D_ASYNC;
	bool to_host = call->kind == CALL_MEMCPY_D2H || call->kind == CALL_MEMCPY_D2H_ASYNC;
	bool of_event = call->kind == CALL_EVENT_RECORD || call->kind == CALL_EVENT_QUERY ||
			call->kind == CALL_STREAM_WAIT_EVENT;
	CHECK(thread < 8);
	*VEC_PUSH(w.arena, &recording.calls) = (struct recorded_call){
		.start_s = now_s(),
		.gpu_start_s = -1,
		.gpu_s = call->duration_s > 0   ? call->duration_s
			 : to_device || to_host ? 0
						: -1,
		.size_B = call->payload_B,
		.function = function_of(call->kind),
		.label = call->label,
		.stream = call->stream,
		.event = of_event ? call->event : -1,
		.thread = thread,
		.copy = to_device ? COPY_H2D
			: to_host ? COPY_D2H
				  : COPY_NONE,
		.memory = call->pageable ? MEMORY_PAGEABLE : MEMORY_PINNED,
	};
	recording.threads[thread].index = recording.calls.count - 1;
	recording.threads[thread].done = done;
	recording.threads[thread].ctx = ctx;
	recording.threads[thread].arg = arg;
	recording.below->call(recording.below, thread, core, call, recorded_done, NULL, thread);
}

static bool step_done(void *ctx, struct player *player, const struct step_record *record)
{
	*VEC_PUSH(w.arena, &recording.marks) = (struct recorded_mark){
		.t_s = s_from_ps(record->end_ps), .step = (uint32_t)player_step_count(player)};
	return true;
}

/* Plays `steps` steps and returns the player; records them if asked. */
static struct player *play(const struct program *program, uint32_t steps, bool record)
{
	struct cuda_process *process =
		world_process(&w, program->stream_count, program->event_count);
	struct cuda_port *port = cuda_process_port(process);
	recording = (struct recording_port){.port = {.call = recording_call}, .below = port};
	const struct player_spec spec = {.arena = w.arena,
					 .engine = w.engine,
					 .name = "client",
					 .program = program,
					 .port = record ? &recording.port : port,
					 .guest = w.guest,
					 .processes = &process,
					 .device_count = 1,
					 .steps_max = steps,
					 .step_done = record ? step_done : NULL};
	struct player *player = player_new(&spec);
	player_start(player);
	world_run(&w);
	return player;
}

/* Writes the recorded calls to path. */
static void recording_write(struct arena *arena, const char *path)
{
	struct recorded_calls recorded = {.tool = "test",
					  .gpu = "",
					  .calls = recording.calls.items,
					  .call_count = recording.calls.count,
					  .marks = recording.marks.items,
					  .mark_count = recording.marks.count};
	recorded_calls_settle(arena, &recorded);
	FILE *out = fopen(path, "w");
	CHECK(out != NULL);
	call_file_write(out, arena, &recorded, "a test");
	fclose(out);
}
