/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans or layouts as points of a plane. */
#include "plots/figure.h"

static const double plot_height = 300, left = 50;

struct drawing *chart_plans(struct arena *arena, struct chart_text text,
			    const struct plan_axes *axes, const struct plan_mark *marks,
			    size_t count)
{
	struct figure figure = {.arena = arena};
	struct panel *panel = figure_panel(
		&figure, (struct area){left, 0, CHART_WIDTH - 2 * CHART_MARGIN - left, plot_height},
		axes->x_label, axes->y_label);
	double *x = ARENA_ARRAY(arena, count + 1, double);
	struct estimate *y = ARENA_ARRAY(arena, count + 1, struct estimate);
	const char **hints = ARENA_ARRAY(arena, count + 1, const char *);
	bool *best = ARENA_ARRAY(arena, count + 1, bool);
	range_include(&panel->y, 0);
	for (size_t i = 0; i < count; i++) {
		x[i] = marks[i].x;
		y[i] = marks[i].y;
		best[i] = marks[i].best;
		hints[i] = marks[i].hint;
	}
	if (!axes->names[0])
		for (size_t i = 0; i < count; i++)
			figure_layer(&figure, panel, LAYER_POINTS, hints[i], series_look(i))
				->series = (struct series){&x[i], &y[i], 1, &hints[i]};
	else
		figure_roles(&figure, panel, (struct series){x, y, count, hints}, best, role_looks,
			     axes->names);
	if (isfinite(axes->limit)) {
		range_include(&panel->x, axes->limit);
		figure_reference(&figure, panel, LAYER_UPRIGHT, axes->limit_label,
				 (struct look){.paint = ink_alarm, .dash = DASH_SHORT},
				 axes->limit);
	}
	return figure_draw(&figure, text, "there are no plans to show");
}
