/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings over all machines: the rings inside each machine (rings_node.c) are cut open and joined,
 * one for each network adapter.
 *
 * Machines made from one template have their nodes and links in the same order, so the result of
 * the first one serves all with equal links. Other machines are examined separately.
 */
#include "sim/collective/level.h"
#include "sim/collective/rings_node.h"
#include "sim/fabric/link.h"

struct adapter {
	int node;
	double goodput_Bps;
	size_t users;  /* number of ranks that use it */
	size_t number; /* index among the used adapters */
};

struct ring_machine {
	size_t index;
	int host_node;
	size_t count;
	uint32_t *ranks;
	struct ring_place *places;
	VEC(int) links; /* links inside the machine and at its border, by index */
	VEC(struct adapter) adapters;
	size_t like; /* the first machine of the same shape */
	struct node_rings inner;
	/* By place: index of its own adapter among the used ones, and the adapter's node or -1. */
	uint32_t *adapter;
	int *adapter_node;
	enum path_level *level;            /* by place: distance from its own adapter */
	size_t adapter_count;              /* number of used adapters */
	double network_Bps;                /* bandwidth of these adapters together */
	const struct link_traits *network; /* of an adapter's link; NULL: no adapter */
};

struct finder {
	struct arena *arena, *scratch;
	struct fabric *fabric;
	unsigned traffic; /* the traffic that networks must carry */
	bool search, binds;
	bool across; /* there are several machines, possibly all of one class */
	struct ring_machine *machines;
	size_t machine_count;
	uint32_t *node_of;
	int *adapter_of;      /* by rank */
	int *parts;           /* by node of the fabric: union-find without network links */
	uint32_t *machine_of; /* by part: index of the machine plus 1 */
};

static bool is_network(const struct finder *finder, int link)
{
	return link_carries(fabric_link_kind(finder->fabric, link),
			    finder->traffic | TRAFFIC_BETWEEN_HOSTS);
}

/* ---- machines ---- */

static void group_ranks(struct finder *finder, const struct ring_place *ranks, size_t rank_count)
{
	size_t node_count = fabric_node_count(finder->fabric);
	/* index plus 1 */
	uint32_t *machine_of = ARENA_ARRAY(finder->scratch, node_count, uint32_t);
	finder->machines = ARENA_ARRAY(finder->scratch, rank_count, struct ring_machine);
	for (size_t r = 0; r < rank_count; r++) {
		FW_ASSERT(ranks[r].host_node >= 0);
		uint32_t *slot = &machine_of[ranks[r].host_node];
		if (*slot == 0) {
			*slot = (uint32_t)++finder->machine_count;
			finder->machines[*slot - 1].host_node = ranks[r].host_node;
			finder->machines[*slot - 1].index = *slot - 1;
		}
		finder->node_of[r] = *slot - 1;
		finder->machines[*slot - 1].count++;
	}
	for (size_t m = 0; m < finder->machine_count; m++) {
		struct ring_machine *machine = &finder->machines[m];
		machine->ranks = ARENA_ARRAY(finder->scratch, machine->count, uint32_t);
		machine->places = ARENA_ARRAY(finder->scratch, machine->count, struct ring_place);
		machine->count = 0;
	}
	for (size_t r = 0; r < rank_count; r++) {
		struct ring_machine *machine = &finder->machines[finder->node_of[r]];
		machine->places[machine->count] = ranks[r];
		machine->ranks[machine->count++] = (uint32_t)r;
	}
}

/* Returns the part of the fabric that contains a node if network links are removed. */
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
	uint32_t *machine_of = ARENA_ARRAY(finder->scratch, node_count, uint32_t);
	finder->parts = parts;
	finder->machine_of = machine_of;
	for (size_t i = 0; i < node_count; i++)
		parts[i] = (int)i;
	for (size_t i = 0; i < link_count; i++) {
		int a, b;
		fabric_link_nodes(fabric, (int)i, &a, &b);
		if (fabric_link_kind(fabric, (int)i)->inside_host)
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
	       fabs(a->packet_overhead_B - b->packet_overhead_B) <= 0 && a->adds == b->adds &&
	       a->efa_generation == b->efa_generation && a->provider == b->provider &&
	       a->host_memory_only == b->host_memory_only;
}

