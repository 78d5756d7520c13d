/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses among the equal cables of a trunk.
 *
 * A trunk is one wide resource. If its switches do not spray packets, each of its cables is a
 * resource, too, and a flow uses the trunk and the cables that the switches choose. All trunks use
 * one number for a flow, because in a fat tree the uplink that a flow takes determines the spine,
 * and so the link down to the receiver's leaf. Sources: RFC 2992 for the hash; Zahavi, D-Mod-K
 * routing (2010), for static routes by the port of the receiver. */
#include "sim/base/hash.h"
#include "sim/fabric/link.h"
#include "sim/fabric/state.h"

/* Returns true if flows from several ports can meet in this direction: it leaves a switch. */
static bool leaves_switch(const struct fabric *fabric, const struct link *link, int direction)
{
	return link->traits.port == 0 || direction == 1;
}

static void congestion_set(struct fabric *fabric, int index, const struct link_traits *traits,
			   bool leaves)
{
	struct resource *resource = &fabric->resources.items[index];
	resource->pauses = traits->congestion == CONGESTION_PFC;
	fabric->has_pauses |= resource->pauses;
	if (leaves && traits->congestion == CONGESTION_DCQCN)
		resource->shared_ratio = traits->shared_ratio;
}

void fabric_cables_add(struct fabric *fabric, int index, int direction)
{
	const struct link link = fabric->links.items[index];
	const struct link_traits *traits = &link.traits;
	int trunk = link.resources[direction];
	bool leaves = leaves_switch(fabric, &link, direction);
	if (traits->cable_count < 2 || traits->cable_choice == CABLES_SPRAY) {
		congestion_set(fabric, trunk, traits, leaves);
		return;
	}
	fabric->has_cables = true;
	int first = -1;
	for (uint32_t i = 0; i < traits->cable_count; i++) {
		const char *name = names_at(fabric->resource_names, (size_t)trunk);
		int cable = fabric_resource_add(
			fabric, arena_printf(fabric->arena, "%s, cable %u", name, i),
			traits->capacity_Bps[direction] / traits->cable_count);
		congestion_set(fabric, cable, traits, leaves);
		if (i == 0)
			first = cable;
	}
	struct resource *resource = &fabric->resources.items[trunk];
	resource->cable_choice = traits->cable_choice;
	resource->cable_count = traits->cable_count;
	resource->cable_first = first;
}

/* Returns the flows on a cable, with the parts of this one for which it has been chosen. */
static size_t flows_on(const struct fabric *fabric, const struct flow_spec *chosen, int cable)
{
	size_t count = fabric->resources.items[cable].flow_count;
	for (size_t u = 0; u < chosen->use_count; u++)
		count += chosen->uses[u].resource == cable;
	return count;
}

/* Returns the cable of a trunk for one part of a flow. `chosen` has the uses found so far. */
static uint32_t cable_of(const struct fabric *fabric, const struct resource *trunk,
			 const struct flow_spec *spec, const struct flow_spec *chosen,
			 uint64_t part)
{
	uint32_t count = trunk->cable_count;
	if (trunk->cable_choice == CABLES_STATIC && spec->target > 0)
		return (spec->target - 1) % count;
	uint32_t hashed = (uint32_t)(hash_spread(spec->key + part) % count);
	if (trunk->cable_choice != CABLES_ADAPTIVE)
		return hashed;
	uint32_t best = hashed;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t other = (hashed + i) % count;
		if (flows_on(fabric, chosen, trunk->cable_first + (int)other) <
		    flows_on(fabric, chosen, trunk->cable_first + (int)best))
			best = other;
	}
	return best;
}

/* Returns the largest number of resources that a flow in that many parts uses: each part may use
 * another cable of each trunk. */
static size_t uses_most(const struct fabric *fabric, const struct flow_spec *spec, size_t parts)
{
	size_t count = spec->use_count;
	for (size_t u = 0; u < spec->use_count; u++) {
		size_t cables = fabric->resources.items[spec->uses[u].resource].cable_count;
		count += cables < parts ? cables : parts;
	}
	return count;
}

void fabric_cables_choose(const struct fabric *fabric, struct flow_spec *spec)
{
	size_t parts = spec->key_count > 0 ? spec->key_count : 1;
	while (uses_most(fabric, spec, parts) > FLOW_USES_MAX && parts > 1)
		parts /= 2;
	const struct flow_spec given = *spec;
	spec->use_count = 0;
	for (size_t u = 0; u < given.use_count; u++) {
		const struct flow_use use = given.uses[u];
		const struct resource *trunk = &fabric->resources.items[use.resource];
		flow_use_add(spec, use.resource, use.per_unit);
		size_t count = trunk->cable_count > 0 && given.key != 0 ? parts : 0;
		for (size_t part = 0; part < count; part++)
			flow_use_add(spec,
				     trunk->cable_first +
					     (int)cable_of(fabric, trunk, &given, spec, part),
				     use.per_unit / (double)parts);
	}
}
