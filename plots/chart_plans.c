/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throughput of plans over the GPU memory that they need. */
#include <math.h>

#include "plots/figure.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double plot_height = 300, giga = 1e9, left = 50;

static const struct look other_look = {
	.paint = {0x0072B2, 1}, .marker = MARKER_CIRCLE, .hollow = true};
static const struct look best_look = {.paint = {0xD55E00, 1}, .marker = MARKER_DIAMOND};

static void draw_plan(const struct panel *panel, const struct plan_mark *plan, const char *unit)
{
	double memory = plan->memory_B / giga, rate = plan->throughput.value;
	if (!isfinite(rate))
		return;
	panel_whisker(panel, memory, plan->throughput.low, plan->throughput.high);
	panel_point(panel, memory, rate, plan->best ? best_look : other_look, 6);
	draw_hint(panel->drawing, panel_x(panel, memory), panel_y(panel, rate), 10, 10,
		  "%s GB: %s %s", number_format(panel->arena, 6, memory),
		  interval_text(panel->arena, &plan->throughput), unit);
}

struct drawing *chart_plans(struct arena *arena, struct chart_text text, const char *unit,
			    double gpu_memory_B, const struct plan_mark *plans, size_t count)
{
	struct figure figure;
	figure_begin(&figure, arena, text);
	struct panel *panel =
		figure_panel(&figure, left, 0, CHART_WIDTH - 2 * CHART_MARGIN - left, plot_height);
	range_include(&panel->x, gpu_memory_B / giga);
	range_include(&panel->y, 0);
	for (size_t i = 0; i < count; i++) {
		range_include(&panel->x, plans[i].memory_B / giga);
		range_include(&panel->y, plans[i].throughput.value);
		range_include(&panel->y, plans[i].throughput.high);
	}
	figure_cover(&figure);
	legend_add(&figure.legend, LEGEND_MARKER, best_look,
		   count > 0 && has_interval(plans[0].throughput)
			   ? "best plans, with 90 % intervals"
			   : "best plans");
	legend_add(&figure.legend, LEGEND_MARKER, other_look, "other simulated plans");
	legend_add(&figure.legend, LEGEND_LINE,
		   (struct look){.paint = ink_alarm, .dash = DASH_SHORT}, "memory of a GPU");
	figure_place(&figure);
	draw_axis_y(figure.drawing, &panel->plane.y, panel->area,
		    arena_printf(arena, "throughput (%s)", unit), true);
	draw_axis_x(figure.drawing, &panel->plane.x, panel->area, "GPU memory (GB)", true);
	panel_upright(panel, gpu_memory_B / giga, ink_alarm, 1, DASH_SHORT);
	for (size_t i = count; i-- > 0;) /* the best ones on top */
		draw_plan(panel, &plans[i], unit);
	return figure_end(&figure, 36);
}