static bool link_like(const struct finder *finder, const struct ring_machine *a, int link_a,
		      const struct ring_machine *b, int link_b)
{
	struct fabric *fabric = finder->fabric;
	int offset = b->host_node - a->host_node;
	int a0, a1, b0, b1;
	fabric_link_nodes(fabric, link_a, &a0, &a1);
	fabric_link_nodes(fabric, link_b, &b0, &b1);
	const struct link_traits *traits_a = fabric_link_traits(fabric, link_a);
	const struct link_traits *traits_b = fabric_link_traits(fabric, link_b);
	/* Only the inner end of a network link must match. */
	bool ends = fabric_link_kind(fabric, link_a)->inside_host
			    ? b0 - a0 == offset && b1 - a1 == offset
			    : b0 - a0 == offset || b1 - a1 == offset;
	return ends && fabric_link_kind(fabric, link_a) == fabric_link_kind(fabric, link_b) &&
	       traits_like(traits_a, traits_b);
}

static bool machine_like(const struct finder *finder, const struct ring_machine *a,
			 const struct ring_machine *b)
{
	int offset = b->host_node - a->host_node;
	if (a->count != b->count || a->links.count != b->links.count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		int gpu_a = a->places[i].gpu_node, gpu_b = b->places[i].gpu_node;
		if (gpu_b - gpu_a != (gpu_a < 0 ? 0 : offset))
			return false;
	}
	for (size_t i = 0; i < a->links.count; i++)
		if (!link_like(finder, a, a->links.items[i], b, b->links.items[i]))
			return false;
	return true;
}

/* ---- adapters ---- */

/* Lists the machine's ends of network links. */
static void list_adapters(struct finder *finder, struct ring_machine *machine)
{
	for (size_t i = 0; i < machine->links.count; i++) {
		int link = machine->links.items[i], ends[2];
		if (!is_network(finder, link))
			continue;
		fabric_link_nodes(finder->fabric, link, &ends[0], &ends[1]);
		for (int end = 0; end < 2; end++) {
			bool known = finder->machine_of[part_of(finder->parts, ends[end])] !=
				     machine->index + 1;
			for (size_t k = 0; k < machine->adapters.count; k++)
				known |= machine->adapters.items[k].node == ends[end];
			if (known)
				continue;
			machine->network = fabric_link_traits(finder->fabric, link);
			*VEC_PUSH(finder->scratch, &machine->adapters) = (struct adapter){
				.node = ends[end],
				.goodput_Bps = link_goodput_Bps(machine->network, end),
			};
		}
	}
}

/* Returns the nearest adapter. With spread, it takes the one with the fewest ranks among equally
 * near ones: two GPUs and two adapters at one PCIe switch form two pairs. If all have equally many,
 * the GPU's number decides, because other groups use the other GPUs (NCCL, ncclTopoGetLocalNet). */
static size_t nearest_adapter(struct finder *finder, const struct ring_machine *machine, int from,
			      bool spread)
{
	const struct adapter *adapters = machine->adapters.items;
	size_t *near = ARENA_ARRAY(finder->scratch, machine->adapters.count + 1, size_t), count = 0;
	const struct route *best = NULL;
	for (size_t k = 0; k < machine->adapters.count; k++) {
		const struct route *route =
			fabric_route(finder->fabric, from, adapters[k].node, TRAFFIC_COPIES);
		if (!route)
			continue;
		int64_t farther_ps =
			best ? ps_from_s(route->latency_s) - ps_from_s(best->latency_s) : -1;
		size_t users = spread ? adapters[k].users : 0;
		size_t least = spread && count ? adapters[near[0]].users : 0;
		if (farther_ps < 0 || (farther_ps == 0 && users < least)) {
			best = route;
			count = 0;
		} else if (farther_ps > 0 || users > least) {
			continue;
		}
		near[count++] = k;
	}
	near[count] = machine->adapters.count;
	return near[spread && count ? (size_t)from % count : 0];
}

