/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Internals of the fabric, shared by the files of this folder.
 *
 * flow.c keeps resources, flows and their accounts. pass.c handles flows that end before anything
 * else happens. pool.c keeps the flows that one resource limits, solve.c changes the rates, and
 * refill.c solves all of them anew. tests/fabric_check.h computes all rates with a different
 * method. account.c checks the invariants of a run. cover.c finds resources that cannot limit a
 * flow. topology.c keeps nodes and links. route.c finds routes and counts bytes on the wire.
 *
 * Each flow has a list of its uses. Each resource has a list of its users in the order in which
 * they started.
 */
#pragma once

#include "sim/engine/names.h"
#include "sim/fabric/fabric.h"

/* A smaller part of a flow's size is the rounding error of sums. */
static const double residue_ratio = 1e-12;
/* Tolerance of the invariants (account.c), because sums have many terms and ends are rounded to a
 * picosecond. */
static const double account_slack_ratio = 1e-9;
static const int64_t account_slack_ps = 2;

/* LIMIT_ALONE: the solver leaves the flow out, because it has shared no resource yet. */
enum { LIMIT_OWN = -1, LIMIT_ALONE = -2, FLOW_CLASSES = 6 };
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

struct flow {
	double size, remaining; /* `remaining` is as of updated_ps, without a pool */
	int64_t started_ps, updated_ps;
	struct event_id end; /* {0}: in a pool, whose event ends its first flow */
	event_fn *done;
	void *ctx;
	uint64_t arg;
	uint32_t slot, serial;
	uint32_t free_next; /* next free slot of its class, plus 1 */
	uint32_t class;     /* has room for 2 << class uses */
	bool active;
	/* The following fields are read by the solver and are adjacent. */
	uint32_t use_count;
	/* the full resource that limits its rate; LIMIT_OWN: its cap; or LIMIT_ALONE */
	int limit;
	uint32_t heap_at; /* in a pool: its place in the heap */
	double end_clock; /* in a pool: the pool's clock at its end */
	double weight;
	double rate;          /* without a pool; 0: it starts now */
	uint64_t order;       /* order of starting */
	double cap;           /* INFINITY: unlimited */
	double own_cap;       /* without pauses (pause.c) */
	int paused_at;        /* the resource that pauses it; -1: none */
	uint64_t solved_uses; /* bit set: the solver needs this use (cover.c) */
	struct use uses[];
};

/* A heap of items by key, smallest first. */
struct ranked {
	double key;
	uint32_t item;
};
struct ranking {
	VEC(struct ranked) heap;
};

/* The flows of one pool on another resource (pool.c). */
struct pool_pair {
	double demand; /* sum of a * weight */
	uint32_t count;
	int pool, on;
	uint32_t row_at, column_at; /* places in the lists of the two resources */
	uint32_t free_next;         /* next free pair, plus 1 */
};
struct pool_pair_ref {
	int other; /* the other resource */
	uint32_t pair;
};

struct resource {
	/* Accessed by every start and end: one cache line. */
	double capacity;
	VEC(struct user) users; /* in the order of starting; some have ended */
	uint32_t flow_count;
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
	double load; /* sum of a * rate over its flows, up to rounding */
	double key;  /* while it is due: its lowest key in the heap */
	bool due;    /* a change may reach it */
	bool touched;
	double waiting;  /* demand of flows without a limit (refill.c) */
	double own_load; /* load of flows at their caps */
	uint32_t own_count;
	double own_most;                   /* upper bound of their levels (rate over weight) */
	VEC(struct pool_pair_ref) columns; /* other pools with flows here */
	/* ---- its pool: the flows that it limits, if it is full ---- */
	uint32_t limit_count;
	double level;     /* rate over weight of each; INFINITY: there are none */
	double demand;    /* sum of a * weight */
	double cap_least; /* lower bound of cap over weight */
	double clock;     /* integral of the level over time */
	int64_t clock_ps; /* time of the clock */
	int64_t end_ps;   /* time of its event */
	struct event_id end;
	bool shared;                    /* several flows used it when its end was last set */
	struct ranking flows;           /* by end_clock */
	VEC(struct pool_pair_ref) rows; /* other resources of its flows */
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
	bool solve_due;              /* an event at the current time will compute the new rates */
	uint64_t capacity_changes;   /* number of changes plus 1 */
	bool has_cables, has_pauses; /* some resource has cables; some resource pauses */

	VEC(struct flow *) flows;         /* by slot */
	uint32_t flow_free[FLOW_CLASSES]; /* first free slot of the class, plus 1 */
	uint64_t flows_started, flows_over;
	size_t active_count;
	struct flow *ending; /* flow that ends in the present event and still holds its place */

