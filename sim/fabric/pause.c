/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Priority flow control (PFC) without congestion control, as a fluid.
 *
 * A flow is blocked at a full port that it shares. The queue in front of that port pauses the port
 * upstream, which then sends the packets of all its flows only as fast as those of the blocked one:
 * they wait in one queue. So each flow on a port upstream gets at most the level (rate over
 * weight) of the blocked flow. It is then blocked there itself, and pauses the ports further
 * upstream. This is repeated until no cap changes, so pauses reach the adapters of senders.
 *
 * Caps are found anew after each change of rates, from the max-min solution without pauses. */
#include "sim/fabric/state.h"

/* Levels with a smaller difference are equal. */
static const double pause_ratio = 1e-6;

static void cap_set(struct fabric *fabric, struct flow *flow, double cap, int paused_at)
{
	flow->cap = cap;
	flow->paused_at = paused_at;
	fabric_flow_place_again(fabric, flow);
}

/* Limits the other flows of a paused port. Returns true if a cap has changed. */
static bool port_pause(struct fabric *fabric, int index, const struct flow *blocked, double level)
{
	const struct resource *port = &fabric->resources.items[index];
	bool changed = false;
	for (size_t i = 0; i < port->users.count; i++) {
		uint32_t slot = port->users.items[i].slot;
		if (slot == NO_FLOW || slot == blocked->slot)
			continue;
		struct flow *flow = fabric->flows.items[slot];
		double cap = level * flow->weight;
		if (fabric_rate(fabric, flow) <= cap * (1 + pause_ratio) ||
		    flow->cap <= cap * (1 + pause_ratio))
			continue;
		cap_set(fabric, flow, cap, index);
		changed = true;
	}
	return changed;
}

/* Pauses the ports upstream of the one at which the flow is blocked. */
static bool upstream_pause(struct fabric *fabric, const struct flow *flow)
{
	int at = flow->paused_at >= 0 ? flow->paused_at : flow->limit;
	size_t place = 0;
	while (place < flow->use_count && flow->uses[place].resource != at)
		place++;
	bool changed = false;
	/* Uses are in the order of the route. A flow that something else limits fills no queue. */
	if (at < 0 || !fabric->resources.items[at].pauses)
		return false;
	for (size_t u = 0; u < place; u++)
		if (fabric->resources.items[flow->uses[u].resource].pauses)
			changed |= port_pause(fabric, flow->uses[u].resource, flow,
					      fabric_rate(fabric, flow) / flow->weight);
	return changed;
}

void fabric_pause(struct fabric *fabric)
{
	for (size_t slot = 0; slot < fabric->flows.count; slot++) {
		struct flow *flow = fabric->flows.items[slot];
		if (flow->active && flow->cap < flow->own_cap)
			cap_set(fabric, flow, flow->own_cap, -1);
	}
	fabric_solve(fabric);
	bool changed = true; /* a round moves pauses by at least one port */
	for (int round = 0; changed && round < ROUTE_LINKS_MAX; round++) {
		changed = false;
		for (size_t slot = 0; slot < fabric->flows.count; slot++)
			if (fabric->flows.items[slot]->active)
				changed |= upstream_pause(fabric, fabric->flows.items[slot]);
		if (changed)
			fabric_solve(fabric);
	}
}
