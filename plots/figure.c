/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/units.h"

static const double strip_row = 10, strip_pad = 4, legend_gap = 8;

/* ---- curves ---- */

/* Returns true if a point can be shown as a value. It uses only the plane's kind of axes. */
static bool series_shown(const struct plane *plane, const struct series *series, size_t i)
{
	double x = series->x[i], y = series->y[i].value;
	return isfinite(x) && isfinite(y) && (!plane->x.log || x > 0) && (!plane->y.log || y > 0);
}

/* Returns true if the case fails there. */
static bool series_fails(const struct plane *plane, const struct series *series, size_t i)
{
	return isfinite(series->x[i]) && isnan(series->y[i].value) &&
	       (!plane->x.log || series->x[i] > 0);
}

static bool series_interval(const struct plane *plane, const struct series *series, size_t i)
{
	const struct estimate *y = &series->y[i];
	return series_shown(plane, series, i) && isfinite(y->low) && isfinite(y->high) &&
	       y->high > y->low && (!plane->y.log || y->low > 0);
}

/* Extends the ranges by everything that will be drawn. Returns true if any point has an interval.
 */
static bool series_measure(const struct plane *plane, const struct series *series, struct range *x,
			   struct range *y)
{
	bool interval = false;
	for (size_t i = 0; i < series->count; i++) {
		if (series_shown(plane, series, i) || series_fails(plane, series, i))
			range_include(x, series->x[i]);
		if (series_shown(plane, series, i))
			range_include(y, series->y[i].value);
		if (!series_interval(plane, series, i))
			continue;
		interval = true;
		range_include(y, series->y[i].low);
		range_include(y, series->y[i].high);
	}
	return interval;
}

/* ---- the whole figure ---- */

void figure_begin(struct figure *figure, struct arena *arena, struct chart_text text)
{
	*figure = (struct figure){.arena = arena, .text = text};
	double y = chart_begin(arena, text, CHART_WIDTH, &figure->drawing);
	figure->legend = legend_begin(figure->drawing, y);
}

struct panel *figure_panel(struct figure *figure, double left, double top, double width,
			   double height)
{
	FW_ASSERT(figure->panel_count < PANELS_MAX);
	struct panel *panel = &figure->panels[figure->panel_count++];
	*panel = (struct panel){.arena = figure->arena,
				.drawing = figure->drawing,
				.area = {CHART_MARGIN + left, top, width, height},
				.x = {INFINITY, -INFINITY},
				.y = {INFINITY, -INFINITY}};
	return panel;
}

void figure_curve(struct figure *figure, struct panel *panel, const char *label,
		  struct series series, struct look look)
{
	bool fails = false;
	for (size_t i = 0; i < series.count; i++)
		fails |= series_fails(&panel->plane, &series, i);
	*VEC_PUSH(figure->arena, &figure->curves) =
		(struct figure_curve){panel, series, look, label, fails};
	figure->failed += fails && panel == figure->panels;
	figure->interval |= series_measure(&panel->plane, &series, &panel->x, &panel->y);
}

bool figure_cover(struct figure *figure)
{
	const struct panel *first = figure->panels;
	if (first->x.low > first->x.high || first->y.low > first->y.high)
		return false;
	for (size_t i = 0; i < figure->panel_count; i++) {
		struct panel *panel = &figure->panels[i];
		if (!(panel->plane.x.low < panel->plane.x.high))
			axis_cover(&panel->plane.x, panel->x.low, panel->x.high);
		if (!(panel->plane.y.low < panel->plane.y.high))
			axis_cover(&panel->plane.y, panel->y.low, panel->y.high);
	}
	for (size_t i = 0; i < figure->curves.count; i++) {
		const struct figure_curve *curve = &figure->curves.items[i];
		if (curve->label && *curve->label)
			legend_add(&figure->legend, LEGEND_LINE, curve->look, curve->label);
	}
	return true;
}

void figure_interval_key(struct figure *figure)
{
	if (figure->interval)
		legend_add(&figure->legend, LEGEND_BAND,
			   (struct look){.paint = faint(ink_soft, 0.25)}, "90 % interval");
}

void figure_failure_key(struct figure *figure)
{
	if (figure->failed)
		legend_add(&figure->legend, LEGEND_MARKER,
			   (struct look){.paint = ink_soft, .marker = MARKER_CROSS}, "case fails");
}

