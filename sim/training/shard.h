/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One GPU's SHARD of a transformer whose layers are split over groups of GPUs, and the
 * collectives that this costs. The rules are Megatron-LM's (Shoeybi et al., arXiv:1909.08053;
 * Korthikanti et al., arXiv:2205.05198):
 *
 *   tensor    A matrix product whose output goes through attention or an activation into another
 *             product is split by columns, and that other product by rows. The embedding, the
 *             logits and the loss are split by the vocabulary. The sums after a split by rows
 *             are all-reduced forward, those of the gradients before a split by columns
 *             backward.
 *   sequence  The other layers are split by tokens over the tensor group. Each all-reduce
 *             becomes a reduce-scatter behind, and an all-gather before, the split layers.
 *             Backward gathers the input of a product again.
 *   context   All layers are split by tokens over the context group. Attention needs the keys
 *             and values of all tokens, which are gathered while it runs; backward also scatters
 *             their gradients.
 *   expert    Each GPU of the expert group holds a part of the experts. An all-to-all brings
 *             the rows of tokens to their experts, and another one takes them back. Experts are
 *             not split over the tensor group, whose GPUs dispatch different tokens.
 *
 * Model servers have further splits of experts. Their GPUs are data_count tensor groups, each with
 * requests of its own, and all of them share the experts. An expert is whole on one GPU, or split
 * over as many as expert_count leaves. If rows are GATHERED, each GPU has the rows of all groups
 * and computes those of its experts. The sums of all GPUs are added up, or scattered to the groups.
 *
 * A shard is a network like any other: its ops, kernels and memory follow from its layers.
 */
#pragma once

#include "sim/collective/algorithm.h"
#include "sim/training/ops.h"

/* Returns the largest number up to `by` that divides count. */
size_t divisor_below(size_t count, size_t by);

/* The collectives of a tensor group that run while its products do: none; those of the backward
 * pass of layers that are split by columns (Megatron-LM's
 * LinearWithGradAccumulationAndAsyncCommunication); or all of those layers and the ones that are
 * split by rows (Transformer Engine's user buffers). */
enum tensor_overlap { OVERLAP_NONE, OVERLAP_BACKWARD, OVERLAP_ALL };

struct shard_params { /* sizes of the groups, at least 1 */
	size_t tensor_count, context_count, expert_count;
	bool sequence; /* has an effect only if tensor_count > 1 */
	enum tensor_overlap overlap;
	double imbalance_ratio; /* rows of the busiest expert group over their mean, at least 1 */
	const char *tensor_key; /* parameter that sets tensor_count, in errors; NULL: plan.tp. With
				   it, this is the shard of a model server */
	size_t data_count;      /* tensor groups of a model server; 0: one */
	bool gathers;           /* rows are gathered, not sent to their experts */
};

/* SHARD_EXPERT: in a model server, all GPUs of all tensor groups. */
enum shard_group { SHARD_TENSOR, SHARD_CONTEXT, SHARD_EXPERT, SHARD_GROUP_COUNT };

/* A collective before or behind the ops of a layer in a pass. */
struct shard_exchange {
	size_t layer;
	enum op_pass pass; /* forward or backward */
	bool before;
	bool beside; /* begins with the layer's kernels and runs while they do */
	enum shard_group group;
	enum collective collective;
	double elements_count; /* of one sample, as nccl-tests counts a collective's size */
};

struct shard {
	const struct network *network; /* one GPU's part */
	const struct shard_exchange *exchanges;
	size_t exchange_count;
};

/* Returns NULL if the shape is impossible; then *why says so, for example "12 heads are not
 * divisible by tp (8): write plan.tp=6". */
const struct shard *shard_new(struct arena *arena, const struct network *network,
			      const struct shard_params *params, const char **why);
