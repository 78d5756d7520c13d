/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps of an answer over two parameters. A cell extends to the middles between its point and the
 * neighbours; contour lines run between the points. */
#include <math.h>

#include "plots/contours.h"
#include "plots/style.h"
#include "sim/base/arena.h"
#include "sim/base/units.h"

enum {
	SHADES_COUNT = 128, /* neighbouring cells of one shade are drawn as one */
	LEVELS_MAX = 8,     /* and the line of the target */
	PLATES_MAX = 64,
	COLUMNS_MAX = 3
};
/* values over more than this ratio have a logarithmic scale of colours */
static const double log_above_ratio = 30;
static const double bar_width = 13, bar_room = 78, label_height = 16;

struct level {
	double z;
	const char *text;
	enum dash dash;
	double width;
	bool drawn, limit; /* limit: the line of the target */
};

struct plate { /* the plate with a contour line's value */
	double x, y, width;
};

struct layout {
	struct arena *arena;
	struct drawing *drawing;
	struct heat_axes axes;
	const struct heat_map *maps;
	size_t count;
	struct axis scale; /* from and to: ends of the colour bar */
	struct level levels[LEVELS_MAX + 1];
	size_t level_count;
	struct plate plates[PLATES_MAX]; /* plates of the current map */
	size_t plate_count;
	bool failed; /* any cell fails */
};

/* ---- colours ---- */

/* Viridis (Smith and van der Walt for matplotlib 2, CC0), sampled at nine points. */
static struct paint viridis(double share)
{
	static const uint32_t anchors[] = {0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c,
					   0x28ae80, 0x5ec962, 0xaddc30, 0xfde725};
	double at = fmin(fmax(share, 0), 1) * 8;
	size_t i = at >= 8 ? 7 : (size_t)at;
	uint32_t rgb = 0;
	for (int shift = 16; shift >= 0; shift -= 8) {
		double from = anchors[i] >> shift & 0xff, to = anchors[i + 1] >> shift & 0xff;
		rgb |= (uint32_t)lround(from + (at - (double)i) * (to - from)) << shift;
	}
	return (struct paint){rgb, 1};
}

static int shade(const struct layout *layout, double z)
{
	if (isnan(z))
		return -1;
	struct axis unit = layout->scale;
	unit.from = 0;
	unit.to = 1;
	double share = axis_at(&unit, z);
	return (int)fmin(fmax(floor(share * SHADES_COUNT), 0), SHADES_COUNT - 1);
}

static struct paint shade_paint(int index)
{
	return viridis((index + 0.5) / SHADES_COUNT);
}

/* ---- scale and levels ---- */

static const char *z_text(const struct layout *layout, double z)
{
	if (layout->axes.share)
		return arena_printf(layout->arena, "%.4g %%", 100 * z);
	return layout->scale.log ? number_format(layout->arena, 3, z)
				 : number_text(layout->arena, z, 3);
}

static void add_level(struct layout *layout, double z, enum dash dash, double width)
{
	bool other = layout->axes.limit_label && fabs(layout->axes.limit / z - 1) < 1e-9;
	if (z > layout->scale.low && z < layout->scale.high && !other &&
	    layout->level_count < LEVELS_MAX)
		layout->levels[layout->level_count++] =
			(struct level){z, z_text(layout, z), dash, width, false, false};
}

/* Adds the line of the target, which is drawn above the others. */
static void add_limit(struct layout *layout)
{
	double z = layout->axes.limit;
	if (layout->axes.limit_label && z > layout->scale.low && z < layout->scale.high)
		layout->levels[layout->level_count++] =
			(struct level){z, z_text(layout, z), DASH_SOLID, 2.6, .limit = true};
}

/* Returns false if there is no value at all. */
static bool measure(struct layout *layout)
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
	double ticks[TICKS_MAX];
	size_t count = nice_ticks(z.low, z.high, 8, ticks);
	layout->scale.low = ticks[0];
	layout->scale.high = ticks[count - 1];
	if (!layout->axes.share && z.low > 0 && z.high > log_above_ratio * z.low) {
		layout->scale = (struct axis){.low = z.low, .high = z.high, .log = true};
		count = axis_ticks(&layout->scale, 8, ticks);
	}
	if (layout->axes.share) {
		add_level(layout, 0.5, DASH_DOT, 0.9);
		add_level(layout, 0.75, DASH_DOT, 0.9);
		add_level(layout, 0.9, DASH_SHORT, 1.1);
		add_level(layout, 0.95, DASH_SOLID, 1.3);
		add_level(layout, 0.99, DASH_LONG, 1.1);
	}
	bool some = layout->level_count > 0;
	for (size_t i = 0; i < count && (!layout->axes.share || !some); i++)
		add_level(layout, ticks[i], DASH_SOLID, 0.9);
	add_limit(layout);
	return true;
}

