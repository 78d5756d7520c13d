/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/base/arena.h"
#include "sim/base/num.h"
#include "sim/json/write.h"
#include "sim/traces/call_file.h"

static void write_call(FILE *out, const struct recorded_call *call)
{
	struct json_writer json = jw_begin(out, JSON_DENSE);
	bool copy = call->copy != COPY_NONE;
	jw_open(&json, NULL, '{');
	jw_count(&json, "thread", call->thread);
	jw_text(&json, "call", call->function);
	jw_seconds(&json, "start_s", call->start_s);
	jw_seconds(&json, "end_s", call->end_s);
	if (call->stream >= 0)
		jw_count(&json, "stream", (uint64_t)call->stream);
	if (call->event >= 0)
		jw_count(&json, "event", (uint64_t)call->event);
	if (copy)
		jw_text(&json, "copy", recorded_copies[call->copy]);
	if (call->memory != MEMORY_UNKNOWN)
		jw_text(&json, "memory", recorded_memories[call->memory]);
	if (copy || call->size_B > 0)
		jw_real(&json, "size_B", call->size_B);
	if (call->group.count > 0) {
		jw_count(&json, "group_first", call->group.first);
		jw_count(&json, "group_size", call->group.count);
		jw_count(&json, "group_stride", call->group.stride);
	}
	if (call->peer > 0)
		jw_count(&json, "peer", call->peer);
	if (call->gpu_s >= 0)
		jw_seconds(&json, copy ? "copy_s" : "kernel_s", call->gpu_s);
	if (call->gpu_s >= 0 && call->gpu_start_s >= 0)
		jw_seconds(&json, "gpu_start_s", call->gpu_start_s);
	if (call->label)
		jw_text(&json, "label", call->label);
	if (call->ready != READY_UNKNOWN)
		jw_flag(&json, "ready", call->ready == READY_YES);
	jw_close(&json);
	jw_end(&json);
}

static void write_mark(FILE *out, const struct recorded_mark *mark)
{
	struct json_writer json = jw_begin(out, JSON_DENSE);
	jw_open(&json, NULL, '{');
	jw_count(&json, "step", mark->step);
	jw_seconds(&json, "t_s", mark->t_s);
	jw_count(&json, "thread", mark->thread);
	jw_close(&json);
	jw_end(&json);
}

static void write_head(FILE *out, const struct recorded_calls *recorded, const char *program)
{
	struct json_writer json = jw_begin(out, JSON_DENSE);
	jw_open(&json, NULL, '{');
	jw_text(&json, "format", "farwire-calls");
	jw_count(&json, "version", 1);
	jw_text(&json, "tool", recorded->tool);
	if (recorded->gpu[0])
		jw_text(&json, "gpu", recorded->gpu);
	if (program)
		jw_text(&json, "program", program);
	if (recorded->memory_B > 0)
		jw_real(&json, "memory_B", recorded->memory_B);
	jw_count(&json, "threads", recorded->thread_count);
	if (recorded->world_count > 0) {
		jw_count(&json, "rank", recorded->rank);
		jw_count(&json, "ranks", recorded->world_count);
	}
	jw_close(&json);
	jw_end(&json);
}

static void write_end(FILE *out, size_t lines)
{
	struct json_writer json = jw_begin(out, JSON_DENSE);
	jw_open(&json, NULL, '{');
	jw_flag(&json, "end", true);
	jw_count(&json, "lines", lines);
	jw_close(&json);
	jw_end(&json);
}

static int by_start(const void *a, const void *b)
{
	const struct recorded_call *x = *(const struct recorded_call *const *)a,
				   *y = *(const struct recorded_call *const *)b;
	return ORDER_THEN(x->start_s, y->start_s, ORDER(x, y)); /* both are in the same array */
}

void call_file_write(FILE *out, struct arena *arena, const struct recorded_calls *recorded,
		     const char *program)
{
	size_t count = recorded->call_count, mark = 0;
	const struct recorded_call **order =
		ARENA_ARRAY(arena, count + 1, const struct recorded_call *);
	for (size_t i = 0; i < count; i++)
		order[i] = &recorded->calls[i];
	recorded_sort(order, count, sizeof *order, by_start);
	write_head(out, recorded, program);
	for (size_t i = 0; i <= count; i++) {
		while (mark < recorded->mark_count &&
		       (i == count || recorded->marks[mark].t_s <= order[i]->start_s))
			write_mark(out, &recorded->marks[mark++]);
		if (i < count)
			write_call(out, order[i]);
	}
	write_end(out, count + mark);
}
