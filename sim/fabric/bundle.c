/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Solves the simplest changes: a flow that shares nothing, and flows that all share the same
 * resources.
 *
 * Most flows that share at all belong to a bundle: they have the same shared resources, and no
 * other flow uses these. Examples are messages between two hosts, clients of one GPU, and senders
 * to one host. The other resources of such a flow are not shared and are only bounds. A bundle is a
 * component of its own, so a change in it affects nothing else. Its rates need none of the general
 * solver's sets and heaps: sum each shared resource; the lowest level (see fill.c) fixes the flows
 * whose bound is below it; sum the rest again, until all flows are fixed.
 *
 * A full resource limits several flows. Only those of them that end first have an event. Their end
 * changes the rates, and so the ends, of the others. If a flow keeps its rate nevertheless, because
 * a new flow takes the place of the ended one, it gets its event then.
 *
 * The sums run over the flows in the order of starting, as in fill.c, so both give the same
 * numbers.
 */
#include <float.h>

#include "sim/fabric/state.h"

static const int64_t delay_max_ps = (int64_t)1 << 62;

struct flow_bundle {
	int shared[FLOW_USES_MAX]; /* resources */
	size_t shared_count;
	/* for each shared resource, as in fill.c */
	double left[FLOW_USES_MAX], demand[FLOW_USES_MAX];
	struct flow *flows[BUNDLE_MOST]; /* in the order of starting */
	size_t flow_count;
	double bound[BUNDLE_MOST];
	double rate[BUNDLE_MOST]; /* 0: not found yet */
	size_t waiting;           /* flows without a rate */
	bool bounded;             /* some flow has a bound */
	double level;
	int full; /* the resource that is full at that level */
};

/* ---- rate and end ---- */

int64_t fabric_duration_ps(double size, double rate)
{
	double ps = size / rate * (double)PS_PER_S;
	ps -= ps * 8 * DBL_EPSILON;
	if (ps > (double)delay_max_ps)
		return delay_max_ps;
	int64_t whole = (int64_t)ps; /* ceil(ps) without the call */
	whole += (double)whole < ps;
	return whole < 1 ? 1 : whole;
}

void fabric_flow_rate_set(struct fabric *fabric, struct flow *flow, double rate)
{
	int64_t now_ps = engine_now_ps(fabric->engine);
	FW_ASSERT(rate > 0 && rate < INFINITY);
	if (rate > flow->cap)
		fabric_rate_check(fabric, flow, rate);
	if (flow->updated_ps != now_ps) {
		flow->remaining = fabric_flow_remaining(fabric, flow);
		flow->updated_ps = now_ps;
	}
	fabric->shares.items[flow->slot].rate = rate;
	int64_t delay_ps = flow->remaining > 0 ? fabric_duration_ps(flow->remaining, rate) : 0;
	int64_t end_ps = delay_ps < INT64_MAX - now_ps ? now_ps + delay_ps : INT64_MAX;
	if (flow->end.serial != 0 && flow->end_ps != end_ps) {
		engine_cancel(fabric->engine, flow->end);
		flow->end.serial = 0;
	}
	flow->end_ps = end_ps;
}

void fabric_flow_end_add(struct fabric *fabric, struct flow *flow)
{
	if (flow->end.serial == 0)
		flow->end = engine_at(fabric->engine, flow->end_ps, fabric_flow_ended, flow,
				      (uintptr_t)fabric);
}

/* ---- a flow that shares nothing ---- */

void fabric_flow_settle_alone(struct fabric *fabric, struct flow *flow)
{
	double rate = flow->cap, before = fabric->shares.items[flow->slot].rate;
	double capacity = 0, per_unit = 0;
	for (size_t i = 0; i < flow->use_count; i++) {
		const struct use *use = &flow->uses[i];
		struct resource *resource = &fabric->resources.items[use->resource];
		resource->dirty = false;
		if (resource->capacity == capacity && use->per_unit == per_unit)
			continue; /* same values as those of the previous resource */
		capacity = resource->capacity;
		per_unit = use->per_unit;
		double most = capacity / per_unit;
		rate = most < rate ? most : rate;
	}
	fabric_flow_limit_set(fabric, flow, LIMIT_OWN);
	if (fabs(rate - before) > rate_noise_ratio * before)
		fabric_flow_rate_set(fabric, flow, rate);
	fabric_flow_end_add(fabric, flow);
}

/* ---- a bundle ---- */

/* Adds the flow; resources that it does not share bound it. Returns false if its shared resources
 * differ from those of the bundle, or are in another order. */
static bool join(const struct fabric *fabric, struct flow_bundle *bundle, struct flow *flow)
{
	double bound = flow->cap, weight = fabric->shares.items[flow->slot].weight;
	size_t shared = 0;
	for (uint64_t left = flow->solved_uses; left;) {
		const struct use *use = fabric_use_take(flow, &left);
		if (shared < bundle->shared_count && bundle->shared[shared] == use->resource) {
			bundle->demand[shared++] += use->per_unit * weight;
			continue;
		}
		const struct resource *resource = &fabric->resources.items[use->resource];
		if (resource->flow_count > 1)
			return false;
		double most = resource->capacity / use->per_unit;
		bound = most < bound ? most : bound;
	}
	bundle->bound[bundle->flow_count] = bound;
	bundle->bounded = bundle->bounded || bound < INFINITY;
	bundle->rate[bundle->flow_count] = 0;
	bundle->flows[bundle->flow_count++] = flow;
	return shared == bundle->shared_count;
}

