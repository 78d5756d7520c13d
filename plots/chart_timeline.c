/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracks of a trace over a window of time, grouped. */
#include "plots/chart_spans.h"
#include "sim/engine/trace.h"

enum { ROWS_MAX = 64 };

static const struct look looks[SPAN_KIND_COUNT] = {
	[SPAN_CALL] = {.paint = {0xE69F00, 1}},
	[SPAN_CPU] = {.paint = {0x6A6A6A, 1}, .hatch = HATCH_LEVEL},
	[SPAN_WIRE] = {.paint = {0x0072B2, 1}},
	[SPAN_KERNEL] = {.paint = {0x009E73, 1}},
	[SPAN_COPY] = {.paint = {0xCC79A7, 1}, .hatch = HATCH_FALLING},
	[SPAN_WAIT] = {.paint = {0xE2E2E2, 1}, .hatch = HATCH_RISING},
	[SPAN_LOSS] = {.paint = {0xD55E00, 1}, .hatch = HATCH_CROSSED},
};

/* Returns the tracks with spans in the window. Tracks of a group follow each other. */
static struct span_row *rows_of(struct arena *arena, const struct trace *trace, int64_t from_ps,
				int64_t to_ps, double unit_ps, size_t *count)
{
	size_t all = trace_track_count(trace);
	struct span_row *tracks = ARENA_ARRAY(arena, all + 1, struct span_row);
	struct span_row *rows = ARENA_ARRAY(arena, all + 1, struct span_row);
	bool *taken = ARENA_ARRAY(arena, all + 1, bool);
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		if (span->end_ps < from_ps || span->start_ps > to_ps)
			continue;
		*VEC_PUSH(arena, &tracks[span->track].spans) =
			(struct chart_span){(double)(span->start_ps - from_ps) / unit_ps,
					    (double)(span->end_ps - from_ps) / unit_ps, span->kind,
					    span->name ? span->name : ""};
	}
	*count = 0;
	for (size_t i = 0; i < all; i++)
		for (size_t k = i; k < all; k++) {
			const char *group = trace_track_group(trace, k);
			if (taken[k] || tracks[k].spans.count == 0 ||
			    strcmp(group, trace_track_group(trace, i)) != 0)
				continue;
			taken[k] = true;
			rows[*count] = tracks[k];
			rows[*count].group = group;
			rows[(*count)++].label = trace_track_name(trace, k);
		}
	return rows;
}

struct drawing *chart_timeline(struct arena *arena, struct chart_text text,
			       const struct trace *trace, int64_t from_ps, int64_t to_ps)
{
	bool ms = to_ps - from_ps >= (int64_t)1e9;
	const char *unit = ms ? "ms" : "us";
	struct row_kind kinds[SPAN_KIND_COUNT];
	double unit_ps = ms ? 1e9 : 1e6;
	for (int kind = 0; kind < SPAN_KIND_COUNT; kind++)
		kinds[kind] = (struct row_kind){.label = span_kind_name((enum span_kind)kind),
						.look = looks[kind]};
	struct span_chart chart = {.end = (double)(to_ps - from_ps) / unit_ps,
				   .kinds = kinds,
				   .kind_count = SPAN_KIND_COUNT,
				   .rare = SPAN_LOSS};
	if (trace && to_ps > from_ps)
		chart.rows = rows_of(arena, trace, from_ps, to_ps, unit_ps, &chart.row_count);
	if (chart.row_count == 0)
		return chart_empty(arena, text, "no activity in this window of time");
	if (chart.row_count > ROWS_MAX) {
		chart.note = arena_printf(arena, "%zu further tracks are not shown",
					  chart.row_count - ROWS_MAX);
		chart.row_count = ROWS_MAX;
	}
	/* Times count from the start of the window, because "3.2" is easier to read than
	 * "104371.2". */
	chart.time_label = from_ps ? arena_printf(arena, "time after %.3f ms (%s)",
						  (double)from_ps * 1e-9, unit)
				   : arena_printf(arena, "time (%s)", unit);
	return spans_draw(arena, text, &chart);
}
