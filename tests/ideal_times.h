/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ideal time of each algorithm of a collective, as a formula.
 *
 * It holds if nothing is shared and all ranks begin at the same time. Each wire (a sender, a
 * receiver and a channel) is then a separate link on which a message of size B takes latency +
 * size * spB. Messages follow each other as closely as spB allows.
 *
 * Comments use these symbols: S is the size of the buffer, n the number of ranks, k of channels, p
 * of pieces (pipeline_count), L the latency, s is spB and r is reduce_spB. */
#pragma once

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/collective/pattern.h"

struct ideal_link { /* the properties of every wire */
	double latency_s, spB;
	/* time per byte to add a received byte; 0 if adding is fused with receiving. Dependent
	 * reductions of a rank add up, independent ones run in parallel. */
	double reduce_spB;
};

typedef double ideal_time(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			  const struct ideal_link *link);

/* Returns the time of a message of span chunks: transfer, then addition. */
static double message_s(const struct ideal_link *link, double chunk_B, size_t span, bool reduces)
{
	double wire_s = chunk_B * link->spB;
	double add_s = reduces ? chunk_B * link->reduce_spB : 0;
	return link->latency_s + wire_s + (double)(span - 1) * fmax(wire_s, add_s) + add_s;
}

/* Returns the time of a message of span chunks with an addition if the collective reduces, and of
 * one without an addition if it gathers. */
static double both_s(const struct algorithm *algorithm, const struct ideal_link *link,
		     double chunk_B, size_t span)
{
	bool reduces = algorithm->collective != COLLECTIVE_ALL_GATHER;
	bool gathers = algorithm->collective != COLLECTIVE_REDUCE_SCATTER;
	return (reduces ? message_s(link, chunk_B, span, true) : 0) +
	       (gathers ? message_s(link, chunk_B, span, false) : 0);
}

/* Returns the time of n - 1 messages of S/(n k) for each lap. */
static double ring_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
		     const struct ideal_link *link)
{
	double chunk_B = spec->size_B / (double)(spec->rank_count * spec->channel_count);
	return (double)(spec->rank_count - 1) * both_s(algorithm, link, chunk_B, 1);
}

/* Returns the time of messages of S/2, S/4 ... S/n and back. Folding adds one message of S at
 * either end. */
static double halving_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			const struct ideal_link *link)
{
	size_t power = pattern_power(spec->rank_count);
	double chunk_B = spec->size_B / (double)(power * spec->channel_count), sum_s = 0;
	for (size_t span = power / 2; span > 0; span /= 2)
		sum_s += both_s(algorithm, link, chunk_B, span);
	return sum_s + (power < spec->rank_count ? both_s(algorithm, link, chunk_B, power) : 0);
}

/* Returns log2 n (L + S/k (s + r)). Folding adds a message of S/k at either end. */
static double doubling_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			 const struct ideal_link *link)
{
	double chunk_B = spec->size_B / (double)spec->channel_count, sum_s = 0;
	size_t power = pattern_power(spec->rank_count);
	for (size_t distance = 1; distance < power; distance *= 2)
		sum_s += message_s(link, chunk_B, 1, true);
	return sum_s + (power < spec->rank_count ? both_s(algorithm, link, chunk_B, 1) : 0);
}

/* The first piece goes the whole way and at each rank waits for the additions of its children, the
 * deepest rank first. The others follow at the pace of the wires. Without additions the time is 2 D
 * (L + c s) + (p - 1) c s, with the depth D and pieces of c. */
static double tree_s(const struct pattern_tree *tree, const struct ideal_link *link, double piece_B,
		     size_t piece_count)
{
	if (tree->count < 2)
		return 0;
	double hop_s = link->latency_s + piece_B * link->spB;
	struct arena *arena = arena_new();
	double *ready_s = ARENA_ARRAY(arena, tree->count, double);
	for (size_t i = 0; i + 1 < tree->count; i++) {
		uint32_t rank = tree->upwards[i], parent = tree->parent[rank];
		ready_s[parent] =
			fmax(ready_s[parent], ready_s[rank] + hop_s) + piece_B * link->reduce_spB;
	}
	double up_s = ready_s[tree->upwards[tree->count - 1]];
	arena_free(arena);
	return up_s + (double)tree->depth * hop_s + (double)(piece_count - 1) * piece_B * link->spB;
}