/* Collects the bundle of a flow that shares resources. Returns false if it has none, or a large
 * one. */
static bool gather(const struct fabric *fabric, struct flow_bundle *bundle, struct flow *flow)
{
	const struct resource *first = NULL;
	bundle->shared_count = bundle->flow_count = 0;
	for (uint64_t left = flow->solved_uses; left;) {
		int index = fabric_use_take(flow, &left)->resource;
		const struct resource *resource = &fabric->resources.items[index];
		if (resource->flow_count == 1)
			continue;
		if (!first)
			first = resource;
		if (resource->flow_count != first->flow_count || resource->flow_count > BUNDLE_MOST)
			return false;
		bundle->left[bundle->shared_count] = resource->capacity;
		bundle->demand[bundle->shared_count] = 0;
		bundle->shared[bundle->shared_count++] = index;
	}
	bundle->bounded = false;
	FW_ASSERT(first);
	for (size_t i = 0; i < first->users.count; i++) {
		uint32_t slot = first->users.items[i].slot;
		if (slot != NO_FLOW && !join(fabric, bundle, fabric->flows.items[slot]))
			return false;
	}
	bundle->waiting = bundle->flow_count;
	return true;
}

/* Raises the level to the lowest one of the shared resources. A level never decreases, although
 * rounding could give a lower value. */
static void raise_level(struct flow_bundle *bundle)
{
	double least = bundle->left[0] / bundle->demand[0];
	bundle->full = bundle->shared[0];
	for (size_t s = 1; s < bundle->shared_count; s++) {
		double level = bundle->left[s] / bundle->demand[s];
		if (level < least) {
			least = level;
			bundle->full = bundle->shared[s];
		}
	}
	bundle->level = least > bundle->level ? least : bundle->level;
}

/* Sums again what the fixed flows leave and what the others demand. */
static void sum_again(const struct fabric *fabric, struct flow_bundle *bundle)
{
	for (size_t s = 0; s < bundle->shared_count; s++) {
		const struct resource *resource = &fabric->resources.items[bundle->shared[s]];
		const struct user *user = resource->users.items;
		double left = resource->capacity, demand = 0;
		for (size_t i = 0; i < bundle->flow_count; i++, user++) {
			while (user->slot == NO_FLOW)
				user++;
			if (bundle->rate[i] > 0)
				left -= user->per_unit * bundle->rate[i];
			else
				demand += user->per_unit * fabric->shares.items[user->slot].weight;
		}
		bundle->left[s] = left;
		bundle->demand[s] = demand;
	}
}

/* Fixes the flows whose bound is below the level. */
static size_t fix_bounded(const struct fabric *fabric, struct flow_bundle *bundle)
{
	size_t before = bundle->waiting;
	for (size_t i = 0; i < bundle->flow_count; i++) {
		double weight = fabric->shares.items[bundle->flows[i]->slot].weight;
		if (bundle->rate[i] > 0 || bundle->bound[i] > weight * bundle->level)
			continue;
		bundle->rate[i] = bundle->bound[i];
		bundle->waiting--;
	}
	return before - bundle->waiting;
}

static void set_rates(struct fabric *fabric, const struct flow_bundle *bundle)
{
	int64_t first_ps = INT64_MAX;
	for (size_t i = 0; i < bundle->flow_count; i++) {
		struct flow *flow = bundle->flows[i];
		const struct share *share = &fabric->shares.items[flow->slot];
		double rate = bundle->rate[i];
		int limit = LIMIT_OWN;
		if (rate == 0) {
			rate = share->weight * bundle->level;
			limit = bundle->full;
		}
		if (limit != share->limit)
			fabric_flow_limit_set(fabric, flow, limit);
		if (fabs(rate - share->rate) > rate_noise_ratio * share->rate)
			fabric_flow_rate_set(fabric, flow, rate);
		if (flow->end_ps < first_ps)
			first_ps = flow->end_ps;
	}
	for (size_t i = 0; i < bundle->flow_count; i++) {
		struct flow *flow = bundle->flows[i];
		if (flow->end_ps == first_ps || bundle->rate[i] > 0)
			fabric_flow_end_add(fabric, flow);
	}
}

bool fabric_bundle_settle(struct fabric *fabric, struct flow *flow)
{
	struct flow_bundle bundle;
	if (!gather(fabric, &bundle, flow))
		return false;
	bundle.level = 0;
	raise_level(&bundle);
	while (bundle.bounded && fix_bounded(fabric, &bundle) > 0 && bundle.waiting > 0) {
		sum_again(fabric, &bundle);
		raise_level(&bundle);
	}
	for (size_t s = 0; s < bundle.shared_count; s++) {
		struct resource *resource = &fabric->resources.items[bundle.shared[s]];
		resource->dirty = false;
		resource->spare = 0;
	}
	set_rates(fabric, &bundle);
	return true;
}
