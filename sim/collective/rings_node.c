/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/rings_node.h"
#include "sim/fabric/link.h"

/* Larger meshes do not exist, and searching them would take too long. */
enum { MESH_MOST = 16, CYCLES_MOST = 4096, CHOSEN_MOST = 32, TRIES_MOST = 200000 };

struct node_links {
	size_t count;
	double nvlink_Bps[MESH_MOST][MESH_MOST]; /* goodput of direct links in one direction */
	double switch_Bps;                       /* lowest goodput of a rank to a common switch */
	/* By pair: 1 plus the rank through whose GPU they communicate; 0: directly.
	 */
	size_t through[MESH_MOST][MESH_MOST];
};

struct cycles {
	size_t count;
	uint32_t order[CYCLES_MOST][MESH_MOST];
};

struct cycle_selection {
	const struct cycles *cycles;
	const struct node_links *pairs;
	size_t count;                             /* ranks */
	size_t bound;                             /* upper bound of the number of cycles */
	int links[MESH_MOST][MESH_MOST];          /* remaining links between each pair */
	size_t chosen[CHOSEN_MOST], chosen_count; /* current selection */
	size_t best[CHOSEN_MOST], best_count;
	size_t tries;
};

double link_goodput_Bps(const struct link_traits *traits, int direction)
{
	double payload_B = traits->packet_payload_B;
	double capacity_Bps = traits->capacity_Bps[direction];
	if (payload_B <= 0)
		return capacity_Bps;
	return capacity_Bps * payload_B / (payload_B + traits->packet_overhead_B);
}

int ring_place_node(const struct ring_place *place)
{
	return place->gpu_node >= 0 ? place->gpu_node : place->host_node;
}

static bool is_nvlink(const struct fabric *fabric, int link)
{
	return link_carries(fabric_link_kind(fabric, link), TRAFFIC_PEERS);
}

bool is_nvlink_switch(const struct fabric *fabric, int node)
{
	for (size_t i = 0; i < fabric_link_count(fabric); i++) {
		int a, b;
		fabric_link_nodes(fabric, (int)i, &a, &b);
		if ((a == node || b == node) && !is_nvlink(fabric, (int)i))
			return false;
	}
	return true;
}

static int place_of(const struct ring_place *ranks, size_t count, int node)
{
	for (size_t i = 0; i < count; i++)
		if (ranks[i].gpu_node == node)
			return (int)i;
	return -1;
}

/* Several switches may connect the GPUs (six in a DGX-2); a GPU's links to all
 * of them are added.
 */
static void add_switch_link(const struct fabric *fabric, int other, double goodput_Bps,
			    double *to_switch_Bps)
{
	if (is_nvlink_switch(fabric, other))
		*to_switch_Bps += goodput_Bps;
}

static struct node_links *links_of(struct arena *arena, const struct fabric *fabric,
				   const struct ring_place *ranks, size_t count)
{
	struct node_links *links = ARENA_NEW(arena, struct node_links);
	double *to_switch_Bps = ARENA_ARRAY(arena, count, double);
	links->count = count;
	for (size_t i = 0; i < fabric_link_count(fabric) && !ranks[0].no_nvlink; i++) {
		if (!is_nvlink(fabric, (int)i))
			continue;
		int a, b;
		fabric_link_nodes(fabric, (int)i, &a, &b);
		int from = place_of(ranks, count, a), to = place_of(ranks, count, b);
		double goodput_Bps = link_goodput_Bps(fabric_link_traits(fabric, (int)i), 0);
		if (from >= 0 && to >= 0 && count <= MESH_MOST) {
			links->nvlink_Bps[from][to] += goodput_Bps;
			links->nvlink_Bps[to][from] += goodput_Bps;
		} else if (from >= 0) {
			add_switch_link(fabric, b, goodput_Bps, &to_switch_Bps[from]);
		} else if (to >= 0) {
			add_switch_link(fabric, a, goodput_Bps, &to_switch_Bps[to]);
		}
	}
	links->switch_Bps = to_switch_Bps[0];
	for (size_t i = 1; i < count; i++)
		links->switch_Bps = fmin(links->switch_Bps, to_switch_Bps[i]);
	return links;
}

