/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two panels over the number of GPUs: throughput with the ideal line, and scaling efficiency, which
 * shows details that the scale of the first panel hides. Without efficiencies there is only the
 * first panel. */
#include <math.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double rate_height = 250, efficiency_height = 110, panel_gap = 14;
/* Axes are logarithmic beyond this number of GPUs, because numbers of GPUs usually double, or if
 * the throughput of one GPU differs between curves by more than this factor. */
static const double linear_most = 16, alike_most = 8;

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	const struct scaling_curve *curves;
	size_t count;
	struct series *rates, *efficiencies; /* one for each curve */
	struct plane rate, efficiency;
	struct area upper, lower;
	struct range gpus;
	bool interval, fails, measured[2]; /* [0] fit rows, [1] test rows */
	bool panels;                       /* both; plans have no efficiency */
};

static double measured_efficiency(const struct scaling_curve *curve, size_t i)
{
	double alone = isfinite(curve->measured_alone) ? curve->measured_alone : curve->alone;
	return curve->points[i].measured / (curve->points[i].gpus * alone);
}

static void take_curve(struct layout *layout, size_t c)
{
	const struct scaling_curve *curve = &layout->curves[c];
	double *gpus = ARENA_ARRAY(layout->arena, curve->count + 1, double);
	struct estimate *rate = ARENA_ARRAY(layout->arena, curve->count + 1, struct estimate);
	struct estimate *share = ARENA_ARRAY(layout->arena, curve->count + 1, struct estimate);
	for (size_t i = 0; i < curve->count; i++) {
		const struct scaling_point *point = &curve->points[i];
		gpus[i] = point->gpus;
		rate[i] = point->throughput;
		share[i] = point->efficiency;
		layout->measured[point->test] |= isfinite(point->measured);
		layout->fails |= isnan(point->throughput.value);
		layout->panels |= isfinite(share[i].value);
	}
	layout->rates[c] = (struct series){gpus, rate, curve->count};
	layout->efficiencies[c] = (struct series){gpus, share, curve->count};
}

static bool is_log(const struct layout *layout)
{
	struct range alone = {INFINITY, -INFINITY};
	for (size_t c = 0; c < layout->count; c++)
		if (layout->curves[c].alone > 0)
			range_include(&alone, layout->curves[c].alone);
	return layout->gpus.high > linear_most || alone.high > alike_most * alone.low;
}

/* Returns false if there is nothing to draw. */
static bool measure(struct layout *layout)
{
	struct range none = {INFINITY, -INFINITY}, rate = none, share = {0.9, 1};
	layout->gpus = none;
	for (size_t c = 0; c < layout->count; c++) {
		take_curve(layout, c);
		series_measure(&layout->rate, &layout->rates[c], &layout->gpus, &none);
	}
	bool log = is_log(layout);
	layout->rate.x.log = layout->rate.y.log = layout->efficiency.x.log = log;
	for (size_t c = 0; c < layout->count; c++) {
		const struct scaling_curve *curve = &layout->curves[c];
		layout->interval |=
			series_measure(&layout->rate, &layout->rates[c], &layout->gpus, &rate);
		series_measure(&layout->efficiency, &layout->efficiencies[c], &none, &share);
		for (size_t i = 0; i < curve->count; i++) {
			const struct scaling_point *point = &curve->points[i];
			if (isfinite(curve->alone))
				range_include(&rate, layout->gpus.high * curve->alone);
			if (isfinite(point->measured))
				range_include(&rate, point->measured);
			if (isfinite(measured_efficiency(curve, i)))
				range_include(&share, measured_efficiency(curve, i));
		}
	}
	if (rate.low > rate.high)
		return false;
	axis_cover(&layout->rate.x, layout->gpus.low, layout->gpus.high);
	axis_cover(&layout->rate.y, log ? rate.low : 0, rate.high);
	axis_cover(&layout->efficiency.y, share.low, share.high);
	return true;
}

static void place(struct layout *layout, double y)
{
	double left = CHART_MARGIN + 56, width = CHART_WIDTH - CHART_MARGIN - 8 - left;
	layout->upper = (struct area){left, y, width, rate_height};
	layout->lower = (struct area){left, y + rate_height, width, 0};
	if (layout->panels) {
		layout->lower.y += panel_gap;
		layout->lower.height = efficiency_height;
	}
	axis_along(&layout->rate.x, layout->upper);
	layout->efficiency.x = layout->rate.x;
	axis_up(&layout->rate.y, layout->upper);
	axis_up(&layout->efficiency.y, layout->lower);
}

static void draw_ticks(const struct layout *layout)
{
	double bottom = layout->upper.y + layout->upper.height;
	draw_line(layout->drawing, layout->upper.x, bottom, layout->upper.x + layout->upper.width,
		  bottom, ink, 0.8, DASH_SOLID);
	struct area both = layout->upper;
	both.height = layout->lower.y + layout->lower.height - both.y;
	draw_axis_x_series(layout->drawing, &layout->rate.x, both, "number of GPUs", layout->rates,
			   layout->count);
}

