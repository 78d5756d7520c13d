/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two panels over the number of GPUs: throughput with the ideal line, and scaling efficiency, which
 * shows details that the scale of the first panel hides. Without efficiencies there is only the
 * first panel. */
#include "plots/figure.h"

static const double rate_height = 250, efficiency_height = 110, panel_gap = 14, left = 56;
/* Axes are logarithmic beyond this number of GPUs, because numbers of GPUs usually double, or if
 * the throughput of one GPU differs between curves by more than this factor. */
static const double linear_most = 16, alike_most = 8;

/* Adds a curve of throughputs, or of efficiencies, and the measured values. */
static void add_curve(struct figure *figure, struct panel *panel, const struct scaling_curve *curve,
		      struct look look, bool rates)
{
	struct arena *arena = figure->arena;
	size_t count = curve->count;
	double *gpus = ARENA_ARRAY(arena, count + 1, double);
	struct estimate *y = ARENA_ARRAY(arena, count + 1, struct estimate);
	struct estimate *measured = ARENA_ARRAY(arena, count + 1, struct estimate);
	const char **hints = ARENA_ARRAY(arena, count + 1, const char *);
	bool *test = ARENA_ARRAY(arena, count + 1, bool);
	double alone = isfinite(curve->measured_alone) ? curve->measured_alone : curve->alone;
	struct look looks[2] = {{.paint = look.paint, .marker = MARKER_DIAMOND, .hollow = true},
				{.paint = look.paint, .marker = MARKER_DIAMOND}};
	for (size_t i = 0; i < count; i++) {
		const struct scaling_point *point = &curve->points[i];
		gpus[i] = point->gpus;
		y[i] = rates ? point->throughput : point->efficiency;
		measured[i] = estimate_exact(rates ? point->measured
						   : point->measured / (point->gpus * alone));
		test[i] = point->test;
		hints[i] = arena_printf(arena, "%.0f GPUs: %smeasured %s, predicted %s",
					point->gpus, rates ? "" : "efficiency ",
					number_format(arena, 6, measured[i].value),
					interval_text(arena, &y[i]));
	}
	figure_layer(figure, panel, LAYER_LINE, rates ? curve->label : NULL, look)->series =
		(struct series){gpus, y, count, NULL};
	figure_roles(figure, panel, (struct series){gpus, measured, count, hints}, test, looks,
		     measured_roles);
}

/* Adds the number of GPUs times the throughput of one, once for curves of the same GPU. */
static void add_ideal(struct figure *figure, struct panel *rate, const struct scaling_curve *curves,
		      size_t c, double most_gpus)
{
	double alone = curves[c].alone;
	bool labelled = false;
	for (size_t k = 0; k < c; k++) {
		labelled |= isfinite(curves[k].alone);
		if (fabs(curves[k].alone - alone) <= 0.002 * alone)
			return;
	}
	if (!isfinite(alone))
		return;
	range_include(&rate->y, most_gpus * alone);
	figure_reference(figure, rate, LAYER_RAY, labelled ? NULL : "ideal",
			 (struct look){.paint = ink_soft, .dash = DASH_SHORT}, alone);
}

struct drawing *chart_scaling(struct arena *arena, struct chart_text text,
			      const struct scaling_curve *curves, size_t count)
{
	struct figure figure = {.arena = arena};
	double width = CHART_WIDTH - 2 * CHART_MARGIN - 8 - left;
	struct range gpus = {INFINITY, -INFINITY}, alone = gpus;
	/* any point has a throughput, or an efficiency, which plans have not */
	bool shown = false, panels = false;
	for (size_t c = 0; c < count; c++) {
		if (curves[c].alone > 0)
			range_include(&alone, curves[c].alone);
		for (size_t i = 0; i < curves[c].count; i++) {
			range_include(&gpus, curves[c].points[i].gpus);
			shown |= isfinite(curves[c].points[i].throughput.value);
			panels |= isfinite(curves[c].points[i].efficiency.value);
		}
	}
	if (!shown)
		return chart_empty(arena, text, "each case of this chart fails");
	bool log = gpus.high > linear_most || alone.high > alike_most * alone.low;
	static const char x_label[] = "number of GPUs";
	struct panel *rate = figure_panel(&figure, (struct area){left, 0, width, rate_height},
					  panels ? NULL : x_label,
					  arena_printf(arena, "throughput (%s)", curves[0].unit));
	rate->plane = (struct plane){{.log = log}, {.log = log}};
	rate->ticks = TICKS_CHOSEN;
	for (size_t c = 0; c < count; c++)
		add_curve(&figure, rate, &curves[c], series_look(c), true);
	for (size_t c = 0; c < count; c++)
		add_ideal(&figure, rate, curves, c, gpus.high);
	if (!log)
		range_include(&rate->y, 0);
	if (panels) {
		struct panel *efficiency = figure_panel(
			&figure,
			(struct area){left, rate_height + panel_gap, width, efficiency_height},
			x_label, "scaling efficiency");
		efficiency->plane.x.log = log;
		efficiency->ticks = TICKS_CHOSEN;
		efficiency->y = (struct range){0.9, 1};
		for (size_t c = 0; c < count; c++)
			add_curve(&figure, efficiency, &curves[c], series_look(c), false);
		figure_reference(&figure, efficiency, LAYER_LEVEL, NULL,
				 (struct look){.paint = ink_soft, .dash = DASH_SHORT}, 1);
		figure_reference(&figure, efficiency, LAYER_LEVEL, "95 %",
				 (struct look){.paint = ink_soft, .dash = DASH_DOT}, 0.95);
	}
	return figure_draw(&figure, text, "there are no points to show");
}
