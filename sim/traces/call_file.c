/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/call_file.h"
#include "sim/base/gunzip.h"
#include "sim/base/lines.h"
#include "sim/json/document.h"
#include "sim/json/write.h"
#include "sim/engine/names.h"
#include "sim/traces/functions.h"

/* Larger times (30 years) and sizes are refused. */
#define TIME_MAX_S      1e9
#define SIZE_MAX_B      1e15
#define ARGUMENTS_MAX_B 1e9
/* LZ4 stores 255 bytes of a run in one, so no copy shrinks to less than a 255th. */
#define COMPRESSIBILITY_MAX 255
enum { NUMBER_MAX = 1 << 30 }; /* maximum number of a stream or event */

struct call_reader {
	struct arena *arena;
	struct diag *diag;
	const char *path;
	int line; /* line of the value that is being read */
	struct jp_reader *json;
	struct names *names;
	VEC(struct recorded_call) calls;
	VEC(struct recorded_mark) marks;
	struct recorded_calls *recorded; /* the rank that is being read */
	struct recorded_calls *first;
	uint64_t before; /* number of lines before the header of the rank */
	bool *seen;      /* by rank: the file has had it */
	bool ended, failed;
};

/* The values of all keys that a line of any kind can have. */
struct call_line {
	const char *format, *call, *label, *copy, *memory, *tool, *gpu;
	double version, thread, start_s, end_s, stream, event, kernel_s, copy_s, gpu_start_s;
	double size_B, step, t_s, memory_B, dropped, lines;
	double rank, world, group_first, group_count, group_stride, peer;
	double arguments_B, compressibility;
	int ready; /* enum recorded_ready */
	bool end;
};

/* Reports the first error. It is false. */
#define fail(r, ...)                                                                               \
	((r)->failed                                                                               \
		 ? diag_false()                                                                    \
		 : ((r)->failed = true,                                                            \
		    diag_error((r)->diag, (struct origin){(r)->path, (r)->line}, __VA_ARGS__)))

static bool take_text(struct call_reader *r, const struct json *value, const char **text)
{
	if (!json_text_of(value))
		return fail(r, "%s must be a string", value->key);
	*text = names_at(r->names, (size_t)names_add(r->names, value->text));
	return true;
}

static bool take_number(struct call_reader *r, const struct json *value, double max, double *number)
{
	if (!json_number_of(value, number))
		return fail(r, "%s must be a finite number", value->key);
	return (*number >= 0 && *number <= max) ||
	       fail(r, "%s must be from 0 to %g (got %g)", value->key, max, *number);
}

static bool take_truth(struct call_reader *r, const struct json *value, bool *truth)
{
	*truth = json_is(value, JP_TRUE);
	return *truth || json_is(value, JP_FALSE) ||
	       fail(r, "%s must be true or false", value->key);
}

/* Keys with texts, then keys with numbers. A number that a line lacks is `missing`. */
#define NUMBER(key, member, max, missing)                                                          \
	{                                                                                          \
		key, offsetof(struct call_line, member), max, missing, false                       \
	}
#define TEXT(member)                                                                               \
	{                                                                                          \
#member, offsetof(struct call_line, member), 0, 0, true                            \
	}
