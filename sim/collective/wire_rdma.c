/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ways between hosts for NICs that read and write memory themselves.
 *
 * With gpudirect a NIC accesses GPU memory over PCIe (in a VM, whose IOMMU separates peers, through
 * the root complex) if the library allows the level of the path (net_gdr_level). Without gpudirect
 * or a route, each slice is copied through the host's memory at both ends. This is the memory of
 * the GPU's processor, because the library binds its threads there before it allocates (NCCL
 * init.cc, setCpuAffinity). An adapter at another processor reaches it through the link between the
 * sockets. */
#include "sim/collective/level.h"
#include "sim/collective/wire.h"
#include "sim/transport/path.h"
#include "sim/transport/rdma.h"

/* The largest path MTU, for a route without packets. */
static const double PACKET_B = 4096;

enum attach { ATTACH_DEVICE, ATTACH_HOST, ATTACH_GUEST, ATTACH_COUNT };

/* Returns the node at which the network part of the way begins for a rank. */
static int attach_node(const struct communicator *comm, const struct rank_state *rank,
		       enum attach attach)
{
	if (attach == ATTACH_DEVICE && comm->library->gpudirect && rank->place.gpu)
		return way_redirects(comm, rank) ? rank->root_node : rank->gpu_node;
	return attach == ATTACH_GUEST ? guest_node(rank->place.guest) : rank->host_node;
}

/* Adds the other resources at a rank's end: its slot and its host's memory. */
static bool add_end(struct communicator *comm, struct leg *leg, const struct rank_state *rank,
		    enum attach attach, bool sends)
{
	struct host *host = guest_host(rank->place.guest);
	leg->far = !sends;
	if (!rank->place.gpu) {
		leg_memory(leg, host, DRAM_PER_DMA);
		return true;
	}
	int node = attach_node(comm, rank, attach);
	if (comm->library->gpudirect && attach == ATTACH_DEVICE)
		return sends ? leg_route(comm, leg, rank->gpu_node, node, TRAFFIC_RDMA)
			     : leg_route(comm, leg, node, rank->gpu_node, TRAFFIC_RDMA);
	size_t first = leg->route_count;
	if (!leg_host(comm, leg, rank, !sends))
		return false;
	leg_memory(leg, host, 2 * DRAM_PER_DMA);
	leg_copy(comm, leg, first);
	return true;
}

/* Returns the part of the bandwidth that remains if all packets after a lost one are sent again;
 * the window is the data in flight. */
static double loss_rate_ratio(const struct communicator *comm, const struct route *route)
{
	if (route->loss_ratio <= 0)
		return 1;
	double packet_B = route->mtu_B > 0 ? route->mtu_B : PACKET_B;
	struct flow_spec flow = {.size = packet_B};
	route_uses(comm->spec.fabric, route, 0, packet_B, &flow);
	double window =
		fabric_flow_alone(comm->spec.fabric, &flow) * 2 * route->latency_s / packet_B;
	return rdma_go_back_n_ratio(route->loss_ratio, fmax(1, window));
}

/* Returns true if the library lets NICs access GPU memory on the leg's routes. */
static bool direct_allowed(const struct communicator *comm, const struct rank_state *a,
			   const struct rank_state *b, const struct leg *leg)
{
	const struct library_params *library = comm->library;
	if (library->gpudirect && comm->rings.shape.host_memory_only)
		return false;
	for (size_t i = 0; library->gpudirect && i < leg->route_count; i++)
		if ((a->place.gpu && (int)path_level(comm->spec.fabric, leg->routes[i],
						     a->root_node) > library->net_gdr_level) ||
		    (b->place.gpu && (int)path_level(comm->spec.fabric, leg->routes[i],
						     b->root_node) > library->net_gdr_level))
			return false;
	return true;
}

/* The rank of the sender's machine whose adapter is on the message's rail. */
struct via {
	size_t rank;
	bool ring; /* the message belongs to a ring or tree over the machines */
};

/* Finds that rank. A ring has one adapter in each machine, that of the rank where it enters
 * (src/graph/search.cc, ncclTopoGetNetDev with a graph). It passes from an end of the ring in one
 * machine to its first rank in another one, and so does a tree. Other messages take the adapter of
 * the rank at the receiver's place (ncclTopoGetNetDev without a graph). */
static struct via find_via(const struct communicator *comm, const struct way *way)
{
	const struct rings *rings = &comm->rings;
	const struct rank_state *ranks = comm->ranks, *a = &ranks[way->from], *b = &ranks[way->to];
	size_t begin = 0, end = 0, entry = 0, place = 0, real = SIZE_MAX;
	for (size_t r = 0; r < comm->all_count; r++) {
		begin += rings->node_of[r] < a->machine;
		end += rings->node_of[r] <= a->machine;
		entry += rings->node_of[r] < b->machine;
	}
	for (size_t r = 0; r < way->to; r++)
		place += ranks[r].machine == b->machine;
	for (size_t ring = 0; ring < rings->shape.ring_count; ring++) {
		const uint32_t *order = rings->order + ring * comm->all_count;
		if (order[entry] == b->real &&
		    (order[begin] == a->real || order[end - 1] == a->real))
			real = order[begin];
	}
	for (size_t r = 0; r < comm->rank_count; r++)
		if (ranks[r].machine == a->machine &&
		    (real == SIZE_MAX ? place-- == 0 : ranks[r].real == real))
			return (struct via){r, real != SIZE_MAX};
	return (struct via){way->from, false};
}

/* Adds the way from the sending GPU to the adapter on the receiver's rail, through the memory of
 * the GPU next to that adapter (PXN). So only leaves are crossed, not the spine. All ranks use it
 * or none, because otherwise two would share a slot. Returns false if there is no such way. */
