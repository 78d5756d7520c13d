/* SPDX-License-Identifier: GPL-3.0-or-later */
/* EFA: Amazon's Elastic Fabric Adapter. Its protocol SRD sends packets over many routes and
 * delivers them out of order. NCCL uses it through the plugin aws-ofi-nccl, whose behaviour depends
 * on the generation (sim/collective/efa.c). */
#include "sim/fabric/link_kinds.h"

static const struct param_row rows[] = {
	PARAM_WHOLE(struct link_params, generation_count, 1, 4, "2",
		    "generation: 1 (p3dn, p4d), 2 (p5), 3 (p5en), 4 (p6)",
		    "AWS, documentation of the instance types"),
	PARAM_NUMBER(struct link_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e13, "100 Gbit/s",
		     "bandwidth: line rate of the adapter", "AWS: p4d has four of 100 Gbit/s"),
	PARAM_NUMBER(struct link_params, mtu_B, QUANTITY_BYTES, 256, 9000, "8192 B",
		     "MTU: maximum data bytes in a packet",
		     "libfabric, fi_efa(7): datagrams of about 8 KiB"),
	PARAM_NUMBER(struct link_params, packet_overhead_B, QUANTITY_BYTES, 0, 512, "82 B",
		     "packet overhead: bytes of a packet in addition to its data",
		     "assumption: as RoCEv2, because SRD's headers are not published"),
	COST_ASSUMED(struct link_params, latency_s, QUANTITY_TIME, 0, 10, "6.3 us",
		     "one-way latency: adapter, cable, and the switch at the far end",
		     "aws-ofi-nccl, src/tuner/nccl_ofi_model.cpp: 20 us for a step between "
		     "machines (p5), of which NCCL's hop is 7 us"),
	PARAM_BOOL(struct link_params, gpudirect, "true", "whether the adapter accesses GPU memory",
		   "aws-ofi-nccl, src/platform-aws.cpp, gdr_required: all but p3dn"),
	PARAM_NUMBER(struct link_params, flow_Bps, QUANTITY_RATE, 0, 1e13, "10 Gbit/s",
		     "largest bandwidth of one TCP stream; 0 means unlimited",
		     "AWS, EC2 instance network bandwidth: 10 Gbit/s in a cluster placement group, "
		     "otherwise 5 Gbit/s"),
};

static void traits(const void *params, struct link_traits *out)
{
	const struct link_params *efa = params;
	cable_traits(params, out);
	out->provider = PROVIDER_AWS;
	out->efa_generation = (int)efa->generation_count;
	out->host_memory_only = !efa->gpudirect;
}

const struct link_kind link_efa = {
	.name = "efa",
	.help = "Amazon's Elastic Fabric Adapter (EFA) with SRD",
	.carries = TRAFFIC_SOCKETS | TRAFFIC_RDMA,
	.table = PARAM_TABLE_OF("efa", struct link_params, rows),
	.traits = traits,
};
