/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line with its 90 % band, drawn by every chart of curves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plots/shapes.h"
#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

/* Returns true if a point can be shown as a value. It uses only the plane's kind of axes. */
static bool series_shown(const struct plane *plane, const struct series *series, size_t i)
{
	double x = series->x[i], y = series->y[i].value;
	return isfinite(x) && isfinite(y) && (!plane->x.log || x > 0) && (!plane->y.log || y > 0);
}

bool series_fails(const struct plane *plane, const struct series *series, size_t i)
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

void range_include(struct range *range, double value)
{
	range->low = fmin(range->low, value);
	range->high = fmax(range->high, value);
}

bool series_measure(const struct plane *plane, const struct series *series, struct range *x,
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

void draw_series_band(struct drawing *drawing, const struct plane *plane,
		      const struct series *series, struct look look)
{
	double *points = ARENA_ARRAY(drawing->arena, 4 * series->count + 1, double);
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
			draw_polygon(drawing, points, 2 * run, faint(look.paint, 0.16));
		else if (run == 1)
			draw_whisker_y(drawing, points[0], points[1], points[3]);
		i = end + 1;
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

void draw_axis_x_series(struct drawing *drawing, const struct axis *axis, struct area area,
			const char *label, const struct series *series, size_t count)
{
	double ticks[TICKS_MAX];
	const char *texts[TICKS_MAX];
	size_t tick_count = 0;
	bool few = true;
	for (size_t c = 0; c < count; c++)
		for (size_t i = 0; i < series[c].count && few; i++)
			few = take_tick(ticks, &tick_count, series[c].x[i]);
	if (!few || tick_count < 2)
		tick_count = axis_ticks(axis, (size_t)(area.width / 55) + 2, ticks);
	for (size_t i = 0; i < tick_count; i++)
		texts[i] = fabs(ticks[i]) >= 1e6 ? power_text(drawing->arena, ticks[i])
						 : arena_printf(drawing->arena, "%.4g", ticks[i]);
	draw_axis_x_at(drawing, axis, area, label, true, ticks, texts, tick_count);
}

void draw_series_line(struct drawing *drawing, const struct plane *plane,
		      const struct series *series, struct look look)
{
	double *points = ARENA_ARRAY(drawing->arena, 2 * series->count + 1, double);
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
				  "%s: %s", number_format(drawing->arena, 6, series->x[i + k]),
				  interval_text(drawing->arena, &series->y[i + k]));
		}
		i += run + 1;
	}
}
