/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bars are horizontal, so that long labels fit beside them. The numbers are in columns at the
 * right, where no line crosses them. */
#include "plots/style.h"

static const double row_height = 27, bar_height = 14;
static const struct look predicted_look = {.paint = {0x56B4E9, 1}};

struct bars_layout {
	struct arena *arena;
	struct drawing *drawing;
	struct axis axis;
	struct area area;
	double label_width;
	bool interval; /* any case has one */
	double right;  /* edge of the numbers */
};

static double row_middle(const struct bars_layout *layout, size_t row)
{
	return layout->area.y + row_height * ((double)row + 0.5);
}

static double largest(const struct ratio_bar *bars, size_t count)
{
	double high = 1.05;
	for (size_t i = 0; i < count; i++)
		if (!bars[i].failed)
			high = fmax(high, fmax(bars[i].ratio.value, bars[i].ratio.high));
	return high;
}

static void draw_references(const struct bars_layout *layout)
{
	const struct area *area = &layout->area;
	double one = axis_at(&layout->axis, 1), goal = axis_at(&layout->axis, 0.95);
	double bottom = area->y + area->height;
	draw_line(layout->drawing, one, area->y - 4, one, bottom, ink, 1, DASH_SOLID);
	draw_line(layout->drawing, goal, area->y - 4, goal, bottom, ink_alarm, 1.1, DASH_LONG);
	draw_text(layout->drawing, goal - 3, area->y - 5, FONT_SMALL, ANCHOR_END, ink_alarm, false,
		  "95 %");
	draw_text(layout->drawing, one + 3, area->y - 5, FONT_SMALL, ANCHOR_START, ink, false, "1");
}

static void draw_numbers(const struct bars_layout *layout, const struct ratio_bar *bar, double y)
{
	struct drawing *drawing = layout->drawing;
	struct arena *arena = layout->arena;
	double value = bar->failed ? NAN : bar->ratio.value;
	const char *interval = "";
	if (isfinite(value) && has_interval(bar->ratio))
		interval = arena_printf(arena, "%s – %s", number_text(arena, bar->ratio.low, 3),
					number_text(arena, bar->ratio.high, 3));
	draw_text(drawing, layout->right, y + 3, FONT_SMALL, ANCHOR_END, ink_soft, false, interval);
	draw_text(drawing, layout->right - 68, y + 3, FONT_TEXT, ANCHOR_END,
		  bar->failed ? ink_alarm : ink, true,
		  bar->failed ? "fail" : number_text(arena, value, 3));
}

/* Draws everything on a bar and beside it. */
static void draw_row(const struct bars_layout *layout, const struct ratio_bar *bar, double y)
{
	struct drawing *drawing = layout->drawing;
	draw_row_label(drawing, layout->area.x - 8, y, bar->label, layout->label_width);
	if (bar->failed)
		draw_failure(drawing, layout->area.x, y, bar_height, layout->area.width,
			     bar->failed);
	else if (!isfinite(bar->ratio.value))
		draw_text(drawing, layout->area.x + 6, y + 3, FONT_SMALL, ANCHOR_START, ink_soft,
			  false, "no baseline");
	else if (bar->ratio.high > bar->ratio.low)
		draw_whisker_x(drawing, axis_at(&layout->axis, fmax(bar->ratio.low, 0)),
			       axis_at(&layout->axis, bar->ratio.high), y);
	draw_numbers(layout, bar, y);
	if (!bar->failed)
		draw_hint(drawing, layout->area.x + layout->area.width / 2, y, layout->area.width,
			  bar_height, "%s: %s", bar->label,
			  interval_text(layout->arena, &bar->ratio));
}

static double draw_head(struct bars_layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	legend_add(&legend, LEGEND_AREA, predicted_look, "predicted");
	if (layout->interval)
		legend_add(&legend, LEGEND_WHISKER, predicted_look, "90 % interval");
	return legend_end(&legend);
}

static void draw_column_heads(const struct bars_layout *layout)
{
	double y = layout->area.y - 5;
	draw_text(layout->drawing, layout->right - 68, y, FONT_SMALL, ANCHOR_END, ink_soft, false,
		  "predicted");
	draw_text(layout->drawing, layout->right, y, FONT_SMALL, ANCHOR_END, ink_soft, false,
		  layout->interval ? "90 %" : "");
}

static void set_columns(struct bars_layout *layout, const struct ratio_bar *bars, size_t count)
{
	const double label_most = 210, numbers = 112;
	for (size_t i = 0; i < count; i++) {
		layout->label_width =
			fmax(layout->label_width, text_width(bars[i].label, FONT_TEXT, false));
		layout->interval |= !bars[i].failed && has_interval(bars[i].ratio);
	}
	layout->label_width = fmin(layout->label_width, label_most);
	layout->right = CHART_WIDTH - CHART_MARGIN;
	layout->area.x = CHART_MARGIN + layout->label_width + 8;
	layout->area.width = layout->right - numbers - 12 - layout->area.x;
	layout->axis.high = largest(bars, count) * 1.03;
	axis_along(&layout->axis, layout->area);
}

struct drawing *chart_ratio_bars(struct arena *arena, struct chart_text text,
				 const struct ratio_bar *bars, size_t count)
{
	if (count == 0)
		return chart_empty(arena, text, "there are no cases to compare");
	struct bars_layout layout = {.arena = arena};
	set_columns(&layout, bars, count);
	double y = draw_head(&layout, chart_begin(arena, text, &layout.drawing)) + 22;
	layout.area.y = y;
	layout.area.height = row_height * (double)count;
	draw_axis_x(layout.drawing, &layout.axis, layout.area,
		    "throughput relative to the baseline", true);
	for (size_t i = 0; i < count; i++) {
		double x = axis_at(&layout.axis, fmax(bars[i].ratio.value, 0));
		if (!bars[i].failed && isfinite(bars[i].ratio.value))
			draw_area(layout.drawing, layout.area.x,
				  row_middle(&layout, i) - bar_height / 2, x - layout.area.x,
				  bar_height, predicted_look);
	}
	draw_references(&layout);
	draw_column_heads(&layout);
	for (size_t i = 0; i < count; i++)
		draw_row(&layout, &bars[i], row_middle(&layout, i));
	return chart_end(layout.drawing, text, y + layout.area.height + 30);
}
