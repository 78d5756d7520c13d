/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds resources that cannot limit any flow, so that the solver leaves them out.
 *
 * A resource is covered if all of its flows also use another one, and each loads that one with a
 * larger part of its capacity. The other one is then full first. An example is the PCIe slot of an
 * adapter with a slower port. Most resources of a message are covered. The check compares places in
 * the lists of uses, because flows over one resource nearly always have the same neighbours there.
 */
#include "sim/fabric/state.h"

/* A covered resource is never full, even with the rounding errors of many changes. */
static const double margin_ratio = 1 - 1e-6;

/* After this number of failures a resource is not examined again. */
enum { FAILURES_MOST = 8 };

/* Returns true if the flow loads its use `step` places further with a larger part. */
static bool is_larger(const struct fabric *fabric, const struct flow_spec *spec, size_t place,
		      int step)
{
	size_t at = place + (size_t)step; /* wraps around if the step leads before the first */
	if (at >= spec->use_count)
		return false;
	const struct flow_use *use = &spec->uses[place], *other = &spec->uses[at];
	return use->per_unit * fabric->resources.items[other->resource].capacity_most <=
	       margin_ratio * other->per_unit * fabric->resources.items[use->resource].capacity;
}

/* Finds the nearest use that covers the one at `place` for the only flow so far. */
static int find_step(const struct fabric *fabric, const struct flow_spec *spec, size_t place)
{
	for (int step = 1; step < (int)spec->use_count; step++) {
		if (is_larger(fabric, spec, place, step))
			return step;
		if (is_larger(fabric, spec, place, -step))
			return -step;
	}
	return 0;
}

void fabric_uncover(struct fabric *fabric, int index)
{
	struct resource *resource = &fabric->resources.items[index];
	if (!resource->covered)
		return;
	resource->covered = false;
	resource->cover_failures++;
	for (size_t i = 0; i < resource->users.count; i++) {
		if (resource->users.items[i].slot == NO_FLOW)
			continue;
		struct flow *flow = fabric->flows.items[resource->users.items[i].slot];
		for (size_t u = 0; u < flow->use_count; u++) {
			if (flow->uses[u].resource != index)
				continue;
			flow->solved_uses |= (uint64_t)1 << u;
			if (flow->limit != LIMIT_ALONE)
				fabric_use_count(fabric, flow, &flow->uses[u], 1);
		}
	}
}

void fabric_uncover_by(struct fabric *fabric, int index)
{
	for (size_t i = 0; i < fabric->resources.count; i++)
		if (fabric->resources.items[i].cover == index)
			fabric_uncover(fabric, (int)i);
}

bool fabric_covers(struct fabric *fabric, const struct flow_spec *spec, size_t place)
{
	int index = spec->uses[place].resource;
	struct resource *resource = &fabric->resources.items[index];
	if (resource->flow_count == 0 && resource->cover_failures < FAILURES_MOST) {
		if (!is_larger(fabric, spec, place, resource->cover_step))
			resource->cover_step = find_step(fabric, spec, place);
		resource->covered = resource->cover_step != 0;
		if (!resource->covered) {
			resource->cover_failures++;
			return false;
		}
		resource->cover = spec->uses[place + (size_t)resource->cover_step].resource;
		return true;
	}
	if (!resource->covered)
		return false;
	if (is_larger(fabric, spec, place, resource->cover_step) &&
	    spec->uses[place + (size_t)resource->cover_step].resource == resource->cover)
		return true;
	fabric_uncover(fabric, index);
	return false;
}
