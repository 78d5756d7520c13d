/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms of collectives: schedules of which rank sends which chunk to which peer.
 *
 * Each algorithm has its own file (ring.c, halving_doubling.c ...) with a const struct
 * algorithm, and one line in algorithms.def. Each has an ideal time, which is a pure function.
 * It holds if nothing is shared and all ranks begin at the same time. Each wire (a sender, a
 * receiver and a channel) is then a separate link on which a message of size B takes latency +
 * size * spB. Messages follow each other as closely as spB allows. Tests compare it with the run
 * of the schedule to the picosecond. The simulation adds the costs of sharing, for example of
 * channels on one link, or of servers that all workers use.
 *
 * Comments on ideal times use these symbols: S is the size of the buffer, n the number of ranks,
 * k of channels, p of pieces (pipeline_count), L the latency, s is spB and r is reduce_spB.
 *
 * Chunks are equal parts of the buffer, with fractions of a byte if necessary. So every size in
 * a schedule is proportional to size_B, and a schedule made for 1 B serves all sizes. In
 * schedules of reduce_scatter and all_gather, chunk c belongs to rank c % rank_count. In those
 * of all_to_all it goes from rank c / rank_count to rank c % rank_count. */
#pragma once

#include "sim/base/registry.h"
#include "sim/collective/schedule.h"

/* The input of a schedule. Ranks 0..rank_count-1 are workers; the shards of a parameter server are
 * the ranks rank_count..rank_count+server_count-1. After them, two-level servers have a rank in
 * host memory for each node. */
struct algorithm_spec {
	size_t rank_count;
	double size_B;         /* size of the whole buffer */
	size_t channel_count;  /* number of parallel rings or pairs of trees; >= 1 */
	size_t pipeline_count; /* number of successive pieces of a tree's part; >= 1 */
	double steps_most;     /* number of messages that a run allows; 0: any */
	size_t root;           /* broadcast only */
	size_t server_count;   /* number of shards of a parameter server, then >= 1 */
	/* Two-level servers: number of the buffer, which chooses its server and GPUs; whether one
	 * server has all of it; and whether GPUs' values are added in host memory. */
	size_t turn;
	bool whole, local_on_cpu;
	/* The node (machine) of each rank, 0..node_count-1, and the order of the ranks on each
	 * channel's ring (channel_count * rank_count; NULL: 0, 1, 2 ...). Ranks of a node are
	 * neighbours in each order. */
	const uint32_t *node_of; /* NULL: all ranks are in one node */
	size_t node_count;
	const uint32_t *order;
	const struct schedule *script; /* library.msccl, for 1 B; NULL: none */
	const struct fold *fold;       /* the part of the schedule to build; NULL: all of it */
};

struct ideal_link { /* the properties of every wire */
	double latency_s, spB;
	/* time per byte to add a received byte; 0 if adding is fused with receiving. Dependent
	 * reductions of a rank add up, independent ones run in parallel. */
	double reduce_spB;
};

/* The model by which libraries predict the time of an algorithm (choose.c). */
enum cost_model { COST_RING, COST_TREE, COST_MULTICAST };

struct algorithm {
	const char *name; /* for example "ring" */
	const char *help;
	enum collective collective;
	enum cost_model cost;
	bool automatic;  /* libraries choose among these automatically */
	bool in_network; /* switches of the network add */
	bool paired;     /* a channel has two trees, each with half of its blocks */
	bool servers;    /* the algorithm needs server ranks besides the workers */
	bool machines;   /* it also needs a rank in host memory for each node */
	/* Its pieces follow each other on the same wires, and each step depends only on steps for
	 * its own chunk. So pieces can be combined into trains (internal.h). */
	bool pipelined;
	/* The cost of building its folded schedule is proportional to the ranks. */
	bool folds;
	/* Returns NULL, or a static text that says why this shape is impossible, for example "the
	 * number of ranks must be a power of two". */
	const char *(*refuse)(const struct algorithm_spec *spec);
	const struct schedule *(*build)(struct arena *arena, const struct algorithm_spec *spec);
	double (*ideal_s)(const struct algorithm_spec *spec, const struct ideal_link *link);
};

REGISTRY_OF(struct algorithm, algorithm);
/* Returns its bit in a set of algorithms; those outside the registry share one. */
uint64_t algorithm_bit(const struct algorithm *algorithm);
