/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rates and power of a GPU, as its file and its generation state them. */
#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"

static const struct gpu_generation_facts generations[] = {
#define GENERATION(id, key, name, types, lanes, other_lanes, gddr_bps, hbm_bps, tensor_ratio,      \
		   power_W, lane_power_W, lane_most_ratio)                                         \
	{#name,        types,   {lanes, other_lanes}, {gddr_bps, hbm_bps},                         \
	 tensor_ratio, power_W, lane_power_W,         lane_most_ratio},
#include "sim/gpu/generations.def"
};

const struct gpu_generation_facts *gpu_generation_facts(int generation)
{
	return &generations[generation];
}

bool gpu_generation_has(int generation, enum number_type type)
{
	return generations[generation].types & 1U << type;
}

/* Returns the rate that the GPU's file states for the type; 0: none. */
static double stated_flops(const struct gpu_params *gpu, enum number_type type)
{
	const double rates[] = {
		[NUMBER_FP32] = gpu->fp32_flops, [NUMBER_TF32] = gpu->tf32_flops,
		[NUMBER_FP16] = gpu->fp16_flops, [NUMBER_BF16] = gpu->bf16_flops,
		[NUMBER_FP8] = gpu->fp8_flops,   [NUMBER_INT8] = gpu->int8_flops,
		[NUMBER_FP4] = gpu->fp4_flops,
	};
	return rates[type];
}

bool gpu_has(const struct gpu_params *gpu, enum number_type type)
{
	if (type == NUMBER_FP32 || type == NUMBER_FP16)
		return gpu_generation_has(gpu->generation, type) ||
		       gpu_peak_flops(gpu, type) > gpu->fp32_flops;
	return stated_flops(gpu, type) > 0;
}

bool gpu_has_tensor_cores(const struct gpu_params *gpu, enum number_type type)
{
	if (type == NUMBER_FP16)
		return gpu->fp16_flops > 0 && gpu->generation >= GENERATION_VOLTA;
	return type != NUMBER_FP32 && gpu_has(gpu, type);
}

enum number_type gpu_computed_in(const struct gpu_params *gpu, enum number_type type)
{
	while (type != NUMBER_FP32 && !(stated_flops(gpu, type) > 0))
		type = type == NUMBER_FP4                          ? NUMBER_FP8
		       : type == NUMBER_FP8 || type == NUMBER_INT8 ? NUMBER_BF16
								   : NUMBER_FP32;
	return type;
}

double gpu_peak_flops(const struct gpu_params *gpu, enum number_type type)
{
	return stated_flops(gpu, gpu_computed_in(gpu, type));
}

double gpu_needed_power_W(const struct gpu_params *gpu, enum number_type type)
{
	static const double operations[] = {
		[NUMBER_TF32] = 0.5, [NUMBER_FP16] = 1, [NUMBER_BF16] = 1,
		[NUMBER_FP8] = 2,    [NUMBER_INT8] = 2, [NUMBER_FP4] = 4,
	};
	const struct gpu_generation_facts *facts = gpu_generation_facts(gpu->generation);
	bool tensor = gpu_has_tensor_cores(gpu, type);
	return stated_flops(gpu, type) / 1e12 *
	       (tensor ? facts->power_W / operations[type] : facts->lane_power_W);
}

double gpu_full_power_W(const struct gpu_params *gpu, enum number_type type)
{
	double needed_W = gpu_needed_power_W(gpu, type);
	return gpu->power_W > 0 && needed_W > 0 ? fmin(gpu->power_W, needed_W)
						: fmax(gpu->power_W, needed_W);
}