void figure_measured_keys(struct figure *figure, const struct look looks[2])
{
	figure_interval_key(figure);
	for (int test = 0; test < 2; test++)
		if (figure->measured[test])
			legend_add(&figure->legend, LEGEND_MARKER, looks[test],
				   measured_roles[test]);
	if (figure->failed)
		legend_add(&figure->legend, LEGEND_MARKER,
			   (struct look){.paint = ink_alarm, .marker = MARKER_CROSS}, "fails");
}

void figure_place(struct figure *figure)
{
	double y = legend_end(&figure->legend) + legend_gap;
	for (size_t i = 0; i < figure->panel_count; i++) {
		struct panel *panel = &figure->panels[i];
		panel->area.y += y;
		axis_along(&panel->plane.x, panel->area);
		axis_up(&panel->plane.y, panel->area);
	}
}

struct drawing *figure_end(const struct figure *figure, double gap)
{
	const struct area *last = &figure->panels[figure->panel_count - 1].area;
	return chart_end(figure->drawing, figure->text, last->y + last->height + gap);
}

/* ---- layers ---- */

static void draw_band(const struct figure_curve *curve)
{
	struct drawing *drawing = curve->panel->drawing;
	const struct plane *plane = &curve->panel->plane;
	const struct series *series = &curve->series;
	double *points = ARENA_ARRAY(curve->panel->arena, 4 * series->count + 1, double);
	for (size_t i = 0; i < series->count;) {
		size_t end = i;
		while (end < series->count && series_interval(plane, series, end))
			end++;
		size_t run = end - i;
		for (size_t k = 0; k < run; k++) {
			size_t back = 2 * run - 1 - k;
			double x = axis_at(&plane->x, series->x[i + k]);
			points[2 * k] = points[2 * back] = x;
			points[2 * k + 1] = axis_at(&plane->y, series->y[i + k].high);
			points[2 * back + 1] = axis_at(&plane->y, series->y[i + k].low);
		}
		if (run >= 2)
			draw_polygon(drawing, points, 2 * run, faint(curve->look.paint, 0.16));
		else if (run == 1)
			draw_whisker_y(drawing, points[0], points[1], points[3]);
		i = end + 1;
	}
}

static void draw_curve(const struct figure_curve *curve)
{
	struct drawing *drawing = curve->panel->drawing;
	const struct plane *plane = &curve->panel->plane;
	const struct series *series = &curve->series;
	struct look look = curve->look;
	double *points = ARENA_ARRAY(curve->panel->arena, 2 * series->count + 1, double);
	for (size_t i = 0; i < series->count;) {
		size_t run = 0;
		for (; i + run < series->count && series_shown(plane, series, i + run); run++) {
			points[2 * run] = axis_at(&plane->x, series->x[i + run]);
			points[2 * run + 1] = axis_at(&plane->y, series->y[i + run].value);
		}
		if (run >= 2)
			draw_polyline(drawing, points, run, look.paint, 1.7, look.dash);
		double space =
			run >= 2 ? (points[2 * run - 2] - points[0]) / (double)(run - 1) : 99;
		for (size_t k = 0; k < run; k++) {
			if (look.marker != MARKER_NONE &&
			    (space >= 8 || k % (size_t)ceil(12 / fmax(space, 0.1)) == 0))
				draw_point(drawing, look, points[2 * k], points[2 * k + 1], 6);
			draw_hint(drawing, points[2 * k], points[2 * k + 1], fmin(10, space), 10,
				  "%s: %s", number_format(curve->panel->arena, 6, series->x[i + k]),
				  interval_text(curve->panel->arena, &series->y[i + k]));
		}
		i += run + 1;
	}
}

/* Adds a value to the ascending ticks. Returns false if it is long, or if there are too many. */
static bool take_tick(double *ticks, size_t *count, double value)
{
	char text[32];
	size_t at = *count;
	for (size_t i = 0; i < *count; i++)
		if (ticks[i] == value)
			return true;
	snprintf(text, sizeof text, "%.4g", value);
	if (*count == TICKS_MAX || fabs(strtod(text, NULL) - value) > 1e-6 * fabs(value))
		return false;
	for (; at > 0 && ticks[at - 1] > value; at--)
		ticks[at] = ticks[at - 1];
	ticks[at] = value;
	++*count;
	return true;
}

