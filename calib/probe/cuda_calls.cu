/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the CUDA device. The code before the call itself is short, because it is measured,
 * too. */
#include "calib/probe/cuda.cuh"

#include <utility>

#include "calib/probe/kernels.cuh"

#define FIRST_LAUNCHES_COUNT 96

/* ---- launches ---- */

/* Kernel arguments of a given size. */
template <int size> struct arguments {
	nanoseconds spin_ns;
	unsigned char rest[size - sizeof(nanoseconds)];
};

template <int size> __global__ void spin_kernel(const arguments<size> arguments)
{
	spin(arguments.spin_ns);
}

static __global__ void stamp_kernel(struct stamp *stamp, nanoseconds spin_ns)
{
	nanoseconds begin = gpu_timer();
	spin(spin_ns);
	stamp->begin_ns = begin;
	stamp->end_ns = gpu_timer();
}

template <int size> static void launch_sized(cudaStream_t stream, nanoseconds spin_ns)
{
	static arguments<size> arguments; /* static, so that it is not cleared in each call */
	arguments.spin_ns = spin_ns;
	spin_kernel<size><<<1, 1, 0, stream>>>(arguments);
}

static int call_launch(struct cuda *cuda, const struct gpu_call *call, cudaStream_t stream)
{
	nanoseconds spin_ns = (nanoseconds)(call->spin_s * 1e9 + 0.5);
	if (call->argument_B == 0 && spin_ns == 0)
		NULL_KERNEL<<<1, 1, 0, stream>>>();
	else if (call->argument_B <= 64)
		launch_sized<64>(stream, spin_ns);
	else if (call->argument_B <= 128)
		launch_sized<128>(stream, spin_ns);
	else if (call->argument_B <= 256)
		launch_sized<256>(stream, spin_ns);
	else if (call->argument_B <= 512)
		launch_sized<512>(stream, spin_ns);
	else if (call->argument_B <= 1024)
		launch_sized<1024>(stream, spin_ns);
	else if (call->argument_B <= 2048)
		launch_sized<2048>(stream, spin_ns);
	else
		launch_sized<4096>(stream, spin_ns);
	return cuda_check(cuda, cudaGetLastError(), "a launch");
}

template <int number> static void launch_first(cudaStream_t stream)
{
	first_kernel<number><<<1, 1, 0, stream>>>();
}

typedef void launcher(cudaStream_t stream);

template <int... numbers>
static launcher *first_launcher(int number, std::integer_sequence<int, numbers...>)
{
	static launcher *const launchers[] = {launch_first<numbers>...};
	return launchers[number];
}

static int call_first_launch(struct cuda *cuda, cudaStream_t stream)
{
	int number = cuda->first_launches_count;
	if (number == FIRST_LAUNCHES_COUNT)
		return GPU_ENOUGH;
	cuda->first_launches_count++;
	first_launcher(number, std::make_integer_sequence<int, FIRST_LAUNCHES_COUNT>())(stream);
	return cuda_check(cuda, cudaGetLastError(), "a first launch");
}

static int call_stamp(struct cuda *cuda, const struct gpu_call *call, cudaStream_t stream)
{
	stamp_kernel<<<1, 1, 0, stream>>>(&cuda->stamps_there[call->slot],
					  (nanoseconds)(call->spin_s * 1e9 + 0.5));
	return cuda_check(cuda, cudaGetLastError(), "a launch");
}

/* ---- memory ---- */

static int call_peer(struct cuda *cuda, const struct gpu_call *call, cudaStream_t stream)
{
	int other = cuda->index == 0 ? 1 : 0, able = 0;
	if (cuda->gpus_count < 2)
		return cuda_waive(cuda, "there is only one GPU, so it has no peer");
	if (!cuda->peer) {
		cudaDeviceCanAccessPeer(&able, cuda->index, other);
		cuda->peer_direct = able && cudaDeviceEnablePeerAccess(other, 0) == cudaSuccess;
		cudaGetLastError();
		cudaSetDevice(other);
		cudaError_t error = cudaMalloc(&cuda->peer, cuda->buffer_B);
		cudaSetDevice(cuda->index);
		if (error != cudaSuccess) {
			cudaGetLastError();
			cuda->peer = NULL;
			return cuda_waive(cuda, "the peer has no free memory");
		}
	}
	return cuda_check(cuda,
			  cudaMemcpyPeerAsync(cuda->peer, other, cuda->there, cuda->index,
					      call->size_B, stream),
			  "cudaMemcpyPeerAsync");
}

