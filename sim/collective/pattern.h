/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common parts of the algorithms' schedules: laps of a ring, trees, ranks by machine.
 *
 * A MESSAGE is what one rank sends to another in one step of the textbook's algorithm: a span
 * of neighbouring chunks, back to back. A rank continues with its next message when it has
 * taken all of the last one. `last` holds, for each rank, the step that this is (NO_STEP at
 * first). Passing one `last` from pattern to pattern runs them one after the other on each
 * rank. */
#ifndef FARWIRE_COLLECTIVE_PATTERN_H
#define FARWIRE_COLLECTIVE_PATTERN_H

#include "sim/collective/algorithm.h"

/* chunk_count chunks of a buffer cut evenly. */
double *pattern_cut(struct arena *arena, size_t chunk_count, double size_B);
/* count times NO_STEP. */
uint32_t *pattern_last(struct arena *arena, size_t count);
/* The rank at a position of a channel's ring. */
size_t pattern_rank(const struct algorithm_spec *spec, size_t channel, size_t position);
/* All of them, 0..rank_count-1. */

/* Ranks by node: nodes and the ranks in each in the order of a channel's ring. */
struct pattern_nodes {
	size_t count, most, least; /* nodes; ranks of the fullest and the emptiest one */
	const uint32_t *first;     /* of a node, in ranks; count + 1 of them */
	const uint32_t *ranks;
};
struct pattern_nodes pattern_nodes(struct arena *arena, const struct algorithm_spec *spec,
				   size_t channel);

/* A ring of count ranks, whose buffer has count parts of span chunks each. */
struct pattern_ring {
	size_t channel, count;
	const uint32_t *ranks; /* by position */
	const uint32_t *part;  /* that belongs to a position; NULL: part = position */
	size_t chunk, span;    /* first chunk of part 0; chunks of a part */
	uint32_t *last;        /* by rank */
	uint32_t *sends;       /* scratch: count * span */
};
/* One lap, count - 1 messages each: reduce-scatter (each position ends with the
 * sum of its part) or, with reduces = false, all-gather (of that). */
void pattern_lap(struct schedule_builder *builder, const struct pattern_ring *ring, bool reduces);

/* The whole schedule of rings of all ranks, one for each channel, with a lap of
 * reduce-scatter, one of all-gather, or both. The part of a rank in a channel is
 * chunk channel * rank_count + rank. */
const struct schedule *pattern_rings(struct arena *arena, const struct algorithm_spec *spec,
				     enum collective collective, bool reduces, bool gathers);

/* A tree over all ranks. */
#define PATTERN_ROOT UINT32_MAX
struct pattern_tree {
	size_t count;
	const uint32_t *parent;  /* by rank; PATTERN_ROOT: the root */
	const uint32_t *upwards; /* all ranks, the deepest first, the root last */
	size_t depth;            /* edges from the root to the deepest */
};
struct pattern_tree pattern_tree(struct arena *arena, const uint32_t *parent, size_t count);
/* Chunks up to the root, summed (if up), and down to all, on a channel; each on
 * its own, so that they follow each other. */
struct pattern_chunks {
	size_t channel, first, count;
};
void pattern_climb(struct schedule_builder *builder, const struct pattern_tree *tree,
		   const struct pattern_chunks *chunks, bool up);
/* An all-reduce on a tree for each channel, pipeline_count chunks each. */
const struct schedule *
pattern_trees(struct arena *arena, const struct algorithm_spec *spec, size_t channel_count,
	      struct pattern_tree (*tree_of)(struct arena *arena, const struct algorithm_spec *spec,
					     size_t channel));

/* Ideal time of a message of span chunks: first on the wire, then added. */
double pattern_message_s(const struct ideal_link *link, double chunk_B, size_t span, bool reduces);
/* ... of an all-reduce up and down a tree in pieces. */
double pattern_tree_s(const struct pattern_tree *tree, const struct ideal_link *link,
		      double piece_B, size_t piece_count);

/* Nothing is refused. */
const char *pattern_any(const struct algorithm_spec *spec);

#endif
