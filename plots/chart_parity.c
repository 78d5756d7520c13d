/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two panels with the same measured axis. The left one has predicted over measured values, both
 * logarithmic, and shows whether the model gives the right magnitude. The right one has the error
 * of the same points in percent and shows the accuracy. */
#include <math.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

static const double side = 282;

enum { WORST = 3 };

static const struct look fit_look = {
	.paint = {0x0072B2, 1}, .marker = MARKER_CIRCLE, .hollow = true};
static const struct look test_look = {.paint = {0xD55E00, 1}, .marker = MARKER_DIAMOND};

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	const struct parity_point *points;
	size_t count;
	struct area parity, errors;
	struct axis measured_left, predicted, measured_right, error;
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

static void measure(struct layout *layout, double y)
{
	double low = INFINITY, high = 0, worst = 12;
	for (size_t i = 0; i < layout->count; i++) {
		const struct parity_point *point = &layout->points[i];
		if (!usable(point))
			continue;
		const double values[] = {point->measured, point->predicted.value,
					 is_drawn(point) ? point->predicted.low : point->measured,
					 is_drawn(point) ? point->predicted.high : point->measured};
		for (size_t j = 0; j < 4; j++) {
			low = fmin(low, values[j]);
			high = fmax(high, values[j]);
			worst = fmax(worst, fabs(percent(values[j], point->measured)));
		}
	}
	layout->parity = (struct area){CHART_MARGIN + 46, y, side, side};
	layout->errors = (struct area){CHART_WIDTH - CHART_MARGIN - side - 6, y, side, side};
	layout->predicted.log = true;
	axis_cover(&layout->predicted, low, high);
	layout->measured_left = layout->measured_right = layout->predicted;
	axis_up(&layout->predicted, layout->parity);
	axis_along(&layout->measured_left, layout->parity);
	axis_along(&layout->measured_right, layout->errors);
	layout->error = (struct axis){.low = -1.08 * worst, .high = 1.08 * worst};
	axis_up(&layout->error, layout->errors);
}

/* Draws the line predicted = factor * measured, clipped to the frame. */
static void draw_guide(const struct layout *layout, double factor, struct paint paint,
		       double line_width, enum dash dash)
{
	const struct axis *x = &layout->measured_left, *y = &layout->predicted;
	double from = fmax(x->low, y->low / factor), to = fmin(x->high, y->high / factor);
	draw_line(layout->drawing, axis_at(x, from), axis_at(y, from * factor), axis_at(x, to),
		  axis_at(y, to * factor), paint, line_width, dash);
}

static void draw_level(const struct layout *layout, double error, struct paint paint,
		       double line_width, enum dash dash)
{
	double y = axis_at(&layout->error, error);
	draw_line(layout->drawing, layout->errors.x, y, layout->errors.x + side, y, paint,
		  line_width, dash);
}

static void draw_guides(const struct layout *layout)
{
	static const double margins[] = {0.05, 0.10};
	static const enum dash dashes[] = {DASH_SHORT, DASH_DOT};
	for (int i = 0; i < 2; i++) {
		for (int sign = -1; sign <= 1; sign += 2) {
			draw_guide(layout, 1 + sign * margins[i], ink_soft, 0.8, dashes[i]);
			draw_level(layout, sign * margins[i] * 100, ink_soft, 0.8, dashes[i]);
		}
	}
	draw_guide(layout, 1, ink, 1, DASH_SOLID);
	draw_level(layout, 0, ink, 1, DASH_SOLID);
}

static void draw_points(const struct layout *layout)
{
	for (size_t i = 0; i < layout->count; i++) {
		const struct parity_point *point = &layout->points[i];
		if (!usable(point))
			continue;
		struct look look = point->test ? test_look : fit_look;
		double left = axis_at(&layout->measured_left, point->measured);
		double right = axis_at(&layout->measured_right, point->measured);
		double error = percent(point->predicted.value, point->measured);
		if (is_drawn(point)) {
			double low = point->predicted.low, high = point->predicted.high;
			draw_whisker_y(layout->drawing, left, axis_at(&layout->predicted, low),
				       axis_at(&layout->predicted, high));
			draw_whisker_y(layout->drawing, right,
				       axis_at(&layout->error, percent(low, point->measured)),
				       axis_at(&layout->error, percent(high, point->measured)));
		}
		const double marks[][2] = {
			{left, axis_at(&layout->predicted, point->predicted.value)},
			{right, axis_at(&layout->error, error)}};
		for (size_t k = 0; k < 2; k++) {
			draw_point(layout->drawing, look, marks[k][0], marks[k][1], 6);
			draw_hint(layout->drawing, marks[k][0], marks[k][1], 10, 10,
				  "%s: measured %s, predicted %s, error %+.1f %%", point->label,
				  number_format(layout->arena, 6, point->measured),
				  interval_text(layout->arena, &point->predicted), error);
		}
	}
}

