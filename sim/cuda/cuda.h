/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CUDA calls of a program, and the PORT that answers them: the local driver or the client of
 * a remoting runtime (sim/remoting).
 *
 * program.h describes the calls of one step. The player (sim/workload/player.h) makes them on a
 * port, step after step.
 */
#pragma once

#include "sim/base/param.h"
#include "sim/gpu/gpu.h"
#include "sim/host/host.h"

enum call_kind {                  /* one row each in cuda_call_kinds.def, in this order */
		 CALL_LAUNCH,     /* kernel launch */
		 CALL_LIBRARY,    /* cuDNN or cuBLAS call without GPU work (a descriptor, a size) */
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
		 CALL_GET_DEVICE, /* get the device, push a launch configuration */
		 CALL_SET_DEVICE,
		 CALL_GET_LAST_ERROR,
		 CALL_IS_CAPTURING,   /* ask whether a stream records a CUDA graph */
		 CALL_GET_ATTRIBUTE,  /* constant properties of a device, kernel or stream; a client
					 can cache the answer */
		 CALL_GET_VALUE,      /* a value that changes or depends on the arguments: free
					 memory, elapsed time, the size of a workspace */
		 CALL_CREATE_HANDLE,  /* create a stream, event or descriptor; a client can return
					 its own handle before the server has created it */
		 CALL_CREATE_CONTEXT, /* make the context of a process on a GPU */
		 /* collectives of payload_B with the GPUs of communicator `peer` */
		 CALL_ALL_REDUCE,
		 CALL_ALL_GATHER,
		 CALL_REDUCE_SCATTER,
		 CALL_ALL_TO_ALL,
		 CALL_BROADCAST, /* from the first GPU of the communicator */
		 CALL_SEND,      /* sends payload_B to the job's GPU `peer` */
		 CALL_RECEIVE,   /* receives payload_B from the job's GPU `peer` */
		 /* Marks of a data-parallel step, which cost the host nothing (sim/workload/dp.h).
		  * They reach the exchange of gradients through struct cuda_peers. */
		 CALL_STEP_BEGIN, /* the stream waits until the rank may begin its next step */
		 CALL_GRADIENTS,  /* the gradients of hand-over `peer` are computed */
		 CALL_REDUCED,    /* the stream waits until all gradients are reduced */
		 CALL_STEP_END,   /* the kernels of the step have run */
		 CALL_KIND_COUNT,
};
const char *call_kind_name(enum call_kind kind); /* "cudaLaunchKernel" ... */
/* Returns true for collectives, sends and receives. */
static inline bool call_has_peers(enum call_kind kind)
{
	return kind >= CALL_ALL_REDUCE && kind <= CALL_RECEIVE;
}
/* Returns true for the marks of a data-parallel step. */
static inline bool call_is_mark(enum call_kind kind)
{
	return kind >= CALL_STEP_BEGIN && kind <= CALL_STEP_END;
}

/* Where the time of a GPU goes. docs/models/plans.md defines the kinds; a kernel has priority. */
enum gpu_time {
	GPU_COMPUTES, /* a kernel runs */
	GPU_HOST,     /* the GPU has nothing to wait for but the host's calls, or a launch */
	GPU_INPUT,    /* it waits for a copy from or to the host */
	/* it waits for a message or collective that all its ranks have begun */
	GPU_TENSOR,
	GPU_CONTEXT,
	GPU_EXPERT,
	GPU_DATA,
	GPU_PIPELINE,
	GPU_BUBBLE,    /* it waits for another stage to begin a message or a collective */
	GPU_STRAGGLER, /* it waits for another rank of its stage to begin a collective */
	GPU_TIME_COUNT,
};

/* Kernels of one stream that are one operation of the GPU, from the first launch of a run. */
struct run_part {
	double kernels_s; /* without gaps */
	/* Earliest start, behind the begin of the thread's work. before_s of the kernels end before
	 * the launch that decides it, so it is earlier if all kernels take longer, but not earlier
	 * than least_s. */
	double earliest_s, before_s, least_s;
	uint32_t count; /* of kernels */
};

