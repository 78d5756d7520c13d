/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of the ranks on each ring, found from the links between them.
 *
 * Inside a machine, rings use the widest NVLink connections that share no link direction, as
 * many as there are (a DGX-1's hybrid mesh has several, a switch any number). Without NVLink,
 * the order is that of the PCIe tree, in which neighbours are near. Across machines a ring runs
 * through one machine before the next, and ring k enters and leaves by the GPU of the k-th NIC
 * in turn, so that all NICs work. */
#ifndef FARWIRE_COLLECTIVE_RINGS_H
#define FARWIRE_COLLECTIVE_RINGS_H

#include "sim/collective/fold.h"
#include "sim/collective/library.h"
#include "sim/fabric/fabric.h"

struct ring_place {
	int gpu_node, host_node; /* fabric nodes; gpu_node < 0: host memory */
};
struct rings {
	struct comm_shape shape;
	const uint32_t *node_of; /* by rank */
	const uint32_t *order;   /* ring_count (of shape) * rank_count */
	/* By rank: the node at which its own network adapter is, the nearest, equally
	 * near ones dealt out in turn, as NCCL does; -1: one machine, or none. */
	const int *adapter_of;
};
/* fold: ranks are the simulated ones, and order and node_of those of all, for whom they stand;
 * NULL: ranks are all. traffic: what networks between hosts must carry. */
struct rings rings_find(struct arena *arena, struct fabric *fabric, const struct ring_place *ranks,
			size_t rank_count, unsigned traffic, const struct fold *fold);
/* The same for a library that does not search (ring_search false): one ring, the
 * ranks of each node in their order, whatever links them. */
struct rings rings_in_order(struct arena *arena, struct fabric *fabric,
			    const struct ring_place *ranks, size_t rank_count, unsigned traffic,
			    const struct fold *fold);

#endif
