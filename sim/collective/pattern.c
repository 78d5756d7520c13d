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

/* A channel's tree, or a pair of trees over an even number of nodes, which are each other's mirror
 * image: a rank does in one tree what its image does in the other one. Each node is a leaf of one
 * tree. A rank's steps in this tree have the second channel, and are its first ones upwards and its
 * last ones downwards. So a rank and its image have the same steps, and can be folded. */
struct climb {
	struct schedule_builder *builder;
	struct pattern_tree trees[2];
	size_t tree_count;
	uint32_t *image, *node; /* by rank; only of a pair */
	size_t channel, chunk;  /* of the first tree */
	size_t pieces;          /* chunks of a tree */
	uint32_t *last[2], *sends[2];
};

static bool is_leaf(const struct climb *c, size_t tree, uint32_t rank)
{
	return c->tree_count > 1 && (c->node[rank] + tree) % 2 > 0;
}

/* Messages from a leaf and to a leaf have channels of their own, because a wire carries one message
 * at a time. One class can be the parent of another one in a tree, and its leaf in the other. */
static size_t channel_of(const struct climb *c, size_t tree, uint32_t from, uint32_t to)
{
	if (c->tree_count == 1)
		return c->channel;
	return 2 * c->channel + (is_leaf(c, tree, from) ? 1 : is_leaf(c, tree, to) ? 2 : 0);
}

/* Moves the chunks over all edges, as far as these are steps of leaves, or of other nodes. */
static void cross(const struct climb *c, bool up, bool leaves)
{
	for (size_t t = 0; t < c->tree_count; t++) {
		size_t edges = c->trees[t].count - 1, chunk = c->chunk + t * c->pieces;
		for (size_t k = 0; k < edges; k++) {
			size_t i = up ? k : edges - 1 - k;
			uint32_t rank = c->trees[0].upwards[i], *last = c->last[t];
			rank = t > 0 ? c->image[rank] : rank;
			uint32_t parent = c->trees[t].parent[rank];
			uint32_t from = up ? rank : parent, to = up ? parent : rank;
			size_t channel = channel_of(c, t, from, to);
			if (is_leaf(c, t, from) == leaves)
				c->sends[t][i] = schedule_send(c->builder, from, to, chunk, channel,
							       &last[from], 1);
			if (is_leaf(c, t, to) == leaves)
				last[to] = (up ? schedule_reduce
					       : schedule_copy)(c->builder, to, chunk, channel,
								c->sends[t][i], &last[to], 1);
		}
	}
}

/* Moves the pieces up to the root with sums (if climbs) and down to all ranks. Each piece moves
 * independently, so that pieces are pipelined. */
static void climb(struct climb *c, bool climbs)
{
	struct arena *arena = arena_new();
	size_t ranks = c->trees[0].count;
	for (size_t t = 0; t < c->tree_count; t++) {
		c->last[t] = ARENA_ARRAY(arena, ranks, uint32_t);
		c->sends[t] = ARENA_ARRAY(arena, ranks, uint32_t);
	}
	for (size_t piece = 0; piece < c->pieces; piece++) {
		c->chunk = c->channel * c->pieces + piece;
		for (size_t i = 0; i < c->tree_count * ranks; i++)
			c->last[i / ranks][i % ranks] = NO_STEP;
		for (int leaves = 1; climbs && leaves >= 0; leaves--)
			cross(c, true, leaves);
		for (int leaves = 0; leaves <= 1; leaves++)
			cross(c, false, leaves);
	}
	arena_free(arena);
}

/* Sets the nodes and images of ranks. Returns false if the trees of a pair are not images of each
 * other. */
static bool are_images(struct arena *arena, const struct algorithm_spec *spec, size_t order,
		       struct climb *c)
{
	struct pattern_nodes nodes = pattern_nodes(arena, spec, order);
	c->image = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	c->node = ARENA_ARRAY(arena, spec->rank_count, uint32_t);
	if (nodes.count % 2 > 0 || nodes.most != nodes.least)
		return false;
	for (size_t i = 0; i < spec->rank_count; i++) {
		size_t node = i / nodes.most, other = nodes.count - 1 - node;
		c->node[nodes.ranks[i]] = (uint32_t)node;
		c->image[nodes.ranks[i]] = nodes.ranks[other * nodes.most + i % nodes.most];
	}
	return true;
}

const struct schedule *pattern_trees(const struct algorithm *algorithm, struct arena *arena,
				     const struct algorithm_spec *spec)
{
	bool climbs = algorithm->collective == COLLECTIVE_ALL_REDUCE;
	size_t trees = algorithm->tree_count(algorithm, spec);
	size_t pieces = algorithm->pipelined ? spec->pipeline_count : 1;
	bool paired = algorithm->paired && spec->fold;
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, spec, paired ? 2 * trees : trees, trees * pieces,
			      (climbs ? 4 : 2) * trees * pieces * (spec->rank_count - 1));
	bool heads = algorithm->cost == COST_MULTICAST;
	for (size_t channel = 0; channel < trees;) {
		struct climb c = {.builder = builder, .channel = channel, .pieces = pieces};
		bool pair = paired && are_images(arena, spec, heads ? 0 : channel / 2, &c);
		for (; c.tree_count < (pair ? 2 : 1); c.tree_count++)
			c.trees[c.tree_count] =
				algorithm->tree_of(algorithm, arena, spec, channel++);
		climb(&c, climbs);
	}
	return schedule_finish(builder);
}
