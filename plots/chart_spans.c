/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/chart_spans.h"

static const double row_height = 16, row_gap = 3, group_gap = 8;
/* in points: widths of spans that are drawn by themselves, of a bubble of passes, and of a block */
static const double seen = 6, seen_wait = 2, least = 1;

struct spans_layout {
	struct arena *arena;
	struct drawing *drawing;
	const struct span_chart *chart;
	struct axis axis;
	struct area area;
	double group_width, name_width;
	bool mixed;
};

/* Neighbouring spans of a row that are drawn together. Time without spans has the kind after the
 * last one. */
struct span_block {
	const struct chart_span *first;
	const char *name;
	size_t kind;
	double from, to;
	double times[SPAN_KINDS_MAX + 1]; /* by kind */
};
typedef VEC(struct span_block) block_vec;

static double width_of(const struct spans_layout *layout, double time)
{
	return time * layout->area.width / layout->axis.high;
}

static bool is_pass(const struct spans_layout *layout, size_t kind)
{
	return kind < layout->chart->pass_count;
}

/* ---- from spans to blocks ---- */

/* Orders spans by their start. Other members decide between equal starts, so that the order does
 * not depend on the C library. */
static int by_start(const void *a, const void *b)
{
	const struct chart_span *x = a, *y = b;
	int then = ORDER_THEN(x->kind, y->kind, strcmp(x->name, y->name));
	return ORDER_THEN(x->from, y->from, ORDER_THEN(x->to, y->to, then));
}

struct joining { /* the blocks of a row, and the run that comes after them */
	block_vec blocks;
	struct span_block run;
	bool begun, open; /* there is a run; the last block takes further narrow runs */
};

static void block_add(struct span_block *block, const struct span_block *next)
{
	block->to = next->to;
	for (size_t kind = 0; kind <= SPAN_KINDS_MAX; kind++)
		block->times[kind] += next->times[kind];
}

/* Adds the run to the blocks. Runs that are too narrow to be seen are joined, up to the next pass
 * or bubble. */
static void end_run(const struct spans_layout *layout, struct joining *j)
{
	struct span_block *last = j->open ? &j->blocks.items[j->blocks.count - 1] : NULL;
	const struct span_block *run = &j->run;
	bool passes = layout->chart->pass_count > 0, pass = is_pass(layout, run->kind);
	bool bubble = passes && strcmp(run->name, "bubble") == 0;
	bool narrow = width_of(layout, run->to - run->from) < (bubble ? seen_wait : seen);
	bool same = last && passes &&
		    ((!pass && !bubble) || strcmp(last->name, run->name) == 0 ||
		     !is_pass(layout, last->kind));
	if (last && narrow && (same || width_of(layout, last->to - last->from) < least)) {
		if (pass && !is_pass(layout, last->kind)) {
			last->name = run->name;
			last->kind = run->kind;
		}
		block_add(last, run);
	} else {
		struct span_block *next = VEC_PUSH(layout->arena, &j->blocks);
		FW_ASSERT(next != NULL);
		*next = *run;
	}
	j->open = narrow;
}

/* Adds the time for which a span is in front; NULL: no span is. Pieces of one span, and passes of
 * the same name, are one run. */
static void add_front(const struct spans_layout *layout, struct joining *j,
		      const struct chart_span *span, double from, double to)
{
	size_t kind = span ? span->kind : layout->chart->kind_count;
	struct span_block new = {span, span ? span->name : "", kind, from, to, {0}};
	new.times[kind] = to - from;
	if (j->begun && j->run.kind == kind &&
	    (j->run.first == span ||
	     (layout->chart->pass_count && strcmp(j->run.name, new.name) == 0))) {
		block_add(&j->run, &new);
		return;
	}
	if (j->begun)
		end_run(layout, j);
	j->run = new;
	j->begun = true;
}

