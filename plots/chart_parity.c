/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two panels with the same measured axis. The left one has predicted over measured values, both
 * logarithmic, and shows whether the model gives the right magnitude. The right one has the error
 * of the same points in percent and shows the accuracy. */
#include <math.h>

#include "plots/style.h"
#include "sim/base/arena.h"

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
		draw_point(layout->drawing, look, left,
			   axis_at(&layout->predicted, point->predicted.value), 6);
		draw_point(layout->drawing, look, right, axis_at(&layout->error, error), 6);
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

struct box {
	double left, top, right, bottom;
};

static bool apart(struct box a, struct box b)
{
	return a.right < b.left || b.right < a.left || a.bottom < b.top || b.bottom < a.top;
}

/* Returns the number of points and earlier labels that a label in that box would cover. */
static int conflicts(const struct layout *layout, struct box box, const struct box *labels,
		     size_t count)
{
	int sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += 8 * !apart(box, labels[i]);
	for (size_t i = 0; i < layout->count; i++) {
		const struct parity_point *point = &layout->points[i];
		if (!usable(point))
			continue;
		double x = axis_at(&layout->measured_right, point->measured);
		double y =
			axis_at(&layout->error, percent(point->predicted.value, point->measured));
		sum += 2 * !apart(box, (struct box){x - 4, y - 4, x + 4, y + 4});
		if (!is_drawn(point))
			continue;
		double top =
			axis_at(&layout->error, percent(point->predicted.high, point->measured));
		double end =
			axis_at(&layout->error, percent(point->predicted.low, point->measured));
		sum += !apart(box, (struct box){x - 2, top, x + 2, end});
	}
	sum += 8 * (box.top < layout->errors.y + 1) +
	       8 * (box.bottom > layout->errors.y + side - 1);
	return sum;
}

/* Places a label beside, above or below the point where it covers least, preferably near. */
static struct box best_box(const struct layout *layout, double x, double y, double width,
			   const struct box *labels, size_t count)
{
	static const double heights[] = {0, 12, 20, 30, 42, 56, 72, 90, 110};
	const double starts[] = {9, -width / 2, -9 - width};
	double first = layout->errors.x + 2, last = layout->errors.x + side - 2 - width;
	struct box best = {0, 0, 0, 0};
	double least = INFINITY;
	for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
		for (int place = 0; place < 6; place++) {
			double left = fmax(first, fmin(x + starts[place / 2], last));
			double top = y - 4.5 + (place % 2 ? heights[i] : -heights[i]);
			struct box box = {left, top, left + width, top + 9};
			double cost = conflicts(layout, box, labels, count) + heights[i] / 50;
			if (cost < least) {
				least = cost;
				best = box;
			}
		}
	}
	return best;
}

/* Draws a line from the point to the nearest side of a distant label. */
static void draw_leader(const struct layout *layout, double x, double y, struct box label)
{
	double top = label.top > y ? label.top : label.bottom;
	if (fabs(top - y) < 9)
		return;
	double end = fmin(fmax(x, label.left), label.right);
	draw_line(layout->drawing, x, y, end, top, ink_soft, 0.5, DASH_SOLID);
}

static void draw_worst(const struct layout *layout)
{
	size_t worst[WORST];
	size_t count = find_worst(layout, worst);
	struct box labels[WORST];
	for (size_t i = 0; i < count; i++) {
		const struct parity_point *point = &layout->points[worst[i]];
		double x = axis_at(&layout->measured_right, point->measured);
		double error = percent(point->predicted.value, point->measured);
		double y = axis_at(&layout->error, error);
		const char *off = arena_printf(layout->arena, "  %s%.1f %%", error < 0 ? "−" : "+",
					       fabs(error));
		double room = side - 30 - text_width(off, FONT_SMALL, false);
		const char *text = arena_printf(
			layout->arena, "%s%s",
			text_fit(layout->arena, point->label, FONT_SMALL, false, room), off);
		double width = text_width(text, FONT_SMALL, false);
		labels[i] = best_box(layout, x, y, width, labels, i);
		draw_leader(layout, x, y, labels[i]);
		draw_rectangle(layout->drawing, labels[i].left - 1.5, labels[i].top, width + 3, 9.5,
			       faint(ink_paper, 0.85));
		draw_text(layout->drawing, labels[i].left, labels[i].top + 7.3, FONT_SMALL,
			  ANCHOR_START, ink, false, text);
	}
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	static const char *const names[] = {"fit", "test"};
	for (int test = 0; test < 2; test++) {
		size_t count = count_role(layout, test);
		legend_add(&legend, LEGEND_MARKER, test ? test_look : fit_look,
			   arena_printf(layout->arena, "%s (%zu %s)", names[test], count,
					count == 1 ? "row" : "rows"));
	}
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink}, "equal");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_soft, .dash = DASH_SHORT},
		   "±5 %");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_soft, .dash = DASH_DOT},
		   "±10 %");
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
	draw_worst(&layout);
	return chart_end(layout.drawing, text, y + side + 30);
}
