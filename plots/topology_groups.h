/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of a topology, so that its diagram has one box for all machines of a kind. Private to
 * chart_topology.c.
 *
 * A MACHINE is everything that links inside of machines connect, with at least one host. Machines
 * are of the same KIND if they have equal parts, links and roles. Within a kind, nodes with the
 * same kind, detail and name but for numbers are one PART: eight GPUs are one box. The other nodes
 * are the network. Switches with the same name but for numbers are one SWITCH GROUP. Links between
 * the same two boxes are one BUNDLE.
 */
#pragma once

#include "plots/charts.h"
#include "sim/base/vec.h"

enum { BUNDLE_LINES = 3 };

struct place {    /* where a bundle ends */
	int kind; /* index of machine kinds; -1: a switch group */
	int part; /* index of the kind's parts, or of the switch groups */
};

struct bundle {
	struct place ends[2];
	struct bundle_line {
		const char *kind, *detail;
		double count; /* links of each machine; between switches: of all */
	} lines[BUNDLE_LINES];
	size_t line_count;
	double use; /* highest utilisation; NaN: not simulated */
	bool used;  /* the run sent something over a link of it */
};

struct topology_part {
	const char *key, *name, *detail;
	const char *role; /* what the case runs here, or NULL */
	double count;     /* of each machine; of switch groups: of all */
	bool used;
	int parent, row;      /* the part that links to it, nearer to the host; rows below it */
	double x, y, width;   /* set by the chart: middle, top */
	double port_x;        /* of the line to the network */
	double high_x, low_x; /* switch groups: ends of the bar */
};

struct machine_kind {
	const char *key, *name;
	double count;
	VEC(struct topology_part) parts; /* [0]: the host */
	int rows;
	double x, width, height; /* set by the chart */
};

struct topology_groups {
	VEC(struct machine_kind) kinds;
	VEC(struct topology_part) switches; /* row: the distance from the machines, from 0 on */
	VEC(struct bundle) bundles;
	int levels;
};

struct topology_groups topology_group(struct arena *arena, const struct diagram_node *nodes,
				      size_t node_count, const struct diagram_link *links,
				      size_t link_count);
