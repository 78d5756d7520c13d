/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Solves all rates anew by plain progressive filling, for a solve that takes too long.
 *
 * Rounding can let the repairs of solve.c move a flow to and fro between resources whose levels are
 * equal up to rounding. Here each step gives at least one flow its final limit, so it always ends.
 */
#include "sim/fabric/state.h"

/* Sums what flows without a limit demand of each resource. Returns the resource that is full at the
 * lowest level, or -1 if no flow is left. */
static int lowest_find(struct fabric *fabric, double *lowest)
{
	int index = -1;
	for (size_t i = 0; i < fabric->resources.count; i++)
		fabric->resources.items[i].waiting = 0;
	for (size_t i = 0; i < fabric->moving.count; i++) {
		struct flow *flow = fabric->flows.items[fabric->moving.items[i]];
		for (uint64_t left = flow->limit == LIMIT_ALONE ? flow->solved_uses : 0; left;) {
			const struct use *use = fabric_use_take(flow, &left);
			fabric->resources.items[use->resource].waiting +=
				use->per_unit * flow->weight;
		}
	}
	*lowest = INFINITY;
	for (size_t i = 0; i < fabric->resources.count; i++) {
		const struct resource *resource = &fabric->resources.items[i];
		double level = (resource->capacity - resource->load) / resource->waiting;
		if (resource->waiting <= 0 || level >= *lowest)
			continue;
		*lowest = level;
		index = (int)i;
	}
	return index;
}

/* Gives flows without a limit that use the resource, or have a lower cap (index -1), their limit.
 * Returns true if there are any. */
static bool place_all(struct fabric *fabric, int index, double level)
{
	bool any = false;
	for (size_t i = 0; i < fabric->moving.count; i++) {
		struct flow *flow = fabric->flows.items[fabric->moving.items[i]];
		if (flow->limit != LIMIT_ALONE ||
		    (index < 0 ? flow->cap > flow->weight * level : !fabric_uses(flow, index)))
			continue;
		if (index >= 0)
			fabric->resources.items[index].level = level;
		fabric_pool_join(fabric, flow, index < 0 ? LIMIT_OWN : index);
		any = true;
	}
	return any;
}

void fabric_refill(struct fabric *fabric)
{
	fabric->moving.count = 0;
	for (uint32_t slot = 0; slot < fabric->flows.count; slot++) {
		struct flow *flow = fabric->flows.items[slot];
		if (!flow->active || flow->limit == LIMIT_ALONE)
			continue;
		fabric_pool_leave(fabric, flow);
		*VEC_PUSH(fabric->arena, &fabric->moving) = slot;
	}
	for (size_t i = 0; i < fabric->resources.count; i++) {
		struct resource *resource = &fabric->resources.items[i];
		resource->load = resource->own_load = resource->own_most = 0;
	}
	double level = 0, lowest;
	for (int index; (index = lowest_find(fabric, &lowest)) >= 0;) {
		level = fmax(level, lowest); /* rounding could lower it */
		if (!place_all(fabric, -1, level))
			place_all(fabric, index, level);
	}
	for (size_t i = 0; i < fabric->due.heap.count; i++)
		fabric->resources.items[fabric->due.heap.items[i].item].due = false;
	fabric->due.heap.count = 0;
}
