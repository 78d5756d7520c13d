/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a quantity meets its target: the curve with its band, the target as a line, tinted regions
 * where it is met, and each bound with its interval. */
#include <math.h>

#include "plots/figure.h"

static const double plot_height = 300, marks_height = 14, left = 50;
static const struct paint met_paint = {0x009E73, 0.10};
static const struct look mark_look = {.paint = {0x222222, 1}, .marker = MARKER_DIAMOND};

/* Returns the position on the axis, clamped to its ends. */
static double inside(const struct panel *panel, double x)
{
	const struct axis *axis = &panel->plane.x;
	return axis_at(axis, fmin(fmax(x, axis->low), axis->high));
}

static void draw_regions(const struct panel *panel, const struct bound_view *view)
{
	for (size_t i = 0; i < view->region_count; i++) {
		double from = inside(panel, view->regions[i].from);
		double to = inside(panel, view->regions[i].to);
		draw_rectangle(panel->drawing, from, panel->area.y, to - from, panel->area.height,
			       met_paint);
		draw_line(panel->drawing, from, panel->area.y, to, panel->area.y, hue(HUE_GREEN), 3,
			  DASH_SOLID); /* the line marks the region without colour */
	}
}

/* Draws a line at each bound, its interval as a whisker, and its value above the plot. */
static void draw_marks(const struct panel *panel, const struct bound_view *view, double bottom)
{
	double target = panel_y(panel, view->target), free_from = -1e9;
	for (size_t i = 0; i < view->mark_count; i++) {
		const struct bound_mark *mark = &view->marks[i];
		double x = inside(panel, mark->x);
		double half = text_width(mark->label, FONT_TEXT, true) / 2;
		draw_line(panel->drawing, x, panel->area.y - 3, x, bottom, ink, 1, DASH_SHORT);
		if (mark->high > mark->low)
			draw_whisker_x(panel->drawing, inside(panel, mark->low),
				       inside(panel, mark->high), target);
		draw_point(panel->drawing, mark_look, x, target, 7);
		double at = fmin(fmax(x, panel->area.x + half),
				 panel->area.x + panel->area.width - half);
		if (at - half < free_from + 6)
			continue;
		free_from = at + half;
		draw_text(panel->drawing, at, panel->area.y - 6, FONT_TEXT, ANCHOR_MIDDLE, ink,
			  true, mark->label);
	}
}

static void draw_key(struct figure *figure, const struct bound_view *view)
{
	legend_add(&figure->legend, LEGEND_LINE,
		   (struct look){.paint = ink_alarm, .dash = DASH_LONG}, view->target_label);
	if (view->region_count)
		legend_add(&figure->legend, LEGEND_BAND,
			   (struct look){.paint = faint(hue(HUE_GREEN), 0.3)}, "met");
	if (figure->interval)
		legend_add(&figure->legend, LEGEND_BAND,
			   (struct look){.paint = faint(hue(HUE_BLUE), 0.25)}, "90 % interval");
	if (view->mark_count)
		legend_add(&figure->legend, LEGEND_MARKER, mark_look,
			   "bound with its 90 % interval");
	figure_failure_key(figure);
}

struct drawing *chart_bound(struct arena *arena, struct chart_text text,
			    const struct bound_view *view)
{
	const struct series series = {view->curve.x, view->curve.y, view->curve.count};
	struct figure figure;
	figure_begin(&figure, arena, text);
	struct panel *panel = figure_panel(&figure, left, marks_height,
					   CHART_WIDTH - 2 * CHART_MARGIN - 10 - left, plot_height);
	panel->plane = (struct plane){{.log = view->axes.x_log}, {.log = view->axes.y_log}};
	figure_curve(&figure, panel, NULL, series, series_look(0));
	range_include(&panel->y, view->target);
	if (!figure_cover(&figure))
		return chart_empty(arena, text, "there are no points to show");
	draw_key(&figure, view);
	figure_place(&figure);
	draw_regions(panel, view);
	draw_axis_y(figure.drawing, &panel->plane.y, panel->area, view->axes.y_label, true);
	double bottom = panel->area.y + panel->area.height;
	panel->area = figure_failures(&figure, panel);
	draw_axis_x(figure.drawing, &panel->plane.x, panel->area, view->axes.x_label, false);
	figure_bands(&figure);
	panel_level(panel, view->target, ink_alarm, 1.1, DASH_LONG);
	figure_lines(&figure);
	draw_marks(panel, view, bottom);
	return figure_end(&figure, 30);
}
