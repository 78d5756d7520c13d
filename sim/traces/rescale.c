/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/traces/rescale.h"

#include <math.h>
#include <string.h>

#include "sim/base/arena.h"

static bool has_any(const char *name, const char *const *parts)
{
	for (; *parts; parts++)
		if (strstr(name, *parts))
			return true;
	return false;
}

/* The type that tensor cores or other units multiply. Names of cuBLAS and cuDNN have it in several
 * spellings. A product without any is one of fp32. */
static enum number_type type_of(const char *name)
{
	static const char *const fp8[] = {"e4m3", "e5m2", "fp8", NULL};
	static const char *const bf16[] = {"bf16", "bfloat16", NULL};
	static const char *const tf32[] = {"tf32", "s1688gemm_f", "tensorop_s1688", NULL};
	static const char *const fp16[] = {"fp16",   "f16",  "half",   "h884",  "h1688",
					   "h16816", "s884", "s16816", "hgemm", NULL};
	return has_any(name, fp8)    ? NUMBER_FP8
	       : has_any(name, bf16) ? NUMBER_BF16
	       : has_any(name, tf32) ? NUMBER_TF32
	       : has_any(name, fp16) ? NUMBER_FP16
				     : NUMBER_FP32;
}

struct kernel_kind kernel_kind_of(const char *name)
{
	static const char *const memory[] = {
		"elementwise", "Elementwise",  "reduce",     "Reduce",    "softmax", "SoftMax",
		"norm",        "Norm",         "bn_",        "batchnorm", "memset",  "Memset",
		"memcpy",      "Memcpy",       "copy",       "CatArray",  "pool",    "Pool",
		"transpose",   "nchwToNhwc",   "nhwcToNchw", "embedding", "gather",  "scatter",
		"dropout",     "multi_tensor", "Adam",       "adam",      "gemv",    "triton_poi",
		"triton_red",  "triton_per",   "nll_loss",   "upsample",  "index",   "at::native::",
		NULL};
	static const char *const product[] = {
		"gemm",   "Gemm",      "GEMM",     "conv",    "Conv",      "wgrad",
		"dgrad",  "fprop",     "winograd", "cutlass", "xmma",      "fmha",
		"flash_", "attention", "nvjet",    "matmul",  "triton_mm", NULL};
	static const char *const collective[] = {"nccl", NULL};
	enum kernel_class class = KERNELS_UNKNOWN;
	if (!name)
		return (struct kernel_kind){class, NUMBER_FP32};
	if (has_any(name, collective))
		class = KERNELS_COLLECTIVE;
	else if (has_any(name, memory))
		class = KERNELS_MEMORY;
	else if (has_any(name, product))
		class = KERNELS_PRODUCT;
	return (struct kernel_kind){class, type_of(name)};
}

static double memory_ratio(const struct gpu_params *from, const struct gpu_params *to)
{
	return from->memory_bandwidth_Bps / to->memory_bandwidth_Bps;
}

static double peak_ratio(const struct gpu_params *from, const struct gpu_params *to,
			 enum number_type type)
{
	return gpu_peak_flops(from, type) / gpu_peak_flops(to, type);
}

double rescale_ratio(const struct gpu_params *from, const struct gpu_params *to, const char *name)
{
	struct kernel_kind kind = kernel_kind_of(name);
	switch (kind.class) {
	case KERNELS_PRODUCT:
		return peak_ratio(from, to, kind.type);
	case KERNELS_MEMORY:
		return memory_ratio(from, to);
	case KERNELS_UNKNOWN:
		return sqrt(peak_ratio(from, to, kind.type) * memory_ratio(from, to));
	default:
		return 1;
	}
}

const char *rescale_words(struct arena *arena, const struct recorded_calls *recorded,
			  const struct replay_step *step, const struct gpu_params *from,
			  const struct gpu_params *to, const char **lacking)
{
	double class_s[KERNELS_COUNT] = {0}, all_s = 0, scaled_s = 0, low_s = 0, high_s = 0;
	*lacking = NULL;
	for (size_t i = 0; i < recorded->call_count; i++) {
		const struct recorded_call *call = &recorded->calls[i];
		if (!(call->gpu_s > 0) || call->copy != COPY_NONE ||
		    call->start_s < step->start_s || call->start_s > step->end_s)
			continue;
		struct kernel_kind kind = kernel_kind_of(call->label);
		bool moves = kind.class != KERNELS_COLLECTIVE;
		double memory = moves ? memory_ratio(from, to) : 1;
		double peak = moves ? peak_ratio(from, to, kind.type) : 1;
		class_s[kind.class] += call->gpu_s;
		all_s += call->gpu_s;
		scaled_s += call->gpu_s * rescale_ratio(from, to, call->label);
		low_s += call->gpu_s * fmin(memory, peak);
		high_s += call->gpu_s * fmax(memory, peak);
		if (kind.class == KERNELS_PRODUCT && kind.type != NUMBER_TF32 &&
		    !gpu_has(to, kind.type))
			*lacking = call->label;
	}
	if (!(all_s > 0))
		return "the recording has no kernels to scale";
	return arena_printf(
		arena,
		"kernel times are scaled by %.3g in all (by between %.3g and %.3g, if "
		"memory or arithmetic limited each kernel): %.0f %% of them as products by "
		"the peak rates, %.0f %% by the memory bandwidths, %.0f %% by both, and "
		"%.0f %% not",
		scaled_s / all_s, low_s / all_s, high_s / all_s,
		100 * class_s[KERNELS_PRODUCT] / all_s, 100 * class_s[KERNELS_MEMORY] / all_s,
		100 * class_s[KERNELS_UNKNOWN] / all_s, 100 * class_s[KERNELS_COLLECTIVE] / all_s);
}
