/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts of horizontal bars, which have room for long labels: ratios, parts of the step time, and
 * influences of parameters. */
#include "plots/style.h"
#include "sim/result/result.h"

struct bar_rows {
	struct arena *arena;
	struct drawing *drawing;
	struct axis axis;
	struct area area;
	double label_width, row_height, bar_height;
};

static double row_middle(const struct bar_rows *rows, size_t row)
{
	return rows->area.y + rows->row_height * ((double)row + 0.5);
}

static void measure_label(struct bar_rows *rows, const char *label, double most)
{
	double width = text_width(label, FONT_TEXT, false);
	rows->label_width = fmin(fmax(rows->label_width, width), most);
}

/* Places the bars between the labels and the numbers at the right, which are that wide. */
static void place_columns(struct bar_rows *rows, double numbers)
{
	rows->area.x = CHART_MARGIN + rows->label_width + 8;
	rows->area.width = CHART_WIDTH - CHART_MARGIN - numbers - rows->area.x;
}

static void draw_row_axis(struct bar_rows *rows, double y, size_t count, const char *label)
{
	rows->area.y = y;
	rows->area.height = rows->row_height * (double)count;
	draw_axis_x(rows->drawing, &rows->axis, rows->area, label, true);
}

static void draw_label(const struct bar_rows *rows, const char *label, double y)
{
	draw_row_label(rows->drawing, rows->area.x - 8, y, label, rows->label_width);
}

/* Draws a bar from x on. */
static void draw_bar(const struct bar_rows *rows, double x, double y, double width,
		     struct look look)
{
	draw_area(rows->drawing, x, y - rows->bar_height / 2, width, rows->bar_height, look);
}

/* Draws a text beside or in place of a bar. */
static void draw_note(const struct bar_rows *rows, double x, double y, enum text_anchor anchor,
		      struct paint fill, const char *text)
{
	draw_text(rows->drawing, x, y, FONT_SMALL, anchor, fill, false, text);
}

static struct drawing *end_rows(const struct bar_rows *rows, struct chart_text text)
{
	return chart_end(rows->drawing, text, rows->area.y + rows->area.height + 30);
}

/* ---- ratios, with numbers in columns at the right, where no line crosses them ---- */

static const double right_edge = CHART_WIDTH - CHART_MARGIN, numbers_width = 124;
static const struct look predicted_look = {.paint = {0x56B4E9, 1}};

static void draw_references(const struct bar_rows *rows)
{
	const struct area *area = &rows->area;
	double one = axis_at(&rows->axis, 1), goal = axis_at(&rows->axis, 0.95);
	double bottom = area->y + area->height;
	draw_line(rows->drawing, one, area->y - 4, one, bottom, ink, 1, DASH_SOLID);
	draw_line(rows->drawing, goal, area->y - 4, goal, bottom, ink_alarm, 1.1, DASH_LONG);
	draw_note(rows, goal - 3, area->y - 5, ANCHOR_END, ink_alarm, "95 %");
	draw_note(rows, one + 3, area->y - 5, ANCHOR_START, ink, "1");
}

static void draw_numbers(const struct bar_rows *rows, const struct ratio_bar *bar, double y)
{
	struct arena *arena = rows->arena;
	double value = bar->failed ? NAN : bar->ratio.value;
	const char *interval = "";
	if (isfinite(value) && has_interval(bar->ratio))
		interval = arena_printf(arena, "%s – %s", number_text(arena, bar->ratio.low, 3),
					number_text(arena, bar->ratio.high, 3));
	draw_note(rows, right_edge, y + 3, ANCHOR_END, ink_soft, interval);
	draw_text(rows->drawing, right_edge - 68, y + 3, FONT_TEXT, ANCHOR_END,
		  bar->failed ? ink_alarm : ink, true,
		  bar->failed ? "fail" : number_text(arena, value, 3));
}

