/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines over one varied parameter, and measured values. Where a case fails, the curve has no value,
 * and a cross is drawn in a strip below the plot, with one row per curve. */
#include <math.h>

#include "plots/figure.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double plot_height = 300, goal_ratio = 0.95, left = 50;

static bool has_measured(const struct panel *panel, const struct curve *curve, size_t i)
{
	return curve->measured && isfinite(curve->measured[i].value) &&
	       (!panel->plane.y.log || curve->measured[i].value > 0) &&
	       (!panel->plane.x.log || curve->x[i] > 0);
}

static struct look measured_look(size_t count, size_t curve, bool test)
{
	return (struct look){.paint = count > 1 ? series_look(curve).paint : hue(HUE_VERMILLION),
			     .marker = MARKER_DIAMOND,
			     .hollow = !test};
}

/* Adds a curve. One with measured values has markers only for these. */
static void add_curve(struct figure *figure, struct panel *panel, const struct curve *curve,
		      struct look look)
{
	look.marker = curve->measured ? MARKER_NONE : look.marker;
	for (size_t i = 0; i < curve->count; i++) {
		if (!has_measured(panel, curve, i))
			continue;
		figure->measured[curve->test[i]] = true;
		range_include(&panel->x, curve->x[i]);
		range_include(&panel->y, curve->measured[i].value);
	}
	figure_curve(figure, panel, curve->label, (struct series){curve->x, curve->y, curve->count},
		     look);
}

static void draw_measured(const struct panel *panel, const struct curve *curve,
			  const struct look looks[2])
{
	const struct axis *y = &panel->plane.y;
	for (size_t i = 0; i < curve->count; i++) {
		if (!has_measured(panel, curve, i))
			continue;
		const struct estimate *measured = &curve->measured[i];
		panel_whisker(panel, curve->x[i], fmax(measured->low, y->low),
			      fmin(measured->high, y->high));
		panel_point(panel, curve->x[i], measured->value, looks[curve->test[i]], 7);
		draw_hint(panel->drawing, panel_x(panel, curve->x[i]),
			  panel_y(panel, measured->value), 10, 10, "%s: measured %s, predicted %s",
			  number_format(panel->arena, 6, curve->x[i]),
			  number_format(panel->arena, 6, measured->value),
			  interval_text(panel->arena, &curve->y[i]));
	}
}

struct drawing *chart_curves(struct arena *arena, struct chart_text text, struct chart_axes axes,
			     const struct curve *curves, size_t count)
{
	struct figure figure;
	figure_begin(&figure, arena, text);
	struct panel *panel =
		figure_panel(&figure, left, 0, CHART_WIDTH - 2 * CHART_MARGIN - left, plot_height);
	panel->plane = (struct plane){{.log = axes.x_log}, {.log = axes.y_log}};
	for (size_t c = 0; c < count; c++)
		add_curve(&figure, panel, &curves[c], series_look(c));
	if (panel->y.low > panel->y.high)
		panel->y = (struct range){axes.y_log ? 0.1 : 0, 1};
	double goal = axes.goal_label ? axes.goal : goal_ratio;
	if (axes.goal_label)
		range_include(&panel->y, goal);
	if (!figure_cover(&figure))
		return chart_empty(arena, text, "there are no points to show");
	bool has_goal = (axes.share || axes.goal_label) && panel->plane.y.low < goal &&
			panel->plane.y.high > goal;
	figure_interval_key(&figure);
	for (int test = 0; test < 2; test++)
		if (figure.measured[test])
			legend_add(&figure.legend, LEGEND_MARKER, measured_look(count, 0, test),
				   measured_roles[test]);
	if (has_goal)
		legend_add(&figure.legend, LEGEND_LINE,
			   (struct look){.paint = ink_soft, .dash = DASH_SHORT},
			   axes.goal_label ? axes.goal_label : "95 %");
	figure_failure_key(&figure);
	figure_place(&figure);
	draw_axis_y(figure.drawing, &panel->plane.y, panel->area, axes.y_label, true);
	if (has_goal)
		panel_level(panel, goal, ink_soft, 0.9, DASH_SHORT);
	panel->area = figure_failures(&figure, panel);
	if (axes.x_sizes)
		draw_axis_x_sizes(figure.drawing, &panel->plane.x, panel->area, axes.x_label);
	else
		figure_axis_x(&figure, panel->area, axes.x_label);
	figure_bands(&figure);
	figure_lines(&figure);
	for (size_t c = 0; c < count; c++)
		draw_measured(panel, &curves[c],
			      (const struct look[]){measured_look(count, c, false),
						    measured_look(count, c, true)});
	return figure_end(&figure, 30);
}