void figure_axis_x(const struct figure *figure, struct area area, const char *label)
{
	const struct axis *axis = &figure->panels[0].plane.x;
	double ticks[TICKS_MAX];
	const char *texts[TICKS_MAX];
	size_t tick_count = 0;
	bool few = true;
	for (size_t c = 0; c < figure->curves.count; c++)
		for (size_t i = 0; i < figure->curves.items[c].series.count && few; i++)
			few = take_tick(ticks, &tick_count, figure->curves.items[c].series.x[i]);
	if (!few || tick_count < 2)
		tick_count = axis_ticks(axis, (size_t)(area.width / 55) + 2, ticks);
	for (size_t i = 0; i < tick_count; i++)
		texts[i] = fabs(ticks[i]) >= 1e6 ? power_text(figure->arena, ticks[i])
						 : arena_printf(figure->arena, "%.4g", ticks[i]);
	draw_axis_x_at(figure->drawing, axis, area, label, true, ticks, texts, tick_count);
}

void figure_bands(const struct figure *figure)
{
	for (size_t i = 0; i < figure->curves.count; i++)
		draw_band(&figure->curves.items[i]);
}

void figure_lines(const struct figure *figure)
{
	for (size_t i = 0; i < figure->curves.count; i++)
		draw_curve(&figure->curves.items[i]);
}

struct area figure_failures(const struct figure *figure, const struct panel *panel)
{
	struct drawing *drawing = figure->drawing;
	struct area area = panel->area;
	if (figure->failed == 0)
		return area;
	double top = area.y + area.height, right = area.x + area.width;
	double height = strip_row * (double)figure->failed + strip_pad;
	double y = top + 2 + strip_row / 2;
	draw_rectangle(drawing, area.x, top, area.width, height, ink_panel);
	draw_line(drawing, area.x, top, right, top, ink_soft, 0.5, DASH_SHORT);
	draw_text(drawing, area.x - 6, fmax(top + height / 2 + 3, top + 12), FONT_TEXT, ANCHOR_END,
		  ink_alarm, false, "fail");
	for (size_t c = 0; c < figure->curves.count; c++) {
		const struct figure_curve *curve = &figure->curves.items[c];
		if (!curve->fails)
			continue;
		for (size_t i = 0; i < curve->series.count; i++)
			if (series_fails(&panel->plane, &curve->series, i))
				draw_marker(drawing, MARKER_CROSS,
					    panel_x(panel, curve->series.x[i]), y, 6,
					    curve->look.paint);
		/* identifies the row's curve by marker as well as colour */
		if (figure->curves.count > 1)
			draw_point(drawing, curve->look, right - 8, y, 5);
		y += strip_row;
	}
	area.height += height;
	return area;
}

double panel_x(const struct panel *panel, double x)
{
	return axis_at(&panel->plane.x, x);
}

double panel_y(const struct panel *panel, double y)
{
	return axis_at(&panel->plane.y, y);
}

void panel_level(const struct panel *panel, double y, struct paint paint, double line_width,
		 enum dash dash)
{
	double at = panel_y(panel, y);
	draw_line(panel->drawing, panel->area.x, at, panel->area.x + panel->area.width, at, paint,
		  line_width, dash);
}

void panel_upright(const struct panel *panel, double x, struct paint paint, double line_width,
		   enum dash dash)
{
	double at = panel_x(panel, x);
	draw_line(panel->drawing, at, panel->area.y, at, panel->area.y + panel->area.height, paint,
		  line_width, dash);
}

void panel_whisker(const struct panel *panel, double x, double low, double high)
{
	if (low < high)
		draw_whisker_y(panel->drawing, panel_x(panel, x), panel_y(panel, low),
			       panel_y(panel, high));
}

void panel_point(const struct panel *panel, double x, double y, struct look look, double size)
{
	draw_point(panel->drawing, look, panel_x(panel, x), panel_y(panel, y), size);
}

void panel_cross(const struct panel *panel, double x)
{
	draw_marker(panel->drawing, MARKER_CROSS, panel_x(panel, x),
		    panel->area.y + panel->area.height - 6, 7, ink_alarm);
}
