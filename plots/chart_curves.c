/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines over one varied parameter. Where a case fails, the curve has no value, and a cross is drawn
 * in a strip below the plot, with one row per curve. */
#include <math.h>

#include "plots/figure.h"
#include "sim/base/arena.h"

static const double plot_height = 300, goal_ratio = 0.95, left = 50;

struct drawing *chart_curves(struct arena *arena, struct chart_text text, struct chart_axes axes,
			     const struct curve *curves, size_t count)
{
	struct figure figure;
	figure_begin(&figure, arena, text);
	struct panel *panel =
		figure_panel(&figure, left, 0, CHART_WIDTH - 2 * CHART_MARGIN - left, plot_height);
	panel->plane = (struct plane){{.log = axes.x_log}, {.log = axes.y_log}};
	for (size_t c = 0; c < count; c++)
		figure_curve(&figure, panel, curves[c].label,
			     (struct series){curves[c].x, curves[c].y, curves[c].count},
			     series_look(c));
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
	return figure_end(&figure, 30);
}
