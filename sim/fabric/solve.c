/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes the rates near a start, an end, or another cap or capacity.
 *
 * In a max-min solution each flow is limited by its own cap or by one full resource, its limit, on
 * which no flow has a higher level (rate over weight). If this holds for every flow, the rates are
 * the unique solution. So it suffices to look at resources for which it may no longer hold.
 *
 * For such a resource, the level of its pool follows from what flows with other limits leave:
 *
 *   (C(r) - sum over others of a(f, r) x(f)) / sum over its pool of a(f, r) weight(f)
 *
 * A flow with a higher level joins the pool, because the resource is now its limit. A flow of the
 * pool with a lower level elsewhere leaves it. Both only raise the level. A new level changes loads
 * on the other resources of the pool, which are looked at next. A resource that limits no flow
 * matters only if it is overloaded.
 *
 * The resource with the lowest next level goes first, because lower levels are final, as in
 * progressive filling. The cost depends on the resources with a new level, and on the flows with a
 * new limit, but not on the flows with a new rate (pool.c).
 *
 * Rounding could make this go on forever among levels that are nearly equal. So the number of steps
 * is bounded, and a solve that exceeds it is repeated in another way (refill.c).
 */
#include "sim/fabric/state.h"

/* A smaller difference of levels is rounding, and so is a smaller overload. */
static const double tie_ratio = 1e-12;
/* A smaller change of a level is not followed. */
static const double noise_ratio = 1e-14;
/* Exceeds the rounding errors of a load that is updated by many changes. */
static const double near_full_ratio = 1e-9;

/* Estimates the next level from the present load. */
static double next_level(const struct fabric *fabric, const struct resource *resource)
{
	if (resource->limit_count > 0)
		return resource->level + (resource->capacity - resource->load) / resource->demand;
	double most = resource->own_count > 0 ? resource->own_most : 0;
	for (size_t i = 0; i < resource->columns.count; i++)
		most = fmax(most, fabric->resources.items[resource->columns.items[i].other].level);
	return most * resource->capacity / resource->load;
}

void fabric_mark(struct fabric *fabric, int index)
{
	struct resource *resource = &fabric->resources.items[index];
	if (resource->limit_count == 0 &&
	    resource->load <= resource->capacity * (1 - near_full_ratio))
		return;
	double key = next_level(fabric, resource);
	if (resource->due && resource->key <= key)
		return;
	resource->due = true;
	resource->key = key;
	fabric_rank(fabric, &fabric->due, key, (uint32_t)index);
}

bool fabric_is_due(const struct fabric *fabric)
{
	return fabric->joining.count + fabric->due.heap.count + fabric->touched.count > 0;
}

static void move(struct fabric *fabric, struct flow *flow, int limit)
{
	fabric_pool_leave(fabric, flow);
	fabric_pool_join(fabric, flow, limit);
}

bool fabric_uses(const struct flow *flow, int resource)
{
	for (uint64_t left = flow->solved_uses; left; left &= left - 1)
		if (flow->uses[__builtin_ctzll(left)].resource == resource)
			return true;
	return false;
}

/* Moves the flows on a resource that have the limit `from` and a level above `above` into its pool.
 */
static void move_in(struct fabric *fabric, int index, int from, double above)
{
	const struct resource *resource = &fabric->resources.items[index];
	for (size_t i = 0; i < resource->users.count; i++) {
		uint32_t slot = resource->users.items[i].slot;
		struct flow *flow = slot != NO_FLOW ? fabric->flows.items[slot] : NULL;
		if (flow && flow->limit == from && fabric_rate(fabric, flow) > above * flow->weight)
			move(fabric, flow, index);
	}
}

static void own_most_find(const struct fabric *fabric, struct resource *resource)
{
	resource->own_most = 0;
	for (size_t i = 0; i < resource->users.count; i++) {
		uint32_t slot = resource->users.items[i].slot;
		const struct flow *flow = slot != NO_FLOW ? fabric->flows.items[slot] : NULL;
		if (flow && flow->limit == LIMIT_OWN)
			resource->own_most = fmax(resource->own_most, flow->rate / flow->weight);
	}
}

/* Moves flows with a higher level, which other pools or caps give them, into the pool. Returns true
 * if there are any. */
static bool absorb(struct fabric *fabric, int index, double level)
{
	struct resource *resource = &fabric->resources.items[index];
	double above = level > 0 ? level * (1 + tie_ratio) : 0, most = above;
	int from = LIMIT_ALONE;
	for (size_t i = 0; i < resource->columns.count; i++) {
		int other = resource->columns.items[i].other;
		double there = fabric->resources.items[other].level;
		if (there <= most)
			continue;
		most = there;
		from = other;
	}
	if (resource->own_count > 0 && resource->own_most > most) {
		own_most_find(fabric, resource);
		if (resource->own_most > most) {
			most = resource->own_most;
			from = LIMIT_OWN;
		}
	}
	if (from == LIMIT_ALONE)
		return false;
	if (resource->limit_count == 0)
		resource->level = most;
	move_in(fabric, index, from, from == LIMIT_OWN ? most * (1 - tie_ratio) : 0);
	return true;
}

/* Moves flows out of the pool that their caps or another full resource keep below the level.
 * Returns true if there are any. */
