/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Duration of a kernel, from the shape of its work.
 *
 * A kernel is a product of matrices, a convolution, attention, or a pass over memory. The law has
 * a few constants for each GPU generation and number type (`kernels.GENERATION.*`), which are
 * fitted to few measurements (calib/profiles/GENERATION.cfg). docs/models/kernels.md derives the
 * law and reports its errors.
 *
 * Where the rates of a network on a GPU were measured, two fitted numbers replace the law
 * (`efficiency.GPU.NETWORK.*`).
 */
#pragma once

#include "sim/base/param.h"
#include "sim/gpu/experts.h"

struct gpu_params;

/* Type of the numbers that a product multiplies. A GPU without fast arithmetic of a type computes
 * in the next wider one: fp4 in fp8; fp8 and int8 in bf16; tf32, fp16 and bf16 in fp32. Cases
 * refuse types that their GPU lacks (gpu_has). */
enum number_type {
	NUMBER_FP32,
	NUMBER_TF32,
	NUMBER_FP16,
	NUMBER_BF16,
	NUMBER_FP8,
	NUMBER_INT8,
	NUMBER_FP4
};
const char *number_type_name(enum number_type type); /* "fp16" */
/* Returns the bytes of a number in memory, with its part of a scale that several share. */
double number_type_B(enum number_type type);
/* Returns true if GPUs of that generation (enum gpu_generation) can multiply numbers of the type.
 */
bool gpu_generation_has(int generation, enum number_type type);
struct gpu_generation_facts { /* see generations.def */
	const char *name;     /* "Volta" */
	unsigned types;
	double lanes[2];
	double pin_bps[2]; /* GDDR, HBM */
	double tensor_ratio;
	double power_W, lane_power_W, lane_most_ratio;
};
const struct gpu_generation_facts *gpu_generation_facts(int generation);
/* Returns true if the GPU can. It computes fp16 at the fp32 rate if its file gives no fp16 rate.
 * The other types need a rate in its file. */
bool gpu_has(const struct gpu_params *gpu, enum number_type type);
/* Returns true if the GPU has tensor cores for the type. */
bool gpu_has_tensor_cores(const struct gpu_params *gpu, enum number_type type);
/* Returns the type in which the GPU computes a product of that type. */
enum number_type gpu_computed_in(const struct gpu_params *gpu, enum number_type type);
/* Returns the power that the GPU would take at its highest clock, if its board had no limit; 0:
 * unknown. An operation on half as many bits needs half of the power. */
double gpu_needed_power_W(const struct gpu_params *gpu, enum number_type type);
/* Returns the power of the board while large products run: its limit, or the power at the highest
 * clock if that is less. Returns 0 if neither is known. */
double gpu_full_power_W(const struct gpu_params *gpu, enum number_type type);

enum kernel_form {
	KERNEL_PASS, /* reads and writes memory; arithmetic is negligible */
	KERNEL_PRODUCT,
	KERNEL_CONVOLUTION,
	KERNEL_ATTENTION, /* fused: scores stay on the chip (FlashAttention) */
	KERNEL_CUDNN_ATTENTION,
	KERNEL_EXPERTS, /* all kernels of a layer of fused experts */
};

/* `count` products of an m x k matrix and a k x n matrix. */
struct kernel_product {
	double m, n, k, count;
};

/* A two-dimensional convolution, or one of its gradients. In all three parts, input and output
 * mean those of the forward pass. */
enum convolution_part { CONVOLUTION_FORWARD, CONVOLUTION_DATA, CONVOLUTION_FILTER };
struct kernel_convolution {
	enum convolution_part part;
	double images, in_channels, out_channels;
	double groups; /* parts of the channels that do not mix; 0: one */
	double in_height, in_width, out_height, out_width;
	size_t window[2], stride[2]; /* height, width */
	double transposed_B;         /* by kernels that run only if this one computes in TF32 */
};

/* Attention of `queries` tokens to all `keys` up to them, for each sequence and each head. Heads
 * in a group share the keys and values of one of kv_heads. In latent attention with absorbed
 * projections, a value is the first numbers of its key (DeepSeek-V2, arXiv:2405.04434). */
struct kernel_attention {
	double sequences, queries, keys; /* keys: of the last query */
	double heads, kv_heads;
	double head_size, value_size; /* features of queries and keys; of values, 0: as many */
	double window;                /* keys that a query sees, itself included; 0: all */
	double element_B;             /* of a key or value */
	bool causal;                  /* a query does not see later keys */
	bool latent;                  /* values are part of their keys */
};
/* Returns the features of a query or key and of a value together. */
double attention_features(const struct kernel_attention *attention);
/* Returns the numbers that a token has in the cache for each of kv_heads. */
double attention_cached_count(const struct kernel_attention *attention);

