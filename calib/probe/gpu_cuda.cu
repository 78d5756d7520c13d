/* SPDX-License-Identifier: Apache-2.0 */
/* The real device: opening and closing, blockers, waits with a deadline, the two clocks. */
#include "calib/probe/cuda.cuh"

#include <sched.h>

#include "calib/probe/kernels.cuh"

#define BUFFER_MOST_B  ((size_t)1 << 30)
#define WARM_UP_S      0.5
#define PING_TIMEOUT_S 0.5

static __global__ void block_kernel(const struct mailbox *mailbox, unsigned generation,
				    nanoseconds timeout_ns)
{
	nanoseconds start = gpu_timer();
	while ((int)(mailbox->released - generation) < 0 && gpu_timer() - start < timeout_ns)
		;
}

/* Answers each ping with the time at which the GPU saw it. */
static __global__ void ping_kernel(struct mailbox *mailbox, unsigned first, nanoseconds timeout_ns)
{
	nanoseconds start = gpu_timer();
	for (unsigned i = 0; i < KERNEL_PINGS; i++) {
		while (mailbox->ping != first + i)
			if (gpu_timer() - start > timeout_ns)
				return;
		mailbox->pong_ns = gpu_timer();
		__threadfence_system();
		mailbox->pong = first + i;
	}
}

int cuda_check(struct cuda *cuda, cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return GPU_OK;
	snprintf(cuda->gpu.why, GPU_WHY, "%.60s: %.120s", what, cudaGetErrorString(error));
	cudaGetLastError(); /* clears errors that are not permanent */
	return GPU_FAILED;
}

int cuda_waive(struct cuda *cuda, const char *why)
{
	return gpu_fail(cuda->gpu.why, GPU_WAIVED, why);
}

int cuda_stream(struct cuda *cuda, int index, cudaStream_t *stream)
{
	if (!cuda->streams_made[index]) {
		int code = cuda_check(
			cuda,
			cudaStreamCreateWithFlags(&cuda->streams[index], cudaStreamNonBlocking),
			"cudaStreamCreateWithFlags");
		if (code != GPU_OK)
			return code;
		cuda->streams_made[index] = true;
	}
	cuda->streams_busy[index] = true;
	*stream = cuda->streams[index];
	return GPU_OK;
}

/* ---- waiting ---- */

int cuda_finish(struct cuda *cuda)
{
	double deadline_s = clock_now_s() + GPU_WAIT_S;
	for (int i = 0; i < GPU_STREAMS; i++) {
		cudaError_t state = cudaSuccess;
		while (cuda->streams_busy[i] &&
		       (state = cudaStreamQuery(cuda->streams[i])) == cudaErrorNotReady)
			if (clock_now_s() > deadline_s) {
				snprintf(cuda->gpu.why, GPU_WHY,
					 "the GPU did not finish its work within %.0f s",
					 GPU_WAIT_S);
				return GPU_FAILED;
			}
		if (state != cudaSuccess)
			return cuda_check(cuda, state, "the GPU's work");
		cuda->streams_busy[i] = false;
	}
	return GPU_OK;
}

static int finish(struct probe_gpu *gpu)
{
	return cuda_finish((struct cuda *)gpu);
}

static int block(struct probe_gpu *gpu, int stream, double timeout_s)
{
	struct cuda *cuda = (struct cuda *)gpu;
	cudaStream_t there;
	int code = cuda_stream(cuda, stream, &there);
	if (code != GPU_OK)
		return code;
	block_kernel<<<1, 1, 0, there>>>(cuda->mailbox_there, ++cuda->generation,
					 (nanoseconds)(timeout_s * 1e9));
	return cuda_check(cuda, cudaGetLastError(), "launching a blocker");
}

static int release(struct probe_gpu *gpu)
{
	struct cuda *cuda = (struct cuda *)gpu;
	cuda->mailbox->released = cuda->generation;
	return GPU_OK;
}

/* ---- clocks ---- */

static double now_s(struct probe_gpu *gpu)
{
	(void)gpu;
	return clock_now_s();
}

