/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's choice. Each algorithm and protocol has a latency and a bandwidth, and the pair with the
 * smallest latency + size / bandwidth is taken.
 *
 *   ring   base + inner hops + network hops;  size * steps / (ranks * bus)
 *   tree   base + 2 ((ranks of a node - 1) inner hops + log2(nodes) network hops);
 *          2 size / (bus * correction(size))
 *
 * A ring all-reduce has 2 (ranks - 1) steps. 2 (nodes - 1) of them cross the network and, since
 * 2.12, two more (the longest path of a chunk). The bus is the slower of a GPU's links and a node's
 * adapters, times the protocol's ratio, and at most the bandwidth of the thread blocks. A tree over
 * two nodes counts the links inside the node, up to twice the adapters: NCCL's search widens them
 * (src/graph/search.cc, "increase bwIntra for trees") and its model uses them for up to two nodes
 * (src/graph/tuning.cc, nNodes <= 2 ? bwIntra : bwInter). In a ring the two are equal. The library
 * chooses with the latencies of hops and the splits of trees that are simulated, but without the
 * costs of a start (start, channel_start). It may choose wrong, as NCCL does. */
#include "sim/collective/algorithm.h"
#include "sim/collective/constants.h"
#include "sim/collective/msccl.h"
#include "sim/collective/generation.h"
#include "sim/gpu/gpu.h"

/* Returns the factor on the time of rings with Simple across nodes. */
static double plateau_ratio(const struct library_params *lib, const struct comm_shape *shape,
			    bool tree, enum protocol protocol)
{
	return protocol == PROTOCOL_SIMPLE && !tree && shape->node_count > 1 ? lib->plateau_ratio
									     : 1;
}

static double base_s(const struct library_params *lib, const struct comm_shape *shape, bool tree,
		     enum protocol protocol)
{
	return lib->latency_scale_ratio * lib->latencies.base_s[tree][protocol] *
	       plateau_ratio(lib, shape, tree, protocol);
}

/* Returns the latency of a hop including the wire for these ranks. It contains the fitted scales of
 * this system except simple_scale, which own_hop_s adds: NCCL switches to Simple as its own model
 * says (fit rows of nccl-a100: rms 2.5 % in one node, 3.5 % with simple_scale here). */
static double whole_hop_s(const struct library_params *lib, const struct comm_shape *shape,
			  bool tree, enum protocol protocol, enum hop_class class)
{
	double hop_s = lib->latencies.hop_s[tree][class][protocol];
	bool across = shape->node_count > 1;
	if (protocol == PROTOCOL_LL && class != HOP_NET && across)
		hop_s *= lib->ll_nodes_ratio;
	/* In a ring that leaves the node, every step waits for a message to be posted. */
	if (!tree && class != HOP_NET && across)
		hop_s = fmax(hop_s, lib->net_overhead_s * (protocol == PROTOCOL_SIMPLE ? 3 : 1));
	if (protocol == PROTOCOL_LL && class != HOP_NET && across)
		hop_s *= lib->ll_nodes_scale_ratio;
	return lib->latency_scale_ratio * hop_s * plateau_ratio(lib, shape, tree, protocol);
}

/* Part of the links' goodput that LL128 reaches in NCCL's model, of 120 data bytes in 128. */
static const double LL128_DATA_RATIO = 0.92;

static double protocol_ratio(const struct library_params *lib, const struct comm_shape *shape,
			     bool tree, enum protocol protocol)
{
	double ratio = tree ? lib->tree_ratio : 1;
	if (protocol == PROTOCOL_LL)
		ratio *= lib->ll_ratio;
	else if (protocol == PROTOCOL_LL128 && tree && shape->node_count == 1)
		ratio *= lib->ll128_tree_ratio;
	else if (protocol == PROTOCOL_LL128)
		ratio *= shape->node_count > 1 && shape->rank_most == 1 ? lib->ll128_alone_ratio
									: LL128_DATA_RATIO;
	return ratio;
}

static double efficiency_ratio(const struct library_params *lib, enum hop_class class)
{
	const double ratios[HOP_CLASS_COUNT] = {
		lib->nvlink_efficiency_ratio, lib->pci_efficiency_ratio, lib->net_efficiency_ratio};
	return ratios[class];
}

/* Returns the same part in the library's model. */
static double planned_ratio(const struct library_params *lib, enum hop_class class)
{
	return class == HOP_NVLINK ? lib->nvlink_planned_ratio : efficiency_ratio(lib, class);
}

