/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernel times of a recording on another GPU.
 *
 * A kernel's name gives its class (kernel_classes.def), and the class says how much of its time
 * follows the rate of arithmetic and how much the bandwidth of the memory:
 *
 *   time on `to` = floor + (time on `from` - floor) * arithmetic^share * memory^(1 - share)
 *
 * arithmetic is the ratio of the peaks of the two GPUs: for products, convolutions and attention
 * that of the number type in the name, otherwise that of fp32 without tensor cores. memory is the
 * ratio of the bandwidths that are reached. The floor is the time in which a kernel starts and
 * drains its blocks (gpu.kernel_floor), so short kernels keep most of their time. Kernels of
 * collectives keep all of it. This is an estimate between two bounds, so the words for the result
 * name the factor and the share of each class, and the bounds. The parameter calls.arithmetic moves
 * all shares together, and its interval covers their uncertainty. */
#pragma once

#include "sim/gpu/gpu.h"
#include "sim/gpu/kernel.h"
#include "sim/traces/replay.h"

/* A recording that moves from one GPU to another. */
struct rescaling {
	const struct gpu_params *from, *to;
	bool same_model;         /* both are of the same file, so only changed peaks count */
	double arithmetic_ratio; /* struct calls_params */
	VEC(struct kernel_moved) kernels; /* the names that were looked up */
};
struct kernel_moved {
	const char *name;
	const struct kernel_class *class;
	enum number_type type;
	double ratio, memory_ratio, arithmetic_ratio; /* time on `to` divided by that on `from` */
};

/* Returns the time of a kernel on the other GPU. name is that of the kernel, or of the call. Equal
 * names must have the same address, as in recordings. */
double rescale_s(struct arena *arena, struct rescaling *rescaling, const char *name, double time_s);
/* Returns the number type that a kernel multiplies, by its name; fp32 if the name does not say. */
enum number_type kernel_number_type(const char *name);
/* Returns the kernel's name, or that of the call if the recording lacks it. */
const char *recorded_kernel_name(const struct recorded_call *call);
/* Returns how the kernels of the step are scaled, as the end of a sentence. *lacking is the name of
 * a kernel whose number type `to` lacks; NULL: none. */
const char *rescale_words(struct arena *arena, const struct recorded_calls *recorded,
			  const struct replay_step *step, struct rescaling *rescaling,
			  const char **lacking);
