/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the step time: one horizontal bar per case, in milliseconds. The bars are in percent if
 * the longest step is so much longer than the shortest that a common scale would hide the parts of
 * the short one. */
#include "plots/style.h"
#include "sim/result/result.h"

static const double row_height = 30, bar_height = 19;
static const double percent_above_ratio = 8;

enum { PARTS_MAX = 16 };

struct breakdown_layout {
	struct arena *arena;
	struct drawing *drawing;
	struct axis axis;
	struct area area;
	double label_width;
	bool percent;
	const char *names[PARTS_MAX]; /* in order of first appearance */
	bool present[PARTS_MAX];      /* longer than zero in some case */
	size_t name_count;
};

static size_t part_index(struct breakdown_layout *layout, const char *name)
{
	for (size_t i = 0; i < layout->name_count; i++)
		if (strcmp(layout->names[i], name) == 0)
			return i;
	if (layout->name_count == PARTS_MAX)
		return PARTS_MAX - 1;
	layout->names[layout->name_count] = name;
	return layout->name_count++;
}

static double part_seconds(const struct breakdown_part *part)
{
	return isfinite(part->seconds) && part->seconds > 0 ? part->seconds : 0;
}

static double total_s(const struct prediction *prediction)
{
	double sum = 0;
	if (prediction->ok)
		for (size_t i = 0; i < prediction->breakdown_count; i++)
			sum += part_seconds(&prediction->breakdown[i]);
	return sum;
}

static void measure(struct breakdown_layout *layout, const struct prediction *const *predictions,
		    size_t count)
{
	double longest = 0, shortest = INFINITY;
	for (size_t i = 0; i < count; i++) {
		layout->label_width = fmax(layout->label_width,
					   text_width(predictions[i]->name, FONT_TEXT, false));
		double total = total_s(predictions[i]);
		if (total <= 0)
			continue;
		longest = fmax(longest, total);
		shortest = fmin(shortest, total);
		for (size_t j = 0; j < predictions[i]->breakdown_count; j++)
			layout->present[part_index(layout, predictions[i]->breakdown[j].name)] |=
				part_seconds(&predictions[i]->breakdown[j]) > 0;
	}
	layout->percent = longest > percent_above_ratio * shortest;
	layout->label_width = fmin(layout->label_width, 200);
	layout->area.x = CHART_MARGIN + layout->label_width + 8;
	layout->area.width = CHART_WIDTH - CHART_MARGIN - 62 - layout->area.x;
	double high = layout->percent ? 100 : longest > 0 ? longest * 1e3 : 1;
	layout->axis.high = high;
	axis_along(&layout->axis, layout->area);
}

static double draw_key(const struct breakdown_layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	for (size_t i = 0; i < layout->name_count; i++)
		if (layout->present[i])
			legend_add(&legend, LEGEND_AREA, part_look(layout->names[i], i),
				   part_label(layout->names[i]));
	return legend_end(&legend);
}

static void draw_stack(struct breakdown_layout *layout, const struct prediction *prediction,
		       double y)
{
	double total = total_s(prediction), x = layout->area.x;
	double scale = layout->percent ? 100 / total : 1e3;
	for (size_t i = 0; i < prediction->breakdown_count; i++) {
		const struct breakdown_part *part = &prediction->breakdown[i];
		double shown = part_seconds(part) * scale;
		if (shown <= 0)
			continue;
		double width = axis_at(&layout->axis, shown) - layout->area.x;
		struct look look = part_look(part->name, part_index(layout, part->name));
		draw_area(layout->drawing, x, y - bar_height / 2, width, bar_height, look);
		const char *text = number_text(layout->arena, shown,
					       shown < 1     ? 1
					       : shown < 100 ? 2
							     : 3);
		if (width >= text_width(text, FONT_SMALL, false) + 5)
			draw_on_area(layout->drawing, look, x + width / 2, y, text);
		draw_hint(layout->drawing, x + width / 2, y, width, bar_height, "%s: %s ms",
			  part_label(part->name),
			  number_format(layout->arena, 6, part_seconds(part) * 1e3));
		x += width;
		if (width > 1.5)
			draw_line(layout->drawing, x, y - bar_height / 2, x, y + bar_height / 2,
				  ink_paper, 0.7, DASH_SOLID);
	}
	draw_text(layout->drawing, x + 6, y + 3, FONT_TEXT, ANCHOR_START, ink, true,
		  arena_printf(layout->arena, "%s ms", number_text(layout->arena, total * 1e3, 4)));
}

static void draw_row(struct breakdown_layout *layout, const struct prediction *prediction, double y)
{
	draw_row_label(layout->drawing, layout->area.x - 8, y, prediction->name,
		       layout->label_width);
	if (!prediction->ok)
		draw_failure(layout->drawing, layout->area.x, y, bar_height,
			     layout->area.width + 50,
			     prediction->reason ? prediction->reason : "no reason given");
	else if (total_s(prediction) > 0)
		draw_stack(layout, prediction, y);
	else
		draw_text(layout->drawing, layout->area.x + 6, y + 3, FONT_SMALL, ANCHOR_START,
			  ink_soft, false, "no breakdown");
}

struct drawing *chart_breakdown(struct arena *arena, struct chart_text text,
				const struct prediction *const *predictions, size_t count)
{
	if (count == 0)
		return chart_empty(arena, text, "there are no cases to show");
	struct breakdown_layout layout = {.arena = arena};
	measure(&layout, predictions, count);
	double y = draw_key(&layout, chart_begin(arena, text, &layout.drawing)) + 8;
	layout.area.y = y;
	layout.area.height = row_height * (double)count;
	const char *what = prediction_kinds(predictions, count) == PREDICTION_SERVING
				   ? "mean latency"
				   : "step time";
	draw_axis_x(layout.drawing, &layout.axis, layout.area,
		    layout.percent ? arena_printf(arena, "share of the %s (%%)", what)
				   : arena_printf(arena, "%s (ms)", what),
		    true);
	for (size_t i = 0; i < count; i++)
		draw_row(&layout, predictions[i], y + row_height * ((double)i + 0.5));
	return chart_end(layout.drawing, text, y + layout.area.height + 30);
}
