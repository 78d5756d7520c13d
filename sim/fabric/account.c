/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the invariants of a run: see fabric_account. A failure names the flow and the resource. */
#include <float.h>

#include "sim/fabric/state.h"

static const char *name_of(const struct fabric *fabric, int resource)
{
	return names_at(fabric->resource_names, (size_t)resource);
}

static double allowed(double amount)
{
	return amount * (1 + account_slack_ratio);
}

static void flow_fails(const struct fabric *fabric, const struct flow *flow, double moved,
		       const char *what, const char *resource, double most)
{
	int64_t now_ps = engine_now_ps(fabric->engine);
	engine_fail(fabric->engine,
		    "flow %llu, which started %.12f s ago, has moved %.17g of %.17g units: %s%s%s "
		    "(%.17g)",
		    (unsigned long long)flow->order, s_from_ps(now_ps - flow->started_ps), moved,
		    flow->size, what, resource ? " " : "", resource ? resource : "", most);
}

double fabric_flow_could(const struct fabric *fabric, const struct flow *flow)
{
	return flow->size - fabric_flow_left(fabric, flow) +
	       fabric_rate(fabric, flow) * fabric_account_s(0);
}

void fabric_flow_check(const struct fabric *fabric, const struct flow *flow, double moved)
{
	int64_t now_ps = engine_now_ps(fabric->engine);
	double life_s = fabric_account_s(now_ps - flow->started_ps);
	double could = fabric_flow_could(fabric, flow);
	double least = moved * (1 - account_slack_ratio);
	if (fabric_rate(fabric, flow) > allowed(flow->cap))
		flow_fails(fabric, flow, moved, "its rate is above its cap", NULL,
			   fabric_rate(fabric, flow));
	if (least > could)
		flow_fails(fabric, flow, moved, "this is more than its rates allow", NULL, could);
	for (size_t i = 0; i < flow->use_count; i++) {
		const struct use *use = &flow->uses[i];
		const struct resource *resource = &fabric->resources.items[use->resource];
		double most = resource->capacity_most * life_s;
		if (use->per_unit * least > most)
			flow_fails(fabric, flow, moved, "this is more than it could move alone on",
				   name_of(fabric, use->resource), most / use->per_unit);
	}
}

void fabric_delivered(struct fabric *fabric, const struct route *route, double size_B,
		      const double *copies)
{
	for (size_t i = 0; i < route->count; i++) {
		struct hop hop = route->hops[i];
		int resource = fabric_link_resource(fabric, hop.link, hop.direction);
		fabric->resources.items[resource].delivered +=
			copies ? size_B / copies[resource] : size_B;
	}
}

/* Returns the possible rounding error of what the resource has carried: the rest of a flow of 10^15
 * bytes is known to a tenth of a byte. */
static double carried_rounding(const struct fabric *fabric, const struct resource *resource)
{
	double carried = resource->carried;
	for (size_t i = 0; i < resource->users.count; i++) {
		const struct user *user = &resource->users.items[i];
		if (user->slot != NO_FLOW)
			carried += user->per_unit * fabric->flows.items[user->slot]->size;
	}
	return 4 * DBL_EPSILON * carried;
}

static void account_resource(struct fabric *fabric, int index)
{
	const struct resource *resource = &fabric->resources.items[index];
	int64_t now_ps = engine_now_ps(fabric->engine);
	int64_t busy_ps = fabric_busy_ps(fabric, resource);
	double carried = fabric_carried(fabric, index);
	size_t user_count = 0;
	double could = allowed(resource->capacity_most * s_from_ps(busy_ps + account_slack_ps));
	if (carried > could + carried_rounding(fabric, resource))
		engine_fail(fabric->engine,
			    "'%s' with %.17g units per second has carried %.17g in %.12f s of use",
			    name_of(fabric, index), resource->capacity_most, carried,
			    s_from_ps(busy_ps));
	if (busy_ps < 0 || busy_ps > now_ps)
		engine_fail(fabric->engine, "'%s' was in use for %.12f s of %.12f s",
			    name_of(fabric, index), s_from_ps(busy_ps), s_from_ps(now_ps));
	if (resource->delivered > allowed(carried))
		engine_fail(fabric->engine,
			    "'%s' has carried %.17g bytes, but %.17g bytes were delivered over it",
			    name_of(fabric, index), carried, resource->delivered);
	for (size_t i = 0; i < resource->users.count; i++)
		user_count += resource->users.items[i].slot != NO_FLOW;
	if (user_count != resource->flow_count)
		engine_fail(fabric->engine, "'%s' has %zu flows, but counts %zu",
			    name_of(fabric, index), user_count, (size_t)resource->flow_count);
}

/* Returns true if the flow or its pool has an event. */
static bool will_end(const struct fabric *fabric, const struct flow *flow)
{
	return flow->limit >= 0 ? fabric->resources.items[flow->limit].end.serial != 0
				: flow->end.serial != 0;
}

void fabric_account(struct fabric *fabric)
{
	size_t active_count = 0;
	for (size_t i = 0; i < fabric->resources.count; i++)
		account_resource(fabric, (int)i);
	for (size_t slot = 0; slot < fabric->flows.count; slot++) {
		const struct flow *flow = fabric->flows.items[slot];
		if (!flow->active)
			continue;
		active_count++;
		if (!will_end(fabric, flow) && !fabric->solve_due)
			flow_fails(fabric, flow, flow->size - flow->remaining, "it will never end",
				   NULL, 0);
	}
	if (active_count != fabric->active_count ||
	    fabric->flows_started != fabric->flows_over + active_count)
		engine_fail(fabric->engine, "of %llu flows, %llu have ended and %zu are active",
			    (unsigned long long)fabric->flows_started,
			    (unsigned long long)fabric->flows_over, active_count);
}

const char *fabric_unfinished(const struct fabric *fabric, struct arena *arena)
{
	const struct flow *flow = NULL;
	const char *text = "";
	for (size_t slot = 0; slot < fabric->flows.count; slot++) {
		const struct flow *other = fabric->flows.items[slot];
		if (other->active && (!flow || other->order < flow->order))
			flow = other;
	}
	if (!flow)
		return NULL;
	for (size_t i = 0; i < flow->use_count; i++)
		text = arena_printf(arena, "%s%s'%s'", text, i > 0 ? ", " : " over ",
				    name_of(fabric, flow->uses[i].resource));
	return arena_printf(arena, "%zu flow%s, the first of %.6g units%s", fabric->active_count,
			    fabric->active_count == 1 ? "" : "s", flow->size, text);
}
