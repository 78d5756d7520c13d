/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/gpu/gpu.h"
#include "sim/engine/trace.h"
#include "sim/gpu/internal.h"

static const char *const generation_names[] = {
#define GENERATION(id, key, ...) #key,
#include "sim/gpu/generations.def"
	NULL};

static const char *const sharing_names[] = {"time_slices", "mps", "mig", NULL};
static const struct param_row gpu_rows[] = {
	PARAM_NUMBER(struct gpu_params, fp32_flops, QUANTITY_FLOP_RATE, 1e6, 1e18, NULL,
		     "peak single-precision rate", "the GPU's data sheet"),
	PARAM_NUMBER(struct gpu_params, fp16_flops, QUANTITY_FLOP_RATE, 0, 1e18, "0 TFLOPS",
		     "peak half-precision rate, with tensor cores; 0 means the fp32 peak rate",
		     "assumption: the files of GPUs with fast half precision give this rate"),
	PARAM_NUMBER(struct gpu_params, tf32_flops, QUANTITY_FLOP_RATE, 0, 1e18, "0 TFLOPS",
		     "peak TF32 rate of the tensor cores, without sparsity; 0 means none",
		     "assumption: the files of GPUs with TF32 (Ampere and later) give this rate"),
	PARAM_NUMBER(
		struct gpu_params, bf16_flops, QUANTITY_FLOP_RATE, 0, 1e18, "0 TFLOPS",
		"peak bfloat16 rate of the tensor cores, without sparsity; 0 means the fp32 "
		"peak rate",
		"assumption: the files of GPUs with bfloat16 (Ampere and later) give this rate"),
	PARAM_NUMBER(
		struct gpu_params, fp8_flops, QUANTITY_FLOP_RATE, 0, 1e18, "0 TFLOPS",
		"peak FP8 rate of the tensor cores, without sparsity; 0 means none",
		"assumption: the files of GPUs with FP8 (Ada, Hopper and later) give this rate"),
	PARAM_NUMBER(struct gpu_params, int8_flops, QUANTITY_FLOP_RATE, 0, 1e18, "0 TFLOPS",
		     "peak INT8 rate of the tensor cores, without sparsity; 0 means none",
		     "assumption: the files of GPUs for which it was read give this rate"),
	PARAM_NUMBER(struct gpu_params, fp4_flops, QUANTITY_FLOP_RATE, 0, 1e18, "0 TFLOPS",
		     "peak FP4 rate of the tensor cores, without sparsity; 0 means none",
		     "assumption: the files of GPUs with FP4 (Blackwell) give this rate"),
	PARAM_NUMBER(struct gpu_params, cache_B, QUANTITY_BYTES, 0, 1e12, "0 B",
		     "size of the L2 cache, where a benchmark finds the weights of its last run; 0 "
		     "means none",
		     "the data sheets of GPUs with GDDR; on GPUs with HBM benchmarks show no gain"),
	PARAM_CHOICE(struct gpu_params, generation, generation_names, "volta",
		     "generation of the GPU, whose kernel constants it uses",
		     "assumption: Volta, as for the number of SMs, if the GPU's file does not say"),
	PARAM_NUMBER(struct gpu_params, boost_clock_Hz, QUANTITY_FREQUENCY, 0, 1e10, "0 GHz",
		     "highest clock of the SMs, for checks of the other values; 0 means unknown",
		     "the GPU's data sheet"),
	PARAM_NUMBER(struct gpu_params, power_W, QUANTITY_POWER, 0, 1e5, "0 W",
		     "power limit of the board; 0 means enough for its boost clock",
		     "the GPU's data sheet"),
	PARAM_WHOLE(struct gpu_params, memory_bus_count, 0, 1e5, "0",
		    "width of the memory bus in bits, for checks of the memory bandwidth; 0 means "
		    "unknown",
		    "the GPU's data sheet"),
	PARAM_NUMBER(struct gpu_params, memory_bandwidth_Bps, QUANTITY_RATE, 1e6, 1e15, NULL,
		     "peak bandwidth of the GPU's memory", "the GPU's data sheet"),
	PARAM_NUMBER(struct gpu_params, memory_B, QUANTITY_BYTES, 1, 1e15, NULL,
		     "size of the GPU's memory", "the GPU's data sheet"),
	PARAM_BOOL(
		struct gpu_params, peer_access, "true",
		"whether the driver lets other GPUs access the GPU's memory over PCIe; NVLink "
		"always allows it",
		"CUDA C++ Programming Guide, peer-to-peer memory access; the files of GPUs whose "
		"driver refuses it say so"),
	COST_SOURCED(
		struct gpu_params, memory_efficiency_ratio, QUANTITY_RATIO, 0.01, 1, "0.8",
		"memory efficiency: part of the peak memory bandwidth that streaming kernels reach",
		"BabelStream (Deakin et al. 2018): about 70 % (K80, P100) to 90 % (V100) of "
		"the data sheet's bandwidth"),
	COST_SOURCED(struct gpu_params, clock_spread_ratio, QUANTITY_RATIO, 0, 0.1, "0.015",
		     "standard deviation of the clock under load among GPUs of one kind; the GPUs "
		     "of a job "
		     "wait for the slowest one",
		     "Sinha et al., SC 2022, arXiv:2208.11035, abstract: GPUs of one kind differ "
		     "by 8 % on average, and by 22 % at most; assumption: that is the distance "
		     "between whiskers, 5.4 standard deviations"),
	COST_ASSUMED(struct gpu_params, kernel_floor_s, QUANTITY_TIME, 0, 1, "2 us",
		     "kernel floor: time added to every kernel to start and drain its blocks",
		     "assumption: profilers show about 2 us for empty kernels"),
	COST_SOURCED(
		struct gpu_params, kernel_gap_s, QUANTITY_TIME, 0, 1, "1 us",
		"kernel gap: time from the end of an operation to the next kernel of its stream",
		"NVIDIA blog 'Getting Started with CUDA Graphs' (2019; figures from memory), "
		"V100: 3.8 us from kernel to kernel, with 2.9 us of execution"),
	COST_SOURCED(struct gpu_params, launch_latency_s, QUANTITY_TIME, 0, 1, "2.5 us",
		     "launch latency: minimum time from the submission of a kernel to its start",
		     "the CUDA Graphs post (see kernel_gap): 9.6 us for launch, a kernel of 2.9 us "
		     "and synchronisation; the rest after the host's part (about 3 us to launch, 1 "
		     "us to wake)"),
	PARAM_WHOLE(struct gpu_params, copy_engines_count, 1, 2, "2",
		    "number of copy engines; both directions share a single one, and of two each "
		    "direction has its own",
		    "deviceQuery on Pascal and later: 2 or more copy engines"),
	PARAM_WHOLE(struct gpu_params, queue_depth_count, 1, 1e9, "1024",
		    "operations in flight at which a launch blocks",
		    "stackoverflow.com/questions/53970187: launches block after about 1000"),
	PARAM_WHOLE(struct gpu_params, concurrent_kernels_count, 1, 1024, "128",
		    "maximum number of concurrent kernels of one process",
		    "CUDA C++ Programming Guide, maximum number of resident grids per device: "
		    "mostly 128, on some 32"),
	PARAM_WHOLE(struct gpu_params, multiprocessors_count, 1, 1e6, "80",
		    "number of SMs, to which thread blocks are assigned",
		    "assumption: 80, as on a V100, if the GPU's file does not say"),
	PARAM_CHOICE(struct gpu_params, sharing, sharing_names, "time_slices",
		     "how kernels of several processes share the GPU: in turn (time_slices), at "
		     "the same time (mps), or on parts of their own (mig)"),
	PARAM_NUMBER(struct gpu_params, slice_s, QUANTITY_TIME, 1e-6, 10, "2 ms",
		     "time slice of a tenant while other tenants are busy",
		     "NVIDIA vGPU software user guide: 2 ms if at most 8 vGPUs share a GPU"),
	COST_ASSUMED(struct gpu_params, switch_s, QUANTITY_TIME, 0, 1, "100 us",
		     "GPU time lost at each switch between tenants",
		     "assumption: saving and restoring registers and shared memory (about 10 MB) "
		     "at memory bandwidth, plus scheduling"),
	PARAM_NUMBER(
		struct gpu_params, traffic_lump_s, QUANTITY_TIME, 0, 1, "10 us",
		"GPU time of memory traffic of messages that is collected before it delays kernels",
		"assumption: a time step of a few kernels, because messages are many and small"),
	COST_ASSUMED(struct gpu_params, board_ratio, QUANTITY_RATIO, 0.1, 1, "1",
		     "board speed ratio: part of its speed that a GPU keeps while the other GPUs "
		     "of its board compute",
		     "assumption: a board with one GPU shares its power with no other GPU"),
};
const struct param_table gpu_table = PARAM_TABLE("gpu", struct gpu_params, gpu_rows);