/* Uses the shortest round trip: the GPU saw the ping in the middle of it. */
static int sync_clocks(struct probe_gpu *gpu)
{
	struct cuda *cuda = (struct cuda *)gpu;
	struct mailbox *mailbox = cuda->mailbox;
	unsigned first = cuda->pings_count + 1;
	double least_s = 1e300, offset_s = cuda->offset_s;
	int code = cuda_finish(cuda);
	if (code != GPU_OK)
		return code;
	cuda->pings_count += KERNEL_PINGS;
	cuda->streams_busy[0] = true;
	ping_kernel<<<1, 1>>>(cuda->mailbox_there, first, (nanoseconds)(PING_TIMEOUT_S * 1e9));
	code = cuda_check(cuda, cudaGetLastError(), "launching the clocks' kernel");
	double deadline_s = clock_now_s() + 2 * PING_TIMEOUT_S;
	for (unsigned i = 0; i < KERNEL_PINGS && code == GPU_OK; i++) {
		double sent_s = clock_now_s(), seen_s;
		mailbox->ping = first + i;
		do {
			seen_s = clock_now_s();
			if (seen_s > deadline_s)
				return gpu_fail(
					cuda->gpu.why, GPU_FAILED,
					"the GPU does not see changes of the host's memory");
		} while (mailbox->pong != first + i);
		/* orders the reads: pong_ns is at least as new as pong */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (seen_s - sent_s < least_s) {
			least_s = seen_s - sent_s;
			offset_s = 0.5 * (sent_s + seen_s) - 1e-9 * (double)mailbox->pong_ns;
		}
	}
	cuda->offset_s = offset_s;
	return code == GPU_OK ? cuda_finish(cuda) : code;
}

static int elapsed(struct probe_gpu *gpu, int from_event, int to_event, double *time_s)
{
	struct cuda *cuda = (struct cuda *)gpu;
	float time_ms = 0;
	int code = cuda_check(
		cuda,
		cudaEventElapsedTime(&time_ms, cuda->events[from_event], cuda->events[to_event]),
		"cudaEventElapsedTime");
	*time_s = 1e-3 * (double)time_ms;
	return code;
}

static int stamps(struct probe_gpu *gpu, int slot, double *begin_s, double *end_s)
{
	struct cuda *cuda = (struct cuda *)gpu;
	struct stamp *stamp = &cuda->stamps[slot];
	int code = cuda_check(cuda,
			      cudaMemcpy(stamp, &cuda->stamps_there[slot], sizeof(*stamp),
					 cudaMemcpyDeviceToHost),
			      "reading time stamps");
	*begin_s = cuda->offset_s + 1e-9 * (double)stamp->begin_ns;
	*end_s = cuda->offset_s + 1e-9 * (double)stamp->end_ns;
	return code;
}

/* ---- opening and closing ---- */

static void describe(struct probe_gpu *gpu, struct gpu_facts *facts)
{
	struct cuda *cuda = (struct cuda *)gpu;
	cudaDeviceProp properties;
	char bus[32] = "";
	int version = 0, clock_kHz = 0;
	memset(facts, 0, sizeof(*facts));
	if (cudaGetDeviceProperties(&properties, cuda->index) != cudaSuccess)
		return;
	cudaRuntimeGetVersion(&version);
	snprintf(facts->name, sizeof(facts->name), "%.90s", properties.name);
	snprintf(facts->cuda, sizeof(facts->cuda), "%d.%d", version / 1000, version % 1000 / 10);
	snprintf(facts->compute, sizeof(facts->compute), "%d.%d", properties.major,
		 properties.minor);
	facts->multiprocessors_count = properties.multiProcessorCount;
	facts->memory_B = (double)properties.totalGlobalMem;
	facts->l2_B = properties.l2CacheSize;
	facts->gpus_count = cuda->gpus_count;
	if (cudaDeviceGetAttribute(&clock_kHz, cudaDevAttrClockRate, cuda->index) == cudaSuccess)
		facts->clock_Hz = 1e3 * clock_kHz;
	if (cudaDeviceGetPCIBusId(bus, sizeof(bus), cuda->index) == cudaSuccess)
		nvml_describe(bus, facts);
	cudaGetLastError();
}

