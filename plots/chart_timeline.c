/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Thousands of spans become few shapes. A track is divided into columns of 0.75 points. A wide span
 * is drawn by itself, the shortest in front (a wait inside a call). Shorter spans are summed in
 * their column, and share its height as they share its time (draw_shares). */
#include <math.h>
#include <string.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/vec.h"
#include "sim/engine/trace.h"

static const double column_width = 0.75;
static const double track_height = 15, track_gap = 3, group_gap = 8;

enum { TRACKS_MAX = 64, WIDE = 4 /* columns of a span that is drawn by itself */ };

static struct look kind_look(int kind)
{
	static const struct look looks[SPAN_KIND_COUNT] = {
		[SPAN_CALL] = {.paint = {0xE69F00, 1}},
		[SPAN_CPU] = {.paint = {0x6A6A6A, 1}, .hatch = HATCH_LEVEL},
		[SPAN_WIRE] = {.paint = {0x0072B2, 1}},
		[SPAN_KERNEL] = {.paint = {0x009E73, 1}},
		[SPAN_COPY] = {.paint = {0xCC79A7, 1}, .hatch = HATCH_FALLING},
		[SPAN_WAIT] = {.paint = {0xE2E2E2, 1}, .hatch = HATCH_RISING},
		[SPAN_LOSS] = {.paint = {0xD55E00, 1}, .hatch = HATCH_CROSSED},
	};
	return looks[kind];
}

struct track {
	size_t index; /* index in the trace */
	double y;     /* top */
	VEC(const struct span *) spans;
};

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	const struct trace *trace;
	int64_t from_ps, to_ps;
	struct area area;
	size_t columns;
	double group_width, name_width;
	struct track *tracks;
	size_t track_count, hidden;
	bool kinds[SPAN_KIND_COUNT]; /* kinds that occur */
};

static double column_at(const struct layout *layout, int64_t time_ps)
{
	return (double)(time_ps - layout->from_ps) / (double)(layout->to_ps - layout->from_ps) *
	       (double)layout->columns;
}

/* Collects tracks with spans in the window, grouped. */
static void gather(struct layout *layout)
{
	size_t all = trace_track_count(layout->trace);
	struct track *by_index = ARENA_ARRAY(layout->arena, all, struct track);
	for (size_t i = 0; i < trace_span_count(layout->trace); i++) {
		const struct span *span = trace_span_at(layout->trace, i);
		if (span->end_ps < layout->from_ps || span->start_ps > layout->to_ps)
			continue;
		layout->kinds[span->kind] = true;
		*VEC_PUSH(layout->arena, &by_index[span->track].spans) = span;
	}
	bool *taken = ARENA_ARRAY(layout->arena, all, bool);
	layout->tracks = ARENA_ARRAY(layout->arena, all, struct track);
	for (size_t i = 0; i < all; i++) {
		const char *group = trace_track_group(layout->trace, i);
		for (size_t j = i; j < all; j++) {
			if (taken[j] || by_index[j].spans.count == 0 ||
			    strcmp(trace_track_group(layout->trace, j), group) != 0)
				continue;
			taken[j] = true;
			if (layout->track_count == TRACKS_MAX) {
				layout->hidden++;
				continue;
			}
			by_index[j].index = j;
			layout->tracks[layout->track_count++] = by_index[j];
		}
	}
}

static const char *group_of(const struct layout *layout, size_t track)
{
	return trace_track_group(layout->trace, layout->tracks[track].index);
}

static bool group_starts(const struct layout *layout, size_t track)
{
	return track == 0 || strcmp(group_of(layout, track), group_of(layout, track - 1)) != 0;
}

