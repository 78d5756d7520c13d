/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this folder share: the fabric's inside.
 *
 * flow.c keeps resources and flows and their accounts, pass.c has flows that are over
 * before anybody could meet them, bundle.c solves the simplest
 * changes, which are most, solve.c finds out how far any other one reaches and fill.c
 * the rates there, check.c finds all of them again in another way, account.c checks
 * what must hold of every run, topology.c keeps nodes and links, route.c finds ways and
 * counts wire bytes.
 *
 * Each flow carries its uses; a resource lists its users in the order in which
 * they started. Every sum over flows that a rate comes from runs in
 * that order, so rates are the same numbers whichever change caused the solution.
 */
#ifndef FARWIRE_FABRIC_STATE_H
#define FARWIRE_FABRIC_STATE_H

#include "sim/base/vec.h"
#include "sim/engine/names.h"
#include "sim/fabric/fabric.h"

/* A change of rate below this is rounding. */
static const double rate_noise_ratio = 1e-14;
/* Less than this part of a flow's size is the rounding of sums. */
static const double residue_ratio = 1e-12;
/* What must hold of every run (account.c) may be missed by this: sums of many products, and
 * ends, which are rounded to a picosecond. */
static const double account_slack_ratio = 1e-9;
static const int64_t account_slack_ps = 2;

enum { LIMIT_OWN = -1, FLOW_CLASSES = 5 };
#define NO_FLOW UINT32_MAX

/* A resource of a flow. */
struct use {
	double per_unit;
	int resource;
	uint32_t place; /* among the resource's users */
};

/* A flow of a resource. */
struct user {
	double per_unit;
	uint32_t slot; /* NO_FLOW: it is over */
};

/* What the solver reads of flows again and again, by slot, in little memory. */
struct share {
	double weight;
	double rate;    /* 0: not solved yet */
	double solved;  /* solver: the rate that it found; 0: none yet */
	uint32_t epoch; /* solver: the solution that last met it */
	int limit;      /* the full resource that holds its rate down; LIMIT_OWN: its cap, or
			   a resource that it has alone */
};

struct flow {
	double size, remaining; /* remaining at updated_ps, when it got its rate */
	int64_t started_ps, updated_ps, end_ps;
	struct event_id end; /* {0}: another flow of its bundle ends first (bundle.c) */
	event_fn *done;
	void *ctx;
	uint64_t arg;
	uint32_t slot, serial;
	uint32_t free_next; /* next free slot of its class, plus 1 */
	uint32_t class;     /* room for 2 << class uses */
	bool active;
	/* What the solver reads lies together. */
	uint32_t use_count;
	int limit_next; /* solver: with the rate that it found */
	uint64_t order; /* of starting */
	double cap;     /* INFINITY: none */
	double bound;   /* solver: no rate above it */
	struct use uses[];
};

struct resource {
	/* What a start or an end reads and writes: a cache line. */
	double capacity;
	VEC(struct user) users; /* by start, some of them over */
	uint32_t flow_count;
	uint32_t limit_count; /* flows that it limits: above 0, it is full */
	uint32_t epoch;       /* solver: the solution that opened it */
	bool touched;         /* solver: left and demand are carried along, not summed afresh */
	bool dirty;
	int64_t busy_ps; /* in use: less the time at which that began */
	double carried;  /* by flows that are over */

	double delivered; /* of messages, by who sent them */
	double capacity_most;
	/* solver */
	double left;       /* capacity that fixed flows leave */
	double demand;     /* sum of a * weight over flows not fixed */
	double demand_all; /* ... over all flows */
	uint64_t round;    /* the filling after which its load was looked at */
	uint32_t waiting;  /* flows not fixed */
};

/* How many flows ahead of the one that is read the next one is fetched: with a hundred
 * thousand of them, memory is what the solver waits for. */
enum { FETCH_AHEAD = 8 };

/* A heap by key, least first, of numbers of things. */
struct ranked {
	double key;
	size_t item;
};
struct ranking {
	VEC(struct ranked) heap;
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
	VEC(struct hop) hops; /* leaving the node */
};

