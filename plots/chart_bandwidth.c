/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bus bandwidth over the message size: simulated lines with their bands and measured points on top.
 * A single line also has a strip with the library's choices. */
#include <math.h>
#include <string.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double plot_height = 300, strip_height = 14, choice_least = 24;
static const double giga = 1e9;

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	const struct bandwidth_curve *curves;
	size_t count;
	struct series *lines;
	struct plane plane;
	struct area area;
	bool interval, fails, measured[2];
};

static bool has_measured(const struct bandwidth_point *point)
{
	return isfinite(point->measured_Bps) && point->measured_Bps > 0 && point->size_B > 0;
}

static void take_curve(struct layout *layout, size_t c, struct range *x, struct range *y)
{
	const struct bandwidth_curve *curve = &layout->curves[c];
	double *sizes = ARENA_ARRAY(layout->arena, curve->count + 1, double);
	struct estimate *rates = ARENA_ARRAY(layout->arena, curve->count + 1, struct estimate);
	for (size_t i = 0; i < curve->count; i++) {
		const struct bandwidth_point *point = &curve->points[i];
		const struct estimate *rate = &point->bandwidth_Bps;
		sizes[i] = point->size_B;
		rates[i] =
			(struct estimate){rate->value / giga, rate->low / giga, rate->high / giga};
		layout->fails |= isnan(rate->value);
		if (!has_measured(point))
			continue;
		layout->measured[point->test] = true;
		range_include(x, point->size_B);
		range_include(y, point->measured_Bps / giga);
	}
	layout->lines[c] = (struct series){sizes, rates, curve->count};
	layout->interval |= series_measure(&layout->plane, &layout->lines[c], x, y);
}

static bool measure(struct layout *layout)
{
	struct range x = {INFINITY, -INFINITY}, y = x;
	layout->plane.x.log = layout->plane.y.log = true;
	for (size_t c = 0; c < layout->count; c++)
		take_curve(layout, c, &x, &y);
	if (x.low > x.high || y.low > y.high)
		return false;
	axis_cover(&layout->plane.x, x.low, x.high);
	axis_cover(&layout->plane.y, y.low, y.high);
	return true;
}

static struct look measured_look(const struct layout *layout, size_t curve, bool test)
{
	return (struct look){.paint = layout->count > 1 ? series_look(curve).paint
							: hue(HUE_VERMILLION),
			     .marker = MARKER_DIAMOND,
			     .hollow = !test};
}

static struct look line_look(size_t curve)
{
	struct look look = series_look(curve);
	look.marker = MARKER_NONE; /* markers are for measured values */
	return look;
}

static void draw_points(const struct layout *layout, size_t c)
{
	const struct bandwidth_curve *curve = &layout->curves[c];
	for (size_t i = 0; i < curve->count; i++) {
		const struct bandwidth_point *point = &curve->points[i];
		double x = axis_at(&layout->plane.x, point->size_B);
		if (series_fails(&layout->plane, &layout->lines[c], i))
			draw_marker(layout->drawing, MARKER_CROSS, x,
				    layout->area.y + layout->area.height - 6, 7, ink_alarm);
		if (!has_measured(point))
			continue;
		double measured = point->measured_Bps / giga;
		double y = axis_at(&layout->plane.y, measured);
		draw_point(layout->drawing, measured_look(layout, c, point->test), x, y, 7);
		draw_hint(layout->drawing, x, y, 10, 10, "%s B: measured %s, predicted %s",
			  number_format(layout->arena, 6, point->size_B),
			  number_format(layout->arena, 6, measured),
			  interval_text(layout->arena, &layout->lines[c].y[i]));
	}
}

static bool same_choice(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns the boundary between two sizes with different choices: the middle. */
static double border(const struct layout *layout, const struct bandwidth_curve *curve, size_t i)
{
	if (i == 0)
		return layout->area.x;
	if (i == curve->count)
		return layout->area.x + layout->area.width;
	return (axis_at(&layout->plane.x, curve->points[i - 1].size_B) +
		axis_at(&layout->plane.x, curve->points[i].size_B)) /
	       2;
}

/* Draws the choices of a single line in a strip above the plot. */
static void draw_choices(const struct layout *layout)
{
	const struct bandwidth_curve *curve = &layout->curves[0];
	bool known = false;
	for (size_t i = 0; i < curve->count; i++)
		known = known || curve->points[i].choice;
	if (layout->count != 1 || !known)
		return;
	for (size_t i = 0, end; i < curve->count; i = end) {
		const char *choice = curve->points[i].choice;
		for (end = i + 1; end < curve->count; end++)
			if (!same_choice(curve->points[end].choice, choice))
				break;
		double from = border(layout, curve, i), to = border(layout, curve, end);
		if (i > 0)
			draw_line(layout->drawing, from, layout->area.y - strip_height, from,
				  layout->area.y + layout->area.height, ink_soft, 0.5, DASH_DOT);
		if (choice && to - from > choice_least)
			draw_text(
				layout->drawing, (from + to) / 2, layout->area.y - 4, FONT_SMALL,
				ANCHOR_MIDDLE, ink_soft, false,
				text_fit(layout->arena, choice, FONT_SMALL, false, to - from - 4));
	}
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	for (size_t c = 0; c < layout->count; c++)
		legend_add(&legend, LEGEND_LINE, line_look(c), layout->curves[c].label);
	if (layout->interval)
		legend_add(&legend, LEGEND_BAND, (struct look){.paint = faint(ink_soft, 0.25)},
			   "90 % interval");
	for (int test = 0; test < 2; test++)
		if (layout->measured[test])
			legend_add(&legend, LEGEND_MARKER, measured_look(layout, 0, test),
				   measured_roles[test]);
	if (layout->fails)
		legend_add(&legend, LEGEND_MARKER,
			   (struct look){.paint = ink_alarm, .marker = MARKER_CROSS}, "fails");
	return legend_end(&legend);
}

struct drawing *chart_bandwidth(struct arena *arena, struct chart_text text,
				const struct bandwidth_curve *curves, size_t count)
{
	struct layout layout = {.arena = arena,
				.curves = curves,
				.count = count,
				.lines = ARENA_ARRAY(arena, count + 1, struct series)};
	if (!measure(&layout))
		return chart_empty(arena, text, "there are no points to show");
	double y = draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing)) + 8;
	double left = CHART_MARGIN + 50;
	layout.area = (struct area){left, y + strip_height, CHART_WIDTH - CHART_MARGIN - 8 - left,
				    plot_height};
	axis_along(&layout.plane.x, layout.area);
	axis_up(&layout.plane.y, layout.area);
	draw_axis_y(layout.drawing, &layout.plane.y, layout.area, "bus bandwidth (GB/s)", true);
	draw_axis_x_sizes(layout.drawing, &layout.plane.x, layout.area, "message size");
	draw_choices(&layout);
	for (size_t c = 0; c < count; c++)
		draw_series_band(layout.drawing, &layout.plane, &layout.lines[c], line_look(c));
	for (size_t c = 0; c < count; c++)
		draw_series_line(layout.drawing, &layout.plane, &layout.lines[c], line_look(c));
	for (size_t c = 0; c < count; c++)
		draw_points(&layout, c);
	return chart_end(layout.drawing, text, layout.area.y + layout.area.height + 30);
}