static const struct line_key {
	const char *key;
	size_t offset;
	double max, missing;
	bool text;
} line_keys[] = {
	TEXT(format),
	TEXT(call),
	TEXT(label),
	TEXT(copy),
	TEXT(memory),
	TEXT(tool),
	TEXT(gpu),
	NUMBER("version", version, 1e6, -1),
	NUMBER("thread", thread, RECORDED_THREADS_MAX - 1, -1),
	NUMBER("start_s", start_s, TIME_MAX_S, -1),
	NUMBER("end_s", end_s, TIME_MAX_S, -1),
	NUMBER("stream", stream, NUMBER_MAX, -1),
	NUMBER("event", event, NUMBER_MAX, -1),
	NUMBER("kernel_s", kernel_s, TIME_MAX_S, -1),
	NUMBER("copy_s", copy_s, TIME_MAX_S, -1),
	NUMBER("gpu_start_s", gpu_start_s, TIME_MAX_S, -1),
	NUMBER("size_B", size_B, SIZE_MAX_B, -1),
	NUMBER("step", step, NUMBER_MAX, -1),
	NUMBER("t_s", t_s, TIME_MAX_S, -1),
	NUMBER("lines", lines, SIZE_MAX_B, -1),
	NUMBER("memory_B", memory_B, SIZE_MAX_B, 0),
	NUMBER("dropped", dropped, SIZE_MAX_B, 0),
	NUMBER("rank", rank, RECORDED_RANKS_MAX - 1, 0),
	NUMBER("ranks", world, RECORDED_RANKS_MAX, 0),
	NUMBER("group_first", group_first, RECORDED_RANKS_MAX - 1, 0),
	NUMBER("group_size", group_count, RECORDED_RANKS_MAX, 0),
	NUMBER("group_stride", group_stride, RECORDED_RANKS_MAX, 0),
	NUMBER("peer", peer, RECORDED_RANKS_MAX - 1, 0),
	NUMBER("arguments_B", arguments_B, ARGUMENTS_MAX_B, 0),
	NUMBER("compressibility", compressibility, COMPRESSIBILITY_MAX, 0),
};
enum { LINE_KEYS = sizeof line_keys / sizeof line_keys[0] };

/* Takes a member of a line. Other keys, such as those of later versions, are ignored. */
static bool take_member(struct call_reader *r, const struct json *value, struct call_line *line)
{
	bool truth = false;
	if (strcmp(value->key, "end") == 0)
		return take_truth(r, value, &line->end);
	if (strcmp(value->key, "ready") == 0) {
		bool fine = take_truth(r, value, &truth);
		line->ready = truth ? READY_YES : READY_NO;
		return fine;
	}
	for (size_t i = 0; i < LINE_KEYS; i++) {
		const struct line_key *key = &line_keys[i];
		void *to = (char *)line + key->offset;
		if (strcmp(key->key, value->key) != 0)
			continue;
		if (!key->text)
			return take_number(r, value, key->max, to);
		return take_text(r, value, to) &&
		       (!line->format || strcmp(line->format, "farwire-calls") == 0 ||
			fail(r,
			     "the format of the file is '%s', not farwire-calls (record a file "
			     "with farwire-trace)",
			     line->format));
	}
	return true;
}

/* ---- lines ---- */

static void settle(struct call_reader *r)
{
	struct recorded_calls *recorded = r->recorded;
	recorded->calls = r->calls.items;
	recorded->call_count = r->calls.count;
	recorded->marks = r->marks.items;
	recorded->mark_count = r->marks.count;
	recorded_calls_settle(r->arena, recorded);
}

static bool next_rank(struct call_reader *r)
{
	if (r->calls.count == 0)
		return fail(r, "the rank before this line has no CUDA call (record it again)");
	settle(r);
	r->calls.items = NULL;
	r->marks.items = NULL;
	r->calls.count = r->calls.room = r->marks.count = r->marks.room = 0;
	struct recorded_calls *recorded = ARENA_NEW(r->arena, struct recorded_calls);
	r->recorded->next = recorded;
	r->recorded = recorded;
	r->before = r->json->values_count - 1;
	r->ended = false;
	return true;
}