static int open_mailbox(struct cuda *cuda)
{
	void *here = NULL, *there = NULL;
	int code =
		cuda_check(cuda, cudaHostAlloc(&here, sizeof(*cuda->mailbox), cudaHostAllocMapped),
			   "memory that host and GPU share");
	GPU_THEN(code, cuda_check(cuda, cudaHostGetDevicePointer(&there, here, 0),
				  "memory that host and GPU share"));
	if (code != GPU_OK)
		return code;
	memset(here, 0, sizeof(*cuda->mailbox));
	cuda->mailbox = (struct mailbox *)here;
	cuda->mailbox_there = (struct mailbox *)there;
	code = cuda_check(cuda, cudaMalloc(&there, GPU_SLOTS * sizeof(struct stamp)), "cudaMalloc");
	cuda->stamps_there = (struct stamp *)there;
	GPU_THEN(code, cuda_check(cuda,
				  cudaHostAlloc(&here, GPU_SLOTS * sizeof(struct stamp),
						cudaHostAllocDefault),
				  "cudaHostAlloc"));
	cuda->stamps = (struct stamp *)here;
	return code;
}

/* Allocates buffers of the requested size, or smaller ones if memory is short. */
static int open_buffers(struct cuda *cuda, size_t size_B)
{
	if (size_B == 0)
		size_B = BUFFER_MOST_B;
	for (; size_B >= 1 << 20; size_B /= 2) {
		cudaError_t error = cudaMalloc(&cuda->there, size_B);
		if (error == cudaSuccess)
			error = cudaHostAlloc(&cuda->pinned, size_B, cudaHostAllocDefault);
		if (error == cudaSuccess)
			cuda->pageable = malloc(size_B);
		if (cuda->pageable) {
			memset(cuda->pinned, 1, size_B);
			memset(cuda->pageable, 1, size_B);
			cuda->buffer_B = size_B;
			return GPU_OK;
		}
		cudaFree(cuda->there);
		cudaFreeHost(cuda->pinned);
		cuda->there = cuda->pinned = NULL;
		cudaGetLastError();
	}
	return gpu_fail(cuda->gpu.why, GPU_FAILED,
			"there is not enough memory for copies of 1 MiB");
}

static int open_streams(struct cuda *cuda)
{
	cudaStream_t stream;
	int code =
		cuda_check(cuda, cudaStreamCreateWithFlags(&cuda->capture, cudaStreamNonBlocking),
			   "cudaStreamCreateWithFlags");
	cuda->streams_made[0] = true;
	for (int i = 1; i < GPU_STREAMS && code == GPU_OK; i++)
		code = cuda_stream(cuda, i, &stream);
	for (int i = 0; i < GPU_EVENTS && code == GPU_OK; i++) {
		unsigned flags = i < GPU_EVENT_PLAIN ? cudaEventDefault : cudaEventDisableTiming;
		code = cuda_check(cuda, cudaEventCreateWithFlags(&cuda->events[i], flags),
				  "cudaEventCreateWithFlags");
		cuda->events_made[i] = code == GPU_OK;
	}
	return code;
}

/* Makes a memset and a copy in each direction. */
static int move_once(struct cuda *cuda, size_t size_B)
{
	struct gpu_call call;
	memset(&call, 0, sizeof(call));
	call.async = true;
	call.size_B = size_B;
	call.kind = GPU_MEMSET;
	int code = cuda_call(&cuda->gpu, &call);
	call.kind = GPU_COPY;
	for (int direction = GPU_H2D; direction <= GPU_D2H && code == GPU_OK; direction++) {
		call.direction = (enum gpu_direction)direction;
		code = cuda_call(&cuda->gpu, &call);
	}
	return code;
}

/* CUDA loads a kernel at its first launch and may then wait for the GPU. Behind a blocker this wait
 * lasts until the blocker times out. So everything is executed once before measuring. The last work
 * raises the clocks. */
