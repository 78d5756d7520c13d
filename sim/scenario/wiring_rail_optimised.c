/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rails: port k of each machine is connected to a leaf of rail k, so that GPUs with the same
 * number are below one leaf. All leaves are connected to a spine.
 *
 *   a leaf's uplinks = its ports for machines / oversubscription
 *
 * If one leaf has enough ports for all machines, each rail has one leaf. With rail_only the leaves
 * of each rail have a spine of their own, and messages between rails begin with NVLink (PXN). */
#include "sim/scenario/wiring.h"

struct rail_params {
	double ports_per_leaf_count, oversubscription_ratio, spine_latency_s;
	bool rail_only;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct rail_params, ports_per_leaf_count, 1, 1e6, "32",
		    "number of machines whose ports of one rail are connected to the same leaf",
		    "NVIDIA DGX SuperPOD reference architecture: scalable units of 32 DGX H100, "
		    "leaves of 64 ports, half of them up"),
	PARAM_NUMBER(struct rail_params, oversubscription_ratio, QUANTITY_RATIO, 0.01, 1000, "1",
		     "ports of a leaf for machines divided by its uplinks",
		     "NVIDIA DGX SuperPOD reference architecture: a full fat tree"),
	COST_UNSEEN(
		0.1e-6, struct rail_params, spine_latency_s, QUANTITY_TIME, 0, 1, "0 us",
		"added one-way latency of a cable between a leaf and its spine, compared with "
		"link.network",
		"assumption: cables inside a hall; draws go up to 0.2 us (95 %), 40 m of fibre"),
	PARAM_BOOL(struct rail_params, rail_only, "false",
		   "whether each rail has a spine of its own, so that no path joins two rails",
		   "NVIDIA DGX SuperPOD reference architecture: all leaves are at one spine"),
};

static const char *spine_of(const struct cabling *cabling, const struct rail_params *wiring,
			    size_t rail)
{
	return wiring->rail_only ? WIRING_TEXT(cabling, "spine%zu", rail) : "spine";
}

static const char *join(struct cabling *cabling, const void *params)
{
	const struct rail_params *wiring = params;
	size_t per_leaf = (size_t)wiring->ports_per_leaf_count;
	size_t units = (cabling->place_count + per_leaf - 1) / per_leaf;
	size_t full = units > 1 ? per_leaf : cabling->place_count;
	bool joins = wiring->rail_only ? units > 1 : units * cabling->port_most > 1;
	cabling->top = wiring->rail_only ? NULL : joins ? "spine" : "rail0.0";
	for (size_t rail = 0; joins && rail < cabling->port_most; rail++) {
		cabling_switch(cabling, spine_of(cabling, wiring, rail));
		if (!wiring->rail_only)
			break;
	}
	for (size_t unit = 0; unit < units; unit++)
		for (size_t rail = 0; rail < cabling->port_most; rail++) {
			if (!cabling_has(cabling, unit * per_leaf, (unit + 1) * per_leaf))
				break;
			size_t own = cabling_leaf(cabling, unit);
			const char *leaf = WIRING_TEXT(cabling, "rail%zu.%zu", rail, own);
			if (own == unit)
				cabling_switch(cabling, leaf);
			for (size_t i = unit * per_leaf;
			     i < (unit + 1) * per_leaf && i < cabling->place_count; i++)
				if (rail < cabling->places[i].port_count)
					cabling_port(cabling, i, rail, leaf);
			if (!joins || own < unit)
				continue;
			cabling_trunk(cabling, leaf, spine_of(cabling, wiring, rail),
				      (double)full / wiring->oversubscription_ratio,
				      wiring->spine_latency_s, cabling_leaf_copies(cabling, unit));
		}
	return NULL;
}

/* The leaves of a unit, one for each rail, count as one leaf, because they connect the same
 * machines. */
static struct wiring_group group(const void *params, size_t place, size_t place_count,
				 size_t port_most)
{
	const struct rail_params *wiring = params;
	(void)place_count, (void)port_most;
	return (struct wiring_group){place / (size_t)wiring->ports_per_leaf_count, 0};
}

const struct wiring_kind wiring_rail_optimised = {
	"rail_optimised",
	"port k of every machine is connected to leaf k, and all leaves to a spine",
	PARAM_TABLE_OF("rail_optimised", struct rail_params, rows), join, group};
