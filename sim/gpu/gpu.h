/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU: streams in order, a bounded launch queue, copy engines, a compute
 * engine that tenants share, memory.
 *
 * A CONTEXT is one tenant (a process) on a GPU; it has STREAMS, each a queue
 * of operations done strictly in order: kernels, copies, event records, waits
 * for events. At most queue_depth operations of a context are waiting or
 * running; submitting more waits (gpu_submit says so, and the caller is called
 * back when there is room).
 *
 * The compute engine is a fabric resource of capacity 1 GPU-second a second,
 * and a running kernel a flow of its duration in GPU-seconds, so kernels of
 * different streams and tenants share it fairly; a tenant's fraction caps what
 * its kernels get together: with equal weights, a tenant of fraction 0.25
 * never gets more than a quarter (each context has a resource of that
 * capacity). At most concurrent_kernels of a context run at once.
 * Time slicing between n > 1 busy tenants costs switch_s every slice_s: a
 * kernel's GPU-seconds are multiplied by 1 + switch/slice while more than one
 * tenant has work as it starts.
 *
 * Others take from the compute engine, too: a collective library's kernels hold
 * a part of the multiprocessors as long as they wait for their peers
 * (gpu_reserve_add), and bytes that move through the GPU's memory are
 * GPU-seconds that kernels miss (gpu_memory_traffic).
 */
#ifndef FARWIRE_GPU_GPU_H
#define FARWIRE_GPU_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/param.h"
#include "sim/engine/engine.h"
#include "sim/fabric/fabric.h"

struct arena;
struct gpu;
struct gpu_context;
struct gpu_stream;

struct gpu_params {
	double fp32_flops; /* peak, flop/s */
	double fp16_flops; /* 0: fp16 runs at the fp32 peak */
	double memory_bandwidth_Bps;
	double memory_B;
	double memory_efficiency_ratio; /* of bandwidth that streaming kernels reach */
	double kernel_floor_s;          /* least duration of a kernel */
	double kernel_gap_s;            /* device time between two kernels of a stream */
	double launch_latency_s;        /* least time from submission to start */
	double copy_engines_count;      /* 1: both directions share it; 2: one each */
	double queue_depth_count;       /* operations in flight before a launch blocks */
	double concurrent_kernels_count;
	double multiprocessors_count;
	double slice_s, switch_s; /* time slices of tenants */
	double traffic_lump_s;    /* of others' traffic in its memory, taken from kernels at once */
	double board_ratio;       /* of its speed that it keeps while its board is busy */
};
extern const struct param_table gpu_table;

/* What a kernel has to do, from which its duration follows. */
struct kernel_work {
	double flop;
	double bytes_B; /* of GPU memory, read and written */
};

/* How a network's kernels run on a GPU: at most two fitted numbers. */
struct efficiency_params {
	double peak_ratio;     /* of peak flop/s that a large kernel reaches; can pass
				  1: Winograd convolutions need fewer flops */
	double half_work_flop; /* work of a kernel at which half of that is reached */
};
extern const struct param_table efficiency_table;

/* duration = max(flop / (peak * peak_ratio * w / (w + half_work)),
 *                bytes / (bandwidth * memory_efficiency)) + floor,
 * with w = flop. Zero flop: the bytes decide. The first term is
 * (flop + half_work) / (peak * peak_ratio). */
double kernel_duration_s(const struct gpu_params *gpu, const struct efficiency_params *efficiency,
			 const struct kernel_work *work, bool fp16);

struct gpu *gpu_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		    const char *name, int node, const struct gpu_params *params);
const struct gpu_params *gpu_params(const struct gpu *gpu);
const char *gpu_name(const struct gpu *gpu);
int gpu_node(const struct gpu *gpu);

/* Takes (negative: gives back) a part of the compute engine, beside kernels. At
 * least GPU_COMPUTE_LEFT of it stays, however much is taken. */
#define GPU_COMPUTE_LEFT 0.05
void gpu_reserve_add(struct gpu *gpu, double ratio);
/* What so many thread blocks, each alone on a multiprocessor, hold of it; at most 1. */
double gpu_blocks_ratio(const struct gpu *gpu, double block_count);
/* The power of its board, which its kernels share with those of the board's other
 * GPUs: a resource of GPU-seconds. Before it has contexts. */
