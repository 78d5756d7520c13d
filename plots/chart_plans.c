/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throughput of plans over the GPU memory that they need. */
#include "plots/figure.h"

static const double plot_height = 300, giga = 1e9, left = 50;

static const char *const names[2] = {"other simulated plans", "best plans"};

struct drawing *chart_plans(struct arena *arena, struct chart_text text, const char *unit,
			    double gpu_memory_B, const struct plan_mark *plans, size_t count)
{
	struct figure figure = {.arena = arena};
	struct panel *panel = figure_panel(
		&figure, (struct area){left, 0, CHART_WIDTH - 2 * CHART_MARGIN - left, plot_height},
		"GPU memory (GB)", arena_printf(arena, "throughput (%s)", unit));
	double *x = ARENA_ARRAY(arena, count + 1, double);
	struct estimate *y = ARENA_ARRAY(arena, count + 1, struct estimate);
	const char **hints = ARENA_ARRAY(arena, count + 1, const char *);
	bool *best = ARENA_ARRAY(arena, count + 1, bool);
	range_include(&panel->x, gpu_memory_B / giga);
	range_include(&panel->y, 0);
	for (size_t i = 0; i < count; i++) {
		x[i] = plans[i].memory_B / giga;
		y[i] = plans[i].throughput;
		best[i] = plans[i].best;
		hints[i] = arena_printf(arena, "%s GB: %s %s", number_format(arena, 6, x[i]),
					interval_text(arena, &y[i]), unit);
	}
	figure_roles(&figure, panel, (struct series){x, y, count, hints}, best, role_looks, names);
	figure_reference(&figure, panel, LAYER_UPRIGHT, "memory of a GPU",
			 (struct look){.paint = ink_alarm, .dash = DASH_SHORT},
			 gpu_memory_B / giga);
	return figure_draw(&figure, text, "there are no plans to show");
}