/* Returns the maximum bandwidth of one thread block. */
static double block_Bps(const struct library_params *lib, bool tree, enum protocol protocol,
			bool across)
{
	switch (protocol) {
	case PROTOCOL_LL:
		return across ? lib->channel_ll_net_Bps : lib->channel_ll_Bps;
	case PROTOCOL_LL128:
		return lib->channel_ll128_Bps;
	default:
		return tree ? lib->channel_tree_Bps : lib->channel_bandwidth_Bps;
	}
}

static double least(double a, double b) /* returns the smaller value that is not 0 */
{
	if (a <= 0 || b <= 0)
		return fmax(a, b);
	return fmin(a, b);
}

/* Returns the number of channels that the library creates for these ranks: a pair for each ring,
 * or for each lane_Bps of bandwidth if that gives more. From Hopper on, rings across nodes have up
 * to 50 GB/s (src/graph/search.cc, sm90SpeedArrayInter: 48), and two pairs each if there are fewer
 * than eight rings (src/graph/connect.cc: bwIntra > 45, nChannels < 16). */
static size_t blocks_most(const struct library_params *lib, const struct comm_shape *shape)
{
	if (lib->channels_count > 0)
		return (size_t)lib->channels_count;
	double links_Bps = least(shape->inside_Bps, shape->network_Bps), lane_Bps = lib->lane_Bps;
	bool hopper = shape->generation >= GENERATION_HOPPER && shape->node_count > 1;
	if (hopper)
		lane_Bps = fmax(lane_Bps, 50e9);
	double rings = fmax(ceil(links_Bps / lane_Bps), (double)shape->ring_count);
	double pairs = hopper && rings < 8 && links_Bps > 45e9 * rings ? 2 * rings : rings;
	return (size_t)fmax(1, fmin(2 * pairs, lib->channels_most_count));
}

/* Returns the number of channels that work on size_B, so that each has enough data for its
 * threads. The result is not rounded. */
static double blocks_busy(const struct library_params *lib, const struct comm_shape *shape,
			  bool tree, enum protocol protocol, double size_B)
{
	/* NCCL 2.18: 512, 640 and 512 threads with 8, 8 and 64 B each */
	static const double threads_B[PROTOCOL_COUNT] = {4096, 5120, 32768};
	double most = (double)blocks_most(lib, shape), least_B = threads_B[protocol];
	if (protocol == PROTOCOL_LL && !tree)
		least_B *= (double)shape->rank_count;
	if (lib->channels_count > 0)
		return most;
	return fmax(1, fmin(most, size_B / least_B));
}

/* In one machine, NCCL's model gives LL a third of the bandwidth and not a quarter, except in an
 * all-reduce (NCCL 2.18 to 2.20, src/graph/tuning.cc). */
static const double LL_ONE_LAP_RATIO = 4.0 / 3;

/* NCCL limits LL by all channels, even if few have enough data. It then keeps a ring with LL up to
 * sizes for which another choice is much faster. Here only working channels count. */
static double bus_Bps(const struct library_params *lib, const struct comm_shape *shape, bool tree,
		      enum protocol protocol, bool reduces_all, double size_B)
{
	double twice = tree && shape->node_count <= 2 ? 2 : 1;
	double links_Bps = least(shape->inside_Bps * planned_ratio(lib, shape->inside),
				 twice * shape->network_Bps * efficiency_ratio(lib, HOP_NET));
	double blocks = protocol == PROTOCOL_LL ? blocks_busy(lib, shape, tree, protocol, size_B)
						: (double)blocks_most(lib, shape);
	links_Bps *= protocol_ratio(lib, shape, tree, protocol);
	if (protocol == PROTOCOL_LL && !reduces_all && shape->node_count == 1)
		links_Bps *= LL_ONE_LAP_RATIO;
	if (protocol == PROTOCOL_SIMPLE && !tree)
		return links_Bps; /* NCCL's model does not limit blocks with Simple in a ring */
	return least(links_Bps, blocks * block_Bps(lib, tree, protocol, shape->node_count > 1));
}

/* Returns the latency of a hop to another node in the library's model. With Simple it also waits
 * for a flush. */
static double planned_net_s(const struct library_params *lib, const struct comm_shape *shape,
			    bool tree, enum protocol protocol)
{
	return whole_hop_s(lib, shape, tree, protocol, HOP_NET) +
	       efa_planned_s(shape) * (protocol == PROTOCOL_SIMPLE ? 2 : 1);
}

