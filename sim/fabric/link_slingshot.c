/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slingshot: HPE's network of Rosetta switches. Its Ethernet has no gap between frames, and its
 * links send corrupted frames again, so nothing is lost. */
#include "sim/fabric/link_kinds.h"

struct slingshot_params {
	double bandwidth_Bps;
	double mtu_B;
	double packet_overhead_B;
	double latency_s;
};

static const struct param_row rows[] = {
	PARAM_NUMBER(struct slingshot_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "200 Gbit/s",
		     "bandwidth: line rate of the port (Slingshot 10: 100, 11: 200 Gbit/s)",
		     "HPE, Slingshot data sheet"),
	PARAM_NUMBER(struct slingshot_params, mtu_B, QUANTITY_BYTES, 256, 9000, "4096 B",
		     "MTU: maximum data bytes in a packet",
		     "De Sensi et al., SC 2020: packets of RoCEv2 with 4 KiB"),
	PARAM_NUMBER(struct slingshot_params, packet_overhead_B, QUANTITY_BYTES, 0, 512, "62 B",
		     "packet overhead: bytes of a packet in addition to its data",
		     "De Sensi et al., SC 2020: headers of Ethernet, IP, UDP, BTH, ICRC"),
	COST_ASSUMED(struct slingshot_params, latency_s, QUANTITY_TIME, 0, 10, "650 ns",
		     "one-way latency: adapter, cable, and the switch at the far end",
		     "De Sensi et al., SC 2020: a switch of 0.35 us; assumption: an adapter of "
		     "0.3 us"),
};

static const struct param_table table = PARAM_TABLE("slingshot", struct slingshot_params, rows);

static const char *traits(const void *params, struct link_traits *out)
{
	const struct slingshot_params *slingshot = params;
	*out = (struct link_traits){
		.capacity_Bps = {slingshot->bandwidth_Bps, slingshot->bandwidth_Bps},
		.latency_s = slingshot->latency_s,
		.packet_payload_B = slingshot->mtu_B,
		.packet_overhead_B = slingshot->packet_overhead_B,
		.physical_nic = true,
	};
	return NULL;
}

const struct link_kind link_slingshot = {
	.name = "slingshot",
	.help = "Slingshot cable or switch port",
	.carries = TRAFFIC_SOCKETS | TRAFFIC_RDMA,
	.table = &table,
	.traits = traits,
};
