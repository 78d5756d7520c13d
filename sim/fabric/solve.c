/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How far a change reaches.
 *
 * In a max-min solution each flow is held down by its own bound or by one full
 * resource, its LIMIT, on which no flow has a higher level (rate over weight). If
 * this holds for every flow, the rates are the solution: there is only one. So
 * after a change it is enough to find new rates near it and to look at the border.
 *
 * The resources that changed are OPEN: all their flows are free, and get new rates
 * by filling (fill.c). A free flow whose limit is not open is bounded by its present
 * rate. A free flow whose limit is open will move, so what else it fills is opened at
 * once. Then the border, the other resources of flows whose rate is another now:
 * one that limits somebody is no longer sure to be full, or to be fair; one that
 * limits nobody may have become too full. Those are opened as well, and all is
 * filled again, until nothing is left to open. What was not reached has kept its
 * limits, and these their flows and rates.
 *
 * A resource that carries one flow alone is a bound of that flow and joins nothing.
 */
#include "sim/base/arena.h"
#include "sim/fabric/state.h"

static const double near_full_ratio = 1e-9; /* of its capacity left: opened to be sure */

static void open_resource(struct fabric *fabric, int index)
{
	struct resource *resource = &fabric->resources.items[index];
	resource->dirty = false;
	if (resource->epoch == fabric->epoch)
		return;
	resource->epoch = fabric->epoch;
	*VEC_PUSH(fabric->arena, &fabric->open) = index;
}

/* A free flow opens what is dirty of its resources; if its limit is open, so that its
 * rate will hardly stay, also what is full. */
static void open_for(struct fabric *fabric, const struct flow *flow, bool moves)
{
	for (size_t u = 0; u < flow->use_count; u++) {
		int index = flow->uses[u].resource;
		const struct resource *resource = &fabric->resources.items[index];
		if (resource->dirty ||
		    (moves && resource->limit_count > 0 && resource->flow_count > 1))
			open_resource(fabric, index);
	}
}

/* The flows of the open resources from number `from` on are free. */
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

/* With the rates just found. */
static bool is_overloaded(const struct fabric *fabric, const struct resource *resource)
{
	double load = 0;
	for (size_t i = 0; i < resource->users.count; i++) {
		const struct user *user = &resource->users.items[i];
		if (user->slot == NO_FLOW)
			continue;
		const struct share *share = &fabric->shares.items[user->slot];
		load += user->per_unit *
			(share->epoch == fabric->epoch ? share->solved : share->rate);
	}
	return load > resource->capacity * (1 - near_full_ratio);
}

static void open_border(struct fabric *fabric)
{
	fabric->round++;
	for (size_t i = 0; i < fabric->changed.count; i++) {
		uint32_t slot = fabric->changed.items[i].slot;
		const struct flow *flow = fabric->flows.items[slot];
		const struct share *share = &fabric->shares.items[slot];
		bool rises = share->solved > share->rate;
		for (size_t u = 0; u < flow->use_count; u++) {
			int index = flow->uses[u].resource;
			struct resource *resource = &fabric->resources.items[index];
			if (resource->epoch == fabric->epoch || resource->flow_count == 1 ||
			    resource->round == fabric->round)
				continue;
			if (resource->limit_count == 0) {
				if (!rises)
					continue;
				resource->round = fabric->round;
				if (!is_overloaded(fabric, resource))
					continue;
			}
			open_resource(fabric, index);
		}
	}
}

/* By order of starting: a byte of it at a time, the lowest first. Few are sorted
 * where they are. */
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
	open_resource(fabric, start);
	for (size_t opened = 0; opened < fabric->open.count;) {
		free_flows(fabric, opened);
		opened = fabric->open.count;
		fabric_fill(fabric);
		open_border(fabric);
	}
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

/* Most changes leave a flow that meets nobody any more, or a bundle. */
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

void fabric_settle(struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->dirty.count; i++) {
		int index = fabric->dirty.items[i];
		struct resource *resource = &fabric->resources.items[index];
		if (resource->dirty && !settle_simple(fabric, resource))
			solve_from(fabric, index);
	}
	fabric->dirty.count = 0;
}
