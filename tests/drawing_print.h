/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the list of shapes of a drawing, one shape per line with 2 decimals, for golden tests. */
#pragma once

#include <math.h>

#include "plots/shapes.h"

static inline void print_number(FILE *out, double value)
{
	double rounded = round(value * 100) / 100;
	fprintf(out, " %.2f", rounded == 0 ? 0.0 : rounded); /* avoids -0.00 */
}

static inline void print_paint(FILE *out, struct paint paint)
{
	fprintf(out, " #%06x", (unsigned)paint.rgb);
	if (paint.alpha < 1)
		fprintf(out, "/%.2f", paint.alpha);
}

static inline const char *style_name(const struct shape *shape)
{
	static const char *const hatches[] = {"none",  "rising",  "falling", "crossed",
					      "level", "upright", "dots"};
	static const char *const dashes[] = {"solid", "long", "short", "dot"};
	static const char *const markers[] = {"none",    "circle", "square", "triangle",
					      "diamond", "cross",  "plus"};
	static const char *const anchors[] = {"start", "middle", "end"};
	switch (shape->kind) {
	case SHAPE_HATCH:
		return hatches[shape->style];
	case SHAPE_LINE:
	case SHAPE_POLYLINE:
		return dashes[shape->style];
	case SHAPE_MARKER:
		return markers[shape->style];
	case SHAPE_TEXT:
	case SHAPE_TEXT_UP:
		return anchors[shape->style];
	default:
		return NULL;
	}
}

static inline void print_shape(const struct shape *shape, FILE *out)
{
	static const struct {
		const char *name;
		int numbers;
	} kinds[] = {
		[SHAPE_RECTANGLE] = {"rectangle", 4}, [SHAPE_HATCH] = {"hatch", 4},
		[SHAPE_LINE] = {"line", 0},           [SHAPE_POLYLINE] = {"polyline", 0},
		[SHAPE_POLYGON] = {"polygon", 0},     [SHAPE_MARKER] = {"marker", 3},
		[SHAPE_TEXT] = {"text", 3},           [SHAPE_TEXT_UP] = {"text-up", 3},
		[SHAPE_HINT] = {"hint", 4},
	};
	fputs(kinds[shape->kind].name, out);
	for (int i = 0; i < kinds[shape->kind].numbers; i++)
		print_number(out, shape->at[i]);
	for (size_t i = 0; i < 2 * shape->point_count; i++)
		print_number(out, shape->points[i]);
	if (shape->kind == SHAPE_LINE || shape->kind == SHAPE_POLYLINE) {
		fputs(" width", out);
		print_number(out, shape->at[4]);
	}
	print_paint(out, shape->paint);
	if (style_name(shape))
		fprintf(out, " %s", style_name(shape));
	if (shape->text)
		fprintf(out, "%s \"%s\"", shape->bold ? " bold" : "", shape->text);
	fputc('\n', out);
}

static inline void drawing_print(const struct drawing *drawing, FILE *out)
{
	fputs("drawing", out);
	print_number(out, drawing->width);
	print_number(out, drawing->height);
	fputc('\n', out);
	for (size_t i = 0; i < drawing->shapes.count; i++)
		print_shape(&drawing->shapes.items[i], out);
}