const char *gpu_generation_name(enum gpu_generation generation)
{
	return generation_names[generation];
}

struct gpu *gpu_new(struct arena *arena, struct engine *engine, struct fabric *fabric,
		    const char *name, int node, const struct gpu_params *params)
{
	struct gpu *gpu = ARENA_NEW(arena, struct gpu);
	gpu->arena = arena;
	gpu->engine = engine;
	gpu->fabric = fabric;
	gpu->name = arena_strdup(arena, name);
	gpu->node = node;
	gpu->params = params;
	gpu->compute = fabric_resource_add(fabric, arena_printf(arena, "%s.compute", gpu->name), 1);
	gpu->board = -1;
	gpu->launch_latency_ps = ps_from_s(params->launch_latency_s);
	gpu->kernel_gap_ps = ps_from_s(params->kernel_gap_s);
	FW_ASSERT(params->slice_s > 0);
	/* MPS "eliminates the overhead of swapping when the GPU is scheduling between clients"
	 * (docs.nvidia.com/deploy/mps, When to Use MPS), and instances of MIG have SMs of their
	 * own (docs.nvidia.com/datacenter/tesla/mig-user-guide, Concepts). */
	gpu->slicing_ratio =
		params->sharing == SHARING_TIME_SLICES ? 1 + params->switch_s / params->slice_s : 1;
	return gpu;
}

