/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A link between hosts that carries TCP. */
#include "sim/fabric/link_kinds.h"

struct toy_params {
	double bandwidth_Bps, latency_s;
};

static const struct param_row rows[] = {
	PARAM_NUMBER(struct toy_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "1 GB/s",
		     "bandwidth each way", "a toy"),
	PARAM_NUMBER(struct toy_params, latency_s, QUANTITY_TIME, 0, 1, "1 us", "one way", "a toy"),
};
static const struct param_table table = PARAM_TABLE("toy", struct toy_params, rows);

static void traits(const void *params, struct link_traits *out)
{
	const struct toy_params *toy = params;
	*out = (struct link_traits){
		.capacity_Bps = {toy->bandwidth_Bps, toy->bandwidth_Bps},
		.latency_s = toy->latency_s,
		.packet_payload_B = 1500,
	};
}

const struct link_kind link_toy = {
	.name = "toy",
	.help = "a link of tests/toys",
	.carries = TRAFFIC_SOCKETS,
	.table = &table,
	.traits = traits,
};
