/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kind of call that the simulator uses for a recorded function.
 *
 * CUDA has about 900 functions in two interfaces (runtime and driver). The simulator has a few
 * kinds of calls, which differ in their cost. functions.def maps names to kinds. Copies have no
 * row, because their direction follows from the recorded copy and not from the name. */
#pragma once

#include "sim/traces/recorded.h"
#include "sim/cuda/cuda.h"

struct arena;

/* The host work of a call: HOST_ROW as a parameter of the driver says, HOST_OWN as recorded. */
enum function_host { HOST_ROW, HOST_OWN };

struct function_use {
	enum call_kind kind;
	enum function_host host;
};

/* Always finds a row, because the last row matches every name. */
struct function_use function_use(const struct recorded_call *call);
/* Returns true if the name begins with "cuda", "cu" or "hip", followed by a capital letter. */
bool function_is_cuda(const char *name);
/* Returns true if the name is one of CUDA, or has a row of its own, such as cublasSgemm. */
bool function_is_known(const char *name);
/* Marks a launch that a function of cuBLAS or cuDNN makes (by_library, product, norm). */
void function_mark_library(const char *name, struct cuda_call *launch);
/* Returns the name without the version in cuMemAlloc_v2. */
const char *function_without_version(struct arena *arena, const char *name);
/* Returns the direction that a name such as cuMemcpyHtoDAsync_v2 states, or COPY_NONE. */
enum recorded_copy function_copy(const char *name);
/* Returns true for NCCL's collectives that farwire does not simulate between GPUs. Outside a job,
 * they are kernels of their recorded time. */
bool function_is_foreign_collective(const char *name);
