/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "sim/scenario/wiring.h"

static const struct registry_row rows[] = {
#define WIRING(name) REGISTRY_ROW(wiring_##name),
#include "sim/scenario/wirings.def"
#undef WIRING
};
const struct registry wiring_kind_registry = REGISTRY("kind of wiring", "wirings", rows);

static const char *const routings[] = {[CABLES_SPRAY] = "spray",
				       [CABLES_ECMP] = "ecmp",
				       [CABLES_ADAPTIVE] = "adaptive",
				       [CABLES_STATIC] = "static",
				       NULL};
static const char *const congestions[] = {
	[CONGESTION_FAIR] = "fair", [CONGESTION_DCQCN] = "dcqcn", [CONGESTION_PFC] = "pfc", NULL};
static const struct param_row fabric_rows[] = {
	PARAM_CHOICE(struct fabric_params, routing, routings, "spray",
		     "how switches choose among the equal cables of a trunk: for each packet "
		     "(spray), by a hash of the flow (ecmp), the one with the fewest flows when a "
		     "message starts (adaptive), or by the receiving port (static)",
		     "assumption: traffic spreads evenly, as with adaptive routing of packets"),
	PARAM_WHOLE(struct fabric_params, port_cables_count, 1, 64, "1",
		    "number of cables at each port of a machine, for example 2 for an adapter with "
		    "two ports; each has the bandwidth of link.network",
		    "assumption: one cable"),
	PARAM_CHOICE(
		struct fabric_params, congestion, congestions, "fair",
		"what happens to flows that meet at a port: they share it at once (fair), they "
		"share the part fabric.dcqcn of it (dcqcn), or the port also pauses the ports "
		"upstream with all of their flows (pfc)",
		"assumption: credits and queues keep the flows apart, as with InfiniBand"),
	COST_ASSUMED(
		struct fabric_params, dcqcn_ratio, QUANTITY_RATIO, 0.1, 1, "0.975",
		"part of a port's bandwidth that flows under DCQCN share",
		"assumption: rates that oscillate around the fair share (Zhu et al., SIGCOMM 2015) "
		"leave a few per cent of the port idle"),
};
const struct param_table fabric_table = PARAM_TABLE("fabric", struct fabric_params, fabric_rows);

bool fabric_is_even(const struct fabric_params *fabric)
{
	return fabric->routing == CABLES_SPRAY && fabric->congestion == CONGESTION_FAIR;
}

const char *cabling_node(const struct cabling *cabling, const char *name)
{
	return WIRING_TEXT(cabling, "fabric.%s", name);
}

const char *cabling_switch(struct cabling *cabling, const char *name)
{
	struct topology_build *build = cabling->build;
	const char *node = cabling_node(cabling, name);
	if (topology_name(build, cabling->origin, "switch", node, true))
		*VEC_PUSH(build->reader->arena, &build->switches) = node;
	return name;
}

static void add(struct cabling *cabling, const char *name, const char *a, const char *b,
		double cables, double further_s, double copies, uint32_t port)
{
	struct topology_build *build = cabling->build;
	struct link_entry link = *cabling->wire;
	link.name = cabling_node(cabling, name);
	link.origin = cabling->origin;
	link.copies_count = copies;
	link.ends[0] = a;
	link.ends[1] = b;
	link.traits.capacity_Bps[0] *= cables;
	link.traits.capacity_Bps[1] *= cables;
	link.traits.latency_s += further_s;
	link.traits.cable_count = (uint32_t)fmax(1, round(cables));
	link.traits.cable_choice = (enum cable_choice)cabling->fabric->routing;
	link.traits.congestion = (enum congestion)cabling->fabric->congestion;
	link.traits.shared_ratio = cabling->fabric->dcqcn_ratio;
	link.traits.port = port;
	topology_name(build, cabling->origin, "link", link.name, false);
	*VEC_PUSH(build->reader->arena, &build->links) = link;
}

void cabling_port(struct cabling *cabling, size_t place, size_t port, const char *to)
{
	if (!cabling_has(cabling, place, place + 1))
		return;
	const char *node = cabling->places[place].ports[port];
	add(cabling, node, node, cabling_node(cabling, to), cabling->fabric->port_cables_count, 0,
	    cabling->places[place].copies, ++cabling->port_count);
}

void cabling_ports(struct cabling *cabling, size_t place, const char *to)
{
	for (size_t i = 0; i < cabling->places[place].port_count; i++)
		cabling_port(cabling, place, i, to);
}

void cabling_trunk(struct cabling *cabling, const char *a, const char *b, double cables,
		   double further_s, double copies)
{
	add(cabling, WIRING_TEXT(cabling, "%s-%s", a, b), cabling_node(cabling, a),
	    cabling_node(cabling, b), cables * cabling->fabric->port_cables_count, further_s,
	    copies, 0);
}

bool cabling_has(const struct cabling *cabling, size_t first, size_t end)
{
	for (size_t i = first; i < end && i < cabling->place_count; i++)
		if (cabling->places[i].ports)
			return true;
	return false;
}

double cabling_leaf_copies(const struct cabling *cabling, size_t leaf)
{
	const struct fold *fold = cabling->fold;
	return fold && leaf < fold->leaf_count ? fmax(1, fold->leaf_count_of[leaf]) : 1;
}

double cabling_pod_copies(const struct cabling *cabling, size_t pod)
{
	const struct fold *fold = cabling->fold;
	return fold && pod < fold->pod_count ? fmax(1, fold->pod_count_of[pod]) : 1;
}

void cabling_trunk_of_torus(struct cabling *cabling, const size_t from[3], const size_t to[3])
{
	struct topology_build *build = cabling->build;
	struct link_traits *traits = &build->links.items[build->links.count - 1].traits;
	traits->in_torus = true;
	for (size_t d = 0; d < 3; d++) {
		traits->router[0][d] = (int)from[d];
		traits->router[1][d] = (int)to[d];
	}
}

void cabling_direct(struct cabling *cabling, size_t place_a, size_t place_b, size_t port)
{
	add(cabling, WIRING_TEXT(cabling, "cable%zu", port), cabling->places[place_a].ports[port],
	    cabling->places[place_b].ports[port], cabling->fabric->port_cables_count, 0, 1, 0);
}
