/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of PyTorch's profiler (Kineto's Chrome JSON) as recorded programs.
 *
 * prof.export_chrome_trace writes one object whose `traceEvents` holds every event of the host
 * and the GPU, in any order. These events are used:
 *
 *   - the CUDA calls (cat cuda_runtime and cuda_driver);
 *   - the work of the GPU (kernel, gpu_memcpy, gpu_memset), joined by args.correlation;
 *   - which call recorded or waited for which event (cuda_event and cuda_sync, if the
 *     profiler was asked for them);
 *   - ProfilerStep#N, the marks of the steps.
 *
 * The file is read event by event; only the calls are kept. */
#ifndef FARWIRE_TRACES_KINETO_H
#define FARWIRE_TRACES_KINETO_H

#include <stdio.h>

#include "sim/traces/recorded.h"

struct arena;
struct diag;

struct kineto_counts {
	size_t events, orphans; /* of the trace; what the GPU did for no recorded call */
	size_t looks;           /* at calls and marks, to find the one that belongs to another */
};
/* path: for messages. NULL after an error (in diag). */
const struct recorded_calls *kineto_read(struct arena *arena, struct diag *diag, FILE *in,
					 const char *path, struct kineto_counts *counts);

#endif
