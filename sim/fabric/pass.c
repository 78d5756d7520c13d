/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flows that are over before anything else happens: the short messages of programs that
 * wait for each other. Nobody can meet such a flow, cancel it or look at it, so it needs
 * no place among the flows and no event, and leaves in the accounts what it would have
 * left as one of them. */
#include <math.h>

#include "sim/base/diag.h"
#include "sim/fabric/state.h"

/* The rate that the flow has alone; 0: it would meet others. */
static double rate_of(const struct fabric *fabric, const struct flow_spec *spec)
{
	double rate = spec->cap > 0 ? spec->cap : INFINITY;
	for (size_t i = 0; i < spec->use_count; i++) {
		const struct flow_use *use = &spec->uses[i];
		const struct resource *resource = &fabric->resources.items[use->resource];
		if (resource->flow_count > 0)
			return 0;
		double most = resource->capacity / use->per_unit;
		rate = most < rate ? most : rate;
	}
	return rate;
}

bool fabric_flow_pass(struct fabric *fabric, const struct flow_spec *spec)
{
	double rate = rate_of(fabric, spec);
	if (rate == 0)
		return false;
	FW_ASSERT(spec->size > 0 && isfinite(rate));
	int64_t start_ps = engine_now_ps(fabric->engine);
	int64_t taken_ps = fabric_duration_ps(spec->size, rate);
	if (taken_ps > INT64_MAX - start_ps || !engine_pass(fabric->engine, start_ps + taken_ps))
		return false;
	fabric->flows_started++;
	fabric->flows_over++;
	for (size_t i = 0; i < spec->use_count; i++) {
		const struct flow_use *use = &spec->uses[i];
		struct resource *resource = &fabric->resources.items[use->resource];
		resource->carried += use->per_unit * spec->size;
		resource->busy_ps += taken_ps;
	}
	return true;
}
