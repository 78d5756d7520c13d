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

/* Returns the sizes of chunk_count equal chunks of a buffer. */
double *pattern_cut(struct arena *arena, size_t chunk_count, double size_B);
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

/* Builds the whole schedule of rings of all ranks, one for each channel, with a lap of
 * reduce-scatter, of all-gather, or both. The part of a rank in a channel is chunk channel *
 * rank_count + rank. */
const struct schedule *pattern_rings(struct arena *arena, const struct algorithm_spec *spec,
				     enum collective collective, bool reduces, bool gathers);

/* A tree over all ranks. */
#define PATTERN_ROOT UINT32_MAX
struct pattern_tree {
	size_t count;
	const uint32_t *parent;  /* by rank; PATTERN_ROOT: the root */
	const uint32_t *upwards; /* all ranks, the deepest first and the root last */
	size_t depth;            /* number of edges from the root to the deepest rank */
};
struct pattern_tree pattern_tree(struct arena *arena, const uint32_t *parent, size_t count);
/* Moves chunks up to the root with sums (if up) or down to all ranks, on a channel. Each chunk
 * moves independently, so that chunks are pipelined. */
struct pattern_chunks {
	size_t channel, first, count;
};
void pattern_climb(struct schedule_builder *builder, const struct pattern_tree *tree,
		   const struct pattern_chunks *chunks, bool up);
/* Builds an all-reduce on one tree for each channel, with pipeline_count chunks each. */
const struct schedule *
pattern_trees(struct arena *arena, const struct algorithm_spec *spec, size_t channel_count,
	      struct pattern_tree (*tree_of)(struct arena *arena, const struct algorithm_spec *spec,
					     size_t channel));

/* Returns the ideal time of a message of span chunks: transfer, then addition. */
double pattern_message_s(const struct ideal_link *link, double chunk_B, size_t span, bool reduces);
/* Returns the ideal time of an all-reduce up and down a tree in pieces. */
double pattern_tree_s(const struct pattern_tree *tree, const struct ideal_link *link,
		      double piece_B, size_t piece_count);

/* Returns the largest power of two up to n. */
size_t pattern_power(size_t n);

/* Accepts every specification. */
/* Refuses rings with more messages than the run allows. */
const char *pattern_any_ring(const struct algorithm_spec *spec);
const char *pattern_any(const struct algorithm_spec *spec);
