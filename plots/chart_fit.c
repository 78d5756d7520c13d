/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fit with its samples, and its errors below on the same x axis. */
#include <math.h>

#include "plots/figure.h"
#include "sim/base/arena.h"

static const double plot_height = 240, panel_gap = 16, errors_height = 90, micro = 1e-6;
static const double decades_most = 100, error_least = 0.01, error_most = 0.5, left = 56;

static bool shown(const struct panel *times, const struct fit_point *point)
{
	return isfinite(point->x) && point->y_s > 0 && point->predicted_s > 0 &&
	       (!times->plane.x.log || point->x > 0);
}

static struct look point_look(bool held_out)
{
	return (struct look){.paint = hue(held_out ? HUE_VERMILLION : HUE_BLUE),
			     .marker = held_out ? MARKER_DIAMOND : MARKER_CIRCLE,
			     .hollow = held_out};
}

/* Sets what the axes cover. */
static void measure(struct panel *times, struct panel *errors, const struct fit_view *fit,
		    bool *held_out)
{
	struct range above_zero = times->x;
	double error = error_least;
	for (size_t i = 0; i < fit->count; i++)
		if (fit->points[i].x > 0)
			range_include(&above_zero, fit->points[i].x);
	times->plane.x.log = errors->plane.x.log = above_zero.high > decades_most * above_zero.low;
	times->plane.y.log = true;
	for (size_t i = 0; i < fit->count; i++) {
		const struct fit_point *point = &fit->points[i];
		if (!shown(times, point))
			continue;
		range_include(&times->x, point->x);
		range_include(&times->y, point->y_s / micro);
		range_include(&times->y, point->predicted_s / micro);
		error = fmax(error, fabs(point->predicted_s / point->y_s - 1));
		*held_out |= point->held_out;
	}
	errors->x = times->x;
	error = 1.15 * fmin(fmax(error, 1.2 * fit->limit_ratio), error_most);
	errors->plane.y = (struct axis){.low = -100 * error, .high = 100 * error};
}

static void draw_curve(const struct panel *times, const struct fit_view *fit)
{
	double *points = ARENA_ARRAY(times->arena, 2 * fit->count, double);
	size_t count = 0;
	for (size_t i = 0; i < fit->count; i++) {
		if (!shown(times, &fit->points[i]))
			continue;
		points[2 * count] = panel_x(times, fit->points[i].x);
		points[2 * count++ + 1] = panel_y(times, fit->points[i].predicted_s / micro);
	}
	draw_polyline(times->drawing, points, count, ink, 1.2, DASH_SOLID);
}

static void draw_sample(const struct panel *times, const struct panel *errors,
			const struct fit_point *point)
{
	const struct axis *range = &errors->plane.y;
	double error = 100 * (point->predicted_s / point->y_s - 1);
	double low = fmax(point->low_s / micro, times->plane.y.low);
	struct look look = point_look(point->held_out);
	if (low > 0)
		panel_whisker(times, point->x, low,
			      fmin(point->high_s / micro, times->plane.y.high));
	panel_point(times, point->x, point->y_s / micro, look, 5);
	panel_point(errors, point->x, fmin(fmax(error, range->low), range->high), look, 5);
}

struct drawing *chart_fit(struct arena *arena, struct chart_text text, const struct fit_view *fit)
{
	struct figure figure;
	double width = CHART_WIDTH - 2 * CHART_MARGIN - 8 - left;
	bool held_out = false;
	figure_begin(&figure, arena, text);
	struct panel *times = figure_panel(&figure, left, 0, width, plot_height);
	struct panel *errors =
		figure_panel(&figure, left, plot_height + panel_gap, width, errors_height);
	measure(times, errors, fit, &held_out);
	if (!figure_cover(&figure))
		return chart_empty(arena, text, "there are no points to show");
	legend_add(&figure.legend, LEGEND_MARKER, point_look(false),
		   "measured: mean of the passes' medians");
	if (held_out)
		legend_add(&figure.legend, LEGEND_MARKER, point_look(true),
			   "measured, held out from the fit");
	if (fit->line)
		legend_add(&figure.legend, LEGEND_LINE, (struct look){.paint = ink}, "fit");
	figure_place(&figure);
	draw_axis_y(figure.drawing, &times->plane.y, times->area, "time (us)", true);
	draw_axis_y(figure.drawing, &errors->plane.y, errors->area, "error of the fit (%)", true);
	if (fit->sizes && times->plane.x.log)
		draw_axis_x_sizes(figure.drawing, &errors->plane.x, errors->area, fit->x_label);
	else
		draw_axis_x(figure.drawing, &errors->plane.x, errors->area, fit->x_label, true);
	panel_level(errors, 0, ink, 0.7, DASH_SOLID);
	panel_level(errors, 100 * fit->limit_ratio, ink_soft, 0.7, DASH_SHORT);
	panel_level(errors, -100 * fit->limit_ratio, ink_soft, 0.7, DASH_SHORT);
	if (fit->line)
		draw_curve(times, fit);
	for (size_t i = 0; i < fit->count; i++)
		if (shown(times, &fit->points[i]))
			draw_sample(times, errors, &fit->points[i]);
	return figure_end(&figure, 34);
}
