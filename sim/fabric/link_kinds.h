/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Declares the kinds, for the registry in link.c, and what several of them share. */
#pragma once

#include "sim/fabric/link.h"

#define LINK_KIND(name) extern const struct link_kind link_##name;
#include "sim/fabric/link_kinds.def"
#undef LINK_KIND

/* The parameters of most kinds. Each kind has rows for those that it uses; the others are 0. */
struct link_params {
	double bandwidth_Bps, reverse_bandwidth_Bps, mtu_B, packet_overhead_B, latency_s;
	double loss_ratio, reverse_loss_ratio, unmoderated_loss_ratio, generation_count;
	double flow_Bps;
	int provider; /* enum link_provider */
	bool physical, sharp, gpudirect;
};
/* Set the traits of a link inside a host, or of a cable between physical NICs. */
void plain_traits(const void *params, struct link_traits *out);
void cable_traits(const void *params, struct link_traits *out);
