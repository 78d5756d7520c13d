/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fat tree has two or three stages. All ports of a machine are connected to one leaf, and all
 * leaves to a spine. With pods, each pod has a spine, and the spines are connected to a core.
 *
 *   a leaf's uplinks = its ports for machines / oversubscription
 *   a pod's uplinks  = the uplinks of its leaves / core_oversubscription
 */

#include "sim/scenario/wiring.h"

struct fat_tree_params {
	double ports_per_leaf_count, leaves_per_pod_count, oversubscription_ratio;
	double core_oversubscription_ratio, spine_latency_s, core_latency_s;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct fat_tree_params, ports_per_leaf_count, 1, 1e6, "18",
		    "number of ports of a leaf switch that machines can use; all ports of a "
		    "machine are at one leaf",
		    "a non-blocking leaf of 36 ports (EDR): half of them are uplinks"),
	PARAM_WHOLE(struct fat_tree_params, leaves_per_pod_count, 0, 1e6, "0",
		    "number of leaves in each pod; 0 means two stages without pods and core",
		    "assumption: two stages suffice, as they do for 36 leaves of 36 ports"),
	PARAM_NUMBER(struct fat_tree_params, oversubscription_ratio, QUANTITY_RATIO, 0.01, 1000,
		     "1", "ports of a leaf for machines divided by its uplinks",
		     "assumption: a non-blocking tree, as for HPC"),
	PARAM_NUMBER(struct fat_tree_params, core_oversubscription_ratio, QUANTITY_RATIO, 0.01,
		     1000, "1", "uplinks of a pod's leaves divided by the uplinks of the pod",
		     "assumption: a non-blocking tree, as for HPC"),
	COST_UNSEEN(
		0.1e-6, struct fat_tree_params, spine_latency_s, QUANTITY_TIME, 0, 1, "0 us",
		"added one-way latency of a cable between a leaf and its spine, compared with "
		"link.network",
		"assumption: cables inside a hall; draws go up to 0.2 us (95 %), 40 m of fibre"),
	COST_UNSEEN(
		0.25e-6, struct fat_tree_params, core_latency_s, QUANTITY_TIME, 0, 1, "0 us",
		"added one-way latency of a cable between a pod and the core, compared with "
		"link.network; with pods as sites, half of the distance between sites",
		"assumption: cables inside a hall; draws go up to 0.5 us (95 %), 100 m of fibre; "
		"100 km take 500 us"),
};

static size_t leaves_per_pod(const struct fat_tree_params *wiring, size_t leaf_count)
{
	size_t per_pod = (size_t)wiring->leaves_per_pod_count;
	return per_pod == 0 || per_pod > leaf_count ? leaf_count : per_pod;
}

/* Returns the spine above a leaf. The first leaf of a pod adds the spine and its trunk to the
 * core. */
static const char *spine_of(struct cabling *cabling, const struct fat_tree_params *wiring,
			    size_t leaf, size_t leaf_count, double uplinks, size_t *pod_before)
{
	size_t per_pod = leaves_per_pod(wiring, leaf_count), pod = leaf / per_pod;
	bool first = *pod_before == SIZE_MAX, new = pod != *pod_before;
	*pod_before = pod;
	if (per_pod == leaf_count) {
		cabling->top = "spine";
		return first ? cabling_switch(cabling, "spine") : "spine";
	}
	const char *name = WIRING_TEXT(cabling, "pod%zu", pod);
	if (first)
		cabling->top = cabling_switch(cabling, "core");
	if (new) {
		cabling_switch(cabling, name);
		cabling_trunk(cabling, name, "core",
			      uplinks * (double)per_pod / wiring->core_oversubscription_ratio,
			      wiring->core_latency_s, cabling_pod_copies(cabling, pod));
	}
	return name;
}

static size_t places_per_leaf(const struct fat_tree_params *wiring, size_t port_most)
{
	return (size_t)wiring->ports_per_leaf_count / port_most;
}

static const char *join(struct cabling *cabling, const void *params)
{
	const struct fat_tree_params *wiring = params;
	size_t per_leaf = places_per_leaf(wiring, cabling->port_most);
	if (per_leaf == 0)
		return WIRING_TEXT(cabling,
				   "a leaf of %.0f ports has no room for a machine of %zu ports "
				   "(write a larger wiring.ports_per_leaf)",
				   wiring->ports_per_leaf_count, cabling->port_most);
	size_t leaf_count = (cabling->place_count + per_leaf - 1) / per_leaf;
	double uplinks = (double)(per_leaf * cabling->port_most) / wiring->oversubscription_ratio;
	size_t pod = SIZE_MAX;
	cabling->top = "leaf0";
	for (size_t leaf = 0; leaf < leaf_count; leaf++) {
		if (!cabling_has(cabling, leaf * per_leaf, (leaf + 1) * per_leaf))
			continue;
		size_t own = cabling_leaf(cabling, leaf);
		const char *name = WIRING_TEXT(cabling, "leaf%zu", own);
		if (own == leaf)
			cabling_switch(cabling, name);
		for (size_t i = leaf * per_leaf;
		     i < (leaf + 1) * per_leaf && i < cabling->place_count; i++)
			cabling_ports(cabling, i, name);
		if (leaf_count == 1)
			break;
		if (own < leaf)
			continue;
		cabling_trunk(cabling, name,
			      spine_of(cabling, wiring, leaf, leaf_count, uplinks, &pod), uplinks,
			      wiring->spine_latency_s, cabling_leaf_copies(cabling, leaf));
	}
	return NULL;
}

static struct wiring_group group(const void *params, size_t place, size_t place_count,
				 size_t port_most)
{
	const struct fat_tree_params *wiring = params;
	size_t per_leaf = places_per_leaf(wiring, port_most), leaf = place / per_leaf;
	size_t leaf_count = (place_count + per_leaf - 1) / per_leaf;
	return (struct wiring_group){leaf, leaf / leaves_per_pod(wiring, leaf_count)};
}

const struct wiring_kind wiring_fat_tree = {
	"fat_tree", "fat tree of leaves and spines, with an optional core and oversubscription",
	PARAM_TABLE_OF("fat_tree", struct fat_tree_params, rows), join, group};
