/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/collective/pattern.h"

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

size_t pattern_power(size_t n)
{
	size_t power = 1;
	while (power * 2 <= n)
		power *= 2;
	return power;
}

const char *pattern_equal_nodes(const struct algorithm_spec *spec)
{
	struct pattern_nodes nodes = pattern_shape(spec);
	return nodes.most == nodes.least ? NULL : "the nodes must have equal numbers of ranks";
}

struct schedule_builder *pattern_begin(const struct algorithm *algorithm, struct arena *arena,
				       const struct algorithm_spec *spec, size_t channel_count,
				       size_t chunk_count, size_t step_count)
{
	size_t rank_count = spec->rank_count + (algorithm->servers ? spec->server_count : 0) +
			    (algorithm->machines ? pattern_shape(spec).count : 0);
	double *chunk_B = ARENA_ARRAY(arena, chunk_count, double);
	for (size_t i = 0; i < chunk_count; i++)
		chunk_B[i] = spec->size_B / (double)chunk_count;
	struct schedule_builder *builder = schedule_builder_new(
		arena, algorithm->collective, rank_count, channel_count, chunk_count, chunk_B);
	if (!algorithm->servers)
		schedule_fold(builder, spec->fold);
	if (step_count > 0)
		schedule_reserve(builder, step_count, step_count);
	return builder;
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

struct pattern_nodes pattern_shape(const struct algorithm_spec *spec)
{
	struct arena *arena = arena_new();
	struct pattern_nodes nodes = pattern_nodes(arena, spec, 0);
	arena_free(arena);
	nodes.first = nodes.ranks = NULL;
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

/* Moves the pieces of a channel up to the root with sums (if climbs) and down to all ranks. Each
 * piece moves independently, so that pieces are pipelined. */
static void climb(struct schedule_builder *builder, const struct pattern_tree *tree, size_t channel,
		  size_t pieces, bool climbs)
{
	struct arena *arena = arena_new();
	uint32_t *last = ARENA_ARRAY(arena, tree->count, uint32_t);
	for (size_t chunk = channel * pieces; chunk < (channel + 1) * pieces; chunk++) {
		for (size_t rank = 0; rank < tree->count; rank++)
			last[rank] = NO_STEP;
		if (climbs)
			up(builder, tree, channel, chunk, last);
		down(builder, tree, channel, chunk, last);
	}
	arena_free(arena);
}

const struct schedule *pattern_trees(const struct algorithm *algorithm, struct arena *arena,
				     const struct algorithm_spec *spec)
{
	bool climbs = algorithm->collective == COLLECTIVE_ALL_REDUCE;
	size_t trees = algorithm->tree_count(algorithm, spec);
	size_t pieces = algorithm->pipelined ? spec->pipeline_count : 1;
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, spec, trees, trees * pieces,
			      (climbs ? 4 : 2) * trees * pieces * (spec->rank_count - 1));
	for (size_t channel = 0; channel < trees; channel++) {
		struct pattern_tree tree = algorithm->tree_of(algorithm, arena, spec, channel);
		climb(builder, &tree, channel, pieces, climbs);
	}
	return schedule_finish(builder);
}