/* ---- a mesh ---- */

static bool used(const uint32_t *path, size_t length, size_t place)
{
	for (size_t i = 0; i < length; i++)
		if (path[i] == place)
			return true;
	return false;
}

/* Finds all cycles through every rank that continue from path[length]. Each
 * cycle has two directions; only the one whose second rank is less than its
 * last is kept. */
static void grow_cycles(const struct node_links *links, uint32_t *path, size_t length,
			struct cycles *cycles)
{
	size_t end = path[length - 1];
	if (length == links->count) {
		if (links->nvlink_Bps[end][path[0]] > 0 && path[1] < path[length - 1] &&
		    cycles->count < CYCLES_MOST)
			memcpy(cycles->order[cycles->count++], path, length * sizeof(*path));
		return;
	}
	for (size_t next = 1; next < links->count; next++) {
		if (links->nvlink_Bps[end][next] <= 0 || used(path, length, next))
			continue;
		path[length] = (uint32_t)next;
		grow_cycles(links, path, length + 1, cycles);
	}
}

/* Takes the links between two GPUs. Returns false if too few were left. */
static bool take_pair(struct cycle_selection *selection, size_t a, size_t b, int links)
{
	size_t through = selection->pairs->through[a][b];
	if (through > 0) {
		bool first = take_pair(selection, a, through - 1, links);
		return take_pair(selection, through - 1, b, links) && first;
	}
	selection->links[a][b] -= links;
	selection->links[b][a] -= links;
	return selection->links[a][b] >= 0;
}

static bool take_all(struct cycle_selection *selection, size_t cycle, int links)
{
	const uint32_t *order = selection->cycles->order[cycle];
	size_t count = selection->count;
	bool enough = true;
	for (size_t i = 0; i < count; i++)
		enough &= take_pair(selection, order[i], order[(i + 1) % count], links);
	return enough;
}

/* Takes the links of a cycle, or returns them with -1. Returns false, and takes
 * none, if one is missing. */
static bool take(struct cycle_selection *selection, size_t cycle, int links)
{
	if (take_all(selection, cycle, links))
		return true;
	take_all(selection, cycle, -links);
	return false;
}

static void select_more(struct cycle_selection *selection, size_t first)
{
	if (selection->chosen_count > selection->best_count) {
		selection->best_count = selection->chosen_count;
		memcpy(selection->best, selection->chosen, sizeof(selection->chosen));
	}
	for (size_t i = first; i < selection->cycles->count; i++) {
		if (selection->best_count == selection->bound ||
		    selection->chosen_count == CHOSEN_MOST || ++selection->tries > TRIES_MOST)
			return;
		if (!take(selection, i, 1))
			continue;
		selection->chosen[selection->chosen_count++] = i;
		select_more(selection, i);
		selection->chosen_count--;
		take(selection, i, -1);
	}
}

/* Returns the goodput of one link: that of the weakest pair, as if it had one
 * link. */
static double unit_Bps(const struct node_links *links)
{
	double unit = 0;
	for (size_t a = 0; a < links->count; a++)
		for (size_t b = 0; b < a; b++)
			if (links->nvlink_Bps[a][b] > 0 &&
			    (unit <= 0 || links->nvlink_Bps[a][b] < unit))
				unit = links->nvlink_Bps[a][b];
	return unit;
}

static void count_links(const struct node_links *links, double unit,
			struct cycle_selection *selection)
{
	selection->bound = CHOSEN_MOST;
	for (size_t a = 0; a < links->count; a++) {
		size_t degree = 0;
		for (size_t b = 0; b < links->count; b++) {
			int pair = (int)floor(links->nvlink_Bps[a][b] / unit + 0.01);
			selection->links[a][b] = pair;
			degree += (size_t)pair;
		}
		if (degree / 2 < selection->bound)
			selection->bound = degree / 2;
	}
}

