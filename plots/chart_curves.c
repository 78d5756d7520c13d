/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines over one varied parameter. Where a case fails, the curve has no value, and a cross is drawn
 * in a strip below the plot, with one row per curve. */
#include <math.h>

#include "plots/style.h"
#include "sim/base/arena.h"

static const double plot_height = 300, strip_row = 10, goal_ratio = 0.95;

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	struct chart_axes axes;
	const struct curve *curves;
	size_t count;
	struct plane plane;
	struct area area;      /* the strip of failures is below it */
	struct series *series; /* one for each curve */
	size_t failed;         /* number of curves with failures */
	bool interval;         /* any curve has intervals */
};

static bool has_failure(const struct layout *layout, size_t c)
{
	for (size_t i = 0; i < layout->curves[c].count; i++)
		if (series_fails(&layout->plane, &layout->series[c], i))
			return true;
	return false;
}

/* Returns false if there is nothing to draw. */
static bool measure(struct layout *layout)
{
	struct range x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
	layout->plane.x.log = layout->axes.x_log;
	layout->plane.y.log = layout->axes.y_log;
	for (size_t c = 0; c < layout->count; c++) {
		const struct curve *curve = &layout->curves[c];
		layout->series[c] = (struct series){curve->x, curve->y, curve->count};
		layout->failed += has_failure(layout, c);
		layout->interval |= series_measure(&layout->plane, &layout->series[c], &x, &y);
	}
	if (x.low > x.high)
		return false;
	if (y.low > y.high)
		y = (struct range){layout->axes.y_log ? 0.1 : 0, 1};
	if (layout->axes.goal_label)
		range_include(&y, layout->axes.goal);
	axis_cover(&layout->plane.x, x.low, x.high);
	axis_cover(&layout->plane.y, y.low, y.high);
	return true;
}

static void draw_strip(const struct layout *layout)
{
	if (layout->failed == 0)
		return;
	double top = layout->area.y + layout->area.height;
	double height = strip_row * (double)layout->failed + 4;
	draw_rectangle(layout->drawing, layout->area.x, top, layout->area.width, height, ink_panel);
	draw_line(layout->drawing, layout->area.x, top, layout->area.x + layout->area.width, top,
		  ink_soft, 0.5, DASH_SHORT);
	draw_text(layout->drawing, layout->area.x - 6, fmax(top + height / 2 + 3, top + 12),
		  FONT_TEXT, ANCHOR_END, ink_alarm, false, "fail");
	double y = top + 2 + strip_row / 2;
	for (size_t c = 0; c < layout->count; c++) {
		const struct curve *curve = &layout->curves[c];
		if (!has_failure(layout, c))
			continue;
		for (size_t i = 0; i < curve->count; i++)
			if (series_fails(&layout->plane, &layout->series[c], i))
				draw_marker(layout->drawing, MARKER_CROSS,
					    axis_at(&layout->plane.x, curve->x[i]), y, 6,
					    series_look(c).paint);
		/* identifies the row's curve by marker as well as colour */
		if (layout->count > 1)
			draw_point(layout->drawing, series_look(c),
				   layout->area.x + layout->area.width - 8, y, 5);
		y += strip_row;
	}
}

static double goal_of(const struct layout *layout)
{
	return layout->axes.goal_label ? layout->axes.goal : goal_ratio;
}

/* Returns whether the line at the goal is drawn: only inside of the axis. */
static bool has_goal(const struct layout *layout)
{
	const struct axis *y = &layout->plane.y;
	return (layout->axes.share || layout->axes.goal_label) && y->low < goal_of(layout) &&
	       y->high > goal_of(layout);
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	for (size_t c = 0; c < layout->count; c++)
		if (*layout->curves[c].label) /* a single curve may have no name */
			legend_add(&legend, LEGEND_LINE, series_look(c), layout->curves[c].label);
	if (layout->interval)
		legend_add(&legend, LEGEND_BAND, (struct look){.paint = faint(ink_soft, 0.25)},
			   "90 % interval");
	if (has_goal(layout))
		legend_add(&legend, LEGEND_LINE,
			   (struct look){.paint = ink_soft, .dash = DASH_SHORT},
			   layout->axes.goal_label ? layout->axes.goal_label : "95 %");
	if (layout->failed > 0)
		legend_add(&legend, LEGEND_MARKER,
			   (struct look){.paint = ink_soft, .marker = MARKER_CROSS}, "case fails");
	return legend_end(&legend);
}

struct drawing *chart_curves(struct arena *arena, struct chart_text text, struct chart_axes axes,
			     const struct curve *curves, size_t count)
{
	struct layout layout = {.arena = arena, .axes = axes, .curves = curves, .count = count};
	layout.series = ARENA_ARRAY(arena, count + 1, struct series);
	if (!measure(&layout))
		return chart_empty(arena, text, "there are no points to show");
	double y = draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing)) + 8;
	double left = CHART_MARGIN + 50;
	layout.area = (struct area){left, y, CHART_WIDTH - CHART_MARGIN - left, plot_height};
	axis_along(&layout.plane.x, layout.area);
	axis_up(&layout.plane.y, layout.area);
	struct area whole = layout.area;
	whole.height += layout.failed ? strip_row * (double)layout.failed + 4 : 0;
	draw_axis_y(layout.drawing, &layout.plane.y, layout.area, axes.y_label, true);
	if (has_goal(&layout)) {
		double goal = axis_at(&layout.plane.y, goal_of(&layout));
		draw_line(layout.drawing, left, goal, layout.plane.x.to, goal, ink_soft, 0.9,
			  DASH_SHORT);
	}
	draw_strip(&layout);
	if (axes.x_sizes)
		draw_axis_x_sizes(layout.drawing, &layout.plane.x, whole, axes.x_label);
	else
		draw_axis_x_series(layout.drawing, &layout.plane.x, whole, axes.x_label,
				   layout.series, count);
	for (size_t c = 0; c < count; c++)
		draw_series_band(layout.drawing, &layout.plane, &layout.series[c], series_look(c));
	for (size_t c = 0; c < count; c++)
		draw_series_line(layout.drawing, &layout.plane, &layout.series[c], series_look(c));
	return chart_end(layout.drawing, text, y + whole.height + 30);
}
