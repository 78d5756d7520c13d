/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A figure: panels of curves and points with a legend above them. Private to plots/.
 *
 * A chart first declares panels, curves and what else their axes shall cover. figure_cover then
 * fixes the ranges of the axes. After it the chart adds entries to the legend, and figure_place
 * puts the panels below it. Then the chart draws axes and layers in the units of the data, from
 * back to front, and figure_end adds the caption.
 */
#pragma once

#include "plots/style.h"
#include "sim/base/vec.h"

enum { PANELS_MAX = 2 };

struct series { /* a NaN value means that the case fails there */
	const double *x;
	const struct estimate *y;
	size_t count;
};

struct panel {
	struct arena *arena;
	struct drawing *drawing;
	struct plane plane; /* the chart sets log; an axis with a range keeps it */
	struct area area;   /* y counts from the first panel's top until figure_place */
	struct range x, y;  /* what the axes cover */
};

struct figure {
	struct arena *arena;
	struct chart_text text;
	struct drawing *drawing;
	struct legend legend;
	struct panel panels[PANELS_MAX];
	size_t panel_count;
	VEC(struct figure_curve {
		struct panel *panel;
		struct series series;
		struct look look;
		const char *label;
		bool fails;
	})
	curves;
	bool interval;    /* a curve has intervals */
	size_t failed;    /* curves of the first panel with failures */
	bool measured[2]; /* there are measured values: [0] fit rows, [1] test rows */
};

void figure_begin(struct figure *figure, struct arena *arena, struct chart_text text);
/* Adds a panel that begins this far from the left margin and from the first panel's top. */
struct panel *figure_panel(struct figure *figure, double left, double top, double width,
			   double height);
/* Adds a curve. The chart has set the panel's kinds of axes. NULL or "": it has no label. */
void figure_curve(struct figure *figure, struct panel *panel, const char *label,
		  struct series series, struct look look);
/* Sets the ranges of the axes and adds the labelled curves to the legend. Returns false if the
 * first panel has nothing to show. */
bool figure_cover(struct figure *figure);
/* Adds entries for intervals, measured values with these looks, and failures. */
void figure_measured_keys(struct figure *figure, const struct look looks[2]);
void figure_interval_key(struct figure *figure);
void figure_failure_key(struct figure *figure);
void figure_place(struct figure *figure);
/* Ends the chart with its caption this far below the last panel. */
struct drawing *figure_end(const struct figure *figure, double gap);

/* Draws an x axis whose ticks are the values of the curves if these are few and short, so that they
 * were probably chosen by the user. */
void figure_axis_x(const struct figure *figure, struct area area, const char *label);
/* Draw the 90 % intervals of all curves as bands, and those of isolated points as whiskers. */
void figure_bands(const struct figure *figure);
/* Draws all curves, with markers if there is room for them. */
void figure_lines(const struct figure *figure);
/* Draws a strip below a panel, with a row of crosses for each curve that fails. Returns the area of
 * the panel with the strip. */
struct area figure_failures(const struct figure *figure, const struct panel *panel);
double panel_x(const struct panel *panel, double x);
double panel_y(const struct panel *panel, double y);
/* Draw a line across a panel at a value of the y axis, or of the x axis. */
void panel_level(const struct panel *panel, double y, struct paint paint, double line_width,
		 enum dash dash);
void panel_upright(const struct panel *panel, double x, struct paint paint, double line_width,
		   enum dash dash);
/* Draws an interval along y, if low is below high. */
void panel_whisker(const struct panel *panel, double x, double low, double high);
void panel_point(const struct panel *panel, double x, double y, struct look look, double size);
/* Draws the cross of a failed case at the bottom. */
void panel_cross(const struct panel *panel, double x);