	/* ---- solver ---- */
	VEC(uint32_t) joining; /* slots of flows that share resources from now on */
	struct ranking due;    /* resources that changes may reach, by their next level */
	VEC(int) touched;      /* pools whose next end may have changed */
	VEC(uint32_t) moving;  /* slots of flows that get another limit */
	VEC(struct pool_pair) pairs;
	uint32_t pair_free; /* first free pair, plus 1 */
	size_t steps_most;  /* of one solve, for each flow and resource; more: refill.c */

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

/* Returns the rate of an active flow; 0: it has just started. */
static inline double fabric_rate(const struct fabric *fabric, const struct flow *flow)
{
	return flow->limit < 0 ? flow->rate
			       : flow->weight * fabric->resources.items[flow->limit].level;
}

/* Returns what remains of a flow's size now, with rounding errors. */
static inline double fabric_flow_left(const struct fabric *fabric, const struct flow *flow)
{
	int64_t now_ps = engine_now_ps(fabric->engine);
	if (flow->limit < 0)
		return flow->remaining - flow->rate * s_from_ps(now_ps - flow->updated_ps);
	const struct resource *pool = &fabric->resources.items[flow->limit];
	double clock = pool->clock + pool->level * s_from_ps(now_ps - pool->clock_ps);
	return (flow->end_clock - clock) * flow->weight;
}

static inline double fabric_flow_remaining(const struct fabric *fabric, const struct flow *flow)
{
	double left = fabric_flow_left(fabric, flow);
	return left > flow->size * residue_ratio ? left : 0;
}

/* Removes the first of the uses that are left from the set, and returns it. */
static inline struct use *fabric_use_take(struct flow *flow, uint64_t *left)
{
	struct use *use = &flow->uses[__builtin_ctzll(*left)];
	*left &= *left - 1;
	return use;
}

/* Solves all pending changes now, including those of pauses. */
void fabric_settle(struct fabric *fabric);
/* Solves all pending changes with the present caps. */
void fabric_solve(struct fabric *fabric);
/* Returns true if there are any. */
bool fabric_is_due(const struct fabric *fabric);
/* Adds an event at the present time that solves them. */
void fabric_solve_later(struct fabric *fabric);
/* Solves all rates anew, with at least one flow less at each step. */
void fabric_refill(struct fabric *fabric);
/* Returns true if the resource can limit the flow. */
bool fabric_uses(const struct flow *flow, int resource);
/* A change may reach the resource. */
void fabric_mark(struct fabric *fabric, int index);
/* The flow's cap has changed. */
void fabric_flow_place_again(struct fabric *fabric, struct flow *flow);

/* Returns size / rate, rounded up to a picosecond. A quotient that exceeds a whole number only by
 * rounding gives that number. */
int64_t fabric_duration_ps(double size, double rate);
/* Computes the rate and the end of a flow that shares nothing. */
void fabric_flow_settle_alone(struct fabric *fabric, struct flow *flow);
/* Makes the flow a part of the pool of `limit`, or of the flows at their caps (LIMIT_OWN). */
void fabric_pool_join(struct fabric *fabric, struct flow *flow, int limit);
void fabric_pool_leave(struct fabric *fabric, struct flow *flow);
/* Gives a flow that takes the place of an ended one its end. */
void fabric_pool_follow(struct fabric *fabric, struct flow *flow);
/* Adds the flow's use to the loads, or removes it (sign -1). */
void fabric_use_count(struct fabric *fabric, const struct flow *flow, const struct use *use,
		      int sign);
/* Advances the clock of a pool to the present time. */
void fabric_pool_tick(struct fabric *fabric, struct resource *pool);
/* The next end of the pool may have changed; fabric_pool_end_set then sets its event. */
void fabric_pool_touch(struct fabric *fabric, int index);
void fabric_pool_end_set(struct fabric *fabric, int index);

/* Adds an item, or takes the first one. */
void fabric_rank(struct fabric *fabric, struct ranking *ranking, double key, uint32_t item);
struct ranked fabric_rank_first(struct fabric *fabric, struct ranking *ranking);

/* Divides a link's direction into its cables, and sets what congestion does to it. */
void fabric_cables_add(struct fabric *fabric, int link, int direction);
/* Adds the cables that the flow takes to its uses, each after its trunk. */
void fabric_cables_choose(const struct fabric *fabric, struct flow_spec *spec);
/* Lowers the caps of flows that share a paused port with blocked ones. */
void fabric_pause(struct fabric *fabric);

/* Runs as the event at the end of a flow, or by that of its pool. */
void fabric_flow_ended(void *flow, uint64_t fabric);

/* Checks the invariants of a flow that has ended or was cancelled after moving `moved` units. */
void fabric_flow_check(const struct fabric *fabric, const struct flow *flow, double moved);
/* Returns an upper bound of what an active flow can have moved. */
double fabric_flow_could(const struct fabric *fabric, const struct flow *flow);

/* Returns true if the resource of this use of a starting flow is and stays covered. */
bool fabric_covers(struct fabric *fabric, const struct flow_spec *spec, size_t place);
/* The resource, or all resources that it covers, can limit flows from now on. */
void fabric_uncover(struct fabric *fabric, int index);
void fabric_uncover_by(struct fabric *fabric, int index);

/* Drops the kept routes after a change of the topology. */
void fabric_routes_forget(struct fabric *fabric);