static bool take_header(struct call_reader *r, const struct call_line *line)
{
	if (r->ended && !next_rank(r))
		return false;
	if (r->json->values_count != r->before + 1)
		return fail(r, "this is a second header line without an end line "
			       "({\"end\": true}) before it (write one after each rank)");
	if (!(line->version >= 1 && line->version <= 1))
		return fail(r,
			    "the file has version %g of farwire-calls, but this "
			    "program reads version 1 (record again)",
			    line->version);
	r->recorded->tool = line->tool;
	r->recorded->gpu = line->gpu;
	r->recorded->memory_B = line->memory_B;
	uint32_t rank = (uint32_t)line->rank;
	if (r->seen[rank])
		return fail(r,
			    "rank %u occurs twice (write another rank into each "
			    "header line)",
			    (unsigned)rank);
	if (line->world > 0 && rank >= line->world)
		return fail(r, "rank %u must be less than the number of ranks, %g", (unsigned)rank,
			    line->world);
	if (r->recorded != r->first && (uint32_t)line->world != r->first->world_count)
		return fail(r,
			    "this rank is of a job of %g ranks, but the "
			    "first one of %u (join files of one job)",
			    line->world, (unsigned)r->first->world_count);
	r->seen[rank] = true;
	r->recorded->rank = rank;
	r->recorded->world_count = (uint32_t)line->world;
	return true;
}

static bool take_mark(struct call_reader *r, const struct call_line *line)
{
	if (line->t_s < 0)
		return fail(r, "the step has no t_s (write its time in seconds)");
	*VEC_PUSH(r->arena, &r->marks) = (struct recorded_mark){
		line->t_s, (uint32_t)line->step, line->thread < 0 ? 0 : (uint32_t)line->thread};
	return true;
}

static bool take_call(struct call_reader *r, const struct call_line *line)
{
	if (line->start_s < 0 || line->end_s < 0)
		return fail(r, "the call needs start_s and end_s");
	if (line->end_s < line->start_s)
		return fail(
			r,
			"the call ends before it begins (start_s must not be larger than end_s)");
	uint8_t copy = line->copy ? recorded_find(recorded_copies, COPY_KIND_COUNT, line->copy) : 0;
	uint8_t memory = line->memory
				 ? recorded_find(recorded_memories, MEMORY_KIND_COUNT, line->memory)
				 : 0;
	if (line->copy && copy == COPY_NONE)
		return fail(r, "copy is \"%s\", but must be h2d, d2h, d2d, h2h or p2p", line->copy);
	if (copy != COPY_NONE && line->size_B < 0)
		return fail(r, "the copy has no size_B (write its number of bytes)");
	if (line->size_B > floor(line->size_B))
		return fail(r, "size_B must be a whole number of bytes (got %g)", line->size_B);
	if (copy == COPY_NONE && line->size_B > 0)
		copy = (uint8_t)function_copy(line->call);
	*VEC_PUSH(r->arena, &r->calls) = (struct recorded_call){
		.start_s = line->start_s,
		.end_s = line->end_s,
		.gpu_start_s = line->gpu_start_s,
		.gpu_s = line->copy_s >= 0 ? line->copy_s : line->kernel_s,
		.size_B = line->size_B < 0 ? 0 : line->size_B,
		.function = line->call,
		.label = line->label,
		.stream = (int64_t)line->stream,
		.event = (int64_t)line->event,
		.thread = line->thread < 0 ? 0 : (uint32_t)line->thread,
		.group = {(uint32_t)line->group_first, (uint32_t)line->group_count,
			  line->group_stride > 0 ? (uint32_t)line->group_stride : 1},
		.peer = (uint32_t)line->peer,
		.copy = copy,
		.memory = memory,
		.ready = (uint8_t)line->ready,
		.arguments_B = (float)line->arguments_B,
		.compressibility = (float)line->compressibility,
	};
	return true;
}

static bool take_end(struct call_reader *r, const struct call_line *line)
{
	if (line->dropped > 0)
		return fail(r,
			    "the recorder lost %g records, so the recording is incomplete "
			    "(record again with a larger FARWIRE_TRACE_BUFFERS)",
			    line->dropped);
	double between = (double)(r->json->values_count - r->before - 2);
	if (line->lines >= 0 && (line->lines < between || line->lines > between))
		return fail(r,
			    "there are %g lines between the header and this end line, "
			    "which states %g, so some are missing (record again)",
			    between, line->lines);
	r->ended = true;
	if (line->gpu[0])
		r->recorded->gpu = line->gpu;
	if (line->memory_B > 0)
		r->recorded->memory_B = line->memory_B;
	return true;
}