/* Returns the time of the slowest tree. */
static double trees_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
		      const struct ideal_link *link)
{
	struct arena *arena = arena_new();
	size_t trees = algorithm->tree_count(algorithm, spec);
	double piece_B = spec->size_B / (double)(trees * spec->pipeline_count), slowest_s = 0;
	for (size_t channel = 0; channel < trees; channel++) {
		struct pattern_tree tree = algorithm->tree_of(algorithm, arena, spec, channel);
		slowest_s = fmax(slowest_s, tree_s(&tree, link, piece_B, spec->pipeline_count));
	}
	arena_free(arena);
	return slowest_s;
}

/* Returns 2 (L + c s) + (p - 1) c s + (n - 1) c r, for parts with p pieces of c. */
static double heads_s(const struct algorithm_spec *spec, const struct ideal_link *link,
		      size_t part_count)
{
	double chunk_B =
		spec->size_B / (double)(spec->channel_count * part_count * spec->pipeline_count);
	return 2 * message_s(link, chunk_B, 1, false) +
	       (double)(spec->pipeline_count - 1) * chunk_B * link->spB +
	       (double)(spec->rank_count - 1) * chunk_B * link->reduce_spB;
}

static double nvls_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
		     const struct ideal_link *link)
{
	return spec->rank_count < 2 ? 0 : heads_s(spec, link, spec->rank_count);
}

/* Returns L + S s + (n - 1) S r: every buffer has its own wire, and a rank adds them in turn. In
 * two shots these are parts of S/n, which then take L + S/n s to the others. A reduce-scatter is
 * the first of the two shots, and an all-gather the second one. */
static double shots_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
		      const struct ideal_link *link)
{
	bool all = algorithm->collective == COLLECTIVE_ALL_REDUCE;
	bool adds = algorithm->collective != COLLECTIVE_ALL_GATHER;
	double n = (double)spec->rank_count, shots = all && algorithm->variant ? 2 : 1;
	double chunk_B = spec->size_B / (algorithm->variant ? n : 1);
	return n < 2 ? 0
		     : shots * message_s(link, chunk_B, 1, false) +
			       (adds ? n - 1 : 0) * chunk_B * link->reduce_spB;
}

static double server_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
		       const struct ideal_link *link)
{
	return heads_s(spec, link, spec->server_count);
}

/* Returns 2 (g - 1) (L + S/(k g) s) + 2 (m - 1) (L + S/(k g m) s) for one piece, without additions.
 * For several pieces it is a lower bound: the whole time of one piece, or the time of the wires
 * inside or across plus the time before the first and after the last piece. */
static double grid_s(const struct algorithm_spec *spec, const struct ideal_link *link,
		     size_t piece_count)
{
	struct pattern_nodes nodes = pattern_shape(spec);
	size_t m = nodes.count, g = nodes.most;
	double chunk_B =
		spec->size_B / (double)(spec->channel_count * piece_count * spec->rank_count);
	double scatter_s = (double)(g - 1) * message_s(link, chunk_B, m, true);
	double gather_s = (double)(g - 1) * message_s(link, chunk_B, m, false);
	double across_s = (double)(m - 1) *
			  (message_s(link, chunk_B, 1, true) + message_s(link, chunk_B, 1, false));
	double one_s = scatter_s + across_s + gather_s;
	double wire_s = chunk_B * link->spB * (double)piece_count * 2;
	double inside_busy_s = wire_s * (double)((g - 1) * m);
	double across_busy_s = wire_s * (double)(m - 1);
	if (g > 1)
		one_s = fmax(one_s, inside_busy_s + link->latency_s);
	if (m > 1)
		one_s = fmax(one_s, scatter_s + across_busy_s + link->latency_s + gather_s);
	return one_s;
}

static double hierarchical_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			     const struct ideal_link *link)
{
	return grid_s(spec, link, 1);
}

/* There are at most 8 pieces, and fewer if the schedule would have more than 4096 n of them. */
static double multi_ring_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			   const struct ideal_link *link)
{
	size_t most = 4096 / spec->rank_count;
	most = most < 1 ? 1 : most > 8 ? 8 : most;
	return grid_s(spec, link, spec->pipeline_count < most ? spec->pipeline_count : most);
}

/* The chunks of a buffer follow each other on each hop inside a node, c s apart, with c = S/(k
 * shards). The last chunk reaches its server after h (L + c s) + (shards - 1) c s + (g - 1) c r.
 * Here g is the number of GPUs of the node. There are h = 3 hops, or 2 if no GPU adds. The server
 * adds in the order of the nodes. Two further hops bring the sum to all GPUs. */
