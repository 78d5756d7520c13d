/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernel times of a recording on another GPU.
 *
 * A kernel's name says what limits it. The time of a matrix product, a convolution or fused
 * attention follows the peak rate of its number type. That of a kernel that passes over memory
 * (element-wise, reduction, normalisation, copy) follows the bandwidth. A kernel of another name is
 * scaled by the geometric mean of both. Kernels of collectives keep their time. These are bounds,
 * not a model: a small product does not reach the peak. So the words for the result name the share
 * of each class and the limits between which the sum lies.
 *
 * Names are those of cuBLAS, cuDNN, CUTLASS, PyTorch and Triton. */
#pragma once

#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"
#include "sim/traces/replay.h"

enum kernel_class {
	KERNELS_PRODUCT,
	KERNELS_MEMORY,
	KERNELS_UNKNOWN,
	KERNELS_COLLECTIVE,
	KERNELS_COUNT
};
struct kernel_kind {
	enum kernel_class class;
	enum number_type type; /* of a product */
};
struct kernel_kind kernel_kind_of(const char *name); /* NULL: unknown */

/* Returns the kernel's time on `to` divided by that on `from`; 1 if both are the same. */
double rescale_ratio(const struct gpu_params *from, const struct gpu_params *to, const char *name);
/* Returns how the kernels of the step are scaled, as the end of a sentence. *lacking is the name of
 * a kernel whose number type `to` lacks; NULL: none. */
const char *rescale_words(struct arena *arena, const struct recorded_calls *recorded,
			  const struct replay_step *step, const struct gpu_params *from,
			  const struct gpu_params *to, const char **lacking);
