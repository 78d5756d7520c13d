/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the order of the ranks on each ring from the links between them.
 *
 * Inside a node, rings use the widest NVLink connections and share no link direction. There are as
 * many as possible: several in a DGX-1's hybrid mesh, any number behind a switch. Without NVLink,
 * the order follows the PCIe tree, so that neighbours are close. Across nodes, a ring passes each
 * node completely before the next. Ring k enters and leaves at the GPU of the k-th NIC, so that all
 * NICs are used.
 */
#pragma once

#include "sim/collective/fold.h"
#include "sim/collective/library.h"
#include "sim/fabric/fabric.h"

struct ring_place {
	int gpu_node, host_node; /* fabric nodes; gpu_node < 0: host memory */
	bool no_nvlink;          /* rings of a node with such a place use no NVLink */
	bool by_rail;            /* messages may leave by the receiver's rail, over NVLink (PXN) */
};
struct rings {
	struct comm_shape shape;
	const uint32_t *node_of; /* by rank */
	const uint32_t *order;   /* ring_count (of shape) * rank_count entries */
	/* By rank: the node of its own network adapter, which is the nearest one; equally near
	 * adapters are assigned in turn, from one that the GPU's number chooses, as in NCCL. -1: a
	 * single machine, or no adapter. */
	const int *adapter_of;
};
/* fold: ranks are the simulated ones, and order and node_of contain all ranks; NULL: ranks are all.
 * traffic: the traffic that networks between hosts must carry. Without search (ring_search false),
 * as in some libraries, there is one ring with the ranks of each node in their order, whatever the
 * links. binds: the library binds its sockets to the adapter nearest to each GPU. */
struct rings rings_find(struct arena *arena, struct fabric *fabric, const struct ring_place *ranks,
			size_t rank_count, unsigned traffic, const struct fold *fold, bool search,
			bool binds);
