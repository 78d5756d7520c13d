/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of a plan: ranks over time. Kernels are named by pass and micro-batch ("F3"), waits by
 * their cause. Neighbouring spans of the same name are drawn as one. Spans that are too narrow to
 * be seen become one block, whose colours share its height as the spans share its time. So each
 * colour covers the same part of a row as its spans take of the time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/vec.h"
#include "sim/engine/trace.h"

static const double row_height = 17, row_gap = 4;

enum { PASS_COUNT = 3, KIND_COUNT = 12 };

/* Kinds of spans, by the first letter of a kernel's name or by the name of a wait. */
static const struct {
	const char *name, *label;
	struct look look;
} kinds[KIND_COUNT] = {
	{"F", "forward", {.paint = {0x56B4E9, 1}}},
	{"B", "backward", {.paint = {0x5FC9A8, 1}}},
	{"W", "weight gradient", {.paint = {0xF0E442, 1}}},
	{"update", "update", {.paint = {0x6A6A6A, 1}}},
	{"bubble", "bubble", {.paint = {0xEDEDED, 1}}},
	{"tensor", "tensor communication", {.paint = {0xCC79A7, 1}}},
	{"context", "context communication", {.paint = {0xCC79A7, 1}, .hatch = HATCH_DOTS}},
	{"expert", "expert communication", {.paint = {0xCC79A7, 1}, .hatch = HATCH_CROSSED}},
	{"data", "data communication", {.paint = {0x0072B2, 1}}},
	{"pipeline", "pipeline message", {.paint = {0xD55E00, 1}}},
	{"straggler", "straggler wait", {.paint = {0xD55E00, 1}, .hatch = HATCH_FALLING}},
	{"host", "host", {.paint = {0xE69F00, 1}, .hatch = HATCH_RISING}},
};

struct row {
	size_t waits, kernels; /* tracks of the trace */
	const char *label;
	VEC(struct span) spans;
	bool passed; /* a pass has ended since the last update */
};

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	struct axis axis;
	struct area area;
	struct row *rows;
	size_t row_count;
	bool present[KIND_COUNT], paler, mixed;
};

static size_t kind_of(const char *name)
{
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (strcmp(kinds[i].name, name) == 0 ||
		    (i < PASS_COUNT && name[0] == kinds[i].name[0] && name[1] >= '0' &&
		     name[1] <= '9'))
			return i;
	return KIND_COUNT;
}

/* Returns the track of the kernels of the GPU that has the track `waits`, or SIZE_MAX. */
static size_t kernel_track(const struct trace *trace, size_t waits)
{
	static const char end[] = "/stream 0";
	const char *group = trace_track_group(trace, waits);
	for (size_t i = 0; i < trace_track_count(trace); i++) {
		const char *name = trace_track_name(trace, i);
		size_t length = strlen(name);
		if (length > strlen(end) && strcmp(name + length - strlen(end), end) == 0 &&
		    strcmp(trace_track_group(trace, i), group) == 0)
			return i;
	}
	return SIZE_MAX;
}

static int by_rank(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	unsigned ranks[2] = {0};
	sscanf(x->label, "rank %u", &ranks[0]);
	sscanf(y->label, "rank %u", &ranks[1]);
	return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1]);
}

