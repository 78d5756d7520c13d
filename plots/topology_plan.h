/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where everything of a topology diagram goes. Private to chart_topology.c and
 * topology_plan.c.
 *
 * Hosts are COLUMNS from left to right. A column has a header (the host itself)
 * and under it a row of what is inside: guests, GPUs, and switches whose every
 * neighbour is in that column. Other switches are bars above the columns, each
 * as wide as the columns that it joins; bars over the same columns are stacked
 * in LEVELS 1, 2 ... (columns are level 0). So a link from a host to a switch
 * is one vertical line, and it passes behind bars of lower levels. A cable
 * between two hosts goes up, across on a level of its own, and down.
 *
 * ZONE n is the space between levels n and n + 1, in which labels of the links
 * that start on level n stand.
 */
#ifndef FARWIRE_PLOTS_TOPOLOGY_PLAN_H
#define FARWIRE_PLOTS_TOPOLOGY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "plots/charts.h"

struct arena;

enum { NO_BOX = -1, DETAIL_LINES_MAX = 3 };

struct plan_box {
	const struct diagram_node *node;
	int column;    /* NO_BOX: a bar */
	bool inner;    /* in a column's row, not its header */
	int level;     /* of a bar */
	int low, high; /* columns that a bar joins */
	double x, y, width, height;
	const char *details[DETAIL_LINES_MAX];
	size_t detail_count;
};

enum plan_route {
	ROUTE_NONE,  /* an end is missing, or both are one: named under the diagram */
	ROUTE_INNER, /* header to the row, vertical */
	ROUTE_LANE,  /* within the row, below it */
	ROUTE_UP,    /* to a bar of a higher level, vertical */
	ROUTE_CABLE, /* between columns: up, across, down */
	ROUTE_SIDE,  /* between bars of one level */
};

struct plan_link {
	const struct diagram_link *link;
	int ends[2]; /* boxes */
	enum plan_route route;
	int lower, upper; /* of ROUTE_INNER and ROUTE_UP: indices into ends */
	int level;        /* of a cable */
	int lane;
	double x[2]; /* at each end; the same for a vertical line */
};

struct plan_column {
	int header; /* box */
	double x, y, width, height;
	double row_y, row_height;
	double row_least; /* width that the row needs */
	int row_count, lane_count;
};

struct plan {
	struct plan_box *boxes;
	size_t box_count;
	struct plan_link *links;
	size_t link_count;
	struct plan_column *columns;
	int column_count;
	int level_count;   /* highest level */
	double width;      /* of the drawing */
	double *level_top; /* y of each level's bars; [0]: of the columns */
	double lane_pitch;
	double bottom;
};

void plan_make(struct arena *arena, struct plan *plan, const struct diagram_node *nodes,
	       size_t node_count, const struct diagram_link *links, size_t link_count, double top);

/* The level on which an end of a link sits. */
int plan_level(const struct plan *plan, int box);

extern const double plan_bar_height, plan_header_height;

#endif