static void place_tracks(struct layout *layout, double y)
{
	for (size_t i = 0; i < layout->track_count; i++) {
		const char *name = trace_track_name(layout->trace, layout->tracks[i].index);
		layout->name_width = fmax(layout->name_width, text_width(name, FONT_SMALL, false));
		layout->group_width = fmax(layout->group_width,
					   text_width(group_of(layout, i), FONT_SMALL, true));
	}
	layout->name_width = fmin(layout->name_width, 140);
	layout->group_width = fmin(layout->group_width, 90);
	layout->area.x = CHART_MARGIN + layout->group_width + 10 + layout->name_width + 6;
	layout->columns =
		(size_t)((CHART_WIDTH - CHART_MARGIN - 8 - layout->area.x) / column_width);
	layout->area.width = (double)layout->columns * column_width;
	layout->area.y = y;
	for (size_t i = 0; i < layout->track_count; i++) {
		y += group_starts(layout, i) ? group_gap : track_gap;
		layout->tracks[i].y = y;
		y += track_height;
	}
	layout->area.height = y + group_gap - layout->area.y;
}

static void draw_names(const struct layout *layout)
{
	for (size_t i = 0; i < layout->track_count; i++) {
		double y = layout->tracks[i].y, middle = y + track_height / 2 + 2.8;
		if (group_starts(layout, i)) {
			const char *group = text_fit(layout->arena, group_of(layout, i), FONT_SMALL,
						     true, layout->group_width);
			if (i > 0)
				draw_line(layout->drawing, CHART_MARGIN, y - group_gap / 2,
					  layout->area.x + layout->area.width, y - group_gap / 2,
					  ink_grid, 0.8, DASH_SOLID);
			draw_text(layout->drawing, CHART_MARGIN, middle, FONT_SMALL, ANCHOR_START,
				  ink, true, group);
		}
		const char *name = trace_track_name(layout->trace, layout->tracks[i].index);
		draw_text(layout->drawing, layout->area.x - 6, middle, FONT_SMALL, ANCHOR_END, ink,
			  false,
			  text_fit(layout->arena, name, FONT_SMALL, false, layout->name_width));
		draw_rectangle(layout->drawing, layout->area.x, y, layout->area.width, track_height,
			       ink_panel);
	}
}

/* Computes the columns that a span fills; returns false if it is not wide. */
static bool columns_of(const struct layout *layout, const struct span *span, size_t *first,
		       size_t *end)
{
	double from = fmax(0, column_at(layout, span->start_ps));
	double to = fmin((double)layout->columns, column_at(layout, span->end_ps));
	if (to - from < WIDE)
		return false;
	*first = (size_t)llround(from);
	*end = (size_t)llround(to);
	return true;
}

static int64_t length_ps(const struct span *span)
{
	return span->end_ps - span->start_ps;
}

static void draw_span(const struct layout *layout, const struct track *track,
		      const struct span *span, size_t first, size_t end)
{
	double x = layout->area.x + (double)first * column_width;
	double width = (double)(end - first) * column_width;
	struct look look = kind_look((int)span->kind);
	double shown = width > 2 ? width - 0.4 : width; /* leaves a gap between neighbours */
	if (width < 3)
		look.hatch = HATCH_NONE;
	draw_area(layout->drawing, x, track->y, shown, track_height, look);
	const char *name = span->name ? span->name : "";
	double needed = text_width(name, FONT_SMALL - 1, false);
	if (width < needed + 6 || !*name)
		return;
	bool dark = span->kind == SPAN_CPU || span->kind == SPAN_WIRE ||
		    span->kind == SPAN_KERNEL || span->kind == SPAN_LOSS;
	if (look.hatch != HATCH_NONE)
		draw_rectangle(layout->drawing, x + (width - needed) / 2 - 2, track->y + 2,
			       needed + 4, track_height - 4, look.paint);
	draw_text(layout->drawing, x + width / 2, track->y + track_height / 2 + 2.4, FONT_SMALL - 1,
		  ANCHOR_MIDDLE, dark ? ink_paper : ink, false, name);
}

