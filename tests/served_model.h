/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU whose arithmetic takes no time, so that an iteration of a model server takes the time of
 * its bytes. Tests that include it must run from the root folder. */
#pragma once

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/serving/model.h"
#include "tests/test.h"

#define MEMORY_Bps 1e12

static struct arena *arena;

static const struct gpu_params gpu = {.generation = GENERATION_HOPPER,
				      .fp32_flops = 1e30,
				      .tf32_flops = 1e30,
				      .fp16_flops = 1e30,
				      .memory_bandwidth_Bps = MEMORY_Bps,
				      .memory_efficiency_ratio = 1,
				      .multiprocessors_count = 100};
static const struct kernel_params kernels = {.product_fp32_ratio = 1,
					     .product_tf32_ratio = 1,
					     .product_half_ratio = 1,
					     .product_fp8_ratio = 1,
					     .product_fp4_ratio = 1,
					     .plain_fp8_ratio = 1,
					     .convolution_ratio = 1,
					     .attention_ratio = 1,
					     .attention_forward_ratio = 1,
					     .operand_ratio = 1,
					     .experts_half_ratio = 1,
					     .experts_operand_ratio = 1,
					     .experts_pass_ratio = 1,
					     .reduction_ratio = 1,
					     .served_ratio = 1,
					     .quantise_ratio = 1,
					     .load_Bps = 1e30,
					     .token_load_Bps = 1e30};
static const struct efficiency_params by_law = {.law_ratio = 1, .kernels = &kernels};
static const struct stack_params stack = {
	.precision = PRECISION_BF16, .fused_attention = true, .workspace_B = 1e6};

static const struct network *network_from(const struct cfg_node *file, struct diag *diag,
					  size_t tokens)
{
	const struct network *network = file ? network_read(arena, diag, file, tokens) : NULL;
	diag_print(diag, stdout);
	CHECK(network != NULL);
	return network;
}

static inline const char *path_of(const char *name)
{
	return arena_printf(arena, "models/networks/%s.cfg", name);
}

static inline const struct network *network_of(const char *name, size_t tokens)
{
	struct diag *diag = diag_new(arena);
	return network_from(cfg_read(arena, diag, path_of(name)), diag, tokens);
}

/* Returns the bytes of the kernels of one iteration. */
static inline double iteration_B(struct serving_model *model, struct iteration iteration)
{
	return serving_model_time(model, &iteration).kernel_s * MEMORY_Bps;
}
