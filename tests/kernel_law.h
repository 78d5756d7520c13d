/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU and constants with which times of kernels follow by hand. An SM does 1 Tflop/s in fp32, of
 * which kernels reach one half. Memory reaches 0.8 TB/s, and loads cost nothing. */
#pragma once

#include <math.h>

#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"

static struct gpu_params gpu_of(double sms)
{
	return (struct gpu_params){.generation = GENERATION_PASCAL,
				   .fp32_flops = 1e12 * sms,
				   .tf32_flops = 4e12 * sms,
				   .fp16_flops = 8e12 * sms,
				   .memory_bandwidth_Bps = 1e12,
				   .memory_efficiency_ratio = 0.8,
				   .multiprocessors_count = sms};
}

static const struct kernel_params half = {.product_fp32_ratio = 0.5,
					  .product_tf32_ratio = 0.5,
					  .product_half_ratio = 0.5,
					  .product_fp8_ratio = 0.5,
					  .product_fp4_ratio = 0.5,
					  .plain_fp8_ratio = 0.5,
					  .convolution_ratio = 0.5,
					  .attention_ratio = 0.25,
					  .attention_forward_ratio = 0.5,
					  .fill_s = 1e-6,
					  .load_Bps = 1e30,
					  .split_s = 2e-6,
					  .operand_ratio = 1,
					  .attention_fill_s = 3e-6,
					  .attention_floor_s = 5e-6,
					  .attention_store_s = 0,
					  .token_fill_s = 3e-6,
					  .token_floor_s = 6e-6,
					  .token_load_Bps = 1e30,
					  .sustained_ratio = 1,
					  .plain_fill_s = 1e-6,
					  .quantise_ratio = 0.25};
static const struct efficiency_params by_law = {.law_ratio = 1, .kernels = &half};

/* Returns the time of two activities that overlap. */
static double both(double a, double b)
{
	return pow(pow(a, 4) + pow(b, 4), 0.25);
}
