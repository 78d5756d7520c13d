/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the CUDA device, shared by gpu_cuda.cu (opening, waiting, clocks), cuda_calls.cu
 * (calls) and cuda_work.cu (graphs, products, kernels). */
#ifndef FARWIRE_CALIB_PROBE_CUDA_CUH
#define FARWIRE_CALIB_PROBE_CUDA_CUH

#include <cuda_runtime.h>

#include "calib/probe/cublaslt.h"
#include "calib/probe/gpu.h"
#include "calib/sample/clock.h"

struct mailbox;
struct stamp;

#define CUDA_THREADS 256

struct cuda {
	struct probe_gpu gpu;
	int index, multiprocessors_count, gpus_count;
	/* stream 0 is the default stream; others are created as needed */
	cudaStream_t streams[GPU_STREAMS];
	bool streams_made[GPU_STREAMS], streams_busy[GPU_STREAMS];
	cudaEvent_t events[GPU_EVENTS];
	bool events_made[GPU_EVENTS];
	cudaStream_t capture;
	struct mailbox *mailbox, *mailbox_there; /* host address and device address */
	unsigned generation, pings_count;
	double offset_s; /* host's clock minus the GPU's timer */
	struct stamp *stamps, *stamps_there;
	/* ---- copies ---- */
	size_t buffer_B;
	void *pinned, *pageable, *there;
	/* ---- objects of the last calls ---- */
	void *memory;
	cudaEvent_t event_made;
	cudaGraphExec_t graph, work_graph;
	/* ---- work ---- */
	struct gpu_work work;
	void *work_a, *work_b, *work_c, *workspace;
	size_t work_a_B, work_b_B, work_c_B;
	struct cublaslt *cublaslt;
};

/* Returns GPU_OK, or GPU_FAILED with the reason in cuda->gpu.why. */
int cuda_check(struct cuda *cuda, cudaError_t error, const char *what);
int cuda_waive(struct cuda *cuda, const char *why);
int cuda_stream(struct cuda *cuda, int index, cudaStream_t *stream); /* marks the stream as busy */
int cuda_finish(struct cuda *cuda);
int cuda_call(struct probe_gpu *gpu, const struct gpu_call *call);

int cuda_graph_make(struct probe_gpu *gpu, size_t nodes_count);
int cuda_work_make(struct probe_gpu *gpu, const struct gpu_work *work);
int cuda_work_run(struct cuda *cuda, cudaStream_t stream);
void cuda_work_close(struct cuda *cuda);

#endif
