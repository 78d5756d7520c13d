/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a recording of Nsight Systems as a recorded program.
 *
 * `nsys export --type sqlite` writes a database, and nsys_stats.h describes the tables of
 * `nsys stats` that can replace it. Each process with kernels becomes a rank, in the
 * order of process numbers. These tables are used, if they exist:
 *
 *   - CUPTI_ACTIVITY_KIND_RUNTIME: CUDA calls;
 *   - CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY and _MEMSET: work of the GPU;
 *   - CUPTI_ACTIVITY_KIND_SYNCHRONIZATION and _CUDA_EVENT: events and streams of calls;
 *   - NVTX_EVENTS: texts such as "step 3", "iteration 3" or "ProfilerStep#3" are steps.
 *
 * nsys does not write the bytes of collectives, so NCCL's kernels take their recorded time. */
#pragma once

#include <stdio.h>

#include "sim/traces/profile.h"

struct diag;

/* Returns the ranks as a list, or NULL after an error, which is in diag. watch may be NULL. A
 * database is read from path, and tables are read from in. */
const struct recorded_calls *nsys_read(struct arena *arena, struct diag *diag, FILE *in,
				       const char *path, const struct profile_watch *watch,
				       struct profile_counts *counts);
