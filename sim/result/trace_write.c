/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a trace in the Trace Event Format, which Perfetto and chrome://tracing open. Groups are
 * processes, tracks are threads, and spans are complete ("X") events. Times are in microseconds
 * with three decimals, because Perfetto reads whole nanoseconds. The start and the end of a span
 * are rounded, not its duration, so that nested spans stay nested.
 *
 * The format requires that spans of one thread are nested or do not overlap. If spans of a
 * track overlap otherwise (several messages on one link), the later span goes to another lane,
 * "name #2", and so on. */
#include <inttypes.h>

#include "sim/engine/trace.h"
#include "sim/result/result.h"

struct lane {
	uint32_t track;
	unsigned number;      /* number among the lanes of its track, from 1 */
	size_t next;          /* index + 1 of the next lane of the track; 0: none */
	VEC(int64_t) open_ps; /* ends of the spans in which the next span may be nested */
};

struct placed { /* a span in the order in which it is written */
	const struct span *span;
	size_t index; /* index of the span, which decides between equal times */
	size_t lane;
};

struct layout {
	struct placed *spans;
	size_t span_count;
	VEC(struct lane) lanes;
	size_t *first; /* by track: index + 1 of its first lane */
};

/* Sorts by start, then longer spans first, so that a span precedes those nested in it. */
static int placed_compare(const void *a, const void *b)
{
	const struct placed *x = a;
	const struct placed *y = b;
	int then = ORDER_THEN(y->span->end_ps, x->span->end_ps, ORDER(x->index, y->index));
	return ORDER_THEN(x->span->start_ps, y->span->start_ps, then);
}

static bool lane_takes(struct lane *lane, const struct span *span)
{
	while (lane->open_ps.count > 0 &&
	       lane->open_ps.items[lane->open_ps.count - 1] <= span->start_ps)
		lane->open_ps.count--;
	return lane->open_ps.count == 0 ||
	       span->end_ps <= lane->open_ps.items[lane->open_ps.count - 1];
}

static size_t lane_of(struct layout *layout, struct arena *scratch, const struct span *span)
{
	size_t *link = &layout->first[span->track];
	unsigned number = 1;
	size_t last = 0;
	for (; *link; number++) {
		last = *link;
		FW_ASSERT(layout->lanes.items);
		if (lane_takes(&layout->lanes.items[last - 1], span))
			break;
		link = &layout->lanes.items[last - 1].next;
	}
	if (!*link) {
		bool first = number == 1;
		struct lane *lane = VEC_PUSH(
			scratch,
			&layout->lanes); /* this call may move the array that `link` points into */
		lane->track = span->track;
		lane->number = number;
		size_t made = layout->lanes.count;
		if (first)
			layout->first[span->track] = made;
		else
			layout->lanes.items[last - 1].next = made;
		last = made;
	}
	*VEC_PUSH(scratch, &layout->lanes.items[last - 1].open_ps) = span->end_ps;
	return last - 1;
}

static struct layout lay_out(struct arena *scratch, const struct trace *trace)
{
	struct layout layout = {.span_count = trace_span_count(trace)};
	layout.spans = ARENA_ARRAY(scratch, layout.span_count, struct placed);
	layout.first = ARENA_ARRAY(scratch, trace_track_count(trace), size_t);
	for (size_t i = 0; i < layout.span_count; i++)
		layout.spans[i] = (struct placed){trace_span_at(trace, i), i, 0};
	qsort(layout.spans, layout.span_count, sizeof layout.spans[0], placed_compare);
	for (size_t i = 0; i < layout.span_count; i++)
		layout.spans[i].lane = lane_of(&layout, scratch, layout.spans[i].span);
	return layout;
}

/* Returns the process number of each track: groups are numbered from 1 in order of appearance. */
static size_t *number_groups(struct arena *scratch, const struct trace *trace)
{
	size_t count = trace_track_count(trace);
	size_t *numbers = ARENA_ARRAY(scratch, count, size_t);
	size_t groups = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < i && !numbers[i]; k++)
			if (strcmp(trace_track_group(trace, k), trace_track_group(trace, i)) == 0)
				numbers[i] = numbers[k];
		if (!numbers[i])
			numbers[i] = ++groups;
	}
	return numbers;
}

/* Begins an event on a line of its own. The first event also begins the list. */
static struct json_writer begin_event(FILE *out, bool *first, const char *phase, const char *name)
{
	struct json_writer json = jw_begin(out, JSON_LINE);
	fputs(*first ? "\n" : ",\n", out);
	*first = false;
	jw_open(&json, NULL, '{');
	jw_text(&json, "ph", phase);
	jw_text(&json, "name", name);
	return json;
}

static void put_name(FILE *out, bool *first, const char *what, size_t process, size_t thread,
		     const char *name)
{
	struct json_writer json = begin_event(out, first, "M", what);
	jw_count(&json, "pid", process);
	jw_count(&json, "tid", thread);
	jw_open(&json, "args", '{');
	jw_text(&json, "name", name);
	jw_close(&json);
	jw_close(&json);
}

static void put_us(struct json_writer *json, const char *key, int64_t time_ns)
{
	jw_digits(json, key, "%" PRId64 ".%03" PRId64, time_ns / 1000, time_ns % 1000);
}

