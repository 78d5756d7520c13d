/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of the fabric, shared by the files of this folder.
 *
 * flow.c keeps resources, flows and their accounts. pass.c handles flows that end before anything
 * else happens. bundle.c solves the simplest changes, which are the most frequent. solve.c
 * determines how far any other change reaches, and fill.c computes the rates there.
 * tests/fabric_check.h computes all rates with a different method. account.c checks the invariants
 * of a run. cover.c finds resources that cannot limit a flow. topology.c keeps nodes and links.
 * route.c finds routes and counts bytes on the wire.
 *
 * Each flow has a list of its uses. Each resource has a list of its users in the order in which
 * they started. Every sum over flows that determines a rate runs in that order. So rates do not
 * depend on which change caused the solution.
 */
#pragma once

#include "sim/engine/names.h"
#include "sim/fabric/fabric.h"

/* A smaller change of a rate is rounding. */
static const double rate_noise_ratio = 1e-14;
/* A smaller part of a flow's size is the rounding error of sums. */
static const double residue_ratio = 1e-12;
/* Tolerance of the invariants (account.c), because sums have many terms and ends are rounded to a
 * picosecond. */
static const double account_slack_ratio = 1e-9;
static const int64_t account_slack_ps = 2;

/* Bundles of more flows go to the general solver. */
enum { LIMIT_OWN = -1, FLOW_CLASSES = 6, BUNDLE_MOST = 32 };
#define NO_FLOW UINT32_MAX

/* A resource used by a flow. */
struct use {
	double per_unit;
	int resource;
	uint32_t place; /* index in the resource's users */
};

/* A flow on a resource. */
struct user {
	double per_unit;
	uint32_t slot; /* NO_FLOW: the flow has ended */
};

/* The data of flows that the solver reads most often, by slot, in compact form. */
struct share {
	double weight;
	double rate;    /* 0: not solved yet */
	double solved;  /* solver: the new rate; 0: not found yet */
	uint32_t epoch; /* solver: the last solution that visited it */
	/* the full resource that limits its rate; LIMIT_OWN: its cap, or a resource that it does
	 * not share */
	int limit;
};

struct flow {
	double size, remaining; /* `remaining` is as of updated_ps, when the rate was set */
	int64_t started_ps, updated_ps, end_ps;
	struct event_id end; /* {0}: another flow of its bundle ends first (bundle.c) */
	event_fn *done;
	void *ctx;
	uint64_t arg;
	uint32_t slot, serial;
	uint32_t free_next; /* next free slot of its class, plus 1 */
	uint32_t class;     /* has room for 2 << class uses */
	bool active;
	/* The following fields are read by the solver and are adjacent. */
	uint32_t use_count;
	int limit_next;       /* solver: limit of the new rate */
	uint64_t order;       /* order of starting */
	double cap;           /* INFINITY: unlimited */
	double own_cap;       /* without pauses (pause.c) */
	int paused_at;        /* the resource that pauses it; -1: none */
	double bound;         /* solver: upper bound of the rate */
	uint64_t solved_uses; /* bit set: the solver needs this use (cover.c) */
	struct use uses[];
};

struct resource {
	/* Accessed by every start and end: one cache line. */
	double capacity;
	VEC(struct user) users; /* in the order of starting; some have ended */
	uint32_t flow_count;
	uint32_t limit_count; /* number of flows that it limits; if positive, it is full */
	uint32_t epoch;       /* solver: the solution that opened it */
	bool touched;         /* solver: left and demand were updated incrementally */
	bool dirty;
	bool whole;             /* dirty, and not only because flows have started on it */
	bool covered;           /* it cannot limit a flow, so the solver leaves it out (cover.c) */
	uint8_t cover_failures; /* how often it had or became no cover */
	int cover_step;         /* places in a flow's uses from it to `cover`; 0: none */
	int cover;              /* the resource that is full before it */
	bool pauses;            /* a full queue behind it pauses all of its flows (pause.c) */
	enum cable_choice cable_choice;
	uint32_t cable_count; /* cables of the trunk, which are resources from cable_first on */
	int cable_first;
	double shared_ratio; /* part of its capacity while several flows use it; 0: all of it */
	int64_t busy_ps;     /* time in use, minus the start of the current use */
	double carried;      /* total of the flows that have ended */

