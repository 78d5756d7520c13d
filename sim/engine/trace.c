/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/engine/trace.h"
#include "sim/engine/names.h"

struct track {
	int group; /* index in groups */
	const char *name;
	uint32_t next; /* index of the next track of the same group + 1 */
};

struct trace {
	struct arena *arena;
	struct names *groups;
	VEC(uint32_t) firsts; /* for each group: index of its newest track + 1 */
	VEC(struct track) tracks;
	struct names *names; /* names of tracks, shared between groups */
	VEC(struct span) spans;
	struct span next; /* its message */
	VEC(struct counter) counters;
};

struct trace *trace_new(struct arena *arena)
{
	struct trace *trace = ARENA_NEW(arena, struct trace);
	trace->arena = arena;
	trace->groups = names_new(arena);
	trace->names = names_new(arena);
	return trace;
}

uint32_t trace_track(struct trace *trace, const char *group, const char *name)
{
	if (!trace)
		return 0;
	int g = names_add(trace->groups, group);
	if ((size_t)g == trace->firsts.count)
		*VEC_PUSH(trace->arena, &trace->firsts) = 0;
	int n = names_add(trace->names, name);
	const char *text = names_at(trace->names, (size_t)n); /* equal texts have equal pointers */
	for (uint32_t t = trace->firsts.items[g]; t > 0; t = trace->tracks.items[t - 1].next)
		if (trace->tracks.items[t - 1].name == text)
			return t - 1;
	FW_ASSERT(trace->tracks.count < UINT32_MAX - 1);
	struct track *track = VEC_PUSH(trace->arena, &trace->tracks);
	*track = (struct track){g, text, trace->firsts.items[g]};
	trace->firsts.items[g] = (uint32_t)trace->tracks.count;
	return trace->firsts.items[g] - 1;
}

void trace_span(struct trace *trace, uint32_t track, enum span_kind kind, const char *name,
		int64_t start_ps, int64_t end_ps)
{
	if (!trace)
		return;
	FW_ASSERT(track < trace->tracks.count);
	FW_ASSERT(kind < SPAN_KIND_COUNT);
	FW_ASSERT(start_ps <= end_ps);
	*VEC_PUSH(trace->arena, &trace->spans) = (struct span){
		start_ps, end_ps, track, kind, name, trace->next.message, trace->next.sends};
	trace->next.message = 0;
}

void trace_message(struct trace *trace, uint64_t message, bool sends)
{
	if (trace)
		trace->next = (struct span){.message = message, .sends = sends};
}

void trace_counter(struct trace *trace, const struct counter *counter)
{
	struct counter *kept = VEC_PUSH(trace->arena, &trace->counters);
	double *values = ARENA_ARRAY(trace->arena, counter->count, double);
	memcpy(values, counter->values, counter->count * sizeof *values);
	*kept = *counter;
	kept->values = values;
}

size_t trace_counter_count(const struct trace *trace)
{
	return trace->counters.count;
}

const struct counter *trace_counter_at(const struct trace *trace, size_t index)
{
	FW_ASSERT(index < trace_counter_count(trace));
	return &trace->counters.items[index];
}

size_t trace_span_count(const struct trace *trace)
{
	return trace ? trace->spans.count : 0;
}

const struct span *trace_span_at(const struct trace *trace, size_t index)
{
	FW_ASSERT(index < trace_span_count(trace));
	return &trace->spans.items[index];
}

size_t trace_track_count(const struct trace *trace)
{
	return trace->tracks.count;
}

const char *trace_track_group(const struct trace *trace, size_t track)
{
	FW_ASSERT(track < trace_track_count(trace));
	return names_at(trace->groups, (size_t)trace->tracks.items[track].group);
}

const char *trace_track_name(const struct trace *trace, size_t track)
{
	FW_ASSERT(track < trace_track_count(trace));
	return trace->tracks.items[track].name;
}

const char *span_kind_name(enum span_kind kind)
{
	static const char *const names[SPAN_KIND_COUNT] = {
		[SPAN_CALL] = "call",     [SPAN_CPU] = "cpu",   [SPAN_WIRE] = "wire",
		[SPAN_KERNEL] = "kernel", [SPAN_COPY] = "copy", [SPAN_WAIT] = "wait",
		[SPAN_LOSS] = "loss",
	};
	FW_ASSERT(kind < SPAN_KIND_COUNT);
	return names[kind];
}
