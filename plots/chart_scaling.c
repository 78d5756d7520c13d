/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two panels over the number of GPUs: throughput with the ideal line, and scaling efficiency, which
 * shows details that the scale of the first panel hides. Without efficiencies there is only the
 * first panel. */
#include <math.h>

#include "plots/figure.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double rate_height = 250, efficiency_height = 110, panel_gap = 14, left = 56;
/* Axes are logarithmic beyond this number of GPUs, because numbers of GPUs usually double, or if
 * the throughput of one GPU differs between curves by more than this factor. */
static const double linear_most = 16, alike_most = 8;

static double measured_efficiency(const struct scaling_curve *curve, size_t i)
{
	double alone = isfinite(curve->measured_alone) ? curve->measured_alone : curve->alone;
	return curve->points[i].measured / (curve->points[i].gpus * alone);
}

/* Returns whether the axes are logarithmic. *panels: any point has an efficiency; plans have none.
 */
static bool is_log(const struct scaling_curve *curves, size_t count, bool *panels)
{
	struct range gpus = {INFINITY, -INFINITY}, alone = gpus;
	for (size_t c = 0; c < count; c++) {
		if (curves[c].alone > 0)
			range_include(&alone, curves[c].alone);
		for (size_t i = 0; i < curves[c].count; i++) {
			range_include(&gpus, curves[c].points[i].gpus);
			*panels |= isfinite(curves[c].points[i].efficiency.value);
		}
	}
	return gpus.high > linear_most || alone.high > alike_most * alone.low;
}

/* Adds the curves of throughput, or those of efficiency. */
static void add_curves(struct figure *figure, struct panel *panel,
		       const struct scaling_curve *curves, size_t count, bool rates)
{
	for (size_t c = 0; c < count; c++) {
		const struct scaling_curve *curve = &curves[c];
		double *gpus = ARENA_ARRAY(figure->arena, curve->count + 1, double);
		struct estimate *y = ARENA_ARRAY(figure->arena, curve->count + 1, struct estimate);
		for (size_t i = 0; i < curve->count; i++) {
			const struct scaling_point *point = &curve->points[i];
			double measured = rates ? point->measured : measured_efficiency(curve, i);
			gpus[i] = point->gpus;
			y[i] = rates ? point->throughput : point->efficiency;
			figure->measured[point->test] |= isfinite(point->measured);
			if (isfinite(measured))
				range_include(&panel->y, measured);
		}
		figure_curve(figure, panel, rates ? curve->label : NULL,
			     (struct series){gpus, y, curve->count}, series_look(c));
	}
	for (size_t c = 0; c < count && rates; c++)
		if (isfinite(curves[c].alone))
			range_include(&panel->y, panel->x.high * curves[c].alone);
}

/* Draws the number of GPUs times the throughput of one, once for curves of the same GPU. */
static void draw_ideal(const struct panel *rate, const struct scaling_curve *curves, size_t count)
{
	double first = rate->x.low, last = rate->x.high;
	for (size_t c = 0; c < count; c++) {
		double alone = curves[c].alone;
		bool new = isfinite(alone);
		for (size_t k = 0; k < c; k++)
			new = new &&fabs(curves[k].alone - alone) > 0.002 * alone;
		if (new)
			draw_line(rate->drawing, panel_x(rate, first), panel_y(rate, first * alone),
				  panel_x(rate, last), panel_y(rate, last * alone), ink_soft, 1,
				  DASH_SHORT);
	}
}

static struct look measured_look(size_t curve, bool test)
{
	return (struct look){
		.paint = series_look(curve).paint, .marker = MARKER_DIAMOND, .hollow = !test};
}

static void draw_points(const struct panel *rate, const struct panel *efficiency,
			const struct scaling_curve *curve, size_t c)
{
	for (size_t i = 0; i < curve->count; i++) {
		const struct scaling_point *point = &curve->points[i];
		struct look look = measured_look(c, point->test);
		if (isnan(point->throughput.value))
			panel_cross(efficiency, point->gpus);
		if (!isfinite(point->measured))
			continue;
		panel_point(rate, point->gpus, point->measured, look, 8);
		draw_hint(rate->drawing, panel_x(rate, point->gpus), panel_y(rate, point->measured),
			  10, 10, "%.0f GPUs: measured %s, predicted %s", point->gpus,
			  number_format(rate->arena, 6, point->measured),
			  interval_text(rate->arena, &point->throughput));
		if (isfinite(measured_efficiency(curve, i)))
			panel_point(efficiency, point->gpus, measured_efficiency(curve, i), look,
				    8);
	}
}

static void draw_axes(const struct figure *figure, const char *unit, bool panels)
{
	const struct panel *rate = &figure->panels[0], *efficiency = &figure->panels[1];
	struct area both = rate->area;
	both.height = efficiency->area.y + efficiency->area.height - both.y;
	draw_axis_y(figure->drawing, &rate->plane.y, rate->area,
		    arena_printf(figure->arena, "throughput (%s)", unit), true);
	if (panels)
		draw_axis_y(figure->drawing, &efficiency->plane.y, efficiency->area,
			    "scaling efficiency", true);
	panel_level(rate, rate->plane.y.low, ink, 0.8, DASH_SOLID);
	figure_axis_x(figure, both, "number of GPUs");
}

struct drawing *chart_scaling(struct arena *arena, struct chart_text text,
			      const struct scaling_curve *curves, size_t count)
{
	struct figure figure;
	double width = CHART_WIDTH - 2 * CHART_MARGIN - 8 - left;
	bool panels = false, log = is_log(curves, count, &panels);
	figure_begin(&figure, arena, text);
	struct panel *rate = figure_panel(&figure, left, 0, width, rate_height);
	struct panel *efficiency =
		figure_panel(&figure, left, rate_height + (panels ? panel_gap : 0), width,
			     panels ? efficiency_height : 0);
	rate->plane = (struct plane){{.log = log}, {.log = log}};
	efficiency->plane.x.log = log;
	efficiency->y = (struct range){0.9, 1};
	add_curves(&figure, rate, curves, count, true);
	add_curves(&figure, efficiency, curves, count, false);
	struct range shown = rate->y;
	if (!log)
		range_include(&rate->y, 0);
	if (shown.low > shown.high || !figure_cover(&figure))
		return chart_empty(arena, text, "each case of this chart fails");
	for (int goal = 0; goal < 2 && panels; goal++)
		legend_add(&figure.legend, LEGEND_LINE,
			   (struct look){.paint = ink_soft, .dash = goal ? DASH_DOT : DASH_SHORT},
			   goal ? "95 %" : "ideal");
	figure_measured_keys(
		&figure, (const struct look[]){measured_look(0, false), measured_look(0, true)});
	figure_place(&figure);
	draw_axes(&figure, curves[0].unit, panels);
	draw_ideal(rate, curves, count);
	if (panels) {
		panel_level(efficiency, 1, ink_soft, 1, DASH_SHORT);
		panel_level(efficiency, 0.95, ink_soft, 1, DASH_DOT);
	}
	figure_bands(&figure);
	figure_lines(&figure);
	for (size_t c = 0; c < count; c++)
		draw_points(rate, efficiency, &curves[c], c);
	return figure_end(&figure, 30);
}
