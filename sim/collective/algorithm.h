/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms: which rank sends which chunk to which other rank, as schedules.
 *
 * There is one file for each (ring.c, halving_doubling.c ...) with a const struct algorithm,
 * and one line each in algorithms.def. Each has its ideal time, a pure function. The ideal time
 * holds where nothing is shared. Each queue (a sender, a receiver, a channel) is then a
 * separate link. A message of size B takes latency + size * spB on it, and messages follow each
 * other as closely as spB allows. All ranks begin at the same time. Tests compare the ideal
 * time with the run of the schedule to the picosecond. The simulation adds the cost of sharing
 * (channels on one link, servers that all ranks use).
 *
 * Chunks are equal parts of the buffer, with fractions of a byte if necessary. So every size in
 * a schedule is proportional to size_B, and a schedule made for 1 B serves all sizes. In
 * schedules of reduce_scatter and all_gather, chunk c belongs to rank c % rank_count. In those
 * of all_to_all it goes from rank c / rank_count to rank c % rank_count. */
#ifndef FARWIRE_COLLECTIVE_ALGORITHM_H
#define FARWIRE_COLLECTIVE_ALGORITHM_H

#include "sim/base/registry.h"
#include "sim/collective/schedule.h"

/* The inputs of a schedule. Ranks 0..rank_count-1 are workers; the shards of a parameter server
 * are ranks rank_count..rank_count+server_count-1. */
struct algorithm_spec {
	size_t rank_count;
	double size_B;         /* the whole buffer */
	size_t channel_count;  /* rings or pairs of trees side by side; >= 1 */
	size_t pipeline_count; /* pieces of a tree's part that follow each other; >= 1 */
	size_t root;           /* of a broadcast */
	size_t server_count;   /* shards of a parameter server; >= 1 for it */
	/* Which node (machine) each rank is in, 0..node_count-1, and the order of
	 * the ranks on each channel's ring (channel_count * rank_count; NULL:
	 * 0, 1, 2 ...). Ranks of a node are neighbours in each order. */
	const uint32_t *node_of; /* NULL: all in one */
	size_t node_count;
	const uint32_t *order;
	const struct fold *fold; /* what is built of it; NULL: all */
};

struct ideal_link { /* of every wire */
	double latency_s, spB;
	/* Time of adding a received byte; 0 where this is fused with receiving. Reductions of a
	 * rank that depend on each other add up, others run side by side. */
	double reduce_spB;
};

/* The model by which libraries predict an algorithm's time (choose.c). */
enum cost_model { COST_RING, COST_TREE };

struct algorithm {
	const char *name; /* "ring" */
	const char *help;
	enum collective collective;
	enum cost_model cost;
	bool automatic; /* libraries choose among such ones by themselves */
	bool servers;   /* it has ranks that are servers, beside the workers */
	/* Its pieces follow each other on the same wires, and each step needs what others
	 * did to its own chunk alone: so pieces may travel in trains (internal.h). */
	bool pipelined;
	/* Making its schedule costs, if it is folded, in proportion to the ranks. */
	bool folds;
	/* NULL, or why this shape cannot be done (static text), as "the number of
	 * ranks must be a power of two". */
	const char *(*refuse)(const struct algorithm_spec *spec);
	const struct schedule *(*build)(struct arena *arena, const struct algorithm_spec *spec);
	double (*ideal_s)(const struct algorithm_spec *spec, const struct ideal_link *link);
};

REGISTRY_OF(struct algorithm, algorithm);
uint64_t algorithm_bit(const struct algorithm *algorithm); /* in a set of them */

#endif
