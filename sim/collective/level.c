/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/level.h"

#include "sim/fabric/link.h"

int root_of(struct fabric *fabric, int gpu_node, int host_node)
{
	const struct route *route = fabric_route(fabric, gpu_node, host_node, TRAFFIC_COPIES);
	if (!route || route->count < 2)
		return host_node;
	struct hop last = route->hops[route->count - 1];
	int nodes[2];
	fabric_link_nodes(fabric, last.link, &nodes[0], &nodes[1]);
	bool memory = fabric_link_kind(fabric, last.link)->joins_processors;
	return memory ? nodes[last.direction] : host_node;
}

enum path_level path_level(const struct fabric *fabric, const struct route *route, int root_node)
{
	enum path_level level = route->count > 2 ? PATH_PXB : PATH_PIX;
	for (size_t i = 0; i < route->count; i++) {
		int ends[2];
		fabric_link_nodes(fabric, route->hops[i].link, &ends[0], &ends[1]);
		if (fabric_link_kind(fabric, route->hops[i].link)->joins_processors)
			return PATH_SYS;
		if (ends[0] == root_node || ends[1] == root_node)
			level = PATH_PHB;
	}
	return level;
}
