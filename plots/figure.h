/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A figure: panels of layers with a legend above them. Private to plots/.
 *
 * A chart adds panels and their layers as data. figure_draw then chooses the ranges of the axes,
 * writes the legend, and draws axes, layers and caption. So a chart contains no positions. */
#pragma once

#include "plots/style.h"

enum { PANELS_MAX = 3 };

struct series { /* a NaN value means that the case fails there */
	const double *x;
	const struct estimate *y;
	size_t count;
	const char *const *hints; /* texts below the mouse; NULL: x and the value */
};

enum figure_layer_kind {                /* in the order of drawing */
			 LAYER_LEVEL,   /* line at `value` of the y axis, if it is on the axis */
			 LAYER_UPRIGHT, /* the same of the x axis */
			 LAYER_RAY,     /* line of reference y = value * x */
			 LAYER_LINE, /* lines with bands of intervals, and crosses where y fails */
			 LAYER_POINTS, /* markers with intervals as whiskers */
};

struct figure_layer {
	enum figure_layer_kind kind;
	const char *label; /* entry in the legend; NULL or "": none */
	struct look look;
	double value;         /* of a line of reference */
	struct series series; /* of lines and points */
};

enum tick_choice {
	TICKS_ROUND,
	TICKS_CHOSEN, /* values of the lines, if these are few and short: a user chose them */
	TICKS_SIZES,  /* powers of two with KiB, MiB ... */
};

struct panel {
	struct area area;              /* from the left margin and from below the legend */
	const char *x_label, *y_label; /* x_label NULL: the x axis of the next panel is used */
	enum tick_choice ticks;
	struct plane plane; /* kinds of axes; an axis with a range keeps it */
	struct range x, y;  /* what the axes cover, besides the layers */
	VEC(struct figure_layer) layers;
};

struct figure {
	struct arena *arena;
	struct panel panels[PANELS_MAX];
	size_t panel_count;
	bool labelled[2];            /* figure_roles: the legend has this role */
	const char *intervals_label; /* NULL: "90 % interval" */
};

/* Adds a panel. A top below the first panel's bottom puts it under the first panel. */
struct panel *figure_panel(struct figure *figure, struct area area, const char *x_label,
			   const char *y_label);
struct figure_layer *figure_layer(struct figure *figure, struct panel *panel,
				  enum figure_layer_kind kind, const char *label, struct look look);
/* Adds a line of reference. */
void figure_reference(struct figure *figure, struct panel *panel, enum figure_layer_kind kind,
		      const char *label, struct look look, double value);
extern const struct look role_looks[2]; /* of fit rows and of test rows */
/* Adds points of fit rows and of test rows, which are not hollow. The legend has a role once. */
void figure_roles(struct figure *figure, struct panel *panel, struct series series,
		  const bool *test, const struct look looks[2], const char *const labels[2]);
/* Draws the figure. If the first panel has no points, it says `empty` instead. */
struct drawing *figure_draw(struct figure *figure, struct chart_text text, const char *empty);
