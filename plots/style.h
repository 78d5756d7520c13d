/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by all charts: colours and sizes, text fitting, axes, legends, title and caption. Private
 * to plots/.
 *
 * A chart is drawn from top to bottom. chart_begin makes a drawing with the title and returns the y
 * below it. chart_end writes the caption below the last y and sets the drawing's height. Colour is
 * never the only difference: series also differ by marker and dash (series_look), areas by hatch.
 */
#pragma once

#include "plots/canvas.h"
#include "plots/charts.h"

/* Sizes in points. */
#define CHART_WIDTH  720.0
#define CHART_MARGIN 20.0
#define FONT_TITLE   11.0
#define FONT_TEXT    8.5
#define FONT_SMALL   7.5
#define FONT_LABEL   7.0 /* for long labels of rows */

enum { /* indices of okabe_ito */
       HUE_BLACK,
       HUE_ORANGE,
       HUE_SKY,
       HUE_GREEN,
       HUE_YELLOW,
       HUE_BLUE,
       HUE_VERMILLION,
       HUE_PURPLE,
};
struct paint hue(int place);
struct paint faint(struct paint paint, double alpha);
extern const struct paint ink;       /* texts and axes */
extern const struct paint ink_soft;  /* secondary texts */
extern const struct paint ink_grid;  /* grid lines */
extern const struct paint ink_panel; /* pale backgrounds */
extern const struct paint ink_paper; /* white */
extern const struct paint ink_alarm; /* failures */

/* ---- texts ---- */

/* Returns the text, or its beginning followed by "…" if it is too wide. */
const char *text_fit(struct arena *arena, const char *text, double size, bool bold, double width);
/* Draws lines of text; y is the middle of the block. */
void draw_lines(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
		struct paint fill, const char *const *lines, size_t count);
/* Draws the label of a row to the left of x: two lines of at most width, or three smaller ones; y
 * is the middle. */
void draw_row_label(struct drawing *drawing, double x, double y, const char *text, double width);
/* Formats a number with about `digits` significant digits, a real minus sign, and no exponent below
 * 1e6: "0.974" "142.3" "−2.5" "2·10⁷". */
const char *number_text(struct arena *arena, double value, int digits);
/* Returns for example "0.974 (0.961 to 0.983)", or the value without an interval. */
const char *interval_text(struct arena *arena, const struct estimate *estimate);
/* Formats a number with a power of ten: "10⁵", "2·10⁷". The value must not be 0. */
const char *power_text(struct arena *arena, double value);

/* ---- axes ---- */

enum { TICKS_MAX = 32 };

struct axis {
	double low, high; /* range of values */
	double from, to;  /* range of positions in points */
	bool log;
};
double axis_at(const struct axis *axis, double value);
/* Computes about `wanted` ticks at multiples of 1, 2 or 5 inside the axis; returns their number. */
size_t axis_ticks(const struct axis *axis, size_t wanted, double ticks[TICKS_MAX]);
/* Sets the range to [low, high] plus a margin, so that points are not on the frame. A linear axis
 * that comes near zero begins there. */
void axis_cover(struct axis *axis, double low, double high);

struct area { /* the inside of a plot */
	double x, y, width, height;
};
/* Place an axis along an area from left to right, or from its bottom up. */
void axis_along(struct axis *axis, struct area area);
void axis_up(struct axis *axis, struct area area);
/* Draw light grid lines, tick texts and the label of the axis, below or to the left of the area. */
void draw_axis_x(struct drawing *drawing, const struct axis *axis, struct area area,
		 const char *label, bool grid);
/* Draws an x axis with the given ticks and texts, from left to right. A text that would touch
 * the previous one is left out. */
void draw_axis_x_at(struct drawing *drawing, const struct axis *axis, struct area area,
		    const char *label, bool grid, const double *ticks, const char *const *texts,
		    size_t count);
void draw_axis_y(struct drawing *drawing, const struct axis *axis, struct area area,
		 const char *label, bool grid);
/* Draws an axis of sizes: powers of two with KiB, MiB ... */
void draw_axis_x_sizes(struct drawing *drawing, const struct axis *axis, struct area area,
		       const char *label);

/* ---- series ---- */

struct look { /* appearance of a series or an area */
	struct paint paint;
	enum marker marker;
	bool hollow;
	enum dash dash;
	enum hatch hatch;
};

struct plane { /* two axes */
	struct axis x, y;
};
struct range { /* initialise with {INFINITY, -INFINITY} */
	double low, high;
};
void range_include(struct range *range, double value);

/* ---- legends, markers, title and caption ---- */

/* Returns the look of series 0, 1, 2 ...; colours, markers and dashes have different periods, so
 * that looks repeat late. */
struct look series_look(size_t index);
/* Returns the look of a part of the step time by its name, or series_look(index) for other names.
 */
struct look part_look(const char *name, size_t index);

enum legend_kind { LEGEND_AREA, LEGEND_LINE, LEGEND_MARKER, LEGEND_WHISKER, LEGEND_BAND };
/* Draws entries from left to right, in as many rows as needed; y is the top of the first. */
struct legend {
	struct drawing *drawing;
	double x, y, right; /* of the next entry; end of the rows */
};
struct legend legend_begin(struct drawing *drawing, double y);
void legend_add(struct legend *legend, enum legend_kind kind, struct look look, const char *label);
/* Returns the y below. */
double legend_end(const struct legend *legend);
extern const char *const measured_roles[2]; /* labels of measured values: fit row, test row */

/* Draws a marker with a thin white rim, which separates it from lines below. */
void draw_point(struct drawing *drawing, struct look look, double x, double y, double size);
/* Draws a filled area with a hatch in a darker shade of its colour. */
void draw_area(struct drawing *drawing, double x, double y, double width, double height,
	       struct look look);
/* Draws parts of an area from the bottom up. Part i takes shares[i] of the height. */
void draw_shares(struct drawing *drawing, struct area area, const double *shares,
		 const struct look *looks, size_t count);
/* Draws a small text centred at x, y in such an area, on a plate of the area's colour that covers
 * the hatch. */
void draw_on_area(struct drawing *drawing, struct look look, double x, double y, const char *text);
/* Draw a 90 % interval along x or along y. */
void draw_whisker_x(struct drawing *drawing, double x1, double x2, double y);
void draw_whisker_y(struct drawing *drawing, double x, double y1, double y2);
/* Draws the stub of a failed case with its reason in at most two lines of at most width; y is the
 * middle. */
void draw_failure(struct drawing *drawing, double x, double y, double height, double width,
		  const char *reason);

double chart_begin(struct arena *arena, struct chart_text text, struct drawing **drawing);
struct drawing *chart_end(struct drawing *drawing, struct chart_text text, double y);
/* Returns the chart that replaces one without data. */
struct drawing *chart_empty(struct arena *arena, struct chart_text text, const char *why);
