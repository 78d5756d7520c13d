/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fit with its samples, and its errors below on the same x axis. */
#include <math.h>

#include "plots/style.h"
#include "sim/base/arena.h"

static const double plot_height = 240, errors_height = 90, micro = 1e-6;
static const double decades_most = 100, error_least = 0.01, error_most = 0.5;

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	const struct fit_view *fit;
	struct axis x, y, error;
	struct area area, below;
	bool held_out;
};

static bool shown(const struct layout *layout, const struct fit_point *point)
{
	return isfinite(point->x) && point->y_s > 0 && point->predicted_s > 0 &&
	       (!layout->x.log || point->x > 0);
}

/* Returns false if there is nothing to draw. */
static bool measure(struct layout *layout)
{
	const struct fit_view *fit = layout->fit;
	struct range x = {INFINITY, -INFINITY}, y = x, above_zero = x;
	double error = error_least;
	for (size_t i = 0; i < fit->count; i++)
		if (fit->points[i].x > 0)
			range_include(&above_zero, fit->points[i].x);
	layout->x.log = above_zero.high > decades_most * above_zero.low;
	layout->y.log = true;
	for (size_t i = 0; i < fit->count; i++) {
		const struct fit_point *point = &fit->points[i];
		if (!shown(layout, point))
			continue;
		range_include(&x, point->x);
		range_include(&y, point->y_s / micro);
		range_include(&y, point->predicted_s / micro);
		error = fmax(error, fabs(point->predicted_s / point->y_s - 1));
		layout->held_out |= point->held_out;
	}
	if (x.low > x.high)
		return false;
	error = 1.15 * fmin(fmax(error, 1.2 * fit->limit_ratio), error_most);
	axis_cover(&layout->x, x.low, x.high);
	axis_cover(&layout->y, y.low, y.high);
	layout->error = (struct axis){.low = -100 * error, .high = 100 * error};
	return true;
}

static void place(struct layout *layout, double y)
{
	double left = CHART_MARGIN + 56, width = CHART_WIDTH - CHART_MARGIN - 8 - left;
	layout->area = (struct area){left, y, width, plot_height};
	layout->below = (struct area){left, y + plot_height + 16, width, errors_height};
	axis_along(&layout->x, layout->area);
	axis_up(&layout->y, layout->area);
	axis_up(&layout->error, layout->below);
}

static struct look point_look(bool held_out)
{
	return (struct look){.paint = hue(held_out ? HUE_VERMILLION : HUE_BLUE),
			     .marker = held_out ? MARKER_DIAMOND : MARKER_CIRCLE,
			     .hollow = held_out};
}

static void draw_curve(const struct layout *layout)
{
	double *points = ARENA_ARRAY(layout->arena, 2 * layout->fit->count, double);
	size_t count = 0;
	for (size_t i = 0; i < layout->fit->count; i++) {
		const struct fit_point *point = &layout->fit->points[i];
		if (!shown(layout, point))
			continue;
		points[2 * count] = axis_at(&layout->x, point->x);
		points[2 * count++ + 1] = axis_at(&layout->y, point->predicted_s / micro);
	}
	draw_polyline(layout->drawing, points, count, ink, 1.2, DASH_SOLID);
}

static void draw_points(const struct layout *layout)
{
	for (size_t i = 0; i < layout->fit->count; i++) {
		const struct fit_point *point = &layout->fit->points[i];
		if (!shown(layout, point))
			continue;
		double x = axis_at(&layout->x, point->x);
		double error = 100 * (point->predicted_s / point->y_s - 1);
		error = fmin(fmax(error, layout->error.low), layout->error.high);
		struct look look = point_look(point->held_out);
		double low = fmax(point->low_s / micro, layout->y.low);
		double high = fmin(point->high_s / micro, layout->y.high);
		if (low > 0 && high > low)
			draw_whisker_y(layout->drawing, x, axis_at(&layout->y, low),
				       axis_at(&layout->y, high));
		draw_point(layout->drawing, look, x, axis_at(&layout->y, point->y_s / micro), 5);
		draw_point(layout->drawing, look, x, axis_at(&layout->error, error), 5);
	}
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	legend_add(&legend, LEGEND_MARKER, point_look(false),
		   "measured: mean of the passes' medians");
	if (layout->held_out)
		legend_add(&legend, LEGEND_MARKER, point_look(true),
			   "measured, held out from the fit");
	if (layout->fit->line)
		legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink}, "fit");
	return legend_end(&legend);
}

struct drawing *chart_fit(struct arena *arena, struct chart_text text, const struct fit_view *fit)
{
	struct layout layout = {.arena = arena, .fit = fit};
	if (!measure(&layout))
		return chart_empty(arena, text, "there are no points to show");
	place(&layout,
	      draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing)) + 8);
	draw_axis_y(layout.drawing, &layout.y, layout.area, "time (us)", true);
	draw_axis_y(layout.drawing, &layout.error, layout.below, "error of the fit (%)", true);
	if (layout.fit->sizes && layout.x.log)
		draw_axis_x_sizes(layout.drawing, &layout.x, layout.below, fit->x_label);
	else
		draw_axis_x(layout.drawing, &layout.x, layout.below, fit->x_label, true);
	const double at[] = {0, 100 * layout.fit->limit_ratio, -100 * layout.fit->limit_ratio};
	for (size_t i = 0; i < 3; i++)
		draw_line(layout.drawing, layout.below.x, axis_at(&layout.error, at[i]),
			  layout.below.x + layout.below.width, axis_at(&layout.error, at[i]),
			  i ? ink_soft : ink, 0.7, i ? DASH_SHORT : DASH_SOLID);
	if (fit->line)
		draw_curve(&layout);
	draw_points(&layout);
	return chart_end(layout.drawing, text, layout.below.y + layout.below.height + 34);
}