static enum path_level adapter_level(struct finder *finder, const struct ring_machine *machine,
				     size_t place, int adapter_node)
{
	int gpu = ring_place_node(&machine->places[place]);
	const struct route *route = fabric_route(finder->fabric, gpu, adapter_node, TRAFFIC_COPIES);
	int root = root_of(finder->fabric, gpu, machine->host_node);
	return route ? path_level(finder->fabric, route, root) : PATH_SYS;
}

static void find_adapters(struct finder *finder, struct ring_machine *machine)
{
	/* NCCL takes the adapter nearest to each GPU, for sockets too. Other libraries bind sockets
	 * to no adapter, so that they leave by the one nearest to the host's memory. */
	bool sockets = finder->traffic & TRAFFIC_SOCKETS && !finder->binds;
	size_t used = 0;
	list_adapters(finder, machine);
	machine->adapter = ARENA_ARRAY(finder->scratch, machine->count, uint32_t);
	machine->adapter_node = ARENA_ARRAY(finder->scratch, machine->count, int);
	machine->level = ARENA_ARRAY(finder->scratch, machine->count, enum path_level);
	for (size_t place = 0; place < machine->count; place++) {
		int from = sockets ? machine->host_node : ring_place_node(&machine->places[place]);
		size_t k = nearest_adapter(finder, machine, from, !sockets);
		if (k == machine->adapters.count)
			k = nearest_adapter(finder, machine, machine->host_node, !sockets);
		machine->adapter_node[place] = -1;
		if (k == machine->adapters.count)
			continue;
		struct adapter *adapter = &machine->adapters.items[k];
		if (adapter->users++ == 0) {
			machine->network_Bps += adapter->goodput_Bps;
			adapter->number = used++;
		}
		machine->adapter_node[place] = adapter->node;
		machine->adapter[place] = (uint32_t)adapter->number;
		machine->level[place] = adapter_level(finder, machine, place, adapter->node);
	}
	machine->adapter_count = used;
}

/* Copies the result of a machine of the same shape. */
static void take_over(struct finder *finder, struct ring_machine *machine,
		      const struct ring_machine *known)
{
	machine->like = known->like;
	machine->inner = known->inner;
	machine->adapter = known->adapter;
	machine->level = known->level;
	machine->adapter_count = known->adapter_count;
	machine->network_Bps = known->network_Bps;
	machine->network = known->network;
	machine->adapter_node = ARENA_ARRAY(finder->scratch, machine->count, int);
	for (size_t place = 0; place < machine->count; place++) {
		int node = known->adapter_node[place];
		int offset = machine->host_node - known->host_node;
		machine->adapter_node[place] = node < 0 ? node : node + offset;
	}
}

static void study(struct finder *finder, size_t m)
{
	struct ring_machine *machine = &finder->machines[m];
	for (size_t k = 0; k < m; k++) {
		const struct ring_machine *known = &finder->machines[k];
		if (known->like == k && machine_like(finder, known, machine)) {
			take_over(finder, machine, known);
			return;
		}
	}
	machine->like = m;
	machine->inner = node_rings_find(finder->scratch, finder->fabric, machine->places,
					 machine->count, finder->search);
	if (finder->across)
		find_adapters(finder, machine);
}

/* ---- joining ---- */

/* The place where ring `channel` of a machine is cut: between the rank where it leaves and the next
 * one, where it enters. */
struct cut {
	/* index of the inner ring, and the place in its order where the ring enters */
	size_t ring, first;
};

/* Returns how unfit a GPU is to be the end of a ring through an adapter. Its messages use its own
 * adapter. */
static size_t far_from(const struct ring_machine *machine, size_t place, size_t adapter)
{
	return 2 * (size_t)machine->level[place] + (machine->adapter[place] != adapter);
}

/* Returns the pair of neighbours that is nearest to the channel's adapter, as NCCL's search does
 * (src/graph/search.cc: from the adapter's most local GPU to a GPU on a path of the lowest type),
 * and, among equally near pairs, the one used least by other channels. leaves and enters count the
 * uses. Messages by rail use the adapters of the GPU where a ring enters, so it counts first. */
