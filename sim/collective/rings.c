/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings over all machines: the rings inside each (rings_node.c), cut open and
 * joined, one for each network adapter.
 *
 * Machines made from one template have their nodes and links in the same order, so
 * the first one's answer serves for all whose links are the same; anything else is
 * looked at by itself.
 */

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/collective/rings_node.h"

enum { KINDS_MOST = 16 };

struct machine {
	int host_node;
	size_t count;
	uint32_t *ranks;
	struct ring_place *places;
	VEC(int) links; /* inside and at its border, by index */
	size_t like;    /* the first machine of the same shape */
	struct node_rings inner;
	/* By place: which of the machine's adapters its way out takes, and how many
	 * hops away that is; the adapters' goodput together. */
	uint8_t *adapter, *adapter_hops;
	size_t adapter_count;
	double network_Bps;
};

struct finder {
	struct arena *arena, *scratch;
	struct fabric *fabric;
	const char *const *network_kinds;
	bool search;
	struct machine *machines;
	size_t machine_count;
	uint32_t *node_of;
};

static bool is_network(const struct finder *finder, int link)
{
	const char *kind = fabric_link_kind(finder->fabric, link);
	for (const char *const *k = finder->network_kinds; k && *k; k++)
		if (strcmp(*k, kind) == 0)
			return true;
	return false;
}

/* ---- machines ---- */

static void group_ranks(struct finder *finder, const struct ring_place *ranks, size_t rank_count)
{
	size_t node_count = fabric_node_count(finder->fabric);
	uint32_t *machine_of = ARENA_ARRAY(finder->scratch, node_count, uint32_t); /* plus 1 */
	finder->machines = ARENA_ARRAY(finder->scratch, rank_count, struct machine);
	for (size_t r = 0; r < rank_count; r++) {
		FW_ASSERT(ranks[r].host_node >= 0);
		uint32_t *slot = &machine_of[ranks[r].host_node];
		if (*slot == 0) {
			*slot = (uint32_t)++finder->machine_count;
			finder->machines[*slot - 1].host_node = ranks[r].host_node;
		}
		finder->node_of[r] = *slot - 1;
		finder->machines[*slot - 1].count++;
	}
	for (size_t m = 0; m < finder->machine_count; m++) {
		struct machine *machine = &finder->machines[m];
		machine->ranks = ARENA_ARRAY(finder->scratch, machine->count, uint32_t);
		machine->places = ARENA_ARRAY(finder->scratch, machine->count, struct ring_place);
		machine->count = 0;
	}
	for (size_t r = 0; r < rank_count; r++) {
		struct machine *machine = &finder->machines[finder->node_of[r]];
		machine->places[machine->count] = ranks[r];
		machine->ranks[machine->count++] = (uint32_t)r;
	}
}

/* Which part of the fabric a node is in when the network's links are taken away. */
static int part_of(int *parts, int node)
{
	while (parts[node] != node) {
		parts[node] = parts[parts[node]];
		node = parts[node];
	}
	return node;
}

static void give_links(struct finder *finder)
{
	struct fabric *fabric = finder->fabric;
	size_t node_count = fabric_node_count(fabric), link_count = fabric_link_count(fabric);
	int *parts = ARENA_ARRAY(finder->scratch, node_count, int);
	uint32_t *machine_of = ARENA_ARRAY(finder->scratch, node_count, uint32_t); /* plus 1 */
	for (size_t i = 0; i < node_count; i++)
		parts[i] = (int)i;
	for (size_t i = 0; i < link_count; i++) {
		int a, b;
		fabric_link_nodes(fabric, (int)i, &a, &b);
		if (!is_network(finder, (int)i))
			parts[part_of(parts, a)] = part_of(parts, b);
	}
	for (size_t m = 0; m < finder->machine_count; m++)
		machine_of[part_of(parts, finder->machines[m].host_node)] = (uint32_t)m + 1;
	for (size_t i = 0; i < link_count; i++) {
		int a, b;
		fabric_link_nodes(fabric, (int)i, &a, &b);
		uint32_t m_a = machine_of[part_of(parts, a)], m_b = machine_of[part_of(parts, b)];
		if (m_a > 0)
			*VEC_PUSH(finder->scratch, &finder->machines[m_a - 1].links) = (int)i;
		if (m_b > 0 && m_b != m_a)
			*VEC_PUSH(finder->scratch, &finder->machines[m_b - 1].links) = (int)i;
	}
}

