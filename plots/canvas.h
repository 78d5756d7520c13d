/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A drawing as a list of plain shapes, and the canvases that show it.
 *
 * Charts append lines, rectangles, markers and texts to a DRAWING; a canvas
 * renders it: to SVG (canvas_svg.c), or to PDF or PNG with cairo (canvas_cairo.c, the
 * one door to it). Golden tests compare the list itself, which does not change with
 * fonts and cairo versions (tests/drawing_print.h). Coordinates are points
 * (1/72 inch), origin at the top left; a text's y is its baseline. Every
 * coordinate must be finite (asserted): a chart decides what a NaN looks like.
 *
 * Layout measures texts with text_width, which knows the advance widths of the
 * plot font (DejaVu Sans) by a table that is compiled in. So a drawing is the
 * same on every machine, also where the font is missing; the canvases then
 * fit the substitute's texts into the widths that the layout reckoned with.
 */
#ifndef FARWIRE_PLOTS_CANVAS_H
#define FARWIRE_PLOTS_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct arena;

enum text_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };
enum marker {
	MARKER_NONE,
	MARKER_CIRCLE,
	MARKER_SQUARE,
	MARKER_TRIANGLE,
	MARKER_DIAMOND,
	MARKER_CROSS,
	MARKER_PLUS
};
enum dash { DASH_SOLID, DASH_LONG, DASH_SHORT, DASH_DOT };
enum hatch {
	HATCH_NONE,
	HATCH_RISING,
	HATCH_FALLING,
	HATCH_CROSSED,
	HATCH_LEVEL,
	HATCH_UPRIGHT,
	HATCH_DOTS
};

struct paint {
	uint32_t rgb; /* 0xRRGGBB */
	double alpha; /* 0..1 */
};

struct drawing;
struct drawing *drawing_new(struct arena *arena, double width, double height);
double drawing_width(const struct drawing *drawing);
double drawing_height(const struct drawing *drawing);
/* Charts learn their height while they draw. */
void drawing_resize(struct drawing *drawing, double width, double height);
void draw_rectangle(struct drawing *drawing, double x, double y, double width, double height,
		    struct paint fill);
void draw_frame(struct drawing *drawing, double x, double y, double width, double height,
		struct paint stroke, double line_width);
/* The same with round corners and filled. */
void draw_box(struct drawing *drawing, double x, double y, double width, double height,
	      double radius, struct paint fill, struct paint stroke, double line_width);
/* A pattern of thin lines or dots over a rectangle, aligned with its neighbours'. */
void draw_hatch(struct drawing *drawing, double x, double y, double width, double height,
		enum hatch hatch, struct paint stroke);
void draw_line(struct drawing *drawing, double x1, double y1, double x2, double y2,
	       struct paint stroke, double line_width, enum dash dash);
/* points: x, y pairs; count of points */
void draw_polyline(struct drawing *drawing, const double *points, size_t count, struct paint stroke,
		   double line_width, enum dash dash);
void draw_polygon(struct drawing *drawing, const double *points, size_t count, struct paint fill);
void draw_marker(struct drawing *drawing, enum marker marker, double x, double y, double size,
		 struct paint fill);
void draw_text(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
	       struct paint fill, bool bold, const char *format, ...)
	__attribute__((format(printf, 8, 9)));
/* The shapes of another drawing, its corner at x, y. */
void draw_drawing(struct drawing *drawing, double x, double y, const struct drawing *inner);
/* Turned 90 degrees to the left, for y axes. */
void draw_text_up(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
		  struct paint fill, const char *text);

enum image_format { IMAGE_SVG, IMAGE_PDF, IMAGE_PNG };
/* By the path's ending; false for others. */
bool image_format_of(const char *path, enum image_format *format);
/* Renders into memory owned by arena; NULL after a cairo error (*message). A
 * PDF has a fixed creation date. Several drawings make several PDF pages;
 * other formats take one. PNGs have 2 pixels a point. */
unsigned char *image_render(struct arena *arena, enum image_format format,
			    const struct drawing *const *drawings, size_t count, size_t *size,
			    const char **message);
/* Width of a text (UTF-8) in points, by the compiled-in table. */
double text_width(const char *text, double size, bool bold);

#endif
