/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows that end before anything else happens: the short messages of programs that wait for each
 * other. No other code can share with such a flow, cancel it or query it. So it needs no slot and
 * no event, and only updates the accounts as an ordinary flow would. */
#include <math.h>

#include "sim/base/diag.h"
#include "sim/fabric/state.h"

static bool meets_nobody(const struct fabric *fabric, const struct flow_spec *spec)
{
	const struct resource *resources = fabric->resources.items;
	const struct flow_use *use = spec->uses, *end = use + spec->use_count;
	for (; use < end; use++)
		if (resources[use->resource].flow_count > 0)
			return false;
	return true;
}

static int64_t alone_ps(const struct fabric *fabric, const struct flow_spec *spec)
{
	double rate = spec->cap > 0 ? spec->cap : INFINITY;
	for (size_t i = 0; i < spec->use_count; i++) {
		const struct flow_use *use = &spec->uses[i];
		double most = fabric->resources.items[use->resource].capacity / use->per_unit;
		rate = most < rate ? most : rate;
	}
	FW_ASSERT(spec->size > 0 && rate > 0 && isfinite(rate));
	return fabric_duration_ps(spec->size, rate);
}

bool fabric_flow_pass(struct fabric *fabric, struct flow_spec *spec)
{
	if (!meets_nobody(fabric, spec))
		return false;
	if (spec->alone_changes != fabric->capacity_changes) {
		spec->alone_ps = alone_ps(fabric, spec);
		spec->alone_changes = fabric->capacity_changes;
	}
	int64_t now_ps = engine_now_ps(fabric->engine);
	if (spec->alone_ps > INT64_MAX - now_ps ||
	    !engine_pass(fabric->engine, now_ps + spec->alone_ps))
		return false;
	fabric->flows_started++;
	fabric->flows_over++;
	struct resource *resources = fabric->resources.items;
	const struct flow_use *use = spec->uses, *end = use + spec->use_count;
	for (; use < end; use++) {
		resources[use->resource].carried += use->per_unit * spec->size;
		resources[use->resource].busy_ps += spec->alone_ps;
	}
	return true;
}
