/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A drawing as a list of simple shapes, and the canvases that render it.
 *
 * Charts append lines, rectangles, markers and texts to a drawing. A canvas renders it:
 * canvas_svg.c to SVG, and canvas_cairo.c (the only file that uses cairo) to PDF or PNG. Golden
 * tests compare the list of shapes, because it does not depend on fonts and cairo versions
 * (tests/drawing_print.h). Coordinates are points (1/72 inch) with the origin at the top left; the
 * y of a text is its baseline. Every coordinate must be finite (asserted), so a chart must decide
 * how to show a NaN.
 *
 * Layout measures texts with text_width, which has a compiled-in table of the advance widths of the
 * plot font (DejaVu Sans). So a drawing is the same on every machine, even without the font. The
 * canvases then fit the texts of a substitute font into the computed widths. */
#pragma once

#include "sim/base/base.h"

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
/* Changes the size. A chart does not know its height before it has drawn everything. */
void drawing_resize(struct drawing *drawing, double width, double height);
void draw_rectangle(struct drawing *drawing, double x, double y, double width, double height,
		    struct paint fill);
void draw_frame(struct drawing *drawing, double x, double y, double width, double height,
		struct paint stroke, double line_width);
/* Draws a pattern of thin lines or dots over a rectangle, aligned with the patterns of
 * neighbours. */
void draw_hatch(struct drawing *drawing, double x, double y, double width, double height,
		enum hatch hatch, struct paint stroke);
void draw_line(struct drawing *drawing, double x1, double y1, double x2, double y2,
	       struct paint stroke, double line_width, enum dash dash);
/* points has count pairs x, y */
void draw_polyline(struct drawing *drawing, const double *points, size_t count, struct paint stroke,
		   double line_width, enum dash dash);
void draw_polygon(struct drawing *drawing, const double *points, size_t count, struct paint fill);
void draw_marker(struct drawing *drawing, enum marker marker, double x, double y, double size,
		 struct paint fill);
void draw_text(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
	       struct paint fill, bool bold, const char *text);
/* Adds a text that SVG viewers show while the mouse is at most width / 2 and height / 2 from x, y.
 * Nothing is drawn. */
void draw_hint(struct drawing *drawing, double x, double y, double width, double height,
	       const char *format, ...) __attribute__((format(printf, 6, 7)));
/* Draws a text rotated by 90 degrees to the left, for y axes. */
void draw_text_up(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
		  struct paint fill, const char *text);

enum image_format { IMAGE_SVG, IMAGE_PDF, IMAGE_PNG };
/* Chooses by the ending of the path; returns false for an unknown ending. */
bool image_format_of(const char *path, enum image_format *format);
/* Renders into memory owned by arena. Returns NULL after a cairo error, with *message set. A PDF
 * has a fixed creation date, and several drawings become several pages. PNG and SVG take one
 * drawing. A PNG has 2 pixels per point. */
unsigned char *image_render(struct arena *arena, enum image_format format,
			    const struct drawing *const *drawings, size_t count, size_t *size,
			    const char **message);
/* Returns the width of a text (UTF-8) in points, from the compiled-in table. */
double text_width(const char *text, double size, bool bold);
/* Breaks text at blanks and after _ / - , into at most lines_max lines of at most width; the last
 * line is shortened if necessary. Returns the number of lines. */
size_t text_wrap(struct arena *arena, const char *text, double size, bool bold, double width,
		 size_t lines_max, const char **lines);
