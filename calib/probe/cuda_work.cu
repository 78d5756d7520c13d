/* SPDX-License-Identifier: Apache-2.0 */
/* Work of the CUDA device: graphs of empty kernels, matrix products, kernels limited by memory
 * bandwidth. */
#include "calib/probe/cuda.cuh"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "calib/probe/kernels.cuh"

/* ---- work limited by memory bandwidth ---- */

static __device__ __forceinline__ size_t thread_index(void)
{
	return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ __forceinline__ size_t thread_count(void)
{
	return (size_t)gridDim.x * blockDim.x;
}

static __global__ void copy_kernel(float4 *to, const float4 *from, size_t count)
{
	for (size_t i = thread_index(); i < count; i += thread_count())
		to[i] = from[i];
}

static __global__ void triad_kernel(float4 *to, const float4 *b, const float4 *c, float a,
				    size_t count)
{
	for (size_t i = thread_index(); i < count; i += thread_count()) {
		float4 u = b[i], v = c[i], w;
		w.x = u.x + a * v.x;
		w.y = u.y + a * v.y;
		w.z = u.z + a * v.z;
		w.w = u.w + a * v.w;
		to[i] = w;
	}
}

/* ---- random data ---- */

static __device__ __forceinline__ float random_part(size_t i)
{
	unsigned long long z = (i + 1) * 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	return (float)(unsigned)(z >> 40) * (2.0f / 16777216.0f) - 1.0f;
}

static __device__ __forceinline__ void put(float *to, float value)
{
	*to = value;
}
static __device__ __forceinline__ void put(__half *to, float value)
{
	*to = __float2half(value);
}
static __device__ __forceinline__ void put(__nv_bfloat16 *to, float value)
{
	*to = __float2bfloat16(value);
}

/* FP8 (E4M3): the bytes 0 to 56 are numbers from 0 to 1, and the highest bit is the sign. */
static __device__ __forceinline__ void put(unsigned char *to, float value)
{
	*to = (unsigned char)(fabsf(value) * 56) | (value < 0 ? 0x80 : 0);
}

template <typename number> __global__ void fill_kernel(number *to, size_t count)
{
	for (size_t i = thread_index(); i < count; i += thread_count())
		put(&to[i], random_part(i));
}

/* ---- graphs ---- */

static int instantiate(struct cuda *cuda, int code, cudaGraphExec_t *graph)
{
	cudaGraph_t captured = NULL;
	int ended = cuda_check(cuda, cudaStreamEndCapture(cuda->capture, &captured),
			       "capturing a graph");
	GPU_THEN(code, ended);
	if (*graph)
		cudaGraphExecDestroy(*graph);
	*graph = NULL;
	GPU_THEN(code, cuda_check(cuda, cudaGraphInstantiateWithFlags(graph, captured, 0),
				  "making a graph"));
	if (captured)
		cudaGraphDestroy(captured);
	return code;
}

static int begin_capture(struct cuda *cuda)
{
	return cuda_check(cuda,
			  cudaStreamBeginCapture(cuda->capture, cudaStreamCaptureModeThreadLocal),
			  "capturing a graph");
}

/* The first launch uploads the graph to the GPU. */
static int run_graph_once(struct cuda *cuda, int code, cudaGraphExec_t graph)
{
	cuda->streams_busy[0] = true;
	GPU_THEN(code,
		 cuda_check(cuda, cudaGraphLaunch(graph, cuda->streams[0]), "cudaGraphLaunch"));
	return code == GPU_OK ? cuda_finish(cuda) : code;
}

int cuda_graph_make(struct probe_gpu *gpu, size_t nodes_count)
{
	struct cuda *cuda = (struct cuda *)gpu;
	int code = begin_capture(cuda);
	if (code != GPU_OK)
		return code;
	for (size_t i = 0; i < nodes_count; i++)
		null_kernel<<<1, 1, 0, cuda->capture>>>();
	code = cuda_check(cuda, cudaGetLastError(), "capturing a launch");
	code = instantiate(cuda, code, &cuda->graph);
	return run_graph_once(cuda, code, cuda->graph);
}

/* ---- work ---- */

/* Grows a buffer and fills new memory with random numbers. */
static int grow(struct cuda *cuda, void **buffer, size_t *room_B, size_t size_B)
{
	if (size_B <= *room_B)
		return GPU_OK;
	cudaFree(*buffer);
	*buffer = NULL;
	*room_B = 0;
	if (cudaMalloc(buffer, size_B) != cudaSuccess) {
		cudaGetLastError();
		return cuda_waive(cuda, "there is not enough memory on the GPU for work of that size");
	}
	*room_B = size_B;
	return GPU_OK;
}

template <typename number> static void fill(struct cuda *cuda, void *buffer, size_t count)
{
	fill_kernel<<<4 * cuda->multiprocessors_count, CUDA_THREADS>>>((number *)buffer, count);
}

static int fill_all(struct cuda *cuda, size_t a_count, size_t b_count)
{
	const char *type = cuda->work.type;
	bool fp16 = type && strcmp(type, "fp16") == 0, bf16 = type && strcmp(type, "bf16") == 0;
	if (fp16) {
		fill<__half>(cuda, cuda->work_a, a_count);
		fill<__half>(cuda, cuda->work_b, b_count);
	} else if (bf16) {
		fill<__nv_bfloat16>(cuda, cuda->work_a, a_count);
		fill<__nv_bfloat16>(cuda, cuda->work_b, b_count);
	} else if (type && strcmp(type, "fp8") == 0) {
		fill<unsigned char>(cuda, cuda->work_a, a_count);
		fill<unsigned char>(cuda, cuda->work_b, b_count);
	} else {
		fill<float>(cuda, cuda->work_a, a_count);
		fill<float>(cuda, cuda->work_b, b_count);
	}
	cuda->streams_busy[0] = true;
	int code = cuda_check(cuda, cudaGetLastError(), "filling with random numbers");
	return code == GPU_OK ? cuda_finish(cuda) : code;
}

static int make_product(struct cuda *cuda)
{
	const struct gpu_work *work = &cuda->work;
	bool fp8 = strcmp(work->type, "fp8") == 0;
	bool half = strcmp(work->type, "fp16") == 0 || strcmp(work->type, "bf16") == 0;
	size_t size_B = fp8 ? 1 : half ? 2 : 4;
	int code = GPU_OK;
	if (!cuda->cublaslt)
		cuda->cublaslt = cublaslt_open(cuda->gpu.why, GPU_WHY);
	if (!cuda->cublaslt)
		return GPU_WAIVED;
	if (!cuda->workspace)
		code = cuda_check(cuda, cudaMalloc(&cuda->workspace, CUBLASLT_WORKSPACE_B),
				  "cudaMalloc");
	GPU_THEN(code, grow(cuda, &cuda->work_a, &cuda->work_a_B, size_B * work->m * work->k));
	GPU_THEN(code, grow(cuda, &cuda->work_b, &cuda->work_b_B, size_B * work->k * work->n));
	GPU_THEN(code, grow(cuda, &cuda->work_c, &cuda->work_c_B,
			    (fp8 ? 2 : size_B) * work->m * work->n));
	GPU_THEN(code, fill_all(cuda, work->m * work->k, work->k * work->n));
	if (code != GPU_OK)
		return code;
	struct cublaslt_product product;
	product.type = work->type;
	product.m = work->m;
	product.n = work->n;
	product.k = work->k;
	product.a = cuda->work_a;
	product.b = cuda->work_b;
	product.c = cuda->work_c;
	product.workspace = cuda->workspace;
	return cublaslt_prepare(cuda->cublaslt, &product, cuda->gpu.why, GPU_WHY) == 0 ? GPU_OK
										       : GPU_WAIVED;
}

/* Each byte of a buffer is accessed once: triad has a, b and c, copy has source and target. */
static size_t buffer_of(const struct gpu_work *work)
{
	size_t parts = work->kind == GPU_STREAM_TRIAD ? 3 : 2;
	return work->bytes_B / parts / (4 * KERNEL_ROW) * (4 * KERNEL_ROW);
}

static int make_memory(struct cuda *cuda)
{
	size_t size_B = buffer_of(&cuda->work);
	if (size_B == 0)
		return cuda_waive(cuda, "the size is too small for this work");
	int code = grow(cuda, &cuda->work_a, &cuda->work_a_B, size_B);
	GPU_THEN(code, grow(cuda, &cuda->work_b, &cuda->work_b_B, size_B));
	GPU_THEN(code, grow(cuda, &cuda->work_c, &cuda->work_c_B, size_B));
	return code == GPU_OK ? fill_all(cuda, size_B / 4, size_B / 4) : code;
}

static int run_once(struct cuda *cuda, cudaStream_t stream)
{
	const struct gpu_work *work = &cuda->work;
	const unsigned blocks = 8 * (unsigned)cuda->multiprocessors_count;
	if (work->kind == GPU_GEMM) {
		int status = cublaslt_run(cuda->cublaslt, stream);
		if (status == 0)
			return GPU_OK;
		snprintf(cuda->gpu.why, GPU_WHY, "cuBLASLt failed with status %d", status);
		return GPU_FAILED;
	}
	size_t size_B = buffer_of(work), count = size_B / sizeof(float4);
	float4 *a = (float4 *)cuda->work_a, *b = (float4 *)cuda->work_b,
	       *c = (float4 *)cuda->work_c;
	if (work->kind == GPU_STREAM_COPY)
		copy_kernel<<<blocks, CUDA_THREADS, 0, stream>>>(a, b, count);
	else
		triad_kernel<<<blocks, CUDA_THREADS, 0, stream>>>(a, b, c, 0.5f, count);
	return cuda_check(cuda, cudaGetLastError(), "launching work");
}

static int run_repeats(struct cuda *cuda, cudaStream_t stream)
{
	int code = GPU_OK;
	for (size_t i = 0; i < cuda->work.repeats && code == GPU_OK; i++)
		code = run_once(cuda, stream);
	return code;
}

int cuda_work_make(struct probe_gpu *gpu, const struct gpu_work *work)
{
	struct cuda *cuda = (struct cuda *)gpu;
	int code = cuda_finish(cuda);
	cuda->work = *work;
	GPU_THEN(code, work->kind == GPU_GEMM ? make_product(cuda) : make_memory(cuda));
	/* Run once before anything is measured, possibly behind a blocker, because it loads
	 * kernels. */
	GPU_THEN(code, run_once(cuda, cuda->streams[0]));
	cuda->streams_busy[0] = true;
	GPU_THEN(code, cuda_finish(cuda));
	if (code == GPU_OK && work->as_graph)
		code = begin_capture(cuda);
	if (code != GPU_OK || !work->as_graph)
		return code;
	code = run_repeats(cuda, cuda->capture);
	code = instantiate(cuda, code, &cuda->work_graph);
	return run_graph_once(cuda, code, cuda->work_graph);
}

int cuda_work_run(struct cuda *cuda, cudaStream_t stream)
{
	if (cuda->work.as_graph)
		return cuda_check(cuda, cudaGraphLaunch(cuda->work_graph, stream),
				  "cudaGraphLaunch");
	return run_repeats(cuda, stream);
}

void cuda_work_close(struct cuda *cuda)
{
	if (cuda->graph)
		cudaGraphExecDestroy(cuda->graph);
	if (cuda->work_graph)
		cudaGraphExecDestroy(cuda->work_graph);
	cublaslt_close(cuda->cublaslt);
	cudaFree(cuda->work_a);
	cudaFree(cuda->work_b);
	cudaFree(cuda->work_c);
	cudaFree(cuda->workspace);
}
