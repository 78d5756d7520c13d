/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CUDA calls as a program makes them, and the two ways to answer one: the
 * local driver, or a remoting client (sim/remoting). Both are a CUDA_PORT.
 *
 * A program is a CALL STREAM: threads, each a list of calls made in order,
 * repeated for each training step. The PLAYER (player.h) plays it on a port.
 */
#ifndef FARWIRE_CUDA_CUDA_H
#define FARWIRE_CUDA_CUDA_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/param.h"
#include "sim/gpu/gpu.h"
#include "sim/host/host.h"

enum call_kind {               /* one row each in cuda_call_kinds.def, in this order */
		 CALL_LAUNCH,  /* kernel launch */
		 CALL_LIBRARY, /* a cuDNN/cuBLAS call without GPU work (descriptors, workspace size)
				*/
		 CALL_MEMCPY_H2D, /* synchronous copies */
		 CALL_MEMCPY_D2H,
		 CALL_MEMCPY_H2D_ASYNC,
		 CALL_MEMCPY_D2H_ASYNC,
		 CALL_MEMSET_ASYNC,
		 CALL_EVENT_RECORD,
		 CALL_STREAM_WAIT_EVENT,
		 CALL_EVENT_QUERY,
		 CALL_EVENT_SYNCHRONIZE,
		 CALL_STREAM_QUERY,
		 CALL_STREAM_SYNCHRONIZE,
		 CALL_DEVICE_SYNCHRONIZE,
		 CALL_MALLOC,
		 CALL_FREE,
		 CALL_GET_DEVICE,    /* get/set device, pushed configuration */
		 CALL_GET_ATTRIBUTE, /* properties, memory info: an answer that can be cached */
		 CALL_CREATE_HANDLE, /* stream, event, descriptor creation: shadowable */
		 CALL_KIND_COUNT,
};
const char *call_kind_name(enum call_kind kind); /* "cudaLaunchKernel" ... */

struct cuda_call {
	enum call_kind kind;
	uint16_t stream;   /* index of the program's streams */
	uint16_t event;    /* index of the program's events */
	float arguments_B; /* marshalled size of the arguments */
	float host_s;      /* its work in the driver, where no parameter says; 0: as those say */
	double payload_B;  /* bytes copied; of copies */
	double duration_s; /* of the kernel or memset on the GPU */
	bool pageable;     /* copies */
	const char *label; /* kernel or op name; borrowed, may be NULL */
};

/* Host cost of each kind of call in the local driver, at the reference clock. */
struct driver_params {
	double launch_s, copy_s, memset_s, record_s, wait_event_s, query_s, synchronize_s, malloc_s,
		free_s, get_s, create_s, library_s;
	double sync_wake_s; /* end of GPU work to the waiting thread's return; on its core */
};
extern const struct param_table driver_table;

/* The GPU side of one process: its context, streams and events. */
struct cuda_process;
struct cuda_process_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct gpu_context *context;
	struct guest *guest; /* where the driver runs: the GPU's side */
	const struct driver_params *driver;
	bool guest_work; /* driver says the bare machine's work: its guest's costs come on top */
	const struct dma_params *dma;
	uint16_t stream_count, event_count;
	const struct route *to_device, *to_host; /* guest node <-> gpu node */
};
struct cuda_process *cuda_process_new(const struct cuda_process_spec *spec);
struct gpu_context *cuda_process_context(struct cuda_process *process);
/* The event of that index, < event_count. */
struct gpu_event *cuda_process_event(struct cuda_process *process, uint16_t index);

/* What a call returned. */
enum call_result { CALL_OK, CALL_NOT_READY /* of queries */ };
typedef void call_done_fn(void *ctx, uint64_t arg, enum call_result result);

/* Executes a call in the driver on `core`: the host cost, room in the launch
 * queue, submission; done when the call returns to its caller, never before
 * driver_call itself has returned. The call is copied (label stays borrowed).
 * The bytes of a copy are in, or end in, this host's memory: a server that
 * forwards them sends them on itself. */
void driver_call(struct cuda_process *process, struct cpu *core, const struct cuda_call *call,
		 call_done_fn *done, void *ctx, uint64_t arg);

/* Whoever answers a thread's calls. */
struct cuda_port {
	/* The core on which that thread runs, or NULL (the function too may be
	 * NULL): any of its guest's. */
	struct cpu *(*core)(struct cuda_port *port, unsigned thread);
	/* thread: index of the program's thread; core: where it runs. done is
	 * called when the call returns to the program. */
	void (*call)(struct cuda_port *port, unsigned thread, struct cpu *core,
		     const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg);
};

/* The local driver as a port. */
struct cuda_port *local_port_new(struct arena *arena, struct cuda_process *process);

#endif
