/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all charts share: inks and sizes, texts that fit, axes, legends, and the
 * title and caption around each chart. Private to plots/.
 *
 * A chart draws from the top down: chart_begin writes the title and gives the y
 * below it; chart_end writes the caption under the last y and cuts the drawing
 * to its height. A number never stands for itself by colour alone: series
 * differ by marker and dash as well (series_style), areas by hatch.
 */
#ifndef FARWIRE_PLOTS_STYLE_H
#define FARWIRE_PLOTS_STYLE_H

#include "plots/canvas.h"
#include "plots/charts.h"

struct arena;

/* Points. */
#define CHART_WIDTH  720.0
#define CHART_MARGIN 20.0
#define FONT_TITLE   11.0
#define FONT_TEXT    8.5
#define FONT_SMALL   7.5
#define FONT_LABEL   7.0 /* of what a row is called, where that is long */

enum { /* places in okabe_ito */
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
extern const struct paint ink_soft;  /* second texts */
extern const struct paint ink_grid;  /* grid lines */
extern const struct paint ink_panel; /* pale backgrounds */
extern const struct paint ink_paper; /* white */
extern const struct paint ink_alarm; /* failures */

/* ---- texts ---- */

/* The text, or as much of it as fits with "…" behind it. */
const char *text_fit(struct arena *arena, const char *text, double size, bool bold, double width);
/* Breaks text at blanks and after _ / - , into at most lines_max lines no wider
 * than width; the last one is cut if need be. Returns how many. */
size_t text_wrap(struct arena *arena, const char *text, double size, bool bold, double width,
		 size_t lines_max, const char **lines);
/* Draws such lines; y is the middle of the block. */
void draw_lines(struct drawing *drawing, double x, double y, double size, enum text_anchor anchor,
		struct paint fill, bool bold, const char *const *lines, size_t count);
/* What a row is called, to the left of x: in two lines no wider than width, or in three smaller
 * ones; y is the middle. */
void draw_row_label(struct drawing *drawing, struct arena *arena, double x, double y,
		    const char *text, double width);
/* A number with about so many significant digits, a real minus sign, and no
 * exponent below 1e6: "0.974" "142.3" "−2.5" "2·10⁷". */
const char *number_text(struct arena *arena, double value, int digits);
/* With a power of ten: "10⁵", "2·10⁷". Not for 0. */
const char *power_text(struct arena *arena, double value);

/* ---- axes ---- */

enum { TICKS_MAX = 32 };

struct axis {
	double low, high; /* values */
	double from, to;  /* points */
	bool log;
};
double axis_at(const struct axis *axis, double value);
/* 1-2-5 ticks inside the axis, about `wanted` of them; returns how many. */
size_t axis_ticks(const struct axis *axis, size_t wanted, double ticks[TICKS_MAX]);
/* Widens [low, high] by a margin so that nothing sits on the frame; linear axes
 * that come near zero start there. */
void axis_cover(struct axis *axis, double low, double high);

struct area { /* the inside of a plot */
	double x, y, width, height;
};
/* Light grid lines, tick texts and the axis's label, below or to the left. */
void draw_axis_x(struct drawing *drawing, struct arena *arena, const struct axis *axis,
		 struct area area, const char *label, bool grid);
/* The same with ticks and texts of one's own, from left to right; a text that
 * would touch the one before it is left out. */
void draw_axis_x_at(struct drawing *drawing, const struct axis *axis, struct area area,
		    const char *label, bool grid, const double *ticks, const char *const *texts,
		    size_t count);
void draw_axis_y(struct drawing *drawing, struct arena *arena, const struct axis *axis,
		 struct area area, const char *label, bool grid);
/* An axis of sizes: powers of two with KiB, MiB ... */
void draw_axis_x_sizes(struct drawing *drawing, struct arena *arena, const struct axis *axis,
		       struct area area, const char *label);

/* ---- series ---- */

struct look { /* how a series or an area is told from others */
	struct paint paint;
	enum marker marker;
	bool hollow;
	enum dash dash;
	enum hatch hatch;
};

struct plane { /* two axes */
	struct axis x, y;
};
struct series { /* a value NaN: it fails there */
	const double *x;
	const struct estimate *y;
	size_t count;
};
struct range { /* begins as {INFINITY, -INFINITY} */
	double low, high;
};
void range_include(struct range *range, double value);
/* Of the plane only whether its axes are logarithmic: whether a point can be
 * shown as a value, is a failure. */
bool series_shown(const struct plane *plane, const struct series *series, size_t i);
bool series_fails(const struct plane *plane, const struct series *series, size_t i);
/* Widens the ranges by all that will be drawn; true if any point has an interval. */
bool series_measure(const struct plane *plane, const struct series *series, struct range *x,
		    struct range *y);
/* 90 % intervals as a band, lone ones as whiskers. */
void draw_series_band(struct drawing *drawing, struct arena *arena, const struct plane *plane,
		      const struct series *series, struct look look);
/* The line, and markers where there is room for them. */
void draw_series_line(struct drawing *drawing, struct arena *arena, const struct plane *plane,
		      const struct series *series, struct look look);

/* ---- legends, markers, title and caption ---- */

/* Series 0, 1, 2 ...: colours, markers and dashes of unlike periods. */
struct look series_look(size_t index);
/* Of a part of a step's time, by its name; unknown ones as series_look(index). */
struct look part_look(const char *name, size_t index);

enum legend_kind { LEGEND_AREA, LEGEND_LINE, LEGEND_MARKER, LEGEND_WHISKER, LEGEND_BAND };
struct legend_entry {
	enum legend_kind kind;
	struct look look;
	const char *label;
};
/* From left to right within width, in as many rows as it takes; y is the top.
 * Returns the y below. */
double draw_legend(struct drawing *drawing, double x, double y, double width,
		   const struct legend_entry *entries, size_t count);

/* A marker with a thin white rim, so that it stands off the lines under it. */
void draw_point(struct drawing *drawing, struct look look, double x, double y, double size);
/* Filled and hatched, in a colour and a darker shade of it. */
void draw_area(struct drawing *drawing, double x, double y, double width, double height,
	       struct look look);
/* A small text in the middle of such an area, on a plate of its colour, so that no
 * hatch runs through it; x and y are its middle. */
void draw_on_area(struct drawing *drawing, struct look look, double x, double y, const char *text);
/* A 90 % interval, along x or along y. */
void draw_whisker_x(struct drawing *drawing, double x1, double x2, double y);
void draw_whisker_y(struct drawing *drawing, double x, double y1, double y2);
/* The stub of something that failed, with the reason beside it in at most two
 * lines no wider than width; y is the middle. */
void draw_failure(struct drawing *drawing, struct arena *arena, double x, double y, double height,
		  double width, const char *reason);

double chart_begin(struct drawing *drawing, struct arena *arena, struct chart_text text);
void chart_end(struct drawing *drawing, struct arena *arena, struct chart_text text, double y);
/* In place of a chart that has nothing to show. */
struct drawing *chart_empty(struct arena *arena, struct chart_text text, const char *why);

#endif
