/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dragonfly (Kim, Dally, Scott, Abts, ISCA 2008) has groups of routers. A cable connects each
 * pair of routers in a group. Each pair of groups is connected by cables between one router of
 * each. In group g, the cable to the k-th other group starts at router k modulo the number of
 * routers in a group, so that routers share these cables evenly.
 *
 * Routes are minimal: at most one hop in the first group, one between groups, and one in the
 * last. The fabric chooses routes of least latency. These are minimal only if a cable between
 * groups has a higher latency than one inside a group. Otherwise a route through a third group
 * could be shorter, and the reader reports an error. */
#include "sim/scenario/wiring.h"

struct dragonfly_params {
	double groups_count, routers_per_group_count, machines_per_router_count;
	double local_cables_count, global_cables_count, global_latency_s;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct dragonfly_params, groups_count, 1, 1e4, "9",
		    "number of groups of routers",
		    "Kim et al., ISCA 2008: a balanced one with 2 global cables a router and 4 "
		    "routers has 4 x 2 + 1 groups"),
	PARAM_WHOLE(struct dragonfly_params, routers_per_group_count, 1, 1e4, "4",
		    "number of routers in each group",
		    "Kim et al., ISCA 2008: the balanced a = 2 p = 2 h"),
	PARAM_WHOLE(struct dragonfly_params, machines_per_router_count, 1, 1e4, "2",
		    "number of machines at each router",
		    "Kim et al., ISCA 2008: the balanced a = 2 p = 2 h"),
	PARAM_WHOLE(struct dragonfly_params, local_cables_count, 1, 1e4, "1",
		    "number of cables between two routers of a group, for each port of a machine",
		    "Kim et al., ISCA 2008: one"),
	PARAM_WHOLE(struct dragonfly_params, global_cables_count, 1, 1e4, "1",
		    "number of cables between two groups, for each port of a machine",
		    "Kim et al., ISCA 2008: one in the largest dragonfly"),
	COST_ASSUMED(struct dragonfly_params, global_latency_s, QUANTITY_TIME, 0, 1, "1 us",
		     "added one-way latency of a cable between groups, compared with link.network",
		     "assumption: it must exceed link.network's latency, so that routes are "
		     "minimal; 100 m of fibre take 0.5 us"),
};

static const char *router(struct cabling *cabling, size_t group, size_t index)
{
	return WIRING_TEXT(cabling, "group%zu.%zu", group, index);
}

static void build_group(struct cabling *cabling, const struct dragonfly_params *wiring,
			size_t group)
{
	size_t routers = (size_t)wiring->routers_per_group_count;
	size_t machines = (size_t)wiring->machines_per_router_count;
	double cables = wiring->local_cables_count * (double)cabling->port_most;
	for (size_t r = 0; r < routers; r++) {
		const char *name = cabling_switch(cabling, router(cabling, group, r));
		size_t first = (group * routers + r) * machines;
		for (size_t i = first; i < first + machines && i < cabling->place_count; i++)
			cabling_ports(cabling, i, name);
		for (size_t other = 0; other < r; other++)
			cabling_trunk(cabling, router(cabling, group, other), name, cables, 0, 1);
	}
}

static const char *join(struct cabling *cabling, const void *params)
{
	const struct dragonfly_params *wiring = params;
	size_t groups = (size_t)wiring->groups_count;
	size_t routers = (size_t)wiring->routers_per_group_count;
	double places = wiring->groups_count * wiring->routers_per_group_count *
			wiring->machines_per_router_count;
	bool large = wiring->groups_count * wiring->routers_per_group_count > 1e6;
	if (places < (double)cabling->place_count || large)
		return WIRING_TEXT(
			cabling,
			"a dragonfly of %zu groups x %zu routers x %.0f machines has %.0f places, "
			"but there are %zu machines and servers (write %s counts)",
			groups, routers, wiring->machines_per_router_count, places,
			cabling->place_count, large ? "smaller" : "larger");
	if (groups > 2 && wiring->global_latency_s <= cabling->wire->traits.latency_s)
		return "wiring.global_latency must exceed the latency of link.network, otherwise "
		       "routes through third groups would be shorter";
	double cables = wiring->global_cables_count * (double)cabling->port_most;
	for (size_t g = 0; g < groups; g++)
		build_group(cabling, wiring, g);
	for (size_t g = 0; g < groups; g++)
		for (size_t h = g + 1; h < groups; h++)
			cabling_trunk(cabling, router(cabling, g, (h - 1) % routers),
				      router(cabling, h, g % routers), cables,
				      wiring->global_latency_s, 1);
	return NULL;
}

const struct wiring_kind wiring_dragonfly = {
	"dragonfly",
	"groups of routers; every two routers of a group and every two groups are connected",
	PARAM_TABLE_OF("dragonfly", struct dragonfly_params, rows), join, NULL};