/* Launches on one stream that are played as one or two operations of the GPU (fuse.h). */
struct kernel_run {
	double host_s; /* work of the thread for all launches, at the reference clock */
	struct run_part all, but_last;
	uint32_t calls_count;
};

struct cuda_call {
	enum call_kind kind;
	uint16_t stream;   /* index of the program's streams */
	uint16_t event;    /* index of the program's events */
	float arguments_B; /* marshalled size of the arguments */
	float host_s;      /* work in the driver; 0: as struct driver_params sets it */
	double payload_B;  /* bytes of a copy, collective or message */
	double duration_s; /* duration of the kernel or memset on the GPU */
	bool pageable : 1; /* the host memory of a copy is pageable */
	/* The program's own work before the call includes the time of the call in the local driver,
	 * so a local call returns at once. Only such calls have repeats: the number of further
	 * times that the program makes the same call. */
	bool in_dispatch : 1;
	unsigned repeats : 6;
	bool in_graph : 1; /* kernels of a CUDA graph that an earlier call has launched */
	/* A launch that cuBLAS or cuDNN makes. A shim at the level of the driver sees it as a
	 * launch, one at the level of the libraries as a call of the library. */
	bool by_library : 1;
	bool product : 1; /* a launch that cuBLAS makes */
	bool norm : 1;    /* a norm or a pooling that cuDNN launches */
	bool asked : 1;   /* a product whose questions a remote client has asked */
	/* Sends and receives between two GPUs match if their tags are equal. The tag of a
	 * collective is the number of thread blocks that hold the GPU; 0: as many as the library
	 * takes. */
	uint8_t tag;
	uint8_t exposed; /* collectives and messages: enum gpu_time while the GPU waits for them */
	uint16_t device; /* index of the program's GPUs; the GPU of stream and event */
	/* Other GPU of a send or receive, as index of the job's GPUs; or communicator of a
	 * collective: 0 has all GPUs of the job (sim/workload/group.h). */
	uint32_t peer;
	uint32_t nodes;    /* launch: kernels of the CUDA graph that it launches; 0: one kernel */
	const char *label; /* name of the kernel or op; borrowed, may be NULL */
	/* The call is the last launch of this run, and stands for all of it; NULL: it is one call.
	 * Only the local driver takes such calls. Borrowed. */
	const struct kernel_run *run;
	/* Size of a copy divided by its size after LZ4; 0: unknown. */
	float compressibility;
};

/* Host work of each kind of call in the local driver, at the reference clock. */
struct driver_params {
	double launch_s, copy_s, memset_s, record_s, wait_event_s, query_s, synchronize_s, malloc_s,
		free_s, get_s, create_s, context_s, library_s, graph_s, graph_node_s;
	double sync_wake_s; /* from the end of GPU work to the return of a waiting thread */
};
extern const struct param_table driver_table;

/* The GPU side of one process: its context, streams and events. */
struct cuda_process;

/* Collectives and messages between the GPUs of a job (sim/workload/group.h implements them).
 * member is the index of the calling GPU in the job. */
struct cuda_peers {
	/* Called when the call enters the launch queue, in the order of calls. Returns the call's
	 * ticket. */
	uint64_t (*join)(struct cuda_peers *peers, size_t member, const struct cuda_call *call);
	/* Called when the call is at the head of its stream. A later event calls done when this
	 * GPU's part has ended. Returns where the time is, until then, at which all GPUs had begun;
	 * it is negative before. */
	const int64_t *(*begin)(struct cuda_peers *peers, size_t member, uint64_t ticket,
				const struct cuda_call *call, event_fn *done, void *ctx,
				uint64_t arg);
};

/* For ranks that share a program: their own communicators and members, by the number that a call
 * has. */
