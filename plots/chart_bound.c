/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a quantity meets its target: the curve with its band, the target as a line, tinted regions
 * where it is met, and each bound with its interval. */
#include <math.h>

#include "plots/style.h"

static const double plot_height = 300, strip_height = 16, marks_height = 16;
static const struct look met_look = {.paint = {0x009E73, 0.10}, .hatch = HATCH_NONE};

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	const struct bound_view *view;
	struct series series;
	struct plane plane;
	struct area area;
	bool interval, fails;
};

/* Returns false if there is nothing to draw. */
static bool measure(struct layout *layout)
{
	struct range x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
	layout->plane.x.log = layout->view->axes.x_log;
	layout->plane.y.log = layout->view->axes.y_log;
	layout->interval = series_measure(&layout->plane, &layout->series, &x, &y);
	for (size_t i = 0; i < layout->series.count; i++)
		layout->fails |= series_fails(&layout->plane, &layout->series, i);
	if (x.low > x.high)
		return false;
	range_include(&y, layout->view->target);
	axis_cover(&layout->plane.x, x.low, x.high);
	axis_cover(&layout->plane.y, y.low, y.high);
	return true;
}

/* Returns the position on the axis, clamped to its ends. */
static double inside(const struct layout *layout, double x)
{
	const struct axis *axis = &layout->plane.x;
	if (!(x > axis->low))
		return axis->from;
	return x < axis->high ? axis_at(axis, x) : axis->to;
}

static void draw_regions(const struct layout *layout)
{
	for (size_t i = 0; i < layout->view->region_count; i++) {
		double from = inside(layout, layout->view->regions[i].from);
		double to = inside(layout, layout->view->regions[i].to);
		draw_rectangle(layout->drawing, from, layout->area.y, to - from,
			       layout->area.height, met_look.paint);
		draw_line(layout->drawing, from, layout->area.y, to, layout->area.y, hue(HUE_GREEN),
			  3, DASH_SOLID); /* the line marks the region without colour */
	}
}

static void draw_failures(const struct layout *layout)
{
	if (!layout->fails)
		return;
	double top = layout->area.y + layout->area.height, y = top + strip_height / 2;
	draw_rectangle(layout->drawing, layout->area.x, top, layout->area.width, strip_height,
		       ink_panel);
	draw_text(layout->drawing, layout->area.x - 6, y + 3, FONT_TEXT, ANCHOR_END, ink_alarm,
		  false, "fail");
	for (size_t i = 0; i < layout->series.count; i++)
		if (series_fails(&layout->plane, &layout->series, i))
			draw_marker(layout->drawing, MARKER_CROSS,
				    axis_at(&layout->plane.x, layout->series.x[i]), y, 6,
				    hue(HUE_BLUE));
}

/* Draws a line at each bound, its interval as a whisker, and its value above the plot. */
static void draw_marks(const struct layout *layout)
{
	double target = axis_at(&layout->plane.y, layout->view->target);
	double free_from = -1e9;
	for (size_t i = 0; i < layout->view->mark_count; i++) {
		const struct bound_mark *mark = &layout->view->marks[i];
		double x = inside(layout, mark->x);
		double half = text_width(mark->label, FONT_TEXT, true) / 2;
		draw_line(layout->drawing, x, layout->area.y - 3, x,
			  layout->area.y + layout->area.height, ink, 1, DASH_SHORT);
		if (mark->high > mark->low)
			draw_whisker_x(layout->drawing, inside(layout, mark->low),
				       inside(layout, mark->high), target);
		struct look look = {.paint = ink, .marker = MARKER_DIAMOND};
		draw_point(layout->drawing, look, x, target, 7);
		double at = fmin(fmax(x, layout->area.x + half),
				 layout->area.x + layout->area.width - half);
		if (at - half < free_from + 6)
			continue;
		free_from = at + half;
		draw_text(layout->drawing, at, layout->area.y - 6, FONT_TEXT, ANCHOR_MIDDLE, ink,
			  true, mark->label);
	}
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_alarm, .dash = DASH_LONG},
		   layout->view->target_label);
	if (layout->view->region_count)
		legend_add(&legend, LEGEND_BAND, (struct look){.paint = faint(hue(HUE_GREEN), 0.3)},
			   "met");
	if (layout->interval)
		legend_add(&legend, LEGEND_BAND, (struct look){.paint = faint(hue(HUE_BLUE), 0.25)},
			   "90 % interval");
	if (layout->view->mark_count)
		legend_add(&legend, LEGEND_MARKER,
			   (struct look){.paint = ink, .marker = MARKER_DIAMOND},
			   "bound with its 90 % interval");
	if (layout->fails)
		legend_add(&legend, LEGEND_MARKER,
			   (struct look){.paint = hue(HUE_BLUE), .marker = MARKER_CROSS},
			   "case fails");
	return legend_end(&legend);
}

struct drawing *chart_bound(struct arena *arena, struct chart_text text,
			    const struct bound_view *view)
{
	struct layout layout = {.arena = arena,
				.view = view,
				.series = {view->curve.x, view->curve.y, view->curve.count}};
	if (!measure(&layout))
		return chart_empty(arena, text, "there are no points to show");
	double y = draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing)) + 6 +
		   marks_height;
	double left = CHART_MARGIN + 50;
	layout.area = (struct area){left, y, CHART_WIDTH - CHART_MARGIN - 10 - left, plot_height};
	axis_along(&layout.plane.x, layout.area);
	axis_up(&layout.plane.y, layout.area);
	struct area whole = layout.area;
	whole.height += layout.fails ? strip_height : 0;
	draw_regions(&layout);
	draw_axis_y(layout.drawing, &layout.plane.y, layout.area, view->axes.y_label, true);
	draw_failures(&layout);
	draw_axis_x(layout.drawing, &layout.plane.x, whole, view->axes.x_label, false);
	draw_series_band(layout.drawing, &layout.plane, &layout.series, series_look(0));
	double target = axis_at(&layout.plane.y, view->target);
	draw_line(layout.drawing, layout.area.x, target, layout.area.x + layout.area.width, target,
		  ink_alarm, 1.1, DASH_LONG);
	draw_series_line(layout.drawing, &layout.plane, &layout.series, series_look(0));
	draw_marks(&layout);
	return chart_end(layout.drawing, text, y + whole.height + 30);
}