static void put_span(FILE *out, bool *first, const struct placed *placed, size_t process)
{
	const struct span *span = placed->span;
	const char *kind = span_kind_name(span->kind);
	struct json_writer json = begin_event(out, first, "X", span->name ? span->name : kind);
	jw_text(&json, "cat", kind);
	jw_count(&json, "pid", process);
	jw_count(&json, "tid", placed->lane + 1);
	int64_t start_ns = span->start_ps / 1000, end_ns = span->end_ps / 1000;
	put_us(&json, "ts", start_ns);
	put_us(&json, "dur", end_ns - start_ns);
	jw_close(&json);
}

/* Sorts by message, its sender first. */
static int message_compare(const void *a, const void *b)
{
	const struct placed *x = a;
	const struct placed *y = b;
	return ORDER_THEN(x->span->message, y->span->message,
			  ORDER_THEN(y->span->sends, x->span->sends, ORDER(x->index, y->index)));
}

static void put_end(FILE *out, bool *first, const struct placed *placed, size_t process, size_t id)
{
	bool sends = placed->span->sends;
	struct json_writer json = begin_event(out, first, sends ? "s" : "f", "message");
	jw_text(&json, "cat", "message");
	jw_count(&json, "id", id);
	if (!sends)
		jw_text(&json, "bp", "e"); /* the span around the time, not the next one */
	jw_count(&json, "pid", process);
	jw_count(&json, "tid", placed->lane + 1);
	int64_t start_ns = placed->span->start_ps / 1000, end_ns = placed->span->end_ps / 1000;
	put_us(&json, "ts", !sends && end_ns > start_ns ? end_ns - 1 : start_ns);
	jw_close(&json);
}

struct arrow { /* both ends of a message */
	struct placed from, to;
};

static int pair_compare(const void *a, const void *b)
{
	const struct arrow *x = a;
	const struct arrow *y = b;
	return ORDER(x->from.index, y->from.index);
}

/* Writes an arrow (a flow) from the sender to the receiver of each message of which the trace has
 * both, in the order of the senders' ends. */
static void put_messages(FILE *out, bool *first, struct arena *scratch, const struct layout *layout,
			 const size_t *groups)
{
	struct placed *ends = ARENA_ARRAY(scratch, layout->span_count, struct placed);
	struct arrow *pairs = ARENA_ARRAY(scratch, layout->span_count / 2 + 1, struct arrow);
	size_t count = 0, pair_count = 0;
	for (size_t i = 0; i < layout->span_count; i++)
		if (layout->spans[i].span->message)
			ends[count++] = layout->spans[i];
	qsort(ends, count, sizeof *ends, message_compare);
	for (size_t i = 1; i < count; i++)
		if (ends[i - 1].span->message == ends[i].span->message && ends[i - 1].span->sends &&
		    !ends[i].span->sends)
			pairs[pair_count++] = (struct arrow){ends[i - 1], ends[i]};
	qsort(pairs, pair_count, sizeof *pairs, pair_compare);
	for (size_t i = 0; i < pair_count; i++) {
		put_end(out, first, &pairs[i].from, groups[pairs[i].from.span->track], i + 1);
		put_end(out, first, &pairs[i].to, groups[pairs[i].to.span->track], i + 1);
	}
}

static void put_counter(FILE *out, bool *first, const struct trace *trace,
			const struct counter *counter, size_t process)
{
	struct json_writer json =
		begin_event(out, first, "C", trace_track_name(trace, counter->track));
	jw_count(&json, "pid", process);
	put_us(&json, "ts", counter->time_ps / 1000);
	jw_open(&json, "args", '{');
	for (size_t i = 0; i < counter->count; i++)
		jw_real(&json, counter->names[i], counter->values[i]);
	jw_close(&json);
	jw_close(&json);
}

void trace_write(FILE *out, const struct trace *trace)
{
	struct arena *scratch = arena_new();
	struct layout layout = {0};
	size_t *groups = NULL;
	if (trace) {
		layout = lay_out(scratch, trace);
		groups = number_groups(scratch, trace);
	}
	fputs("{\"displayTimeUnit\": \"ns\", \"otherData\": {\"version\": \"" FARWIRE_VERSION
	      "\"},\n\"traceEvents\": [",
	      out);
	bool first = true;
	for (size_t i = 0; i < layout.lanes.count; i++) {
		const struct lane *lane = &layout.lanes.items[i];
		size_t process = groups[lane->track];
		const char *name = trace_track_name(trace, lane->track);
		put_name(out, &first, "process_name", process, i + 1,
			 trace_track_group(trace, lane->track));
		put_name(out, &first, "thread_name", process, i + 1,
			 lane->number > 1 ? arena_printf(scratch, "%s #%u", name, lane->number)
					  : name);
	}
	for (size_t i = 0; i < layout.span_count; i++)
		put_span(out, &first, &layout.spans[i], groups[layout.spans[i].span->track]);
	put_messages(out, &first, scratch, &layout, groups);
	for (size_t i = 0; groups && i < trace_counter_count(trace); i++) {
		const struct counter *counter = trace_counter_at(trace, i);
		put_counter(out, &first, trace, counter, groups[counter->track]);
	}
	fputs("\n]}\n", out);
	arena_free(scratch);
}
