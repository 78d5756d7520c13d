/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cost of more GPUs per step: one vertical bar for each number of GPUs, stacked by cause with
 * kernels at the bottom, so that everything above the kernels is lost time. The thin bar beside it
 * is the total time of collectives. Its part that does not appear in the stack is hidden behind
 * kernels. */
#include <math.h>
#include <string.h>

#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/result/result.h"

static const double plot_height = 260, bar_most = 44, thin_width = 7;

enum { PARTS_MAX = BREAKDOWN_MAX + 8 };

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	const struct prediction *const *predictions;
	size_t count;
	const char *parts[PARTS_MAX]; /* in the order of stacking */
	bool present[PARTS_MAX];      /* longer than zero in some case */
	size_t part_count;
	struct axis y;
	struct area area;
	double slot, bar;
	bool communication, fails;
};

static const struct look under_way = {.paint = {0xFFFFFF, 1}, .hatch = HATCH_CROSSED};

static void take_part(struct layout *layout, const struct breakdown_part *part)
{
	size_t at = 0;
	while (at < layout->part_count && strcmp(layout->parts[at], part->name) != 0)
		at++;
	if (at == PARTS_MAX)
		return;
	if (at == layout->part_count)
		layout->parts[layout->part_count++] = part->name;
	layout->present[at] |= part->seconds > 0;
}

static double total_s(const struct prediction *prediction)
{
	double sum = 0;
	for (size_t i = 0; i < prediction->breakdown_count; i++)
		sum += fmax(0, prediction->breakdown[i].seconds);
	return sum;
}

static bool measure(struct layout *layout)
{
	double longest = 0;
	for (size_t i = 0; i < layout->count; i++) {
		const struct prediction *prediction = layout->predictions[i];
		layout->fails |= !prediction->ok;
		if (!prediction->ok)
			continue;
		for (size_t k = 0; k < prediction->breakdown_count; k++)
			take_part(layout, &prediction->breakdown[k]);
		longest = fmax(longest, fmax(total_s(prediction), prediction->communication_s));
		layout->communication |= prediction->communication_s > 0;
	}
	layout->y = (struct axis){.low = 0, .high = 1.1e3 * longest};
	return longest > 0;
}

static void place(struct layout *layout, double y)
{
	double left = CHART_MARGIN + 56;
	layout->area = (struct area){left, y, CHART_WIDTH - CHART_MARGIN - 8 - left, plot_height};
	axis_up(&layout->y, layout->area);
	layout->slot = layout->area.width / (double)layout->count;
	layout->bar = fmin(bar_most, 0.55 * layout->slot);
}

static void draw_stack(const struct layout *layout, const struct prediction *prediction, double x)
{
	double sum_s = 0;
	for (size_t k = 0; k < layout->part_count; k++) {
		double seconds = prediction_part_s(prediction, layout->parts[k]);
		if (!(seconds > 0))
			continue;
		double low = axis_at(&layout->y, 1e3 * sum_s);
		double high = axis_at(&layout->y, 1e3 * (sum_s + seconds));
		struct look look = part_look(layout->parts[k], k);
		draw_area(layout->drawing, x, high, layout->bar, low - high, look);
		const char *text = number_text(layout->arena, 1e3 * seconds, 3);
		if (low - high >= 11 && layout->bar >= text_width(text, FONT_SMALL, false) + 5)
			draw_on_area(layout->drawing, look, x + layout->bar / 2, (low + high) / 2,
				     text);
		sum_s += seconds;
	}
	const char *sum = number_text(layout->arena, 1e3 * sum_s, 3);
	if (text_width(sum, FONT_SMALL, true) + 3 <= layout->slot)
		draw_text(layout->drawing, x + layout->bar / 2,
			  axis_at(&layout->y, 1e3 * sum_s) - 4, FONT_SMALL, ANCHOR_MIDDLE, ink,
			  true, sum);
}

static void draw_under_way(const struct layout *layout, const struct prediction *prediction,
			   double x)
{
	double top = axis_at(&layout->y, 1e3 * prediction->communication_s);
	double height = layout->area.y + layout->area.height - top;
	if (!(prediction->communication_s > 0))
		return;
	draw_area(layout->drawing, x, top, thin_width, height, under_way);
	draw_frame(layout->drawing, x, top, thin_width, height, ink_soft, 0.7);
}

static void draw_bars(const struct layout *layout)
{
	double bottom = layout->area.y + layout->area.height, free_from = 0;
	for (size_t i = 0; i < layout->count; i++) {
		const struct prediction *prediction = layout->predictions[i];
		double middle = layout->area.x + ((double)i + 0.5) * layout->slot;
		double x = middle - layout->bar / 2;
		if (prediction->ok) {
			draw_stack(layout, prediction, x);
			draw_under_way(layout, prediction, x + layout->bar + 2);
		} else {
			draw_marker(layout->drawing, MARKER_CROSS, middle, bottom - 8, 8,
				    ink_alarm);
		}
		const char *gpus = arena_printf(layout->arena, "%zu", prediction->gpu_count);
		double half = text_width(gpus, FONT_TEXT, false) / 2;
		if (middle - half < free_from)
			continue;
		draw_text(layout->drawing, middle, bottom + 13, FONT_TEXT, ANCHOR_MIDDLE, ink,
			  false, gpus);
		free_from = middle + half + 4;
	}
	draw_line(layout->drawing, layout->area.x, bottom, layout->area.x + layout->area.width,
		  bottom, ink, 0.8, DASH_SOLID);
	draw_text(layout->drawing, layout->area.x + layout->area.width / 2, bottom + 27, FONT_TEXT,
		  ANCHOR_MIDDLE, ink, false, "GPUs");
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	for (size_t k = 0; k < layout->part_count; k++)
		if (layout->present[k])
			legend_add(&legend, LEGEND_AREA, part_look(layout->parts[k], k),
				   part_label(layout->parts[k]));
	if (layout->communication)
		legend_add(&legend, LEGEND_AREA, under_way,
			   "total time of collectives, exposed or hidden");
	if (layout->fails)
		legend_add(&legend, LEGEND_MARKER,
			   (struct look){.paint = ink_alarm, .marker = MARKER_CROSS}, "fails");
	return legend_end(&legend);
}

struct drawing *chart_exposed(struct arena *arena, struct chart_text text,
			      const struct prediction *const *predictions, size_t count)
{
	struct layout layout = {.arena = arena, .predictions = predictions, .count = count};
	if (!measure(&layout))
		return chart_empty(arena, text, "there are no steps to show");
	place(&layout,
	      draw_key(&layout, chart_begin(arena, text, CHART_WIDTH, &layout.drawing)) + 8);
	draw_axis_y(layout.drawing, &layout.y, layout.area, "step time (ms)", true);
	draw_bars(&layout);
	return chart_end(layout.drawing, text, layout.area.y + layout.area.height + 30);
}
