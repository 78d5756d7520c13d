/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a trace of PyTorch's profiler (Kineto's Chrome JSON) as a recorded program.
 *
 * prof.export_chrome_trace writes one JSON object. Its `traceEvents` contains every event of the
 * host and the GPU, in any order. These events are used:
 *
 *   - CUDA calls (cat cuda_runtime and cuda_driver);
 *   - work of the GPU (kernel, gpu_memcpy, gpu_memset), which args.correlation joins to a call;
 *   - cuda_event and cuda_sync, if the profiler was told to record them: the CUDA event that a
 *     call recorded or waited for;
 *   - ProfilerStep#N, the marks of the steps;
 *   - descriptions of collectives (collective_record.h) and distributedInfo, the rank of the trace.
 *
 * The file is read event by event, and only the used events are kept. */
#pragma once

#include <stdio.h>

#include "sim/traces/profile.h"

struct diag;

/* watch may be NULL. path is used only in messages. Returns NULL after an error, which is in diag.
 */
const struct recorded_calls *kineto_read(struct arena *arena, struct diag *diag, FILE *in,
					 const char *path, const struct profile_watch *watch,
					 struct profile_counts *counts);
