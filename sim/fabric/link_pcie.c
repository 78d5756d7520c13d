/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PCI Express: lanes, line coding, and data divided into TLPs.
 *
 *   capacity = lanes * transfers/s * coding / 8 * efficiency
 *
 * Generations 1 and 2 encode 8 bits as 10, generations 3 to 5 128 bits as 130. Generation 6 sends
 * flits of 256 bytes, which hold 236 bytes of TLPs. A write TLP of up to max_payload bytes has
 * tlp_overhead further bytes for framing, sequence number, header (12 or 16) and LCRC. */
#include "sim/fabric/link_kinds.h"

struct pcie_params {
	double generation_count, lanes_count, max_payload_B, tlp_overhead_B, latency_s;
	double efficiency_ratio;
};

static const struct param_row rows[] = {
	PARAM_WHOLE(struct pcie_params, generation_count, 1, 6, "3",
		    "generation of PCI Express, 1 to 6", "assumption: servers of 2012 to 2019"),
	PARAM_WHOLE(struct pcie_params, lanes_count, 1, 32, "16",
		    "number of lanes in use (a x16 card in a x8 slot has 8)",
		    "PCI Express CEM: GPUs are x16 cards"),
	PARAM_NUMBER(struct pcie_params, max_payload_B, QUANTITY_BYTES, 64, 4096, "256 B",
		     "maximum payload of a TLP (lspci: MaxPayload)",
		     "common on server root ports; used by Intel AN 708"),
	PARAM_NUMBER(struct pcie_params, tlp_overhead_B, QUANTITY_BYTES, 0, 64, "24 B",
		     "TLP overhead: bytes of a TLP in addition to its data",
		     "Intel AN 708: 20 to 28 B; 24 B with a 12 B header and ECRC, or a "
		     "16 B one without"),
	COST_ASSUMED(struct pcie_params, latency_s, QUANTITY_TIME, 0, 1, "300 ns",
		     "one-way latency, including root complex and switches",
		     "assumption: a register read of about 0.6 to 1 us consists of two crossings"),
	COST_ASSUMED(struct pcie_params, efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "1",
		     "link efficiency: part of the bandwidth that remains after link-layer packets "
		     "and credits",
		     "assumption: 1; the limits of a copy engine belong to dma"),
};

static void traits(const void *params, struct link_traits *out)
{
	static const double transfers_Hz[] = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
	const struct pcie_params *pcie = params;
	int generation = (int)pcie->generation_count;
	double coding_ratio = generation <= 2   ? 8.0 / 10
			      : generation <= 5 ? 128.0 / 130
						: 236.0 / 256;
	double lane_Bps = transfers_Hz[generation - 1] * coding_ratio / 8;
	double capacity_Bps = lane_Bps * pcie->lanes_count * pcie->efficiency_ratio;
	*out = (struct link_traits){
		.capacity_Bps = {capacity_Bps, capacity_Bps},
		.latency_s = pcie->latency_s,
		.packet_payload_B = pcie->max_payload_B,
		.packet_overhead_B = pcie->tlp_overhead_B,
		.own_packets = true,
	};
}

const struct link_kind link_pcie = {
	.name = "pcie",
	.help = "PCI Express slot, switch port or root port",
	.inside_host = true,
	.carries = TRAFFIC_COPIES | TRAFFIC_SOCKETS | TRAFFIC_RDMA,
	.table = PARAM_TABLE_OF("pcie", struct pcie_params, rows),
	.traits = traits,
};
