/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Routes through the topology, and bytes of a message on them.
 *
 * Routes are found by Dijkstra's algorithm over (latency, hops). Latencies are whole picoseconds,
 * so that equal latencies stay equal in any order of addition.
 *
 * Several paths may still be equal. They are compared at the node where they part:
 *
 *   torus     the path goes on in the lowest dimension (dimension-order routing). If both ways
 * around a dimension are equally long, a parity of coordinates decides. So the pairs of routers of
 * a uniform all-to-all use both ways equally. switches  a hash of the two ends of the route and of
 * the link decides, as the hash of ECMP does. So pairs of ends are spread over equal paths. others
 * the first by name: which adapter of a machine a message takes is not the network's choice.
 *
 * A route is searched from the end whose node has the smaller name, so both directions use the same
 * links. On a torus each direction has a search of its own, because its order of dimensions begins
 * at the sender.
 *
 * Routes do not pass through other hosts, because an adapter does not forward from the network into
 * PCIe and out again. So links inside hosts are used only in the hosts of the two ends, unless no
 * such route exists. In a cluster this also keeps the search out of all other hosts.
 */
#include "sim/base/hash.h"
#include "sim/fabric/link.h"
#include "sim/fabric/state.h"

struct route_label { /* the best known path from the start to a node */
	int64_t latency_ps;
	size_t hops;
	struct hop hop; /* the last hop of the path */
	bool known, settled;
	uint64_t round; /* the search that wrote this label; labels of other searches are void */
};

struct route_candidate { /* a node to settle, or an outdated label of one */
	int64_t latency_ps;
	size_t hops;
	int node;
};

