/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weighted max-min rates with bounds, by progressive filling.
 *
 * One level rises for all free flows at once. Flow f gets weight(f) times the level, until its
 * bound or a full resource fixes it. Resource r is full at the level
 *
 *   (C(r) - sum over fixed f of a(f, r) x(f)) / sum over others of a(f, r) weight(f)
 *
 * The lowest of these levels is the next bottleneck. Flows whose bound is below it are fixed first.
 * All of them can be fixed, because fixing a flow can only raise the levels of others. If there are
 * none, the flows of the full resources are fixed at the level.
 *
 * A level that becomes a rate is summed anew over the resource's flows in the order of starting, so
 * rounding errors do not accumulate. Doing this for every resource at every step would take most of
 * the time. So both sums are also updated incrementally when flows are fixed. This gives the level
 * up to rounding, and so a lower bound of it. Levels only rise. A heap of these lower bounds, which
 * may be outdated, finds the few resources that may have the lowest level, and only these are
 * summed anew. The bounds of flows are searched one by one a few times, and become another heap if
 * the level passes more of them than that.
 */
#include "sim/fabric/state.h"

static const double tie_ratio = 1e-12; /* levels with a smaller difference are equal */
/* Exceeds the rounding error of an incremental sum over a million flows, and the tie ratio. */
static const double slack_ratio = 1e-9;

/* A search through all bounds costs less than taking its finds from a heap. */
enum { PASSES_MOST = 8 };

/* ---- heaps ---- */

