/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/shapes.h"
#include "plots/style.h"

/* Okabe and Ito, "Color Universal Design" (2008). */
static const uint32_t okabe_ito[8] = {0x000000, 0xE69F00, 0x56B4E9, 0x009E73,
				      0xF0E442, 0x0072B2, 0xD55E00, 0xCC79A7};

const struct paint ink = {0x222222, 1};
const struct paint ink_soft = {0x6A6A6A, 1};
const struct paint ink_grid = {0xE4E4E4, 1};
const struct paint ink_panel = {0xF6F6F4, 1};
const struct paint ink_paper = {0xFFFFFF, 1};
/* darker vermillion, because it is also used for text */
const struct paint ink_alarm = {0xB54A00, 1};

struct paint hue(int place)
{
	return (struct paint){okabe_ito[place], 1};
}

struct paint faint(struct paint paint, double alpha)
{
	return (struct paint){paint.rgb, paint.alpha * alpha};
}

struct look series_look(size_t index)
{
	static const int hues[] = {HUE_BLUE,   HUE_VERMILLION, HUE_GREEN, HUE_ORANGE,
				   HUE_PURPLE, HUE_SKY,        HUE_BLACK};
	static const enum marker markers[] = {MARKER_CIRCLE, MARKER_SQUARE, MARKER_TRIANGLE,
					      MARKER_DIAMOND, MARKER_PLUS};
	static const enum dash dashes[] = {DASH_SOLID, DASH_LONG, DASH_SHORT, DASH_DOT};
	static const enum hatch hatches[] = {HATCH_NONE,  HATCH_RISING,  HATCH_FALLING, HATCH_DOTS,
					     HATCH_LEVEL, HATCH_UPRIGHT, HATCH_CROSSED};
	return (struct look){.paint = hue(hues[index % 7]),
			     .marker = markers[index % 5],
			     .dash = dashes[index % 4],
			     .hatch = hatches[(index + index / 7) % 7]};
}

struct look part_look(const char *name, size_t index)
{
	static const struct {
		const char *name;
		struct look look;
	} known[] = {
		{PART_KERNEL, {.paint = {0x009E73, 1}}},
		{PART_ISSUE, {.paint = {0xE69F00, 1}, .hatch = HATCH_RISING}},
		{PART_NETWORK, {.paint = {0x0072B2, 1}, .hatch = HATCH_FALLING}},
		{PART_LOST, {.paint = {0xD55E00, 1}, .hatch = HATCH_CROSSED}},
		{PART_SESSION, {.paint = {0xF0E442, 1}, .hatch = HATCH_DOTS}},
		{PART_COPY, {.paint = {0x56B4E9, 1}, .hatch = HATCH_DOTS}},
		{PART_EXPOSED, {.paint = {0xCC79A7, 1}, .hatch = HATCH_CROSSED}},
		{PART_INPUT, {.paint = {0xF0E442, 1}, .hatch = HATCH_UPRIGHT}},
		{PART_STRAGGLER, {.paint = {0xD55E00, 1}, .hatch = HATCH_FALLING}},
		{PART_TENSOR, {.paint = {0xCC79A7, 1}, .hatch = HATCH_LEVEL}},
		{PART_CONTEXT, {.paint = {0xCC79A7, 1}, .hatch = HATCH_DOTS}},
		{PART_EXPERT, {.paint = {0xCC79A7, 1}, .hatch = HATCH_CROSSED}},
		{PART_DATA, {.paint = {0x0072B2, 1}, .hatch = HATCH_UPRIGHT}},
		{PART_PIPELINE, {.paint = {0x56B4E9, 1}, .hatch = HATCH_FALLING}},
		{PART_BUBBLE, {.paint = {0xE2E2E2, 1}, .hatch = HATCH_RISING}},
		{PART_QUEUE, {.paint = {0xD55E00, 1}}},
		{PART_TRANSFER, {.paint = {0x56B4E9, 1}, .hatch = HATCH_DOTS}},
		{PART_BATCH, {.paint = {0xF0E442, 1}, .hatch = HATCH_UPRIGHT}},
		{PART_OTHER, {.paint = {0xBBBBBB, 1}, .hatch = HATCH_LEVEL}},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].look;
	return series_look(index);
}