/* Finds the ranks, or the first rank of each stage. */
static void find_rows(struct layout *layout, const struct trace *trace, bool all_ranks)
{
	size_t count = 0, kept = 0;
	struct row *rows = ARENA_ARRAY(layout->arena, trace_track_count(trace) + 1, struct row);
	for (size_t i = 0; i < trace_track_count(trace); i++) {
		const char *name = trace_track_name(trace, i);
		if (strncmp(name, "rank ", 5) != 0 || !strstr(name, ", stage "))
			continue;
		rows[count] =
			(struct row){.waits = i, .kernels = kernel_track(trace, i), .label = name};
		count += rows[count].kernels != SIZE_MAX;
	}
	qsort(rows, count, sizeof *rows, by_rank);
	for (size_t i = 0; i < count; i++) {
		bool first = true;
		const char *stage = strstr(rows[i].label, "stage ");
		for (size_t k = 0; k < kept; k++)
			first &= strcmp(strstr(rows[k].label, "stage "), stage) != 0;
		if (all_ranks || first)
			rows[kept++] = rows[i];
	}
	layout->rows = rows;
	layout->row_count = kept;
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

/* Notes when the updates of a step end: of the last step, and of the one before. */
static void note_update(int64_t ends_ps[2], struct row *row, int64_t end_ps)
{
	if (row->passed)
		ends_ps[0] = ends_ps[1];
	ends_ps[1] = end_ps;
	row->passed = false;
}

/* Collects the rows' spans, and finds the last step. Each rank's step is between the ends of the
 * updates of its last two steps. The window begins with the first pass of them all. */
static void gather(struct layout *layout, const struct trace *trace, int64_t *from_ps,
		   int64_t *to_ps)
{
	size_t tracks = trace_track_count(trace);
	struct row **row_of = ARENA_ARRAY(layout->arena, tracks + 1, struct row *);
	int64_t(*ends_ps)[2] = arena_array(layout->arena, tracks + 1, sizeof *ends_ps);
	for (size_t i = 0; i < layout->row_count; i++)
		row_of[layout->rows[i].waits] = row_of[layout->rows[i].kernels] = &layout->rows[i];
	for (size_t i = 0; i < trace_span_count(trace); i++) {
		const struct span *span = trace_span_at(trace, i);
		struct row *row = row_of[span->track];
		if (!row || !span->name || kind_of(span->name) == KIND_COUNT)
			continue;
		*VEC_PUSH(layout->arena, &row->spans) = *span;
		if (strcmp(span->name, "update") == 0)
			note_update(ends_ps[row->kernels], row, span->end_ps);
		else
			row->passed |= kind_of(span->name) < PASS_COUNT;
	}
	*from_ps = INT64_MAX;
	*to_ps = 0;
	for (size_t i = 0; i < layout->row_count; i++) {
		struct row *row = &layout->rows[i];
		const int64_t *own_ps = ends_ps[row->kernels];
		qsort(row->spans.items, row->spans.count, sizeof *row->spans.items, by_start);
		*to_ps = own_ps[1] > *to_ps ? own_ps[1] : *to_ps;
		for (size_t k = 0; k < row->spans.count; k++) {
			const struct span *span = &row->spans.items[k];
			if (kind_of(span->name) < PASS_COUNT && span->start_ps >= own_ps[0] &&
			    span->start_ps < *from_ps)
				*from_ps = span->start_ps;
		}
	}
}

/* Writes the pass and micro-batch, or only the micro-batch, where there is room. */
static void draw_name(const struct layout *layout, size_t kind, const char *name, double x,
		      double width, double y)
{
	const char *micro =
		arena_printf(layout->arena, "%.*s", (int)strcspn(name, ".") - 1, name + 1);
	const char *texts[] = {name, name + 1, micro};
	for (size_t i = 0; kind < PASS_COUNT && i < sizeof texts / sizeof texts[0]; i++)
		if (text_width(texts[i], FONT_SMALL - 1, false) + 1 < width) {
			draw_text(layout->drawing, x + width / 2, y + row_height / 2 + 2.4,
				  FONT_SMALL - 1, ANCHOR_MIDDLE, ink, false, texts[i]);
			return;
		}
}

/* Passes through every second chunk are paler. */
static bool is_pale(const char *name)
{
	const char *chunk = strchr(name, '.');
	return chunk && atoi(chunk + 1) % 2 == 0;
}

static struct look look_of(size_t kind, const char *name)
{
	struct look look = kinds[kind].look;
	if (is_pale(name))
		look.paint = faint(look.paint, 0.5);
	return look;
}

/* Neighbouring spans of a row that are drawn together. */
struct block {
	const char *name;
	double from_ms, to_ms;
	double kinds_ms[KIND_COUNT];
};

/* Returns how wide this much time is in the picture, in points. */
static double width_of(const struct layout *layout, double ms)
{
	return ms * layout->area.width / layout->axis.high;
}

static void block_add(struct block *block, const struct block *next)
{
	block->to_ms = next->to_ms;
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		block->kinds_ms[kind] += next->kinds_ms[kind];
}

/* Returns the row's spans in the window, and joins neighbours of the same name. */
static struct block *row_runs(const struct layout *layout, const struct row *row, int64_t from_ps,
			      size_t *count)
{
	struct block *runs = ARENA_ARRAY(layout->arena, row->spans.count + 1, struct block);
	*count = 0;
	for (size_t i = 0; i < row->spans.count; i++) {
		const struct span *span = &row->spans.items[i];
		struct block new = {span->name,
				    (double)(span->start_ps - from_ps) * 1e-9,
				    (double)(span->end_ps - from_ps) * 1e-9,
				    {0}};
		new.from_ms = fmax(new.from_ms, 0);
		new.to_ms = fmin(new.to_ms, layout->axis.high);
		if (!(new.to_ms > new.from_ms))
			continue;
		new.kinds_ms[kind_of(span->name)] = new.to_ms - new.from_ms;
		struct block *last = *count ? &runs[*count - 1] : NULL;
		if (last && strcmp(last->name, new.name) == 0 &&
		    width_of(layout, new.from_ms - last->to_ms) < 0.01)
			block_add(last, &new);
		else
			runs[(*count)++] = new;
	}
	return runs;
}

/* Joins neighbouring runs that are too narrow to be seen, up to the next pass or bubble. Returns
 * the number of blocks that are left. */
static size_t join_narrow(const struct layout *layout, struct block *runs, size_t count)
{
	/* in points: of a bubble and of another run by itself, and of a block */
	const double seen_bubble = 2, seen = 6, least = 1;
	size_t kept = 0;
	bool open = false; /* the last block takes further narrow runs */
	for (size_t i = 0; i < count; i++) {
		struct block *last = kept ? &runs[kept - 1] : NULL;
		size_t kind = kind_of(runs[i].name);
		bool bubble = strcmp(runs[i].name, "bubble") == 0;
		bool named = kind < PASS_COUNT || bubble;
		bool narrow = width_of(layout, runs[i].to_ms - runs[i].from_ms) <
			      (bubble ? seen_bubble : seen);
		bool same = open && (!named || strcmp(last->name, runs[i].name) == 0 ||
				     kind_of(last->name) >= PASS_COUNT);
		if (open && narrow &&
		    (same || width_of(layout, last->to_ms - last->from_ms) < least)) {
			block_add(last, &runs[i]);
			if (kind < PASS_COUNT && kind_of(last->name) >= PASS_COUNT)
				last->name = runs[i].name;
		} else {
			runs[kept++] = runs[i];
		}
		open = narrow;
	}
	return kept;
}

/* Draws a block. Each kind of span takes the part of its height that it takes of its time. */
static void draw_block(struct layout *layout, const struct block *block, double y)
{
	double x = axis_at(&layout->axis, block->from_ms);
	double width = width_of(layout, block->to_ms - block->from_ms), shares[KIND_COUNT];
	struct look looks[KIND_COUNT];
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		shares[kind] = block->kinds_ms[kind] / (block->to_ms - block->from_ms);
		looks[kind] = look_of(kind, kind < PASS_COUNT ? block->name : "");
		layout->present[kind] |= shares[kind] > 0;
		layout->mixed |= shares[kind] > 0 && shares[kind] < 0.999;
	}
	draw_shares(layout->drawing, (struct area){x, y, width, row_height}, shares, looks,
		    KIND_COUNT);
	layout->paler |= is_pale(block->name);
	if (width > 4)
		draw_line(layout->drawing, x, y, x, y + row_height, ink_paper, 0.5, DASH_SOLID);
	draw_name(layout, kind_of(block->name), block->name, x, width, y);
	draw_hint(layout->drawing, x + width / 2, y + row_height / 2, width, row_height,
		  "%s: %.3f to %.3f ms", block->name, block->from_ms, block->to_ms);
}