/* Returns the time of a ring with LL across nodes while only some channels work. A chunk takes the
 * rate of a block inside a node on most hops, and the lower one to the network on few. The hops to
 * the network also take all chunks one after the other. */
static double ring_ll_s(const struct library_params *lib, const struct comm_shape *shape,
			double latency_s, double steps, double across, double size_B)
{
	double blocks = blocks_busy(lib, shape, false, PROTOCOL_LL, size_B);
	double chunk_B = size_B / (double)shape->rank_count / blocks;
	double inside_s = chunk_B / block_Bps(lib, false, PROTOCOL_LL, false);
	double across_s = chunk_B / block_Bps(lib, false, PROTOCOL_LL, true);
	return fmax(latency_s + (steps - across) * inside_s + across * across_s,
		    base_s(lib, shape, false, PROTOCOL_LL) + steps * across_s);
}

static double ring_guess_s(const struct library_params *lib, const struct comm_shape *shape,
			   enum collective collective, enum protocol protocol, double size_B)
{
	double twice = collective == COLLECTIVE_ALL_REDUCE ? 2 : 1;
	double ranks = (double)shape->rank_count;
	double nodes = (double)shape->node_count, steps = twice * (ranks - 1);
	double across = 0;
	if (nodes > 1)
		across = fmin(twice * (nodes - 1) + (twice - 1) * lib->net_steps_more_count, steps);
	double latency_s =
		(steps - across) * whole_hop_s(lib, shape, false, protocol, shape->inside);
	latency_s += across * planned_net_s(lib, shape, false, protocol);
	latency_s += base_s(lib, shape, false, protocol);
	double part_B = collective == COLLECTIVE_BROADCAST ? size_B : size_B * steps / ranks;
	if (protocol == PROTOCOL_LL && across > 0 && !shape->socket && !shape->staged &&
	    collective != COLLECTIVE_BROADCAST &&
	    blocks_busy(lib, shape, false, protocol, size_B) < (double)blocks_most(lib, shape))
		return ring_ll_s(lib, shape, latency_s, steps, across, size_B);
	return latency_s + part_B / bus_Bps(lib, shape, false, protocol, twice > 1, size_B);
}

/* Returns the bandwidth of a block in one direction on this system. LL's bytes to a network are
 * limited by its proxies; the work of proxies for sockets is simulated. */
static double reached_Bps(const struct library_params *lib, const struct comm_shape *shape,
			  bool tree, enum protocol protocol, enum hop_class class)
{
	bool across = protocol == PROTOCOL_LL && class == HOP_NET && !shape->socket;
	/* Words are forwarded as they arrive, and pieces for sockets are whole steps. The rate of
	 * their block counts once, on the way to the socket. */
	if (tree && shape->socket && protocol != PROTOCOL_SIMPLE && class != HOP_NET)
		return 0;
	const double ratios[PROTOCOL_COUNT] = {
		across ? 1 : lib->block_ll_ratio,
		lib->block_ll128_ratio,
		lib->block_simple_ratio,
	};
	const double splits[PROTOCOL_COUNT] = {lib->tree_split_ll_ratio, lib->tree_split_ll_ratio,
					       lib->tree_split_ratio};
	double ratio = ratios[protocol] * (tree ? splits[protocol] : 1);
	return ratio * block_Bps(lib, tree, protocol, across);
}

/* Returns the maximum bus bandwidth of a tree whose blocks divide their threads between the ways up
 * and down. NCCL's model contains this in its measured corrections, for the systems it was tuned
 * on; a system with other splits gets its own bound. */
static double split_Bps(const struct library_params *lib, const struct comm_shape *shape,
			enum protocol protocol, double size_B)
{
	double blocks = blocks_busy(lib, shape, true, protocol, size_B);
	double inside_Bps = reached_Bps(lib, shape, true, protocol, shape->inside);
	double across_Bps =
		shape->node_count > 1 ? reached_Bps(lib, shape, true, protocol, HOP_NET) : 0;
	return 2 * blocks * least(inside_Bps, across_Bps);
}

