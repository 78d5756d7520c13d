/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ethernet: a cable to a switch or another machine, or the virtual switch inside one host. The MTU
 * counts the IP packet. Each packet also has preamble and start delimiter (8 B), MAC header (14),
 * FCS (4) and the gap between frames (12). Padding of very short frames (less than 46 B of IP) is
 * not modelled. */
#include "sim/fabric/link_kinds.h"

#define UNSEEN_LOSS 1e-5
#define HEALTHY                                                                                    \
	"assumption: a healthy link in a machine room has no loss; draws go up to 2e-5 (95 %), "   \
	"the share of SYN packets that Pingmesh saw lost within a pod (Guo et al., SIGCOMM 2015)"

static const char *const providers[] = {"none", "aws", "google", NULL};

static const struct param_row rows[] = {
	PARAM_NUMBER(struct link_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "10 Gbit/s",
		     "bandwidth: line rate from the first end to the second", "IEEE 802.3ae"),
	PARAM_NUMBER(
		struct link_params, reverse_bandwidth_Bps, QUANTITY_RATE, 0, 1e13, "0 Gbit/s",
		"reverse bandwidth: line rate from the second end to the first; 0 means the same",
		"IEEE 802.3: full duplex links are symmetric"),
	PARAM_NUMBER(struct link_params, mtu_B, QUANTITY_BYTES, 68, 65535, "1500 B",
		     "MTU: maximum size of an IP packet (9000 B: jumbo frames)",
		     "IEEE 802.3; RFC 894"),
	PARAM_NUMBER(struct link_params, packet_overhead_B, QUANTITY_BYTES, 0, 512, "38 B",
		     "packet overhead: bytes on the wire in addition to an IP packet (42 B with a "
		     "VLAN tag)",
		     "IEEE 802.3: preamble 8, MAC 14, FCS 4, gap 12"),
	COST_ASSUMED(struct link_params, latency_s, QUANTITY_TIME, 0, 10, "1 us",
		     "one-way latency: NIC, cable, and the switch at the far end",
		     "assumption: a data centre switch of 0.5 us, and as much for NIC and cable"),
	COST_UNSEEN(UNSEEN_LOSS, struct link_params, loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		    "packet loss: probability that a packet is lost from the first end to the "
		    "second",
		    HEALTHY),
	COST_UNSEEN(UNSEEN_LOSS, struct link_params, reverse_loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		    "reverse packet loss: probability that a packet is lost from the second end "
		    "to the first",
		    HEALTHY),
	COST_ASSUMED(struct link_params, unmoderated_loss_ratio, QUANTITY_RATIO, 0, 1, "0",
		     "packet loss without interrupt moderation: probability from the first end to "
		     "the second if the receiving NIC interrupts for every packet; 0 means the "
		     "same as with moderation",
		     "assumption: a host that is fast enough has no further loss; 0 is exact, "
		     "because it "
		     "means the loss of the link, which has a prior"),
	PARAM_BOOL(struct link_params, physical, "true",
		   "whether the receiver has a physical NIC (false: a virtual switch in one host)",
		   "assumption: a cable"),
	PARAM_NUMBER(struct link_params, flow_Bps, QUANTITY_RATE, 0, 1e13, "0 Gbit/s",
		     "largest bandwidth of one TCP stream; 0 means unlimited",
		     "AWS, EC2 instance network bandwidth: 5 Gbit/s, or 10 Gbit/s in a cluster "
		     "placement group; own networks do not limit a stream"),
	PARAM_CHOICE(struct link_params, provider, providers, "none",
		     "cloud whose adapters NCCL recognises, which decides its number of sockets: "
		     "none, aws, google",
		     "assumption: a network of the owner of the machines"),
};

static void traits(const void *params, struct link_traits *out)
{
	const struct link_params *ethernet = params;
	cable_traits(params, out);
	out->unmoderated_loss_ratio[0] = ethernet->unmoderated_loss_ratio;
	out->physical_nic = ethernet->physical;
}

const struct link_kind link_ethernet = {
	.name = "ethernet",
	.help = "Ethernet cable, switch port or virtual switch",
	.carries = TRAFFIC_SOCKETS,
	.table = PARAM_TABLE_OF("ethernet", struct link_params, rows),
	.traits = traits,
};
