/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Connects two machines port to port, without a switch. They have as many cables as the machine
 * with fewer ports has ports. */
#include "sim/scenario/wiring.h"

static const char *join(struct cabling *cabling, const void *params)
{
	if (cabling->place_count != 2)
		return WIRING_TEXT(cabling,
				   "a cable connects exactly two machines or servers, not %zu "
				   "(use the wiring \"switch\" for more)",
				   cabling->place_count);
	size_t least = cabling->places[0].port_count < cabling->places[1].port_count
			       ? cabling->places[0].port_count
			       : cabling->places[1].port_count;
	for (size_t port = 0; port < least; port++)
		cabling_direct(cabling, 0, 1, port);
	return NULL;
}

const struct wiring_kind wiring_cable = {"cable", "two machines that are connected directly",
					 &(const struct param_table){.name = "cable"}, join, NULL};
