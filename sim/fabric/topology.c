/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes and the links between them. */
#include "sim/fabric/link.h"
#include "sim/fabric/state.h"

int fabric_node_add(struct fabric *fabric, const char *name)
{
	int index = names_add(fabric->node_names, name);
	FW_ASSERT((size_t)index == fabric->nodes.count); /* the name must be new */
	*VEC_PUSH(fabric->arena, &fabric->nodes) = (struct adjacency){0};
	fabric_routes_forget(fabric);
	return index;
}

int fabric_node_find(const struct fabric *fabric, const char *name)
{
	return names_find(fabric->node_names, name);
}

size_t fabric_node_count(const struct fabric *fabric)
{
	return fabric->nodes.count;
}

const char *fabric_node_name(const struct fabric *fabric, int node)
{
	FW_ASSERT(node >= 0);
	return names_at(fabric->node_names, (size_t)node);
}

int fabric_link_add(struct fabric *fabric, const char *name, const struct link_kind *kind,
		    int node_a, int node_b, const struct link_traits *traits)
{
	FW_ASSERT(kind && node_a != node_b);
	FW_ASSERT(traits->capacity_Bps[0] > 0 && traits->capacity_Bps[1] > 0);
	FW_ASSERT(traits->latency_s >= 0);
	FW_ASSERT(traits->packet_payload_B >= 0 && traits->packet_overhead_B >= 0);
	for (int i = 0; i < 2; i++)
		FW_ASSERT(traits->loss_ratio[i] >= 0 && traits->loss_ratio[i] <= 1);
	int index = names_add(fabric->link_names, name);
	FW_ASSERT((size_t)index == fabric->links.count); /* the name must be new */
	struct link *link = VEC_PUSH(fabric->arena, &fabric->links);
	link->kind = kind;
	link->traits = *traits;
	link->nodes[0] = node_a;
	link->nodes[1] = node_b;
	for (int direction = 0; direction < 2; direction++) {
		int from = link->nodes[direction], to = link->nodes[1 - direction];
		const char *resource =
			arena_printf(fabric->arena, "%s %s>%s", name,
				     fabric_node_name(fabric, from), fabric_node_name(fabric, to));
		link->resources[direction] = link->resources[0];
		if (direction == 0 || !traits->half_duplex)
			link->resources[direction] = fabric_resource_add(
				fabric, resource, traits->capacity_Bps[direction]);
		struct adjacency *adjacency = &fabric->nodes.items[from];
		*VEC_PUSH(fabric->arena, &adjacency->hops) = (struct hop){index, direction};
		adjacency->inside |= kind->inside_host;
		adjacency->in_torus |= traits->in_torus;
		for (int d = 0; d < 3 && traits->in_torus; d++)
			adjacency->router[d] = traits->router[direction][d];
	}
	for (int direction = 0; direction < 2; direction++)
		fabric_cables_add(fabric, index, direction);
	fabric_routes_forget(fabric); /* a shorter route may exist now */
	return index;
}

static const struct link *link_at(const struct fabric *fabric, int index)
{
	FW_ASSERT(index >= 0 && (size_t)index < fabric->links.count);
	return &fabric->links.items[index];
}

size_t fabric_link_count(const struct fabric *fabric)
{
	return fabric->links.count;
}

const char *fabric_link_name(const struct fabric *fabric, int link)
{
	FW_ASSERT(link >= 0);
	return names_at(fabric->link_names, (size_t)link);
}

const struct link_kind *fabric_link_kind(const struct fabric *fabric, int link)
{
	return link_at(fabric, link)->kind;
}

const struct link_traits *fabric_link_traits(const struct fabric *fabric, int link)
{
	return &link_at(fabric, link)->traits;
}

void fabric_link_nodes(const struct fabric *fabric, int link, int *node_a, int *node_b)
{
	*node_a = link_at(fabric, link)->nodes[0];
	*node_b = link_at(fabric, link)->nodes[1];
}

int fabric_link_resource(const struct fabric *fabric, int link, int direction)
{
	FW_ASSERT(direction == 0 || direction == 1);
	return link_at(fabric, link)->resources[direction];
}