/* ---- legends ---- */

void draw_area(struct drawing *drawing, double x, double y, double width, double height,
	       struct look look)
{
	draw_rectangle(drawing, x, y, width, height, look.paint);
	draw_hatch(drawing, x, y, width, height, look.hatch,
		   (struct paint){(look.paint.rgb >> 1) & 0x7F7F7F, 0.55});
}

void draw_shares(struct drawing *drawing, struct area area, const double *shares,
		 const struct look *looks, size_t count)
{
	double bottom = area.y + area.height;
	for (size_t i = 0; i < count; i++) {
		struct look look = looks[i];
		if (!(shares[i] > 0))
			continue;
		if (area.width < 3)
			look.hatch = HATCH_NONE;
		bottom -= shares[i] * area.height;
		draw_area(drawing, area.x, bottom, area.width, shares[i] * area.height, look);
	}
}

void draw_on_area(struct drawing *drawing, struct look look, double x, double y, const char *text)
{
	double width = text_width(text, FONT_SMALL, false);
	uint32_t rgb = look.paint.rgb;
	double light =
		0.299 * (rgb >> 16 & 0xFF) + 0.587 * (rgb >> 8 & 0xFF) + 0.114 * (rgb & 0xFF);
	if (look.hatch != HATCH_NONE)
		draw_rectangle(drawing, x - width / 2 - 2, y - 5, width + 4, 10, look.paint);
	draw_text(drawing, x, y + 2.8, FONT_SMALL, ANCHOR_MIDDLE, light < 130 ? ink_paper : ink,
		  false, text);
}

void draw_point(struct drawing *drawing, struct look look, double x, double y, double size)
{
	if (look.marker == MARKER_CROSS || look.marker == MARKER_PLUS) {
		draw_marker(drawing, look.marker, x, y, size, look.paint);
		return;
	}
	draw_marker(drawing, look.marker, x, y, size + 2, ink_paper);
	draw_marker(drawing, look.marker, x, y, size, look.paint);
	if (look.hollow)
		draw_marker(drawing, look.marker, x, y, size - 2.4, ink_paper);
}

void draw_whisker_x(struct drawing *drawing, double x1, double x2, double y)
{
	draw_line(drawing, x1, y, x2, y, ink, 1, DASH_SOLID);
	draw_line(drawing, x1, y - 2.5, x1, y + 2.5, ink, 1, DASH_SOLID);
	draw_line(drawing, x2, y - 2.5, x2, y + 2.5, ink, 1, DASH_SOLID);
}

void draw_whisker_y(struct drawing *drawing, double x, double y1, double y2)
{
	draw_line(drawing, x, y1, x, y2, ink, 0.8, DASH_SOLID);
	draw_line(drawing, x - 2, y1, x + 2, y1, ink, 0.8, DASH_SOLID);
	draw_line(drawing, x - 2, y2, x + 2, y2, ink, 0.8, DASH_SOLID);
}

enum { SWATCH = 20, LEGEND_ROW = 14 };
const char *const measured_roles[2] = {"measured (fit row)", "measured (test row)"};

static void draw_swatch(struct drawing *drawing, enum legend_kind kind, struct look look, double x,
			double y)
{
	switch (kind) {
	case LEGEND_AREA:
		draw_area(drawing, x, y - 4.5, SWATCH - 4, 9, look);
		break;
	case LEGEND_LINE:
		draw_line(drawing, x, y, x + SWATCH - 4, y, look.paint, 1.6, look.dash);
		if (look.marker != MARKER_NONE)
			draw_point(drawing, look, x + SWATCH / 2.0 - 2, y, 6);
		break;
	case LEGEND_MARKER:
		draw_point(drawing, look, x + SWATCH / 2.0, y, 7);
		break;
	case LEGEND_WHISKER:
		draw_whisker_x(drawing, x, x + SWATCH - 4, y);
		break;
	case LEGEND_BAND:
		draw_rectangle(drawing, x, y - 4.5, SWATCH - 4, 9, look.paint);
		break;
	}
}

