/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wirings: how the machines of a cluster are joined.
 *
 * One file for each kind (wiring_fat_tree.c ...), with a parameter struct, its
 * rows and a const struct wiring_kind; one line each in wirings.def.
 *
 * All cables of a network are of one kind, link.network. Where a wiring has many
 * equal cables between two stages (a leaf's uplinks), they are ONE link, a TRUNK,
 * with the rate of them together: traffic is taken to spread over them evenly,
 * as with adaptive routing or many flows. A stage of switches between which
 * traffic spreads so is one node. What static routing loses by collisions is not
 * in this.
 *
 * Nodes are called "fabric.<switch>", links "fabric.<port's node>" and
 * "fabric.<a>-<b>".
 */
#ifndef FARWIRE_SCENARIO_WIRING_H
#define FARWIRE_SCENARIO_WIRING_H

#include <stddef.h>

#include "sim/collective/fold.h"
#include "sim/scenario/topology.h"

enum { WIRING_PARAMS_SIZE_MAX = 128 };

struct place { /* a machine of the cluster, or a server of one port */
	const char *name;
	const char *const *ports; /* nodes; NULL: not there */
	size_t port_count;
	double copies; /* places for which it stands */
};

struct cabling {
	struct topology_build *build;
	struct origin origin;          /* of the network */
	const struct link_entry *wire; /* kind and traits of a cable */
	const struct place *places;
	size_t place_count;
	size_t port_most; /* ports of a place */
	/* Places of machines for which others stand are not there (no ports): nor are their
	 * cables, nor switches above these alone. NULL: all are there. */
	const struct fold *fold;
	const char *top; /* set by a join: the topmost switch; NULL: there is none */
};

/* In a tree of switches, at which leaf a place is and in which pod. */
struct wiring_group {
	size_t leaf, pod;
};

struct wiring_kind {
	const char *name; /* "fat_tree" */
	const char *help;
	const struct param_table *table; /* table->size <= WIRING_PARAMS_SIZE_MAX */
	/* Joins the places. NULL, or why they cannot be. */
	const char *(*join)(struct cabling *cabling, const void *params);
	/* NULL: the wiring is no tree. */
	struct wiring_group (*group)(const void *params, size_t place, size_t place_count,
				     size_t port_most);
};

REGISTRY_OF(struct wiring_kind, wiring_kind);

/* ---- for the kinds ---- */

#define WIRING_TEXT(cabling, ...) arena_printf((cabling)->build->reader->arena, __VA_ARGS__)

/* The node of a switch of that name. */
const char *cabling_node(const struct cabling *cabling, const char *name);
/* Adds a switch; its name is that of the node without "fabric.". */
const char *cabling_switch(struct cabling *cabling, const char *name);
/* A cable from a port of a place to a switch. */
void cabling_port(struct cabling *cabling, size_t place, size_t port, const char *to);
/* All ports of a place. */
void cabling_ports(struct cabling *cabling, size_t place, const char *to);
/* `cables` cables between two switches, each longer by further_s than a port's. */
void cabling_trunk(struct cabling *cabling, const char *a, const char *b, double cables,
		   double further_s);
/* Whether any of the places is there. */
bool cabling_has(const struct cabling *cabling, size_t first, size_t end);
/* The trunk that was added last is that of a leaf, or a pod: it stands for those of all
 * like it. */
void cabling_trunk_of_leaf(struct cabling *cabling, size_t leaf);
void cabling_trunk_of_pod(struct cabling *cabling, size_t pod);
/* A cable from port to port. */
void cabling_direct(struct cabling *cabling, size_t place_a, size_t place_b, size_t port);

#endif