static struct cut find_cut(const struct ring_machine *machine, size_t channel, size_t adapter,
			   size_t *leaves, size_t *enters, size_t *ring_uses)
{
	size_t count = machine->count;
	size_t entry_weight = machine->inner.switched && machine->places[0].by_rail ? 32 : 1;
	struct cut best = {channel % machine->inner.ring_count, 0};
	size_t best_cost = SIZE_MAX;
	FW_ASSERT(count > 0);
	for (size_t ring = 0; ring < machine->inner.ring_count; ring++) {
		const uint32_t *order = machine->inner.order + ring * count;
		for (size_t first = 0; first < count; first++) {
			size_t in = order[first], out = order[(first + count - 1) % count];
			size_t far = entry_weight * far_from(machine, in, adapter) +
				     far_from(machine, out, adapter);
			size_t cost = (far * 64 + ring_uses[ring]) * 4096 +
				      (leaves[out] + enters[in]) * 16 + (size_t)(first != 0);
			if (cost < best_cost) {
				best_cost = cost;
				best = (struct cut){ring, first};
			}
		}
	}
	const uint32_t *order = machine->inner.order + best.ring * count;
	enters[order[best.first]]++;
	leaves[order[(best.first + count - 1) % count]]++;
	ring_uses[best.ring]++;
	return best;
}

static const struct ring_machine *fewest_adapters(const struct finder *finder)
{
	const struct ring_machine *fewest = &finder->machines[0];
	for (size_t m = 1; m < finder->machine_count; m++)
		if (finder->machines[m].adapter_count < fewest->adapter_count)
			fewest = &finder->machines[m];
	return fewest;
}

/* Returns the number of channels across machines: one for each adapter of the machine with the
 * fewest (NCCL, src/init.cc: the least of all ranks), or more if one inner ring is slower than an
 * adapter. */
static size_t channels_across(const struct finder *finder, double inside_Bps, double network_Bps)
{
	size_t adapters = fewest_adapters(finder)->adapter_count, rings = 1;
	adapters = adapters > 0 ? adapters : 1;
	for (size_t m = 0; m < finder->machine_count; m++) {
		const struct ring_machine *machine = &finder->machines[m];
		if (machine->inner.ring_count > rings)
			rings = machine->inner.ring_count;
	}
	if (inside_Bps <= 0 || network_Bps <= 0 || rings == 1)
		return adapters;
	double ring_Bps = inside_Bps / (double)rings;
	double needed = ceil(fmin(network_Bps, inside_Bps) / ring_Bps / (double)adapters);
	return adapters * (size_t)fmax(1, needed);
}

/* Writes the ranks of a machine in the order of a ring that enters at `cut`. Behind a switch any
 * order has the same bandwidth. So a ring that would leave far from an adapter leaves where the
 * next one enters, unless messages reach a near adapter over NVLink. */
static void write_passage(const struct ring_machine *machine, const struct cut *cut,
			  const struct cut *next, uint32_t *order)
{
	size_t count = machine->count;
	const uint32_t *inner = machine->inner.order + cut->ring * count;
	uint32_t near = machine->inner.order[next->ring * count + next->first];
	uint32_t last = inner[(cut->first + count - 1) % count];
	bool swaps = machine->inner.switched && !machine->places[0].by_rail &&
		     machine->level[near] < machine->level[last] && near != inner[cut->first];
	for (size_t i = 0; i < count; i++) {
		uint32_t place = inner[(cut->first + i) % count];
		if (swaps && (place == near || place == last))
			place = place == near ? last : near;
		order[i] = machine->ranks[place];
	}
}

/* NCCL's search examines each machine by itself: channel k uses the k-th adapter in the order of
 * the GPUs, whatever adapters the other machines lack (src/graph/search.cc, ncclTopoSelectNets). */
static void write_across(struct finder *finder, size_t channels, size_t rank_count, uint32_t *order)
{
	size_t fewest = fewest_adapters(finder)->adapter_count, adapters = fewest > 0 ? fewest : 1;
	struct cut *cuts = ARENA_ARRAY(finder->scratch, channels, struct cut);
	size_t at = 0;
	for (size_t m = 0; m < finder->machine_count; m++) {
		const struct ring_machine *machine = &finder->machines[m];
		size_t count = machine->count;
		if (machine->like == m || m == 0 || machine->like != (machine - 1)->like) {
			size_t *uses = ARENA_ARRAY(finder->scratch,
						   2 * count + machine->inner.ring_count, size_t);
			for (size_t channel = 0; channel < channels; channel++)
				cuts[channel] = find_cut(machine, channel, channel % adapters, uses,
							 uses + count, uses + 2 * count);
		}
		for (size_t channel = 0; channel < channels; channel++)
			write_passage(machine, cuts + channel, cuts + (channel + 1) % channels,
				      order + channel * rank_count + at);
		at += count;
	}
}

