/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps of an answer over two parameters. A cell extends to the middles between its point and the
 * neighbours. A line between the middles of cells shows where the answer crosses the target, or
 * 95 %. */
#include "plots/style.h"

enum {
	SHADES_COUNT = 128, /* neighbouring cells of one shade are drawn as one */
	COLUMNS_MAX = 3
};
/* values over more than this ratio have a logarithmic scale of colours */
static const double log_above_ratio = 30;
static const double least_range = 0.02; /* of the scale, relative to the largest value */
static const double bar_width = 13, bar_room = 78, label_height = 16;

struct heat_layout {
	struct arena *arena;
	struct drawing *drawing;
	struct heat_axes axes;
	const struct heat_map *maps;
	size_t count;
	struct axis scale; /* from and to: ends of the colour bar */
	bool failed;       /* a cell fails */
};

/* ---- colours ---- */

/* Viridis (Smith and van der Walt for matplotlib 2, CC0), sampled at nine points. */
static struct paint shade_paint(int index)
{
	static const uint32_t anchors[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
					   0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
	double at = (index + 0.5) / SHADES_COUNT * 8;
	size_t i = (size_t)at;
	uint32_t rgb = 0;
	for (int shift = 16; shift >= 0; shift -= 8) {
		double from = anchors[i] >> shift & 0xff, to = anchors[i + 1] >> shift & 0xff;
		rgb |= (uint32_t)lround(from + (at - (double)i) * (to - from)) << shift;
	}
	return (struct paint){rgb, 1};
}

static int shade(const struct heat_layout *layout, double z)
{
	if (isnan(z))
		return -1;
	struct axis unit = layout->scale;
	unit.from = 0;
	unit.to = 1;
	double share = axis_at(&unit, z);
	return (int)fmin(fmax(floor(share * SHADES_COUNT), 0), SHADES_COUNT - 1);
}

/* ---- scale and levels ---- */

static const char *z_text(const struct heat_layout *layout, double z)
{
	if (layout->axes.share)
		return arena_printf(layout->arena, "%.4g %%", 100 * z);
	return number_text(layout->arena, z, layout->scale.log ? 1 : 3);
}

/* Returns false if there is no value at all. */
static bool measure(struct heat_layout *layout)
{
	struct range z = {INFINITY, -INFINITY};
	for (size_t m = 0; m < layout->count; m++) {
		const struct heat_map *map = &layout->maps[m];
		for (size_t i = 0; i < map->x_count * map->y_count; i++) {
			layout->failed |= isnan(map->z[i]);
			if (!isnan(map->z[i]))
				range_include(&z, map->z[i]);
		}
	}
	if (z.low > z.high)
		return false;
	/* values that hardly differ must not look different */
	double widen =
		fmax(0, least_range * fmax(fabs(z.low), fabs(z.high)) - (z.high - z.low)) / 2;
	z.low -= widen;
	z.high += widen;
	double ticks[TICKS_MAX];
	size_t count = nice_ticks(z.low, z.high, 8, ticks);
	layout->scale.low = ticks[0];
	layout->scale.high = ticks[count - 1];
	if (!layout->axes.share && z.low > 0 && z.high > log_above_ratio * z.low)
		layout->scale = (struct axis){.low = z.low, .high = z.high, .log = true};
	return true;
}

/* Draws the colour bar on the right with ticks at round values. */
static void draw_bar(struct heat_layout *layout, double x, double y, double height)
{
	struct axis *scale = &layout->scale;
	scale->from = y + height;
	scale->to = y;
	double step = height / SHADES_COUNT;
	for (int i = 0; i < SHADES_COUNT; i++)
		draw_rectangle(layout->drawing, x, y + height - step * (i + 1), bar_width,
			       step + (i > 0 ? 0.3 : 0), shade_paint(i));
	draw_frame(layout->drawing, x, y, bar_width, height, ink, 0.6);
	double ticks[TICKS_MAX], widest = 0;
	size_t count = axis_ticks(scale, 7, ticks);
	for (size_t i = 0; i < count; i++) {
		double at = axis_at(scale, ticks[i]);
		const char *text = z_text(layout, ticks[i]);
		widest = fmax(widest, text_width(text, FONT_TEXT, false));
		draw_line(layout->drawing, x + bar_width, at, x + bar_width + 3, at, ink, 0.8,
			  DASH_SOLID);
		draw_text(layout->drawing, x + bar_width + 6, at + 3, FONT_TEXT, ANCHOR_START, ink,
			  false, text);
	}
	draw_text_up(layout->drawing, x + bar_width + 6 + widest + 14, y + height / 2, FONT_TEXT,
		     ANCHOR_MIDDLE, ink, layout->axes.z_label);
}

/* ---- cells ---- */

/* Interpolates between two values on the axis; share 0.5 is the middle. */
static double between(bool logarithmic, double a, double b, double share)
{
	return logarithmic ? a * pow(b / a, share) : a + share * (b - a);
}

/* Sets the range of the axis to the cells around the values. Returns the positions of their
 * count + 1 edges. */
static double *edges_of(struct arena *arena, const double *values, size_t count, struct axis *axis)
{
	bool logarithmic = axis->log;
	double *edges = ARENA_ARRAY(arena, count + 1, double);
	edges[0] = between(logarithmic, values[0], values[1], -0.5);
	for (size_t i = 1; i < count; i++)
		edges[i] = between(logarithmic, values[i - 1], values[i], 0.5);
	edges[count] = between(logarithmic, values[count - 2], values[count - 1], 1.5);
	axis->low = edges[0];
	axis->high = edges[count];
	for (size_t i = 0; i <= count; i++)
		edges[i] = axis_at(axis, edges[i]);
	return edges;
}

static void draw_run(const struct heat_layout *layout, struct area cell, int index)
{
	if (index >= 0) {
		draw_rectangle(layout->drawing, cell.x, cell.y, cell.width, cell.height,
			       shade_paint(index));
		return;
	}
	draw_rectangle(layout->drawing, cell.x, cell.y, cell.width, cell.height, ink_panel);
	draw_hatch(layout->drawing, cell.x, cell.y, cell.width, cell.height, HATCH_RISING,
		   faint(ink_alarm, 0.6));
}

/* x and y have the positions of the cells' edges. */
static void draw_cells(const struct heat_layout *layout, const struct heat_map *map,
		       const double *x, const double *y, struct area area)
{
	for (size_t j = 0; j < map->y_count; j++) {
		const double *row = &map->z[j * map->x_count];
		double top = y[j + 1], bottom = y[j];
		bool lowest = j == 0; /* other rows overlap the row below a little */
		for (size_t i = 0; i < map->x_count;) {
			int index = shade(layout, row[i]);
			size_t end = i + 1;
			while (end < map->x_count && shade(layout, row[end]) == index)
				end++;
			double left = x[i], right = x[end];
			double more = end < map->x_count ? 0.3 : 0;
			struct area cell = {left, top, right - left + more,
					    bottom - top + (lowest ? 0 : 0.3)};
			draw_run(layout, cell, index);
			i = end;
		}
		for (size_t i = 0; i < map->x_count; i++) {
			double left = x[i], right = x[i + 1];
			draw_hint(layout->drawing, (left + right) / 2, (top + bottom) / 2,
				  right - left, bottom - top, "%s, %s: %s",
				  number_format(layout->arena, 4, map->x[i]),
				  number_format(layout->arena, 4, map->y[j]),
				  isnan(row[i]) ? "fails"
						: number_format(layout->arena, 4, row[i]));
		}
	}
	draw_frame(layout->drawing, area.x, area.y, area.width, area.height, ink, 0.8);
}

/* ---- the line of the target ---- */

/* A place between the middles of two neighbouring cells. */
struct crossing {
	double x, y;
};

/* Adds the place at which the value crosses the limit between two middles of cells, by linear
 * interpolation. Returns the number of places. */
static size_t cross(const struct heat_layout *layout, const double z[2],
		    const struct crossing ends[2], struct crossing *places, size_t count)
{
	double limit = layout->axes.limit;
	if ((z[0] >= limit) == (z[1] >= limit))
		return count;
	double share = (limit - z[0]) / (z[1] - z[0]);
	places[count] = (struct crossing){ends[0].x + share * (ends[1].x - ends[0].x),
					  ends[0].y + share * (ends[1].y - ends[0].y)};
	return count + 1;
}

/* Draws the line through the square between the middles of four cells (marching squares), or the
 * light rim that makes the dark line visible on any shade. At a saddle there are two lines. */
static void draw_square(const struct heat_layout *layout, const double z[4],
			const struct crossing middles[4], bool rim)
{
	struct crossing places[4];
	size_t count = 0;
	for (size_t k = 0; k < 4; k++) {
		size_t next = (k + 1) % 4;
		if (isnan(z[k]))
			return;
		count = cross(layout, (const double[]){z[k], z[next]},
			      (const struct crossing[]){middles[k], middles[next]}, places, count);
	}
	for (size_t k = 0; k + 1 < count; k += 2)
		draw_line(layout->drawing, places[k].x, places[k].y, places[k + 1].x,
			  places[k + 1].y, rim ? faint(ink_paper, 0.75) : ink_alarm,
			  rim ? 4.2 : 2.6, DASH_SOLID);
}

/* x and y have the positions of the cells' edges. */
static void draw_limit(const struct heat_layout *layout, const struct heat_map *map,
		       const double *x, const double *y, bool rim)
{
	for (size_t j = 0; j + 1 < map->y_count; j++)
		for (size_t i = 0; i + 1 < map->x_count; i++) {
			const double *low = &map->z[j * map->x_count + i];
			const double *high = low + map->x_count;
			double left = (x[i] + x[i + 1]) / 2, right = (x[i + 1] + x[i + 2]) / 2;
			double bottom = (y[j] + y[j + 1]) / 2, top = (y[j + 1] + y[j + 2]) / 2;
			draw_square(
				layout, (const double[]){low[0], low[1], high[1], high[0]},
				(const struct crossing[]){
					{left, bottom}, {right, bottom}, {right, top}, {left, top}},
				rim);
		}
}

/* Returns the label of the line, with the reason if no map has it. */
static const char *limit_words(const struct heat_layout *layout)
{
	bool above = false, below = false;
	for (size_t m = 0; m < layout->count; m++)
		for (size_t i = 0; i < layout->maps[m].x_count * layout->maps[m].y_count; i++) {
			above |= layout->maps[m].z[i] >= layout->axes.limit;
			below |= layout->maps[m].z[i] < layout->axes.limit;
		}
	return above && below ? layout->axes.limit_label
			      : arena_printf(layout->arena, "%s: no such line, all values are %s",
					     layout->axes.limit_label, above ? "higher" : "lower");
}

/* ---- the whole chart ---- */

static void draw_map(struct heat_layout *layout, size_t index, struct area area, bool bottom,
		     bool left)
{
	const struct heat_map *map = &layout->maps[index];
	struct plane plane = {.x = {.log = layout->axes.x_log}, .y = {.log = layout->axes.y_log}};
	axis_along(&plane.x, area);
	axis_up(&plane.y, area);
	const double *x = edges_of(layout->arena, map->x, map->x_count, &plane.x);
	const double *y = edges_of(layout->arena, map->y, map->y_count, &plane.y);
	if (layout->count > 1)
		draw_text(layout->drawing, area.x + area.width / 2, area.y - 6, FONT_TEXT,
			  ANCHOR_MIDDLE, ink, true,
			  text_fit(layout->arena, map->label, FONT_TEXT, true, area.width));
	draw_cells(layout, map, x, y, area);
	if (layout->axes.limit_label)
		for (int rim = 1; rim >= 0; rim--)
			draw_limit(layout, map, x, y, rim);
	draw_axis_x(layout->drawing, &plane.x, area, bottom ? layout->axes.x_label : "", false);
	draw_axis_y(layout->drawing, &plane.y, area, left ? layout->axes.y_label : "", false);
}

static double draw_key(const struct heat_layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	if (layout->axes.limit_label)
		legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_alarm},
			   limit_words(layout));
	if (layout->failed)
		legend_add(&legend, LEGEND_AREA,
			   (struct look){.paint = faint(ink_alarm, 0.25), .hatch = HATCH_RISING},
			   "case fails");
	return legend_end(&legend);
}