static bool reach_rail(struct communicator *comm, struct leg *leg, const struct rank_state *a,
		       const struct rank_state *via, int out)
{
	return comm->library->pxn && leg_nvlink(comm, leg, a->gpu_node, via->gpu_node) &&
	       leg_route(comm, leg, via->gpu_node, out, TRAFFIC_COPIES);
}

/* Returns true if an adapter is behind a root complex for a rank's GPU. */
static bool is_far(const struct communicator *comm, const struct rank_state *rank, int adapter)
{
	const struct route *route =
		fabric_route(comm->spec.fabric, rank->gpu_node, adapter, TRAFFIC_COPIES);
	return !route || path_level(comm->spec.fabric, route, rank->root_node) > PATH_PXB;
}

/* Returns true if a message should leave through the memory of the GPU next to the adapter `rail`:
 * if the sender's own adapter `out` is another one, or if it is the same one but behind a root
 * complex. NCCL prefers PXN to such paths (src/graph/topo.h, PATH_PXN is less than PATH_PHB). */
static bool takes_rail(const struct communicator *comm, const struct way *way, size_t via, int out)
{
	int rail = comm->rings.adapter_of[via];
	if (comm->library->cross_nic_count == 1)
		return false;
	return rail != out || (via != way->from && is_far(comm, &comm->ranks[way->from], out) &&
			       !is_far(comm, &comm->ranks[via], rail));
}

/* Adds the way from a node of the rank to its adapter `by`, or back. A staged copy of the rank's
 * GPU starts at the root complex next to that memory. */
static bool adapter_way(struct communicator *comm, struct leg *leg, const struct rank_state *rank,
			int node, int by, bool back)
{
	bool direct = node != rank->host_node || !rank->place.gpu || rank->root_node == node;
	int from = back ? by : node, to = back ? node : by;
	if (direct)
		return leg_route(comm, leg, from, to, TRAFFIC_COPIES);
	return leg_route(comm, leg, from, rank->root_node, TRAFFIC_COPIES) &&
	       leg_route(comm, leg, rank->root_node, to, TRAFFIC_COPIES);
}

/* Adds the network part: to the receiver's own adapter, on its rail if the sender can reach it,
 * else through the sender's own adapter. Without PXN, NCCL's rings reach the rail's adapter over
 * PCIe, because their search first tries one adapter for both ends (src/graph/search.cc,
 * ncclTopoCompute), and so do other messages with NCCL_CROSS_NIC=0. Without adapters, it adds the
 * shortest route. Returns the route that crosses the network. */
static const struct route *add_network(struct communicator *comm, struct leg *leg,
				       const struct way *way, int from, int to)
{
	const int *adapter_of = comm->rings.adapter_of;
	const struct rank_state *a = &comm->ranks[way->from], *b = &comm->ranks[way->to];
	bool workers = way->from < comm->rank_count && way->to < comm->rank_count;
	int in = workers ? adapter_of[way->to] : -1, out = workers ? adapter_of[way->from] : -1;
	struct via via = workers ? find_via(comm, way) : (struct via){way->from, false};
	int rail = workers ? adapter_of[via.rank] : -1, cross = (int)comm->library->cross_nic_count;
	const struct leg before = *leg;
	bool inside = way->meets == FOLD_INSIDE && a->host_node == b->host_node;
	bool railed =
		from == a->gpu_node && !inside && rail >= 0 && takes_rail(comm, way, via.rank, out);
	bool by_pcie = !inside && (cross == 0 || (via.ring && cross != 1));
	for (int attempt = railed ? 0 : 1; attempt < (by_pcie ? 3 : 2); attempt++) {
		*leg = before;
		int by = attempt == 1 ? out : rail;
		if (by < 0 || in < 0 ||
		    !(attempt > 0 ? adapter_way(comm, leg, a, from, by, false)
				  : reach_rail(comm, leg, a, &comm->ranks[via.rank], by)))
			continue;
		size_t crossing = leg->route_count;
		if (leg_across(comm, leg, way, by, in, TRAFFIC_RDMA | TRAFFIC_BETWEEN_HOSTS) &&
		    adapter_way(comm, leg, b, to, in, true))
			return leg->routes[crossing];
	}
	*leg = before;
	if (inside || (in >= 0 && out >= 0)) /* the shortest route has no adapter, or another */
		return NULL;
	return leg_across(comm, leg, way, from, to, TRAFFIC_RDMA) ? leg->routes[0] : NULL;
}

bool way_rdma(struct communicator *comm, struct way *way)
{
	const struct rank_state *a = &comm->ranks[way->from], *b = &comm->ranks[way->to];
	struct leg *leg = &way->legs[way->leg_count++];
	way->class = HOP_NET;
	if (guest_vnic_is_socket_only(a->place.guest) || guest_vnic_is_socket_only(b->place.guest))
		return false; /* this virtual NIC does not carry RDMA */
	for (int attach = ATTACH_DEVICE; attach < ATTACH_COUNT; attach++) {
		enum attach at = (enum attach)attach;
		*leg = (struct leg){.rate_ratio = 1, .leaves = true};
		const struct route *network = add_network(comm, leg, way, attach_node(comm, a, at),
							  attach_node(comm, b, at));
		if (!network)
			continue;
		if (at == ATTACH_DEVICE && !direct_allowed(comm, a, b, leg))
			continue;
		leg->network_spB = leg_spB(comm, leg, 0);
		if (!add_end(comm, leg, a, at, true) || !add_end(comm, leg, b, at, false))
			continue;
		leg->rate_ratio = loss_rate_ratio(comm, network);
		leg->latency_s +=
			guest_vnic_latency_s(a->place.guest) + guest_vnic_latency_s(b->place.guest);
		return true;
	}
	return false;
}
