/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/trace/calls_writer.h"

#include <ctype.h>
#include <search.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- a map from 64-bit keys to 64-bit values ---- */

struct map_entry {
	uint64_t key, value;
};

struct map { /* an all-zero struct is an empty map */
	void *root;
	size_t count;
};

/* The key is the first member of an entry, so a key can stand for an entry. */
static int by_key(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

static struct map_entry *map_find(const struct map *map, uint64_t key)
{
	struct map_entry *const *found = tfind(&key, &map->root, by_key);
	return found ? *found : NULL;
}

static bool map_put(struct map *map, uint64_t key, uint64_t value)
{
	struct map_entry *entry = map_find(map, key);
	if (!entry) {
		entry = malloc(sizeof *entry);
		if (entry)
			entry->key = key;
		if (!entry || !tsearch(entry, &map->root, by_key)) {
			free(entry);
			return false;
		}
		map->count++;
	}
	entry->value = value;
	return true;
}

static bool map_get(const struct map *map, uint64_t key, uint64_t *value)
{
	const struct map_entry *entry = map_find(map, key);
	if (entry)
		*value = entry->value;
	return entry != NULL;
}

static void map_remove(struct map *map, uint64_t key)
{
	struct map_entry *entry = map_find(map, key);
	if (!entry)
		return;
	tdelete(entry, &map->root, by_key);
	free(entry);
	map->count--;
}

static void map_free(struct map *map)
{
	while (map->root)
		map_remove(map, **(uint64_t *const *)map->root);
}

/* A call that waits for its GPU work, or GPU work that waits for its call. */
struct pending {
	bool is_call;
	struct trace_call call;
	struct trace_gpu gpu; /* with its own copy of the label */
};

struct calls_writer {
	FILE *out;
	uint64_t start_ns;
	struct map by_correlation; /* addresses of pending calls, by correlation */
	struct map events;         /* number of each event, by handle */
	struct map allocations;    /* size of each allocation, by address */
	uint64_t held_B, held_most_B;
	uint64_t lines, orphans, dropped;
	char *device;
};

/* ---- lines ---- */

static void put_text(FILE *out, const char *key, const char *text)
{
	fprintf(out, ",\"%s\":\"", key);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20 || *c >= 0x7f)
			/* as Latin 1, which is always valid */
			fprintf(out, "\\u%04x", (unsigned)*c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

/* Writes the seconds from start_ns to end_ns, with all nanoseconds. A negative time becomes zero.
 */
static void put_span(FILE *out, const char *key, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t ns = end_ns > start_ns ? end_ns - start_ns : 0;
	fprintf(out, ",\"%s\":%llu.%09llu", key, (unsigned long long)(ns / 1000000000),
		(unsigned long long)(ns % 1000000000));
}

static void put_time(const struct calls_writer *writer, const char *key, uint64_t t_ns)
{
	put_span(writer->out, key, writer->start_ns, t_ns);
}

/* Returns the length of the name without versions: cudaLaunchKernel_v7000_ptsz, cuMemAlloc_v2. */
static size_t name_length(const char *name)
{
	size_t length = strlen(name);
	for (;;) {
		size_t digits = length;
		while (digits > 0 && isdigit((unsigned char)name[digits - 1]))
			digits--;
		if (length > 5 && (strncmp(name + length - 5, "_ptsz", 5) == 0 ||
				   strncmp(name + length - 5, "_ptds", 5) == 0))
			length -= 5;
		else if (digits < length && digits > 2 && strncmp(name + digits - 2, "_v", 2) == 0)
			length = digits - 2;
		else
			return length;
	}
}

/* Numbers events in the order of use, because their handles carry no meaning. */
static uint64_t event_number(struct calls_writer *writer, uint64_t handle)
{
	uint64_t number = writer->events.count;
	if (!map_get(&writer->events, handle, &number) && !map_put(&writer->events, handle, number))
		writer->dropped++;
	return number;
}

static void put_gpu(struct calls_writer *writer, const struct trace_gpu *gpu)
{
	FILE *out = writer->out;
	bool copy = gpu->work == TRACE_COPY;
	if (copy) {
		put_text(out, "copy", gpu->copy ? gpu->copy : "d2d");
		fprintf(out, ",\"size_B\":%llu", (unsigned long long)gpu->size_B);
		if (gpu->memory)
			put_text(out, "memory", gpu->memory);
	}
	put_span(out, copy ? "copy_s" : "kernel_s", gpu->start_ns, gpu->end_ns);
	put_time(writer, "gpu_start_s", gpu->start_ns);
	if (gpu->label)
		put_text(out, "label", gpu->label);
}

static void put_call(struct calls_writer *writer, const struct trace_call *call,
		     const struct trace_gpu *gpu)
{
	FILE *out = writer->out;
	uint32_t stream = gpu ? gpu->stream : call->stream;
	fprintf(out, "{\"thread\":%u,\"call\":\"%.*s\"", (unsigned)call->thread,
		(int)name_length(call->function), call->function);
	put_time(writer, "start_s", call->start_ns);
	put_time(writer, "end_s", call->end_ns);
	if (stream != TRACE_NO_STREAM)
		fprintf(out, ",\"stream\":%u", (unsigned)stream);
	if (call->event)
		fprintf(out, ",\"event\":%llu",
			(unsigned long long)event_number(writer, call->event));
	if (call->size_B > 0 && !gpu)
		fprintf(out, ",\"size_B\":%llu", (unsigned long long)call->size_B);
	if (gpu)
		put_gpu(writer, gpu);
	if (call->ready != TRACE_READY_UNKNOWN)
		fprintf(out, ",\"ready\":%s", call->ready == TRACE_READY_YES ? "true" : "false");
	fputs("}\n", out);
	writer->lines++;
}

/* ---- waiting ---- */

static struct pending *pending_find(const struct calls_writer *writer, uint32_t correlation)
{
	uint64_t value;
	if (correlation == 0 || !map_get(&writer->by_correlation, correlation, &value))
		return NULL;
	return (struct pending *)(uintptr_t)value;
}

static struct pending *pending_any(const struct calls_writer *writer)
{
	struct map_entry *const *root = writer->by_correlation.root;
	return root ? (struct pending *)(uintptr_t)(*root)->value : NULL;
}

static void pending_remove(struct calls_writer *writer, struct pending *pending)
{
	map_remove(&writer->by_correlation,
		   pending->is_call ? pending->call.correlation : pending->gpu.correlation);
	if (pending->is_call && pending->call.inner_correlation)
		map_remove(&writer->by_correlation, pending->call.inner_correlation);
	free((char *)(uintptr_t)pending->gpu.label);
	free(pending);
}

/* Returns NULL if memory runs out; the record is lost then. */
static struct pending *pending_add(struct calls_writer *writer, uint32_t correlation)
{
	struct pending *pending = calloc(1, sizeof *pending);
	if (!pending ||
	    !map_put(&writer->by_correlation, correlation, (uint64_t)(uintptr_t)pending)) {
		writer->dropped++;
		free(pending);
		return NULL;
	}
	return pending;
}

static bool starts_nothing(const struct trace_call *call)
{
	static const char *const words[] = {"Synchronize", "Query", "Event",    "Get",  "Set",
					    "Malloc",      "Free",  "Create",   "Wait", "Destroy",
					    "Alloc",       "Ctx",   "Occupancy"};
	if (call->correlation == 0)
		return true;
	if (strstr(call->function, "Launch") || strstr(call->function, "emcpy") ||
	    strstr(call->function, "emset"))
		return false;
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (strstr(call->function, words[i]))
			return true;
	return false;
}

static void note_memory(struct calls_writer *writer, const struct trace_call *call)
{
	uint64_t size_B;
	if (!call->address)
		return;
	if (call->size_B > 0) {
		if (!map_put(&writer->allocations, call->address, call->size_B))
			return;
		writer->held_B += call->size_B;
	} else if (map_get(&writer->allocations, call->address, &size_B)) {
		map_remove(&writer->allocations, call->address);
		writer->held_B -= size_B;
	}
	if (writer->held_B > writer->held_most_B)
		writer->held_most_B = writer->held_B;
}

void calls_writer_call(struct calls_writer *writer, const struct trace_call *call)
{
	note_memory(writer, call);
	struct pending *early = pending_find(writer, call->correlation);
	if (!early)
		early = pending_find(writer, call->inner_correlation);
	if (early && !early->is_call) {
		put_call(writer, call, &early->gpu);
		pending_remove(writer, early);
		return;
	}
	struct pending *pending =
		early || starts_nothing(call) ? NULL : pending_add(writer, call->correlation);
	if (!pending) {
		put_call(writer, call, NULL);
		return;
	}
	pending->is_call = true;
	pending->call = *call;
	if (call->inner_correlation && !map_put(&writer->by_correlation, call->inner_correlation,
						(uint64_t)(uintptr_t)pending))
		pending->call.inner_correlation = 0;
}

void calls_writer_gpu(struct calls_writer *writer, const struct trace_gpu *gpu)
{
	struct pending *waiting = pending_find(writer, gpu->correlation);
	if (waiting && waiting->is_call) {
		put_call(writer, &waiting->call, gpu);
		pending_remove(writer, waiting);
		return;
	}
	if (waiting || gpu->correlation == 0) { /* a second record of the same call */
		writer->orphans++;
		return;
	}
	struct pending *pending = pending_add(writer, gpu->correlation);
	if (!pending)
		return;
	pending->gpu = *gpu;
	pending->gpu.label = gpu->label ? strdup(gpu->label) : NULL;
}

/* ---- the file ---- */

struct calls_writer *calls_writer_new(FILE *out, const char *program, uint64_t start_ns)
{
	struct calls_writer *writer = calloc(1, sizeof *writer);
	char date[32] = "";
	time_t now = time(NULL);
	struct tm utc;
	if (!writer)
		return NULL;
	writer->out = out;
	writer->start_ns = start_ns;
	if (gmtime_r(&now, &utc))
		strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
	fputs("{\"format\":\"farwire-calls\",\"version\":1", out);
	put_text(out, "tool", "farwire-trace");
	put_text(out, "date", date);
	put_text(out, "program", program);
	fputs("}\n", out);
	fflush(out);
	return writer;
}

void calls_writer_device(struct calls_writer *writer, const char *name)
{
	if (!writer->device)
		writer->device = strdup(name);
}

void calls_writer_mark(struct calls_writer *writer, uint32_t step, uint64_t t_ns, uint32_t thread)
{
	fprintf(writer->out, "{\"step\":%u,\"thread\":%u", (unsigned)step, (unsigned)thread);
	put_time(writer, "t_s", t_ns);
	fputs("}\n", writer->out);
	writer->lines++;
}

void calls_writer_flush(struct calls_writer *writer)
{
	fflush(writer->out);
}

bool calls_writer_close(struct calls_writer *writer, uint64_t dropped)
{
	for (struct pending *last; (last = pending_any(writer)); pending_remove(writer, last))
		if (last->is_call)
			put_call(writer, &last->call, NULL);
		else
			writer->orphans++;
	fprintf(writer->out, "{\"end\":true,\"lines\":%llu,\"memory_B\":%llu",
		(unsigned long long)writer->lines, (unsigned long long)writer->held_most_B);
	fprintf(writer->out, ",\"dropped\":%llu,\"orphans\":%llu",
		(unsigned long long)(dropped + writer->dropped),
		(unsigned long long)writer->orphans);
	if (writer->device)
		put_text(writer->out, "gpu", writer->device);
	fputs("}\n", writer->out);
	bool written = !ferror(writer->out);
	written &= fclose(writer->out) == 0;
	map_free(&writer->by_correlation);
	map_free(&writer->events);
	map_free(&writer->allocations);
	free(writer->device);
	free(writer);
	return written;
}