static void draw_wide(const struct layout *layout, const struct track *track)
{
	const struct span **front =
		ARENA_ARRAY(layout->arena, layout->columns, const struct span *);
	for (size_t i = 0; i < track->spans.count; i++) {
		const struct span *span = track->spans.items[i];
		size_t first, end;
		if (!columns_of(layout, span, &first, &end))
			continue;
		for (size_t j = first; j < end; j++)
			if (!front[j] || length_ps(span) < length_ps(front[j]))
				front[j] = span;
	}
	for (size_t i = 0, end; i < layout->columns; i = end) {
		for (end = i + 1; end < layout->columns && front[end] == front[i];)
			end++;
		if (front[i])
			draw_span(layout, track, front[i], i, end);
	}
}

/* Adds a short span to the one or two columns that it lies in. */
static void add_cover(const struct layout *layout, const struct span *span,
		      double (*cover)[SPAN_KIND_COUNT])
{
	double from = fmax(0, column_at(layout, span->start_ps));
	double to = fmin((double)layout->columns, column_at(layout, span->end_ps));
	for (double at = from; at < to;) {
		double next = fmin(to, floor(at) + 1);
		cover[(size_t)at][span->kind] += next - at;
		at = next;
	}
	if (to <= from && from < (double)layout->columns)
		cover[(size_t)from][span->kind] += 0.01; /* makes a span of zero length visible */
}

static double sum_of(const double cover[SPAN_KIND_COUNT])
{
	double sum = 0;
	for (int kind = 0; kind < SPAN_KIND_COUNT; kind++)
		sum += cover[kind];
	return sum;
}

enum { NEAR = 3 }; /* columns on each side */

/* Returns whether a column is covered, or short spans follow each other around it. */
static bool is_inside(const struct layout *layout, const double (*cover)[SPAN_KIND_COUNT],
		      size_t column)
{
	bool before = false, after = false;
	for (size_t i = 0; i <= NEAR; i++) {
		before |= i <= column && sum_of(cover[column - i]) > 0;
		after |= column + i < layout->columns && sum_of(cover[column + i]) > 0;
	}
	return before && after;
}

/* Averages the near columns where short spans follow each other, so that a regular series looks
 * regular whatever its period in columns. Isolated spans stay sharp. */
static void smooth(const struct layout *layout, const double (*cover)[SPAN_KIND_COUNT],
		   size_t column, double shares[SPAN_KIND_COUNT])
{
	size_t from = column, to = column + 1;
	bool inside = is_inside(layout, cover, column);
	while (inside && from > 0 && column - from < NEAR && is_inside(layout, cover, from - 1))
		from--;
	while (inside && to < layout->columns && to - column <= NEAR &&
	       is_inside(layout, cover, to))
		to++;
	if (to - from <= NEAR) {
		from = column;
		to = column + 1;
	}
	for (size_t i = from; i < to; i++)
		for (int kind = 0; kind < SPAN_KIND_COUNT; kind++)
			shares[kind] += cover[i][kind] / (double)(to - from);
	shares[SPAN_LOSS] = cover[column][SPAN_LOSS];
}

/* Makes few short spans visible, above all losses, which are rare and important. Spans inside each
 * other share the height, too. */
static void make_visible(double shares[SPAN_KIND_COUNT])
{
	const double least = 1 / track_height, least_loss = 0.25;
	if (shares[SPAN_LOSS] > 0)
		shares[SPAN_LOSS] = fmax(shares[SPAN_LOSS], least_loss);
	double sum = sum_of(shares), shown = fmin(fmax(sum, least), 1);
	for (int kind = 0; kind < SPAN_KIND_COUNT && sum > 0; kind++)
		shares[kind] *= shown / sum;
}

/* Returns whether two columns look nearly the same, so that one shape can represent both. */
static bool are_similar(const double a[SPAN_KIND_COUNT], const double b[SPAN_KIND_COUNT])
{
	const double most = 0.1;
	for (int kind = 0; kind < SPAN_KIND_COUNT; kind++)
		if (fabs(a[kind] - b[kind]) > most || (a[kind] > 0) != (b[kind] > 0))
			return false;
	return true;
}