static bool take_line(struct call_reader *r, const struct call_line *line)
{
	if (r->ended && !line->format)
		return fail(r,
			    "there are lines after the end line ({\"end\": true}) (remove them)");
	if (line->format)
		return take_header(r, line);
	if (r->json->values_count == 1)
		return fail(r,
			    "the first line does not name the format farwire-calls (record a file "
			    "with farwire-trace, or convert one with farwire import kineto)");
	if (line->end)
		return take_end(r, line);
	if (line->call)
		return take_call(r, line);
	if (line->step >= 0)
		return take_mark(r, line);
	return fail(r, "the line must be a call, a step or the end line (record again)");
}

static bool take_object(struct call_reader *r, const struct json *object)
{
	struct call_line line = {.tool = "", .gpu = ""};
	r->line = object->line;
	if (!json_is(object, JP_OBJECT))
		return fail(r, "the line must be one JSON object, {...}");
	if (arena_used_B(r->arena) > RECORDED_MEMORY_MAX_B)
		return fail(r, RECORDED_TOO_LARGE);
	for (size_t i = 0; i < LINE_KEYS; i++)
		if (!line_keys[i].text)
			memcpy((char *)&line + line_keys[i].offset, &line_keys[i].missing,
			       sizeof line_keys[i].missing);
	for (size_t i = 0; i < object->count; i++)
		if (!take_member(r, &object->items[i], &line))
			return false;
	return take_line(r, &line);
}

static bool read_line(struct call_reader *r)
{
	struct arena *scratch = arena_new();
	const struct json *object = json_next(scratch, r->json, JSON_MAX_B);
	bool fine = object && take_object(r, object);
	arena_free(scratch);
	return fine;
}

static void check_whole(struct call_reader *r)
{
	r->line = r->json->line;
	if (r->json->error)
		fail(r, "the line is not JSON: %s%s", r->json->error,
		     r->json->values_count > 1 && r->json->torn ? " (the recording was cut off)"
								: "");
	else if (!r->failed && r->json->values_count == 0)
		fail(r, "the file is empty, or a pipe that was read before (record it again, or "
			"name a file)");
	else if (!r->failed && !r->ended)
		fail(r, "the file has no end line ({\"end\": true}), so the recording was cut off "
			"(record it again)");
	else if (!r->failed && r->calls.count == 0)
		fail(r, "the recording contains no CUDA call (record a program that uses the GPU)");
}

const struct recorded_calls *call_file_read(struct arena *arena, struct diag *diag,
					    const char *path)
{
	struct call_reader r = {.arena = arena, .diag = diag, .path = path};
	struct origin origin = {path, 0};
	FILE *in = file_open(diag, origin, path);
	if (!in || !(in = gunzip_open(diag, origin, in)))
		return NULL;
	r.json = jp_open(arena, in);
	r.json->keeps_twins = true;
	r.names = names_new(arena);
	r.seen = ARENA_ARRAY(arena, RECORDED_RANKS_MAX, bool);
	r.recorded = r.first = ARENA_NEW(arena, struct recorded_calls);
	r.recorded->tool = r.recorded->gpu = "";
	while (read_line(&r))
		;
	check_whole(&r);
	fclose(in);
	if (r.failed)
		return NULL;
	settle(&r);
	return r.first;
}

/* ---- writing ---- */

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
	if (call->arguments_B > 0)
		jw_real(&json, "arguments_B", (double)call->arguments_B);
	if (call->compressibility > 0)
		jw_real(&json, "compressibility", (double)call->compressibility);
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
	/* both point into the same array */
	return ORDER_THEN(x->start_s, y->start_s, ORDER(x, y));
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