struct legend legend_begin(struct drawing *drawing, double y)
{
	return (struct legend){drawing, CHART_MARGIN, y, CHART_WIDTH - CHART_MARGIN};
}

void legend_add(struct legend *legend, enum legend_kind kind, struct look look, const char *label)
{
	const double gap = 18;
	double needed = SWATCH + text_width(label, FONT_TEXT, false);
	if (legend->x > CHART_MARGIN && legend->x + needed > legend->right) {
		legend->x = CHART_MARGIN;
		legend->y += LEGEND_ROW;
	}
	draw_swatch(legend->drawing, kind, look, legend->x, legend->y + 5);
	draw_text(legend->drawing, legend->x + SWATCH, legend->y + 8, FONT_TEXT, ANCHOR_START, ink,
		  false, label);
	legend->x += needed + gap;
}

double legend_end(const struct legend *legend)
{
	return legend->x > CHART_MARGIN ? legend->y + LEGEND_ROW : legend->y;
}

void draw_failure(struct drawing *drawing, double x, double y, double height, double width,
		  const char *reason)
{
	const double stub = 26, gap = 6;
	draw_rectangle(drawing, x, y - height / 2, stub, height, faint(ink_alarm, 0.12));
	draw_hatch(drawing, x, y - height / 2, stub, height, HATCH_RISING, ink_alarm);
	draw_frame(drawing, x, y - height / 2, stub, height, ink_alarm, 0.8);
	const char *lines[2];
	size_t count = text_wrap(drawing->arena, arena_printf(drawing->arena, "fail: %s", reason),
				 FONT_SMALL, false, width - stub - gap, 2, lines);
	double widest = 0;
	for (size_t i = 0; i < count; i++)
		widest = fmax(widest, text_width(lines[i], FONT_SMALL, false));
	draw_rectangle(drawing, x + stub + gap - 2, y - 5.0 * (double)count, widest + 4,
		       10.0 * (double)count, faint(ink_paper, 0.9));
	draw_lines(drawing, x + stub + gap, y, FONT_SMALL, ANCHOR_START, ink_alarm, lines, count);
}

/* ---- title and caption ---- */

double chart_begin(struct arena *arena, struct chart_text text, struct drawing **drawing)
{
	const char *lines[2];
	size_t count = text_wrap(arena, text.title ? text.title : "", FONT_TITLE, true,
				 CHART_WIDTH - 2 * CHART_MARGIN, 2, lines);
	double y = CHART_MARGIN;
	*drawing = drawing_new(arena, CHART_WIDTH, CHART_WIDTH);
	for (size_t i = 0; i < count; i++) {
		draw_text(*drawing, CHART_MARGIN, y + 8, FONT_TITLE, ANCHOR_START, ink, true,
			  lines[i]);
		y += 14;
	}
	return count > 0 ? y + 6 : y;
}

struct drawing *chart_end(struct drawing *drawing, struct chart_text text, double y)
{
	const char *lines[4];
	size_t count = text_wrap(drawing->arena, text.caption ? text.caption : "", FONT_SMALL,
				 false, CHART_WIDTH - 2 * CHART_MARGIN, 4, lines);
	if (count > 0)
		y += 10;
	for (size_t i = 0; i < count; i++) {
		draw_text(drawing, CHART_MARGIN, y + 6, FONT_SMALL, ANCHOR_START, ink_soft, false,
			  lines[i]);
		y += 10;
	}
	drawing_resize(drawing, CHART_WIDTH, ceil(y + CHART_MARGIN - 6));
	return drawing;
}

struct drawing *chart_empty(struct arena *arena, struct chart_text text, const char *why)
{
	struct drawing *drawing;
	double y = chart_begin(arena, text, &drawing);
	draw_rectangle(drawing, CHART_MARGIN, y, CHART_WIDTH - 2 * CHART_MARGIN, 60, ink_panel);
	draw_text(drawing, CHART_WIDTH / 2, y + 33, FONT_TEXT, ANCHOR_MIDDLE, ink_soft, false, why);
	return chart_end(drawing, text, y + 60);
}
