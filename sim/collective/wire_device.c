/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ways inside a host: NVLink, PCIe from GPU to GPU, or host memory. */
#include "sim/collective/level.h"
#include "sim/collective/rings_node.h"
#include "sim/collective/wire.h"
#include "sim/fabric/link.h"
#include "sim/transport/path.h"

/* Switches forward the traffic of others; GPUs do not. */
bool leg_nvlink(struct communicator *comm, struct leg *leg, int from, int to)
{
	const struct route *route = fabric_route(comm->spec.fabric, from, to, TRAFFIC_PEERS);
	if (!route)
		return false;
	for (size_t i = 0; i + 1 < route->count; i++) {
		int nodes[2];
		fabric_link_nodes(comm->spec.fabric, route->hops[i].link, &nodes[0], &nodes[1]);
		if (!is_nvlink_switch(comm->spec.fabric, nodes[1 - route->hops[i].direction]))
			return false;
	}
	return leg_route(comm, leg, from, to, TRAFFIC_PEERS);
}

bool way_redirects(const struct communicator *comm, const struct rank_state *rank)
{
	return comm->library->acs || guest_params(rank->place.guest)->kind == GUEST_VM;
}

/* Returns the goodput of a direct NVLink between two GPUs, or 0. */
static double direct_Bps(const struct communicator *comm, int from, int to)
{
	const struct route *route = fabric_route(comm->spec.fabric, from, to, TRAFFIC_PEERS);
	if (!route || route->count != 1)
		return 0;
	struct hop hop = route->hops[0];
	return link_goodput_Bps(fabric_link_traits(comm->spec.fabric, hop.link), hop.direction);
}

/* NCCL passes data through the memory of the GPU of another rank if both GPUs
 * have NVLinks to it (src/transport/p2p.cc, through an intermediate GPU). */
static bool leg_through_gpu(struct communicator *comm, struct leg *leg, int from, int to)
{
	int through = -1;
	double best_Bps = 0;
	if (!comm->library->ring_search || library_has_servers(comm->library))
		return false;
	for (size_t i = 0; i < comm->rank_count; i++) {
		int node = comm->ranks[i].gpu_node;
		double pair_Bps =
			node < 0 || node == from || node == to
				? 0
				: fmin(direct_Bps(comm, from, node), direct_Bps(comm, node, to));
		if (pair_Bps > best_Bps) {
			best_Bps = pair_Bps;
			through = node;
		}
	}
	return through >= 0 && leg_route(comm, leg, from, through, TRAFFIC_PEERS) &&
	       leg_route(comm, leg, through, to, TRAFFIC_PEERS);
}

/* Returns the part of PCIe's goodput that requests from a rank's GPU to another GPU keep, because
 * root complexes forward them more slowly than requests to memory. */
static double peer_ratio(const struct communicator *comm, const struct rank_state *rank,
			 const struct route *route, bool redirected)
{
	const struct host_params *host = host_params(guest_host(rank->place.guest));
	if (!route)
		return 1;
	enum path_level level = path_level(comm->spec.fabric, route, rank->root_node);
	if (level == PATH_SYS)
		return host->peer_socket_ratio;
	return level == PATH_PHB || redirected ? host->peer_root_ratio : 1;
}

/* Adds the way through a buffer in host memory. NCCL puts it into the memory of the receiver's
 * processor (src/transport/shm.cc, NCCL_SHM_LOCALITY), so the sender's writes cross the link
 * between processors. */
static bool leg_shared_memory(struct communicator *comm, struct leg *leg,
			      const struct rank_state *a, const struct rank_state *b)
{
	bool crosses = b->root_node != a->root_node;
	bool written =
		crosses ? leg_route(comm, leg, a->gpu_node, b->root_node, TRAFFIC_COPIES) &&
				  leg_route(comm, leg, b->root_node, b->host_node, TRAFFIC_COPIES)
			: leg_host(comm, leg, a, false);
	leg_memory(leg, guest_host(a->place.guest), 2 * DRAM_PER_DMA);
	return written && leg_host(comm, leg, b, true);
}

static bool between_gpus(struct communicator *comm, struct way *way, struct leg *leg)
{
	const struct rank_state *a = &comm->ranks[way->from], *b = &comm->ranks[way->to];
	/* Both ranks use the same GPU: a copy in its memory, without a hop. */
	if (a->gpu_node == b->gpu_node) {
		leg->cap_Bps = 1 / gpu_traffic_s(a->place.gpu, 2);
		way->class = HOP_NVLINK;
		way->hop_count = 0;
		return true;
	}
	int most = comm->library->p2p_level;
	bool allowed =
		gpu_params(a->place.gpu)->peer_access && gpu_params(b->place.gpu)->peer_access;
	if (!allowed && most > PATH_NVL)
		most = PATH_NVL;
	if (most >= PATH_NVL && (leg_nvlink(comm, leg, a->gpu_node, b->gpu_node) ||
				 leg_through_gpu(comm, leg, a->gpu_node, b->gpu_node))) {
		way->class = HOP_NVLINK;
		return true;
	}
	/* Under an IOMMU (passthrough) or ACS, requests between peers go up to the root
	 * complex and down again. */
	bool redirected = way_redirects(comm, a) || way_redirects(comm, b);
	const struct route *route =
		fabric_route(comm->spec.fabric, a->gpu_node, b->gpu_node, TRAFFIC_COPIES);
	bool near = !route || (int)path_level(comm->spec.fabric, route, a->root_node) <= most;
	leg->rate_ratio = peer_ratio(comm, a, route, redirected);
	if (near && !redirected && leg_route(comm, leg, a->gpu_node, b->gpu_node, TRAFFIC_COPIES))
		return true;
	if (near && redirected && leg_route(comm, leg, a->gpu_node, a->root_node, TRAFFIC_COPIES) &&
	    leg_route(comm, leg, a->root_node, b->root_node, TRAFFIC_COPIES) &&
	    leg_route(comm, leg, b->root_node, b->gpu_node, TRAFFIC_COPIES))
		return true;
	*leg = (struct leg){.rate_ratio = 1, .leaves = true};
	way->hop_count = 2;
	return comm->library->shm && leg_shared_memory(comm, leg, a, b);
}

bool way_inside(struct communicator *comm, struct way *way)
{
	const struct rank_state *a = &comm->ranks[way->from], *b = &comm->ranks[way->to];
	struct host *host = guest_host(a->place.guest);
	struct leg *leg = &way->legs[way->leg_count++];
	leg->leaves = true;
	way->class = HOP_PCI;
	if (a->place.gpu && b->place.gpu)
		return between_gpus(comm, way, leg);
	if (a->place.gpu || b->place.gpu) {
		leg_memory(leg, host, DRAM_PER_DMA);
		return leg_host(comm, leg, a->place.gpu ? a : b, !a->place.gpu);
	}
	leg_memory(leg, host, DRAM_PER_COPY);
	leg->core = a->core;
	leg->core_spB = cpu_slowdown(a->core) / host_params(host)->copy_rate_Bps;
	return true;
}