static void draw_narrow(const struct layout *layout, const struct track *track)
{
	double(*cover)[SPAN_KIND_COUNT] =
		arena_array(layout->arena, layout->columns, sizeof *cover);
	double(*shares)[SPAN_KIND_COUNT] =
		arena_array(layout->arena, layout->columns, sizeof *shares);
	struct look looks[SPAN_KIND_COUNT];
	for (size_t i = 0; i < track->spans.count; i++) {
		size_t first, end;
		if (!columns_of(layout, track->spans.items[i], &first, &end))
			add_cover(layout, track->spans.items[i], cover);
	}
	for (int kind = 0; kind < SPAN_KIND_COUNT; kind++)
		looks[kind] = kind_look(kind);
	for (size_t i = 0; i < layout->columns; i++) {
		smooth(layout, cover, i, shares[i]);
		make_visible(shares[i]);
	}
	for (size_t i = 0, end; i < layout->columns; i = end) {
		double mean[SPAN_KIND_COUNT] = {0};
		for (end = i + 1; end < layout->columns && are_similar(shares[end], shares[i]);)
			end++;
		for (size_t k = i; k < end; k++)
			for (int kind = 0; kind < SPAN_KIND_COUNT; kind++)
				mean[kind] += shares[k][kind] / (double)(end - i);
		const struct area area = {layout->area.x + (double)i * column_width, track->y,
					  (double)(end - i) * column_width, track_height};
		draw_shares(layout->drawing, area, mean, looks, SPAN_KIND_COUNT);
	}
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	for (int kind = 0; kind < SPAN_KIND_COUNT; kind++)
		if (layout->kinds[kind])
			legend_add(&legend, LEGEND_AREA, kind_look(kind),
				   span_kind_name((enum span_kind)kind));
	return legend_end(&legend);
}

/* Times count from the start of the window, because "3.2" is easier to read than "104371.2". */
static void draw_time(const struct layout *layout)
{
	bool ms = layout->to_ps - layout->from_ps >= (int64_t)1e9;
	struct axis axis = {.high = (double)(layout->to_ps - layout->from_ps) * (ms ? 1e-9 : 1e-6)};
	const char *label = ms ? "time (ms)" : "time (us)";
	axis_along(&axis, layout->area);
	if (layout->from_ps != 0)
		label = arena_printf(layout->arena, "time after %.3f ms (%s)",
				     (double)layout->from_ps * 1e-9, ms ? "ms" : "us");
	draw_axis_x(layout->drawing, &axis, layout->area, label, true);
}

struct drawing *chart_timeline(struct arena *arena, struct chart_text text,
			       const struct trace *trace, int64_t from_ps, int64_t to_ps)
{
	struct layout layout = {.arena = arena, .trace = trace, .from_ps = from_ps, .to_ps = to_ps};
	if (trace && to_ps > from_ps)
		gather(&layout);
	if (layout.track_count == 0)
		return chart_empty(arena, text, "no activity in this window of time");
	double y = draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing));
	place_tracks(&layout, y);
	draw_names(&layout);
	draw_time(&layout);
	for (size_t i = 0; i < layout.track_count; i++) {
		draw_wide(&layout, &layout.tracks[i]);
		draw_narrow(&layout, &layout.tracks[i]);
	}
	y = layout.area.y + layout.area.height + 30;
	if (layout.hidden > 0) {
		draw_text(layout.drawing, CHART_MARGIN, y + 6, FONT_SMALL, ANCHOR_START, ink_soft,
			  false,
			  arena_printf(layout.arena, "%zu further tracks are not shown",
				       layout.hidden));
		y += 10;
	}
	return chart_end(layout.drawing, text, y);
}
