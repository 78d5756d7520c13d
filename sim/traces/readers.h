/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of the traces and workloads of other tools, which become recorded programs. Each returns
 * NULL after an error, which is in diag. path is used in messages; watch may be NULL. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "sim/traces/profile.h"

struct diag;
struct sqlite3;

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
const struct recorded_calls *kineto_read(struct arena *arena, struct diag *diag, FILE *in,
					 const char *path, const struct profile_watch *watch,
					 struct profile_counts *counts);

/* Reads a recording of Nsight Systems as a recorded program.
 *
 * `nsys export --type sqlite` writes a database, and the tables of `nsys stats` can
 * replace it (nsys_stats_read). Each process with kernels becomes a rank, in the
 * order of process numbers. These tables are used, if they exist:
 *
 *   - CUPTI_ACTIVITY_KIND_RUNTIME: CUDA calls;
 *   - CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY and _MEMSET: work of the GPU;
 *   - CUPTI_ACTIVITY_KIND_SYNCHRONIZATION and _CUDA_EVENT: events and streams of calls;
 *   - NVTX_EVENTS: texts such as "step 3", "iteration 3" or "ProfilerStep#3" are steps.
 *
 * nsys does not write the bytes of collectives, so NCCL's kernels take their recorded time. Returns
 * the ranks as a list. A database is read from path, and tables are read from in. */
const struct recorded_calls *nsys_read(struct arena *arena, struct diag *diag, FILE *in,
				       const char *path, const struct profile_watch *watch,
				       struct profile_counts *counts);

/* Copies the tables of `nsys stats --format csv` to a new database, with the columns that nsys_read
 * uses. Returns false after an error.
 *
 * The reports cuda_api_trace and cuda_gpu_trace list single calls, kernels and copies with
 * correlation numbers. nvtx_pushpop_trace lists ranges. All are in one file, in any order, with
 * other lines between them. Times are in ns unless the title of their column names another unit.
 * nsys rounds the bytes of copies to 1 kB. */
bool nsys_stats_read(struct diag *diag, FILE *in, const char *path, struct sqlite3 *db);

/* Reads an execution trace of Chakra (the .et file of one rank) as a recorded program.
 *
 * The file is a sequence of protobuf messages, each behind its length: the metadata, then a node
 * for each operation, with the nodes that it depends on (mlcommons/chakra, et_def.proto). The
 * messages are read here field by field, because fields are few and unknown ones are skipped.
 *
 * The nodes become a graph (graph.h). The GPU has a stream for kernels, one for collectives, one
 * for sends and one for receives. world_count is the number of ranks of the job; 0: unknown. */
struct recorded_calls *chakra_read(struct arena *arena, struct diag *diag, FILE *in,
				   const char *path, uint32_t world_count,
				   struct profile_counts *counts);

/* Reads workloads of other simulators as recorded programs.
 *
 * Text workloads of ASTRA-sim 1 and SimAI (AICB): line 1 has the parallelism, line 2 the number of
 * layers. Each further line is a layer: its name, a dependency, three passes, and the time of the
 * update. A pass (forward, input gradients, weight gradients) is a computation, a kind of
 * collective and its bytes. Rank 0 is the recorded rank. The order of passes is that of
 * ASTRA-sim (Workload.cc): collectives of weight gradients run beside the backward pass, and the
 * step ends with the updates. Other collectives let the next computation wait.
 *
 * GOAL, the schedules of LogGOPSim: for each rank its sends, receives and computations, and which
 * of them requires which.
 *
 * parts: all-gathers have the bytes of one rank (ASTRA-sim), not of all (SimAI). */
struct recorded_calls *layers_read(struct arena *arena, struct diag *diag, FILE *in,
				   const char *path, bool parts, struct profile_counts *counts);
struct recorded_calls *goal_read(struct arena *arena, struct diag *diag, FILE *in, const char *path,
				 struct profile_counts *counts);
