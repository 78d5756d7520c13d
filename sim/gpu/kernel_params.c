/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The constants of the law of kernel times, and fitted efficiencies in place of it. */
#include "sim/gpu/kernel.h"

const char *number_type_name(enum number_type type)
{
	static const char *const names[] = {"fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"};
	return names[type];
}

double number_type_B(enum number_type type)
{
	/* 16 elements of NVFP4 share a scale of one byte */
	static const double sizes_B[] = {4, 4, 2, 2, 1, 1, 0.5 + 1.0 / 16};
	return sizes_B[type];
}

#define BETWEEN "assumption: between the generations that were fitted"
static const struct param_row kernel_rows[] = {
	COST_REACHED(struct kernel_params, product_fp32_ratio, QUANTITY_RATIO, 0.01, 2, "0.7",
		     "part of the fp32 peak that large matrix products reach", BETWEEN),
	COST_REACHED(struct kernel_params, product_tf32_ratio, QUANTITY_RATIO, 0.01, 2, "0.75",
		     "part of the TF32 peak that large matrix products reach", BETWEEN),
	COST_TUNED(struct kernel_params, product_half_ratio, QUANTITY_RATIO, 0.01, 2, "0.8",
		   "part of the fp16 or bf16 peak that large matrix products reach", BETWEEN),
	COST_REACHED(struct kernel_params, product_fp8_ratio, QUANTITY_RATIO, 0.01, 2, "0.5",
		     "part of the FP8 peak that large matrix products reach",
		     "assumption: lower than for 16 bits, because bytes and start-up weigh more"),
	COST_REACHED(struct kernel_params, product_fp4_ratio, QUANTITY_RATIO, 0.01, 2, "0.4",
		     "part of the FP4 peak that large matrix products reach",
		     "assumption: lower than for FP8, because bytes weigh more again"),
	COST_REACHED(struct kernel_params, plain_fp8_ratio, QUANTITY_RATIO, 0.01, 2, "0.5",
		     "part of the FP8 peak that vLLM's FP8 products reach", BETWEEN),
	COST_REACHED(
		struct kernel_params, product_block_ratio, QUANTITY_RATIO, 0.01, 2, "0.45",
		"part of the FP8 peak that large matrix products reach if each block of 128 x 128 "
		"weights has a scale, by which sums are multiplied",
		BETWEEN),
	COST_REACHED(struct kernel_params, attention_ratio, QUANTITY_RATIO, 0.01, 2, "0.3",
		     "part of the peak of its number type that fused attention reaches", BETWEEN),
	COST_REACHED(
		struct kernel_params, cudnn_attention_ratio, QUANTITY_RATIO, 0.01, 2, "1.2",
		"part of the peak of its number type that cuDNN's fused attention reaches",
		"assumption: as on Hopper, where a fit finds 1.22 (calib/profiles/hopper.cfg); "
		"forward and backward together"),
	COST_TUNED(struct kernel_params, attention_forward_ratio, QUANTITY_RATIO, 0.01, 2, "0.65",
		   "part of the peak of its number type that attention without backward "
		   "reaches, as in inference",
		   BETWEEN),
	COST_ASSUMED(
		struct kernel_params, convolution_ratio, QUANTITY_RATIO, 0.05, 1, "0.9",
		"rate of a convolution divided by that of a matrix product; below 1, because "
		"a convolution computes the addresses of its elements",
		"large windows of 3 x 3 on an H100 reach 0.5 to 0.79 of the peak in bf16 and NHWC, "
		"and products 0.8 (calib/trace/kernels.py)"),
	COST_GENERATION(struct kernel_params, fill_s, QUANTITY_TIME, 0, 1e-3, "0.6 us",
			"time in which a tile of a product loads its first elements", BETWEEN),
	COST_GENERATION(struct kernel_params, load_Bps, QUANTITY_RATE, 1e8, 1e13, "60 GB/s",
			"rate at which an SM loads tiles of operands and stores results",
			"assumption: at most 64 bytes in each clock cycle from the L2 cache"),
	COST_GENERATION(struct kernel_params, split_s, QUANTITY_TIME, 0, 1e-3, "2.5 us",
			"time of the kernel that adds the parts of a product whose k is split",
			"assumption: a kernel of its own"),
	COST_TUNED(struct kernel_params, operand_ratio, QUANTITY_RATIO, 0.3, 1.25, "1",
		   "bandwidth at which products read their operands, divided by that of "
		   "streaming kernels",
		   BETWEEN),
	COST_TUNED(struct kernel_params, sustained_ratio, QUANTITY_RATIO, 0.2, 1.25, "0.85",
		   "rate of products in a program divided by that of a product alone: power "
		   "lowers the clock, and communication takes SMs",
		   "assumption: between the generations that were fitted; an H100 keeps 0.89 "
		   "of its rate after a second of large products (docs/calibration.md)"),
	COST_ASSUMED(struct kernel_params, served_ratio, QUANTITY_RATIO, 0.2, 1, "0.89",
		     "rate of products in a model server divided by that of a product alone, "
		     "because power lowers the clock after a second of large products",
		     "products of 8192 x 8192 x 8192 on an H100 take 1.56 ms after seconds, and "
		     "1.39 ms in a burst (docs/calibration.md); assumption for other GPUs"),
	COST_ASSUMED(struct kernel_params, power_exponent_count, QUANTITY_COUNT, 0, 1, "0.5",
		     "exponent by which the clock of products follows the board's power for each "
		     "operation, compared with the generation's reference GPU",
		     "assumption: 1/3 where the voltage follows the clock, 1 where it does not"),
	COST_ASSUMED(
		struct kernel_params, reduction_ratio, QUANTITY_RATIO, 0.1, 1, "0.6",
		"bandwidth of kernels that sum over rows or channels (statistics and gradients of "
		"norms, gradients of biases), divided by that of streaming kernels",
		"assumption: between the 0.35 and 0.7 of PyTorch's kernels on an H100 "
		"(docs/calibration.md)"),
	COST_ASSUMED(
		struct kernel_params, meeting_s, QUANTITY_TIME, 0, 1e-3, "9 us",
		"least time of a batch norm's pass in training, in which each block waits for the "
		"sums of all blocks",
		"assumption: smallest batch norms of ResNet-50 on an H100 and an H200, 7 us "
		"forward and "
		"11 us backward beside their bytes (docs/models/kernels.md)"),
	COST_GENERATION(struct kernel_params, plain_fill_s, QUANTITY_TIME, 0, 1e-3, "1.4 us",
			"time in which a tile of vLLM's FP8 products loads its first elements",
			BETWEEN),
	COST_GENERATION(struct kernel_params, quantise_ratio, QUANTITY_RATIO, 0.02, 2, "0.8",
			"bandwidth of kernels that quantise 16 bits to FP8, divided by that of "
			"streaming kernels",
			BETWEEN),
	COST_REACHED(struct kernel_params, experts_half_ratio, QUANTITY_RATIO, 0.01, 2, "0.45",
		     "part of the peak of its number type that the products of fused experts reach",
		     BETWEEN),
	COST_GENERATION(struct kernel_params, experts_fp8_ratio, QUANTITY_RATIO, 0.01, 2, "0.45",
			"part of the FP8 or FP4 peak that the products of fused experts reach",
			BETWEEN),
	COST_GENERATION(
		struct kernel_params, experts_block_ratio, QUANTITY_RATIO, 0.01, 2, "0.25",
		"part of the FP8 peak that the products of fused experts reach if each block of "
		"128 weights has a scale, by which sums are multiplied",
		BETWEEN),
	COST_TUNED(struct kernel_params, experts_operand_ratio, QUANTITY_RATIO, 0.3, 1.25, "1.05",
		   "bandwidth at which fused experts read weights, divided by that of "
		   "streaming kernels",
		   BETWEEN),
	COST_GENERATION(struct kernel_params, experts_pass_ratio, QUANTITY_RATIO, 0.05, 2, "0.8",
			"bandwidth of the activation and the sum of fused experts, divided by that "
			"of streaming kernels",
			BETWEEN),
	COST_GENERATION(struct kernel_params, experts_kernel_s, QUANTITY_TIME, 0, 1e-3, "4 us",
			"time that each kernel of fused experts takes at least", BETWEEN),
	COST_GENERATION(struct kernel_params, experts_step_s, QUANTITY_TIME, 0, 1e-4, "0.2 us",
			"time in which a block of fused experts loads its part of both matrices",
			"assumption: the latency of memory, between the generations that were "
			"fitted"),
	COST_GENERATION(struct kernel_params, dequantise_Bps, QUANTITY_RATE, 1e8, 1e12, "6 GB/s",
			"rate at which an SM expands weights of 4 bits to 16 bits in fused experts",
			"assumption: 12 billion weights a second, fitted to H100 and B200"),
	COST_GENERATION(
		struct kernel_params, attention_fill_s, QUANTITY_TIME, 0, 1e-3, "2.8 us",
		"time in which a block of attention loads its first elements and writes its "
		"result, for prompts",
		BETWEEN),
	COST_GENERATION(struct kernel_params, attention_floor_s, QUANTITY_TIME, 0, 1e-3, "5 us",
			"time of attention of prompts beside its blocks: lengths are prepared, and "
			"kernels start",
			BETWEEN),
	COST_GENERATION(
		struct kernel_params, attention_store_s, QUANTITY_TIME, 0, 1e-3, "1.2 us",
		"time of a block that writes the keys and values of a new token into the cache",
		"assumption: twice the latency of memory, between the generations that were "
		"fitted"),
	COST_GENERATION(
		struct kernel_params, token_fill_s, QUANTITY_TIME, 0, 1e-3, "2.5 us",
		"time in which a block of attention of single tokens loads its first elements "
		"and writes its result",
		BETWEEN),
	COST_GENERATION(struct kernel_params, token_floor_s, QUANTITY_TIME, 0, 1e-3, "5.5 us",
			"time of attention of single tokens beside its blocks", BETWEEN),
	COST_GENERATION(
		struct kernel_params, token_load_Bps, QUANTITY_RATE, 1e8, 1e13, "30 GB/s",
		"rate at which an SM reads keys and values for single tokens; lower than load, "
		"because few rows leave few loads in flight",
		BETWEEN),
};
const struct param_table kernel_table = PARAM_TABLE("kernels", struct kernel_params, kernel_rows);

