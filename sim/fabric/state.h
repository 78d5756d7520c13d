/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this folder share: the fabric's inside.
 *
 * flow.c keeps resources and flows and their accounts, solve.c finds rates,
 * check.c finds them again in another way, topology.c keeps nodes and links,
 * route.c finds ways and counts wire bytes.
 *
 * Each flow carries its uses; a resource's uses form a list in the order in
 * which their flows started. Every sum over flows runs in that order, so rates
 * are the same numbers whichever change caused the solution.
 */
#ifndef FARWIRE_FABRIC_STATE_H
#define FARWIRE_FABRIC_STATE_H

#include "sim/base/vec.h"
#include "sim/engine/names.h"
#include "sim/fabric/fabric.h"

struct flow;

struct use {
	struct flow *flow;
	struct use *previous, *next; /* on the same resource, by start */
	double per_unit;
	int resource;
};

struct flow {
	double size, remaining; /* remaining at updated_ps */
	double rate;            /* since updated_ps; 0: not solved yet */
	double cap;             /* INFINITY: none */
	double weight;
	int64_t updated_ps, end_ps;
	struct event_id end;
	event_fn *done;
	void *ctx;
	uint64_t arg;
	uint64_t order;               /* of starting */
	struct flow *previous, *next; /* active flows, by start */
	uint32_t slot, serial;
	uint32_t free_next; /* next free slot, plus 1 */
	bool active;
	bool fixed;     /* solver: its rate is found */
	double bound;   /* solver: the cap, or what a resource that it has alone lets */
	double solved;  /* solver: that rate */
	uint64_t epoch; /* solver: the solution that last met it */
	size_t use_count;
	struct use uses[FLOW_USES_MAX];
};

struct resource {
	double capacity, capacity_most;
	struct use *first, *last;
	size_t flow_count;
	double carried; /* by flows that are over */
	int64_t busy_ps, busy_since_ps;
	bool dirty;
	/* solver */
	uint64_t epoch;
	bool touched;   /* left and demand are out of date */
	double left;    /* capacity that fixed flows leave */
	double demand;  /* sum of a * weight over flows not fixed */
	size_t waiting; /* flows not fixed */
};

struct link {
	const char *kind;
	struct link_traits traits;
	int nodes[2];
	int resources[2];
};

struct adjacency {
	VEC(struct hop) hops; /* leaving the node */
};

struct cached_route {
	int from, to;
	const char *const *kinds;  /* NULL: any */
	const struct route *route; /* NULL: there is none */
	size_t next;               /* in its chain, plus 1 */
};

struct fabric {
	struct arena *arena;
	struct engine *engine;

	struct names *resource_names;
	VEC(struct resource) resources;
	VEC(int) dirty;
	bool solve_due; /* an event at this instant will solve */

	VEC(struct flow *) flows; /* by slot */
	uint32_t flow_free;       /* first free slot, plus 1 */
	uint64_t flows_started;
	struct flow *first, *last; /* active */
	size_t active_count;

	uint64_t epoch;
	VEC(struct flow *) component; /* scratch of the solver: flows not fixed */
	VEC(struct flow *) changed;   /* ... that get another rate */
	VEC(int) affected;

	struct names *node_names, *link_names;
	VEC(struct link) links;
	VEC(struct adjacency) nodes;
	VEC(struct cached_route) routes;
	size_t *route_chains; /* by hash of the ends: the first, plus 1 */
	size_t route_chain_count;
};

/* Solves what is dirty, now. */
void fabric_settle(struct fabric *fabric);
/* Gives an active flow another rate from now on and moves its end. */
void fabric_flow_rate_set(struct fabric *fabric, struct flow *flow, double rate);

/* Ways may have changed. */
void fabric_routes_forget(struct fabric *fabric);

#endif
