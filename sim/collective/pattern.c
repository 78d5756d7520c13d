/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/pattern.h"

#include <math.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/collective/fold.h"

/* Largest number of messages of a rank in a lap if machines are alike at any place (fold->near). A
 * message then stands for several rounds. */
enum { ROUNDS_NEAR = 16 };

double *pattern_cut(struct arena *arena, size_t chunk_count, double size_B)
{
	double *chunk_B = ARENA_ARRAY(arena, chunk_count, double);
	for (size_t i = 0; i < chunk_count; i++)
		chunk_B[i] = size_B / (double)chunk_count;
	return chunk_B;
}

uint32_t *pattern_last(struct arena *arena, size_t count)
{
	uint32_t *last = ARENA_ARRAY(arena, count, uint32_t);
	for (size_t i = 0; i < count; i++)
		last[i] = NO_STEP;
	return last;
}

size_t pattern_rank(const struct algorithm_spec *spec, size_t channel, size_t position)
{
	return spec->order ? spec->order[channel * spec->rank_count + position] : position;
}

static uint32_t *pattern_ranks(struct arena *arena, const struct algorithm_spec *spec,
			       size_t channel)
{
	uint32_t *ranks = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	for (size_t i = 0; i < spec->rank_count; i++)
		ranks[i] = (uint32_t)pattern_rank(spec, channel, i);
	return ranks;
}

size_t pattern_power(size_t n)
{
	size_t power = 1;
	while (power * 2 <= n)
		power *= 2;
	return power;
}

const char *pattern_any(const struct algorithm_spec *spec)
{
	return NULL;
}

const char *pattern_any_ring(const struct algorithm_spec *spec)
{
	double ranks = (double)spec->rank_count;
	bool fits = ranks * (ranks - 1) * (double)spec->channel_count <= spec->steps_most;
	return fits || spec->steps_most <= 0
		       ? NULL
		       : "its messages alone are more events than case.events allows (write a "
			 "larger --events or fewer --gpus; with rdma on a switch, fat_tree or "
			 "rail_optimised network, equal machines are simulated once)";
}

/* ---- nodes ---- */

static size_t node_of(const struct algorithm_spec *spec, size_t rank)
{
	size_t node = spec->node_of ? spec->node_of[rank] : 0;
	FW_ASSERT(!spec->node_of || node < spec->node_count);
	return node;
}

struct pattern_nodes pattern_nodes(struct arena *arena, const struct algorithm_spec *spec,
				   size_t channel)
{
	size_t count = spec->rank_count;
	size_t node_count = spec->node_of ? spec->node_count : 1;
	uint32_t *place = ARENA_ARRAY(arena, node_count, uint32_t); /* 1 + place on the ring */
	uint32_t *first = ARENA_ARRAY(arena, node_count + 1, uint32_t);
	uint32_t *ranks = ARENA_ARRAY(arena, count, uint32_t);
	struct pattern_nodes nodes = {.first = first, .ranks = ranks, .least = count};
	for (size_t i = 0; i < count; i++) {
		size_t node = node_of(spec, pattern_rank(spec, channel, i));
		if (place[node] == 0)
			place[node] = (uint32_t)++nodes.count;
		first[place[node]]++;
	}
	for (size_t i = 1; i <= nodes.count; i++) {
		if (first[i] > nodes.most)
			nodes.most = first[i];
		if (first[i] < nodes.least)
			nodes.least = first[i];
		first[i] += first[i - 1];
	}
	uint32_t *next = ARENA_ARRAY(arena, nodes.count, uint32_t);
	for (size_t i = 0; i < nodes.count; i++)
		next[i] = first[i];
	for (size_t i = 0; i < count; i++) {
		size_t rank = pattern_rank(spec, channel, i);
		ranks[next[place[node_of(spec, rank)] - 1]++] = (uint32_t)rank;
	}
	return nodes;
}

/* ---- rings ---- */