/* Writes both directions of each cycle. */
static void write_mesh(struct arena *arena, const struct cycle_selection *selection,
		       struct node_rings *rings)
{
	size_t count = selection->count;
	uint32_t *order = ARENA_ARRAY(arena, 2 * selection->best_count * count, uint32_t);
	for (size_t c = 0; c < selection->best_count; c++) {
		const uint32_t *cycle = selection->cycles->order[selection->best[c]];
		uint32_t *there = order + 2 * c * count, *back = there + count;
		for (size_t i = 0; i < count; i++) {
			there[i] = cycle[i];
			back[i] = cycle[(count - i) % count];
		}
	}
	rings->ring_count = 2 * selection->best_count;
	rings->order = order;
}

static size_t rank_between(const struct node_links *links, size_t a, size_t b)
{
	size_t best = links->count;
	double best_Bps = 0;
	for (size_t c = 0; c < links->count; c++) {
		double pair_Bps = fmin(links->nvlink_Bps[a][c], links->nvlink_Bps[c][b]);
		if (pair_Bps > best_Bps) {
			best_Bps = pair_Bps;
			best = c;
		}
	}
	return best;
}

/* Returns the links with those pairs added that communicate through another
 * rank's GPU. */
static struct node_links *links_through(struct arena *arena, const struct node_links *links)
{
	struct node_links *all = ARENA_NEW(arena, struct node_links);
	*all = *links;
	for (size_t a = 0; a < links->count; a++)
		for (size_t b = 0; b < links->count; b++) {
			size_t c = rank_between(links, a, b);
			if (a == b || links->nvlink_Bps[a][b] > 0 || c == links->count)
				continue;
			all->through[a][b] = c + 1;
			all->nvlink_Bps[a][b] =
				fmin(links->nvlink_Bps[a][c], links->nvlink_Bps[c][b]);
		}
	return all;
}

/* pairs are the pairs of neighbours that a ring may have. */
static bool find_mesh(struct arena *arena, const struct node_links *links,
		      const struct node_links *pairs, struct node_rings *rings)
{
	double whole_Bps = unit_Bps(links);
	if (whole_Bps <= 0)
		return false;
	struct arena *scratch = arena_new();
	struct cycles *cycles = ARENA_NEW(scratch, struct cycles);
	uint32_t path[MESH_MOST] = {0};
	grow_cycles(pairs, path, 1, cycles);
	struct cycle_selection *selection = ARENA_NEW(scratch, struct cycle_selection);
	/* Half links let two rings share a link if one would be left over (four GPUs
	 * with a link between each pair). */
	for (int parts = 1; parts <= 2; parts++) {
		double unit = whole_Bps / parts;
		*selection = (struct cycle_selection){
			.cycles = cycles, .pairs = pairs, .count = links->count};
		count_links(links, unit, selection);
		select_more(selection, 0);
		double inside_Bps = 2 * (double)selection->best_count * unit;
		if (inside_Bps > rings->inside_Bps * 1.01) {
			write_mesh(arena, selection, rings);
			rings->inside_Bps = inside_Bps;
		}
	}
	arena_free(scratch);
	return rings->ring_count > 0;
}

/* ---- a tree of PCIe ---- */

/* A smaller distance means nearer. */
struct rank_distance {
	double nvlink_Bps, latency_s;
	size_t hops;
};

static struct rank_distance distance(struct fabric *fabric, const struct ring_place *ranks,
				     const struct node_links *links, size_t a, size_t b)
{
	const struct route *route = fabric_route(fabric, ring_place_node(&ranks[a]),
						 ring_place_node(&ranks[b]), TRAFFIC_COPIES);
	struct rank_distance d = {0, route ? route->latency_s : INFINITY, route ? route->count : 0};
	if (links->count <= MESH_MOST)
		d.nvlink_Bps = links->nvlink_Bps[a][b];
	return d;
}

