/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Determines how far a change reaches.
 *
 * In a max-min solution each flow is limited by its own bound or by one full resource, its limit,
 * on which no flow has a higher level (rate over weight). If this holds for every flow, the rates
 * are the unique solution. So after a change it suffices to find new rates near it and to check the
 * border.
 *
 * Resources that changed are opened: all their flows become free and get new rates by filling
 * (fill.c). A free flow whose limit is not open is bounded by its present rate. A free flow whose
 * limit is open will move, so the other resources that it fills are opened at once. Then the border
 * is checked: the other resources of flows with a changed rate. A resource of the border that
 * limits some flow may no longer be full or fair. One that limits none may be overloaded. Both are
 * opened as well, and filling is repeated until nothing is left to open. Resources that were not
 * reached keep their limits, flows and rates.
 *
 * A resource that limits no flow, and on which flows have started, is not opened if it has enough
 * left for them. Only those flows become free. The check of the border opens it if this is wrong.
 *
 * A resource with only one flow is a bound of that flow and connects nothing.
 */
#include "sim/fabric/state.h"

/* opened if less than this part of its capacity is left */
static const double near_full_ratio = 1e-9;
/* Exceeds near_full_ratio and the rounding errors of many changes of `spare`. */
static const double sure_ratio = 1e-6;

static void open_resource(struct fabric *fabric, int index)
{
	struct resource *resource = &fabric->resources.items[index];
	resource->dirty = false;
	if (resource->epoch == fabric->epoch)
		return;
	resource->epoch = fabric->epoch;
	*VEC_PUSH(fabric->arena, &fabric->open) = index;
}

/* Returns true if the resource limits no flow, and starting flows will probably not fill it. */
static bool is_light(const struct resource *resource)
{
	return !resource->whole && resource->limit_count == 0 &&
	       resource->spare * resource->flow_count > resource->capacity;
}

/* A free flow opens its changed resources. If its limit is open, its rate will probably change, so
 * it also opens its full resources. */
static void open_for(struct fabric *fabric, struct flow *flow, bool moves)
{
	for (uint64_t left = flow->solved_uses; left;) {
		int index = fabric_use_take(flow, &left)->resource;
		const struct resource *resource = &fabric->resources.items[index];
		if ((resource->dirty && !is_light(resource)) ||
		    (moves && resource->limit_count > 0 && resource->flow_count > 1))
			open_resource(fabric, index);
	}
}

/* Makes the flows that have started on a light resource free. */
static void free_started(struct fabric *fabric, int index)
{
	struct resource *resource = &fabric->resources.items[index];
	resource->dirty = false;
	for (size_t i = resource->users.count; i-- > 0;) {
		uint32_t slot = resource->users.items[i].slot;
		if (slot == NO_FLOW)
			continue;
		if (fabric->flows.items[slot]->started_ps < engine_now_ps(fabric->engine))
			break;
		if (fabric->shares.items[slot].rate > 0)
			continue;
		fabric->shares.items[slot].epoch = fabric->epoch;
		*VEC_PUSH(fabric->arena, &fabric->free_flows) = slot;
		open_for(fabric, fabric->flows.items[slot], false);
	}
}

/* Makes the flows of the open resources from index `from` on free. */
static void free_flows(struct fabric *fabric, size_t from)
{
	for (size_t i = from; i < fabric->open.count; i++) {
		int index = fabric->open.items[i];
		const struct resource *resource = &fabric->resources.items[index];
		for (size_t j = 0; j < resource->users.count; j++) {
			uint32_t slot = resource->users.items[j].slot;
			if (j + FETCH_AHEAD < resource->users.count &&
			    resource->users.items[j + FETCH_AHEAD].slot != NO_FLOW)
				fabric_fetch(fabric, resource->users.items[j + FETCH_AHEAD].slot);
			if (slot == NO_FLOW)
				continue;
			struct share *share = &fabric->shares.items[slot];
			bool met = share->epoch == fabric->epoch, moves = share->limit == index;
			if (!met) {
				share->epoch = fabric->epoch;
				*VEC_PUSH(fabric->arena, &fabric->free_flows) = slot;
			}
			if (!met || moves)
				open_for(fabric, fabric->flows.items[slot], moves);
		}
	}
}

/* Uses the rates just found. The sum over all flows is needed only if the rise since the last sum
 * could have filled the resource. */
static bool is_overloaded(const struct fabric *fabric, struct resource *resource)
{
	if (resource->spare - resource->rise > sure_ratio * resource->capacity)
		return false;
	double load = 0;
	for (size_t i = 0; i < resource->users.count; i++) {
		const struct user *user = &resource->users.items[i];
		if (user->slot == NO_FLOW)
			continue;
		const struct share *share = &fabric->shares.items[user->slot];
		load += user->per_unit *
			(share->epoch == fabric->epoch ? share->solved : share->rate);
	}
	resource->spare = resource->capacity - load + resource->rise;
	return load > resource->capacity * (1 - near_full_ratio);
}

static void open_border(struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->met.count; i++) {
		int index = fabric->met.items[i];
		struct resource *resource = &fabric->resources.items[index];
		if (resource->limit_count > 0 ||
		    (resource->rises && is_overloaded(fabric, resource)))
			open_resource(fabric, index);
	}
}