struct cuda_renames {
	const uint32_t *communicators, *members;
};
/* Returns cuda_call.peer of a collective or message; renames may be NULL. */
uint32_t cuda_renamed(const struct cuda_renames *renames, const struct cuda_call *call);

struct cuda_process_spec {
	struct arena *arena;
	struct engine *engine;
	struct fabric *fabric;
	struct gpu_context *context;
	struct guest *guest; /* where the driver runs, in the GPU's machine */
	const struct driver_params *driver;
	bool guest_work; /* driver costs are for bare metal; the guest's extra costs are added */
	const struct dma_params *dma;
	uint16_t stream_count, event_count;
	const struct route *to_device, *to_host; /* between the guest's node and the GPU's node */
	struct cuda_peers *peers;           /* NULL: the program has no collectives and messages */
	size_t member;                      /* index of this GPU in the job */
	const struct cuda_renames *renames; /* or NULL */
	/* Track of its waits in timelines; not NULL if cuda_process_times is called. Stream 0 is
	 * that of the kernels. */
	const char *role;
	/* The durations of kernels are multiplied by its value at their launch; NULL: by 1. */
	const double *kernel_ratio;
};
struct cuda_process *cuda_process_new(const struct cuda_process_spec *spec);
struct gpu_context *cuda_process_context(struct cuda_process *process);
struct gpu_stream *cuda_process_stream(struct cuda_process *process, uint16_t index);
/* index must be less than event_count. */
struct gpu_event *cuda_process_event(struct cuda_process *process, uint16_t index);
/* Returns the exposed communication until now: time in which the GPU computed nothing for this
 * process while one of its collectives or messages was under way. */
int64_t cuda_process_exposed_ps(const struct cuda_process *process);

/* Sets the time of each kind until now. */
void cuda_process_times(struct cuda_process *process, int64_t times_ps[GPU_TIME_COUNT]);

/* The result of a call; only queries return CALL_NOT_READY. */
enum call_result { CALL_OK, CALL_NOT_READY };
typedef void call_done_fn(void *ctx, uint64_t arg, enum call_result result);

/* Executes a call in the driver on `core`: the host work, the wait for room in the launch queue,
 * the submission. Calls done when the call returns to the program, always after driver_call has
 * returned. The call is copied, but its label stays borrowed. A copy moves bytes between the GPU
 * and the memory of the process's own host; a remoting server must send them over the network
 * itself. */
void driver_call(struct cuda_process *process, struct cpu *core, const struct cuda_call *call,
		 call_done_fn *done, void *ctx, uint64_t arg);

/* Returns the host work of the call, at the reference clock on bare metal. */
double driver_call_work_s(const struct driver_params *params, const struct cuda_call *call);
/* The same with the parameters of the process's driver. */
double cuda_process_work_s(const struct cuda_process *process, const struct cuda_call *call);
/* Returns true if the call returns after its host work, without the GPU. */
bool driver_call_returns(const struct cuda_call *call);

/* Answers the calls of a program. */
struct cuda_port {
	/* Returns the core on which the thread must run. NULL, or a NULL function: the thread may
	 * run on any core of its guest. */
	struct cpu *(*core)(struct cuda_port *port, unsigned thread);
	/* Makes a call of the program's thread `thread`, which runs on `core`. Calls done when the
	 * call returns to the program. */
	void (*call)(struct cuda_port *port, unsigned thread, struct cpu *core,
		     const struct cuda_call *call, call_done_fn *done, void *ctx, uint64_t arg);
};

/* Returns the port that gives each call to the local driver of the process. */
struct cuda_port *cuda_process_port(struct cuda_process *process);
/* Returns one port for a program with several GPUs; each call goes to the port of its device.
 * ports has one port for each device and is borrowed. With one device, its own port is returned. */
struct cuda_port *device_ports_join(struct arena *arena, struct cuda_port *const *ports,
				    size_t device_count);
