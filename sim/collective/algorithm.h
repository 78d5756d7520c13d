/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms: who sends which chunk to whom, as schedules.
 *
 * One file for each (ring.c, halving_doubling.c ...) with a const struct
 * algorithm, one line each in algorithms.def. Each has its IDEAL TIME, a pure
 * function for ranks whose every message costs latency + size * spB, one after
 * the other in each direction of a port, nothing shared; tests compare it with
 * the run of the schedule to the picosecond.
 */
#ifndef FARWIRE_COLLECTIVE_ALGORITHM_H
#define FARWIRE_COLLECTIVE_ALGORITHM_H

#include "sim/collective/schedule.h"

/* What a schedule is made for. Ranks 0..rank_count-1 are workers; a parameter
 * server's shards are ranks rank_count..rank_count+server_count-1. */
struct algorithm_spec {
	size_t rank_count;
	double size_B; /* the whole buffer */
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
};

struct ideal_link { /* of every pair of ranks */
	double latency_s, spB;
	double reduce_spB; /* of adding a received byte; 0 */
};

struct algorithm {
	const char *name; /* "ring" */
	const char *help;
	enum collective collective;
	/* NULL, or why this shape cannot be done (static text), as "the number of
	 * ranks must be a power of two". */
	const char *(*refuse)(const struct algorithm_spec *spec);
	const struct schedule *(*build)(struct arena *arena, const struct algorithm_spec *spec);
	/* Where channels and nodes matter, of the uncontended case that the
	 * function's own comment states. */
	double (*ideal_s)(const struct algorithm_spec *spec, const struct ideal_link *link);
};

size_t algorithm_count(void);
const struct algorithm *algorithm_at(size_t index);
const struct algorithm *algorithm_find(const char *name); /* or NULL */

#endif