static int warm_up(struct cuda *cuda)
{
	struct gpu_call call;
	memset(&call, 0, sizeof(call));
	int code = GPU_OK;
	for (int kind = 0; kind < 2; kind++) {
		call.kind = kind == 0 ? GPU_LAUNCH : GPU_STAMP;
		for (call.argument_B = 0; call.argument_B <= GPU_ARGUMENT && code == GPU_OK;
		     call.argument_B += 64)
			code = cuda_call(&cuda->gpu, &call);
	}
	for (size_t size_B = 1; size_B <= cuda->buffer_B && code == GPU_OK; size_B *= 2) {
		code = move_once(cuda, size_B);
		if (code == GPU_OK && size_B > 1) /* odd sizes use other kernels */
			code = move_once(cuda, size_B - 1);
	}
	GPU_THEN(code, cuda_finish(cuda));
	GPU_THEN(code, block(&cuda->gpu, 0, WARM_UP_S));
	GPU_THEN(code, cuda_finish(cuda));
	return code;
}

static int open_context(struct cuda *cuda, size_t buffer_B)
{
	int code = cuda_check(cuda, cudaSetDevice(cuda->index), "cudaSetDevice");
	if (code == GPU_OK)
		cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceMapHost);
	GPU_THEN(code, cuda_check(cuda, cudaFree(NULL), "starting CUDA"));
	GPU_THEN(code, open_mailbox(cuda));
	GPU_THEN(code, open_buffers(cuda, buffer_B));
	GPU_THEN(code, open_streams(cuda));
	if (code != GPU_OK)
		return code;
	cudaDeviceGetAttribute(&cuda->multiprocessors_count, cudaDevAttrMultiProcessorCount,
			       cuda->index);
	code = warm_up(cuda);
	return code == GPU_OK ? sync_clocks(&cuda->gpu) : code;
}

static void close_cuda(struct probe_gpu *gpu)
{
	struct cuda *cuda = (struct cuda *)gpu;
	if (cuda->mailbox)
		cuda->mailbox->released = cuda->generation;
	cuda_work_close(cuda);
	for (int i = 1; i < GPU_STREAMS; i++)
		if (cuda->streams_made[i])
			cudaStreamDestroy(cuda->streams[i]);
	for (int i = 0; i < GPU_EVENTS; i++)
		if (cuda->events_made[i])
			cudaEventDestroy(cuda->events[i]);
	if (cuda->capture)
		cudaStreamDestroy(cuda->capture);
	cudaFree(cuda->there);
	cudaFree(cuda->stamps_there);
	cudaFreeHost(cuda->pinned);
	cudaFreeHost(cuda->stamps);
	cudaFreeHost(cuda->mailbox);
	free(cuda->pageable);
	free(cuda);
}

static int open_cuda(const struct gpu_options *options, struct probe_gpu **gpu, char *why)
{
	int gpus_count = 0;
	const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
	cudaError_t error = cudaGetDeviceCount(&gpus_count);
	if (error != cudaSuccess || gpus_count == 0) {
		snprintf(why, GPU_WHY, "no GPU: %.150s",
			 error == cudaSuccess ? "none was found" : cudaGetErrorString(error));
		return GPU_WAIVED;
	}
	if (options->index >= gpus_count) {
		snprintf(why, GPU_WHY, "there is no GPU %d, only %d", options->index, gpus_count);
		return GPU_WAIVED;
	}
	if (blocking && blocking[0] && strcmp(blocking, "0") != 0)
		return gpu_fail(
			why, GPU_FAILED,
			"CUDA_LAUNCH_BLOCKING is set, so launches would wait for their kernels (unset it)");
	struct cuda *cuda = (struct cuda *)calloc(1, sizeof(*cuda));
	if (!cuda)
		return gpu_fail(why, GPU_FAILED, "out of memory");
	cuda->gpu.api = &gpu_cuda;
	cuda->index = options->index;
	cuda->gpus_count = gpus_count;
	int code = open_context(cuda, options->buffer_B);
	if (code == GPU_OK) {
		*gpu = &cuda->gpu;
	} else {
		snprintf(why, GPU_WHY, "%s", cuda->gpu.why);
		close_cuda(&cuda->gpu);
	}
	return code;
}

/* Positional initialisers, because older C++ has no designators. */
const struct gpu_api gpu_cuda = {
	open_cuda, close_cuda, describe, now_s,       cuda_call,       block,         release,
	finish,    elapsed,    stamps,   sync_clocks, cuda_graph_make, cuda_work_make,
};
