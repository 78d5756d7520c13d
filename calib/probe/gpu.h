/* SPDX-License-Identifier: Apache-2.0 */
/* What the probes ask of a GPU, and all they know of it.
 *
 * A device is a table of functions. gpu_cuda.cu is the real one; gpu_fake.c one
 * with planted parameters and a clock of its own, for testing that what was
 * planted is found; the same on the real clock is "spin", which stands in for a
 * GPU where forwarding is measured and there is none. A forwarded device
 * (forward.h) is one more: its calls go to a second process.
 *
 * A CALL is what a program would ask of CUDA, one struct for all of them, so that
 * it can be timed, repeated and forwarded alike. Work goes to STREAMS 0 ..
 * GPU_STREAMS-1, which exist; EVENTS, too. A BLOCKER is a kernel that keeps a
 * stream waiting until it is released: what is queued behind it runs without the
 * host in its way. It gives up after its timeout, whatever happens, as each wait
 * of the host does.
 */
#ifndef FARWIRE_CALIB_PROBE_GPU_H
#define FARWIRE_CALIB_PROBE_GPU_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GPU_STREAMS     129
#define GPU_EVENTS      160
#define GPU_EVENT_PLAIN 80   /* events from here on take no time stamps */
#define GPU_SLOTS       256  /* of time stamps */
#define GPU_WAIT_S      20.0 /* the longest wait of the host for the GPU */
#define GPU_ARGUMENT    4096 /* the most bytes of a kernel's arguments */

enum gpu_code {
	GPU_OK = 0,
	GPU_ENOUGH = -1, /* SAMPLER_NO_MORE: it can be measured only so often */
	GPU_WAIVED = 1,  /* this machine cannot do that: gpu->why */
	GPU_FAILED = 2,  /* an error or a timeout: gpu->why; the device is lost */
};

enum gpu_call_kind {
	GPU_GET, /* cudaGetDevice */
	GPU_LAUNCH,
	GPU_FIRST_LAUNCH, /* of a kernel that never ran in this process */
	GPU_STAMP,        /* launches a kernel that stamps its start and end: `slot` */
	GPU_COPY,
	GPU_MEMSET,
	GPU_RECORD,
	GPU_QUERY, /* the event */
	GPU_WAIT_EVENT,
	GPU_SYNC, /* the stream */
	GPU_MALLOC,
	GPU_FREE, /* what GPU_MALLOC gave */
	GPU_MALLOC_ASYNC,
	GPU_FREE_ASYNC,
	GPU_CREATE_STREAM,
	GPU_DESTROY_STREAM,
	GPU_CREATE_EVENT,
	GPU_DESTROY_EVENT,
	GPU_GRAPH, /* what graph_make() made */
	GPU_WORK,  /* what work_make() made */
	GPU_CALL_KINDS,
};

enum gpu_direction { GPU_H2D, GPU_D2H, GPU_D2D, GPU_PEER };

struct gpu_call {
	enum gpu_call_kind kind;
	int stream, event, slot;
	double spin_s;     /* the kernel's time; 0: it does nothing */
	size_t argument_B; /* of a launch */
	size_t size_B;     /* of a copy, memset, allocation */
	enum gpu_direction direction;
	bool pageable, async; /* copies */
};

enum gpu_work_kind {
	GPU_GEMM,        /* m x n x k, random data */
	GPU_ELEMENTWISE, /* y = a x + y; bytes_B in all, read and written, as below */
	GPU_ROW_REDUCE,  /* rows of 1024 numbers */
	GPU_STREAM_COPY,
	GPU_STREAM_TRIAD,
	GPU_REDUCE_ADD,
};
struct gpu_work {
	enum gpu_work_kind kind;
	const char *type; /* of a GEMM: "fp32", "tf32", "fp16", "bf16" */
	size_t m, n, k;
	size_t bytes_B;
	size_t repeats; /* one GPU_WORK call does it so often */
	bool as_graph;  /* ... launched at once as a graph */
};

struct gpu_collective {
	const char *collective; /* all_reduce, all_gather, reduce_scatter, broadcast */
	size_t size_B, ranks, repeats;
};

enum gpu_wait { GPU_WAIT_SPIN, GPU_WAIT_YIELD, GPU_WAIT_BLOCK };

struct gpu_facts {
	char name[96], driver[32], cuda[16], compute[8], throttle[96];
	double multiprocessors_count, memory_B, l2_B, clock_Hz;
	double pcie_generation, pcie_width; /* 0: not known */
	double gpus_count;                  /* of the machine */
	bool peer_direct; /* the other GPU's memory is reached, not staged through the host */
};

struct gpu;
struct gpu_options {
	const char *parameters; /* file of planted parameters, or NULL */
	int index;              /* which GPU */
	size_t buffer_B;        /* the largest copy; 0: the device chooses */
};

struct gpu_api {
	const char *name, *help;
	/* GPU_OK, GPU_WAIVED where there is no such device, GPU_FAILED; `why` has
	 * room for GPU_WHY bytes. */
	int (*open)(const struct gpu_options *options, struct gpu **gpu, char *why);
	void (*close)(struct gpu *gpu);
	void (*describe)(struct gpu *gpu, struct gpu_facts *facts);
	double (*now_s)(struct gpu *gpu); /* the host's clock */
	int (*call)(struct gpu *gpu, const struct gpu_call *call);
	int (*block)(struct gpu *gpu, int stream, double timeout_s);
	int (*release)(struct gpu *gpu);
	int (*finish)(struct gpu *gpu); /* waits until all streams are empty */
	int (*elapsed)(struct gpu *gpu, int from_event, int to_event, double *time_s);
	/* When a stamping kernel began and ended, on the host's clock as of the last
	 * sync_clocks(), which tells by how much the clocks ran apart since. */
	int (*stamps)(struct gpu *gpu, int slot, double *begin_s, double *end_s);
	int (*sync_clocks)(struct gpu *gpu, double *change_s);
	int (*timer_step)(struct gpu *gpu, double *step_s); /* the GPU's timer's */
	int (*wait_mode)(struct gpu *gpu, enum gpu_wait mode);
	int (*graph_make)(struct gpu *gpu, size_t nodes_count);
	int (*work_make)(struct gpu *gpu, const struct gpu_work *work);
	int (*collective)(struct gpu *gpu, const struct gpu_collective *what, double *time_s);
};

#define GPU_WHY 200
struct gpu { /* the start of each device's own struct */
	const struct gpu_api *api;
	char why[GPU_WHY];
};

/* The devices of this program, its own first, up to one that is NULL. */
extern const struct gpu_api *const gpu_devices[];
extern const struct gpu_api gpu_cuda, gpu_fake, gpu_spin;

#ifdef __cplusplus
}
#endif
#endif
