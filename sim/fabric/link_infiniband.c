/* SPDX-License-Identifier: GPL-3.0-or-later */
/* InfiniBand: flow control by credits, so nothing is dropped, and packets of the path MTU. Each
 * data packet has LRH (8 B), BTH (12), ICRC (4) and VCRC (2). The RETH of a write's first packet
 * (16 B) and link delimiters are not modelled. The bandwidth is the data rate after coding: 100
 * Gbit/s for EDR. */
#include "sim/fabric/link_kinds.h"

static const struct param_row rows[] = {
	PARAM_NUMBER(
		struct link_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "100 Gbit/s",
		"bandwidth: data rate of the port (FDR 54.5, EDR 100, HDR 200, NDR 400 Gbit/s)",
		"IBTA roadmap: EDR 4x"),
	PARAM_NUMBER(struct link_params, mtu_B, QUANTITY_BYTES, 256, 4096, "4096 B",
		     "MTU: maximum data bytes in a packet (path MTU)",
		     "InfiniBand Architecture Specification, volume 1: 256 to 4096 B"),
	PARAM_NUMBER(struct link_params, packet_overhead_B, QUANTITY_BYTES, 0, 512, "26 B",
		     "packet overhead: bytes of a packet in addition to its data (66 B with a GRH)",
		     "InfiniBand Architecture Specification, volume 1: LRH 8, BTH 12, ICRC 4, "
		     "VCRC 2"),
	COST_ASSUMED(struct link_params, latency_s, QUANTITY_TIME, 0, 10, "400 ns",
		     "one-way latency: adapter, cable, and the switch at the far end",
		     "assumption: a switch of 0.1 us, an adapter of 0.3 us"),
	COST_ASSUMED(struct link_params, loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "packet loss: probability that a packet is lost, in either direction",
		     "InfiniBand's flow control by credits: 0 is exact, because a sender waits for "
		     "room"),
	PARAM_BOOL(struct link_params, sharp, "false",
		   "whether the switches add the values of collectives (SHARP)",
		   "NVIDIA: switches of EDR and later add, if its aggregation manager runs"),
};

static void traits(const void *params, struct link_traits *out)
{
	const struct link_params *infiniband = params;
	cable_traits(params, out);
	out->loss_ratio[1] = infiniband->loss_ratio;
	out->adds = infiniband->sharp;
}

const struct link_kind link_infiniband = {
	.name = "infiniband",
	.help = "InfiniBand cable or switch port",
	.carries = TRAFFIC_SOCKETS | TRAFFIC_RDMA,
	.table = PARAM_TABLE_OF("infiniband", struct link_params, rows),
	.traits = traits,
};