static void draw_row(struct layout *layout, const struct row *row, double y, int64_t from_ps)
{
	size_t count;
	struct block *blocks = row_runs(layout, row, from_ps, &count);
	draw_rectangle(layout->drawing, layout->area.x, y, layout->area.width, row_height,
		       ink_paper);
	count = join_narrow(layout, blocks, count);
	for (size_t i = 0; i < count; i++)
		draw_block(layout, &blocks[i], y);
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	for (size_t i = 0; i < KIND_COUNT; i++)
		if (layout->present[i])
			legend_add(&legend, LEGEND_AREA, kinds[i].look, kinds[i].label);
	if (layout->paler)
		legend_add(&legend, LEGEND_AREA, look_of(0, "F1.2"), "paler: second model chunk");
	y = legend_end(&legend);
	if (!layout->mixed)
		return y;
	draw_text(layout->drawing, CHART_MARGIN, y + 10, FONT_SMALL, ANCHOR_START, ink_soft, false,
		  "Where spans are too narrow to be seen, colours share the height as the spans "
		  "share the time.");
	return y + 12;
}

struct drawing *chart_pipeline(struct arena *arena, struct chart_text text,
			       const struct trace *trace, bool all_ranks)
{
	struct layout layout = {.arena = arena};
	int64_t from_ps, to_ps;
	double label_width = 0;
	find_rows(&layout, trace, all_ranks);
	gather(&layout, trace, &from_ps, &to_ps);
	if (layout.row_count == 0 || to_ps <= from_ps)
		return NULL;
	for (size_t i = 0; i < layout.row_count; i++)
		label_width =
			fmax(label_width, text_width(layout.rows[i].label, FONT_SMALL, false));
	double y = chart_begin(arena, text, CHART_WIDTH, &layout.drawing) + row_gap;
	layout.area = (struct area){.x = CHART_MARGIN + label_width + 6, .y = y};
	layout.area.width = CHART_WIDTH - CHART_MARGIN - layout.area.x;
	layout.area.height = (double)layout.row_count * (row_height + row_gap);
	layout.axis.high = (double)(to_ps - from_ps) * 1e-9;
	axis_along(&layout.axis, layout.area);
	draw_axis_x(layout.drawing, &layout.axis, layout.area, "time (ms)", true);
	for (size_t i = 0; i < layout.row_count; i++) {
		draw_text(layout.drawing, layout.area.x - 6, y + row_height / 2 + 2.6, FONT_SMALL,
			  ANCHOR_END, ink, false, layout.rows[i].label);
		draw_row(&layout, &layout.rows[i], y, from_ps);
		y += row_height + row_gap;
	}
	return chart_end(layout.drawing, text, draw_key(&layout, y + 38));
}

