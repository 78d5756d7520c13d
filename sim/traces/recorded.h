/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recorded program: its CUDA calls, and the work of the GPU for them.
 *
 * Recorders (libfarwire-trace, PyTorch's profiler) see the outermost calls of each thread with
 * their begin and end. A correlation number joins them with the kernel, copy or memset that a
 * call started. The time between two calls of a thread is the program's own time. MARKS say
 * where steps begin. Calls before the first and after the last mark belong to no step.
 *
 * docs/formats.md describes the file. */
#ifndef FARWIRE_TRACES_RECORDED_H
#define FARWIRE_TRACES_RECORDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum recorded_copy { COPY_NONE, COPY_H2D, COPY_D2H, COPY_D2D, COPY_H2H, COPY_P2P, COPY_KIND_COUNT };
enum recorded_memory { MEMORY_UNKNOWN, MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_KIND_COUNT };
enum recorded_ready { READY_UNKNOWN, READY_NO, READY_YES }; /* what a query said */

/* The names in files: "h2d" ..., "pinned" ...; NULL of COPY_NONE, MEMORY_UNKNOWN. */
const char *recorded_copy_name(enum recorded_copy copy);
const char *recorded_memory_name(enum recorded_memory memory);
enum recorded_copy recorded_copy_find(const char *name); /* or COPY_NONE */
enum recorded_memory recorded_memory_find(const char *name);

struct recorded_call {
	double start_s, end_s;
	double gpu_start_s, gpu_s; /* of the kernel, memset, graph or copy; gpu_s < 0: none */
	double size_B;             /* of copies and allocations */
	const char *function;      /* "cudaLaunchKernel" */
	const char *label;         /* of the kernel; NULL: none */
	int64_t stream, event;     /* as the recorder numbered them; < 0: not known */
	uint32_t thread;
	uint8_t copy, memory, ready; /* the enums above */
};

struct recorded_mark { /* a step begins */
	double t_s;
	uint32_t step, thread;
};

struct recorded_calls {
	const char *tool, *gpu;      /* "" where the file does not say */
	double memory_B;             /* most GPU memory that the program held; 0: not known */
	struct recorded_call *calls; /* sorted by thread, then by start */
	size_t call_count;
	struct recorded_mark *marks; /* sorted by time */
	size_t mark_count;
	uint32_t thread_count;
};

/* The memory that reading one may take: of 20 million calls. */
#define RECORDED_MEMORY_MAX_B ((size_t)8 << 30)
#define RECORDED_TOO_LARGE    "takes more than 8 GiB of memory to read (record fewer steps)"

/* Sorts, and leaves out calls that lie inside another one of their thread: what
 * such a call did on the GPU is its outer call's. Numbers threads 0, 1 ... in the order
 * of their first call. */
struct arena;
void recorded_calls_settle(struct arena *arena, struct recorded_calls *recorded);

#endif