static void rank(struct fabric *fabric, struct ranking *ranking, double key, size_t item)
{
	(void)VEC_PUSH(fabric->arena, &ranking->heap);
	struct ranked *heap = ranking->heap.items;
	size_t at = ranking->heap.count - 1;
	for (; at > 0 && heap[(at - 1) / 2].key > key; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = (struct ranked){key, item};
}

/* Puts an item at `at` or below it, where all items below are in order. */
static void sink(struct ranking *ranking, size_t at, struct ranked item)
{
	struct ranked *heap = ranking->heap.items;
	size_t count = ranking->heap.count;
	for (size_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && heap[child + 1].key < heap[child].key)
			child++;
		if (heap[child].key >= item.key)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = item;
}

static struct ranked take_first(struct ranking *ranking)
{
	struct ranked first = ranking->heap.items[0];
	size_t last = --ranking->heap.count;
	sink(ranking, 0, ranking->heap.items[last]);
	return first;
}

/* ---- resources ---- */

static void measure(const struct fabric *fabric, struct resource *resource)
{
	const struct share *shares = fabric->shares.items;
	double left = resource->capacity, demand = 0;
	for (size_t i = 0; i < resource->users.count; i++) {
		const struct user *user = &resource->users.items[i];
		if (user->slot == NO_FLOW)
			continue;
		const struct share *share = &shares[user->slot];
		if (share->solved > 0)
			left -= user->per_unit * share->solved;
		else
			demand += user->per_unit * share->weight;
	}
	resource->left = left;
	resource->demand = demand;
	resource->touched = false;
}

/* Returns a lower bound of the resource's level. */
static double level_floor(const struct resource *resource)
{
	return (resource->left - slack_ratio * resource->capacity) /
	       (resource->demand + slack_ratio * resource->demand_all);
}

static void rank_level(struct fabric *fabric, int index)
{
	const struct resource *resource = &fabric->resources.items[index];
	if (resource->waiting > 0)
		rank(fabric, &fabric->levels, level_floor(resource), (size_t)index);
}

/* Counts the rise of a flow's rate on a resource that is not open. */
static void meet(struct fabric *fabric, const struct use *use, double rise)
{
	struct resource *resource = &fabric->resources.items[use->resource];
	if (resource->round != fabric->round) {
		resource->round = fabric->round;
		resource->rise = 0;
		resource->rises = false;
		*VEC_PUSH(fabric->arena, &fabric->met) = use->resource;
	}
	resource->rise += use->per_unit * rise;
	resource->rises = resource->rises || rise > 0;
}

static void fix(struct fabric *fabric, uint32_t slot, double rate, int limit)
{
	struct share *share = &fabric->shares.items[slot];
	struct flow *flow = fabric->flows.items[slot];
	double rise = rate - share->rate;
	/* A flow without an end event relied on a bundle that may no longer exist. */
	bool changes = fabs(rise) > rate_noise_ratio * share->rate || flow->end.serial == 0;
	share->solved = rate;
	flow->limit_next = limit;
	fabric->waiting--;
	for (uint64_t left = flow->solved_uses; left;) {
		const struct use *use = fabric_use_take(flow, &left);
		struct resource *resource = &fabric->resources.items[use->resource];
		if (resource->epoch != fabric->epoch) {
			if (changes && resource->flow_count > 1)
				meet(fabric, use, rise);
			continue;
		}
		resource->left -= use->per_unit * rate;
		resource->demand -= use->per_unit * share->weight;
		resource->waiting--;
		resource->touched = true;
	}
	if (changes)
		*VEC_PUSH(fabric->arena, &fabric->changed) = (struct changed){flow->order, slot};
}

/* ---- filling ---- */

/* Fixes a flow if its bound is below the level. Returns false if it is not fixed. */
static bool fix_if_bound(struct fabric *fabric, uint32_t slot, double level)
{
	const struct share *share = &fabric->shares.items[slot];
	const struct flow *flow = fabric->flows.items[slot];
	if (share->solved > 0)
		return true;
	if (flow->bound > share->weight * level)
		return false;
	fix(fabric, slot, flow->bound, flow->limit_next);
	return true;
}

static void fix_bound_unordered(struct fabric *fabric, double level)
{
	struct ranking *bounds = &fabric->bounds;
	size_t left = 0;
	bounds->least = INFINITY;
	for (size_t i = 0; i < bounds->heap.count; i++) {
		struct ranked one = bounds->heap.items[i];
		if (one.key <= level * (1 + tie_ratio) &&
		    fix_if_bound(fabric, (uint32_t)one.item, level))
			continue;
		bounds->heap.items[left++] = one;
		bounds->least = one.key < bounds->least ? one.key : bounds->least;
	}
	bounds->heap.count = left;
	if (++bounds->passes == PASSES_MOST)
		for (size_t at = left / 2; at-- > 0;)
			sink(bounds, at, bounds->heap.items[at]);
}

/* Fixes the flows whose bound is below the level and returns their number. */
static size_t fix_bound(struct fabric *fabric, double level)
{
	struct ranking *bounds = &fabric->bounds;
	size_t before = fabric->waiting;
	if (bounds->passes < PASSES_MOST) {
		if (bounds->least <= level * (1 + tie_ratio))
			fix_bound_unordered(fabric, level);
		return before - fabric->waiting;
	}
	while (bounds->heap.count > 0 && bounds->heap.items[0].key <= level * (1 + tie_ratio)) {
		struct ranked first = take_first(bounds);
		if (!fix_if_bound(fabric, (uint32_t)first.item, level))
			*VEC_PUSH(fabric->arena, &fabric->aside) = first;
	}
	for (size_t i = 0; i < fabric->aside.count; i++)
		rank(fabric, bounds, fabric->aside.items[i].key, fabric->aside.items[i].item);
	fabric->aside.count = 0;
	return before - fabric->waiting;
}

/* Returns the lowest level. Moves its resource, and those that tie with it or with level_before,
 * from the ranking to fabric->least, summed anew. */
static double find_least(struct fabric *fabric, double level_before)
{
	struct ranking *levels = &fabric->levels;
	double least = INFINITY;
	fabric->least.count = 0;
	while (levels->heap.count > 0 &&
	       levels->heap.items[0].key <= fmax(least, level_before) * (1 + tie_ratio)) {
		int index = (int)take_first(levels).item;
		struct resource *resource = &fabric->resources.items[index];
		if (resource->waiting == 0)
			continue;
		if (resource->touched) {
			double floor = level_floor(resource);
			bool first = levels->heap.count == 0 || floor <= levels->heap.items[0].key;
			/* No exact level is needed while bounds are below all levels. */
			if (!first || (fabric->least.count == 0 && fix_bound(fabric, floor) > 0)) {
				rank_level(fabric, index);
				continue;
			}
			measure(fabric, resource);
		}
		least = fmin(least, resource->left / resource->demand);
		*VEC_PUSH(fabric->arena, &fabric->least) = index;
	}
	return least;
}

static void fix_on_full(struct fabric *fabric, double level)
{
	/* Determine the full resources by their sums before any of these flows is fixed. */
	size_t full = 0;
	int *least = fabric->least.items;
	for (size_t i = 0; i < fabric->least.count; i++) {
		int index = least[i];
		const struct resource *resource = &fabric->resources.items[index];
		if (resource->left <= resource->demand * level * (1 + tie_ratio)) {
			least[i] = least[full];
			least[full++] = index;
		}
	}
	for (size_t i = 0; i < full; i++) {
		const struct resource *resource = &fabric->resources.items[least[i]];
		for (size_t j = 0; j < resource->users.count; j++) {
			uint32_t slot = resource->users.items[j].slot;
			if (j + FETCH_AHEAD < resource->users.count &&
			    resource->users.items[j + FETCH_AHEAD].slot != NO_FLOW)
				fabric_fetch(fabric, resource->users.items[j + FETCH_AHEAD].slot);
			if (slot == NO_FLOW || fabric->shares.items[slot].solved > 0)
				continue;
			fix(fabric, slot, fabric->shares.items[slot].weight * level, least[i]);
		}
	}
}

/* Sets the highest rate that the resources that are not open allow a free flow. */
static void set_bound(const struct fabric *fabric, struct flow *flow)
{
	const struct share *share = &fabric->shares.items[flow->slot];
	double bound = flow->cap;
	flow->limit_next = LIMIT_OWN;
	for (uint64_t left = flow->solved_uses; left;) {
		const struct use *use = fabric_use_take(flow, &left);
		const struct resource *resource = &fabric->resources.items[use->resource];
		if (resource->epoch == fabric->epoch)
			continue;
		if (resource->flow_count == 1 || share->rate == 0) {
			double most = resource->capacity / use->per_unit;
			bound = most < bound ? most : bound;
		} else if (use->resource == share->limit && share->rate < bound) {
			bound = share->rate;
			flow->limit_next = share->limit;
		}
	}
	flow->bound = bound;
}

static void prepare(struct fabric *fabric)
{
	struct ranking *bounds = &fabric->bounds;
	fabric->round++;
	fabric->met.count = 0;
	fabric->changed.count = 0;
	fabric->levels.heap.count = 0;
	bounds->heap.count = 0;
	bounds->least = INFINITY;
	bounds->passes = 0;
	fabric->waiting = fabric->free_flows.count;
	for (size_t i = 0; i < fabric->free_flows.count; i++) {
		uint32_t slot = fabric->free_flows.items[i];
		if (i + FETCH_AHEAD < fabric->free_flows.count)
			fabric_fetch(fabric, fabric->free_flows.items[i + FETCH_AHEAD]);
		struct flow *flow = fabric->flows.items[slot];
		struct share *share = &fabric->shares.items[slot];
		share->solved = 0;
		set_bound(fabric, flow);
		if (flow->bound == INFINITY)
			continue;
		double key = flow->bound / share->weight;
		*VEC_PUSH(fabric->arena, &bounds->heap) = (struct ranked){key, slot};
		bounds->least = key < bounds->least ? key : bounds->least;
	}
	for (size_t i = 0; i < fabric->open.count; i++) {
		struct resource *resource = &fabric->resources.items[fabric->open.items[i]];
		measure(fabric, resource);
		resource->demand_all = resource->demand;
		resource->waiting = resource->flow_count;
		rank_level(fabric, fabric->open.items[i]);
	}
}

void fabric_fill(struct fabric *fabric)
{
	prepare(fabric);
	double level = 0; /* never decreases, although rounding could give a lower value */
	while (fabric->waiting > 0) {
		size_t waiting = fabric->waiting;
		double least = find_least(fabric, level);
		if (fabric->waiting == 0)
			break;
		level = fmax(level, least);
		if (fix_bound(fabric, level) == 0)
			fix_on_full(fabric, level);
		for (size_t i = 0; i < fabric->least.count; i++)
			rank_level(fabric, fabric->least.items[i]);
		FW_ASSERT(fabric->waiting < waiting);
	}
}