/* CollNet's latencies and part of the adapters' bandwidth (NCCL 2.20, src/graph/tuning.cc). */
static double collnet_guess_s(const struct library_params *lib, const struct comm_shape *shape,
			      bool chain, double size_B)
{
	double others = (double)shape->rank_most - 1;
	double bus_Bps = shape->network_Bps * efficiency_ratio(lib, HOP_NET) / 2;
	double latency_s = 30e-6 + 2 * others * 2.8e-6;
	if (!chain) { /* all GPUs at full speed need an adapter each */
		double gpus = (double)shape->rank_most / (double)shape->ring_count;
		latency_s = 31e-6 + 2 * (fmin(1, others) * 3.7e-6 + others * 0.4e-6);
		bus_Bps *= (shape->generation >= GENERATION_HOPPER ? 0.85 : 1) / ((gpus + 1) / 2);
	}
	return lib->latency_scale_ratio * latency_s + size_B / bus_Bps;
}

static double tree_guess_s(const struct library_params *lib, const struct comm_shape *shape,
			   enum protocol protocol, double size_B)
{
	double inside_s = whole_hop_s(lib, shape, true, protocol, shape->inside);
	double across_s = planned_net_s(lib, shape, true, protocol);
	double latency_s = base_s(lib, shape, true, protocol) +
			   2 * ((double)shape->rank_most - 1) * inside_s +
			   2 * (double)ilogb((double)shape->node_count) * across_s;
	double bus = bus_Bps(lib, shape, true, protocol, true, size_B) *
		     tree_correction_ratio(lib, protocol, size_B);
	return latency_s + 2 * size_B / least(bus, split_Bps(lib, shape, protocol, size_B));
}

static bool may_use(const struct library_params *lib, const struct comm_shape *shape,
		    const struct algorithm *algorithm, enum protocol protocol)
{
	if (algorithm->cost == COST_MULTICAST)
		return protocol == PROTOCOL_SIMPLE && multicast_may(lib, shape, algorithm->paired);
	if (algorithm->in_network &&
	    (protocol != PROTOCOL_SIMPLE || !lib->collnet || !shape->network_adds ||
	     shape->node_count < 2 || shape->rank_count != shape->rank_most * shape->node_count))
		return false;
	if (lib->protocol != CHOOSE_PROTOCOL_AUTO)
		return (int)protocol == lib->protocol - CHOOSE_LL;
	if (shape->node_count > 1 && !efa_keeps_order(shape))
		return protocol == PROTOCOL_SIMPLE;
	/* LL128's 128 bytes must arrive together, which NVLink and PCIe switches guarantee from
	 * Volta on; NCCL does not test other paths (src/graph/tuning.cc, typeInter <= PATH_PXB) */
	return protocol != PROTOCOL_LL128 ||
	       (lib->ll128 && shape->inside == HOP_NVLINK && !shape->far_adapter &&
		shape->generation >= GENERATION_VOLTA);
}

static const struct algorithm *first_of(enum collective collective)
{
	for (size_t i = 0; i < algorithm_count(); i++)
		if (algorithm_at(i)->collective == collective)
			return algorithm_at(i);
	return NULL;
}

/* Returns Simple's chunk in a tree. NCCL halves it while there are too few chunks to fill the
 * depth (src/enqueue.cc). */
static double chunk_B(const struct library_params *lib, const struct comm_shape *shape,
		      double block_B)
{
	double depth = (double)shape->rank_most + ilogb((double)shape->node_count);
	double size_B = lib->slice_B;
	while (block_B < 8 * depth * size_B && size_B > 128 * 1024)
		size_B /= 2;
	while (block_B < 4 * depth * size_B && size_B > 64 * 1024)
		size_B /= 2;
	while (block_B < depth * size_B && size_B > 32 * 1024)
		size_B /= 2;
	return size_B;
}

/* Returns the number of pipelined pieces in a tree or a chain. Threads with LL or LL128 forward
 * each word as it arrives, so pieces are small; a socket gets a whole step. A chain with Simple
 * forwards slices. Where pieces cannot form trains (executor.c), more than PIECES_MOST would
 * cost many events and hardly change the time. */