	double delivered; /* bytes of messages, as reported by their senders */
	double capacity_most;
	/* ---- solver ---- */
	double left;       /* capacity not used by fixed flows */
	double demand;     /* sum of a * weight over flows that are not fixed */
	double demand_all; /* sum of a * weight over all flows */
	uint32_t waiting;  /* number of flows that are not fixed */
	bool rises;        /* the rate of some flow rises, while it is not open */
	double rise;       /* by how much its load rises then */
	double spare;      /* lower bound, up to rounding, of what its flows leave of it */
	uint64_t round;    /* the last filling in which it is in `met` */
};

/* Number of flows between the one that is read and the one that is prefetched. With a hundred
 * thousand flows, the solver is limited by memory latency. */
enum { FETCH_AHEAD = 8 };

/* A heap of items by key, smallest first. */
struct ranked {
	double key;
	size_t item;
};
struct ranking {
	VEC(struct ranked) heap;
	double least;    /* before it is ordered: the least key */
	unsigned passes; /* searches before it was ordered */
};

struct changed {
	uint64_t order;
	uint32_t slot;
};

struct link {
	const struct link_kind *kind;
	struct link_traits traits;
	int nodes[2];
	int resources[2];
};

struct adjacency {
	VEC(struct hop) hops; /* hops that leave the node */
	bool inside;          /* a link inside a host ends here: no switch of the network */
	bool in_torus;
	int router[3]; /* with in_torus: its coordinates */
};

struct cached_route {
	int from, to;
	unsigned traffic;
	const struct route *route; /* NULL: there is no route */
	size_t next;               /* next in its hash chain, plus 1 */
};

struct fabric {
	struct arena *arena;
	struct engine *engine;

	struct names *resource_names;
	VEC(struct resource) resources;
	VEC(int) dirty;
	bool solve_due;              /* an event at the current time will compute the new rates */
	uint64_t capacity_changes;   /* number of changes plus 1 */
	bool has_cables, has_pauses; /* some resource has cables; some resource pauses */

	VEC(struct flow *) flows;         /* by slot */
	VEC(struct share) shares;         /* by slot */
	uint32_t flow_free[FLOW_CLASSES]; /* first free slot of the class, plus 1 */
	uint64_t flows_started, flows_over;
	size_t active_count;
	struct flow *ending; /* flow that ends in the present event and still holds its place */

	/* ---- scratch memory of the solver ---- */
	uint32_t epoch;
	uint64_t round;
	VEC(int) open;               /* resources whose flows are all free */
	VEC(int) met;                /* other resources of flows with a new rate */
	VEC(uint32_t) free_flows;    /* slots of those free flows */
	size_t waiting;              /* number of free flows that are not fixed */
	VEC(struct changed) changed; /* free flows with a new rate */
	VEC(struct changed) sorting;
	struct ranking levels; /* open resources with flows that are not fixed */
	struct ranking bounds; /* free flows with an upper bound */
	VEC(int) least;        /* resources taken from levels, which are the next to be full */
	VEC(struct ranked) aside;

	struct names *node_names, *link_names;
	VEC(struct link) links;
	VEC(struct adjacency) nodes;
	VEC(struct cached_route) routes;
	size_t *route_chains; /* by hash of the ends: the first route, plus 1 */
	size_t route_chain_count;
	/* of the search for routes, by node: labels, and the last search in whose machines it is */
	struct route_label *route_labels;
	uint64_t *route_inside;
	size_t route_room;
	uint64_t route_round; /* number of the search */
	bool route_too_long;  /* a search found one of more than ROUTE_LINKS_MAX links */
};

/* ---- work done for each message, inline for speed ---- */

/* Converts the lifetime of a flow for checks, including the tolerance (account.c). */
static inline double fabric_account_s(int64_t lasted_ps)
{
	return (double)(lasted_ps + account_slack_ps) * (1 / (double)PS_PER_S);
}