struct drawing *chart_heat(struct arena *arena, struct chart_text text, struct heat_axes axes,
			   const struct heat_map *maps, size_t count)
{
	struct heat_layout layout = {.arena = arena, .axes = axes, .maps = maps, .count = count};
	if (axes.share && !axes.limit_label) {
		layout.axes.limit = 0.95;
		layout.axes.limit_label = "95 %";
	}
	if (count == 0 || !measure(&layout))
		return chart_empty(arena, text, "the case fails at every point");
	double top = chart_begin(arena, text, &layout.drawing) + 4;
	size_t columns = count == 4 ? 2 : count < COLUMNS_MAX ? count : COLUMNS_MAX;
	double left = CHART_MARGIN + 52, gap_x = 44, gap_y = 26 + label_height;
	double room = CHART_WIDTH - CHART_MARGIN - bar_room - left;
	double width = (room - gap_x * (double)(columns - 1)) / (double)columns;
	double height = count == 1 ? 390 : fmin(width, 260);
	size_t rows = (count + columns - 1) / columns;
	double y = top + (count > 1 ? label_height : 0);
	for (size_t i = 0; i < count; i++) {
		size_t row = i / columns, column = i % columns;
		struct area area = {left + (double)column * (width + gap_x),
				    y + (double)row * (height + gap_y), width, height};
		draw_map(&layout, i, area, i + columns >= count, column == 0);
	}
	double whole = (double)rows * (height + gap_y) - gap_y;
	draw_bar(&layout, left + room + 14, y, fmin(whole, 390));
	double end = draw_key(&layout, y + whole + 38);
	return chart_end(layout.drawing, text, end);
}