/* All rounds of a lap are one step, because chunks have the same size. */
static void lap_folded(struct schedule_builder *builder, const struct pattern_ring *ring,
		       bool reduces)
{
	size_t count = ring->count, rounds = ring->rounds > 0 ? ring->rounds : count - 1;
	for (size_t p = 0; p < count && count > 1; p++) {
		ring->sends[p] =
			schedule_send(builder, ring->ranks[p], ring->ranks[(p + 1) % count],
				      ring->chunk, ring->channel, &ring->last[ring->ranks[p]], 1);
		schedule_repeat(builder, ring->sends[p], rounds, ring->span);
	}
	for (size_t p = 0; p < count && count > 1; p++) {
		uint32_t *last = &ring->last[ring->ranks[p]];
		*last = (reduces ? schedule_reduce : schedule_copy)(
			builder, ring->ranks[p], ring->chunk, ring->channel,
			ring->sends[(p + count - 1) % count], last, 1);
		schedule_repeat(builder, *last, rounds, ring->span);
	}
}

void pattern_lap(struct schedule_builder *builder, const struct pattern_ring *ring, bool reduces)
{
	size_t count = ring->count, span = ring->span;
	FW_ASSERT(ring->ranks);
	if (schedule_is_folded(builder)) {
		lap_folded(builder, ring, reduces);
		return;
	}
	for (size_t step = 0; step + 1 < count; step++) {
		for (size_t p = 0; p < count; p++) {
			size_t owner = (p + 2 * count - step - (reduces ? 1 : 0)) % count;
			size_t part = ring->part ? ring->part[owner] : owner;
			size_t rank = ring->ranks[p];
			for (size_t i = 0; i < span; i++)
				ring->sends[p * span + i] =
					schedule_send(builder, rank, ring->ranks[(p + 1) % count],
						      ring->chunk + part * span + i, ring->channel,
						      &ring->last[rank], 1);
		}
		for (size_t p = 0; p < count; p++) {
			size_t from = (p + count - 1) % count;
			size_t owner = (from + 2 * count - step - (reduces ? 1 : 0)) % count;
			size_t part = ring->part ? ring->part[owner] : owner;
			uint32_t *last = &ring->last[ring->ranks[p]];
			for (size_t i = 0; i < span; i++)
				*last = (reduces ? schedule_reduce : schedule_copy)(
					builder, ring->ranks[p], ring->chunk + part * span + i,
					ring->channel, ring->sends[from * span + i], last, 1);
		}
	}
}

const struct schedule *pattern_rings(struct arena *arena, const struct algorithm_spec *spec,
				     enum collective collective, bool reduces, bool gathers)
{
	size_t n = spec->rank_count, chunk_count = spec->channel_count * n, rounds = n - 1;
	if (spec->fold && spec->fold->near && rounds > ROUNDS_NEAR)
		rounds = ROUNDS_NEAR;
	double merged_count = n > 1 ? (double)(n - 1) / (double)rounds : 1;
	struct schedule_builder *builder =
		schedule_builder_new(arena, collective, n, spec->channel_count, chunk_count,
				     pattern_cut(arena, chunk_count, spec->size_B * merged_count));
	schedule_fold(builder, spec->fold);
	schedule_merge(builder, merged_count);
	size_t lap_count = (size_t)reduces + (size_t)gathers;
	size_t step_count = 2 * lap_count * spec->channel_count * n * rounds;
	schedule_reserve(builder, step_count, step_count);
	uint32_t *sends = ARENA_ARRAY(arena, n, uint32_t);
	for (size_t channel = 0; channel < spec->channel_count; channel++) {
		uint32_t *ranks = pattern_ranks(arena, spec, channel);
		struct pattern_ring ring = {.channel = channel,
					    .count = n,
					    .rounds = rounds,
					    .ranks = ranks,
					    .part = ranks,
					    .chunk = channel * n,
					    .span = 1,
					    .last = pattern_last(arena, n),
					    .sends = sends};
		if (reduces)
			pattern_lap(builder, &ring, true);
		if (gathers)
			pattern_lap(builder, &ring, false);
	}
	return schedule_finish(builder);
}

double pattern_message_s(const struct ideal_link *link, double chunk_B, size_t span, bool reduces)
{
	double wire_s = chunk_B * link->spB;
	double add_s = reduces ? chunk_B * link->reduce_spB : 0;
	return link->latency_s + wire_s + (double)(span - 1) * fmax(wire_s, add_s) + add_s;
}

/* ---- trees ---- */

