/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fused experts of a mixture of experts, as vLLM computes them: two grouped products with an
 * activation between them, and small kernels that sort the rows and sum each token's results.
 *
 * A row is a token for one of its experts. The rows of each expert are padded to whole blocks, so
 * the spread of rows over experts decides the time. experts_spread draws it;
 * experts_s is the law (docs/models/kernels.md).
 */
#pragma once

#include "sim/base/base.h"

enum experts_distribution {
	EXPERTS_UNIFORM,
	EXPERTS_POWER,     /* popularities follow a power law; the rank has the most popular ones */
	EXPERTS_BENCHMARK, /* rows as a benchmark of vLLM draws them; the rank has most rows */
	EXPERTS_PACKED,    /* the same, but few tokens choose neighbouring experts */
};

/* Number type of the weights, if it is not that of the rows. */
enum weights_type { WEIGHTS_SAME, WEIGHTS_INT4, WEIGHTS_MXFP4 };

enum { EXPERT_HEIGHTS = 4 }; /* tiles have 16, 32, 64 or 128 rows */

struct kernel_experts {
	double tokens, hidden, inner, top; /* inner: of one GPU, which has a part of each expert */
	double experts, held;              /* of the layer, and of this GPU */
	enum weights_type weights;
	bool scaled_by_blocks; /* FP8: a scale for each 128 x 128 weights */
	bool older;            /* vLLM before 0.17, whose tiles are smaller */
	/* set by experts_spread: the means over several draws */
	double rows, active; /* rows of this GPU, and its experts with rows */
	double distinct;     /* experts that are active in at least one draw */
	double blocks[EXPERT_HEIGHTS];
};

/* Sets the last four members. The exponent is that of the power law; it must not be 1. */
void experts_spread(struct kernel_experts *experts, enum experts_distribution distribution,
		    double exponent);

/* Returns the bytes of a weight, with its scales. element_B: of a row's elements. */
double weight_element_B(enum weights_type weights, double element_B);

struct kernel_params;
/* A GPU and the number type, as the law of experts uses them. rate_flops: of an SM at its peak;
 * bandwidth_Bps: that streaming kernels reach; cache_B: of the L2 cache if it stays filled. */
struct experts_machine {
	double rate_flops, bandwidth_Bps, cache_B, sm_count, element_B, ratio;
	bool fp4;
};
/* Returns the duration in s of all kernels of the layer. */
double experts_s(const struct experts_machine *machine, const struct kernel_params *kernels,
		 const struct kernel_experts *experts);
struct kernel_product;
/* Returns the duration in s of one product of `count` experts with m rows each, by the fastest
 * of the tiles. bytes_B: of its matrices in memory; expands: weights have 4 bits, which vLLM's
 * kernels for INT4 expand to 16. */
double experts_product_s(const struct experts_machine *machine, const struct kernel_params *kernels,
			 const struct kernel_product *product, double bytes_B, bool expands);
