/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shapes of a drawing, and the parts that all canvases draw alike. Private to drawing.c and the
 * canvases.
 *
 * A shape is one call of a draw_ function, kept in the order of drawing. `at` holds its numbers in
 * the order of that function's arguments. Fields that a kind does not use are zero. */
#pragma once

#include "plots/canvas.h"

enum shape_kind {
	SHAPE_RECTANGLE, /* at: x, y, width, height */
	SHAPE_HATCH,     /* at: x, y, width, height */
	SHAPE_LINE,      /* points: 2; at[4]: line width */
	SHAPE_POLYLINE,  /* points; at[4]: line width */
	SHAPE_POLYGON,   /* points */
	SHAPE_MARKER,    /* at: x, y, size */
	SHAPE_TEXT,      /* at: x, y, size */
	SHAPE_TEXT_UP,   /* at: x, y, size */
	SHAPE_HINT,      /* at: x, y, width, height; text; only SVG has it */
};

struct shape {
	enum shape_kind kind;
	int style; /* enum hatch, dash, marker or text_anchor */
	bool bold;
	struct paint paint; /* fill, or the stroke of shapes without fill */
	double at[5];
	const double *points; /* x, y pairs */
	size_t point_count;
	const char *text;
};

#define PLOT_FONT     "DejaVu Sans"
#define MARKER_STROKE 0.25 /* relative to the marker's size */

/* Corners of a marker in units of half its size. `strokes` means two lines, otherwise the shape is
 * filled. */
struct marker_outline {
	const double *points; /* x, y pairs */
	size_t count;
	bool strokes;
};
/* Returns the outline of every marker except MARKER_NONE and MARKER_CIRCLE. */
const struct marker_outline *marker_outline(enum marker marker);

/* Returns the lengths of a dash and of the gap after it, for lines other than DASH_SOLID. */
const double *dash_lengths(enum dash dash);

/* Calls line for each line of a hatch, clipped to its rectangle, and returns their width. ends
 * holds x, y of both ends. */
typedef void hatch_line(void *ctx, const double *ends);
double hatch_lines(const struct shape *shape, hatch_line *line, void *ctx);

struct drawing {
	struct arena *arena;
	double width, height;
	VEC(struct shape) shapes;
};

/* Writes the drawing as an SVG file. */
void svg_write(FILE *out, const struct drawing *drawing);