static int call_copy(struct cuda *cuda, const struct gpu_call *call, cudaStream_t stream)
{
	void *here = call->pageable ? cuda->pageable : cuda->pinned;
	void *to = cuda->there;
	const void *from = here;
	enum cudaMemcpyKind kind = cudaMemcpyHostToDevice;
	if (call->size_B > cuda->buffer_B)
		return cuda_waive(cuda, "there is not enough memory for copies of that size");
	if (call->direction == GPU_PEER)
		return call_peer(cuda, call, stream);
	if (call->direction == GPU_D2H) {
		to = here;
		from = cuda->there;
		kind = cudaMemcpyDeviceToHost;
	} else if (call->direction == GPU_D2D) {
		from = cuda->there_too;
		kind = cudaMemcpyDeviceToDevice;
	}
	return cuda_check(cuda,
			  call->async ? cudaMemcpyAsync(to, from, call->size_B, kind, stream)
				      : cudaMemcpy(to, from, call->size_B, kind),
			  "a copy");
}

static int call_allocation(struct cuda *cuda, const struct gpu_call *call, cudaStream_t stream)
{
	bool async = call->kind == GPU_MALLOC_ASYNC || call->kind == GPU_FREE_ASYNC;
	if (async && !cuda->pools)
		return cuda_waive(cuda, "this GPU has no memory pools");
	switch (call->kind) {
	case GPU_MALLOC:
		return cuda_check(cuda, cudaMalloc(&cuda->memory, call->size_B), "cudaMalloc");
	case GPU_FREE:
		return cuda_check(cuda, cudaFree(cuda->memory), "cudaFree");
	case GPU_MALLOC_ASYNC:
		return cuda_check(cuda, cudaMallocAsync(&cuda->memory_async, call->size_B, stream),
				  "cudaMallocAsync");
	default:
		return cuda_check(cuda, cudaFreeAsync(cuda->memory_async, stream), "cudaFreeAsync");
	}
}

/* ---- streams and events ---- */

static int call_object(struct cuda *cuda, const struct gpu_call *call)
{
	int device;
	switch (call->kind) {
	case GPU_CREATE_STREAM:
		return cuda_check(
			cuda, cudaStreamCreateWithFlags(&cuda->stream_made, cudaStreamNonBlocking),
			"cudaStreamCreateWithFlags");
	case GPU_DESTROY_STREAM:
		return cuda_check(cuda, cudaStreamDestroy(cuda->stream_made), "cudaStreamDestroy");
	case GPU_CREATE_EVENT:
		return cuda_check(
			cuda, cudaEventCreateWithFlags(&cuda->event_made, cudaEventDisableTiming),
			"cudaEventCreateWithFlags");
	case GPU_DESTROY_EVENT:
		return cuda_check(cuda, cudaEventDestroy(cuda->event_made), "cudaEventDestroy");
	default:
		return cuda_check(cuda, cudaGetDevice(&device), "cudaGetDevice");
	}
}

static int call_query(struct cuda *cuda, const struct gpu_call *call)
{
	cudaError_t state = cudaEventQuery(cuda->events[call->event]);
	return state == cudaErrorNotReady ? GPU_OK : cuda_check(cuda, state, "cudaEventQuery");
}

int cuda_call(struct gpu *gpu, const struct gpu_call *call)
{
	struct cuda *cuda = (struct cuda *)gpu;
	cudaStream_t stream;
	int code = cuda_stream(cuda, call->stream, &stream);
	if (code != GPU_OK)
		return code;
	switch (call->kind) {
	case GPU_LAUNCH:
		return call_launch(cuda, call, stream);
	case GPU_FIRST_LAUNCH:
		return call_first_launch(cuda, stream);
	case GPU_STAMP:
		return call_stamp(cuda, call, stream);
	case GPU_COPY:
		return call_copy(cuda, call, stream);
	case GPU_MEMSET:
		if (call->size_B > cuda->buffer_B)
			return cuda_waive(cuda, "there is not enough memory of that size");
		return cuda_check(cuda, cudaMemsetAsync(cuda->there, 1, call->size_B, stream),
				  "cudaMemsetAsync");
	case GPU_RECORD:
		return cuda_check(cuda, cudaEventRecord(cuda->events[call->event], stream),
				  "cudaEventRecord");
	case GPU_QUERY:
		return call_query(cuda, call);
	case GPU_WAIT_EVENT:
		return cuda_check(cuda, cudaStreamWaitEvent(stream, cuda->events[call->event], 0),
				  "cudaStreamWaitEvent");
	case GPU_SYNC:
		return cuda_check(cuda, cudaStreamSynchronize(stream), "cudaStreamSynchronize");
	case GPU_GRAPH:
		return cuda_check(cuda, cudaGraphLaunch(cuda->graph, stream), "cudaGraphLaunch");
	case GPU_WORK:
		return cuda_work_run(cuda, stream);
	case GPU_MALLOC:
	case GPU_FREE:
	case GPU_MALLOC_ASYNC:
	case GPU_FREE_ASYNC:
		return call_allocation(cuda, call, stream);
	default:
		return call_object(cuda, call);
	}
}
