/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines over one varied parameter, with their names, if any, at the right end. Where a case fails,
 * the curve has no value, and a cross is drawn in a strip below the plot, with one row per curve.
 */
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
	struct area area; /* the strip of failures is below it */
	double label_width;
	size_t failed; /* number of curves with failures */
	bool interval; /* any curve has intervals */
};

static struct series series_of(const struct curve *curve)
{
	return (struct series){curve->x, curve->y, curve->count};
}

static bool fails(const struct layout *layout, const struct curve *curve, size_t i)
{
	struct series series = series_of(curve);
	return series_fails(&layout->plane, &series, i);
}

static bool has_failure(const struct layout *layout, const struct curve *curve)
{
	for (size_t i = 0; i < curve->count; i++)
		if (fails(layout, curve, i))
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
		const struct series series = series_of(curve);
		layout->failed += has_failure(layout, curve);
		layout->label_width =
			fmax(layout->label_width, text_width(curve->label, FONT_TEXT, false));
		layout->interval |= series_measure(&layout->plane, &series, &x, &y);
	}
	if (x.low > x.high)
		return false;
	if (y.low > y.high)
		y = (struct range){layout->axes.y_log ? 0.1 : 0, 1};
	layout->label_width = fmin(layout->label_width, 150);
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
	draw_text(layout->drawing, layout->area.x - 6, top + height / 2 + 3, FONT_TEXT, ANCHOR_END,
		  ink_alarm, false, "fail");
	double y = top + 2 + strip_row / 2;
	for (size_t c = 0; c < layout->count; c++) {
		const struct curve *curve = &layout->curves[c];
		if (!has_failure(layout, curve))
			continue;
		for (size_t i = 0; i < curve->count; i++)
			if (fails(layout, curve, i))
				draw_marker(layout->drawing, MARKER_CROSS,
					    axis_at(&layout->plane.x, curve->x[i]), y, 6,
					    series_look(c).paint);
		/* identifies the row's curve by marker as well as colour */
		struct look look = series_look(c);
		draw_point(layout->drawing, look, layout->area.x + layout->area.width + 8, y, 5);
		y += strip_row;
	}
}

struct end_label {
	double x, y, at; /* x, y: end of the curve; at: middle of the label */
	size_t curve;
};

static double fail_row_y(const struct layout *layout, size_t curve)
{
	double y = layout->area.y + layout->area.height + 2 + strip_row / 2;
	for (size_t c = 0; c < curve; c++)
		y += has_failure(layout, &layout->curves[c]) ? strip_row : 0;
	return y;
}

/* Sorts the labels by the heights of the ends and separates them: first downwards, then back up
 * from the lower edge. */
static size_t end_labels(const struct layout *layout, struct end_label *labels)
{
	const double pitch = 11.5;
	size_t count = 0;
	for (size_t c = 0; c < layout->count; c++) {
		const struct curve *curve = &layout->curves[c];
		struct series series = series_of(curve);
		struct end_label label = {
			.x = layout->area.x, .y = fail_row_y(layout, c), .curve = c};
		for (size_t i = 0; i < curve->count; i++)
			if (series_shown(&layout->plane, &series, i)) {
				label.x = axis_at(&layout->plane.x, curve->x[i]);
				label.y = axis_at(&layout->plane.y, curve->y[i].value);
			}
		label.at = label.y;
		size_t at = count++;
		for (; at > 0 && labels[at - 1].y > label.y; at--)
			labels[at] = labels[at - 1];
		labels[at] = label;
	}
	for (size_t i = 1; i < count; i++)
		labels[i].at = fmax(labels[i].at, labels[i - 1].at + pitch);
	double most = layout->area.y + layout->area.height + strip_row * (double)layout->failed;
	for (size_t i = count; i-- > 0;) {
		labels[i].at = fmin(labels[i].at, most);
		most = labels[i].at - pitch;
	}
	return count;
}

static void draw_labels(const struct layout *layout)
{
	struct end_label *labels = ARENA_ARRAY(layout->arena, layout->count, struct end_label);
	size_t count = end_labels(layout, labels);
	double x = layout->area.x + layout->area.width + 22;
	for (size_t i = 0; i < count; i++) {
		const struct curve *curve = &layout->curves[labels[i].curve];
		struct look look = series_look(labels[i].curve);
		draw_line(layout->drawing, labels[i].x + 5, labels[i].y, x - 3, labels[i].at,
			  faint(look.paint, 0.7), 0.6, DASH_DOT);
		draw_line(layout->drawing, x, labels[i].at, x + 22, labels[i].at, look.paint, 1.7,
			  look.dash);
		draw_point(layout->drawing, look, x + 11, labels[i].at, 6);
		draw_text(layout->drawing, x + 27, labels[i].at + 3, FONT_TEXT, ANCHOR_START, ink,
			  false,
			  text_fit(layout->arena, curve->label, FONT_TEXT, false,
				   layout->label_width));
	}
}

/* Returns whether the line at 95 % is drawn: only inside of the axis. */
static bool has_goal(const struct layout *layout)
{
	const struct axis *y = &layout->plane.y;
	return layout->axes.share && y->low < goal_ratio && y->high > goal_ratio;
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	if (layout->interval)
		legend_add(&legend, LEGEND_BAND, (struct look){.paint = faint(ink_soft, 0.25)},
			   "90 % interval");
	if (has_goal(layout))
		legend_add(&legend, LEGEND_LINE,
			   (struct look){.paint = ink_soft, .dash = DASH_SHORT}, "95 %");
	if (layout->failed > 0)
		legend_add(&legend, LEGEND_MARKER,
			   (struct look){.paint = ink_soft, .marker = MARKER_CROSS}, "case fails");
	return legend_end(&legend);
}

struct drawing *chart_curves(struct arena *arena, struct chart_text text, struct chart_axes axes,
			     const struct curve *curves, size_t count)
{
	struct layout layout = {.arena = arena, .axes = axes, .curves = curves, .count = count};
	if (!measure(&layout))
		return chart_empty(arena, text, "there are no points to show");
	double y = draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing)) + 8;
	double left = CHART_MARGIN + 50;
	bool named = layout.label_width > 0; /* a single curve may have no name */
	double right = CHART_MARGIN + (named ? layout.label_width + 52 : 0);
	layout.area = (struct area){left, y, CHART_WIDTH - right - left, plot_height};
	axis_along(&layout.plane.x, layout.area);
	axis_up(&layout.plane.y, layout.area);
	double strip = layout.failed ? strip_row * (double)layout.failed + 4 : 0;
	struct area whole = layout.area;
	whole.height += strip;
	draw_axis_y(layout.drawing, &layout.plane.y, layout.area, axes.y_label, true);
	if (has_goal(&layout)) {
		double goal = axis_at(&layout.plane.y, goal_ratio);
		draw_line(layout.drawing, left, goal, layout.plane.x.to, goal, ink_soft, 0.9,
			  DASH_SHORT);
	}
	draw_strip(&layout);
	draw_axis_x(layout.drawing, &layout.plane.x, whole, axes.x_label, false);
	for (size_t c = 0; c < count; c++) {
		struct series series = series_of(&curves[c]);
		draw_series_band(layout.drawing, &layout.plane, &series, series_look(c));
	}
	for (size_t c = 0; c < count; c++) {
		struct series series = series_of(&curves[c]);
		draw_series_line(layout.drawing, &layout.plane, &series, series_look(c));
	}
	if (named)
		draw_labels(&layout);
	return chart_end(layout.drawing, text, y + whole.height + 30);
}
