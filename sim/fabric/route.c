/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ways through the topology, and what a message weighs on them.
 *
 * Dijkstra's algorithm over (latency, hops). Latencies count in whole
 * picoseconds, so that equal ones are equal in whatever order they are added.
 * Of the ways that are still equal, the one whose list of link names comes
 * first is taken, read from the end whose node has the lesser name: there and
 * back take the same links.
 */
#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/fabric/state.h"

struct label { /* the best known way from the start to a node */
	int64_t latency_ps;
	size_t hops;
	struct hop hop; /* its last one */
	bool known, settled;
};

struct search {
	const struct fabric *fabric;
	const char *const *kinds;
	struct label *labels; /* by node */
	VEC(int) open;        /* nodes known and not settled */
	struct arena *scratch;
};

static int hop_from(const struct fabric *fabric, struct hop hop)
{
	return fabric->links.items[hop.link].nodes[hop.direction];
}

static int hop_to(const struct fabric *fabric, struct hop hop)
{
	return fabric->links.items[hop.link].nodes[1 - hop.direction];
}

static bool kind_is_in(const char *kind, const char *const *kinds)
{
	if (!kinds)
		return true;
	for (; *kinds; kinds++)
		if (strcmp(*kinds, kind) == 0)
			return true;
	return false;
}

/* Order of two ways of as many hops by their link names from the start on. */
static int compare_names(const struct search *search, struct hop a, struct hop b)
{
	const struct fabric *fabric = search->fabric;
	int from_a = hop_from(fabric, a), from_b = hop_from(fabric, b);
	if (from_a != from_b) {
		/* Equal in hops, so neither is the start, and they differ before this hop. */
		return compare_names(search, search->labels[from_a].hop,
				     search->labels[from_b].hop);
	}
	return strcmp(fabric_link_name(fabric, a.link), fabric_link_name(fabric, b.link));
}

static void relax(struct search *search, struct hop hop)
{
	const struct fabric *fabric = search->fabric;
	const struct link *link = &fabric->links.items[hop.link];
	const struct label *from = &search->labels[hop_from(fabric, hop)];
	int to = hop_to(fabric, hop);
	struct label *label = &search->labels[to];
	if (label->settled || !kind_is_in(link->kind, search->kinds))
		return;
	int64_t latency_ps = from->latency_ps + ps_from_s(link->traits.latency_s);
	size_t hops = from->hops + 1;
	if (label->known) {
		if (latency_ps > label->latency_ps)
			return;
		if (latency_ps == label->latency_ps && hops > label->hops)
			return;
		if (latency_ps == label->latency_ps && hops == label->hops &&
		    compare_names(search, hop, label->hop) > 0)
			return;
	} else {
		*VEC_PUSH(search->scratch, &search->open) = to;
	}
	*label = (struct label){latency_ps, hops, hop, true, false};
}

/* Takes the nearest open node out. */
static int take_nearest(struct search *search)
{
	size_t best = 0;
	for (size_t i = 1; i < search->open.count; i++) {
		const struct label *a = &search->labels[search->open.items[i]];
		const struct label *b = &search->labels[search->open.items[best]];
		if (a->latency_ps < b->latency_ps ||
		    (a->latency_ps == b->latency_ps && a->hops < b->hops))
			best = i;
	}
	int node = search->open.items[best];
	search->open.items[best] = search->open.items[--search->open.count];
	search->labels[node].settled = true;
	return node;
}

/* Labels the way from `from` to `to`; false if there is none. */
static bool find_way(struct search *search, int from, int to)
{
	search->labels[from].known = true;
	*VEC_PUSH(search->scratch, &search->open) = from;
	while (search->open.count > 0) {
		int node = take_nearest(search);
		if (node == to)
			return true;
		const struct adjacency *adjacency = &search->fabric->nodes.items[node];
		for (size_t i = 0; i < adjacency->hops.count; i++)
			relax(search, adjacency->hops.items[i]);
	}
	return false;
}

static void add_up(const struct fabric *fabric, struct route *route)
{
	double arrives = 1;
	for (size_t i = 0; i < route->count; i++) {
		struct hop hop = route->hops[i];
		const struct link_traits *traits = fabric_link_traits(fabric, hop.link);
		double mtu_B = traits->own_packets ? 0 : traits->packet_payload_B;
		route->latency_s += traits->latency_s;
		if (mtu_B > 0 && (route->mtu_B <= 0 || mtu_B < route->mtu_B))
			route->mtu_B = mtu_B;
		arrives *= 1 - traits->loss_ratio[hop.direction];
		route->physical_nic |= traits->physical_nic;
	}
	route->loss_ratio = 1 - arrives;
}

