/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/scenario/wiring.h"

static const struct registry_row rows[] = {
#define WIRING(name) REGISTRY_ROW(wiring_##name),
#include "sim/scenario/wirings.def"
#undef WIRING
};
const struct registry wiring_kind_registry = REGISTRY("kind of wiring", "wirings", rows);

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
		double cables, double further_s, double copies)
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
	topology_name(build, cabling->origin, "link", link.name, false);
	*VEC_PUSH(build->reader->arena, &build->links) = link;
}

void cabling_port(struct cabling *cabling, size_t place, size_t port, const char *to)
{
	if (!cabling_has(cabling, place, place + 1))
		return;
	const char *node = cabling->places[place].ports[port];
	add(cabling, node, node, cabling_node(cabling, to), 1, 0, cabling->places[place].copies);
}

void cabling_ports(struct cabling *cabling, size_t place, const char *to)
{
	for (size_t i = 0; i < cabling->places[place].port_count; i++)
		cabling_port(cabling, place, i, to);
}

void cabling_trunk(struct cabling *cabling, const char *a, const char *b, double cables,
		   double further_s)
{
	add(cabling, WIRING_TEXT(cabling, "%s-%s", a, b), cabling_node(cabling, a),
	    cabling_node(cabling, b), cables, further_s, 1);
}

bool cabling_has(const struct cabling *cabling, size_t first, size_t end)
{
	for (size_t i = first; i < end && i < cabling->place_count; i++)
		if (cabling->places[i].ports)
			return true;
	return false;
}

static void stand_for(struct cabling *cabling, const uint32_t *counts, size_t count, size_t group)
{
	struct topology_build *build = cabling->build;
	if (group < count && counts[group] > 1)
		build->links.items[build->links.count - 1].copies_count = counts[group];
}

void cabling_trunk_of_leaf(struct cabling *cabling, size_t leaf)
{
	if (cabling->fold)
		stand_for(cabling, cabling->fold->leaf_count_of, cabling->fold->leaf_count, leaf);
}

void cabling_trunk_of_pod(struct cabling *cabling, size_t pod)
{
	if (cabling->fold)
		stand_for(cabling, cabling->fold->pod_count_of, cabling->fold->pod_count, pod);
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
	    cabling->places[place_b].ports[port], 1, 0, 1);
}
