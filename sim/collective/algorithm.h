/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms of collectives: schedules of which rank sends which chunk to which peer.
 *
 * Each algorithm is a const struct algorithm, and one line in algorithms.def. Related algorithms
 * share a file. tests/ideal_times.h has the time of each one if nothing is shared.
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

/* The model by which libraries predict the time of an algorithm (choose.c). */
enum cost_model { COST_RING, COST_TREE, COST_MULTICAST, COST_SHOTS };

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
	bool variant; /* tells two algorithms with the same functions apart */
	/* Returns NULL, or a static text that says why this shape is impossible, for example "the
	 * number of ranks must be a power of two". NULL: all shapes are possible. */
	const char *(*refuse)(const struct algorithm_spec *spec);
	const struct schedule *(*build)(const struct algorithm *algorithm, struct arena *arena,
					const struct algorithm_spec *spec);
	/* Only for pattern_trees: the number of trees, and each of them. */
	size_t (*tree_count)(const struct algorithm *algorithm, const struct algorithm_spec *spec);
	struct pattern_tree (*tree_of)(const struct algorithm *algorithm, struct arena *arena,
				       const struct algorithm_spec *spec, size_t channel);
};

REGISTRY_OF(struct algorithm, algorithm);
/* Returns its bit in a set of algorithms; those outside the registry share one. */
uint64_t algorithm_bit(const struct algorithm *algorithm);

/* The algorithms of algorithms.def. */
#define ALGORITHM(name) extern const struct algorithm algorithm_##name;
#include "sim/collective/algorithms.def"
#undef ALGORITHM