/* Draws everything on a bar and beside it. */
static void draw_ratio(const struct bar_rows *rows, const struct ratio_bar *bar, double y)
{
	const struct area *area = &rows->area;
	draw_label(rows, bar->label, y);
	if (bar->failed)
		draw_failure(rows->drawing, area->x, y, rows->bar_height, area->width, bar->failed);
	else if (!isfinite(bar->ratio.value))
		draw_note(rows, area->x + 6, y + 3, ANCHOR_START, ink_soft, "no baseline");
	else if (bar->ratio.high > bar->ratio.low)
		draw_whisker_x(rows->drawing, axis_at(&rows->axis, fmax(bar->ratio.low, 0)),
			       axis_at(&rows->axis, bar->ratio.high), y);
	draw_numbers(rows, bar, y);
	if (!bar->failed)
		draw_hint(rows->drawing, area->x + area->width / 2, y, area->width,
			  rows->bar_height, "%s: %s", bar->label,
			  interval_text(rows->arena, &bar->ratio));
}

struct drawing *chart_ratio_bars(struct arena *arena, struct chart_text text,
				 const struct ratio_bar *bars, size_t count)
{
	struct bar_rows rows = {.arena = arena, .row_height = 27, .bar_height = 14};
	bool interval = false; /* some case has one */
	double high = 1.05;
	if (count == 0)
		return chart_empty(arena, text, "there are no cases to compare");
	for (size_t i = 0; i < count; i++) {
		measure_label(&rows, bars[i].label, 210);
		if (bars[i].failed)
			continue;
		interval |= has_interval(bars[i].ratio);
		high = fmax(high, fmax(bars[i].ratio.value, bars[i].ratio.high));
	}
	place_columns(&rows, numbers_width);
	rows.axis.high = high * 1.03;
	axis_along(&rows.axis, rows.area);
	double top = chart_begin(arena, text, &rows.drawing);
	struct legend legend = legend_begin(rows.drawing, top);
	legend_add(&legend, LEGEND_AREA, predicted_look, "predicted");
	if (interval)
		legend_add(&legend, LEGEND_WHISKER, predicted_look, "90 % interval");
	draw_row_axis(&rows, legend_end(&legend) + 22, count,
		      "throughput relative to the baseline");
	for (size_t i = 0; i < count; i++) {
		double x = axis_at(&rows.axis, fmax(bars[i].ratio.value, 0));
		if (!bars[i].failed && isfinite(bars[i].ratio.value))
			draw_bar(&rows, rows.area.x, row_middle(&rows, i), x - rows.area.x,
				 predicted_look);
	}
	draw_references(&rows);
	draw_note(&rows, right_edge - 68, rows.area.y - 5, ANCHOR_END, ink_soft, "predicted");
	draw_note(&rows, right_edge, rows.area.y - 5, ANCHOR_END, ink_soft, interval ? "90 %" : "");
	for (size_t i = 0; i < count; i++)
		draw_ratio(&rows, &bars[i], row_middle(&rows, i));
	return end_rows(&rows, text);
}

/* ---- parts of the step time ---- */

/* The bars are in percent if the longest step is so much longer than the shortest that a common
 * scale would hide the parts of the short one. */
static const double percent_above_ratio = 8;

enum { PARTS_MAX = 16 };

struct breakdown_layout {
	struct bar_rows rows;
	bool percent;
	const char *names[PARTS_MAX]; /* in order of first appearance */
	bool present[PARTS_MAX];      /* longer than zero in some case */
	size_t name_count;
};

static size_t part_index(struct breakdown_layout *layout, const char *name)
{
	for (size_t i = 0; i < layout->name_count; i++)
		if (strcmp(layout->names[i], name) == 0)
			return i;
	if (layout->name_count == PARTS_MAX)
		return PARTS_MAX - 1;
	layout->names[layout->name_count] = name;
	return layout->name_count++;
}

static double part_seconds(const struct breakdown_part *part)
{
	return isfinite(part->seconds) && part->seconds > 0 ? part->seconds : 0;
}

static double total_s(const struct prediction *prediction)
{
	double sum = 0;
	for (size_t i = 0; i < prediction->breakdown_count && prediction->ok; i++)
		sum += part_seconds(&prediction->breakdown[i]);
	return sum;
}

