/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rings inside one machine. Private to rings.c, rings_node.c and wire_device.c.
 *
 * With an NVSwitch that all GPUs reach, one ring in the order of the ranks has all the bandwidth.
 * In a mesh, each pair has a number of links. The search finds Hamiltonian cycles that use each
 * link once. A cycle gives two rings, one in each direction. Without such a cycle, neighbours may
 * communicate through a GPU of another rank, to which both have links (NCCL: PATH_NVB). GPUs that
 * have no such cycle either communicate over PCIe in one ring. Its next rank is always the nearest
 * one left, first by NVLink and then by the PCIe route. So the ring walks the PCIe tree branch by
 * branch and crosses each of its links once per direction.
 */
#pragma once

#include "sim/collective/rings.h"

struct node_rings {
	size_t rank_count, ring_count; /* ring_count >= 1 */
	const uint32_t *order;         /* ring_count * rank_count entries: places in the node */
	enum hop_class inside;
	double inside_Bps; /* goodput of all rings inside the node; 0: a single rank */
	bool switched;     /* NVSwitches connect all ranks */
};

/* ranks[count] are the ranks of one machine. Without search it returns one ring in their order. */
struct node_rings node_rings_find(struct arena *arena, struct fabric *fabric,
				  const struct ring_place *ranks, size_t count, bool search);

/* Returns true for a node with only NVLinks. GPUs and CPUs have other links, too. */
bool is_nvlink_switch(const struct fabric *fabric, int node);
/* Returns the goodput of a link's direction: its capacity without packet overhead. */
double link_goodput_Bps(const struct link_traits *traits, int direction);
/* Returns the node of a rank for routes: its GPU, or its host for host memory. */
int ring_place_node(const struct ring_place *place);