static bool release(struct fabric *fabric, int index, double level)
{
	struct resource *resource = &fabric->resources.items[index];
	double least = level * (1 - tie_ratio);
	int to = LIMIT_ALONE;
	for (size_t i = 0; i < resource->rows.count; i++) {
		int other = resource->rows.items[i].other;
		double there = fabric->resources.items[other].level;
		if (there >= least)
			continue;
		least = there;
		to = other;
	}
	bool caps = resource->cap_least < least;
	if (to == LIMIT_ALONE && !caps)
		return false;
	double cap_least = INFINITY;
	fabric->moving.count = 0;
	for (size_t i = 0; i < resource->flows.heap.count; i++) {
		uint32_t slot = resource->flows.heap.items[i].item;
		const struct flow *flow = fabric->flows.items[slot];
		double most = flow->cap / flow->weight;
		if (caps ? most < least : fabric_uses(flow, to))
			*VEC_PUSH(fabric->arena, &fabric->moving) = slot;
		else
			cap_least = fmin(cap_least, most);
	}
	resource->cap_least = cap_least;
	for (size_t i = 0; i < fabric->moving.count; i++)
		move(fabric, fabric->flows.items[fabric->moving.items[i]], caps ? LIMIT_OWN : to);
	return true;
}

static void level_set(struct fabric *fabric, int index, double level)
{
	struct resource *resource = &fabric->resources.items[index];
	double rise = level - resource->level;
	if (fabs(rise) <= noise_ratio * level)
		return;
	fabric_pool_tick(fabric, resource);
	fabric_pool_touch(fabric, index);
	resource->level = level;
	resource->load = resource->capacity;
	for (size_t i = 0; i < resource->rows.count; i++) {
		struct pool_pair_ref ref = resource->rows.items[i];
		fabric->resources.items[ref.other].load +=
			fabric->pairs.items[ref.pair].demand * rise;
		fabric_mark(fabric, ref.other);
	}
}

/* Finds the level of the resource's pool, and which flows belong to it. Stops if no steps are left.
 */
static void settle(struct fabric *fabric, int index, size_t *steps_left)
{
	struct resource *resource = &fabric->resources.items[index];
	double level;
	do {
		if (*steps_left == 0)
			return;
		--*steps_left;
		double others = resource->own_load;
		for (size_t i = 0; i < resource->columns.count; i++) {
			struct pool_pair_ref ref = resource->columns.items[i];
			others += fabric->pairs.items[ref.pair].demand *
				  fabric->resources.items[ref.other].level;
		}
		level = -INFINITY;
		if (resource->limit_count > 0)
			level = (resource->capacity - others) / resource->demand;
		resource->load = others;
		if (resource->limit_count == 0 && others <= resource->capacity * (1 + tie_ratio))
			return;
		resource->load +=
			resource->demand * (resource->limit_count > 0 ? resource->level : 0);
	} while (absorb(fabric, index, level) || release(fabric, index, level));
	level_set(fabric, index, level);
}

/* Chooses a first limit for a flow; settling then corrects it. */
static void place(struct fabric *fabric, struct flow *flow)
{
	double least = flow->cap / flow->weight;
	int limit = LIMIT_OWN;
	for (uint64_t left = flow->solved_uses; left;) {
		const struct use *use = fabric_use_take(flow, &left);
		const struct resource *resource = &fabric->resources.items[use->resource];
		double level = resource->level, demand = use->per_unit * flow->weight;
		if (resource->limit_count == 0)
			level = fmax(resource->capacity - resource->load,
				     resource->capacity / resource->flow_count) /
				demand;
		if (level >= least)
			continue;
		least = level;
		limit = use->resource;
	}
	if (limit != LIMIT_OWN)
		fabric->resources.items[limit].level = least;
	if (limit != LIMIT_OWN || flow->rate != flow->cap)
		fabric_pool_leave(fabric, flow);
	fabric_pool_join(fabric, flow, limit);
}

void fabric_flow_place_again(struct fabric *fabric, struct flow *flow)
{
	if (flow->limit == LIMIT_ALONE) {
		fabric_flow_settle_alone(fabric, flow);
		return;
	}
	fabric_pool_leave(fabric, flow);
	place(fabric, flow);
}

static bool meets_nobody(const struct fabric *fabric, const struct flow *flow)
{
	uint32_t alone = 0;
	while (alone < flow->use_count &&
	       fabric->resources.items[flow->uses[alone].resource].flow_count == 1)
		alone++;
	return alone == flow->use_count;
}

void fabric_solve(struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->joining.count; i++) {
		struct flow *flow = fabric->flows.items[fabric->joining.items[i]];
		if (!flow->active || flow->limit != LIMIT_ALONE)
			continue;
		if (meets_nobody(fabric, flow))
			fabric_flow_settle_alone(fabric, flow);
		else
			place(fabric, flow);
	}
	fabric->joining.count = 0;
	size_t steps_left = fabric->steps_most * (fabric->resources.count + fabric->active_count);
	while (fabric->due.heap.count > 0 && steps_left > 0) {
		struct ranked first = fabric_rank_first(fabric, &fabric->due);
		int index = (int)first.item;
		struct resource *resource = &fabric->resources.items[index];
		if (!resource->due)
			continue;
		resource->due = false;
		if (resource->flow_count > 0)
			settle(fabric, index, &steps_left);
	}
	if (steps_left == 0)
		fabric_refill(fabric);
	/* Ends of one time run in the order in which their flows started. */
	for (size_t i = 0; i < fabric->touched.count; i++) {
		int index = fabric->touched.items[i];
		const struct ranking *flows = &fabric->resources.items[index].flows;
		uint64_t order = flows->heap.count > 0
					 ? fabric->flows.items[flows->heap.items[0].item]->order
					 : 0;
		fabric_rank(fabric, &fabric->due, (double)order, (uint32_t)index);
	}
	fabric->touched.count = 0;
	while (fabric->due.heap.count > 0)
		fabric_pool_end_set(fabric, (int)fabric_rank_first(fabric, &fabric->due).item);
}

void fabric_settle(struct fabric *fabric)
{
	bool pauses = fabric->has_pauses && fabric_is_due(fabric);
	fabric_solve(fabric);
	if (pauses)
		fabric_pause(fabric);
}
