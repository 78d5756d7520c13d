/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/shapes.h"
#include "sim/base/table.h"

struct drawing *drawing_new(struct arena *arena, double width, double height)
{
	struct drawing *drawing = ARENA_NEW(arena, struct drawing);
	drawing->arena = arena;
	drawing_resize(drawing, width, height);
	return drawing;
}

void drawing_resize(struct drawing *drawing, double width, double height)
{
	FW_ASSERT(width > 0 && height > 0 && isfinite(width) && isfinite(height));
	drawing->width = width;
	drawing->height = height;
}

static struct shape *add(struct drawing *drawing, enum shape_kind kind, int style,
			 struct paint paint)
{
	struct shape *shape = VEC_PUSH(drawing->arena, &drawing->shapes);
	shape->kind = kind;
	shape->style = style;
	shape->paint = paint;
	return shape;
}

static void place(struct shape *shape, double x, double y, double width, double height)
{
	FW_ASSERT(isfinite(x) && isfinite(y) && isfinite(width) && isfinite(height));
	shape->at[0] = x;
	shape->at[1] = y;
	shape->at[2] = width;
	shape->at[3] = height;
}

void draw_rectangle(struct drawing *drawing, double x, double y, double width, double height,
		    struct paint fill)
{
	place(add(drawing, SHAPE_RECTANGLE, 0, fill), x, y, width, height);
}

void draw_hatch(struct drawing *drawing, double x, double y, double width, double height,
		enum hatch hatch, struct paint stroke)
{
	if (hatch != HATCH_NONE)
		place(add(drawing, SHAPE_HATCH, (int)hatch, stroke), x, y, width, height);
}

static void add_points(struct drawing *drawing, struct shape *shape, const double *points,
		       size_t count)
{
	for (size_t i = 0; i < 2 * count; i++)
		FW_ASSERT(isfinite(points[i]));
	double *copy = ARENA_ARRAY(drawing->arena, 2 * count, double);
	if (count > 0)
		memcpy(copy, points, 2 * count * sizeof *copy);
	shape->points = copy;
	shape->point_count = count;
}

void draw_line(struct drawing *drawing, double x1, double y1, double x2, double y2,
	       struct paint stroke, double line_width, enum dash dash)
{
	const double points[] = {x1, y1, x2, y2};
	struct shape *shape = add(drawing, SHAPE_LINE, (int)dash, stroke);
	shape->at[4] = line_width;
	add_points(drawing, shape, points, 2);
}

void draw_polyline(struct drawing *drawing, const double *points, size_t count, struct paint stroke,
		   double line_width, enum dash dash)
{
	struct shape *shape = add(drawing, SHAPE_POLYLINE, (int)dash, stroke);
	shape->at[4] = line_width;
	add_points(drawing, shape, points, count);
}

void draw_frame(struct drawing *drawing, double x, double y, double width, double height,
		struct paint stroke, double line_width)
{
	const double corners[] = {x, y, x + width, y, x + width, y + height, x, y + height, x, y};
	draw_polyline(drawing, corners, 5, stroke, line_width, DASH_SOLID);
}

void draw_polygon(struct drawing *drawing, const double *points, size_t count, struct paint fill)
{
	add_points(drawing, add(drawing, SHAPE_POLYGON, 0, fill), points, count);
}

void draw_marker(struct drawing *drawing, enum marker marker, double x, double y, double size,
		 struct paint fill)
{
	if (marker != MARKER_NONE)
		place(add(drawing, SHAPE_MARKER, (int)marker, fill), x, y, size, 0);
}

void draw_text(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
	       struct paint fill, bool bold, const char *text)
{
	struct shape *shape = add(drawing, SHAPE_TEXT, (int)anchor, fill);
	place(shape, x, y, size, 0);
	shape->bold = bold;
	shape->text = arena_strdup(drawing->arena, text);
}

void draw_text_up(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
		  struct paint fill, const char *text)
{
	struct shape *shape = add(drawing, SHAPE_TEXT_UP, (int)anchor, fill);
	place(shape, x, y, size, 0);
	shape->text = arena_strdup(drawing->arena, text);
}

void draw_hint(struct drawing *drawing, double x, double y, double width, double height,
	       const char *format, ...)
{
	va_list args;
	va_start(args, format);
	struct shape *shape = add(drawing, SHAPE_HINT, 0, (struct paint){0, 0});
	place(shape, x - width / 2, y - height / 2, width, height);
	shape->text = arena_vprintf(drawing->arena, format, args);
	va_end(args);
}

bool image_format_of(const char *path, enum image_format *format)
{
	static const char *const endings[] = {
		[IMAGE_SVG] = ".svg", [IMAGE_PDF] = ".pdf", [IMAGE_PNG] = ".png"};
	for (int i = IMAGE_SVG; i <= IMAGE_PNG; i++)
		if (strlen(path) > strlen(endings[i]) && ends_in(path, endings[i])) {
			*format = (enum image_format)i;
			return true;
		}
	return false;
}