/* Draws the colour bar on the right with ticks at round values. */
static void draw_bar(struct layout *layout, double x, double y, double height)
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

/* Returns the count + 1 edges of the cells around values. */
static double *edges_of(struct arena *arena, const double *values, size_t count, bool logarithmic)
{
	double *edges = ARENA_ARRAY(arena, count + 1, double);
	edges[0] = between(logarithmic, values[0], values[1], -0.5);
	for (size_t i = 1; i < count; i++)
		edges[i] = between(logarithmic, values[i - 1], values[i], 0.5);
	edges[count] = between(logarithmic, values[count - 2], values[count - 1], 1.5);
	return edges;
}

static void draw_run(const struct layout *layout, struct area cell, int index)
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

static void draw_cells(const struct layout *layout, const struct heat_map *map,
		       const struct plane *plane, struct area area)
{
	const double *x = edges_of(layout->arena, map->x, map->x_count, layout->axes.x_log);
	const double *y = edges_of(layout->arena, map->y, map->y_count, layout->axes.y_log);
	for (size_t j = 0; j < map->y_count; j++) {
		const double *row = &map->z[j * map->x_count];
		double top = axis_at(&plane->y, y[j + 1]), bottom = axis_at(&plane->y, y[j]);
		bool lowest = j == 0; /* other rows overlap the row below a little */
		for (size_t i = 0; i < map->x_count;) {
			int index = shade(layout, row[i]);
			size_t end = i + 1;
			while (end < map->x_count && shade(layout, row[end]) == index)
				end++;
			double left = axis_at(&plane->x, x[i]), right = axis_at(&plane->x, x[end]);
			double more = end < map->x_count ? 0.3 : 0;
			struct area cell = {left, top, right - left + more,
					    bottom - top + (lowest ? 0 : 0.3)};
			draw_run(layout, cell, index);
			i = end;
		}
		for (size_t i = 0; i < map->x_count; i++) {
			double left = axis_at(&plane->x, x[i]),
			       right = axis_at(&plane->x, x[i + 1]);
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

/* ---- contour lines ---- */

static bool is_free(const struct layout *layout, struct area area, struct plate plate)
{
	double half = plate.width / 2;
	if (plate.x - half < area.x + 2 || plate.x + half > area.x + area.width - 2 ||
	    plate.y < area.y + 7 || plate.y > area.y + area.height - 7)
		return false;
	for (size_t i = 0; i < layout->plate_count; i++) {
		const struct plate *other = &layout->plates[i];
		if (fabs(other->x - plate.x) < (other->width + plate.width) / 2 + 2 &&
		    fabs(other->y - plate.y) < 13)
			return false;
	}
	return true;
}

/* Writes the value of a line at the first free place along it. */
static void draw_plate(struct layout *layout, const struct level *level, const struct contour *line,
		       struct area area)
{
	static const double shares[] = {0.5, 0.35, 0.65, 0.2, 0.8, 0.1, 0.9};
	double width = text_width(level->text, FONT_SMALL, false) + 6;
	if (line->count < 3 || layout->plate_count == PLATES_MAX)
		return;
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
		size_t k = (size_t)(shares[i] * (double)(line->count - 1));
		struct plate plate = {line->points[2 * k], line->points[2 * k + 1], width};
		if (!is_free(layout, area, plate))
			continue;
		layout->plates[layout->plate_count++] = plate;
		draw_box(layout->drawing, plate.x - width / 2, plate.y - 5.5, width, 11, 2,
			 faint(ink_paper, 0.92), ink, 0.5);
		draw_text(layout->drawing, plate.x, plate.y + 2.8, FONT_SMALL, ANCHOR_MIDDLE, ink,
			  false, level->text);
		return;
	}
}

static void draw_levels(struct layout *layout, const struct heat_map *map,
			const struct plane *plane, struct area area)
{
	double *x = ARENA_ARRAY(layout->arena, map->x_count, double);
	double *y = ARENA_ARRAY(layout->arena, map->y_count, double);
	const struct contour *lines[LEVELS_MAX + 1];
	size_t counts[LEVELS_MAX + 1];
	for (size_t i = 0; i < map->x_count; i++)
		x[i] = axis_at(&plane->x, map->x[i]);
	for (size_t j = 0; j < map->y_count; j++)
		y[j] = axis_at(&plane->y, map->y[j]);
	const struct contour_grid grid = {x, y, map->z, map->x_count, map->y_count};
	for (size_t v = 0; v < layout->level_count; v++) {
		struct level *level = &layout->levels[v];
		counts[v] = contours_find(layout->arena, &grid, level->z, &lines[v]);
		level->drawn |= counts[v] > 0;
		/* a dark line on a light rim is visible on any shade */
		for (size_t i = 0; i < counts[v]; i++) {
			const struct contour *line = &lines[v][i];
			draw_polyline(layout->drawing, line->points, line->count,
				      faint(ink_paper, 0.75), level->width + 1.6, DASH_SOLID);
			draw_polyline(layout->drawing, line->points, line->count,
				      level->limit ? ink_alarm : ink, level->width, level->dash);
		}
	}
	layout->plate_count = 0;
	for (size_t v = layout->level_count; v-- > 0;) { /* the highest level chooses first */
		const struct contour *longest = NULL;
		for (size_t i = 0; i < counts[v]; i++)
			if (!longest || lines[v][i].count > longest->count)
				longest = &lines[v][i];
		if (longest)
			draw_plate(layout, &layout->levels[v], longest, area);
	}
}

/* ---- the whole chart ---- */

static void draw_map(struct layout *layout, size_t index, struct area area, bool bottom, bool left)
{
	const struct heat_map *map = &layout->maps[index];
	const double *x = map->x, *y = map->y;
	size_t nx = map->x_count, ny = map->y_count;
	struct plane plane = {.x = {.low = between(layout->axes.x_log, x[0], x[1], -0.5),
				    .high = between(layout->axes.x_log, x[nx - 2], x[nx - 1], 1.5),
				    .log = layout->axes.x_log},
			      .y = {.low = between(layout->axes.y_log, y[0], y[1], -0.5),
				    .high = between(layout->axes.y_log, y[ny - 2], y[ny - 1], 1.5),
				    .log = layout->axes.y_log}};
	axis_along(&plane.x, area);
	axis_up(&plane.y, area);
	if (layout->count > 1)
		draw_text(layout->drawing, area.x + area.width / 2, area.y - 6, FONT_TEXT,
			  ANCHOR_MIDDLE, ink, true,
			  text_fit(layout->arena, map->label, FONT_TEXT, true, area.width));
	draw_cells(layout, map, &plane, area);
	draw_levels(layout, map, &plane, area);
	draw_axis_x(layout->drawing, &plane.x, area, bottom ? layout->axes.x_label : "", false);
	draw_axis_y(layout->drawing, &plane.y, area, left ? layout->axes.y_label : "", false);
}

static double draw_key(const struct layout *layout, double y)
{
	struct legend legend = legend_begin(layout->drawing, y);
	const struct level *last = NULL; /* of the entry `label` */
	const char *label = NULL;
	for (size_t v = 0; v < layout->level_count; v++) {
		const struct level *level = &layout->levels[v];
		if (!level->drawn || !layout->axes.share || level->limit)
			continue;
		bool same = last && last->dash == level->dash;
		if (last && !same)
			legend_add(&legend, LEGEND_LINE,
				   (struct look){.paint = ink, .dash = last->dash}, label);
		label = same ? arena_printf(layout->arena, "%s, %s", label, level->text)
			     : level->text;
		last = level;
	}
	if (last)
		legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink, .dash = last->dash},
			   label);
	if (layout->axes.limit_label)
		legend_add(&legend, LEGEND_LINE, (struct look){.paint = ink_alarm},
			   layout->axes.limit_label);
	if (layout->failed)
		legend_add(&legend, LEGEND_AREA,
			   (struct look){.paint = faint(ink_alarm, 0.25), .hatch = HATCH_RISING},
			   "case fails");
	return legend_end(&legend);
}

struct drawing *chart_heat(struct arena *arena, struct chart_text text, struct heat_axes axes,
			   const struct heat_map *maps, size_t count)
{
	struct layout layout = {.arena = arena, .axes = axes, .maps = maps, .count = count};
	if (count == 0 || !measure(&layout))
		return chart_empty(arena, text, "the case fails at every point");
	double top = chart_begin(arena, text, CHART_WIDTH, &layout.drawing) + 4;
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