static const struct param_row efficiency_rows[] = {
	COST_ASSUMED(
		struct efficiency_params, peak_ratio, QUANTITY_RATIO, 0, 10, "0",
		"peak efficiency: part of the peak rate that a very large kernel of the "
		"network reaches; 0 means that kernel times follow from the shapes of the products",
		"by definition: not fitted; 0 is exact, because it chooses another model"),
	COST_ASSUMED(struct efficiency_params, half_work_flop, QUANTITY_FLOP, 0, 1e15, "50 Mflop",
		     "half-efficiency work: work of a kernel that reaches half of the fitted peak; "
		     "without a fitted peak it has no effect",
		     "assumption: to be fitted to the throughput of one GPU at two batch sizes"),
};
const struct param_table efficiency_table =
	PARAM_TABLE("efficiency", struct efficiency_params, efficiency_rows);

static const struct param_row law_rows[] = {
	COST_SOURCED(
		struct efficiency_params, law_ratio, QUANTITY_COUNT, 0.1, 10, "1",
		"real time of the network's kernels divided by the predicted time, if peak is 0",
		"its interval is the error on networks that set no constant "
		"(docs/models/kernels.md)"),
};
const struct param_table law_table = PARAM_TABLE("efficiency", struct efficiency_params, law_rows);
