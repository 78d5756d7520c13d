/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layout of a topology diagram. Private to chart_topology.c and topology_plan.c.
 *
 * Hosts are columns from left to right. A column has a header (the host itself) and below it a row
 * with its inner nodes: guests, GPUs, and switches whose neighbours are all in that column. Other
 * switches are bars above the columns, each as wide as the columns that it connects. Bars over the
 * same columns are stacked in levels 1, 2 ... (columns are level 0). So a link from a host to a
 * switch is one vertical line, which passes behind bars of lower levels. A cable between two hosts
 * goes up, across on its own level, and down.
 *
 * Zone n is the space between the levels n and n + 1. It has the labels of the links that start on
 * level n.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plots/charts.h"

enum { NO_BOX = -1, DETAIL_LINES_MAX = 3 };

struct plan_box {
	const struct diagram_node *node;
	int column;    /* NO_BOX: it is a bar */
	bool inner;    /* the box is in a column's row, not in its header */
	int level;     /* bars only */
	int low, high; /* columns that a bar connects */
	double x, y, width, height;
	const char *details[DETAIL_LINES_MAX];
	size_t detail_count;
};

enum plan_route {
	ROUTE_NONE,  /* an end is missing, or both ends are the same: listed below the diagram */
	ROUTE_INNER, /* from the header to the row, vertical */
	ROUTE_LANE,  /* within the row, drawn below it */
	ROUTE_UP,    /* to a bar of a higher level, vertical */
	ROUTE_CABLE, /* between columns: up, across, down */
	ROUTE_SIDE,  /* between bars of the same level */
};

struct plan_link {
	const struct diagram_link *link;
	int ends[2]; /* indices of boxes */
	enum plan_route route;
	int lower, upper; /* ROUTE_INNER and ROUTE_UP: indices of ends */
	int level;        /* cables only */
	int lane;
	double x[2]; /* x at each end; equal for a vertical line */
};

struct plan_column {
	int header; /* index of the header's box */
	double x, y, width, height;
	double row_y, row_height;
	double row_least; /* minimum width of the row */
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
	double width;      /* width of the drawing */
	double *level_top; /* y of the bars of each level; [0]: of the columns */
	double lane_pitch;
	double bottom;
};

void plan_make(struct arena *arena, struct plan *plan, const struct diagram_node *nodes,
	       size_t node_count, const struct diagram_link *links, size_t link_count, double top);

/* Returns the level of a box. */
int plan_level(const struct plan *plan, int box);

extern const double plan_bar_height, plan_header_height;
