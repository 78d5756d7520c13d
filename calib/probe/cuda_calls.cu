/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the CUDA device. The code before the call itself is short, because it is measured,
 * too. */
#include "calib/probe/cuda.cuh"

#include "calib/probe/kernels.cuh"

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
		null_kernel<<<1, 1, 0, stream>>>();
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

static int call_stamp(struct cuda *cuda, const struct gpu_call *call, cudaStream_t stream)
{
	stamp_kernel<<<1, 1, 0, stream>>>(&cuda->stamps_there[call->slot],
					  (nanoseconds)(call->spin_s * 1e9 + 0.5));
	return cuda_check(cuda, cudaGetLastError(), "a launch");
}

/* ---- memory ---- */

static int call_copy(struct cuda *cuda, const struct gpu_call *call, cudaStream_t stream)
{
	void *here = call->pageable ? cuda->pageable : cuda->pinned;
	void *to = cuda->there;
	const void *from = here;
	enum cudaMemcpyKind kind = cudaMemcpyHostToDevice;
	if (call->size_B > cuda->buffer_B)
		return cuda_waive(cuda, "there is not enough memory for copies of that size");
	if (call->direction == GPU_D2H) {
		to = here;
		from = cuda->there;
		kind = cudaMemcpyDeviceToHost;
	}
	return cuda_check(cuda,
			  call->async ? cudaMemcpyAsync(to, from, call->size_B, kind, stream)
				      : cudaMemcpy(to, from, call->size_B, kind),
			  "a copy");
}

/* ---- streams and events ---- */

static int call_object(struct cuda *cuda, const struct gpu_call *call)
{
	int device;
	switch (call->kind) {
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

int cuda_call(struct probe_gpu *gpu, const struct gpu_call *call)
{
	struct cuda *cuda = (struct cuda *)gpu;
	cudaStream_t stream;
	int code = cuda_stream(cuda, call->stream, &stream);
	if (code != GPU_OK)
		return code;
	switch (call->kind) {
	case GPU_LAUNCH:
		return call_launch(cuda, call, stream);
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
		return cuda_check(cuda, cudaMalloc(&cuda->memory, call->size_B), "cudaMalloc");
	case GPU_FREE:
		return cuda_check(cuda, cudaFree(cuda->memory), "cudaFree");
	default:
		return call_object(cuda, call);
	}
}
