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
		 CALL_ALL_REDUCE,    /* of payload_B, with all GPUs of the job */
		 CALL_SEND,          /* of payload_B to the job's GPU `peer`, */
		 CALL_RECEIVE,       /* ... or from it */
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
	uint16_t device;   /* index of the program's GPUs, whose stream and event are meant */
	uint16_t peer;     /* of a send or receive: index of the job's GPUs */
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

/* Collectives and messages between the GPUs of a job, as processes reach them
 * (sim/workload/group.h). member: which of the job's GPUs. */
struct cuda_peers {
	/* The call enters the queue of its GPU, in the order of calls. Its ticket. */
	uint64_t (*join)(struct cuda_peers *peers, size_t member, const struct cuda_call *call);
	/* It is the turn of the call's stream. done is called by a later event, when this GPU's
	 * part is over. */
	void (*begin)(struct cuda_peers *peers, size_t member, uint64_t ticket,
		      const struct cuda_call *call, event_fn *done, void *ctx, uint64_t arg);
};

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
	struct cuda_peers *peers;                /* NULL: the program calls none */
	size_t member;                           /* which of the job's GPUs this one is */
};
struct cuda_process *cuda_process_new(const struct cuda_process_spec *spec);
struct gpu_context *cuda_process_context(struct cuda_process *process);
/* The event of that index, < event_count. */
struct gpu_event *cuda_process_event(struct cuda_process *process, uint16_t index);
/* Time up to now in which the GPU computed nothing for this process, while a collective or
 * a message of the process was under way. */
double cuda_process_exposed_s(struct cuda_process *process);

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
/* One port for a program that holds several GPUs: a call goes to the port of its device.
 * ports: one for each device; borrowed. With one device it is that device's port. */
struct cuda_port *device_ports_join(struct arena *arena, struct cuda_port *const *ports,
				    size_t device_count);

#endif
