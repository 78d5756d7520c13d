/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Throughput of plans over the GPU memory that they need. */
#include <math.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double plot_height = 300, giga = 1e9;

static const struct look other_look = {
	.paint = {0x0072B2, 1}, .marker = MARKER_CIRCLE, .hollow = true};
static const struct look best_look = {.paint = {0xD55E00, 1}, .marker = MARKER_DIAMOND};

static void cover(struct plane *plane, double gpu_memory_B, const struct plan_mark *plans,
		  size_t count)
{
	struct range x = {INFINITY, -INFINITY}, y = {INFINITY, -INFINITY};
	range_include(&x, gpu_memory_B / giga);
	range_include(&y, 0);
	for (size_t i = 0; i < count; i++) {
		range_include(&x, plans[i].memory_B / giga);
		range_include(&y, plans[i].throughput.value);
		range_include(&y, plans[i].throughput.high);
	}
	axis_cover(&plane->x, x.low, x.high);
	axis_cover(&plane->y, y.low, y.high);
}

static double draw_key(struct drawing *drawing, double y, bool intervals)
{
	struct legend legend = legend_begin(drawing, y);
	legend_add(&legend, LEGEND_MARKER, best_look,
		   intervals ? "best plans, with 90 % intervals" : "best plans");
	legend_add(&legend, LEGEND_MARKER, other_look, "other simulated plans");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_alarm, .dash = DASH_SHORT},
		   "memory of a GPU");
	return legend_end(&legend);
}

struct drawing *chart_plans(struct arena *arena, struct chart_text text, const char *unit,
			    double gpu_memory_B, const struct plan_mark *plans, size_t count)
{
	struct drawing *drawing;
	struct plane plane = {0};
	bool intervals = count > 0 && has_interval(plans[0].throughput);
	double top = chart_begin(arena, text, CHART_WIDTH, &drawing),
	       y = draw_key(drawing, top, intervals) + 8;
	double left = CHART_MARGIN + 50;
	const struct area area = {left, y, CHART_WIDTH - CHART_MARGIN - left, plot_height};
	cover(&plane, gpu_memory_B, plans, count);
	axis_along(&plane.x, area);
	axis_up(&plane.y, area);
	draw_axis_y(drawing, &plane.y, area, arena_printf(arena, "throughput (%s)", unit), true);
	draw_axis_x(drawing, &plane.x, area, "GPU memory (GB)", true);
	double limit = axis_at(&plane.x, gpu_memory_B / giga);
	draw_line(drawing, limit, y, limit, y + plot_height, ink_alarm, 1, DASH_SHORT);
	for (size_t i = count; i-- > 0;) { /* the best ones on top */
		const struct plan_mark *plan = &plans[i];
		double x = axis_at(&plane.x, plan->memory_B / giga);
		if (!isfinite(plan->throughput.value))
			continue;
		if (has_interval(plan->throughput))
			draw_whisker_y(drawing, x, axis_at(&plane.y, plan->throughput.low),
				       axis_at(&plane.y, plan->throughput.high));
		double rate = axis_at(&plane.y, plan->throughput.value);
		draw_point(drawing, plan->best ? best_look : other_look, x, rate, 6);
		draw_hint(drawing, x, rate, 10, 10, "%s GB: %s %s",
			  number_format(arena, 6, plan->memory_B / giga),
			  interval_text(arena, &plan->throughput), unit);
	}
	return chart_end(drawing, text, y + plot_height + 36);
}