/* Keeps what the new rates leave of the resources. */
static void keep_spare(struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->met.count; i++) {
		struct resource *resource = &fabric->resources.items[fabric->met.items[i]];
		resource->spare -= resource->rise;
	}
	for (size_t i = 0; i < fabric->open.count; i++) {
		struct resource *resource = &fabric->resources.items[fabric->open.items[i]];
		resource->spare = resource->left;
	}
}

/* Sorts by order of starting: by radix, lowest byte first; a few items are sorted in place. */
static void sort_changed(struct fabric *fabric)
{
	enum { FEW = 64, DIGITS = 256 };
	struct changed *from = fabric->changed.items;
	size_t count = fabric->changed.count;
	uint64_t differ = 0;
	for (size_t i = 1; i < count && count <= FEW; i++) {
		struct changed one = from[i];
		size_t j = i;
		for (; j > 0 && from[j - 1].order > one.order; j--)
			from[j] = from[j - 1];
		from[j] = one;
	}
	for (size_t i = 0; i < count; i++)
		differ |= from[i].order ^ from[0].order;
	for (unsigned shift = 0; count > FEW && shift < 64 && differ >> shift; shift += 8) {
		size_t starts[DIGITS + 1] = {0};
		if (fabric->sorting.room < fabric->changed.room) {
			fabric->sorting.room = fabric->changed.room;
			fabric->sorting.items =
				ARENA_ARRAY(fabric->arena, fabric->changed.room, struct changed);
		}
		struct changed *to = fabric->sorting.items;
		from = fabric->changed.items;
		for (size_t i = 0; i < count; i++)
			starts[(from[i].order >> shift) % DIGITS + 1]++;
		for (size_t d = 0; d < DIGITS; d++)
			starts[d + 1] += starts[d];
		for (size_t i = 0; i < count; i++)
			to[starts[(from[i].order >> shift) % DIGITS]++] = from[i];
		size_t room = fabric->sorting.room;
		fabric->sorting.items = from;
		fabric->sorting.room = fabric->changed.room;
		fabric->changed.items = to;
		fabric->changed.room = room;
	}
}

static void forget_epochs(struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->shares.count; i++)
		fabric->shares.items[i].epoch = 0;
	for (size_t i = 0; i < fabric->resources.count; i++)
		fabric->resources.items[i].epoch = 0;
	fabric->epoch = 1;
}

static void solve_from(struct fabric *fabric, int start)
{
	if (++fabric->epoch == 0)
		forget_epochs(fabric);
	fabric->free_flows.count = 0;
	fabric->open.count = 0;
	if (is_light(&fabric->resources.items[start]))
		free_started(fabric, start);
	else
		open_resource(fabric, start);
	size_t opened = 0;
	do {
		free_flows(fabric, opened);
		opened = fabric->open.count;
		fabric_fill(fabric);
		open_border(fabric);
	} while (opened < fabric->open.count);
	keep_spare(fabric);
	for (size_t i = 0; i < fabric->free_flows.count; i++) {
		const struct flow *flow = fabric->flows.items[fabric->free_flows.items[i]];
		if (fabric->shares.items[flow->slot].limit != flow->limit_next)
			fabric_flow_limit_set(fabric, flow, flow->limit_next);
	}
	sort_changed(fabric);
	for (size_t i = 0; i < fabric->changed.count; i++) {
		uint32_t slot = fabric->changed.items[i].slot;
		struct flow *flow = fabric->flows.items[slot];
		fabric_flow_rate_set(fabric, flow, fabric->shares.items[slot].solved);
		fabric_flow_end_add(fabric, flow);
	}
}

static bool meets_nobody(const struct fabric *fabric, const struct flow *flow)
{
	size_t alone = 0;
	while (alone < flow->use_count &&
	       fabric->resources.items[flow->uses[alone].resource].flow_count == 1)
		alone++;
	return alone == flow->use_count;
}

/* Most changes leave a flow that shares nothing, or a bundle. */
static bool settle_simple(struct fabric *fabric, struct resource *resource)
{
	if (resource->flow_count == 0) {
		resource->dirty = false;
		return true;
	}
	uint32_t slot = resource->users.items[resource->users.count - 1].slot;
	struct flow *flow = fabric->flows.items[slot];
	if (resource->flow_count == 1 && meets_nobody(fabric, flow))
		fabric_flow_settle_alone(fabric, flow);
	else if (!fabric_bundle_settle(fabric, flow))
		return false;
	resource->dirty = false;
	return true;
}

void fabric_solve(struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->dirty.count; i++) {
		int index = fabric->dirty.items[i];
		struct resource *resource = &fabric->resources.items[index];
		if (resource->dirty && !settle_simple(fabric, resource))
			solve_from(fabric, index);
	}
	fabric->dirty.count = 0;
}

void fabric_settle(struct fabric *fabric)
{
	bool pauses = fabric->has_pauses && fabric->dirty.count > 0;
	fabric_solve(fabric);
	if (pauses)
		fabric_pause(fabric);
}