const struct gpu_params *gpu_params(const struct gpu *gpu)
{
	return gpu->params;
}

const char *gpu_name(const struct gpu *gpu)
{
	return gpu->name;
}

int gpu_node(const struct gpu *gpu)
{
	return gpu->node;
}

void gpu_board_set(struct gpu *gpu, int resource)
{
	FW_ASSERT(gpu->context_count == 0);
	gpu->board = resource;
}

void gpu_reserve_add(struct gpu *gpu, double ratio)
{
	gpu->reserved_ratio += ratio;
	if (fabs(gpu->reserved_ratio) < 1e-9) /* sums of ratios are rounded */
		gpu->reserved_ratio = 0;
	FW_ASSERT(gpu->reserved_ratio >= 0);
	fabric_capacity_set(gpu->fabric, gpu->compute,
			    fmax(GPU_COMPUTE_LEFT, 1 - gpu->reserved_ratio));
}

double gpu_blocks_ratio(const struct gpu *gpu, double block_count)
{
	return fmin(1, block_count / gpu->params->multiprocessors_count);
}

double gpu_traffic_s(const struct gpu *gpu, double size_B)
{
	return size_B / (gpu->params->memory_bandwidth_Bps * gpu->params->memory_efficiency_ratio);
}

void gpu_traffic_add(struct gpu *gpu, double size_B)
{
	struct flow_spec flow = {.use_count = 1};
	if (!gpu_is_computing(gpu))
		return;
	gpu->traffic_s += gpu_traffic_s(gpu, size_B);
	if (gpu->traffic_s < gpu->params->traffic_lump_s)
		return;
	flow.size = gpu->traffic_s;
	flow.uses[0] = (struct flow_use){gpu->compute, 1};
	gpu->traffic_s = 0;
	fabric_flow_start(gpu->fabric, &flow);
}

bool gpu_is_computing(const struct gpu *gpu)
{
	return gpu->busy.running_count > 0;
}

struct gpu_context *gpu_context_new(struct gpu *gpu, const char *name, double fraction_ratio)
{
	struct gpu_context *context = ARENA_NEW(gpu->arena, struct gpu_context);
	FW_ASSERT(fraction_ratio > 0 && fraction_ratio <= 1);
	FW_ASSERT(gpu->params->queue_depth_count >= 1);
	FW_ASSERT(gpu->params->concurrent_kernels_count >= 1);
	gpu->context_count++;
	context->gpu = gpu;
	context->name = arena_strdup(gpu->arena, name);
	context->share = fabric_resource_add(
		gpu->fabric, arena_printf(gpu->arena, "%s.%s", gpu->name, name), fraction_ratio);
	context->work = fabric_resource_add(
		gpu->fabric, arena_printf(gpu->arena, "%s.%s.work", gpu->name, name), 1);
	context->memory_ratio = fraction_ratio;
	context->queue_depth = (size_t)gpu->params->queue_depth_count;
	context->concurrent_kernels = (size_t)gpu->params->concurrent_kernels_count;
	return context;
}

