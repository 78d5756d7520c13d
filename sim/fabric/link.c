/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/fabric/link_kinds.h"

static const struct registry_row rows[] = {
#define LINK_KIND(name) REGISTRY_ROW(link_##name),
#include "sim/fabric/link_kinds.def"
#undef LINK_KIND
};
const struct registry link_kind_registry = REGISTRY("kind of link", "links", rows);

void plain_traits(const void *params, struct link_traits *out)
{
	const struct link_params *link = params;
	double back_Bps = link->reverse_bandwidth_Bps;
	*out = (struct link_traits){
		.capacity_Bps = {link->bandwidth_Bps,
				 back_Bps > 0 ? back_Bps : link->bandwidth_Bps},
		.latency_s = link->latency_s,
		.packet_payload_B = link->mtu_B,
		.packet_overhead_B = link->packet_overhead_B,
		.loss_ratio = {link->loss_ratio, link->reverse_loss_ratio},
		.flow_Bps = link->flow_Bps,
		.provider = link->provider,
	};
}

void cable_traits(const void *params, struct link_traits *out)
{
	plain_traits(params, out);
	out->physical_nic = true;
}
