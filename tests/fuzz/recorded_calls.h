/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions for each recorded program that a reader accepts: its calls are in order, it reads back
 * from its own file, and it becomes a stream of calls. */
#pragma once

#include <math.h>

#include "sim/traces/call_file.h"
#include "sim/traces/replay.h"
#include "tests/fuzz/fuzz.h"

static inline void check_order(const struct recorded_calls *recorded)
{
	for (size_t i = 0; i < recorded->call_count; i++) {
		const struct recorded_call *call = &recorded->calls[i], *before = call - (i > 0);
		FUZZ_CHECK(isfinite(call->start_s) && call->start_s <= call->end_s);
		FUZZ_CHECK(isfinite(call->end_s) && call->size_B >= 0 && call->function);
		FUZZ_CHECK(call->thread < recorded->thread_count);
		FUZZ_CHECK(before->thread < call->thread ||
			   (before->thread == call->thread && before->start_s <= call->start_s));
	}
	for (size_t i = 1; i < recorded->mark_count; i++)
		FUZZ_CHECK(recorded->marks[i - 1].t_s <= recorded->marks[i].t_s);
}

static inline void check_reads_back(struct arena *arena, const struct recorded_calls *recorded)
{
	FILE *out = fuzz_create(arena, "again.jsonl");
	call_file_write(out, arena, recorded, "fuzz");
	FUZZ_CHECK(fclose(out) == 0);
	struct diag *diag = diag_new(arena);
	const struct recorded_calls *again =
		call_file_read(arena, diag, fuzz_path(arena, "again.jsonl"));
	diag_print(diag, stdout);
	FUZZ_CHECK(again && again->call_count == recorded->call_count);
	FUZZ_CHECK(again->mark_count == recorded->mark_count);
}

static inline void check_replay(struct arena *arena, const struct recorded_calls *recorded)
{
	const struct calls_params params = {
		.kernel_ratio = 1, .think_ratio = 1, .arguments_B = 120};
	struct replay_step step;
	struct diag *diag = diag_new(arena);
	if (!replay_step_find(diag, (struct origin){0}, recorded, &params, &step))
		return;
	const struct replay_spec spec = {
		.recorded = recorded, .step = &step, .params = &params, .host_clock_Hz = 2e9};
	const struct program *stream = replay_program(arena, &spec);
	FUZZ_CHECK(stream != NULL);
	for (size_t t = 0; t < stream->thread_count; t++)
		for (size_t i = 0; i < stream->threads[t].count; i++)
			if (stream->threads[t].items[i].kind == ITEM_CALL)
				FUZZ_CHECK(stream->threads[t].items[i].call.duration_s >= 0);
}

/* A job of 8 ranks plays the recording, or it is refused with a reason. */
static inline void check_job(struct arena *arena, const struct recorded_calls *recorded)
{
	const struct calls_params params = {.kernel_ratio = 1, .think_ratio = 1};
	struct replay_step step;
	struct diag *diag = diag_new(arena);
	const struct recorded_job *job =
		recorded_job_new(arena, diag, (struct origin){0}, recorded, 8);
	FUZZ_CHECK((job != NULL) == (diag_count(diag) == 0));
	if (!job || !replay_step_find(diag, (struct origin){0}, job->ranks[3], &params, &step))
		return;
	const struct replay_spec spec = {.recorded = job->ranks[3],
					 .step = &step,
					 .params = &params,
					 .host_clock_Hz = 2e9,
					 .job = job,
					 .rank = 3};
	const struct program *program = replay_program(arena, &spec);
	for (size_t t = 0; t < program->thread_count; t++)
		for (size_t i = 0; i < program->threads[t].count; i++) {
			const struct cuda_call *call = &program->threads[t].items[i].call;
			bool message = call->kind == CALL_SEND || call->kind == CALL_RECEIVE;
			FUZZ_CHECK(call->peer <= (message ? 7 : job->group_count));
		}
}

static inline void check_recorded(struct arena *arena, const struct recorded_calls *recorded)
{
	check_order(recorded);
	check_reads_back(arena, recorded);
	check_replay(arena, recorded);
	check_job(arena, recorded);
}
