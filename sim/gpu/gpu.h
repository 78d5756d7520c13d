/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A GPU: ordered streams, a bounded launch queue, copy engines, a compute engine that tenants
 * share, and memory.
 *
 * A context is one tenant (a process) on a GPU. It has streams. Each stream is a queue of
 * operations that run strictly in order: kernels, copies, event records, waits for events. At most
 * queue_depth operations of a context are waiting or running. When the queue is full, the caller
 * registers with gpu_when_room and is called back when there is room.
 *
 * The compute engine is a fabric resource with a capacity of 1 GPU-second per second. A running
 * kernel is a flow, whose size is its duration in GPU-seconds. So kernels of different streams and
 * tenants share the engine fairly. The fraction of a tenant caps all its kernels together: a tenant
 * of fraction 0.25 never gets more than a quarter, because each context has a resource of that
 * capacity. At most concurrent_kernels of a context run at once. Time slicing between several busy
 * tenants costs switch_s in every slice_s. A kernel that starts while more than one tenant has work
 * takes 1 + switch/slice times as many GPU-seconds. With MPS and MIG nothing is switched.
 *
 * Two other things use the compute engine. Kernels of a collective library occupy a part of the SMs
 * while they wait for their peers (gpu_reserve_add). Bytes that move through the GPU's memory take
 * GPU-seconds from kernels (gpu_traffic_add).
 */
#pragma once

#include "sim/base/base.h"
#include "sim/base/param.h"
#include "sim/engine/engine.h"
#include "sim/fabric/fabric.h"

struct gpu;
struct gpu_context;
struct gpu_stream;

enum gpu_generation {
#define GENERATION(id, ...) GENERATION_##id,
#include "sim/gpu/generations.def"
	GENERATION_COUNT,
};

/* How the kernels of several processes share a GPU. */
enum gpu_sharing { SHARING_TIME_SLICES, SHARING_MPS, SHARING_MIG };

struct gpu_params {
	double fp32_flops, fp16_flops, tf32_flops, bf16_flops, fp8_flops, int8_flops, fp4_flops;
	int generation; /* enum gpu_generation */
	double boost_clock_Hz, power_W, memory_bus_count, memory_bandwidth_Bps, memory_B;
	double cache_B;
	bool peer_access;
	int sharing; /* enum gpu_sharing */
	double memory_efficiency_ratio, clock_spread_ratio, kernel_floor_s, kernel_gap_s,
		launch_latency_s;
	double copy_engines_count, queue_depth_count, concurrent_kernels_count;
	double multiprocessors_count, slice_s, switch_s, traffic_lump_s, board_ratio;
};
extern const struct param_table gpu_table;
const char *gpu_generation_name(enum gpu_generation generation); /* "volta" */

struct gpu *gpu_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		    const char *name, int node, const struct gpu_params *params);
const struct gpu_params *gpu_params(const struct gpu *gpu);
const char *gpu_name(const struct gpu *gpu);
int gpu_node(const struct gpu *gpu);

/* Reserves a part of the compute engine, which kernels then cannot use; a negative ratio returns
 * it. At least GPU_COMPUTE_LEFT of the engine stays available to kernels. */
#define GPU_COMPUTE_LEFT 0.05
void gpu_reserve_add(struct gpu *gpu, double ratio);
/* Returns the part of the GPU's SMs that block_count thread blocks occupy with one block on each
 * SM; at most 1. */
double gpu_blocks_ratio(const struct gpu *gpu, double block_count);
/* Sets the power of the GPU's board as a resource in GPU-seconds, which all GPUs of the board
 * share. Call it before contexts exist. */
void gpu_board_set(struct gpu *gpu, int resource);
/* Returns the GPU-seconds that size_B of traffic in the GPU's memory take from kernels. */
double gpu_traffic_s(const struct gpu *gpu, double size_B);
/* Adds memory traffic. If kernels are running, its GPU-seconds are collected and taken from the
 * running kernels in lumps of traffic_lump_s, because traffic comes in many small messages. */
void gpu_traffic_add(struct gpu *gpu, double size_B);
/* Returns true if at least one kernel is running. */
bool gpu_is_computing(const struct gpu *gpu);

/* Creates a context. fraction is in (0, 1]; name is unique on the GPU. */
struct gpu_context *gpu_context_new(struct gpu *gpu, const char *name, double fraction_ratio);
/* Sets the share of the GPU's memory that the context may use; at first it is the fraction. */
void gpu_context_memory_set(struct gpu_context *context, double ratio);
/* Allocates memory, or frees it if size_B is negative. Returns false and allocates nothing if it
 * does not fit into the context's share. */
bool gpu_memory_take(struct gpu_context *context, double size_B);

struct gpu_stream *gpu_stream_new(struct gpu_context *context, const char *name);

enum gpu_op_kind {
	GPU_OP_KERNEL, /* duration_s */
	/* a copy: the caller moves the bytes (see start); COPY_ON_DEVICE runs as a kernel */
	GPU_OP_COPY,
	GPU_OP_RECORD, /* event */
	GPU_OP_WAIT,   /* event: the stream waits until it is recorded */
	GPU_OP_PEERS,  /* a collective or a message, which the caller carries out: see start */
	GPU_OP_MARK,   /* completes when the stream reaches it, and takes no place */
};

