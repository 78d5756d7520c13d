/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared memory between two programs of one host. There are no packets, only a bandwidth (one core
 * copying, or two in step) and the time until one program sees a flag set by the other. Each
 * direction has the full bandwidth. Add the host's memory as a further resource where the
 * directions compete. */
#include "sim/fabric/link_kinds.h"

static const struct param_row rows[] = {
	COST_ASSUMED(struct link_params, bandwidth_Bps, QUANTITY_RATE, 1, 1e14, "8 GB/s",
		     "bandwidth of each direction",
		     "assumption: one core copying in a DDR4 server"),
	COST_ASSUMED(struct link_params, latency_s, QUANTITY_TIME, 0, 1, "200 ns",
		     "one-way latency",
		     "assumption: two transfers of a cache line between cores, of about 50 to 100 "
		     "ns each"),
};

const struct link_kind link_shm = {
	.name = "shm",
	.help = "memory shared by two programs on one host",
	.inside_host = true,
	.carries = TRAFFIC_SHARED,
	.table = PARAM_TABLE_OF("shm", struct link_params, rows),
	.traits = plain_traits,
};
