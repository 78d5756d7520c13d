/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits the law of kernel times (sim/gpu/kernel.h) to measured kernels of one GPU.
 *
 * Products of matrices of different shapes determine a rate for each number type, and constants
 * that all types share: the fill time, the rate of loads, the time of a split k and the bandwidth
 * of operands. Attention determines its own: four for prompts, and three for single tokens. A
 * constant that moves no time by more than a hundredth of its own movement is not fitted. The
 * bandwidth of operands can exceed that of memory, because a repeated product finds its operands in
 * a cache.
 *
 * The fit minimises relative errors with Huber's loss: Nelder-Mead on the logarithms, then steps of
 * Gauss and Newton. Draws of passes repeat only the last step, which is linear. The fit of rows of
 * datasets (fit.h) evaluates the same kernels by the same function.
 */
#pragma once

#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"
#include "sim/scenario/scenario.h"

enum { LAW_TYPES = NUMBER_FP8 + 1, LAW_POINTS_MAX = 512 };
/* The constants: the rate of each number type in flop/s (enum number_type), and these. */
enum law_constant {
	LAW_FILL = LAW_TYPES,
	LAW_LOAD,
	LAW_SPLIT,
	LAW_OPERAND,
	LAW_ATTENTION,
	LAW_ATTENTION_FILL,
	LAW_ATTENTION_FLOOR,
	LAW_ATTENTION_STORE,
	LAW_TOKEN_FILL,
	LAW_TOKEN_FLOOR,
	LAW_TOKEN_LOAD,
	LAW_CONSTANTS,
};

struct law_point {
	struct single_kernel run;
	double time_s;
};

struct law {
	/* Given: the GPU and where the search starts. The fit replaces the constants that it finds.
	 * Those of number types are the peak rates of the GPU, and the parts in kernels are 1. */
	struct gpu_params gpu;
	struct kernel_params kernels;
	/* standard error of the logarithm by the residuals; INFINITY: not fitted */
	double error_ratio[LAW_CONSTANTS];
	double rms_ratio; /* of the relative errors of the fitted points */
	size_t count;
	const double *predicted_s, *gain; /* see law_step */
};

/* Returns "product_half" or "fill": the key of kernels.GENERATION. */
const char *law_key(enum law_constant constant);
/* exported: tests compare the constants with planted ones */
double law_value(const struct law *law, enum law_constant constant);
/* Returns the time of a kernel in s. */
double law_at(const struct law *law, const struct single_kernel *run);
/* Sets the peak rates of the GPU to those that products reach, and their parts to 1, or back. */
void law_reached(struct law *law);
/* Fits the offered constants to at most LAW_POINTS_MAX points. Returns false if there are no more
 * points than constants or all have similar bytes. */
bool law_fit(struct arena *arena, const struct law_point *points, size_t count,
	     const bool offered[LAW_CONSTANTS], struct law *law);
/* Stores all constants for other times of the fitted points, by one linear step from the fit. */
void law_step(const struct law *law, const double *times_s, double *out);