struct route_search {
	struct fabric *fabric;
	unsigned traffic;
	bool confined;    /* links inside other machines than those of the ends are not taken */
	int ends[2];      /* nodes at which the route starts and ends */
	bool in_torus[2]; /* whether they are at a router of a torus, and its coordinates */
	int routers[2][3];
	VEC(struct route_candidate) heap;
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

/* Returns the label of a node, which is empty when this search looks at it first. */
static struct route_label *label_of(const struct route_search *search, int node)
{
	struct route_label *label = &search->fabric->route_labels[node];
	if (label->round != search->fabric->route_round)
		*label = (struct route_label){.round = search->fabric->route_round};
	return label;
}

/* Returns the dimension in which two neighbours of a torus differ. */
static int dimension_of(const int a[3], const int b[3])
{
	int d = 0;
	while (d < 2 && a[d] == b[d])
		d++;
	return d;
}

/* Returns true if half-way routes from this router in dimension d go upwards. The other coordinates
 * of both ends and the own one make the parity. So each router sends half of its routes upwards if
 * another dimension has an even number of routers. Otherwise its neighbours send the others. */
static bool goes_up(const struct route_search *search, const int at[3], int d)
{
	int sum = at[d];
	for (int i = 0; i < 3; i++)
		if (i != d)
			sum += search->routers[0][i] + search->routers[1][i];
	return sum % 2 == 0;
}

/* Compares two hops that leave one router of a torus. */
static int compare_dimensions(const struct route_search *search, const int at[3], const int a[3],
			      const int b[3])
{
	int of_a = dimension_of(at, a), of_b = dimension_of(at, b);
	if (of_a != of_b)
		return of_a - of_b;
	int step = a[of_a] - at[of_a];
	bool up = step == 1 || step < -1; /* a wrap around the end is upwards, too */
	return up == goes_up(search, at, of_a) ? -1 : 1;
}

static uint64_t hash_name(uint64_t hash, const char *name)
{
	return hash_bytes(hash, name, strlen(name));
}

static uint64_t hash_of(const struct route_search *search, struct hop hop)
{
	const struct fabric *fabric = search->fabric;
	uint64_t hash = hash_name(HASH_START, fabric_node_name(fabric, search->ends[0]));
	hash = hash_name(hash * 31, fabric_node_name(fabric, search->ends[1]));
	hash = hash_name(hash * 31, fabric_link_name(fabric, hop.link));
	hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u;
	return hash ^ hash >> 29;
}

/* Returns true if the node only forwards messages of others over the network. */
static bool forwards(const struct route_search *search, int node)
{
	return !search->fabric->nodes.items[node].inside && node != search->ends[0] &&
	       node != search->ends[1];
}

/* Compares two hops that leave one node. */
static int compare_hops(const struct route_search *search, struct hop a, struct hop b)
{
	const struct fabric *fabric = search->fabric;
	int from = hop_from(fabric, a), to[2] = {hop_to(fabric, a), hop_to(fabric, b)};
	const struct adjacency *nodes = fabric->nodes.items;
	bool spreads = forwards(search, from) && forwards(search, to[0]) && forwards(search, to[1]);
	bool in_torus = search->in_torus[0] && search->in_torus[1] && nodes[from].in_torus &&
			nodes[to[0]].in_torus && nodes[to[1]].in_torus;
	if (spreads && in_torus && to[0] != to[1])
		return compare_dimensions(search, nodes[from].router, nodes[to[0]].router,
					  nodes[to[1]].router);
	uint64_t hashes[2] = {0, 0};
	if (spreads) {
		hashes[0] = hash_of(search, a);
		hashes[1] = hash_of(search, b);
	}
	if (hashes[0] != hashes[1])
		return hashes[0] < hashes[1] ? -1 : 1;
	return strcmp(fabric_link_name(fabric, a.link), fabric_link_name(fabric, b.link));
}

/* Compares two paths with the same number of hops at the node where they part. */
static int compare_paths(const struct route_search *search, struct hop a, struct hop b)
{
	const struct fabric *fabric = search->fabric;
	int from_a = hop_from(fabric, a), from_b = hop_from(fabric, b);
	/* The numbers of hops are equal, so neither node is the start, and the paths differ before
	 * this hop. */
	if (from_a != from_b)
		return compare_paths(search, label_of(search, from_a)->hop,
				     label_of(search, from_b)->hop);
	return compare_hops(search, a, b);
}

static bool is_nearer(const struct route_candidate *a, const struct route_candidate *b)
{
	return a->latency_ps != b->latency_ps ? a->latency_ps < b->latency_ps : a->hops < b->hops;
}

static void heap_push(struct route_search *search, struct route_candidate candidate)
{
	(void)VEC_PUSH(search->scratch, &search->heap);
	size_t at = search->heap.count - 1;
	while (at > 0 && is_nearer(&candidate, &search->heap.items[(at - 1) / 2])) {
		search->heap.items[at] = search->heap.items[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	search->heap.items[at] = candidate;
}

static struct route_candidate heap_take(struct route_search *search)
{
	struct route_candidate *items = search->heap.items;
	struct route_candidate first = items[0], last = items[--search->heap.count];
	size_t count = search->heap.count, at = 0;
	for (size_t child = 1; child < count; child = 2 * at + 1) {
		if (child + 1 < count && is_nearer(&items[child + 1], &items[child]))
			child++;
		if (!is_nearer(&items[child], &last))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = last;
	return first;
}

/* Marks the nodes that are reachable from an end of the route over links inside its host, and notes
 * the router of a torus to which they are connected. */
static void mark_inside(struct route_search *search, int end)
{
	struct fabric *fabric = search->fabric;
	VEC(int) open = {0};
	*VEC_PUSH(search->scratch, &open) = search->ends[end];
	fabric->route_inside[search->ends[end]] = fabric->route_round;
	while (open.count > 0) {
		const struct adjacency *adjacency = &fabric->nodes.items[open.items[--open.count]];
		for (size_t i = 0; i < adjacency->hops.count; i++) {
			struct hop hop = adjacency->hops.items[i];
			int to = hop_to(fabric, hop);
			const struct adjacency *next = &fabric->nodes.items[to];
			if (next->in_torus) {
				search->in_torus[end] = true;
				memcpy(search->routers[end], next->router, sizeof next->router);
			}
			if (fabric->route_inside[to] == fabric->route_round ||
			    !fabric->links.items[hop.link].kind->inside_host)
				continue;
			fabric->route_inside[to] = fabric->route_round;
			*VEC_PUSH(search->scratch, &open) = to;
		}
	}
}

static bool may_take(const struct route_search *search, struct hop hop)
{
	const struct fabric *fabric = search->fabric;
	const struct link *link = &fabric->links.items[hop.link];
	if (search->confined && link->kind->inside_host &&
	    fabric->route_inside[hop_from(fabric, hop)] != fabric->route_round)
		return false;
	return link_carries(link->kind, search->traffic);
}

static void relax(struct route_search *search, struct hop hop)
{
	const struct fabric *fabric = search->fabric;
	const struct link *link = &fabric->links.items[hop.link];
	const struct route_label *from = label_of(search, hop_from(fabric, hop));
	int to = hop_to(fabric, hop);
	struct route_label *label = label_of(search, to);
	if (label->settled || !may_take(search, hop))
		return;
	int64_t latency_ps = from->latency_ps + ps_from_s(link->traits.latency_s);
	size_t hops = from->hops + 1;
	bool shorter = !label->known || latency_ps < label->latency_ps ||
		       (latency_ps == label->latency_ps && hops < label->hops);
	bool equal = label->known && latency_ps == label->latency_ps && hops == label->hops;
	if (!shorter && !(equal && compare_paths(search, hop, label->hop) <= 0))
		return;
	*label = (struct route_label){latency_ps, hops, hop, true, false, label->round};
	if (shorter)
		heap_push(search, (struct route_candidate){latency_ps, hops, to});
}

/* Labels the path from `from` to `to`; returns false if there is none. */
static bool find_way(struct route_search *search, int from, int to)
{
	search->heap.count = 0;
	label_of(search, from)->known = true;
	heap_push(search, (struct route_candidate){.node = from});
	while (search->heap.count > 0) {
		int node = heap_take(search).node;
		if (node == to)
			return true;
		struct route_label *label = label_of(search, node);
		if (label->settled)
			continue;
		label->settled = true;
		const struct adjacency *adjacency = &search->fabric->nodes.items[node];
		for (size_t i = 0; i < adjacency->hops.count; i++)
			relax(search, adjacency->hops.items[i]);
	}
	return false;
}

/* Begins a search: labels and marks of earlier ones are void. They are kept by the fabric, because
 * clearing them would cost more than the search in a large topology. */
static void next_round(struct fabric *fabric)
{
	size_t count = fabric->nodes.count;
	if (fabric->route_room < count) {
		fabric->route_room = count;
		fabric->route_labels = ARENA_ARRAY(fabric->arena, count, struct route_label);
		fabric->route_inside = ARENA_ARRAY(fabric->arena, count, uint64_t);
	}
	fabric->route_round++;
}

/* Swaps the ends, so that the search begins at the one with the smaller name. */
static void turn(struct route_search *search)
{
	int start = search->ends[0];
	search->ends[0] = search->ends[1];
	search->ends[1] = start;
}

/* Finds the path that avoids other machines, or else any path. Sets *turned if the search began at
 * the end of the route. */
static bool find_proper_way(struct route_search *search, bool *turned)
{
	const struct fabric *fabric = search->fabric;
	next_round(search->fabric);
	search->confined = true;
	mark_inside(search, 0);
	mark_inside(search, 1);
	*turned = !(search->in_torus[0] && search->in_torus[1]) &&
		  strcmp(fabric_node_name(fabric, search->ends[0]),
			 fabric_node_name(fabric, search->ends[1])) > 0;
	if (*turned)
		turn(search);
	if (find_way(search, search->ends[0], search->ends[1]))
		return true;
	next_round(search->fabric);
	search->confined = false;
	return find_way(search, search->ends[0], search->ends[1]);
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
		if (traits->flow_Bps > 0 &&
		    (route->flow_Bps <= 0 || traits->flow_Bps < route->flow_Bps))
			route->flow_Bps = traits->flow_Bps;
		route->physical_nic |= traits->physical_nic;
		if (traits->port > 0 && hop.direction == 1)
			route->target = traits->port;
	}
	route->loss_ratio = 1 - arrives;
}

static const struct route *find_route(struct fabric *fabric, int from, int to, unsigned traffic)
{
	struct route_search search = {
		.fabric = fabric, .traffic = traffic, .ends = {from, to}, .scratch = arena_new()};
	struct route *route = NULL;
	bool turned, found = find_proper_way(&search, &turned);
	int end = search.ends[1];
	if (found && label_of(&search, end)->hops > ROUTE_LINKS_MAX) {
		fabric->route_too_long = true;
	} else if (found) {
		route = ARENA_NEW(fabric->arena, struct route);
		route->count = label_of(&search, end)->hops;
		struct hop *hops = ARENA_ARRAY(fabric->arena, route->count, struct hop);
		int node = end;
		for (size_t i = 0; i < route->count; i++) {
			struct hop hop = label_of(&search, node)->hop;
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

/* Returns the hash chain of the routes between these nodes. */
static size_t chain_of(const struct fabric *fabric, int from, int to)
{
	uint64_t key = (uint64_t)(unsigned)from << 32 | (unsigned)to;
	return (size_t)((key * 0x9E3779B97F4A7C15u) >> 32) & (fabric->route_chain_count - 1);
}

static void chain_routes(struct fabric *fabric)
{
	if (fabric->routes.count < fabric->route_chain_count)
		return;
	fabric->route_chain_count = fabric->route_chain_count ? 4 * fabric->route_chain_count : 64;
	fabric->route_chains = ARENA_ARRAY(fabric->arena, fabric->route_chain_count, size_t);
	for (size_t i = 0; i < fabric->routes.count; i++) {
		struct cached_route *cached = &fabric->routes.items[i];
		size_t *chain = &fabric->route_chains[chain_of(fabric, cached->from, cached->to)];
		cached->next = *chain;
		*chain = i + 1;
	}
}

void fabric_routes_forget(struct fabric *fabric)
{
	fabric->routes.count = 0;
	for (size_t i = 0; i < fabric->route_chain_count; i++)
		fabric->route_chains[i] = 0;
}

const struct route *fabric_route(struct fabric *fabric, int from, int to, unsigned traffic)
{
	FW_ASSERT(from >= 0 && (size_t)from < fabric->nodes.count);
	FW_ASSERT(to >= 0 && (size_t)to < fabric->nodes.count);
	chain_routes(fabric);
	size_t *chain = &fabric->route_chains[chain_of(fabric, from, to)];
	for (size_t i = *chain; i; i = fabric->routes.items[i - 1].next) {
		const struct cached_route *cached = &fabric->routes.items[i - 1];
		if (cached->from == from && cached->to == to && cached->traffic == traffic)
			return cached->route;
	}
	const struct route *route = find_route(fabric, from, to, traffic);
	*VEC_PUSH(fabric->arena, &fabric->routes) =
		(struct cached_route){from, to, traffic, route, *chain};
	*chain = fabric->routes.count;
	return route;
}

const struct route *fabric_route_through(struct fabric *fabric, const int nodes[4],
					 unsigned traffic)
{
	enum { PARTS = 3 };
	const struct route *parts[PARTS];
	size_t count = 0;
	for (size_t i = 0; i < PARTS; i++) {
		unsigned across = i == 1 ? TRAFFIC_BETWEEN_HOSTS : 0;
		parts[i] = fabric_route(fabric, nodes[i], nodes[i + 1], traffic | across);
		if (!parts[i])
			return NULL;
		count += parts[i]->count;
	}
	if (count > ROUTE_LINKS_MAX)
		return NULL;
	struct hop *hops = ARENA_ARRAY(fabric->arena, count, struct hop);
	struct route *route = ARENA_NEW(fabric->arena, struct route);
	route->hops = hops;
	for (size_t i = 0; i < PARTS; i++)
		for (size_t k = 0; k < parts[i]->count; k++)
			hops[route->count++] = parts[i]->hops[k];
	add_up(fabric, route);
	return route;
}

const char *fabric_route_hint(const struct fabric *fabric)
{
	return fabric->route_too_long ? " (a route has at most 32 links: use fewer switches)" : "";
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

double route_least_spB(const struct fabric *fabric, const struct route *route)
{
	double least_spB = 0;
	for (size_t i = 0; i < route->count; i++) {
		struct hop hop = route->hops[i];
		const struct link *link = &fabric->links.items[hop.link];
		least_spB = fmax(least_spB, 1 / link->traits.capacity_Bps[hop.direction]);
	}
	return least_spB;
}

void route_uses(const struct fabric *fabric, const struct route *route, double header_B,
		double payload_B, struct flow_spec *spec)
{
	FW_ASSERT(payload_B > 0);
	if (route->target > 0)
		spec->target = route->target;
	for (size_t i = 0; i < route->count; i++) {
		struct hop hop = route->hops[i];
		const struct link *link = &fabric->links.items[hop.link];
		double wire_B = link_wire_B(&link->traits, route->mtu_B, header_B, payload_B);
		flow_use_add(spec, link->resources[hop.direction], wire_B / payload_B);
	}
}
