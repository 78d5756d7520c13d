/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A wiring connects the machines of a cluster.
 *
 * Each kind has a file (for example wiring_fat_tree.c) with a parameter struct, its rows and a
 * const struct wiring_kind, and a line in wirings.def.
 *
 * All cables of a network are of one kind, link.network. Equal cables between two stages, for
 * example the uplinks of a leaf, are one link, called a trunk, with the sum of their bandwidths.
 * By default traffic spreads evenly over these cables, as with adaptive routing of packets. The
 * group `fabric` of a network can choose a cable for each flow instead (sim/fabric/cables.c).
 * Switches between which traffic spreads are one node.
 *
 * Nodes are called "fabric.<switch>", links "fabric.<node of the port>" and "fabric.<a>-<b>". */
#pragma once

#include "sim/collective/fold.h"
#include "sim/scenario/topology.h"

enum { WIRING_PARAMS_SIZE_MAX = 128 };

struct place { /* a machine of the cluster, or a server with one port */
	const char *name;
	const char *const *ports; /* names of nodes; NULL: another machine represents this place */
	size_t port_count;
	double copies; /* number of places that this one represents */
};

/* The group `fabric` of a network: how switches route and what congestion does. */
struct fabric_params {
	int routing, congestion; /* enum cable_choice, enum congestion */
	double port_cables_count, dcqcn_ratio;
};
extern const struct param_table fabric_table;
/* Returns true if equal machines have equal times: no flow has cables or queues of its own. */
bool fabric_is_even(const struct fabric_params *fabric);

struct cabling {
	struct topology_build *build;
	const struct fabric_params *fabric;
	uint32_t port_count;           /* ports added so far */
	struct origin origin;          /* origin of the network's group */
	const struct link_entry *wire; /* kind and traits of one cable */
	const struct place *places;
	size_t place_count;
	size_t port_most; /* largest number of ports of a place */
	/* NULL: all places exist. Otherwise only places that represent their class have ports
	 * and cables. Switches without such a place below them do not exist either. */
	const struct fold *fold;
	const char *top; /* the topmost switch, set by join; NULL: there is none */
};

/* The leaf and the pod of a place in a tree of switches. */
struct wiring_group {
	size_t leaf, pod;
};

struct wiring_kind {
	const char *name; /* "fat_tree" */
	const char *help;
	const struct param_table *table; /* table->size <= WIRING_PARAMS_SIZE_MAX */
	/* Connects the places. Returns NULL, or a message that says why it is impossible. */
	const char *(*join)(struct cabling *cabling, const void *params);
	/* NULL: the wiring is not a tree. */
	struct wiring_group (*group)(const void *params, size_t place, size_t place_count,
				     size_t port_most);
};

REGISTRY_OF(struct wiring_kind, wiring_kind);

/* ---- functions for the kinds ---- */

#define WIRING_TEXT(cabling, ...) arena_printf((cabling)->build->reader->arena, __VA_ARGS__)

/* Returns the node of a switch: "fabric.<name>". */
const char *cabling_node(const struct cabling *cabling, const char *name);
/* Adds a switch with the node "fabric.<name>" and returns name. */
const char *cabling_switch(struct cabling *cabling, const char *name);
/* Adds a cable from a port of a place to a switch. */
void cabling_port(struct cabling *cabling, size_t place, size_t port, const char *to);
/* Adds a cable from each port of a place to a switch. */
void cabling_ports(struct cabling *cabling, size_t place, const char *to);
/* Adds a trunk of `cables` cables between two switches. further_s is added to the latency of a
 * port's cable. The trunk represents `copies` equal ones. */
void cabling_trunk(struct cabling *cabling, const char *a, const char *b, double cables,
		   double further_s, double copies);
/* Returns true if at least one place from first to end - 1 exists in a folded topology. */
bool cabling_has(const struct cabling *cabling, size_t first, size_t end);
/* Returns the leaf to which places below a leaf are connected: with fold->by_level the first one,
 * which then has the machines of all leaves. */
static inline size_t cabling_leaf(const struct cabling *cabling, size_t leaf)
{
	return cabling->fold && cabling->fold->by_level ? 0 : leaf;
}
/* Return the number of equal leaves or pods that a leaf or pod represents; without a fold 1. */
double cabling_leaf_copies(const struct cabling *cabling, size_t leaf);
double cabling_pod_copies(const struct cabling *cabling, size_t pod);
/* Declares the coordinates of the routers that the last trunk added connects. */
void cabling_trunk_of_torus(struct cabling *cabling, const size_t from[3], const size_t to[3]);
/* Adds a cable between port `port` of two places. */
void cabling_direct(struct cabling *cabling, size_t place_a, size_t place_b, size_t port);

/* The kinds of wirings.def. */
#define WIRING(name) extern const struct wiring_kind wiring_##name;
#include "sim/scenario/wirings.def"
#undef WIRING