static size_t pipeline_count(const struct library_params *lib, const struct comm_shape *shape,
			     const struct collective_choice *choice, double size_B)
{
	enum { PIECES_MOST = 64 };
	/* LL: several words of 8 B; LL128: 16 lines of 120 B of a warp. NCCL's proxy sends a step
	 * of LL's buffer through a socket, 512 threads x 8 lines x 8 B. */
	const double ll_B = 64, ll128_B = 1920, socket_B = 32768;
	bool trains = choice->algorithm->pipelined && !shape->socket;
	double block_B = size_B / (double)choice->block_count, piece_B = lib->slice_B;
	if (choice->protocol != PROTOCOL_SIMPLE) {
		piece_B = choice->protocol == PROTOCOL_LL ? ll_B : ll128_B;
		if (shape->socket)
			piece_B = fmax(piece_B, socket_B);
	} else if (choice->algorithm->collective != COLLECTIVE_BROADCAST) {
		piece_B = chunk_B(lib, shape, block_B);
		if (choice->algorithm == &algorithm_collnet_direct)
			piece_B *= (double)shape->rank_most; /* a chunk for each head */
	}
	double count = fmax(ceil(block_B / piece_B), 1);
	return (size_t)(trains ? count : fmin(count, PIECES_MOST));
}

/* Returns the latency of a hop without the part that belongs to a usual wire. */
static double own_hop_s(const struct library_params *lib, enum protocol protocol,
			enum hop_class class, double whole_s)
{
	const double wire_s[HOP_CLASS_COUNT] = {lib->wire_nvlink_s, lib->wire_pci_s,
						lib->wire_net_s};
	if (protocol == PROTOCOL_SIMPLE)
		whole_s *= lib->simple_scale_ratio;
	return fmax(0, whole_s - wire_s[class]);
}

/* Half of LL's bytes are flags. Its stores of 8 B do not fill the links inside a node. A network is
 * not affected, because a proxy sends it whole steps. */
static const double LL_DATA_RATIO = 0.5;

static double goodput_ratio(const struct library_params *lib, const struct comm_shape *shape,
			    bool tree, enum protocol protocol, enum hop_class class)
{
	double ratio = efficiency_ratio(lib, class);
	if (protocol == PROTOCOL_LL && class == HOP_NET)
		return ratio * (tree ? lib->tree_ratio : 1) * LL_DATA_RATIO;
	return ratio * protocol_ratio(lib, shape, tree, protocol);
}

/* Sets everything that follows from algorithm and protocol. */
static void settle(const struct library_params *lib, const struct comm_shape *shape,
		   struct collective_choice *choice, double size_B)
{
	bool tree = choice->algorithm->cost == COST_TREE;
	enum protocol protocol = choice->protocol;
	if (choice->algorithm->cost == COST_SHOTS) {
		shots_settle(lib, shape, choice);
		return;
	}
	if (choice->algorithm->cost == COST_MULTICAST) {
		double whole_s = whole_hop_s(lib, shape, true, protocol, HOP_NET);
		multicast_settle(lib, shape, choice, size_B);
		choice->hop_s[HOP_NET] = own_hop_s(lib, protocol, HOP_NET, whole_s);
		choice->goodput_ratio[HOP_NET] = lib->net_efficiency_ratio;
		return;
	}
	const struct msccl *script = choice->algorithm == &algorithm_msccl ? lib->script : NULL;
	size_t blocks = script ? script->block_count
			       : (size_t)blocks_busy(lib, shape, tree, protocol, size_B);
	size_t channels = script                       ? script->schedule->channel_count
			  : shape->ring_count < blocks ? shape->ring_count
						       : blocks;
	choice->block_count = blocks;
	if (channels == 0 || choice->algorithm == &algorithm_collnet_direct)
		channels = 1; /* all channels have the same heads */
	choice->channel_count = channels;
	choice->pipeline_count = pipeline_count(lib, shape, choice, size_B);
	choice->start_s = base_s(lib, shape, tree, protocol) + lib->start_s +
			  (double)blocks * lib->channel_start_s;
	if (lib->block_copy_Bps > 0)
		choice->copy_spB = 1 / ((double)blocks * lib->block_copy_Bps);
	for (int k = 0; k < HOP_CLASS_COUNT; k++) {
		enum hop_class hop = (enum hop_class)k;
		double whole_s = whole_hop_s(lib, shape, tree, protocol, hop);
		choice->hop_s[k] = own_hop_s(lib, protocol, hop, whole_s);
		choice->goodput_ratio[k] = goodput_ratio(lib, shape, tree, protocol, hop);
		double share = script ? 1
				      : (double)blocks / (double)choice->channel_count /
						(choice->algorithm->paired ? 2 : 1);
		choice->channel_cap_Bps[k] = share * reached_Bps(lib, shape, tree, protocol, hop);
	}
	/* An adapter carries its part of the buffer once each way (trees.c). */
	if (choice->algorithm->in_network)
		choice->goodput_ratio[HOP_NET] =
			lib->net_efficiency_ratio * (2 - 2 / (double)shape->node_count);
}

