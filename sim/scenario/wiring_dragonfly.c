/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): routers in groups, every two
 * routers of a group joined, every two groups joined by cables between one router
 * of each. Of group g, the way to the k-th other group leaves by router k modulo
 * the routers of a group, so that they share them.
 *
 * Ways are minimal: at most one hop in the first group, one between groups, one in
 * the last. They are also those of least latency as long as a cable between
 * groups is longer than one in a group, or a third group would be a short cut;
 * so that is asked for. */
#include "sim/scenario/wiring_kinds.h"

struct dragonfly_params {
	double groups_count, routers_per_group_count, machines_per_router_count;
	double local_cables_count, global_cables_count;
	double global_latency_s;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct dragonfly_params, groups_count, 1, 1e4, "9", "groups",
		    "Kim et al., ISCA 2008: a balanced one with 2 global cables a router and 4 "
		    "routers has 4 x 2 + 1 groups"),
	PARAM_WHOLE(struct dragonfly_params, routers_per_group_count, 1, 1e4, "4",
		    "routers of a group", "Kim et al., ISCA 2008: the balanced a = 2 p = 2 h"),
	PARAM_WHOLE(struct dragonfly_params, machines_per_router_count, 1, 1e4, "2",
		    "machines at a router", "Kim et al., ISCA 2008: the balanced a = 2 p = 2 h"),
	PARAM_WHOLE(struct dragonfly_params, local_cables_count, 1, 1e4, "1",
		    "cables between two routers of a group, for each port of a machine",
		    "Kim et al., ISCA 2008: one"),
	PARAM_WHOLE(struct dragonfly_params, global_cables_count, 1, 1e4, "1",
		    "cables between two groups, for each port of a machine",
		    "Kim et al., ISCA 2008: one in the largest dragonfly"),
	COST_ASSUMED(struct dragonfly_params, global_latency_s, QUANTITY_TIME, 0, 1, "1 us",
		     "by which a cable between groups takes longer than link.network, one way",
		     "assumption: it must be over link.network's latency for minimal ways; 100 m "
		     "of fibre take 0.5 us"),
};
static const struct param_table table = PARAM_TABLE("dragonfly", struct dragonfly_params, rows);

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
			cabling_trunk(cabling, router(cabling, group, other), name, cables, 0);
	}
}

static const char *join(struct cabling *cabling, const void *params)
{
	const struct dragonfly_params *wiring = params;
	size_t groups = (size_t)wiring->groups_count;
	size_t routers = (size_t)wiring->routers_per_group_count;
	double places = wiring->groups_count * wiring->routers_per_group_count *
			wiring->machines_per_router_count;
	if (places < (double)cabling->place_count ||
	    wiring->groups_count * wiring->routers_per_group_count > 1e6)
		return WIRING_TEXT(cabling,
				   "a dragonfly of %zu x %zu x %.0f has %.0f places for "
				   "%zu machines and servers",
				   groups, routers, wiring->machines_per_router_count, places,
				   cabling->place_count);
	if (groups > 2 && wiring->global_latency_s <= cabling->wire->traits.latency_s)
		return "global_latency must be longer than link.network's latency, or ways "
		       "through third groups would be shorter";
	double cables = wiring->global_cables_count * (double)cabling->port_most;
	for (size_t g = 0; g < groups; g++)
		build_group(cabling, wiring, g);
	for (size_t g = 0; g < groups; g++)
		for (size_t h = g + 1; h < groups; h++)
			cabling_trunk(cabling, router(cabling, g, (h - 1) % routers),
				      router(cabling, h, g % routers), cables,
				      wiring->global_latency_s);
	return NULL;
}

const struct wiring_kind wiring_dragonfly = {
	"dragonfly", "groups of routers, all joined inside and to each other", &table, join, NULL};