/* Draws the number of GPUs times the throughput of one, once for curves of the same GPU. */
static void draw_ideal(const struct layout *layout)
{
	double first = layout->gpus.low, last = layout->gpus.high;
	for (size_t c = 0; c < layout->count; c++) {
		double alone = layout->curves[c].alone;
		bool new = isfinite(alone);
		for (size_t k = 0; k < c; k++)
			new = new &&fabs(layout->curves[k].alone - alone) > 0.002 * alone;
		if (new)
			draw_line(layout->drawing, axis_at(&layout->rate.x, first),
				  axis_at(&layout->rate.y, first * alone),
				  axis_at(&layout->rate.x, last),
				  axis_at(&layout->rate.y, last * alone), ink_soft, 1, DASH_SHORT);
	}
	for (int goal = 0; goal < 2 && layout->panels; goal++) {
		double y = axis_at(&layout->efficiency.y, goal ? 0.95 : 1);
		draw_line(layout->drawing, layout->lower.x, y,
			  layout->lower.x + layout->lower.width, y, ink_soft, 1,
			  goal ? DASH_DOT : DASH_SHORT);
	}
}

static struct look measured_look(size_t curve, bool test)
{
	return (struct look){
		.paint = series_look(curve).paint, .marker = MARKER_DIAMOND, .hollow = !test};
}

static void draw_points(const struct layout *layout, size_t c)
{
	const struct scaling_curve *curve = &layout->curves[c];
	for (size_t i = 0; i < curve->count; i++) {
		const struct scaling_point *point = &curve->points[i];
		double x = axis_at(&layout->rate.x, point->gpus);
		double share = measured_efficiency(curve, i);
		if (isnan(point->throughput.value))
			draw_marker(layout->drawing, MARKER_CROSS, x,
				    layout->lower.y + layout->lower.height - 6, 7, ink_alarm);
		if (!isfinite(point->measured))
			continue;
		struct look look = measured_look(c, point->test);
		double y = axis_at(&layout->rate.y, point->measured);
		draw_point(layout->drawing, look, x, y, 8);
		draw_hint(layout->drawing, x, y, 10, 10, "%.0f GPUs: measured %s, predicted %s",
			  point->gpus, number_format(layout->arena, 6, point->measured),
			  interval_text(layout->arena, &point->throughput));
		if (isfinite(share))
			draw_point(layout->drawing, look, x, axis_at(&layout->efficiency.y, share),
				   8);
	}
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	for (size_t c = 0; c < layout->count; c++)
		legend_add(&legend, LEGEND_LINE, series_look(c), layout->curves[c].label);
	for (int goal = 0; goal < 2 && layout->panels; goal++)
		legend_add(&legend, LEGEND_LINE,
			   (struct look){.paint = ink_soft, .dash = goal ? DASH_DOT : DASH_SHORT},
			   goal ? "95 %" : "ideal");
	if (layout->interval)
		legend_add(&legend, LEGEND_BAND, (struct look){.paint = faint(ink_soft, 0.25)},
			   "90 % interval");
	for (int test = 0; test < 2; test++)
		if (layout->measured[test])
			legend_add(&legend, LEGEND_MARKER, measured_look(0, test),
				   measured_roles[test]);
	if (layout->fails)
		legend_add(&legend, LEGEND_MARKER,
			   (struct look){.paint = ink_alarm, .marker = MARKER_CROSS}, "fails");
	return legend_end(&legend);
}

struct drawing *chart_scaling(struct arena *arena, struct chart_text text,
			      const struct scaling_curve *curves, size_t count)
{
	struct layout layout = {.arena = arena,
				.curves = curves,
				.count = count,
				.rates = ARENA_ARRAY(arena, count + 1, struct series),
				.efficiencies = ARENA_ARRAY(arena, count + 1, struct series)};
	if (!measure(&layout))
		return chart_empty(arena, text, "each case of this chart fails");
	place(&layout,
	      draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing)) + 8);
	draw_axis_y(layout.drawing, &layout.rate.y, layout.upper,
		    arena_printf(arena, "throughput (%s)", curves[0].unit), true);
	if (layout.panels)
		draw_axis_y(layout.drawing, &layout.efficiency.y, layout.lower,
			    "scaling efficiency", true);
	draw_ticks(&layout);
	draw_ideal(&layout);
	for (size_t c = 0; c < count; c++) {
		draw_series_band(layout.drawing, &layout.rate, &layout.rates[c], series_look(c));
		draw_series_band(layout.drawing, &layout.efficiency, &layout.efficiencies[c],
				 series_look(c));
	}
	for (size_t c = 0; c < count; c++) {
		draw_series_line(layout.drawing, &layout.rate, &layout.rates[c], series_look(c));
		draw_series_line(layout.drawing, &layout.efficiency, &layout.efficiencies[c],
				 series_look(c));
	}
	for (size_t c = 0; c < count; c++)
		draw_points(&layout, c);
	return chart_end(layout.drawing, text, layout.lower.y + layout.lower.height + 30);
}
