/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rails: port k of each machine is connected to a leaf of rail k, so that GPUs with the same
 * number are below one leaf. All leaves are connected to a spine.
 *
 *   a leaf's uplinks = its ports for machines / oversubscription
 *
 * If one leaf has enough ports for all machines, each rail has one leaf. */
#include "sim/scenario/wiring.h"

struct rail_params {
	double ports_per_leaf_count, oversubscription_ratio;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct rail_params, ports_per_leaf_count, 1, 1e6, "32",
		    "number of machines whose ports of one rail are connected to the same leaf",
		    "NVIDIA DGX SuperPOD reference architecture: scalable units of 32 DGX H100, "
		    "leaves of 64 ports, half of them up"),
	PARAM_NUMBER(struct rail_params, oversubscription_ratio, QUANTITY_RATIO, 0.01, 1000, "1",
		     "ports of a leaf for machines divided by its uplinks",
		     "NVIDIA DGX SuperPOD reference architecture: a full fat tree"),
};

static const char *join(struct cabling *cabling, const void *params)
{
	const struct rail_params *wiring = params;
	size_t per_leaf = (size_t)wiring->ports_per_leaf_count;
	size_t units = (cabling->place_count + per_leaf - 1) / per_leaf;
	size_t full = units > 1 ? per_leaf : cabling->place_count;
	cabling->top = "rail0.0";
	if (units * cabling->port_most > 1)
		cabling->top = cabling_switch(cabling, "spine");
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
			if (units * cabling->port_most == 1)
				break;
			if (own < unit)
				continue;
			cabling_trunk(cabling, leaf, "spine",
				      (double)full / wiring->oversubscription_ratio, 0);
			cabling_trunk_of_leaf(cabling, unit);
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
