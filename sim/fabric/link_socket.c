/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The link between two CPU sockets (QPI, UPI). It transfers cache lines of 64 bytes, each with a
 * header flit. The bandwidth counts only the data bits of the flits, as Intel does: 9.6 GT/s times
 * 2 bytes in one direction. */
#include "sim/fabric/link_kinds.h"

struct socket_params {
	double bandwidth_Bps, line_payload_B, line_overhead_B, latency_s;
	bool duplex;
};

static const struct param_row rows[] = {
	PARAM_NUMBER(struct socket_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "38.4 GB/s",
		     "bandwidth of all links together, in one direction (UPI at 10.4 GT/s: 20.8 "
		     "GB/s per link)",
		     "Intel Xeon E5-2600 v3 and v4: two QPI links of 9.6 GT/s, 19.2 GB/s each"),
	PARAM_NUMBER(struct socket_params, line_payload_B, QUANTITY_BYTES, 16, 4096, "64 B",
		     "data bytes in a packet", "x86: a cache line"),
	PARAM_NUMBER(struct socket_params, line_overhead_B, QUANTITY_BYTES, 0, 256, "8 B",
		     "packet overhead: bytes of a packet in addition to its data",
		     "Intel, An Introduction to the QuickPath Interconnect, 2009: one header flit "
		     "with 8 B for 8 data flits"),
	COST_ASSUMED(struct socket_params, latency_s, QUANTITY_TIME, 0, 1, "60 ns",
		     "one-way latency",
		     "assumption: remote memory answers about 50 to 70 ns later than local memory"),
	PARAM_BOOL(struct socket_params, duplex, "true",
		   "whether each direction has the bandwidth; false if both share it, as reads and "
		   "writes share the memory channels of a socket",
		   "Intel, An Introduction to the QuickPath Interconnect, 2009: a pair of links"),
};

static void traits(const void *params, struct link_traits *out)
{
	const struct socket_params *socket = params;
	*out = (struct link_traits){
		.capacity_Bps = {socket->bandwidth_Bps, socket->bandwidth_Bps},
		.latency_s = socket->latency_s,
		.packet_payload_B = socket->line_payload_B,
		.packet_overhead_B = socket->line_overhead_B,
		.own_packets = true,
		.half_duplex = !socket->duplex,
	};
}

const struct link_kind link_socket = {
	.name = "socket",
	.help = "link between the CPU sockets of one host (QPI, UPI)",
	.inside_host = true,
	.joins_processors = true,
	.carries = TRAFFIC_COPIES | TRAFFIC_SOCKETS | TRAFFIC_RDMA,
	.table = PARAM_TABLE_OF("socket", struct socket_params, rows),
	.traits = traits,
};