static bool traits_like(const struct link_traits *a, const struct link_traits *b)
{
	return memcmp(a->capacity_Bps, b->capacity_Bps, sizeof(a->capacity_Bps)) == 0 &&
	       fabs(a->latency_s - b->latency_s) <= 0 &&
	       fabs(a->packet_payload_B - b->packet_payload_B) <= 0 &&
	       fabs(a->packet_overhead_B - b->packet_overhead_B) <= 0;
}

static bool link_like(const struct finder *finder, const struct machine *a, int link_a,
		      const struct machine *b, int link_b)
{
	struct fabric *fabric = finder->fabric;
	int offset = b->host_node - a->host_node;
	int a0, a1, b0, b1;
	fabric_link_nodes(fabric, link_a, &a0, &a1);
	fabric_link_nodes(fabric, link_b, &b0, &b1);
	const struct link_traits *traits_a = fabric_link_traits(fabric, link_a);
	const struct link_traits *traits_b = fabric_link_traits(fabric, link_b);
	/* A network's link needs only its inner end alike. */
	bool ends = is_network(finder, link_a) ? b0 - a0 == offset || b1 - a1 == offset
					       : b0 - a0 == offset && b1 - a1 == offset;
	return ends &&
	       strcmp(fabric_link_kind(fabric, link_a), fabric_link_kind(fabric, link_b)) == 0 &&
	       traits_like(traits_a, traits_b);
}

static bool machine_like(const struct finder *finder, const struct machine *a,
			 const struct machine *b)
{
	int offset = b->host_node - a->host_node;
	if (a->count != b->count || a->links.count != b->links.count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		int gpu_a = a->places[i].gpu_node, gpu_b = b->places[i].gpu_node;
		if (gpu_a < 0 || gpu_b < 0 ? gpu_a != gpu_b : gpu_b - gpu_a != offset)
			return false;
	}
	for (size_t i = 0; i < a->links.count; i++)
		if (!link_like(finder, a, a->links.items[i], b, b->links.items[i]))
			return false;
	return true;
}

/* ---- adapters ---- */

static const char *const *outside_kinds(struct finder *finder)
{
	const char **kinds = ARENA_ARRAY(finder->scratch, KINDS_MOST, const char *);
	size_t count = 0;
	kinds[count++] = "pcie";
	kinds[count++] = "socket";
	for (const char *const *k = finder->network_kinds; k && *k; k++) {
		FW_ASSERT(count + 1 < KINDS_MOST);
		kinds[count++] = *k;
	}
	return kinds;
}

/* The way from a rank's GPU to its like in another machine, or from its host if the
 * GPU has none, tells which adapter is its own. */
static const struct route *way_out(struct finder *finder, const struct machine *from, size_t place,
				   const struct machine *to)
{
	const char *const *kinds = outside_kinds(finder);
	size_t peer = place < to->count ? place : to->count - 1;
	const struct route *route =
		fabric_route(finder->fabric, ring_place_node(&from->places[place]),
			     ring_place_node(&to->places[peer]), kinds);
	if (!route)
		route = fabric_route(finder->fabric, from->host_node, to->host_node, kinds);
	return route;
}