/* Parents may come after their children, so depths are found by walking up to a known one. */
static size_t find_depths(const uint32_t *parent, size_t count, uint32_t *depth)
{
	size_t most = 0;
	for (size_t i = 0; i < count; i++) { /* depth is 1 + edges; 0 means unknown */
		uint32_t above = 1;
		size_t at = i;
		for (; !depth[at] && parent[at] != PATTERN_ROOT; at = parent[at])
			above++;
		above += depth[at] ? depth[at] - 1 : 0;
		if (above - 1 > most)
			most = above - 1;
		for (at = i; !depth[at]; at = parent[at]) {
			depth[at] = above--;
			if (parent[at] == PATTERN_ROOT)
				break;
		}
	}
	return most;
}

struct pattern_tree pattern_tree(struct arena *arena, const uint32_t *parent, size_t count)
{
	uint32_t *depth = ARENA_ARRAY(arena, count, uint32_t);
	uint32_t *upwards = ARENA_ARRAY(arena, count, uint32_t);
	struct pattern_tree tree = {.count = count, .parent = parent, .upwards = upwards};
	tree.depth = find_depths(parent, count, depth);
	uint32_t *first =
		ARENA_ARRAY(arena, tree.depth + 2, uint32_t); /* by depth, deepest first */
	for (size_t i = 0; i < count; i++)
		first[tree.depth + 1 - (depth[i] - 1)]++;
	for (size_t d = 1; d < tree.depth + 2; d++)
		first[d] += first[d - 1];
	for (size_t i = 0; i < count; i++)
		upwards[first[tree.depth - (depth[i] - 1)]++] = (uint32_t)i;
	return tree;
}

static void up(struct schedule_builder *builder, const struct pattern_tree *tree, size_t channel,
	       size_t chunk, uint32_t *last)
{
	for (size_t i = 0; i + 1 < tree->count; i++) {
		uint32_t rank = tree->upwards[i], parent = tree->parent[rank];
		uint32_t send =
			schedule_send(builder, rank, parent, chunk, channel, &last[rank], 1);
		last[parent] =
			schedule_reduce(builder, parent, chunk, channel, send, &last[parent], 1);
	}
}

static void down(struct schedule_builder *builder, const struct pattern_tree *tree, size_t channel,
		 size_t chunk, uint32_t *last)
{
	for (size_t i = tree->count - 1; i-- > 0;) {
		uint32_t rank = tree->upwards[i], parent = tree->parent[rank];
		uint32_t send =
			schedule_send(builder, parent, rank, chunk, channel, &last[parent], 1);
		last[rank] = schedule_copy(builder, rank, chunk, channel, send, &last[rank], 1);
	}
}

void pattern_climb(struct schedule_builder *builder, const struct pattern_tree *tree,
		   const struct pattern_chunks *chunks, bool climbs)
{
	struct arena *arena = arena_new();
	uint32_t *last = pattern_last(arena, tree->count);
	for (size_t i = 0; i < chunks->count; i++) {
		for (size_t rank = 0; rank < tree->count; rank++)
			last[rank] = NO_STEP;
		if (climbs)
			up(builder, tree, chunks->channel, chunks->first + i, last);
		down(builder, tree, chunks->channel, chunks->first + i, last);
	}
	arena_free(arena);
}

const struct schedule *
pattern_trees(struct arena *arena, const struct algorithm_spec *spec, size_t channel_count,
	      struct pattern_tree (*tree_of)(struct arena *arena, const struct algorithm_spec *spec,
					     size_t channel))
{
	size_t pieces = spec->pipeline_count, chunk_count = channel_count * pieces;
	struct schedule_builder *builder =
		schedule_builder_new(arena, COLLECTIVE_ALL_REDUCE, spec->rank_count, channel_count,
				     chunk_count, pattern_cut(arena, chunk_count, spec->size_B));
	schedule_fold(builder, spec->fold);
	size_t step_count = 4 * chunk_count * (spec->rank_count - 1);
	schedule_reserve(builder, step_count, step_count);
	for (size_t channel = 0; channel < channel_count; channel++) {
		struct pattern_tree tree = tree_of(arena, spec, channel);
		struct pattern_chunks chunks = {channel, channel * pieces, pieces};
		pattern_climb(builder, &tree, &chunks, true);
	}
	return schedule_finish(builder);
}

/* The first piece goes the whole way and at each rank waits for the additions of its children, in
 * the order of up(). The others follow at the pace of the wires. */
double pattern_tree_s(const struct pattern_tree *tree, const struct ideal_link *link,
		      double piece_B, size_t piece_count)
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
