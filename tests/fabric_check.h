/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computes the fair shares of a fabric's flows with a second, simpler method: one common level
 * rises over all active flows until each meets its cap or a full resource. The code is independent
 * of sim/fabric/solve.c. fabric_check fails the run where the two methods disagree. */
#pragma once

#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/fabric/state.h"

static const double slack_ratio = 1e-9;
/* a resource is full if at most this part of its capacity is left */
static const double full_ratio = 1e-13;

struct trial {
	const struct flow *flow;
	double weight, rate;
	bool grows;
};

struct filling {
	struct trial *trials;
	size_t count;
	double *left, *growth; /* by resource; growth per unit of level */
	size_t resource_count;
	double level;
};

static inline void find_growth(struct filling *filling)
{
	for (size_t r = 0; r < filling->resource_count; r++)
		filling->growth[r] = 0;
	for (size_t i = 0; i < filling->count; i++) {
		const struct trial *trial = &filling->trials[i];
		for (size_t u = 0; trial->grows && u < trial->flow->use_count; u++)
			filling->growth[trial->flow->uses[u].resource] +=
				trial->flow->uses[u].per_unit * trial->weight;
	}
}

/* Returns how far the level can rise until a flow is limited. */
static inline double find_rise(const struct filling *filling)
{
	double rise = INFINITY;
	for (size_t r = 0; r < filling->resource_count; r++)
		if (filling->growth[r] > 0)
			rise = fmin(rise, fmax(0, filling->left[r]) / filling->growth[r]);
	for (size_t i = 0; i < filling->count; i++) {
		const struct trial *trial = &filling->trials[i];
		if (trial->grows)
			rise = fmin(rise, trial->flow->cap / trial->weight - filling->level);
	}
	return fmax(0, rise);
}

static inline bool is_stopped(const struct fabric *fabric, const struct filling *filling,
			      const struct trial *trial, double rise)
{
	const struct flow *flow = trial->flow;
	if (filling->level * trial->weight >= flow->cap * (1 - full_ratio))
		return true;
	for (size_t u = 0; u < flow->use_count; u++) {
		int r = flow->uses[u].resource;
		double capacity = fabric->resources.items[r].capacity;
		double before = filling->left[r] + rise * filling->growth[r];
		if (filling->left[r] <= full_ratio * capacity ||
		    fmax(0, before) <= rise * filling->growth[r])
			return true;
	}
	return false;
}

static inline void fill(const struct fabric *fabric, struct filling *filling)
{
	size_t growing = filling->count;
	while (growing > 0) {
		find_growth(filling);
		double rise = find_rise(filling);
		filling->level += rise;
		for (size_t r = 0; r < filling->resource_count; r++)
			filling->left[r] -= rise * filling->growth[r];
		size_t stopped = 0;
		for (size_t i = 0; i < filling->count; i++) {
			struct trial *trial = &filling->trials[i];
			if (!trial->grows || !is_stopped(fabric, filling, trial, rise))
				continue;
			trial->grows = false;
			trial->rate = fmin(trial->flow->cap, trial->weight * filling->level);
			stopped++;
		}
		FW_ASSERT(stopped > 0);
		growing -= stopped;
	}
}

static inline void compare(struct fabric *fabric, const struct trial *trial)
{
	const struct flow *flow = trial->flow;
	double alone = flow->cap;
	for (size_t u = 0; u < flow->use_count; u++)
		alone = fmin(alone, fabric->resources.items[flow->uses[u].resource].capacity /
					    flow->uses[u].per_unit);
	/* The second term allows for rounding: a small rest of a large capacity is known only to
	 * its precision. */
	double rate = fabric_rate(fabric, flow);
	double allowed = slack_ratio * fmax(rate, trial->rate) + 1e-3 * slack_ratio * alone;
	if (fabs(rate - trial->rate) > allowed)
		engine_fail(fabric->engine, "flow %llu has rate %.12g, its fair share is %.12g",
			    (unsigned long long)flow->order, rate, trial->rate);
}

static inline void check_loads(struct fabric *fabric)
{
	for (size_t r = 0; r < fabric->resources.count; r++) {
		const struct resource *resource = &fabric->resources.items[r];
		double load = 0;
		for (size_t i = 0; i < resource->users.count; i++) {
			const struct user *user = &resource->users.items[i];
			if (user->slot != NO_FLOW)
				load += user->per_unit *
					fabric_rate(fabric, fabric->flows.items[user->slot]);
		}
		if (load > resource->capacity * (1 + slack_ratio))
			engine_fail(fabric->engine, "resource '%s' carries %.12g of %.12g",
				    names_at(fabric->resource_names, r), load, resource->capacity);
	}
}

/* A flow without an end event is in a pool, whose first flow ends no later. */
static inline void check_end(struct fabric *fabric, const struct flow *flow)
{
	bool found = flow->end.serial != 0;
	if (flow->limit >= 0) {
		const struct resource *pool = &fabric->resources.items[flow->limit];
		found = pool->end.serial != 0 && flow->heap_at < pool->flows.heap.count &&
			pool->flows.heap.items[flow->heap_at].item == flow->slot &&
			pool->flows.heap.items[0].key <= flow->end_clock;
	}
	if (!found)
		engine_fail(fabric->engine, "flow %llu waits for none to end",
			    (unsigned long long)flow->order);
}

static inline void fabric_check(struct fabric *fabric)
{
	fabric_settle(fabric);
	struct arena *scratch = arena_new();
	struct filling filling = {
		.trials = ARENA_ARRAY(scratch, fabric->active_count, struct trial),
		.left = ARENA_ARRAY(scratch, fabric->resources.count, double),
		.growth = ARENA_ARRAY(scratch, fabric->resources.count, double),
		.resource_count = fabric->resources.count,
	};
	for (size_t slot = 0; slot < fabric->flows.count; slot++)
		if (fabric->flows.items[slot]->active)
			filling.trials[filling.count++] =
				(struct trial){fabric->flows.items[slot],
					       fabric->flows.items[slot]->weight, 0, true};
	FW_ASSERT(filling.count == fabric->active_count);
	for (size_t r = 0; r < filling.resource_count; r++)
		filling.left[r] = fabric->resources.items[r].capacity;
	fill(fabric, &filling);
	for (size_t i = 0; i < filling.count; i++) {
		compare(fabric, &filling.trials[i]);
		check_end(fabric, filling.trials[i].flow);
	}
	check_loads(fabric);
	arena_free(scratch);
}
