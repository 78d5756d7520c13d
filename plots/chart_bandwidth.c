/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bus bandwidth over the message size: simulated lines with their bands and measured points on top.
 * A single line also has a strip with the library's choices. */
#include <math.h>
#include <string.h>

#include "plots/figure.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double plot_height = 300, strip_height = 14, choice_least = 24, left = 50;
static const double giga = 1e9;

static bool has_measured(const struct bandwidth_point *point)
{
	return isfinite(point->measured_Bps) && point->measured_Bps > 0 && point->size_B > 0;
}

static void take_curve(struct figure *figure, struct panel *panel,
		       const struct bandwidth_curve *curve, struct look look)
{
	double *sizes = ARENA_ARRAY(figure->arena, curve->count + 1, double);
	struct estimate *rates = ARENA_ARRAY(figure->arena, curve->count + 1, struct estimate);
	look.marker = MARKER_NONE; /* markers are for measured values */
	for (size_t i = 0; i < curve->count; i++) {
		const struct bandwidth_point *point = &curve->points[i];
		const struct estimate *rate = &point->bandwidth_Bps;
		sizes[i] = point->size_B;
		rates[i] =
			(struct estimate){rate->value / giga, rate->low / giga, rate->high / giga};
		if (!has_measured(point))
			continue;
		figure->measured[point->test] = true;
		range_include(&panel->x, point->size_B);
		range_include(&panel->y, point->measured_Bps / giga);
	}
	figure_curve(figure, panel, curve->label, (struct series){sizes, rates, curve->count},
		     look);
}

static struct look measured_look(size_t count, size_t curve, bool test)
{
	return (struct look){.paint = count > 1 ? series_look(curve).paint : hue(HUE_VERMILLION),
			     .marker = MARKER_DIAMOND,
			     .hollow = !test};
}

static void draw_points(const struct panel *panel, const struct bandwidth_curve *curve,
			const struct series *line, const struct look looks[2])
{
	for (size_t i = 0; i < curve->count; i++) {
		const struct bandwidth_point *point = &curve->points[i];
		if (isnan(point->bandwidth_Bps.value) && point->size_B > 0)
			panel_cross(panel, point->size_B);
		if (!has_measured(point))
			continue;
		double measured = point->measured_Bps / giga;
		panel_point(panel, point->size_B, measured, looks[point->test], 7);
		draw_hint(panel->drawing, panel_x(panel, point->size_B), panel_y(panel, measured),
			  10, 10, "%s B: measured %s, predicted %s",
			  number_format(panel->arena, 6, point->size_B),
			  number_format(panel->arena, 6, measured),
			  interval_text(panel->arena, &line->y[i]));
	}
}

static bool same_choice(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns the boundary between two sizes with different choices: the middle. */
static double border(const struct panel *panel, const struct bandwidth_curve *curve, size_t i)
{
	if (i == 0)
		return panel->area.x;
	if (i == curve->count)
		return panel->area.x + panel->area.width;
	return (panel_x(panel, curve->points[i - 1].size_B) +
		panel_x(panel, curve->points[i].size_B)) /
	       2;
}

/* Draws the choices of a line in a strip above the plot. */
static void draw_choices(const struct panel *panel, const struct bandwidth_curve *curve)
{
	double top = panel->area.y, bottom = top + panel->area.height;
	bool known = false;
	for (size_t i = 0; i < curve->count; i++)
		known = known || curve->points[i].choice;
	for (size_t i = 0, end; known && i < curve->count; i = end) {
		const char *choice = curve->points[i].choice;
		for (end = i + 1; end < curve->count; end++)
			if (!same_choice(curve->points[end].choice, choice))
				break;
		double from = border(panel, curve, i), to = border(panel, curve, end);
		if (i > 0)
			draw_line(panel->drawing, from, top - strip_height, from, bottom, ink_soft,
				  0.5, DASH_DOT);
		if (choice && to - from > choice_least)
			draw_text(panel->drawing, (from + to) / 2, top - 4, FONT_SMALL,
				  ANCHOR_MIDDLE, ink_soft, false,
				  text_fit(panel->arena, choice, FONT_SMALL, false, to - from - 4));
	}
}

struct drawing *chart_bandwidth(struct arena *arena, struct chart_text text,
				const struct bandwidth_curve *curves, size_t count)
{
	struct figure figure;
	figure_begin(&figure, arena, text);
	struct panel *panel = figure_panel(&figure, left, strip_height,
					   CHART_WIDTH - 2 * CHART_MARGIN - 8 - left, plot_height);
	panel->plane = (struct plane){{.log = true}, {.log = true}};
	for (size_t c = 0; c < count; c++)
		take_curve(&figure, panel, &curves[c], series_look(c));
	if (!figure_cover(&figure))
		return chart_empty(arena, text, "there are no points to show");
	figure_measured_keys(&figure, (const struct look[]){measured_look(count, 0, false),
							    measured_look(count, 0, true)});
	figure_place(&figure);
	draw_axis_y(figure.drawing, &panel->plane.y, panel->area, "bus bandwidth (GB/s)", true);
	draw_axis_x_sizes(figure.drawing, &panel->plane.x, panel->area, "message size");
	if (count == 1)
		draw_choices(panel, curves);
	figure_bands(&figure);
	figure_lines(&figure);
	for (size_t c = 0; c < count; c++)
		draw_points(panel, &curves[c], &figure.curves.items[c].series,
			    (const struct look[]){measured_look(count, c, false),
						  measured_look(count, c, true)});
	return figure_end(&figure, 30);
}