const struct result_table *pipeline_table(struct arena *arena, const struct trace *trace,
					  bool all_ranks)
{
	static const struct result_column columns[] = {
		{.name = "rank", .text = true},
		{.name = "name", .text = true},
		{.name = "start_s", .quantity = QUANTITY_TIME},
		{.name = "end_s", .quantity = QUANTITY_TIME}};
	struct layout layout = {.arena = arena};
	struct result_table *table = result_table_new(arena, "timeline", NULL, columns,
						      sizeof columns / sizeof columns[0]);
	int64_t from_ps, to_ps;
	find_rows(&layout, trace, all_ranks);
	gather(&layout, trace, &from_ps, &to_ps);
	for (size_t i = 0; i < layout.row_count; i++)
		for (size_t k = 0; k < layout.rows[i].spans.count; k++) {
			const struct span *span = &layout.rows[i].spans.items[k];
			if (span->start_ps < from_ps || span->end_ps > to_ps)
				continue;
			struct result_cell *cells = result_table_row(arena, table);
			cells[0].text = layout.rows[i].label;
			cells[1].text = span->name;
			cells[2].number =
				estimate_exact((double)(span->start_ps - from_ps) * 1e-12);
			cells[3].number = estimate_exact((double)(span->end_ps - from_ps) * 1e-12);
		}
	return table;
}
