/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ethernet: a cable to a switch or another machine, or the virtual switch
 * inside one host. The MTU counts the IP packet; around it go preamble and
 * start delimiter (8 B), MAC header (14), FCS (4) and the gap between frames
 * (12). Padding of very short frames (under 46 B of IP) is left out. */
#include "sim/fabric/link_kinds.h"

struct ethernet_params {
	double bandwidth_Bps;
	double reverse_bandwidth_Bps;
	double mtu_B;
	double packet_overhead_B;
	double latency_s;
	double loss_ratio;
	double reverse_loss_ratio;
	double unmoderated_loss_ratio;
	bool physical;
};

static const struct param_row rows[] = {
	PARAM_NUMBER(struct ethernet_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "10 Gbit/s",
		     "line rate from the first end to the second", "IEEE 802.3ae"),
	PARAM_NUMBER(struct ethernet_params, reverse_bandwidth_Bps, QUANTITY_RATE, 0, 1e13,
		     "0 Gbit/s", "line rate back; 0: the same",
		     "IEEE 802.3: full duplex links are symmetric"),
	PARAM_NUMBER(struct ethernet_params, mtu_B, QUANTITY_BYTES, 68, 65535, "1500 B",
		     "most bytes of an IP packet (9000 B: jumbo frames)", "IEEE 802.3; RFC 894"),
	PARAM_NUMBER(struct ethernet_params, packet_overhead_B, QUANTITY_BYTES, 0, 512, "38 B",
		     "bytes on the wire around an IP packet (42 B with a VLAN tag)",
		     "IEEE 802.3: preamble 8, MAC 14, FCS 4, gap 12"),
	COST_ASSUMED(struct ethernet_params, latency_s, QUANTITY_TIME, 0, 10, "1 us",
		     "one way: NIC, cable, and the switch at the far end",
		     "assumption: a data centre switch of 0.5 us, NIC and cable as much again"),
	COST_ASSUMED(struct ethernet_params, loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "chance that a packet is lost, first end to second",
		     "assumption: a sound link in a machine room loses nothing"),
	COST_ASSUMED(struct ethernet_params, reverse_loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "chance that a packet is lost on the way back",
		     "assumption: a sound link in a machine room loses nothing"),
	COST_ASSUMED(
		struct ethernet_params, unmoderated_loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		"that chance, first end to second, when the receiving host's NIC interrupts for "
		"every packet (moderation off); 0: the same",
		"assumption: a host that keeps up loses no more"),
	PARAM_BOOL(struct ethernet_params, physical, "true",
		   "received through a physical NIC (false: a virtual switch in one host)",
		   "assumption: a cable"),
};

static const struct param_table table = PARAM_TABLE("ethernet", struct ethernet_params, rows);

static const char *traits(const void *params, struct link_traits *out)
{
	const struct ethernet_params *ethernet = params;
	double back_Bps = ethernet->reverse_bandwidth_Bps;
	*out = (struct link_traits){
		.capacity_Bps = {ethernet->bandwidth_Bps,
				 back_Bps > 0 ? back_Bps : ethernet->bandwidth_Bps},
		.latency_s = ethernet->latency_s,
		.packet_payload_B = ethernet->mtu_B,
		.packet_overhead_B = ethernet->packet_overhead_B,
		.loss_ratio = {ethernet->loss_ratio, ethernet->reverse_loss_ratio},
		.unmoderated_loss_ratio = {ethernet->unmoderated_loss_ratio, 0},
		.physical_nic = ethernet->physical,
	};
	return NULL;
}

const struct link_kind link_ethernet = {
	.name = "ethernet",
	.help = "Ethernet cable, switch port or virtual switch",
	.carries = TRAFFIC_SOCKETS,
	.table = &table,
	.traits = traits,
};