void gpu_context_memory_set(struct gpu_context *context, double ratio)
{
	FW_ASSERT(ratio > 0 && ratio <= 1);
	context->memory_ratio = ratio;
}

bool gpu_memory_take(struct gpu_context *context, double size_B)
{
	struct gpu *gpu = context->gpu;
	double context_B = context->memory_used_B + size_B;
	double gpu_B = gpu->memory_used_B + size_B;
	if (size_B > 0 && (gpu_B > gpu->params->memory_B ||
			   context_B > context->memory_ratio * gpu->params->memory_B))
		return false;
	FW_ASSERT(context_B >= -1); /* sums of sizes are rounded */
	context->memory_used_B = context_B > 0 ? context_B : 0;
	gpu->memory_used_B = gpu_B > 0 ? gpu_B : 0;
	return true;
}

void busy_clock_begin(struct busy_clock *busy, int64_t now_ps)
{
	if (busy->running_count++ == 0)
		busy->since_ps = now_ps;
}

void busy_clock_end(struct busy_clock *busy, int64_t now_ps)
{
	FW_ASSERT(busy->running_count > 0);
	if (--busy->running_count == 0)
		busy->total_ps += now_ps - busy->since_ps;
}

static int64_t busy_clock_ps(const struct busy_clock *busy, int64_t now_ps)
{
	return busy->total_ps + (busy->running_count > 0 ? now_ps - busy->since_ps : 0);
}

double gpu_busy_s(struct gpu *gpu)
{
	return s_from_ps(busy_clock_ps(&gpu->busy, engine_now_ps(gpu->engine)));
}

int64_t gpu_context_busy_ps(const struct gpu_context *context)
{
	return busy_clock_ps(&context->busy, engine_now_ps(context->gpu->engine));
}

uint64_t gpu_kernels_count(const struct gpu_context *context)
{
	return context->kernels_done_count;
}

int64_t gpu_context_work_ps(struct gpu_context *context)
{
	double running_s = 0;
	if (context->busy.running_count > 0)
		running_s =
			fabric_carried(context->gpu->fabric, context->work) - context->work_done_s;
	return context->work_done_ps + (running_s > 0 ? ps_from_s(running_s) : 0);
}

/* ---- what a context waits for ---- */

enum { WAIT_HOPS_MAX = 16 };

void gpu_context_watch(struct gpu_context *context, event_fn *fn, void *ctx)
{
	context->changed = fn;
	context->changed_ctx = ctx;
}

void gpu_context_span(const struct gpu_context *context, const char *track, const char *name,
		      int64_t start_ps, int64_t end_ps)
{
	struct trace *trace = engine_trace(context->gpu->engine);
	if (trace && end_ps > start_ps)
		trace_span(trace, trace_track(trace, context->gpu->name, track), SPAN_WAIT, name,
			   start_ps, end_ps);
}

bool gpu_context_computes(const struct gpu_context *context)
{
	return context->busy.running_count > 0;
}

/* A stream whose event is complete is about to go on. Without this condition two streams could
 * wait for each other here. */
static const struct gpu_op *stream_waits_for(const struct gpu_stream *stream)
{
	const struct queued_op *head = stream->head;
	for (int hops = 0; head && head->op.kind == GPU_OP_WAIT && hops < WAIT_HOPS_MAX; hops++) {
		if (head->op.event->completed_count >= head->count)
			break;
		head = head->op.event->stream->head;
	}
	return head ? &head->op : NULL;
}

const struct gpu_op *gpu_context_waits_for(const struct gpu_context *context, bool any)
{
	const struct gpu_op *op = stream_waits_for(context->streams);
	for (const struct gpu_stream *each = context->streams; any && !op && each;
	     each = each->next_stream)
		op = stream_waits_for(each);
	return op;
}
