/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/traces/call_file.h"

static void write_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\"%s\":\"", key);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20)
			fprintf(out, "\\u%04x", (unsigned)*c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

static void write_call(FILE *out, const struct recorded_call *call)
{
	fprintf(out, "{\"thread\":%u", (unsigned)call->thread);
	write_text(out, "call", call->function);
	fprintf(out, ",\"start_s\":%.9f,\"end_s\":%.9f", call->start_s, call->end_s);
	if (call->stream >= 0)
		fprintf(out, ",\"stream\":%lld", (long long)call->stream);
	if (call->event >= 0)
		fprintf(out, ",\"event\":%lld", (long long)call->event);
	if (call->copy != COPY_NONE)
		fprintf(out, ",\"copy\":\"%s\"", recorded_copy_name(call->copy));
	if (call->memory != MEMORY_UNKNOWN)
		fprintf(out, ",\"memory\":\"%s\"", recorded_memory_name(call->memory));
	if (call->copy != COPY_NONE || call->size_B > 0)
		fprintf(out, ",\"size_B\":%.0f", call->size_B);
	if (call->gpu_s >= 0)
		fprintf(out, ",\"%s\":%.9f", call->copy != COPY_NONE ? "copy_s" : "kernel_s",
			call->gpu_s);
	if (call->gpu_s >= 0 && call->gpu_start_s >= 0)
		fprintf(out, ",\"gpu_start_s\":%.9f", call->gpu_start_s);
	if (call->label)
		write_text(out, "label", call->label);
	if (call->ready != READY_UNKNOWN)
		fprintf(out, ",\"ready\":%s", call->ready == READY_YES ? "true" : "false");
	fputs("}\n", out);
}

static int by_start(const void *a, const void *b)
{
	const struct recorded_call *x = *(const struct recorded_call *const *)a,
				   *y = *(const struct recorded_call *const *)b;
	if (x->start_s < y->start_s || x->start_s > y->start_s)
		return x->start_s < y->start_s ? -1 : 1;
	return (x > y) - (x < y); /* places in one array */
}

void call_file_write(FILE *out, struct arena *arena, const struct recorded_calls *recorded,
		     const char *program)
{
	size_t count = recorded->call_count, mark = 0;
	const struct recorded_call **order =
		ARENA_ARRAY(arena, count + 1, const struct recorded_call *);
	for (size_t i = 0; i < count; i++)
		order[i] = &recorded->calls[i];
	qsort(order, count, sizeof *order, by_start);
	fputs("{\"format\":\"farwire-calls\",\"version\":1", out);
	write_text(out, "tool", recorded->tool);
	if (recorded->gpu[0])
		write_text(out, "gpu", recorded->gpu);
	if (program)
		write_text(out, "program", program);
	if (recorded->memory_B > 0)
		fprintf(out, ",\"memory_B\":%.0f", recorded->memory_B);
	fprintf(out, ",\"threads\":%u}\n", (unsigned)recorded->thread_count);
	for (size_t i = 0; i <= count; i++) {
		for (; mark < recorded->mark_count &&
		       (i == count || recorded->marks[mark].t_s <= order[i]->start_s);
		     mark++)
			fprintf(out, "{\"step\":%u,\"t_s\":%.9f,\"thread\":%u}\n",
				(unsigned)recorded->marks[mark].step, recorded->marks[mark].t_s,
				(unsigned)recorded->marks[mark].thread);
		if (i < count)
			write_call(out, order[i]);
	}
	fprintf(out, "{\"end\":true,\"lines\":%zu}\n", count + mark);
}
