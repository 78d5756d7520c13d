/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NVLink: a bundle of links between two GPUs, a GPU and a CPU, or a GPU and an NVSwitch. Data
 * travel in packets of flits of 16 bytes: one header flit and up to 16 data flits. With a bandwidth
 * of its own it is another link of the same use, such as AMD's xGMI. */
#include "sim/fabric/link_kinds.h"

struct nvlink_params {
	double bandwidth_Bps, generation_count, links_count;
	double packet_payload_B, packet_overhead_B, latency_s;
};

static const struct param_row rows[] = {
	PARAM_NUMBER(struct nvlink_params, bandwidth_Bps, QUANTITY_RATE, 0, 1e13, "0 GB/s",
		     "bandwidth of one link in one direction, for links that are not NVLinks, such "
		     "as AMD's xGMI; 0 means that of the generation",
		     "by definition: the generation states it"),
	PARAM_WHOLE(struct nvlink_params, generation_count, 1, 5, "2",
		    "generation of NVLink: 1 P100, 2 V100, 3 A100, 4 H100, 5 B200",
		    "assumption: V100, the most common in the shipped topologies"),
	PARAM_WHOLE(struct nvlink_params, links_count, 1, 36, "1",
		    "number of links between the two ends",
		    "NVIDIA: a P100 has 4, a V100 6, an A100 12, an H100 and a B200 18"),
	PARAM_NUMBER(struct nvlink_params, packet_payload_B, QUANTITY_BYTES, 16, 4096, "256 B",
		     "maximum data bytes in a packet",
		     "Foley and Danskin, IEEE Micro 37(2), 2017: 16 data flits of 16 B; assumed "
		     "for later generations"),
	PARAM_NUMBER(struct nvlink_params, packet_overhead_B, QUANTITY_BYTES, 0, 256, "16 B",
		     "packet overhead: bytes of a packet in addition to its data",
		     "Foley and Danskin, IEEE Micro 37(2), 2017: one header flit; assumed for "
		     "later generations"),
	COST_ASSUMED(struct nvlink_params, latency_s, QUANTITY_TIME, 0, 1, "250 ns",
		     "one-way latency, including a switch at the far end",
		     "assumption: a quarter of a load from another GPU (about 1 us), which crosses "
		     "two links to a switch and from it, there and back"),
};

static void traits(const void *params, struct link_traits *out)
{
	/* Bandwidth of one link in one direction. 1 to 3: NVIDIA's white papers (P100, V100, A100).
	 * 4 and 5: the line rate reported by nvidia-smi nvlink -s (the papers round to 25 and 50
	 * GB/s). */
	static const double link_Bps[] = {20e9, 25e9, 25e9, 26.5625e9, 53.125e9};
	const struct nvlink_params *nvlink = params;
	double own_Bps = nvlink->bandwidth_Bps > 0 ? nvlink->bandwidth_Bps
						   : link_Bps[(int)nvlink->generation_count - 1];
	double capacity_Bps = own_Bps * nvlink->links_count;
	*out = (struct link_traits){
		.capacity_Bps = {capacity_Bps, capacity_Bps},
		.latency_s = nvlink->latency_s,
		.packet_payload_B = nvlink->packet_payload_B,
		.packet_overhead_B = nvlink->packet_overhead_B,
		.own_packets = true,
	};
}

const struct link_kind link_nvlink = {
	.name = "nvlink",
	.help = "NVLink bundle between GPUs, or to an NVSwitch",
	.inside_host = true,
	.carries = TRAFFIC_PEERS,
	.table = PARAM_TABLE_OF("nvlink", struct nvlink_params, rows),
	.traits = traits,
};
