/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distance of a GPU from an adapter or another GPU in the same machine, in the levels that NCCL
 * uses for NCCL_NET_GDR_LEVEL and NCCL_P2P_LEVEL (src/graph/topo.h, path types). */
#pragma once

#include "sim/fabric/fabric.h"

enum path_level {
	PATH_LOC, /* no path is that near: direct access is off */
	PATH_NVL, /* NVLink; adapters have none */
	PATH_PIX, /* one PCIe switch */
	PATH_PXB, /* several PCIe switches */
	PATH_PHB, /* the root complex of a processor */
	PATH_SYS, /* the link between processors */
};

/* Returns the node where requests from a GPU turn if they cannot pass between switches: its host,
 * or the processor there whose memory is across a socket link. */
int root_of(struct fabric *fabric, int gpu_node, int host_node);
/* root_node: root_of the GPU. */
enum path_level path_level(const struct fabric *fabric, const struct route *route, int root_node);