/* An event object. It starts zeroed. */
struct gpu_event {
	uint64_t recorded_count;         /* records submitted */
	uint64_t completed_count;        /* number of the last record that the stream has reached */
	struct gpu_waiter *waiters;      /* private */
	const struct gpu_stream *stream; /* the stream that recorded it last */
	int64_t completed_ps;            /* time at which completed_count rose */
};

struct gpu_waiter;

enum copy_direction { COPY_TO_DEVICE, COPY_TO_HOST, COPY_ON_DEVICE };

struct gpu_op {
	enum gpu_op_kind kind;
	enum copy_direction direction : 8;
	/* The kernel continues a longer sequence: it has no launch latency and no gap. */
	bool continued : 1;
	/* The host launched it before, so it takes no place of the launch queue. */
	bool launched : 1;
	/* A kernel can stand for several of the stream: it has as many gaps and takes as many
	 * places of the launch queue. 0 is 1. */
	unsigned kernels_count : 16;
	const char *label; /* name in the trace, borrowed */
	union {
		double duration_s;       /* kernels and COPY_ON_DEVICE */
		struct gpu_event *event; /* records and waits */
		void *start_ctx;         /* the others */
	};
	union {
		/* Kernels: earliest start, counted from the submission. 0: the launch latency. */
		double earliest_s;
		/* Copies over a link: when the copy engine is free and it is the stream's turn,
		 * start(start_ctx, 0, stream) is called. The module that provides start moves the
		 * bytes and calls gpu_copy_finished(stream) from a later event, never inside
		 * start. GPU_OP_PEERS: start is called when it is the stream's turn, and a later
		 * event calls gpu_peers_finished(stream). */
		void (*start)(void *ctx, uint64_t arg, struct gpu_stream *stream);
	};
	event_fn *done; /* called when the operation is complete; may be NULL */
	void *ctx;
	uint64_t arg;
};

/* Returns true if the context's launch queue has room for one more operation. */
bool gpu_has_room(const struct gpu_context *context);
/* Calls fn once when there is room, in an event of the current time if there is room now. Waiters
 * are served in order. fn must submit before it returns; otherwise it must register again. */
void gpu_when_room(struct gpu_context *context, event_fn *fn, void *ctx, uint64_t arg);
/* Appends a copy of the operation. Asserts gpu_has_room. */
void gpu_submit(struct gpu_stream *stream, const struct gpu_op *op);
/* Adds a kernel to the stream's last operation if that stands for several kernels of the same
 * label, has not begun, and takes longer than the latency of a launch. Returns false otherwise. */
bool gpu_extend(struct gpu_stream *stream, const struct gpu_op *kernel);
/* Calls fn when the stream has completed everything that was submitted so far; at once if it has.
 */
void gpu_mark(struct gpu_stream *stream, event_fn *fn, void *ctx, uint64_t arg);
/* Reports that the stream's running copy has ended. */
void gpu_copy_finished(struct gpu_stream *stream);
/* Reports that the stream's running GPU_OP_PEERS has ended. */
void gpu_peers_finished(struct gpu_stream *stream);
/* Calls fn once when everything submitted so far to the stream is complete; NULL stands for all
 * streams of the context. If it is complete already, fn is called in an event of the current time.
 */
void gpu_when_idle(struct gpu_context *context, struct gpu_stream *stream, event_fn *fn, void *ctx,
		   uint64_t arg);
bool gpu_stream_idle(const struct gpu_stream *stream);
/* Calls fn after each change of a stream of the context, in the same event. */
void gpu_context_watch(struct gpu_context *context, event_fn *fn, void *ctx);
/* Adds a span up to end_ps to the track `name` of the context's GPU, if there is a trace. */
void gpu_context_span(const struct gpu_context *context, const char *track, const char *name,
		      int64_t start_ps, int64_t end_ps);
bool gpu_context_computes(const struct gpu_context *context); /* a kernel runs */
/* Returns the operation for which the context's first stream waits: its head, or, if that waits for
 * an event, the head of the stream that records the event. If the first stream is empty and `any`
 * is set, other streams are asked. NULL: nothing was submitted. */
const struct gpu_op *gpu_context_waits_for(const struct gpu_context *context, bool any);
/* Returns true if all streams of the context are idle. */
bool gpu_context_idle(const struct gpu_context *context);
/* Calls fn when event->completed_count reaches count. */
void gpu_when_event(struct gpu_context *context, struct gpu_event *event, uint64_t count,
		    event_fn *fn, void *ctx, uint64_t arg);

/* Return the seconds up to now in which at least one kernel ran, for the GPU and for one tenant.
 * This is the utilisation that nvidia-smi reports. */
double gpu_busy_s(struct gpu *gpu);
int64_t gpu_context_busy_ps(const struct gpu_context *context);
/* exported: tests count the kernels that ran */
uint64_t gpu_kernels_count(const struct gpu_context *context);
/* Returns the sum of the nominal durations of the tenant's kernels, without slowdown by sharing.
 * A running kernel counts as far as it has progressed. */
int64_t gpu_context_work_ps(struct gpu_context *context);