static const struct route *find_route(struct fabric *fabric, int from, int to,
				      const char *const *kinds)
{
	bool turned = strcmp(fabric_node_name(fabric, from), fabric_node_name(fabric, to)) > 0;
	int start = turned ? to : from, end = turned ? from : to;
	struct search search = {.fabric = fabric, .kinds = kinds, .scratch = arena_new()};
	search.labels = ARENA_ARRAY(search.scratch, fabric->nodes.count, struct label);
	struct route *route = NULL;
	if (find_way(&search, start, end)) {
		route = ARENA_NEW(fabric->arena, struct route);
		route->count = search.labels[end].hops;
		struct hop *hops = ARENA_ARRAY(fabric->arena, route->count, struct hop);
		int node = end;
		for (size_t i = 0; i < route->count; i++) {
			struct hop hop = search.labels[node].hop;
			node = hop_from(fabric, hop);
			if (turned)
				hops[i] = (struct hop){hop.link, 1 - hop.direction};
			else
				hops[route->count - 1 - i] = hop;
		}
		route->hops = hops;
		add_up(fabric, route);
	}
	arena_free(search.scratch);
	return route;
}

static bool kinds_equal(const char *const *a, const char *const *b)
{
	if (!a || !b)
		return a == b;
	for (; *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b; /* both NULL */
}

static const char *const *copy_kinds(struct arena *arena, const char *const *kinds)
{
	if (!kinds)
		return NULL;
	size_t count = 0;
	while (kinds[count])
		count++;
	const char **copy = ARENA_ARRAY(arena, count + 1, const char *);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_strdup(arena, kinds[i]);
	return copy;
}

const struct route *fabric_route(struct fabric *fabric, int from, int to, const char *const *kinds)
{
	FW_ASSERT(from >= 0 && (size_t)from < fabric->nodes.count);
	FW_ASSERT(to >= 0 && (size_t)to < fabric->nodes.count);
	for (size_t i = 0; i < fabric->routes.count; i++) {
		const struct cached_route *cached = &fabric->routes.items[i];
		if (cached->from == from && cached->to == to && kinds_equal(cached->kinds, kinds))
			return cached->route;
	}
	const struct route *route = find_route(fabric, from, to, kinds);
	*VEC_PUSH(fabric->arena, &fabric->routes) =
		(struct cached_route){from, to, copy_kinds(fabric->arena, kinds), route};
	return route;
}

static double packets_of(double mtu_B, double header_B, double payload_B)
{
	if (mtu_B <= 0)
		return 1;
	FW_ASSERT(mtu_B > header_B);
	return fmax(1, ceil(payload_B / (mtu_B - header_B)));
}

double link_wire_B(const struct link_traits *traits, double mtu_B, double header_B,
		   double payload_B)
{
	FW_ASSERT(payload_B >= 0 && header_B >= 0 && mtu_B >= 0);
	double most_B = traits->packet_payload_B;
	if (traits->own_packets) {
		double crossing_B = payload_B + packets_of(mtu_B, header_B, payload_B) * header_B;
		return crossing_B + packets_of(most_B, 0, crossing_B) * traits->packet_overhead_B;
	}
	if (mtu_B > 0 && (most_B <= 0 || mtu_B < most_B))
		most_B = mtu_B;
	return payload_B +
	       packets_of(most_B, header_B, payload_B) * (header_B + traits->packet_overhead_B);
}

double route_packets(const struct route *route, double header_B, double payload_B)
{
	FW_ASSERT(payload_B >= 0 && header_B >= 0);
	return packets_of(route->mtu_B, header_B, payload_B);
}

void route_uses(const struct fabric *fabric, const struct route *route, double header_B,
		double payload_B, struct flow_spec *spec)
{
	FW_ASSERT(payload_B > 0);
	for (size_t i = 0; i < route->count; i++) {
		struct hop hop = route->hops[i];
		const struct link *link = &fabric->links.items[hop.link];
		int resource = link->resources[hop.direction];
		double wire_B = link_wire_B(&link->traits, route->mtu_B, header_B, payload_B);
		size_t u = 0;
		while (u < spec->use_count && spec->uses[u].resource != resource)
			u++;
		if (u == spec->use_count) {
			FW_ASSERT(spec->use_count < FLOW_USES_MAX);
			spec->uses[spec->use_count++] = (struct flow_use){resource, 0};
		}
		spec->uses[u].per_unit += wire_B / payload_B;
	}
}