struct kernel_work {
	double flop;    /* multiplications and additions of the direct algorithm */
	double bytes_B; /* GPU memory read and written */
	enum kernel_form form;
	enum number_type type;
	bool reduces;   /* pass: sums over rows or channels */
	bool meets;     /* pass: its blocks need the sums of all blocks (batch norm in training) */
	bool quantises; /* pass: from 16 bits to FP8 */
	bool grouped;   /* product: of the experts of a layer, one for each */
	bool expands;   /* grouped product: its weights have 4 bits, and are expanded to 16 */
	bool plain;     /* product: the library has CUTLASS's usual tiles only and never splits k */
	bool scaled_by_blocks; /* product of FP8: each block of 128 x 128 weights has a scale */
	/* product: largest power of two that divides the contiguous sides of its matrices; 0: they
	 * are multiples of 16 bytes */
	double aligned_count;
	/* product, attention: bytes that a benchmark uses in turn, which the L2 cache may hold; 0:
	 * no benchmark */
	double repeated_B;
	double library_ratio; /* its rate divided by that of the constants' library; 0: 1 */
	union {
		struct kernel_product product;
		struct kernel_convolution convolution;
		struct kernel_experts experts;
		struct kernel_attention attention; /* sequences 0: only flop and bytes are known */
	};
};

/* Rate of a CUDA core of Kepler divided by that of a later one. The four schedulers of an SM keep
 * its 192 cores busy only if they find independent instructions. NVIDIA's GeForce GTX 750 Ti white
 * paper (2014) states 35 % more for a core of Maxwell, where each scheduler has 32 cores. */
#define KEPLER_CORE_RATIO (1 / 1.35)

/* Constants of a GPU generation. A ratio of a product is the part of the peak rate of its number
 * type at which an SM multiplies while loads do not limit it. On Kepler, the peak counts
 * KEPLER_CORE_RATIO times. */
struct kernel_params {
	double product_fp32_ratio, product_tf32_ratio, product_half_ratio;
	double product_fp8_ratio, product_fp4_ratio, product_block_ratio, plain_fp8_ratio;
	double convolution_ratio, attention_ratio, cudnn_attention_ratio, attention_forward_ratio;
	double fill_s, load_Bps, split_s, operand_ratio;
	double attention_fill_s, attention_floor_s, attention_store_s;
	double token_fill_s, token_floor_s, token_load_Bps;
	double sustained_ratio, served_ratio, reduction_ratio, meeting_s, power_exponent_count;
	double experts_half_ratio, experts_fp8_ratio, experts_block_ratio;
	double experts_operand_ratio, experts_pass_ratio, experts_kernel_s, experts_step_s;
	double dequantise_Bps, plain_fill_s, quantise_ratio;
};
extern const struct param_table kernel_table;

/* Two numbers that were fitted to measured rates of a network on a GPU. peak_ratio can exceed 1,
 * because Winograd convolutions need fewer flops. */
struct efficiency_params {
	double peak_ratio, half_work_flop, law_ratio;
	/* Clock of the slowest of the GPUs that wait for each other, divided by the mean one; 0: 1.
	 */
	double slowest_ratio;
	const struct kernel_params *kernels; /* not NULL if peak_ratio is 0 */
	bool alone;  /* a kernel by itself, as in a benchmark: at the clock of a short load */
	bool served; /* a kernel of a model server: as by itself, at the clock of a long load */
};
/* Returns the rate of loads in a program divided by that of a kernel by itself. */
static inline double efficiency_sustained_ratio(const struct efficiency_params *efficiency)
{
	if (efficiency->served)
		return efficiency->kernels->served_ratio;
	return efficiency->alone ? 1 : efficiency->kernels->sustained_ratio;
}
static inline double efficiency_slowest_ratio(const struct efficiency_params *efficiency)
{
	return efficiency->slowest_ratio > 0 ? efficiency->slowest_ratio : 1;
}
extern const struct param_table efficiency_table;
extern const struct param_table law_table; /* law_ratio only; read if peak_ratio is 0 */

/* Returns the peak rate of products of that type. A GPU without fast arithmetic of a type computes
 * in the next wider one. */
double gpu_peak_flops(const struct gpu_params *gpu, enum number_type type);

/* Returns the part of its bytes that a benchmark finds in the L2 cache, if it uses used_B in turn.
 * It falls from 1 to 0 around the size of the cache: 0.99 at 0.8 times the size and 0.1 at 1.2
 * times. A strict order of replacement would find nothing above the size, but a hash spreads the
 * bytes unevenly over the sets of the cache. Place and width are those of products on an L40S. */
double cache_hit_ratio(double used_B, double cache_B);

/* Returns the duration in s, without the gap to the next kernel. With fitted numbers it is
 *   max((flop + half_work) / (peak * peak_ratio), bytes / reached bandwidth) + floor.
 * The first term is flop / (peak * peak_ratio * w / (w + half_work)) with w = flop. For 0 flop the
 * bytes decide. Without them it is the time of the fastest algorithm by the law. */
double kernel_duration_s(const struct gpu_params *gpu, const struct efficiency_params *efficiency,
			 const struct kernel_work *work);
