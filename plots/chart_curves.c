/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines over one varied parameter, and measured values. Where a case fails, the curve has no value,
 * and a cross is drawn in a strip below the plot, with one row per curve. */
#include "plots/figure.h"

static const double plot_height = 300, small_height = 160, gap = 16, goal_ratio = 0.95, left = 50;

/* Adds a curve and its measurements. A curve with measured values has markers only for these. */
static void add_curve(struct figure *figure, struct panel *panel, const struct curve *curve,
		      struct look look, bool only)
{
	struct arena *arena = figure->arena;
	struct look looks[2] = {{.paint = only ? hue(HUE_VERMILLION) : look.paint,
				 .marker = MARKER_DIAMOND,
				 .hollow = true}};
	looks[1] = looks[0];
	looks[1].hollow = false;
	look.marker = curve->measured ? MARKER_NONE : look.marker;
	figure_layer(figure, panel, LAYER_LINE, curve->label, look)->series =
		(struct series){curve->x, curve->y, curve->count, NULL};
	if (!curve->measured)
		return;
	const char **hints = ARENA_ARRAY(arena, curve->count + 1, const char *);
	for (size_t i = 0; i < curve->count; i++)
		hints[i] = arena_printf(arena, "%s: measured %s, predicted %s",
					number_format(arena, 6, curve->x[i]),
					number_format(arena, 6, curve->measured[i].value),
					interval_text(arena, &curve->y[i]));
	figure_roles(figure, panel, (struct series){curve->x, curve->measured, curve->count, hints},
		     curve->test, looks, measured_roles);
}

static void add_panel(struct figure *figure, const struct curve_panel *wanted, double top,
		      double height, bool last)
{
	const struct chart_axes *axes = &wanted->axes;
	const struct look soft = {.paint = ink_soft, .dash = DASH_SHORT};
	struct panel *panel = figure_panel(
		figure, (struct area){left, top, CHART_WIDTH - 2 * CHART_MARGIN - left, height},
		last ? axes->x_label : NULL, axes->y_label);
	panel->plane = (struct plane){{.log = axes->x_log}, {.log = axes->y_log}};
	panel->ticks = axes->x_sizes ? TICKS_SIZES : TICKS_CHOSEN;
	if (axes->goal_label)
		range_include(&panel->y, axes->goal);
	for (size_t c = 0; c < wanted->count; c++) {
		struct curve curve = wanted->curves[c];
		curve.label = top > 0 ? NULL : curve.label;
		add_curve(figure, panel, &curve, series_look(c), wanted->count == 1);
	}
	if (axes->share || axes->goal_label)
		figure_reference(figure, panel, LAYER_LEVEL,
				 axes->goal_label ? axes->goal_label : "95 %", soft,
				 axes->goal_label ? axes->goal : goal_ratio);
}

struct drawing *chart_panels(struct arena *arena, struct chart_text text,
			     const struct curve_panel *panels, size_t count)
{
	struct figure figure = {.arena = arena, .intervals_label = panels[0].axes.intervals_label};
	double height = count > 1 ? small_height : plot_height;
	for (size_t k = 0; k < count; k++)
		add_panel(&figure, &panels[k], (double)k * (height + gap), height, k + 1 == count);
	return figure_draw(&figure, text, "there are no points to show");
}

struct drawing *chart_curves(struct arena *arena, struct chart_text text, struct chart_axes axes,
			     const struct curve *curves, size_t count)
{
	const struct curve_panel panel = {axes, curves, count};
	return chart_panels(arena, text, &panel, 1);
}
