/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two panels with the same measured axis. The left one has predicted over measured values, both
 * logarithmic, and shows whether the model gives the right magnitude. The right one has the error
 * of the same points in percent and shows the accuracy. */
#include <math.h>

#include "plots/figure.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double side = 282, left = 46, top = 2;

static const struct look fit_look = {
	.paint = {0x0072B2, 1}, .marker = MARKER_CIRCLE, .hollow = true};
static const struct look test_look = {.paint = {0xD55E00, 1}, .marker = MARKER_DIAMOND};

struct layout {
	struct figure figure;
	const struct parity_point *points;
	size_t count;
	struct panel *parity, *errors;
};

static bool usable(const struct parity_point *point)
{
	return point->measured > 0 && isfinite(point->measured) && point->predicted.value > 0 &&
	       isfinite(point->predicted.value);
}

static bool is_drawn(const struct parity_point *point)
{
	return has_interval(point->predicted) && point->predicted.low > 0;
}

static double percent(double predicted, double measured)
{
	return (predicted / measured - 1) * 100;
}

static size_t count_role(const struct layout *layout, bool test)
{
	size_t sum = 0;
	for (size_t i = 0; i < layout->count; i++)
		sum += usable(&layout->points[i]) && layout->points[i].test == test;
	return sum;
}

static void measure(struct layout *layout)
{
	double worst = 12;
	for (size_t i = 0; i < layout->count; i++) {
		const struct parity_point *point = &layout->points[i];
		if (!usable(point))
			continue;
		const double values[] = {point->measured, point->predicted.value,
					 is_drawn(point) ? point->predicted.low : point->measured,
					 is_drawn(point) ? point->predicted.high : point->measured};
		for (size_t j = 0; j < 4; j++) {
			range_include(&layout->parity->x, values[j]);
			worst = fmax(worst, fabs(percent(values[j], point->measured)));
		}
	}
	layout->parity->y = layout->errors->x = layout->parity->x;
	layout->parity->plane = (struct plane){{.log = true}, {.log = true}};
	layout->errors->plane =
		(struct plane){{.log = true}, {.low = -1.08 * worst, .high = 1.08 * worst}};
}

/* Draws the line predicted = factor * measured, clipped to the frame. */
static void draw_guide(const struct layout *layout, double factor, struct paint paint,
		       double line_width, enum dash dash)
{
	const struct panel *panel = layout->parity;
	const struct axis *x = &panel->plane.x, *y = &panel->plane.y;
	double from = fmax(x->low, y->low / factor), to = fmin(x->high, y->high / factor);
	draw_line(panel->drawing, panel_x(panel, from), panel_y(panel, from * factor),
		  panel_x(panel, to), panel_y(panel, to * factor), paint, line_width, dash);
}

static void draw_guides(const struct layout *layout)
{
	static const double margins[] = {0.05, 0.10};
	static const enum dash dashes[] = {DASH_SHORT, DASH_DOT};
	for (int i = 0; i < 2; i++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			draw_guide(layout, 1 + sign * margins[i], ink_soft, 0.8, dashes[i]);
			panel_level(layout->errors, sign * margins[i] * 100, ink_soft, 0.8,
				    dashes[i]);
		}
	}
	draw_guide(layout, 1, ink, 1, DASH_SOLID);
	panel_level(layout->errors, 0, ink, 1, DASH_SOLID);
}

static void draw_point_of(const struct layout *layout, const struct parity_point *point)
{
	const struct estimate *predicted = &point->predicted;
	double error = percent(predicted->value, point->measured);
	const struct {
		const struct panel *panel;
		double y;
	} marks[] = {{layout->parity, predicted->value}, {layout->errors, error}};
	if (is_drawn(point)) {
		panel_whisker(layout->parity, point->measured, predicted->low, predicted->high);
		panel_whisker(layout->errors, point->measured,
			      percent(predicted->low, point->measured),
			      percent(predicted->high, point->measured));
	}
	for (size_t k = 0; k < 2; k++) {
		const struct panel *panel = marks[k].panel;
		panel_point(panel, point->measured, marks[k].y, point->test ? test_look : fit_look,
			    6);
		draw_hint(panel->drawing, panel_x(panel, point->measured),
			  panel_y(panel, marks[k].y), 10, 10,
			  "%s: measured %s, predicted %s, error %+.1f %%", point->label,
			  number_format(panel->arena, 6, point->measured),
			  interval_text(panel->arena, predicted), error);
	}
}

static void draw_key(struct layout *layout)
{
	struct legend *legend = &layout->figure.legend;
	static const char *const names[] = {"fit", "test"};
	bool interval = false;
	for (size_t i = 0; i < layout->count; i++)
		interval |= usable(&layout->points[i]) && is_drawn(&layout->points[i]);
	for (int test = 0; test < 2; test++) {
		size_t count = count_role(layout, test);
		if (count)
			legend_add(legend, LEGEND_MARKER, test ? test_look : fit_look,
				   arena_printf(layout->figure.arena, "%s (%zu %s)", names[test],
						count, count == 1 ? "row" : "rows"));
	}
	legend_add(legend, LEGEND_LINE, (struct look){.paint = ink}, "equal");
	legend_add(legend, LEGEND_LINE, (struct look){.paint = ink_soft, .dash = DASH_SHORT},
		   "±5 %");
	legend_add(legend, LEGEND_LINE, (struct look){.paint = ink_soft, .dash = DASH_DOT},
		   "±10 %");
	if (interval)
		legend_add(legend, LEGEND_WHISKER, (struct look){.paint = ink}, "90 % interval");
}

static void draw_axes(const struct layout *layout, const char *unit)
{
	const struct panel *parity = layout->parity, *errors = layout->errors;
	struct arena *arena = layout->figure.arena;
	const char *measured = arena_printf(arena, "measured (%s)", unit);
	draw_axis_y(parity->drawing, &parity->plane.y, parity->area,
		    arena_printf(arena, "predicted (%s)", unit), true);
	draw_axis_x(parity->drawing, &parity->plane.x, parity->area, measured, true);
	draw_axis_y(errors->drawing, &errors->plane.y, errors->area,
		    "error: predicted / measured − 1 (%)", true);
	draw_axis_x(errors->drawing, &errors->plane.x, errors->area, measured, false);
}

struct drawing *chart_parity(struct arena *arena, struct chart_text text, const char *unit,
			     const struct parity_point *points, size_t count)
{
	struct layout layout = {.points = points, .count = count};
	figure_begin(&layout.figure, arena, text);
	layout.parity = figure_panel(&layout.figure, left, top, side, side);
	layout.errors = figure_panel(&layout.figure, CHART_WIDTH - 2 * CHART_MARGIN - side - 6, top,
				     side, side);
	measure(&layout);
	if (!figure_cover(&layout.figure))
		return chart_empty(arena, text, "there are no measured values to compare with");
	draw_key(&layout);
	figure_place(&layout.figure);
	draw_axes(&layout, unit);
	draw_guides(&layout);
	for (size_t i = 0; i < count; i++)
		if (usable(&points[i]))
			draw_point_of(&layout, &points[i]);
	return figure_end(&layout.figure, 34);
}
