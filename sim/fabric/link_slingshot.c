/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slingshot: HPE's network of Rosetta switches. Its Ethernet has no gap between frames, and its
 * links send corrupted frames again, so nothing is lost. */
#include "sim/fabric/link_kinds.h"

static const struct param_row rows[] = {
	PARAM_NUMBER(struct link_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "200 Gbit/s",
		     "bandwidth: line rate of the port (Slingshot 10: 100, 11: 200 Gbit/s)",
		     "HPE, Slingshot data sheet"),
	PARAM_NUMBER(struct link_params, mtu_B, QUANTITY_BYTES, 256, 9000, "4096 B",
		     "MTU: maximum data bytes in a packet",
		     "De Sensi et al., SC 2020: packets of RoCEv2 with 4 KiB"),
	PARAM_NUMBER(struct link_params, packet_overhead_B, QUANTITY_BYTES, 0, 512, "62 B",
		     "packet overhead: bytes of a packet in addition to its data",
		     "De Sensi et al., SC 2020: headers of Ethernet, IP, UDP, BTH, ICRC"),
	COST_ASSUMED(struct link_params, latency_s, QUANTITY_TIME, 0, 10, "650 ns",
		     "one-way latency: adapter, cable, and the switch at the far end",
		     "De Sensi et al., SC 2020: a switch of 0.35 us; assumption: an adapter of "
		     "0.3 us"),
};

const struct link_kind link_slingshot = {
	.name = "slingshot",
	.help = "Slingshot cable or switch port",
	.carries = TRAFFIC_SOCKETS | TRAFFIC_RDMA,
	.table = PARAM_TABLE_OF("slingshot", struct link_params, rows),
	.traits = cable_traits,
};
