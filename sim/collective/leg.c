/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a leg: routes, memory, and copies between a GPU and its host. */
#include "sim/collective/wire.h"
#include "sim/transport/path.h"

bool leg_route(struct communicator *comm, struct leg *leg, int from, int to, unsigned traffic)
{
	const struct route *route = fabric_route(comm->spec.fabric, from, to, traffic);
	if (!route)
		return false;
	FW_ASSERT(leg->route_count < LEG_ROUTES_MAX);
	leg->far_routes[leg->route_count] = leg->far;
	leg->routes[leg->route_count++] = route;
	leg->latency_s += route->latency_s;
	return true;
}

void leg_memory(struct leg *leg, struct host *host, double dram_per_B)
{
	FW_ASSERT(leg->host_count < LEG_HOSTS_MAX);
	leg->far_hosts[leg->host_count] = leg->far;
	leg->hosts[leg->host_count] = host;
	leg->dram_per_B[leg->host_count++] = dram_per_B;
}

double leg_spB(const struct communicator *comm, const struct leg *leg, size_t first)
{
	double slowest_spB = 0;
	for (size_t i = first; i < leg->route_count; i++) {
		struct flow_spec flow = {.size = comm->library->slice_B};
		route_uses(comm->spec.fabric, leg->routes[i], 0, flow.size, &flow);
		slowest_spB = fmax(slowest_spB, 1 / fabric_flow_alone(comm->spec.fabric, &flow));
	}
	return slowest_spB;
}

void leg_copy(const struct communicator *comm, struct leg *leg, size_t first)
{
	FW_ASSERT(leg->copy_count < LEG_COPIES_MAX);
	leg->copy_spB[leg->copy_count++] = leg_spB(comm, leg, first);
}

/* NVLink is used only if the CPU has no other link to the GPU. */
bool leg_host(struct communicator *comm, struct leg *leg, const struct rank_state *rank, bool back)
{
	int from = back ? rank->host_node : rank->gpu_node;
	int to = back ? rank->gpu_node : rank->host_node;
	return leg_route(comm, leg, from, to, TRAFFIC_COPIES) ||
	       leg_route(comm, leg, from, to, TRAFFIC_COPIES | TRAFFIC_PEERS);
}

bool leg_across(struct communicator *comm, struct leg *leg, const struct way *way, int from, int to,
		unsigned traffic)
{
	if (way->meets == FOLD_INSIDE)
		return leg_route(comm, leg, from, to, traffic);
	int at =
		fold_meeting(comm->spec.fabric, comm->spec.top_node, from, to, way->meets, traffic);
	if (at < 0 || !leg_route(comm, leg, from, at, traffic))
		return false;
	leg->far = true;
	return leg_route(comm, leg, at, to, traffic);
}