static bool nearer(struct rank_distance a, struct rank_distance b)
{
	bool a_linked = a.nvlink_Bps > 0, b_linked = b.nvlink_Bps > 0;
	if (a_linked != b_linked)
		return a_linked;
	if (a.hops != b.hops)
		return a.hops < b.hops;
	return a.latency_s < b.latency_s;
}

static void write_nearest(struct arena *arena, struct fabric *fabric,
			  const struct ring_place *ranks, const struct node_links *links,
			  struct node_rings *rings)
{
	size_t count = links->count;
	uint32_t *order = ARENA_ARRAY(arena, count, uint32_t);
	bool *taken = ARENA_ARRAY(arena, count, bool);
	for (size_t length = 1; length < count; length++) {
		size_t best = count;
		struct rank_distance best_distance = {0, INFINITY, 0};
		for (size_t next = 1; next < count; next++) {
			if (taken[next])
				continue;
			struct rank_distance d =
				distance(fabric, ranks, links, order[length - 1], next);
			if (best == count || nearer(d, best_distance)) {
				best = next;
				best_distance = d;
			}
		}
		order[length] = (uint32_t)best;
		taken[best] = true;
	}
	rings->ring_count = 1;
	rings->order = order;
}

static void write_plain(struct arena *arena, size_t count, struct node_rings *rings)
{
	uint32_t *order = ARENA_ARRAY(arena, count, uint32_t);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	rings->ring_count = 1;
	rings->order = order;
}

static double route_goodput_Bps(const struct fabric *fabric, const struct route *route)
{
	double least_Bps = INFINITY;
	for (size_t i = 0; i < route->count; i++) {
		struct hop hop = route->hops[i];
		const struct link_traits *traits = fabric_link_traits(fabric, hop.link);
		least_Bps = fmin(least_Bps, link_goodput_Bps(traits, hop.direction));
	}
	return isfinite(least_Bps) ? least_Bps : 0;
}

/* Sets class and bandwidth of a single ring from its slowest neighbours. */
static void judge(struct fabric *fabric, const struct ring_place *ranks,
		  const struct node_links *links, struct node_rings *rings)
{
	double least_Bps = INFINITY;
	rings->inside = HOP_NVLINK;
	for (size_t i = 0; i < links->count; i++) {
		size_t a = rings->order[i], b = rings->order[(i + 1) % links->count];
		double pair_Bps = links->switch_Bps;
		if (pair_Bps <= 0 && links->count <= MESH_MOST)
			pair_Bps = links->nvlink_Bps[a][b];
		if (pair_Bps <= 0) {
			const struct route *route =
				fabric_route(fabric, ring_place_node(&ranks[a]),
					     ring_place_node(&ranks[b]), TRAFFIC_COPIES);
			rings->inside = HOP_PCI;
			pair_Bps = route ? route_goodput_Bps(fabric, route) : 0;
		}
		if (pair_Bps > 0)
			least_Bps = fmin(least_Bps, pair_Bps);
	}
	rings->inside_Bps = isfinite(least_Bps) ? least_Bps : 0;
}

struct node_rings node_rings_find(struct arena *arena, struct fabric *fabric,
				  const struct ring_place *ranks, size_t count, bool search)
{
	FW_ASSERT(count > 0);
	struct node_rings rings = {.rank_count = count, .inside = HOP_NVLINK};
	if (count == 1) {
		write_plain(arena, count, &rings);
		return rings;
	}
	struct node_links *links = links_of(arena, fabric, ranks, count);
	rings.switched = links->switch_Bps > 0;
	bool mesh = search && count > 2 && count <= MESH_MOST && links->switch_Bps <= 0;
	if (mesh && (find_mesh(arena, links, links, &rings) ||
		     find_mesh(arena, links, links_through(arena, links), &rings)))
		return rings;
	if (search && links->switch_Bps <= 0)
		write_nearest(arena, fabric, ranks, links, &rings);
	else
		write_plain(arena, count, &rings);
	judge(fabric, ranks, links, &rings);
	return rings;
}
