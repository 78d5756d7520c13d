/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Host memory as a link, for topologies that model it as a node. The host's own memory is a
 * resource of the host. */
#include "sim/fabric/link_kinds.h"

struct dram_params {
	double bandwidth_Bps;
	double latency_s;
};

static const struct param_row rows[] = {
	COST_SOURCED(struct dram_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e14, "76.8 GB/s",
		     "bandwidth of each direction", "JEDEC DDR4-2400: four channels of 19.2 GB/s"),
	COST_ASSUMED(struct dram_params, latency_s, QUANTITY_TIME, 0, 1, "90 ns", "one-way latency",
		     "assumption: a load that misses all caches in a DDR4 server"),
};

static const struct param_table table = PARAM_TABLE("dram", struct dram_params, rows);

static const char *traits(const void *params, struct link_traits *out)
{
	const struct dram_params *dram = params;
	*out = (struct link_traits){
		.capacity_Bps = {dram->bandwidth_Bps, dram->bandwidth_Bps},
		.latency_s = dram->latency_s,
	};
	return NULL;
}

const struct link_kind link_dram = {
	.name = "dram",
	.help = "memory of a host, modelled as a link",
	.inside_host = true,
	.table = &table,
	.traits = traits,
};