static void find_adapters(struct finder *finder, struct machine *machine,
			  const struct machine *other)
{
	int seen[NODE_RANKS_MOST];
	machine->adapter = ARENA_ARRAY(finder->scratch, machine->count, uint8_t);
	machine->adapter_hops = ARENA_ARRAY(finder->scratch, machine->count, uint8_t);
	for (size_t place = 0; place < machine->count; place++) {
		const struct route *route = way_out(finder, machine, place, other);
		size_t hop = 0;
		while (route && hop < route->count && !is_network(finder, route->hops[hop].link))
			hop++;
		if (!route || hop == route->count)
			continue;
		int link = route->hops[hop].link;
		size_t k = 0;
		while (k < machine->adapter_count && seen[k] != link)
			k++;
		if (k == machine->adapter_count) {
			const struct link_traits *traits = fabric_link_traits(finder->fabric, link);
			seen[machine->adapter_count++] = link;
			machine->network_Bps +=
				link_goodput_Bps(traits, route->hops[hop].direction);
		}
		machine->adapter[place] = (uint8_t)k;
		machine->adapter_hops[place] = (uint8_t)(hop < 255 ? hop : 255);
	}
}

static void study(struct finder *finder, size_t m)
{
	struct machine *machine = &finder->machines[m];
	for (size_t k = 0; k < m; k++) {
		const struct machine *known = &finder->machines[k];
		if (known->like != k || !machine_like(finder, known, machine))
			continue;
		machine->like = k;
		machine->inner = known->inner;
		machine->adapter = known->adapter;
		machine->adapter_hops = known->adapter_hops;
		machine->adapter_count = known->adapter_count;
		machine->network_Bps = known->network_Bps;
		return;
	}
	machine->like = m;
	machine->inner = node_rings_find(finder->scratch, finder->fabric, machine->places,
					 machine->count, finder->search);
	if (finder->machine_count > 1)
		find_adapters(finder, machine, &finder->machines[m == 0 ? 1 : 0]);
}

/* ---- joining ---- */

/* Where ring `lane` of a machine is cut: between a rank that leaves and the next,
 * which is entered. */
struct cut {
	size_t ring, first; /* of inner; place in its order that is entered */
};

/* The nearest pair of neighbours to the adapter of the lane, and of equally near
 * ones the pair that other lanes use least. leaves and enters count uses. */
static struct cut find_cut(const struct machine *machine, size_t lane, size_t *leaves,
			   size_t *enters, size_t *ring_uses)
{
	size_t count = machine->count, adapters = machine->adapter_count;
	size_t adapter = adapters > 0 ? lane % adapters : 0;
	struct cut best = {lane % machine->inner.ring_count, 0};
	size_t best_cost = SIZE_MAX;
	for (size_t ring = 0; ring < machine->inner.ring_count; ring++) {
		const uint8_t *order = machine->inner.order + ring * count;
		for (size_t first = 0; first < count; first++) {
			size_t in = order[first], out = order[(first + count - 1) % count];
			size_t far = (size_t)(machine->adapter[in] != adapter) +
				     (size_t)(machine->adapter[out] != adapter);
			size_t cost = (far * 64 + ring_uses[ring]) * 4096 +
				      (leaves[out] + enters[in]) * 16 + (size_t)(first != 0);
			if (cost < best_cost) {
				best_cost = cost;
				best = (struct cut){ring, first};
			}
		}
	}
	const uint8_t *order = machine->inner.order + best.ring * count;
	enters[order[best.first]]++;
	leaves[order[(best.first + count - 1) % count]]++;
	ring_uses[best.ring]++;
	return best;
}

/* Lanes across machines: one for each adapter, or more where one ring inside is
 * slower than an adapter. */
static size_t lanes_across(const struct finder *finder, double inside_Bps, double network_Bps)
{
	size_t adapters = 1, rings = 1;
	for (size_t m = 0; m < finder->machine_count; m++) {
		const struct machine *machine = &finder->machines[m];
		if (machine->adapter_count > adapters)
			adapters = machine->adapter_count;
		if (machine->inner.ring_count > rings)
			rings = machine->inner.ring_count;
	}
	if (inside_Bps <= 0 || network_Bps <= 0 || rings == 1)
		return adapters;
	double ring_Bps = inside_Bps / (double)rings;
	double needed = ceil(fmin(network_Bps, inside_Bps) / ring_Bps / (double)adapters);
	return adapters * (size_t)fmax(1, needed);
}