static size_t power_of_two(double least) /* the result is at least 1 */
{
	size_t power = 1;
	while ((double)power < least)
		power *= 2;
	return power;
}

/* Sets the schedule of an all-to-all. NCCL posts its messages between ranks together, as a
 * group. They are distributed over a power of two of separate channels, with up to eight messages
 * in a block at a time. If all ranks together would have more than MESSAGES_MOST messages at a
 * time, each rank has only eight. This limits the cost of a run and changes only the latency with
 * more than 64 ranks. Small messages use LL, except those to the network, each of which is posted
 * by the proxy. */
static void settle_messages(const struct library_params *lib, const struct comm_shape *shape,
			    struct collective_choice *choice, double size_B)
{
	/* SEND_LL_B: NCCL 2.14 and later, NCCL_P2P_LL_THRESHOLD */
	enum { BLOCK_MESSAGES = 8, MESSAGES_MOST = 4096, SEND_LL_B = 16384 };
	double ranks = (double)shape->rank_count, blocks = (double)blocks_most(lib, shape);
	if (lib->channels_count <= 0)
		blocks = (double)power_of_two(blocks);
	enum protocol small = lib->protocol != CHOOSE_SIMPLE && size_B <= ranks * SEND_LL_B
				      ? PROTOCOL_LL
				      : PROTOCOL_SIMPLE;
	/* share is the number of blocks of a message; at_once is the number of concurrent
	 * messages of a rank */
	double share = small == PROTOCOL_LL ? 1 : fmax(1, floor(blocks / ranks));
	double at_once = fmin(ranks - 1, BLOCK_MESSAGES * blocks / share);
	if (at_once * ranks > MESSAGES_MOST)
		at_once = BLOCK_MESSAGES;
	at_once = fmax(1, at_once);
	choice->protocol = small;
	choice->channel_count = (size_t)at_once;
	choice->pipeline_count = 1;
	choice->block_count = (size_t)fmin(blocks, share * at_once);
	choice->start_s = lib->latency_scale_ratio * lib->latencies.base_s[false][small] +
			  lib->start_s + (double)choice->block_count * lib->channel_start_s +
			  ((double)shape->rank_most - 1) * lib->message_s;
	if (lib->message_simple_s > 0 && small == PROTOCOL_SIMPLE)
		choice->start_s += lib->message_simple_s -
				   lib->latency_scale_ratio * lib->latencies.base_s[false][small];
	if (lib->block_copy_Bps > 0) /* each rank copies its own part */
		choice->copy_spB = 1 / (blocks * lib->block_copy_Bps);
	if (!shape->socket)
		choice->start_s +=
			(double)(shape->rank_count - shape->rank_most) * lib->net_overhead_s;
	for (int k = 0; k < HOP_CLASS_COUNT; k++) {
		enum hop_class hop = (enum hop_class)k;
		enum protocol protocol = hop == HOP_NET ? PROTOCOL_SIMPLE : small;
		double whole_s =
			lib->latency_scale_ratio * lib->latencies.hop_s[false][hop][protocol];
		choice->hop_s[k] = own_hop_s(lib, protocol, hop, whole_s);
		choice->channel_cap_Bps[k] = fmin(share, blocks / at_once) *
					     reached_Bps(lib, shape, false, protocol, hop);
		choice->goodput_ratio[k] = efficiency_ratio(lib, hop);
		if (protocol == PROTOCOL_LL)
			choice->goodput_ratio[k] *= LL_DATA_RATIO;
	}
}

static double guess_s(const struct library_params *lib, const struct comm_shape *shape,
		      const struct algorithm *algorithm, enum protocol protocol, double size_B)
{
	if (algorithm->in_network)
		return collnet_guess_s(lib, shape, algorithm == &algorithm_collnet_chain, size_B);
	switch (algorithm->cost) {
	case COST_TREE:
		return tree_guess_s(lib, shape, protocol, size_B);
	case COST_MULTICAST:
		return multicast_guess_s(lib, shape, planned_net_s(lib, shape, true, protocol),
					 size_B);
	default:
		return ring_guess_s(lib, shape, algorithm->collective, protocol, size_B);
	}
}