/* Returns the time in use, from which seconds in use are computed. */
static inline int64_t fabric_busy_ps(const struct fabric *fabric, const struct resource *resource)
{
	return resource->busy_ps + (resource->flow_count > 0 ? engine_now_ps(fabric->engine) : 0);
}

/* Returns the part of a flow's size that remains now. */
static inline double fabric_flow_remaining(const struct fabric *fabric, const struct flow *flow)
{
	int64_t spent_ps = engine_now_ps(fabric->engine) - flow->updated_ps;
	double left = flow->remaining - fabric->shares.items[flow->slot].rate * s_from_ps(spent_ps);
	return left > flow->size * residue_ratio ? left : 0;
}

static inline void fabric_flow_limit_set(struct fabric *fabric, const struct flow *flow, int limit)
{
	struct share *share = &fabric->shares.items[flow->slot];
	if (share->limit != LIMIT_OWN)
		fabric->resources.items[share->limit].limit_count--;
	share->limit = limit;
	if (limit != LIMIT_OWN)
		fabric->resources.items[limit].limit_count++;
}

/* Removes the first of the uses that are left from the set, and returns it. */
static inline struct use *fabric_use_take(struct flow *flow, uint64_t *left)
{
	struct use *use = &flow->uses[__builtin_ctzll(*left)];
	*left &= *left - 1;
	return use;
}

static inline void fabric_fetch(const struct fabric *fabric, uint32_t slot)
{
	const char *flow = (const char *)fabric->flows.items[slot];
	__builtin_prefetch(flow + offsetof(struct flow, use_count));
	__builtin_prefetch(flow + offsetof(struct flow, uses) + 48);
}

/* Computes max-min rates of free_flows on the open resources: sets solved, limit_next and changed.
 */
void fabric_fill(struct fabric *fabric);
/* Solves all pending changes now, including those of pauses. */
void fabric_settle(struct fabric *fabric);
/* Solves all pending changes with the present caps. */
void fabric_solve(struct fabric *fabric);
/* Returns size / rate, rounded up to a picosecond. A quotient that exceeds a whole number only by
 * rounding gives that number. */
int64_t fabric_duration_ps(double size, double rate);
/* Sets a new rate of an active flow from now on, and so a new end. fabric_flow_end_add then adds
 * the event of the end. */
void fabric_flow_rate_set(struct fabric *fabric, struct flow *flow, double rate);
void fabric_flow_end_add(struct fabric *fabric, struct flow *flow);

/* Divides a link's direction into its cables, and sets what congestion does to it. */
void fabric_cables_add(struct fabric *fabric, int link, int direction);
/* Adds the cables that the flow takes to its uses, each after its trunk. */
void fabric_cables_choose(const struct fabric *fabric, struct flow_spec *spec);
/* Lowers the caps of flows that share a paused port with blocked ones. */
void fabric_pause(struct fabric *fabric);

/* Computes the rate of a flow that shares nothing, without the solver. */
void fabric_flow_settle_alone(struct fabric *fabric, struct flow *flow);
/* Computes the rates of the flow's bundle (bundle.c). Returns false if the flow does not belong to
 * a bundle. */
bool fabric_bundle_settle(struct fabric *fabric, struct flow *flow);
/* Runs as the event at the end of a flow. */
void fabric_flow_ended(void *fabric, uint64_t slot);

/* Check the invariants of a flow that has ended or was cancelled after moving `moved` units, and of
 * its new rate. */
void fabric_flow_check(const struct fabric *fabric, const struct flow *flow, double moved);
void fabric_rate_check(const struct fabric *fabric, const struct flow *flow, double rate);

/* Makes the solver compute the rates on the resource again, unless it is covered. */
void fabric_mark_dirty(struct fabric *fabric, int index);
/* Returns true if the resource of this use of a starting flow is and stays covered. */
bool fabric_covers(struct fabric *fabric, const struct flow_spec *spec, size_t place);
/* The resource, or all resources that it covers, can limit flows from now on. */
void fabric_uncover(struct fabric *fabric, int index);
void fabric_uncover_by(struct fabric *fabric, int index);

/* Drops the kept routes after a change of the topology. */
void fabric_routes_forget(struct fabric *fabric);