/* Finds which span is in front at each time, and returns the blocks. */
static block_vec blocks_of(const struct spans_layout *layout, const struct span_row *row)
{
	VEC(const struct chart_span *) active = {0};
	struct joining j = {.begun = false};
	double end = layout->axis.high, shortest = end * 1e-6;
	size_t next = 0;
	if (row->spans.count)
		qsort(row->spans.items, row->spans.count, sizeof *row->spans.items, by_start);
	for (double at = 0, to; at < end; at = to) {
		size_t kept = 0;
		const struct chart_span *front = NULL;
		for (; next < row->spans.count && row->spans.items[next].from <= at; next++) {
			struct chart_span *span = &row->spans.items[next];
			span->to = fmax(span->to, fmax(span->from, 0) + shortest);
			*VEC_PUSH(layout->arena, &active) = span;
		}
		to = next < row->spans.count ? fmin(end, row->spans.items[next].from) : end;
		for (size_t i = 0; i < active.count; i++) {
			const struct chart_span *span = active.items[i];
			if (span->to <= at)
				continue;
			active.items[kept++] = span;
			to = fmin(to, span->to);
			if (!front || span->to - span->from < front->to - front->from)
				front = span;
		}
		active.count = kept;
		add_front(layout, &j, front, at, to);
	}
	if (j.begun)
		end_run(layout, &j);
	return j.blocks;
}

/* ---- drawing ---- */

/* Writes the name where there is room; of a pass also only its micro-batch. */
static void draw_name(const struct spans_layout *layout, const struct span_block *block, double x,
		      double width, double y)
{
	bool pass = is_pass(layout, block->kind);
	const char *name = block->name;
	const char *texts[] = {
		name, pass ? name + 1 : name,
		pass ? arena_printf(layout->arena, "%.*s", (int)strcspn(name, ".") - 1, name + 1)
		     : name};
	for (size_t i = 0; i < 3; i++)
		if (*name && text_width(texts[i], FONT_SMALL, false) + (pass ? 1 : 6) < width) {
			draw_on_area(layout->drawing, layout->chart->kinds[block->kind].look,
				     x + width / 2, y, texts[i]);
			return;
		}
}

/* Draws a block. Each look takes the part of its height that it takes of its time, and at least a
 * point, so that few short spans are visible. */
static void draw_block(struct spans_layout *layout, const struct span_block *block, double y,
		       bool alone)
{
	const struct span_chart *chart = layout->chart;
	double time = block->to - block->from, shares[SPAN_KINDS_MAX], sum = 0;
	struct look looks[SPAN_KINDS_MAX];
	double x = axis_at(&layout->axis, block->from), width = width_of(layout, time);
	if (alone)
		width = fmax(width, least);
	width = fmin(width, layout->area.x + layout->area.width - x);
	for (size_t kind = 0; kind < chart->kind_count; kind++) {
		shares[kind] = block->times[kind] / time;
		if (kind == chart->rare && shares[kind] > 0)
			shares[kind] = fmax(shares[kind], 0.25);
		sum += shares[kind];
		layout->mixed |= shares[kind] > 0 && shares[kind] < 0.999;
	}
	if (!(sum > 0))
		return;
	double shown = fmin(fmax(sum, 1 / row_height), 1);
	for (size_t kind = 0; kind < chart->kind_count; kind++) {
		shares[kind] *= shown / sum;
		looks[kind] = chart->kinds[kind].look;
	}
	draw_shares(layout->drawing, (struct area){x, y, width, row_height}, shares, looks,
		    chart->kind_count);
	if (width > 4)
		draw_line(layout->drawing, x, y, x, y + row_height, ink_paper, 0.5, DASH_SOLID);
	if (block->kind < chart->kind_count)
		draw_name(layout, block, x, width, y + row_height / 2);
	if (width >= seen_wait)
		draw_hint(layout->drawing, x + width / 2, y + row_height / 2, width, row_height,
			  "%s: %.3f to %.3f", block->name, block->from, block->to);
}

static void draw_row(struct spans_layout *layout, const struct span_row *row, double y)
{
	block_vec blocks = blocks_of(layout, row);
	draw_rectangle(layout->drawing, layout->area.x, y, layout->area.width, row_height,
		       ink_panel);
	for (size_t i = 0; i < blocks.count; i++) {
		size_t none = layout->chart->kind_count;
		bool before = i == 0 || blocks.items[i - 1].kind == none;
		bool after = i + 1 == blocks.count || blocks.items[i + 1].kind == none;
		draw_block(layout, &blocks.items[i], y, before && after);
	}
}