void gpu_board_set(struct gpu *gpu, int resource);
/* GPU-seconds that size_B of traffic in the GPU's memory take from kernels. */
double gpu_traffic_s(const struct gpu *gpu, double size_B);
/* Takes them if kernels run now, from whatever runs when traffic_lump_s of them have
 * come together: traffic comes in many small messages. */
void gpu_traffic_add(struct gpu *gpu, double size_B);
/* At least one kernel runs. */
bool gpu_is_computing(const struct gpu *gpu);

/* fraction in (0, 1]. name is unique on the GPU. */
struct gpu_context *gpu_context_new(struct gpu *gpu, const char *name, double fraction_ratio);
/* Takes or gives back (negative) memory; false when it does not fit: then
 * nothing is taken. A tenant's fraction bounds its memory too. */
bool gpu_memory_take(struct gpu_context *context, double size_B);
double gpu_memory_used_B(const struct gpu *gpu);

struct gpu_stream *gpu_stream_new(struct gpu_context *context, const char *name);

enum gpu_op_kind {
	GPU_OP_KERNEL, /* duration_s */
	GPU_OP_COPY,   /* copy, run by the caller: see start; COPY_ON_DEVICE: as a kernel */
	GPU_OP_RECORD, /* event */
	GPU_OP_WAIT,   /* event: the stream waits until it is recorded */
};

/* An event object; all zero at first. */
struct gpu_event {
	uint64_t recorded_count;    /* records submitted */
	uint64_t completed_count;   /* of these, the last one reached by its stream */
	struct gpu_waiter *waiters; /* private */
};

struct gpu_waiter;

enum copy_direction { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE };

struct gpu_op {
	enum gpu_op_kind kind;
	const char *label; /* trace, borrowed */
	double duration_s; /* kernel; COPY_ON_DEVICE too */
	/* A kernel that is a piece of a longer stretch: no launch latency, no gap
	 * before it. */
	bool continued;
	enum copy_direction direction;
	/* Copies over a link: when the copy engine is free and it is the
	 * stream's turn, start(start_ctx, start_arg, stream) is called; whoever
	 * provides it moves the bytes and calls gpu_copy_finished(stream) by a
	 * later event (never from within start). */
	void (*start)(void *ctx, uint64_t arg, struct gpu_stream *stream);
	void *start_ctx;
	uint64_t start_arg;
	struct gpu_event *event;
	event_fn *done; /* may be NULL: when the operation is complete */
	void *ctx;
	uint64_t arg;
};

/* Room for one more operation in the context's launch queue? */
bool gpu_has_room(const struct gpu_context *context);
/* Calls fn once when there is room (by an event of now if there is); waiters
 * are served in order. fn submits before it returns, or has to ask again. */
void gpu_when_room(struct gpu_context *context, event_fn *fn, void *ctx, uint64_t arg);
/* Appends an operation (copied). Asserts gpu_has_room. */
void gpu_submit(struct gpu_stream *stream, const struct gpu_op *op);
/* The stream's running copy is over. */
void gpu_copy_finished(struct gpu_stream *stream);
/* Calls fn once when everything submitted so far to the stream (NULL: to all
 * streams of the context) is complete; by an event of now if it already is. */
void gpu_when_idle(struct gpu_context *context, struct gpu_stream *stream, event_fn *fn, void *ctx,
		   uint64_t arg);
bool gpu_stream_idle(const struct gpu_stream *stream);
/* The same of all streams of the context. */
bool gpu_context_idle(const struct gpu_context *context);
/* Calls fn when the event's completed_count reaches count. */
void gpu_when_event(struct gpu_context *context, struct gpu_event *event, uint64_t count,
		    event_fn *fn, void *ctx, uint64_t arg);

/* Seconds in which at least one kernel ran, up to now (nvidia-smi's meaning of
 * utilisation), of the GPU and of one tenant. */
double gpu_busy_s(struct gpu *gpu);
double gpu_context_busy_s(struct gpu_context *context);
/* exported: tests count the kernels that ran */
uint64_t gpu_kernels_count(const struct gpu_context *context);
/* The durations of the tenant's kernels, added up, whatever the sharing has made
 * of them; running ones as far as they have come. */
int64_t gpu_context_work_ps(struct gpu_context *context);

#endif
