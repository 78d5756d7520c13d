/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recorded program: the CUDA calls of one rank or several, and the work of the GPU for them.
 *
 * Recorders (libfarwire-trace, PyTorch's profiler) record the begin and the end of each outermost
 * call of each thread. A correlation number joins a call to the kernel, copy or memset that it
 * started. Between two calls, a thread does the program's own work. A MARK is the begin of a step.
 * Calls before the first mark and after the last one belong to no step.
 *
 * docs/formats.md describes the file. */
#pragma once

#include "sim/base/base.h"

enum recorded_copy { COPY_NONE, COPY_H2D, COPY_D2H, COPY_D2D, COPY_H2H, COPY_P2P, COPY_KIND_COUNT };
enum recorded_memory { MEMORY_UNKNOWN, MEMORY_PINNED, MEMORY_PAGEABLE, MEMORY_KIND_COUNT };
enum recorded_ready { READY_UNKNOWN, READY_NO, READY_YES }; /* the result of a query */

/* Names in files: "h2d", "pinned" and so on; "" for COPY_NONE and MEMORY_UNKNOWN. recorded_find
 * returns the index of a name, and 0 for an unknown one. */
extern const char *const recorded_copies[COPY_KIND_COUNT],
	*const recorded_memories[MEMORY_KIND_COUNT];
uint8_t recorded_find(const char *const *names, uint8_t count, const char *name);

/* Returns the direction of a copy that a text names, such as "Memcpy HtoD (Pinned -> Device)". */
enum recorded_copy recorded_direction(const char *text);

/* Evenly spaced ranks of a job: first, first + stride ... */
struct recorded_group {
	uint32_t first, count, stride; /* count 0: all ranks of the job */
};

struct recorded_call {
	double start_s, end_s;
	double gpu_start_s,
		gpu_s; /* time of the kernel, memset, graph or copy; gpu_s < 0: no GPU work */
	double size_B; /* size of a copy, an allocation, or the larger buffer of a collective */
	const char *function;  /* "cudaLaunchKernel" */
	const char *label;     /* name of the kernel, or NULL */
	int64_t stream, event; /* numbers of the recorder; < 0: unknown */
	uint32_t thread;
	struct recorded_group group; /* ranks of a collective */
	uint32_t peer;               /* other rank of a message */
	uint8_t copy, memory, ready; /* values of the enums above */
	float arguments_B;           /* marshalled size of the arguments; 0: unknown */
	float compressibility;       /* size of a copy before and after LZ4; 0: unknown */
};

struct recorded_mark { /* the beginning of a step */
	double t_s;
	uint32_t step, thread;
};

struct recorded_calls {
	const char *tool, *gpu;      /* "" if unknown */
	double memory_B;             /* maximum of the program's GPU memory; 0: unknown */
	struct recorded_call *calls; /* sorted by thread, then by start */
	size_t call_count;
	struct recorded_mark *marks; /* sorted by time */
	size_t mark_count;
	uint32_t thread_count;
	uint32_t rank, world_count;        /* the recorded rank; ranks of its job, 0: unknown */
	const struct recorded_calls *next; /* another recorded rank of the same job, or NULL */
};

/* Maximum of memory for reading a recording, enough for 20 million calls. */
#define RECORDED_MEMORY_MAX_B ((size_t)8 << 30)
#define RECORDED_TOO_LARGE    "takes more than 8 GiB of memory to read (record fewer steps)"

enum { RECORDED_RANKS_MAX = 1 << 16 }; /* maximum number of ranks of a recorded job */

struct arena;
/* Sorts records, which profilers mostly write in order already. */
void recorded_sort(void *items, size_t count, size_t size_B,
		   int (*compare)(const void *a, const void *b));
/* Settles a recording: sorts it, numbers threads 0, 1 ... in the order of their first calls, and
 * removes calls inside another call of the same thread. GPU work of a removed call becomes work of
 * the outer call. The kernels of a library call add up, because they run one after the other. */
void recorded_calls_settle(struct arena *arena, struct recorded_calls *recorded);