static bool group_starts(const struct span_chart *chart, size_t row)
{
	const char *group = chart->rows[row].group;
	const char *above = row > 0 ? chart->rows[row - 1].group : NULL;
	return group && (!above || strcmp(group, above) != 0);
}

static void draw_labels(const struct spans_layout *layout, size_t i, double y)
{
	const struct span_row *row = &layout->chart->rows[i];
	double base = y + row_height / 2 + 2.8;
	if (group_starts(layout->chart, i)) {
		if (i > 0)
			draw_line(layout->drawing, CHART_MARGIN, y - group_gap / 2,
				  layout->area.x + layout->area.width, y - group_gap / 2, ink_grid,
				  0.8, DASH_SOLID);
		draw_text(
			layout->drawing, CHART_MARGIN, base, FONT_SMALL, ANCHOR_START, ink, true,
			text_fit(layout->arena, row->group, FONT_SMALL, true, layout->group_width));
	}
	draw_text(layout->drawing, layout->area.x - 6, base, FONT_SMALL, ANCHOR_END, ink, false,
		  text_fit(layout->arena, row->label, FONT_SMALL, false, layout->name_width));
}

static double draw_legend(const struct span_chart *chart, struct legend legend)
{
	bool present[SPAN_KINDS_MAX] = {false};
	for (size_t i = 0; i < chart->row_count; i++)
		for (size_t k = 0; k < chart->rows[i].spans.count; k++)
			present[chart->rows[i].spans.items[k].kind] = true;
	for (size_t kind = 0; kind < chart->kind_count; kind++)
		if (present[kind] && chart->kinds[kind].label)
			legend_add(&legend, LEGEND_AREA, chart->kinds[kind].look,
				   chart->kinds[kind].label);
	return legend_end(&legend);
}

/* Places the rows, and returns the y below them. */
static double place_rows(struct spans_layout *layout, double y, double *tops)
{
	const struct span_chart *chart = layout->chart;
	for (size_t i = 0; i < chart->row_count; i++) {
		const struct span_row *row = &chart->rows[i];
		layout->name_width =
			fmax(layout->name_width, text_width(row->label, FONT_SMALL, false));
		if (row->group)
			layout->group_width = fmax(layout->group_width,
						   text_width(row->group, FONT_SMALL, true) + 10);
		y += group_starts(chart, i) ? group_gap : row_gap;
		tops[i] = y;
		y += row_height;
	}
	layout->name_width = fmin(layout->name_width, 160);
	layout->group_width = fmin(layout->group_width, 100);
	layout->area.x = CHART_MARGIN + layout->group_width + layout->name_width + 6;
	layout->area.width = CHART_WIDTH - CHART_MARGIN - 8 - layout->area.x;
	return y + group_gap;
}

struct drawing *spans_draw(struct arena *arena, struct chart_text text,
			   const struct span_chart *chart)
{
	struct spans_layout layout = {.arena = arena, .chart = chart, .axis = {.high = chart->end}};
	double *tops = ARENA_ARRAY(arena, chart->row_count, double);
	double y = chart_begin(arena, text, &layout.drawing);
	layout.area.y = draw_legend(chart, legend_begin(layout.drawing, y));
	y = place_rows(&layout, layout.area.y, tops);
	layout.area.height = y - layout.area.y;
	axis_along(&layout.axis, layout.area);
	draw_axis_x(layout.drawing, &layout.axis, layout.area, chart->time_label, true);
	for (size_t i = 0; i < chart->row_count; i++) {
		draw_labels(&layout, i, tops[i]);
		draw_row(&layout, &chart->rows[i], tops[i]);
	}
	y += 30;
	const char *const notes[] = {
		chart->note, layout.mixed ? "Where spans are too narrow to be seen, colours share "
					    "the height as the spans share the time."
					  : NULL};
	for (int i = 0; i < 2; i++)
		if (notes[i]) {
			draw_text(layout.drawing, CHART_MARGIN, y + 6, FONT_SMALL, ANCHOR_START,
				  ink_soft, false, notes[i]);
			y += 10;
		}
	return chart_end(layout.drawing, text, y);
}