static void measure_parts(struct breakdown_layout *layout,
			  const struct prediction *const *predictions, size_t count)
{
	struct bar_rows *rows = &layout->rows;
	double longest = 0, shortest = INFINITY;
	for (size_t i = 0; i < count; i++) {
		double total = total_s(predictions[i]);
		measure_label(rows, predictions[i]->name, 200);
		if (total <= 0)
			continue;
		longest = fmax(longest, total);
		shortest = fmin(shortest, total);
		for (size_t j = 0; j < predictions[i]->breakdown_count; j++)
			layout->present[part_index(layout, predictions[i]->breakdown[j].name)] |=
				part_seconds(&predictions[i]->breakdown[j]) > 0;
	}
	layout->percent = longest > percent_above_ratio * shortest;
	place_columns(rows, 62);
	rows->axis.high = layout->percent ? 100 : longest > 0 ? longest * 1e3 : 1;
	axis_along(&rows->axis, rows->area);
}

static void draw_stack(struct breakdown_layout *layout, const struct prediction *prediction,
		       double y)
{
	struct bar_rows *rows = &layout->rows;
	double total = total_s(prediction), x = rows->area.x;
	double scale = layout->percent ? 100 / total : 1e3, half = rows->bar_height / 2;
	for (size_t i = 0; i < prediction->breakdown_count; i++) {
		const struct breakdown_part *part = &prediction->breakdown[i];
		double shown = part_seconds(part) * scale;
		if (shown <= 0)
			continue;
		double width = axis_at(&rows->axis, shown) - rows->area.x;
		int digits = shown < 1 ? 1 : shown < 100 ? 2 : 3;
		struct look look = part_look(part->name, part_index(layout, part->name));
		const char *text = number_text(rows->arena, shown, digits);
		draw_bar(rows, x, y, width, look);
		if (width >= text_width(text, FONT_SMALL, false) + 5)
			draw_on_area(rows->drawing, look, x + width / 2, y, text);
		draw_hint(rows->drawing, x + width / 2, y, width, rows->bar_height, "%s: %s ms",
			  part_label(part->name),
			  number_format(rows->arena, 6, part_seconds(part) * 1e3));
		x += width;
		if (width > 1.5)
			draw_line(rows->drawing, x, y - half, x, y + half, ink_paper, 0.7,
				  DASH_SOLID);
	}
	draw_text(rows->drawing, x + 6, y + 3, FONT_TEXT, ANCHOR_START, ink, true,
		  arena_printf(rows->arena, "%s ms", number_text(rows->arena, total * 1e3, 4)));
}

static void draw_steps(struct breakdown_layout *layout, const struct prediction *prediction,
		       double y)
{
	const struct bar_rows *rows = &layout->rows;
	draw_label(rows, prediction->name, y);
	if (!prediction->ok)
		draw_failure(rows->drawing, rows->area.x, y, rows->bar_height,
			     rows->area.width + 50,
			     prediction->reason ? prediction->reason : "no reason given");
	else if (total_s(prediction) > 0)
		draw_stack(layout, prediction, y);
	else
		draw_note(rows, rows->area.x + 6, y + 3, ANCHOR_START, ink_soft, "no breakdown");
}

struct drawing *chart_breakdown(struct arena *arena, struct chart_text text,
				const struct prediction *const *predictions, size_t count)
{
	struct breakdown_layout layout = {
		.rows = {.arena = arena, .row_height = 30, .bar_height = 19}};
	struct bar_rows *rows = &layout.rows;
	if (count == 0)
		return chart_empty(arena, text, "there are no cases to show");
	measure_parts(&layout, predictions, count);
	double top = chart_begin(arena, text, &rows->drawing);
	struct legend legend = legend_begin(rows->drawing, top);
	for (size_t i = 0; i < layout.name_count; i++)
		if (layout.present[i])
			legend_add(&legend, LEGEND_AREA, part_look(layout.names[i], i),
				   part_label(layout.names[i]));
	const char *what = prediction_kinds(predictions, count) == PREDICTION_SERVING
				   ? "mean latency"
				   : "step time";
	draw_row_axis(rows, legend_end(&legend) + 8, count,
		      layout.percent ? arena_printf(arena, "share of the %s (%%)", what)
				     : arena_printf(arena, "%s (ms)", what));
	for (size_t i = 0; i < count; i++)
		draw_steps(&layout, predictions[i], row_middle(rows, i));
	return end_rows(rows, text);
}

/* ---- influences of parameters ---- */

