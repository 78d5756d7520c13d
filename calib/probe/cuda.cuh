/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the CUDA device, shared by its files: gpu_cuda.cu (opening,
 * waiting, clocks), cuda_calls.cu (the calls), cuda_work.cu (graphs, products,
 * kernels, collectives). */
#ifndef FARWIRE_CALIB_PROBE_CUDA_CUH
#define FARWIRE_CALIB_PROBE_CUDA_CUH

#include <cuda_runtime.h>

#include "calib/probe/cublaslt.h"
#include "calib/probe/gpu.h"

struct mailbox;
struct stamp;

#define CUDA_THREADS 256

struct cuda {
	struct gpu gpu;
	int index, multiprocessors_count, gpus_count;
	bool pools;                        /* cudaMallocAsync is there */
	bool peer_direct;                  /* of the peer, once it is there */
	cudaStream_t streams[GPU_STREAMS]; /* 0 is the default stream; others as needed */
	bool streams_made[GPU_STREAMS], streams_busy[GPU_STREAMS];
	cudaEvent_t events[GPU_EVENTS];
	bool events_made[GPU_EVENTS];
	cudaStream_t capture;
	struct mailbox *mailbox, *mailbox_there; /* here, as the GPU sees it */
	unsigned generation, pings_count;
	enum gpu_wait wait;
	double offset_s; /* host's clock less the GPU's timer */
	struct stamp *stamps, *stamps_there;
	/* Copies: */
	size_t buffer_B;
	void *pinned, *pageable, *there, *there_too, *peer;
	/* What calls made last: */
	void *memory, *memory_async;
	cudaStream_t stream_made;
	cudaEvent_t event_made;
	int first_launches_count;
	cudaGraphExec_t graph, work_graph;
	/* Work: */
	struct gpu_work work;
	void *work_a, *work_b, *work_c, *workspace;
	size_t work_a_B, work_b_B, work_c_B;
	struct cublaslt *cublaslt;
	struct nccl *nccl;
	char nccl_why[GPU_WHY]; /* there is none: starting it again takes seconds each time */
};

/* GPU_OK, or GPU_FAILED with the reason. */
int cuda_check(struct cuda *cuda, cudaError_t error, const char *what);
int cuda_waive(struct cuda *cuda, const char *why);
int cuda_stream(struct cuda *cuda, int index, cudaStream_t *stream); /* busy from now on */
int cuda_finish(struct cuda *cuda);
int cuda_call(struct gpu *gpu, const struct gpu_call *call);

int cuda_graph_make(struct gpu *gpu, size_t nodes_count);
int cuda_work_make(struct gpu *gpu, const struct gpu_work *work);
int cuda_work_run(struct cuda *cuda, cudaStream_t stream);
int cuda_collective(struct gpu *gpu, const struct gpu_collective *what, double *time_s);
void cuda_work_close(struct cuda *cuda);

/* nccl.cu */
struct nccl *nccl_open(int gpus_count, char *why);
void nccl_close(struct nccl *nccl);
int nccl_run(struct nccl *nccl, const struct gpu_collective *what, double *time_s, char *why);

#endif
