/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RoCE version 2: RDMA over Ethernet. The wire is Ethernet's. The MTU is the RDMA path MTU and
 * counts only data, so the overhead contains all headers: Ethernet 38, IP 20, UDP 8, BTH 12, ICRC
 * 4. */
#include "sim/fabric/link_kinds.h"

static const struct param_row rows[] = {
	PARAM_NUMBER(struct link_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "100 Gbit/s",
		     "bandwidth: line rate from the first end to the second", "IEEE 802.3bj"),
	PARAM_NUMBER(
		struct link_params, reverse_bandwidth_Bps, QUANTITY_RATE, 0, 1e13, "0 Gbit/s",
		"reverse bandwidth: line rate from the second end to the first; 0 means the same",
		"IEEE 802.3: full duplex links are symmetric"),
	PARAM_NUMBER(struct link_params, mtu_B, QUANTITY_BYTES, 256, 4096, "4096 B",
		     "MTU: maximum data bytes in a packet (path MTU; 1024 B with frames of 1500 B)",
		     "InfiniBand Architecture Specification, volume 1: 256 to 4096 B"),
	PARAM_NUMBER(struct link_params, packet_overhead_B, QUANTITY_BYTES, 0, 512, "82 B",
		     "packet overhead: bytes of a packet in addition to its data",
		     "IEEE 802.3 and IBTA annex A17 (RoCEv2): Ethernet 38, IP 20, UDP 8, BTH 12, "
		     "ICRC 4"),
	COST_ASSUMED(struct link_params, latency_s, QUANTITY_TIME, 0, 10, "500 ns",
		     "one-way latency: adapter, cable, and the switch at the far end",
		     "assumption: a cut-through switch of 0.2 us, an adapter of 0.3 us"),
	COST_ASSUMED(
		struct link_params, loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		"packet loss: probability that a packet is lost from the first end to the second",
		"assumption: pause frames (PFC) prevent full buffers, so that 0 is exact"),
	COST_ASSUMED(struct link_params, reverse_loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "reverse packet loss: probability that a packet is lost from the second end "
		     "to the first",
		     "assumption: pause frames (PFC) prevent full buffers, so that 0 is exact"),
};

const struct link_kind link_roce = {
	.name = "roce",
	.help = "RDMA over Ethernet (RoCEv2)",
	.carries = TRAFFIC_SOCKETS | TRAFFIC_RDMA,
	.table = PARAM_TABLE_OF("roce", struct link_params, rows),
	.traits = cable_traits,
};
