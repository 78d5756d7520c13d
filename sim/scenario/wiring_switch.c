/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One non-blocking switch for all ports of all machines. */
#include "sim/scenario/wiring.h"

struct switch_params {
	double ports_count;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct switch_params, ports_count, 0, 1e6, "0",
		    "number of ports of the switch; 0 means as many as are needed",
		    "assumption: the switch has enough ports for the cluster"),
};

static const char *join(struct cabling *cabling, const void *params)
{
	const struct switch_params *wiring = params;
	size_t used = 0;
	for (size_t i = 0; i < cabling->place_count; i++)
		used += cabling->places[i].port_count;
	if (wiring->ports_count > 0 && (double)used > wiring->ports_count)
		return WIRING_TEXT(cabling,
				   "a switch of %.0f ports is too small for %zu cables (write a "
				   "larger wiring.ports, or kind = \"fat_tree\")",
				   wiring->ports_count, used);
	const char *crossbar = cabling_switch(cabling, "switch");
	for (size_t i = 0; i < cabling->place_count; i++)
		cabling_ports(cabling, i, crossbar);
	cabling->top = crossbar;
	return NULL;
}

static struct wiring_group group(const void *params, size_t place, size_t place_count,
				 size_t port_most)
{
	return (struct wiring_group){0, 0};
}

const struct wiring_kind wiring_switch = {"switch", "one non-blocking switch for all ports",
					  PARAM_TABLE_OF("switch", struct switch_params, rows),
					  join, group};
