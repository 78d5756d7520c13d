/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Building blocks of schedules: laps of a ring, trees, and ranks by node.
 *
 * A message is the data that one rank sends to another in one step of the textbook algorithm: a
 * span of consecutive chunks. A rank continues with its next message when it has received all of
 * the last one. `last` contains this step for each rank (NO_STEP at first). Passing one `last` from
 * pattern to pattern makes them run in sequence on each rank.
 */
#pragma once

#include "sim/collective/algorithm.h"

/* Begins the algorithm's schedule with that many equal chunks of a buffer of spec->size_B. It has
 * room for step_count steps; 0: an unknown number. */
struct schedule_builder *pattern_begin(const struct algorithm *algorithm, struct arena *arena,
				       const struct algorithm_spec *spec, size_t channel_count,
				       size_t chunk_count, size_t step_count);
/* Returns an array of `count` times NO_STEP. */
uint32_t *pattern_last(struct arena *arena, size_t count);
/* Returns the rank at a position of a channel's ring. */
size_t pattern_rank(const struct algorithm_spec *spec, size_t channel, size_t position);

/* Ranks by node: nodes, and the ranks in each, in the order of a channel's ring. */
struct pattern_nodes {
	/* number of nodes; ranks of the largest and of the smallest node */
	size_t count, most, least;
	const uint32_t *first; /* first index in ranks of each node; count + 1 entries */
	const uint32_t *ranks;
};
struct pattern_nodes pattern_nodes(struct arena *arena, const struct algorithm_spec *spec,
				   size_t channel);

/* The same without first and ranks, which are NULL. */
struct pattern_nodes pattern_shape(const struct algorithm_spec *spec);

/* A ring of count ranks, whose buffer has count parts of span chunks each. */
struct pattern_ring {
	size_t channel, count;
	const uint32_t *ranks; /* by position */
	const uint32_t *part;  /* part that belongs to a position; NULL: part = position */
	size_t rounds;         /* folded only: messages of each rank in a lap; 0: count - 1 */
	size_t chunk, span;    /* first chunk of part 0, and chunks of a part */
	uint32_t *last;        /* by rank */
	uint32_t *sends;       /* scratch memory for count * span entries */
};
/* Adds one lap with count - 1 messages for each rank: reduce-scatter (each position gets the sum of
 * its part) or, with reduces = false, all-gather of the parts. */
void pattern_lap(struct schedule_builder *builder, const struct pattern_ring *ring, bool reduces);

/* A tree over all ranks. */
#define PATTERN_ROOT UINT32_MAX
struct pattern_tree {
	size_t count;
	const uint32_t *parent;  /* by rank; PATTERN_ROOT: the root */
	const uint32_t *upwards; /* all ranks, the deepest first and the root last */
	size_t depth;            /* number of edges from the root to the deepest rank */
};
struct pattern_tree pattern_tree(struct arena *arena, const uint32_t *parent, size_t count);
/* Builds the schedule of an algorithm of trees. Each tree has a channel. An all-reduce goes up to
 * the root and down, a broadcast only down, in pipeline_count pieces if the algorithm is pipelined.
 */
const struct schedule *pattern_trees(const struct algorithm *algorithm, struct arena *arena,
				     const struct algorithm_spec *spec);

/* Returns the largest power of two up to n. */
size_t pattern_power(size_t n);

/* Function for algorithm.refuse: refuses nodes of different sizes. */
const char *pattern_equal_nodes(const struct algorithm_spec *spec);
