/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tornado chart: for each cause a bar from the value at its low end to that at its high end, the
 * widest on top. If both ends are on one side, or one fails, each end gets half of the row. */
#include "plots/style.h"

enum { BARS_MAX = 12 };
static const double row_height = 26, bar_height = 15, end_space = 70;
static const struct look low_look = {.paint = {0x0072B2, 1}};
static const struct look high_look = {.paint = {0xE69F00, 1}, .hatch = HATCH_RISING};

struct tornado_layout {
	struct arena *arena;
	struct drawing *drawing;
	double value;
	const struct tornado_bar *bars;
	size_t count;
	struct axis axis;
	struct area area;
	double label_width;
};

static void measure(struct tornado_layout *layout)
{
	const double label_most = 200;
	struct range x = {layout->value, layout->value};
	for (size_t i = 0; i < layout->count; i++) {
		const struct tornado_bar *bar = &layout->bars[i];
		if (isfinite(bar->low))
			range_include(&x, bar->low);
		if (isfinite(bar->high))
			range_include(&x, bar->high);
		layout->label_width =
			fmax(layout->label_width, text_width(bar->label, FONT_TEXT, false));
	}
	double span = x.high > x.low ? x.high - x.low : fmax(fabs(x.high), 1e-9);
	layout->label_width = fmin(layout->label_width, label_most);
	layout->area.x = CHART_MARGIN + layout->label_width + 8;
	layout->area.width = CHART_WIDTH - CHART_MARGIN - layout->area.x;
	/* the labels of the ends are outside the bars, on the axis */
	double share = end_space / (layout->area.width - 2 * end_space);
	layout->axis = (struct axis){.low = x.low - span * share, .high = x.high + span * share};
	axis_along(&layout->axis, layout->area);
}

/* Draws one end: an area from the nominal value to the value there, and the cause's value. */
static void draw_end(const struct tornado_layout *layout, double end, const char *label,
		     struct look look, bool left, double y, double height)
{
	double from = axis_at(&layout->axis, layout->value);
	struct drawing *drawing = layout->drawing;
	if (isnan(end)) {
		double x = left ? layout->area.x + 4 : layout->area.x + layout->area.width - 4;
		draw_text(drawing, x, y + 3, FONT_SMALL, left ? ANCHOR_START : ANCHOR_END,
			  ink_alarm, true,
			  text_fit(layout->arena, arena_printf(layout->arena, "fails at %s", label),
				   FONT_SMALL, true, fabs(x - from) - 8));
		return;
	}
	double to = axis_at(&layout->axis, end);
	if (fabs(to - from) >= 0.05)
		draw_area(drawing, fmin(from, to), y - height / 2, fabs(to - from), height, look);
	bool before = to < from || (to == from && left);
	draw_text(drawing, to + (before ? -4 : 4), y + 3, FONT_SMALL,
		  before ? ANCHOR_END : ANCHOR_START, ink_soft, false,
		  text_fit(layout->arena, label, FONT_SMALL, false, end_space - 6));
}

static void draw_row(const struct tornado_layout *layout, const struct tornado_bar *bar, double y)
{
	draw_row_label(layout->drawing, layout->area.x - 8, y, bar->label, layout->label_width);
	bool apart = (bar->low - layout->value) * (bar->high - layout->value) < 0;
	bool falling = bar->low > layout->value || bar->high < layout->value;
	double shift = apart ? 0 : bar_height / 4 + 1.5;
	double height = apart ? bar_height : bar_height / 2;
	draw_end(layout, bar->low, bar->low_label, low_look, !falling, y - shift, height);
	draw_end(layout, bar->high, bar->high_label, high_look, falling, y + shift, height);
}

struct drawing *chart_tornado(struct arena *arena, struct chart_text text,
			      const struct tornado_view *view)
{
	struct tornado_layout layout = {.arena = arena,
					.value = view->value,
					.bars = view->bars,
					.count = view->count < BARS_MAX ? view->count : BARS_MAX};
	if (!view->count || !isfinite(view->value))
		return chart_empty(arena, text, "no parameter influences the answer");
	measure(&layout);
	double top = chart_begin(arena, text, &layout.drawing);
	struct legend legend = legend_begin(layout.drawing, top);
	legend_add(&legend, LEGEND_AREA, low_look, "parameter at its low end");
	legend_add(&legend, LEGEND_AREA, high_look, "parameter at its high end");
	legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink}, "nominal value");
	double y = legend_end(&legend) + 10;
	layout.area.y = y;
	layout.area.height = row_height * (double)layout.count;
	draw_axis_x(layout.drawing, &layout.axis, layout.area, view->x_label, true);
	for (size_t i = 0; i < layout.count; i++)
		draw_row(&layout, &layout.bars[i], y + row_height * ((double)i + 0.5));
	double x = axis_at(&layout.axis, view->value);
	draw_line(layout.drawing, x, y - 3, x, y + layout.area.height, ink, 1, DASH_SOLID);
	return chart_end(layout.drawing, text, y + layout.area.height + 30);
}