struct cached_route {
	int from, to;
	unsigned traffic;
	const struct route *route; /* NULL: there is none */
	size_t next;               /* in its chain, plus 1 */
};

struct fabric {
	struct arena *arena;
	struct engine *engine;

	struct names *resource_names;
	VEC(struct resource) resources;
	VEC(int) dirty;
	bool solve_due;            /* an event at this instant will solve */
	uint64_t capacity_changes; /* and 1 */

	VEC(struct flow *) flows;         /* by slot */
	VEC(struct share) shares;         /* by slot */
	uint32_t flow_free[FLOW_CLASSES]; /* first free slot of the class, plus 1 */
	uint64_t flows_started, flows_over;
	size_t active_count;

	/* scratch of the solver */
	uint32_t epoch;
	uint64_t round;
	VEC(int) open;               /* resources all of whose flows are free */
	VEC(uint32_t) free_flows;    /* ... which are these, by slot */
	size_t waiting;              /* of them, not fixed */
	VEC(struct changed) changed; /* of them, those that get another rate */
	VEC(struct changed) sorting;
	struct ranking levels; /* open resources that have waiting flows */
	struct ranking bounds; /* free flows that are bounded */
	VEC(int) least;        /* resources taken from levels: the next to be full */
	VEC(struct ranked) aside;

	struct names *node_names, *link_names;
	VEC(struct link) links;
	VEC(struct adjacency) nodes;
	VEC(struct cached_route) routes;
	size_t *route_chains; /* by hash of the ends: the first, plus 1 */
	size_t route_chain_count;
};

/* ---- what is done for each message: here, for the compiler ---- */

/* A flow may have had so long, for the checks (account.c). */
static inline double fabric_account_s(int64_t lasted_ps)
{
	return (double)(lasted_ps + account_slack_ps) * (1 / (double)PS_PER_S);
}

/* Seconds in use come from it. */
static inline int64_t fabric_busy_ps(const struct fabric *fabric, const struct resource *resource)
{
	return resource->busy_ps + (resource->flow_count > 0 ? engine_now_ps(fabric->engine) : 0);
}

/* What is left of a flow's size by now. */
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

static inline void fabric_fetch(const struct fabric *fabric, uint32_t slot)
{
	const char *flow = (const char *)fabric->flows.items[slot];
	__builtin_prefetch(flow + offsetof(struct flow, use_count));
	__builtin_prefetch(flow + offsetof(struct flow, uses) + 48);
}

/* Max-min rates of free_flows on the open resources: solved, limit_next, changed. */
void fabric_fill(struct fabric *fabric);
/* Solves what is dirty, now. */
void fabric_settle(struct fabric *fabric);
/* Size over rate, rounded up to a picosecond; a quotient that only rounding
 * puts above a whole number is that number. */
int64_t fabric_duration_ps(double size, double rate);
/* Gives an active flow another rate from now on, hence another end, whose event is yet
 * to be added. */
void fabric_flow_rate_set(struct fabric *fabric, struct flow *flow, double rate);
void fabric_flow_end_add(struct fabric *fabric, struct flow *flow);

/* The rate of a flow that meets nobody, found without the solver. */
void fabric_flow_settle_alone(struct fabric *fabric, struct flow *flow);
/* So are those of the bundle of one that meets others (bundle.c); false if it has none. */
bool fabric_bundle_settle(struct fabric *fabric, const struct flow *flow);
/* The event at a flow's end. */
void fabric_flow_ended(void *fabric, uint64_t slot);

/* What must hold of a flow that is over, ended or cancelled, having moved so much; of its new
 * rate. */
void fabric_flow_check(const struct fabric *fabric, const struct flow *flow, double moved);
void fabric_rate_check(const struct fabric *fabric, const struct flow *flow, double rate);

/* Ways may have changed. */
void fabric_routes_forget(struct fabric *fabric);

#endif
