/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line with its 90 % band, drawn by every chart of curves. */
#include <math.h>

#include "plots/shapes.h"
#include "plots/style.h"
#include "sim/base/arena.h"

bool series_shown(const struct plane *plane, const struct series *series, size_t i)
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
		for (size_t k = 0; k < run && look.marker != MARKER_NONE; k++)
			if (space >= 8 || k % (size_t)ceil(12 / fmax(space, 0.1)) == 0)
				draw_point(drawing, look, points[2 * k], points[2 * k + 1], 6);
		i += run + 1;
	}
}