static void write_alone(const struct ring_machine *machine, uint32_t *order)
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
		const struct ring_machine *machine = &finder->machines[m];
		const struct link_traits *network = machine->network;
		int generation = network ? network->efa_generation : 0;
		int provider = network ? network->provider : PROVIDER_NONE;
		if (generation > 0 &&
		    (shape.efa_generation == 0 || generation < shape.efa_generation))
			shape.efa_generation = generation;
		shape.host_memory_only |= network && network->host_memory_only;
		shape.provider = m == 0 || provider == shape.provider ? provider : PROVIDER_NONE;
		shape.network_adds = network && network->adds && (m == 0 || shape.network_adds);
		if (machine->count > shape.rank_most)
			shape.rank_most = machine->count;
		shape.multicast = machine->inner.switched && (m == 0 || shape.multicast);
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
	finder->across |= finder->machine_count > 1;
	for (size_t m = 0; m < finder->machine_count; m++)
		study(finder, m);
	finder->adapter_of = ARENA_ARRAY(finder->arena, rank_count, int);
	for (size_t m = 0; m < finder->machine_count; m++) {
		const struct ring_machine *machine = &finder->machines[m];
		for (size_t place = 0; place < machine->count; place++)
			finder->adapter_of[machine->ranks[place]] =
				machine->adapter_node ? machine->adapter_node[place] : -1;
	}
	struct comm_shape shape = shape_of(finder, rank_count);
	if (finder->across)
		shape.ring_count = channels_across(finder, shape.inside_Bps, shape.network_Bps);
	else
		shape.ring_count = finder->machines[0].inner.ring_count;
	uint32_t *order = ARENA_ARRAY(finder->arena, shape.ring_count * rank_count, uint32_t);
	if (finder->across)
		write_across(finder, shape.ring_count, rank_count, order);
	else
		write_alone(&finder->machines[0], order);
	return (struct rings){
		.shape = shape,
		.node_of = finder->node_of,
		.order = order,
		.adapter_of = finder->adapter_of,
	};
}

/* Extends the result from the simulated ranks to all. */
static void unfold(struct arena *arena, const struct fold *fold, struct rings *rings)
{
	size_t simulated = fold->simulated_count, count = fold->rank_count;
	uint32_t *order = ARENA_ARRAY(arena, rings->shape.ring_count * count, uint32_t);
	uint32_t *next = order;
	for (size_t ring = 0; ring < rings->shape.ring_count; ring++)
		for (size_t m = 0; m < fold->machine_count; m++) {
			uint32_t first = fold->first_simulated[fold->like[m]];
			uint32_t ranks = fold->first_rank[m + 1] - fold->first_rank[m];
			const uint32_t *known = rings->order + ring * simulated + first;
			for (uint32_t i = 0; i < ranks; i++)
				*next++ = fold->first_rank[m] + (known[i] - first);
		}
	rings->order = order;
	rings->node_of = fold->machine_of;
	rings->shape.rank_count = count;
	rings->shape.node_count = fold->machine_count;
}

struct rings rings_find(struct arena *arena, struct fabric *fabric, const struct ring_place *ranks,
			size_t rank_count, unsigned traffic, const struct fold *fold, bool search,
			bool binds)
{
	struct finder finder = {
		.arena = arena,
		.scratch = arena_new(),
		.fabric = fabric,
		.traffic = traffic,
		.search = search,
		.binds = binds,
		.across = fold && fold->machine_count > 1,
	};
	struct rings rings = find(&finder, ranks, rank_count);
	arena_free(finder.scratch);
	if (fold)
		unfold(arena, fold, &rings);
	return rings;
}
