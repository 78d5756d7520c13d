/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Leader-based (two-level) all-reduce, as MPI libraries use it on nodes with one NIC. A chain
 * brings the node's sum to its leader (the first rank of the node on the channel's ring). The
 * leaders do a ring all-reduce. Then a chain takes the result to the others. The chains are
 * pipelined by the ring's chunks, with pipeline_count chunks for each part of a leader. Nodes may
 * have different sizes. */
#include "sim/base/arena.h"
#include "sim/collective/pattern.h"

struct leaders {
	struct schedule_builder *builder;
	const struct pattern_nodes *nodes;
	size_t channel, chunk, chunk_count; /* channel, its first chunk, and its number of chunks */
	uint32_t *last;                     /* by rank */
};

/* A rank forwards a chunk after adding its own data, in order. */
static void chain_up(const struct leaders *l, size_t node)
{
	const uint32_t *ranks = l->nodes->ranks;
	for (size_t chunk = l->chunk; chunk < l->chunk + l->chunk_count; chunk++) {
		uint32_t taken = NO_STEP;
		for (size_t i = l->nodes->first[node + 1] - 1; i > l->nodes->first[node]; i--) {
			uint32_t to = ranks[i - 1];
			uint32_t send = schedule_send(l->builder, ranks[i], to, chunk, l->channel,
						      &taken, 1);
			taken = schedule_reduce(l->builder, to, chunk, l->channel, send,
						&l->last[to], 1);
			l->last[to] = taken;
		}
	}
}

static void chain_down(const struct leaders *l, size_t node)
{
	const uint32_t *ranks = l->nodes->ranks;
	uint32_t leader_last = l->last[ranks[l->nodes->first[node]]];
	for (size_t chunk = l->chunk; chunk < l->chunk + l->chunk_count; chunk++) {
		uint32_t taken = leader_last;
		for (size_t i = l->nodes->first[node]; i + 1 < l->nodes->first[node + 1]; i++) {
			uint32_t to = ranks[i + 1];
			uint32_t send = schedule_send(l->builder, ranks[i], to, chunk, l->channel,
						      &taken, 1);
			taken = schedule_copy(l->builder, to, chunk, l->channel, send, &l->last[to],
					      1);
			l->last[to] = taken;
		}
	}
}

static const struct schedule *build(const struct algorithm *algorithm, struct arena *arena,
				    const struct algorithm_spec *spec)
{
	size_t n = spec->rank_count, m = pattern_shape(spec).count;
	size_t part_count = m * spec->pipeline_count;
	size_t chunk_count = spec->channel_count * part_count;
	struct schedule_builder *builder =
		pattern_begin(algorithm, arena, spec, spec->channel_count, chunk_count,
			      4 * chunk_count * (n - 1));
	uint32_t *leaders = ARENA_ARRAY(arena, m, uint32_t);
	uint32_t *sends = ARENA_ARRAY(arena, part_count, uint32_t);
	for (size_t channel = 0; channel < spec->channel_count; channel++) {
		struct pattern_nodes nodes = pattern_nodes(arena, spec, channel);
		struct leaders l = {.builder = builder,
				    .nodes = &nodes,
				    .channel = channel,
				    .chunk = channel * part_count,
				    .chunk_count = part_count,
				    .last = pattern_last(arena, n)};
		for (size_t node = 0; node < m; node++) {
			chain_up(&l, node);
			leaders[node] = nodes.ranks[nodes.first[node]];
		}
		struct pattern_ring ring = {.channel = channel,
					    .count = m,
					    .ranks = leaders,
					    .chunk = l.chunk,
					    .span = spec->pipeline_count,
					    .last = l.last,
					    .sends = sends};
		pattern_lap(builder, &ring, true);
		pattern_lap(builder, &ring, false);
		for (size_t node = 0; node < m; node++)
			chain_down(&l, node);
	}
	return schedule_finish(builder);
}

const struct algorithm algorithm_leader_ring = {
	.name = "leader_ring",
	.help = "all-reduce to a leader in each node, on a ring of leaders, and back",
	.collective = COLLECTIVE_ALL_REDUCE,
	.build = build,
};