static double two_level_server_s(const struct algorithm *algorithm,
				 const struct algorithm_spec *spec, const struct ideal_link *link)
{
	struct arena *arena = arena_new();
	struct pattern_nodes nodes = pattern_nodes(arena, spec, 0);
	size_t shards = spec->whole ? 1 : spec->server_count;
	double chunk_B = spec->size_B / (double)(spec->channel_count * shards);
	double hop_s = link->latency_s + chunk_B * link->spB, added_s = 0;
	for (size_t k = 0; k < nodes.count; k++) {
		size_t count = nodes.first[k + 1] - nodes.first[k];
		double adds_s = (double)(count - 1) * chunk_B * link->reduce_spB;
		double there_s = (spec->local_on_cpu || count == 1 ? 2 : 3) * hop_s + adds_s;
		added_s = fmax(added_s, there_s) + (k ? chunk_B * link->reduce_spB : 0);
	}
	arena_free(arena);
	return added_s + 2 * hop_s + (double)(shards - 1) * chunk_B * link->spB;
}

/* Returns (n - 1) (L + m s) + (p - 1) m s, with m = S/(k p). */
static double broadcast_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			  const struct ideal_link *link)
{
	double piece_B = spec->size_B / (double)(spec->channel_count * spec->pipeline_count);
	if (spec->rank_count < 2)
		return 0;
	return (double)(spec->rank_count - 1) * message_s(link, piece_B, 1, false) +
	       (double)(spec->pipeline_count - 1) * piece_B * link->spB;
}

/* Returns L + S s, because every wire is separate. */
static double linear_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
		       const struct ideal_link *link)
{
	return spec->rank_count > 1 ? message_s(link, spec->size_B, 1, false) : 0;
}

/* Returns d (L + S s), where d is the largest number of bits of a place. */
static double binomial_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			 const struct ideal_link *link)
{
	size_t depth = 0;
	while (((size_t)2 << depth) - 1 < spec->rank_count)
		depth++;
	return (double)depth * message_s(link, spec->size_B, 1, false);
}

/* Returns the time of the rounds of the busiest channel: ceil((n - 1)/k) (L + S/n s). */
static double all_to_all_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			   const struct ideal_link *link)
{
	size_t n = spec->rank_count, k = spec->channel_count;
	size_t rounds = (n - 1 + k - 1) / k;
	return (double)rounds * message_s(link, spec->size_B / (double)n, 1, false);
}

/* Returns the time of g messages of S/n to the ranks of another node, of which the last one is
 * forwarded; in one node, of g - 1 messages. */
static double nodes_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
		      const struct ideal_link *link)
{
	size_t nodes = spec->node_of ? spec->node_count : 1, g = spec->rank_count / nodes;
	size_t count = nodes == 1 ? g - 1 : g > 1 ? g + 1 : 1;
	return (double)count * message_s(link, spec->size_B / (double)spec->rank_count, 1, false);
}

static inline double ideal_s(const struct algorithm *algorithm, const struct algorithm_spec *spec,
			     const struct ideal_link *link)
{
	static const struct {
		const char *name;
		ideal_time *time;
	} rows[] = {{"ring", ring_s},
		    {"reduce_scatter", ring_s},
		    {"all_gather", ring_s},
		    {"halving_doubling", halving_s},
		    {"recursive_halving", halving_s},
		    {"doubling_all_gather", halving_s},
		    {"recursive_doubling", doubling_s},
		    {"binary_tree", trees_s},
		    {"double_tree", trees_s},
		    {"nvls_tree", trees_s},
		    {"collnet_direct", trees_s},
		    {"collnet_chain", trees_s},
		    {"nvls", nvls_s},
		    {"one_shot", shots_s},
		    {"two_shot", shots_s},
		    {"direct_reduce_scatter", shots_s},
		    {"direct_all_gather", shots_s},
		    {"parameter_server", server_s},
		    {"two_level_server", two_level_server_s},
		    {"hierarchical", hierarchical_s},
		    {"multi_ring", multi_ring_s},
		    {"broadcast", broadcast_s},
		    {"linear_broadcast", linear_s},
		    {"binomial_broadcast", binomial_s},
		    {"all_to_all", all_to_all_s},
		    {"all_to_all_nodes", nodes_s}};
	size_t i = 0, count = sizeof rows / sizeof rows[0];
	while (i < count && strcmp(rows[i].name, algorithm->name) != 0)
		i++;
	FW_ASSERT(i < count); /* write a formula for the new algorithm */
	return rows[i].time(algorithm, spec, link);
}