static void write_across(struct finder *finder, size_t lanes, size_t rank_count, uint32_t *order)
{
	struct cut *cuts = ARENA_ARRAY(finder->scratch, lanes, struct cut);
	size_t at = 0;
	for (size_t m = 0; m < finder->machine_count; m++) {
		const struct machine *machine = &finder->machines[m];
		size_t count = machine->count;
		if (machine->like == m || m == 0 || machine->like != (machine - 1)->like) {
			size_t *uses = ARENA_ARRAY(finder->scratch,
						   2 * count + machine->inner.ring_count, size_t);
			for (size_t lane = 0; lane < lanes; lane++)
				cuts[lane] = find_cut(machine, lane, uses, uses + count,
						      uses + 2 * count);
		}
		for (size_t lane = 0; lane < lanes; lane++) {
			const uint8_t *inner = machine->inner.order + cuts[lane].ring * count;
			for (size_t i = 0; i < count; i++)
				order[lane * rank_count + at + i] =
					machine->ranks[inner[(cuts[lane].first + i) % count]];
		}
		at += count;
	}
}

static void write_alone(const struct machine *machine, uint32_t *order)
{
	size_t entries = machine->inner.ring_count * machine->count;
	for (size_t i = 0; i < entries; i++)
		order[i] = machine->ranks[machine->inner.order[i]];
}

static struct comm_shape shape_of(const struct finder *finder, size_t rank_count)
{
	struct comm_shape shape = {
		.rank_count = rank_count,
		.node_count = finder->machine_count,
		.inside = HOP_NVLINK,
		.ring_count = 1,
	};
	for (size_t m = 0; m < finder->machine_count; m++) {
		const struct machine *machine = &finder->machines[m];
		if (machine->count > shape.rank_most)
			shape.rank_most = machine->count;
		if (machine->inner.inside > shape.inside)
			shape.inside = machine->inner.inside;
		if (machine->inner.inside_Bps > 0 &&
		    (shape.inside_Bps <= 0 || machine->inner.inside_Bps < shape.inside_Bps))
			shape.inside_Bps = machine->inner.inside_Bps;
		if (m == 0 || machine->network_Bps < shape.network_Bps)
			shape.network_Bps = machine->network_Bps;
	}
	return shape;
}

static struct rings find(struct finder *finder, const struct ring_place *ranks, size_t rank_count)
{
	FW_ASSERT(rank_count > 0);
	finder->node_of = ARENA_ARRAY(finder->arena, rank_count, uint32_t);
	group_ranks(finder, ranks, rank_count);
	give_links(finder);
	for (size_t m = 0; m < finder->machine_count; m++)
		study(finder, m);
	struct comm_shape shape = shape_of(finder, rank_count);
	if (finder->machine_count > 1)
		shape.ring_count = lanes_across(finder, shape.inside_Bps, shape.network_Bps);
	else
		shape.ring_count = finder->machines[0].inner.ring_count;
	uint32_t *order = ARENA_ARRAY(finder->arena, shape.ring_count * rank_count, uint32_t);
	if (finder->machine_count > 1)
		write_across(finder, shape.ring_count, rank_count, order);
	else
		write_alone(&finder->machines[0], order);
	return (struct rings){.shape = shape, .node_of = finder->node_of, .order = order};
}

static struct rings find_with(struct arena *arena, struct fabric *fabric,
			      const struct ring_place *ranks, size_t rank_count,
			      const char *const *network_kinds, bool search)
{
	struct finder finder = {
		.arena = arena,
		.scratch = arena_new(),
		.fabric = fabric,
		.network_kinds = network_kinds,
		.search = search,
	};
	struct rings rings = find(&finder, ranks, rank_count);
	arena_free(finder.scratch);
	return rings;
}

struct rings rings_find(struct arena *arena, struct fabric *fabric, const struct ring_place *ranks,
			size_t rank_count, const char *const *network_kinds)
{
	return find_with(arena, fabric, ranks, rank_count, network_kinds, true);
}

struct rings rings_in_order(struct arena *arena, struct fabric *fabric,
			    const struct ring_place *ranks, size_t rank_count,
			    const char *const *network_kinds)
{
	return find_with(arena, fabric, ranks, rank_count, network_kinds, false);
}
