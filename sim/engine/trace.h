/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A record of the run for timelines: spans on named tracks, append-only.
 *
 * A track is one row of a timeline ("client/main", "wire client>server", "gpu0/stream 1"). A span
 * is an activity on a track with a start and an end. Recording is optional: every function here
 * does nothing with a NULL trace, so callers need no test. Numbers in results never come from the
 * trace. They come from counters, which are always kept.
 */
#pragma once

#include "sim/base/base.h"

struct arena;
struct trace;

enum span_kind {              /* sets the colour in a plot and the category in Perfetto */
		 SPAN_CALL,   /* a CUDA call on a host thread */
		 SPAN_CPU,    /* work on a CPU core */
		 SPAN_WIRE,   /* bytes on a link or a connection */
		 SPAN_KERNEL, /* a kernel on a GPU */
		 SPAN_COPY,   /* a copy by a copy engine */
		 SPAN_WAIT,   /* a waiting thread */
		 SPAN_LOSS,   /* a lost packet, up to its retransmission */
		 SPAN_KIND_COUNT,
};

struct span {
	int64_t start_ps, end_ps; /* start <= end */
	uint32_t track;
	enum span_kind kind;
	const char *name; /* borrowed; must live as long as the trace's arena */
	uint64_t message; /* which message it sends or receives; 0: none */
	bool sends;
};

/* Several sizes at a time, which apply until the next counter of the track. */
struct counter {
	int64_t time_ps;
	uint32_t track;
	size_t count;
	const char *const *names; /* borrowed, as those of spans */
	const double *values;
};

struct trace *trace_new(struct arena *arena);
/* Returns the number of a track and creates the track on first use. The group is a host, a wire or
 * a GPU (a process in Perfetto). Returns 0 with a NULL trace. */
uint32_t trace_track(struct trace *trace, const char *group, const char *name);
void trace_span(struct trace *trace, uint32_t track, enum span_kind kind, const char *name,
		int64_t start_ps, int64_t end_ps);

/* Says that the next span sends or receives this message. Its number is not 0, and both ends have
 * the same one. */
void trace_message(struct trace *trace, uint64_t message, bool sends);

/* Adds a counter, of which it copies the values. */
void trace_counter(struct trace *trace, const struct counter *counter);

size_t trace_counter_count(const struct trace *trace);
const struct counter *trace_counter_at(const struct trace *trace, size_t index);
size_t trace_span_count(const struct trace *trace);
const struct span *trace_span_at(const struct trace *trace, size_t index);
size_t trace_track_count(const struct trace *trace);
const char *trace_track_group(const struct trace *trace, size_t track);
const char *trace_track_name(const struct trace *trace, size_t track);
const char *span_kind_name(enum span_kind kind); /* for example "call" or "kernel" */
