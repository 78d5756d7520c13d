/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connects two machines port to port, without a switch. */
#include "sim/scenario/wiring.h"

struct cable_params {
	double cables_count;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct cable_params, cables_count, 0, 1024, "0",
		    "number of cables between the two machines; 0 means one for each port",
		    "assumption: all ports are used"),
};

static const char *join(struct cabling *cabling, const void *params)
{
	const struct cable_params *wiring = params;
	if (cabling->place_count != 2)
		return WIRING_TEXT(cabling,
				   "a cable connects exactly two machines or servers, not %zu "
				   "(use the wiring \"switch\" for more)",
				   cabling->place_count);
	size_t least = cabling->places[0].port_count < cabling->places[1].port_count
			       ? cabling->places[0].port_count
			       : cabling->places[1].port_count;
	if (wiring->cables_count > (double)least)
		return WIRING_TEXT(cabling,
				   "wiring.cables is %.0f, but a machine has only %zu ports (write "
				   "that number, or 0)",
				   wiring->cables_count, least);
	size_t cables = wiring->cables_count > 0 ? (size_t)wiring->cables_count : least;
	for (size_t port = 0; port < cables; port++)
		cabling_direct(cabling, 0, 1, port);
	return NULL;
}

const struct wiring_kind wiring_cable = {"cable", "two machines that are connected directly",
					 PARAM_TABLE_OF("cable", struct cable_params, rows), join,
					 NULL};