/* Stores the algorithm with its best protocol in choice if that is better. */
static void consider(const struct library_params *lib, const struct comm_shape *shape,
		     const struct algorithm *algorithm, double size_B,
		     struct collective_choice *choice)
{
	for (int p = 0; p < PROTOCOL_COUNT; p++) {
		enum protocol protocol = (enum protocol)p;
		if (!may_use(lib, shape, algorithm, protocol))
			continue;
		double predicted_s = guess_s(lib, shape, algorithm, protocol, size_B);
		if (choice->algorithm && choice->predicted_s <= predicted_s)
			continue;
		choice->algorithm = algorithm;
		choice->protocol = protocol;
		choice->predicted_s = predicted_s;
	}
}

/* Takes the choice of the tuner of EFA's plugin. Returns false if there is none. */
static bool take_tuned(const struct library_params *lib, const struct comm_shape *shape,
		       double size_B, struct collective_choice *choice)
{
	enum protocol protocol = PROTOCOL_SIMPLE;
	enum cost_model cost = COST_RING;
	if (!lib->efa_tuner || lib->protocol != CHOOSE_PROTOCOL_AUTO ||
	    !efa_tuned(shape, size_B, &cost, &protocol))
		return false;
	for (size_t i = 0; i < algorithm_count(); i++) {
		const struct algorithm *algorithm = algorithm_at(i);
		if (!algorithm->automatic || algorithm->cost != cost ||
		    !may_use(lib, shape, algorithm, protocol))
			continue;
		choice->algorithm = algorithm;
		choice->protocol = protocol;
		choice->predicted_s = guess_s(lib, shape, algorithm, protocol, size_B);
		return true;
	}
	return false;
}

struct collective_choice library_choose(const struct library_params *params,
					const struct comm_shape *shape, enum collective collective,
					double size_B)
{
	FW_ASSERT(shape->rank_count > 0 && shape->node_count > 0 && size_B > 0);
	if (params->rules != RULES_NCCL)
		return host_choose(params, shape, collective, size_B);
	struct collective_choice choice = {.algorithm = NULL};
	struct library_params resolved = *params, *library = &resolved;
	library_resolve(library, shape->generation);
	if (windows_choose(library, shape, collective, size_B, &choice))
		return choice;
	if (library->script && library->script->collective == collective &&
	    library->script->schedule->rank_count == shape->rank_count &&
	    size_B >= library->script->least_B && size_B <= library->script->most_B) {
		choice.algorithm = &algorithm_msccl;
		choice.protocol = library->script->protocol;
	} else if (collective == COLLECTIVE_ALL_REDUCE && strcmp(library->algorithm, "auto") == 0) {
		choice.algorithm = shots_find(library, shape, size_B);
		bool tuned = choice.algorithm || take_tuned(library, shape, size_B, &choice);
		for (size_t i = 0; !tuned && i < algorithm_count(); i++)
			if (algorithm_at(i)->automatic &&
			    (algorithm_at(i) != &algorithm_collnet_direct || shape->multicast))
				consider(library, shape, algorithm_at(i), size_B, &choice);
	} else if (collective == COLLECTIVE_ALL_REDUCE) {
		consider(library, shape, algorithm_find(library->algorithm), size_B, &choice);
		if (!choice.algorithm) /* these ranks cannot use SHARP */
			consider(library, shape, first_of(collective), size_B, &choice);
	} else if (collective == COLLECTIVE_ALL_TO_ALL && library->experts != EXPERTS_LIBRARY) {
		choice.algorithm = experts_find(library, shape);
		library_reach(library, shape);
		experts_settle(library, shape, &choice);
		return choice;
	} else if (collective == COLLECTIVE_ALL_TO_ALL) {
		struct library_params simple = *library;
		simple.protocol = CHOOSE_SIMPLE;
		consider(&simple, shape, first_of(collective), size_B, &choice);
		library_reach(library, shape);
		settle_messages(library, shape, &choice, size_B);
		return choice;
	} else {
		const struct algorithm *own = algorithm_find(library->algorithm);
		bool fits = own && own->collective == collective;
		consider(library, shape, fits ? own : first_of(collective), size_B, &choice);
	}
	FW_ASSERT(choice.algorithm);
	library_reach(library, shape);
	if (shape->node_count > 1 && !shape->socket)
		library->channel_start_s += library->channel_net_s;
	settle(library, shape, &choice, size_B);
	return choice;
}
