/* SPDX-License-Identifier: GPL-3.0-or-later */
/* all_to_all: an exchange in n - 1 rounds. In round i each rank sends to the rank i places further
 * on channel 0's ring and receives from the rank i places back. So no rank has two senders at the
 * same time. The rounds are distributed over the channels. On one channel, a rank continues
 * when its message has arrived and it has received the message sent to it. A rank's own part is
 * copied inside its memory.
 *
 * all_to_all_nodes: a message to another node first goes to the rank there with the sender's place,
 * which forwards it. So a network of rails carries it on one rail, and a token with several experts
 * in a node crosses the network once (DeepEP's kernels for many tokens, NVIDIA's HybridEP). */
#include "sim/collective/constants.h"
#include "sim/collective/pattern.h"

static void exchange(struct schedule_builder *builder, const struct algorithm_spec *spec,
		     size_t distance, uint32_t *last, uint32_t *sends)
{
	size_t n = spec->rank_count, channel = (distance - 1) % spec->channel_count;
	last += channel * n * 2; /* for each rank: its last send and its last receive */
	for (size_t i = 0; i < n; i++) {
		size_t rank = pattern_rank(spec, 0, i);
		size_t peer = pattern_rank(spec, 0, (i + distance) % n);
		sends[rank] = schedule_send(builder, rank, peer, rank * n + peer, channel,
					    &last[rank * 2], 2);
	}
	for (size_t i = 0; i < n; i++) {
		size_t rank = pattern_rank(spec, 0, i);
		size_t from = pattern_rank(spec, 0, (i + n - distance) % n);
		last[rank * 2] = sends[rank];
		last[rank * 2 + 1] = schedule_copy(builder, rank, from * n + rank, channel,
						   sends[from], NULL, 0);
	}
}

/* Begins a schedule in which each of the n ranks has a buffer that is divided into n parts. */
static struct schedule_builder *begin(const struct algorithm *algorithm, struct arena *arena,
				      const struct algorithm_spec *spec, size_t step_count)
{
	size_t n = spec->rank_count;
	struct algorithm_spec whole = *spec;
	whole.size_B *= (double)n;
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, &whole, spec->channel_count, n * n, n + step_count);
	for (size_t rank = 0; rank < n; rank++)
		schedule_copy(builder, rank, rank * n + rank, 0, NO_STEP, NULL, 0);
	return builder;
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count;
	struct schedule_builder *builder = begin(algorithm, arena, spec, 2 * n * (n - 1));
	uint32_t *last = pattern_last(arena, spec->channel_count * n * 2);
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t distance = 1; distance < n; distance++)
		exchange(builder, spec, distance, last, sends);
	return schedule_finish(builder);
}

const struct algorithm algorithm_all_to_all = {
	.name = "all_to_all",
	.help = "all-to-all in rounds, in each of which a rank sends to one peer",
	.collective = COLLECTIVE_ALL_TO_ALL,
	.build = build,
};

/* Sends the part of `rank` for `peer` through the rank `via` of peer's node. The next message on
 * the channel leaves when this one has arrived. */
static void send_through(struct schedule_builder *builder, const struct algorithm_spec *spec,
			 const uint32_t ranks[3], size_t channel, uint32_t *last)
{
	uint32_t rank = ranks[0], via = ranks[1], peer = ranks[2];
	size_t chunk = rank * spec->rank_count + peer;
	*last = schedule_send(builder, rank, via, chunk, channel, last, 1);
	uint32_t stored = schedule_copy(builder, via, chunk, channel, *last, NULL, 0);
	if (via == peer)
		return;
	uint32_t sent = schedule_send(builder, via, peer, chunk, channel, &stored, 1);
	schedule_copy(builder, peer, chunk, channel, sent, NULL, 0);
}

/* A rank sends to all nodes at the same time, and to one rank of each node after the other. */
static const struct schedule *build_nodes(const struct algorithm *algorithm, struct arena *arena,
					  const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count;
	struct pattern_nodes nodes = pattern_nodes(arena, spec, 0);
	struct algorithm_spec own = *spec;
	own.channel_count = nodes.count;
	struct schedule_builder *builder = begin(algorithm, arena, &own, 4 * n * (n - 1));
	for (size_t i = 0; i < n; i++)
		for (size_t far = 0; far < nodes.count; far++) {
			size_t place = i % nodes.most, node = (i / nodes.most + far) % nodes.count;
			const uint32_t *there = nodes.ranks + node * nodes.most;
			uint32_t last = NO_STEP;
			for (size_t k = far > 0 ? 0 : 1; k < nodes.most; k++) {
				uint32_t to = there[(place + k) % nodes.most];
				uint32_t via = far > 0 ? there[place] : to;
				send_through(builder, spec, (uint32_t[]){nodes.ranks[i], via, to},
					     far, &last);
			}
		}
	return schedule_finish(builder);
}

const struct algorithm algorithm_all_to_all_nodes = {
	.name = "all_to_all_nodes",
	.help = "all-to-all that crosses the network once for each machine, and forwards inside",
	.collective = COLLECTIVE_ALL_TO_ALL,
	.refuse = pattern_equal_nodes,
	.build = build_nodes,
};

/* ---- the exchange of experts ---- */

const struct algorithm *experts_find(const struct library_params *lib,
				     const struct comm_shape *shape)
{
	bool equal = shape->rank_count == shape->rank_most * shape->node_count;
	return lib->experts == EXPERTS_NODES && equal ? &algorithm_all_to_all_nodes
						      : &algorithm_all_to_all;
}

/* Returns how many of `places` equal places at least one of a token's experts is in, on average. */
static double places_met(const struct library_params *lib, double places)
{
	return places * (1 - pow(1 - 1 / places, lib->experts_top_count));
}

void experts_settle(const struct library_params *lib, const struct comm_shape *shape,
		    struct collective_choice *choice)
{
	/* All messages are on their way at the same time, except in groups in which this would cost
	 * too many events. Then there are still enough to hide their latency. */
	enum { MESSAGES_MOST = 4096 };
	double ranks = (double)shape->rank_count, nodes = (double)shape->node_count;
	if (lib->experts_nodes_count > 0)
		nodes = fmin(nodes, lib->experts_nodes_count);
	double gpus = fmin(ranks, nodes * (double)shape->rank_most);
	bool once = choice->algorithm == &algorithm_all_to_all_nodes;
	choice->protocol = PROTOCOL_SIMPLE;
	choice->channel_count = (size_t)fmax(1, fmin(ranks - 1, MESSAGES_MOST / ranks));
	choice->pipeline_count = 1;
	choice->block_count = (size_t)lib->experts_blocks_count;
	choice->start_s = lib->start_s + lib->experts_start_s;
	choice->goodput_ratio[HOP_NVLINK] = lib->nvlink_efficiency_ratio;
	choice->goodput_ratio[HOP_PCI] = lib->pci_efficiency_ratio;
	choice->goodput_ratio[HOP_NET] = lib->net_efficiency_ratio;
	/* The parts of a buffer have a row for each expert. Those of a token with several experts
	 * in a node, or on a GPU, travel once. */
	for (int k = 0; k < HOP_CLASS_COUNT && once; k++)
		choice->goodput_ratio[k] *=
			lib->experts_top_count / places_met(lib, k == HOP_NET ? nodes : gpus);
}
