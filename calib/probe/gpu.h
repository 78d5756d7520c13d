/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between the probes and a GPU.
 *
 * A device is a table of functions. gpu_cuda.cu is the real device. tests/fake_gpu has
 * devices that replace a GPU in tests, and tests/forwarding one that forwards its calls to a second
 * process.
 *
 * One struct describes every CUDA call, so that all calls are timed, repeated and forwarded in the
 * same way. Streams 0 .. GPU_STREAMS-1 and the events always exist. A blocker is a kernel that
 * holds a stream until it is released, so that the work queued behind it runs without the host's
 * influence. It always ends after its timeout. Each wait of the host has a limit as well.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPU_STREAMS     129
#define GPU_EVENTS      160
#define GPU_EVENT_PLAIN 80   /* events from this index on have no time stamps */
#define GPU_SLOTS       256  /* number of time stamps */
#define GPU_WAIT_S      20.0 /* longest wait of the host for the GPU */
#define GPU_ARGUMENT    4096 /* maximum bytes of a kernel's arguments */

enum gpu_code {
	GPU_OK = 0,
	GPU_WAIVED = 1, /* not supported on this machine; gpu->why has the reason */
	/* an error or a timeout; gpu->why has the reason, and the device is unusable */
	GPU_FAILED = 2,
};
/* The next call of a sequence. It is made only if all calls before it returned GPU_OK. */
#define GPU_THEN(code, call) ((code) = (code) == GPU_OK ? (call) : (code))

enum gpu_call_kind {
	GPU_GET, /* cudaGetDevice */
	GPU_LAUNCH,
	GPU_STAMP, /* launches a kernel that stores its start and end in `slot` */
	GPU_COPY,
	GPU_MEMSET,
	GPU_RECORD,
	GPU_QUERY, /* queries the event */
	GPU_WAIT_EVENT,
	GPU_SYNC, /* synchronises the stream */
	GPU_MALLOC,
	GPU_FREE, /* frees the memory of the last GPU_MALLOC */
	GPU_CREATE_EVENT,
	GPU_DESTROY_EVENT,
	GPU_GRAPH, /* launches the graph of graph_make() */
	GPU_WORK,  /* runs the work of work_make() */
	GPU_CALL_KINDS,
};

enum gpu_direction { GPU_H2D, GPU_D2H };

struct gpu_call {
	enum gpu_call_kind kind;
	int stream, event, slot;
	double spin_s;     /* duration of the kernel; 0: an empty kernel */
	size_t argument_B; /* only for launches */
	size_t size_B;     /* for copies, memsets and allocations */
	enum gpu_direction direction;
	bool pageable, async; /* only for copies */
};

enum gpu_work_kind {
	GPU_GEMM,        /* m x n x k, random data */
	GPU_STREAM_COPY, /* bytes_B counts all bytes read and written, also below */
	GPU_STREAM_TRIAD,
};
struct gpu_work {
	enum gpu_work_kind kind;
	const char *type; /* GEMM only: "fp32", "tf32", "fp16", "bf16", "fp8" */
	size_t m, n, k;
	size_t bytes_B;
	size_t repeats; /* number of repetitions in one GPU_WORK call */
	bool as_graph;  /* launched as one graph */
};

struct gpu_facts {
	char name[96], driver[32], cuda[16], compute[8], throttle[96];
	double multiprocessors_count, memory_B, l2_B, clock_Hz;
	double pcie_generation, pcie_width; /* 0: unknown */
	double gpus_count;                  /* number of GPUs in the machine */
};

struct probe_gpu;
struct gpu_options {
	int index;       /* index of the GPU */
	size_t buffer_B; /* the largest copy; 0: the device chooses */
};

struct gpu_api {
	/* Returns GPU_OK, GPU_WAIVED if there is no such device, or GPU_FAILED. `why` has room for
	 * GPU_WHY bytes. */
	int (*open)(const struct gpu_options *options, struct probe_gpu **gpu, char *why);
	void (*close)(struct probe_gpu *gpu);
	void (*describe)(struct probe_gpu *gpu, struct gpu_facts *facts);
	double (*now_s)(struct probe_gpu *gpu); /* the host's clock */
	int (*call)(struct probe_gpu *gpu, const struct gpu_call *call);
	int (*block)(struct probe_gpu *gpu, int stream, double timeout_s);
	int (*release)(struct probe_gpu *gpu);
	int (*finish)(struct probe_gpu *gpu); /* waits until all streams are empty */
	int (*elapsed)(struct probe_gpu *gpu, int from_event, int to_event, double *time_s);
	/* Stores the begin and end of a stamping kernel on the host's clock. The clocks are aligned
	 * as of the last sync_clocks(). */
	int (*stamps)(struct probe_gpu *gpu, int slot, double *begin_s, double *end_s);
	int (*sync_clocks)(struct probe_gpu *gpu);
	int (*graph_make)(struct probe_gpu *gpu, size_t nodes_count);
	int (*work_make)(struct probe_gpu *gpu, const struct gpu_work *work);
};

#define GPU_WHY 200
struct probe_gpu { /* the first member of each device's struct */
	const struct gpu_api *api;
	char why[GPU_WHY];
};

/* Stores why a call cannot be made, and returns the code. */
static inline int gpu_fail(char why[GPU_WHY], int code, const char *text)
{
	snprintf(why, GPU_WHY, "%s", text);
	return code;
}

extern const struct gpu_api gpu_cuda;

/* Fills in driver, PCIe link, clock and throttling from NVML, as far as they are known. NVML is
 * loaded at run time. Clocks, power limits and modes are never changed. */
void nvml_describe(const char *pci_bus, struct gpu_facts *facts);

#ifdef __cplusplus
}
#endif