enum { CAUSES_MAX = 12 };
static const double end_space = 70;
static const struct look end_looks[2] = {{.paint = {0x0072B2, 1}},
					 {.paint = {0xE69F00, 1}, .hatch = HATCH_RISING}};

static void measure_causes(struct bar_rows *rows, const struct tornado_view *view, size_t count)
{
	struct range x = {view->value, view->value};
	for (size_t i = 0; i < count; i++) {
		const struct tornado_bar *bar = &view->bars[i];
		if (isfinite(bar->low))
			range_include(&x, bar->low);
		if (isfinite(bar->high))
			range_include(&x, bar->high);
		measure_label(rows, bar->label, 200);
	}
	double span = x.high > x.low ? x.high - x.low : fmax(fabs(x.high), 1e-9);
	place_columns(rows, 0);
	/* the labels of the ends are outside the bars, on the axis */
	double share = end_space / (rows->area.width - 2 * end_space);
	rows->axis = (struct axis){.low = x.low - span * share, .high = x.high + span * share};
	axis_along(&rows->axis, rows->area);
}

/* Draws one end: an area from `from`, the position of the nominal value, and the cause's value. */
static void draw_end(const struct bar_rows *rows, double from, double end, const char *label,
		     struct look look, bool left, double y, double height)
{
	if (isnan(end)) {
		double x = left ? rows->area.x + 4 : rows->area.x + rows->area.width - 4;
		draw_text(rows->drawing, x, y + 3, FONT_SMALL, left ? ANCHOR_START : ANCHOR_END,
			  ink_alarm, true,
			  text_fit(rows->arena, arena_printf(rows->arena, "fails at %s", label),
				   FONT_SMALL, true, fabs(x - from) - 8));
		return;
	}
	double to = axis_at(&rows->axis, end);
	if (fabs(to - from) >= 0.05)
		draw_area(rows->drawing, fmin(from, to), y - height / 2, fabs(to - from), height,
			  look);
	bool before = to < from || (to == from && left);
	draw_note(rows, to + (before ? -4 : 4), y + 3, before ? ANCHOR_END : ANCHOR_START, ink_soft,
		  text_fit(rows->arena, label, FONT_SMALL, false, end_space - 6));
}

/* If both ends are on one side, or one fails, each end gets half of the row. */
static void draw_cause(const struct bar_rows *rows, const struct tornado_bar *bar, double value,
		       double y)
{
	bool apart = (bar->low - value) * (bar->high - value) < 0;
	bool falling = bar->low > value || bar->high < value;
	double shift = apart ? 0 : rows->bar_height / 4 + 1.5, from = axis_at(&rows->axis, value);
	double height = apart ? rows->bar_height : rows->bar_height / 2;
	draw_label(rows, bar->label, y);
	draw_end(rows, from, bar->low, bar->low_label, end_looks[0], !falling, y - shift, height);
	draw_end(rows, from, bar->high, bar->high_label, end_looks[1], falling, y + shift, height);
}

struct drawing *chart_tornado(struct arena *arena, struct chart_text text,
			      const struct tornado_view *view)
{
	struct bar_rows rows = {.arena = arena, .row_height = 26, .bar_height = 15};
	size_t count = view->count < CAUSES_MAX ? view->count : CAUSES_MAX;
	if (!count || !isfinite(view->value))
		return chart_empty(arena, text, "no parameter influences the answer");
	measure_causes(&rows, view, count);
	double top = chart_begin(arena, text, &rows.drawing);
	struct legend legend = legend_begin(rows.drawing, top);
	legend_add(&legend, LEGEND_AREA, end_looks[0], "parameter at its low end");
	legend_add(&legend, LEGEND_AREA, end_looks[1], "parameter at its high end");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink}, "nominal value");
	draw_row_axis(&rows, legend_end(&legend) + 10, count, view->x_label);
	for (size_t i = 0; i < count; i++)
		draw_cause(&rows, &view->bars[i], view->value, row_middle(&rows, i));
	double x = axis_at(&rows.axis, view->value);
	draw_line(rows.drawing, x, rows.area.y - 3, x, rows.area.y + rows.area.height, ink, 1,
		  DASH_SOLID);
	return end_rows(&rows, text);
}
