/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a drawing is made of, and what all canvases draw alike: private to drawing.c and the
 * canvases.
 *
 * A shape is one of the draw_ functions' calls, kept in the order drawn. `at`
 * holds its numbers in the order of that function's arguments; the fields that
 * a kind has no use for are zero.
 */
#ifndef FARWIRE_PLOTS_SHAPES_H
#define FARWIRE_PLOTS_SHAPES_H

#include "plots/canvas.h"
#include "sim/base/vec.h"

enum shape_kind {
	SHAPE_RECTANGLE, /* at: x, y, width, height */
	SHAPE_FRAME,     /* at: x, y, width, height, line width */
	SHAPE_BOX,       /* at: x, y, width, height, line width, radius */
	SHAPE_HATCH,     /* at: x, y, width, height */
	SHAPE_LINE,      /* points: 2; at[4]: line width */
	SHAPE_POLYLINE,  /* points; at[4]: line width */
	SHAPE_POLYGON,   /* points */
	SHAPE_MARKER,    /* at: x, y, size */
	SHAPE_TEXT,      /* at: x, y, size */
	SHAPE_TEXT_UP,   /* at: x, y, size */
};

struct shape {
	enum shape_kind kind;
	int style; /* enum hatch, dash, marker or text_anchor */
	bool bold;
	struct paint paint;  /* fill, or the stroke of what has no fill */
	struct paint stroke; /* of a box */
	double at[6];
	const double *points; /* x, y pairs */
	size_t point_count;
	const char *text;
};

#define PLOT_FONT     "DejaVu Sans"
#define MARKER_STROKE 0.25 /* of the marker's size */

/* Corners, in units of half the size; `strokes`: two lines, else filled. */
struct marker_outline {
	const double *points; /* x, y pairs */
	size_t count;
	bool strokes;
};
/* Of all markers but MARKER_NONE and MARKER_CIRCLE. */
const struct marker_outline *marker_outline(enum marker marker);

/* Of a line that is not DASH_SOLID: of a dash, of the gap behind it. */
const double *dash_lengths(enum dash dash);

/* Calls line for each line of a hatch, cut off at its rectangle, and answers with their width.
 * ends: x, y of one end and of the other. */
typedef void hatch_line(void *ctx, const double *ends);
double hatch_lines(const struct shape *shape, hatch_line *line, void *ctx);

struct drawing {
	struct arena *arena;
	double width, height;
	VEC(struct shape) shapes;
};

/* The drawing as an SVG file, in memory of the arena. */
unsigned char *svg_image(struct arena *arena, const struct drawing *drawing, size_t *size);

#endif