static double badness(const struct parity_point *point)
{
	return usable(point) ? fabs(log(point->predicted.value / point->measured)) : -1;
}

static size_t find_worst(const struct layout *layout, size_t worst[WORST])
{
	size_t count = 0;
	for (size_t i = 0; i < layout->count; i++) {
		if (badness(&layout->points[i]) <= 0)
			continue;
		size_t at = count < WORST ? count++ : WORST;
		for (; at > 0 &&
		       badness(&layout->points[worst[at - 1]]) < badness(&layout->points[i]);
		     at--)
			if (at < WORST)
				worst[at] = worst[at - 1];
		if (at < WORST)
			worst[at] = i;
	}
	return count;
}

/* Numbers the points with the largest errors, and lists their names below the panels. Returns the
 * y below the list. */
static double draw_worst(const struct layout *layout, double y)
{
	size_t worst[WORST];
	size_t count = find_worst(layout, worst);
	for (size_t i = 0; i < count; i++) {
		const struct parity_point *point = &layout->points[worst[i]];
		double error = percent(point->predicted.value, point->measured);
		const char *number = arena_printf(layout->arena, "%zu", i + 1);
		const char *text = arena_printf(layout->arena, "%s:  %s%.1f %%  %s", number,
						error < 0 ? "−" : "+", fabs(error), point->label);
		draw_text(layout->drawing, axis_at(&layout->measured_right, point->measured) + 4.5,
			  axis_at(&layout->error, error) - 3, FONT_SMALL, ANCHOR_START, ink, true,
			  number);
		draw_text(layout->drawing, CHART_MARGIN, y + 7, FONT_SMALL, ANCHOR_START, ink,
			  false,
			  text_fit(layout->arena, text, FONT_SMALL, false,
				   CHART_WIDTH - 2 * CHART_MARGIN));
		y += 11;
	}
	return y;
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	static const char *const names[] = {"fit", "test"};
	bool interval = false;
	for (size_t i = 0; i < layout->count; i++)
		interval |= usable(&layout->points[i]) && is_drawn(&layout->points[i]);
	for (int test = 0; test < 2; test++) {
		size_t count = count_role(layout, test);
		if (count)
			legend_add(&legend, LEGEND_MARKER, test ? test_look : fit_look,
				   arena_printf(layout->arena, "%s (%zu %s)", names[test], count,
						count == 1 ? "row" : "rows"));
	}
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink}, "equal");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_soft, .dash = DASH_SHORT},
		   "±5 %");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_soft, .dash = DASH_DOT},
		   "±10 %");
	if (interval)
		legend_add(&legend, LEGEND_WHISKER, (struct look){.paint = ink}, "90 % interval");
	return legend_end(&legend);
}

struct drawing *chart_parity(struct arena *arena, struct chart_text text, const char *unit,
			     const struct parity_point *points, size_t count)
{
	struct layout layout = {.arena = arena, .points = points, .count = count};
	if (count_role(&layout, false) + count_role(&layout, true) == 0)
		return chart_empty(arena, text, "there are no measured values to compare with");
	double y = draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing)) + 10;
	measure(&layout, y);
	const char *measured = arena_printf(arena, "measured (%s)", unit);
	const char *predicted = arena_printf(arena, "predicted (%s)", unit);
	draw_axis_y(layout.drawing, &layout.predicted, layout.parity, predicted, true);
	draw_axis_x(layout.drawing, &layout.measured_left, layout.parity, measured, true);
	draw_axis_y(layout.drawing, &layout.error, layout.errors,
		    "error: predicted / measured − 1 (%)", true);
	draw_axis_x(layout.drawing, &layout.measured_right, layout.errors, measured, false);
	draw_guides(&layout);
	draw_points(&layout);
	return chart_end(layout.drawing, text, draw_worst(&layout, y + side + 34));
}
