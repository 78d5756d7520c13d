/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Host memory as a link, for topologies that model it as a node. The host's own memory is a
 * resource of the host. */
#include "sim/fabric/link_kinds.h"

static const struct param_row rows[] = {
	COST_SOURCED(struct link_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e14, "76.8 GB/s",
		     "bandwidth of each direction", "JEDEC DDR4-2400: four channels of 19.2 GB/s"),
	COST_ASSUMED(struct link_params, latency_s, QUANTITY_TIME, 0, 1, "90 ns", "one-way latency",
		     "assumption: a load that misses all caches in a DDR4 server"),
};

const struct link_kind link_dram = {
	.name = "dram",
	.help = "memory of a host, modelled as a link",
	.inside_host = true,
	.table = PARAM_TABLE_OF("dram", struct link_params, rows),
	.traits = plain_traits,
};
