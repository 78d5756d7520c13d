/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads recordings of Nsight Systems as recorded programs.
 *
 * `nsys export --type sqlite` writes a database. Each process with work on a GPU becomes a rank, in
 * the order of process numbers. These tables are used, if they exist:
 *
 *   - CUPTI_ACTIVITY_KIND_RUNTIME: CUDA calls;
 *   - CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY and _MEMSET: work of the GPU;
 *   - CUPTI_ACTIVITY_KIND_SYNCHRONIZATION and _CUDA_EVENT: events and streams of calls;
 *   - NVTX_EVENTS: texts such as "step 3", "iteration 3" or "ProfilerStep#3" are steps.
 *
 * The table `nsys stats --report cuda_gpu_trace --format csv` has only work of the GPU. Reports
 * with sums are refused, because they do not say when a kernel ran.
 *
 * nsys does not write the bytes of collectives, so NCCL's kernels take their recorded time. */
#pragma once

#include <stdio.h>

#include "sim/traces/profile.h"

struct diag;

/* Read ranks as a list. They return NULL after an error, which is in diag. */
const struct recorded_calls *nsys_read(struct arena *arena, struct diag *diag, const char *path,
				       struct profile_counts *counts);
const struct recorded_calls *nsys_csv_read(struct arena *arena, struct diag *diag, FILE *in,
					   const char *path, struct profile_counts *counts);
