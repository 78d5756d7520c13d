/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weighted max-min rates with caps, by progressive filling.
 *
 * Think of one level that rises for all flows at once; flow f gets weight(f)
 * times the level until its cap or a full resource fixes it. Resource r is
 * full at the level
 *
 *   (C(r) - sum over fixed f of a(f, r) x(f)) / sum over others of a(f, r) weight(f)
 *
 * The least of these levels is the next bottleneck. Flows whose cap lies below
 * it are fixed first (all of them: fixing one can only raise the levels of the
 * others); if there are none, the flows of the full resources are fixed at it.
 * Sums are taken afresh over a resource's flows in their order of starting
 * instead of being carried along: no rounding builds up.
 *
 * Only the component of flows and resources that a change reaches is solved. A
 * resource that carries one flow alone is a cap of that flow and joins nothing.
 */
#include <math.h>

#include "sim/base/diag.h"
#include "sim/fabric/state.h"

static const double tie_ratio = 1e-12;   /* levels that differ by less are one */
static const double noise_ratio = 1e-14; /* a change of rate below this is rounding */

static void reach_resource(struct fabric *fabric, int index)
{
	struct resource *resource = &fabric->resources.items[index];
	resource->dirty = false;
	if (resource->epoch == fabric->epoch)
		return;
	resource->epoch = fabric->epoch;
	resource->touched = true;
	*VEC_PUSH(fabric->arena, &fabric->affected) = index;
}

/* Shell sort by order of starting (gaps of Ciura, 2001, continued by 2.25): in
 * place, and quick on the sorted stretches that collecting yields. */
static void sort_by_start(struct flow **flows, size_t count)
{
	static const size_t gaps[] = {19930, 8858, 3937, 1750, 701, 301, 132, 57, 23, 10, 4, 1};
	for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
		size_t gap = gaps[g];
		for (size_t i = gap; i < count; i++) {
			struct flow *flow = flows[i];
			size_t j = i;
			for (; j >= gap && flows[j - gap]->order > flow->order; j -= gap)
				flows[j] = flows[j - gap];
			flows[j] = flow;
		}
	}
}

/* ... by a flow that uses it. */
static void reach_use(struct fabric *fabric, struct flow *flow, const struct use *use)
{
	struct resource *resource = &fabric->resources.items[use->resource];
	if (resource->flow_count > 1) {
		reach_resource(fabric, use->resource);
		return;
	}
	resource->dirty = false;
	flow->bound = fmin(flow->bound, resource->capacity / use->per_unit);
}

/* Gathers the flows and resources connected with a resource. */
static void collect(struct fabric *fabric, int start)
{
	fabric->epoch++;
	fabric->component.count = 0;
	fabric->affected.count = 0;
	reach_resource(fabric, start);
	for (size_t i = 0; i < fabric->affected.count; i++) {
		int index = fabric->affected.items[i];
		for (struct use *use = fabric->resources.items[index].first; use; use = use->next) {
			struct flow *flow = use->flow;
			if (flow->epoch == fabric->epoch)
				continue;
			flow->epoch = fabric->epoch;
			flow->fixed = false;
			flow->bound = flow->cap;
			*VEC_PUSH(fabric->arena, &fabric->component) = flow;
			for (size_t u = 0; u < flow->use_count; u++)
				reach_use(fabric, flow, &flow->uses[u]);
		}
	}
}

static void measure(struct resource *resource)
{
	resource->left = resource->capacity;
	resource->demand = 0;
	resource->waiting = 0;
	resource->touched = false;
	for (const struct use *use = resource->first; use; use = use->next) {
		if (use->flow->fixed) {
			resource->left -= use->per_unit * use->flow->solved;
		} else {
			resource->demand += use->per_unit * use->flow->weight;
			resource->waiting++;
		}
	}
}

/* The level at which the next resource is full. Those whose flows are all fixed are
 * done with. */
static double next_level(struct fabric *fabric)
{
	double least = INFINITY;
	int *affected = fabric->affected.items;
	size_t left = 0;
	for (size_t i = 0; i < fabric->affected.count; i++) {
		struct resource *resource = &fabric->resources.items[affected[i]];
		if (resource->touched)
			measure(resource);
		if (resource->waiting == 0)
			continue;
		affected[left++] = affected[i];
		double level = resource->left / resource->demand;
		least = level < least ? level : least;
	}
	fabric->affected.count = left;
	return least;
}

static void fix(struct fabric *fabric, struct flow *flow, double rate)
{
	flow->fixed = true;
	for (size_t u = 0; u < flow->use_count; u++)
		fabric->resources.items[flow->uses[u].resource].touched = true;
	flow->solved = rate;
	if (fabs(rate - flow->rate) > noise_ratio * flow->rate)
		*VEC_PUSH(fabric->arena, &fabric->changed) = flow;
}

/* Flows that are fixed by now leave the component. */
static size_t fix_bound(struct fabric *fabric, double level)
{
	struct flow **component = fabric->component.items;
	size_t count = 0, left = 0;
	for (size_t i = 0; i < fabric->component.count; i++) {
		struct flow *flow = component[i];
		if (flow->fixed)
			continue;
		if (flow->bound <= flow->weight * level) {
			fix(fabric, flow, flow->bound);
			count++;
		} else {
			component[left++] = flow;
		}
	}
	fabric->component.count = left;
	return count;
}

static size_t fix_on_full(struct fabric *fabric, double level)
{
	size_t count = 0;
	for (size_t i = 0; i < fabric->affected.count; i++) {
		struct resource *resource = &fabric->resources.items[fabric->affected.items[i]];
		if (resource->waiting == 0 ||
		    resource->left > resource->demand * level * (1 + tie_ratio))
			continue;
		for (struct use *use = resource->first; use; use = use->next) {
			if (!use->flow->fixed) {
				fix(fabric, use->flow, use->flow->weight * level);
				count++;
			}
		}
	}
	return count;
}

static void solve_component(struct fabric *fabric)
{
	size_t waiting = fabric->component.count;
	double level = 0; /* rises only: what is left may round below it */
	while (waiting > 0) {
		level = fmax(level, next_level(fabric));
		size_t fixed = fix_bound(fabric, level);
		if (fixed == 0)
			fixed = fix_on_full(fabric, level);
		FW_ASSERT(fixed > 0);
		waiting -= fixed;
	}
	sort_by_start(fabric->changed.items, fabric->changed.count);
	for (size_t i = 0; i < fabric->changed.count; i++)
		fabric_flow_rate_set(fabric, fabric->changed.items[i],
				     fabric->changed.items[i]->solved);
	fabric->changed.count = 0;
}

void fabric_settle(struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->dirty.count; i++) {
		int index = fabric->dirty.items[i];
		if (!fabric->resources.items[index].dirty)
			continue; /* solved with one before it */
		collect(fabric, index);
		solve_component(fabric);
	}
	fabric->dirty.count = 0;
}
