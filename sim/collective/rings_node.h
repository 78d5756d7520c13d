/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to rings.c and rings_node.c: the rings inside one machine.
 *
 * NVLINK RINGS. With an NVSwitch that all GPUs reach, one ring in the order of the
 * ranks has all the bandwidth. In a mesh, each pair has a number of links, and
 * Hamiltonian cycles are looked for that use each link once; a cycle makes two
 * rings, one each way round. GPUs that NVLink does not join in a cycle meet over
 * PCIe: one ring, in which the next is always the nearest that is left, by NVLink
 * first and by the way over PCIe's tree after it. That walks the tree branch by
 * branch, so each of its links is crossed once each way.
 */
#ifndef FARWIRE_COLLECTIVE_RINGS_NODE_H
#define FARWIRE_COLLECTIVE_RINGS_NODE_H

#include "sim/collective/rings.h"

struct node_rings {
	size_t rank_count, ring_count; /* ring_count >= 1 */
	const uint32_t *order;         /* ring_count * rank_count: places in the node */
	enum hop_class inside;
	double inside_Bps; /* all rings; 0: one rank */
};

/* ranks[count] are those of one machine. search: else one ring in their order. */
struct node_rings node_rings_find(struct arena *arena, struct fabric *fabric,
				  const struct ring_place *ranks, size_t count, bool search);

/* Goodput of a link's direction: its capacity without its packets' overhead. */
double link_goodput_Bps(const struct link_traits *traits, int direction);
/* The node's name for routes: the GPU, or the host of a rank in host memory. */
int ring_place_node(const struct ring_place *place);

#endif
