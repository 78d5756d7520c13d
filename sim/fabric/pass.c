/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows that end before anything else happens: the short messages of programs that wait for each
 * other. No other code can share with such a flow, cancel it or query it. So it needs no slot and
 * no event, and only updates the accounts as an ordinary flow would. */
#include "sim/fabric/state.h"

double fabric_flow_alone(const struct fabric *fabric, const struct flow_spec *spec)
{
	double rate = spec->cap > 0 ? spec->cap : INFINITY;
	struct flow_spec divided;
	if (fabric->has_cables) {
		divided = *spec;
		fabric_cables_choose(fabric, &divided);
		spec = &divided;
	}
	for (size_t i = 0; i < spec->use_count; i++) {
		const struct flow_use *use = &spec->uses[i];
		rate = fmin(rate, fabric_capacity(fabric, use->resource) / use->per_unit);
	}
	return rate;
}

bool fabric_flow_pass(struct fabric *fabric, struct flow_spec *spec)
{
	if (fabric->has_cables)
		return false;
	for (size_t i = 0; i < spec->use_count; i++)
		if (fabric->resources.items[spec->uses[i].resource].flow_count > 0)
			return false;
	if (spec->alone_changes != fabric->capacity_changes) {
		double rate = fabric_flow_alone(fabric, spec);
		FW_ASSERT(spec->size > 0 && rate > 0 && isfinite(rate));
		spec->alone_ps = fabric_duration_ps(spec->size, rate);
		spec->alone_rate = rate;
		spec->alone_changes = fabric->capacity_changes;
	}
	int64_t now_ps = engine_now_ps(fabric->engine);
	if (spec->alone_ps > INT64_MAX - now_ps ||
	    !engine_pass(fabric->engine, now_ps + spec->alone_ps))
		return false;
	fabric->flows_started++;
	fabric->flows_over++;
	for (size_t i = 0; i < spec->use_count; i++) {
		const struct flow_use *use = &spec->uses[i];
		struct resource *resource = &fabric->resources.items[use->resource];
		resource->carried += use->per_unit * spec->size;
		resource->busy_ps += spec->alone_ps;
	}
	return true;
}
