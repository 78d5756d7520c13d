/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of the traces of other tools, which become recorded programs. */
#pragma once

#include "sim/traces/profile.h"

struct diag;

/* Returns the ranks of a file as a list, or NULL after an error, which is in diag. path is used in
 * messages; watch may be NULL. */
typedef const struct recorded_calls *trace_reader(struct arena *arena, struct diag *diag, FILE *in,
						  const char *path,
						  const struct profile_watch *watch,
						  struct profile_counts *counts);

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
trace_reader kineto_read;

/* Reads a recording of Nsight Systems as a recorded program.
 *
 * `nsys export --type sqlite` writes the database. Each process with kernels becomes a rank, in the
 * order of process numbers. These tables are used, if they exist:
 *
 *   - CUPTI_ACTIVITY_KIND_RUNTIME: CUDA calls;
 *   - CUBLAS_EVENTS and CUDNN_EVENTS: calls of libraries, if nsys traced them
 * (--trace=cublas,cudnn). The CUDA calls inside them belong to them;
 *   - CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY and _MEMSET: work of the GPU;
 *   - CUPTI_ACTIVITY_KIND_SYNCHRONIZATION and _CUDA_EVENT: events and streams of calls;
 *   - NVTX_EVENTS: texts such as "step 3", "iteration 3" or "ProfilerStep#3" are steps.
 *
 * nsys does not write the bytes of collectives, so NCCL's kernels take their recorded time. The
 * database is read from path, not from in. */
trace_reader nsys_read;

/* Reads a log of calls, one line each, with their times and bytes (api_log.c). */
trace_reader api_log_read;

/* Reads an execution trace of Chakra (the .et file of one rank) as a recorded program.
 *
 * The file is a sequence of protobuf messages, each behind its length: the metadata, then a node
 * for each operation, with the nodes that it depends on (mlcommons/chakra, et_def.proto). The
 * messages are read here field by field, because fields are few and unknown ones are skipped.
 *
 * The nodes become a graph (chakra.c). The GPU has a stream for kernels, one for collectives, one
 * for sends and one for receives. world_count is the number of ranks of the job; 0: unknown. */
struct recorded_calls *chakra_read(struct arena *arena, struct diag *diag, FILE *in,
				   const char *path, uint32_t world_count,
				   struct profile_counts *counts);
