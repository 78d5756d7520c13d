/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's collectives among all GPUs of this process. The library is loaded at run time; the
 * prototypes follow its documentation, version 2. */
#include "calib/probe/cuda.cuh"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GPUS_MOST  16
#define FLOAT32    7 /* ncclFloat32 */
#define SUM        0 /* ncclSum */
#define BUFFER_B   ((size_t)256 << 20)
#define DEADLINE_S 30.0

typedef int init_function(void **communicators, int count, const int *devices);
typedef int destroy_function(void *communicator);
typedef int group_function(void);
typedef int all_reduce_function(const void *from, void *to, size_t count, int type, int operation,
				void *communicator, cudaStream_t stream);
typedef int all_gather_function(const void *from, void *to, size_t count, int type,
				void *communicator, cudaStream_t stream);
typedef int broadcast_function(const void *from, void *to, size_t count, int type, int root,
			       void *communicator, cudaStream_t stream);

struct nccl {
	void *library;
	init_function *init;
	destroy_function *destroy;
	group_function *group_start, *group_end;
	all_reduce_function *all_reduce, *reduce_scatter;
	all_gather_function *all_gather;
	broadcast_function *broadcast;
	int count;
	void *communicators[GPUS_MOST];
	cudaStream_t streams[GPUS_MOST];
	void *buffers[GPUS_MOST];
};

static bool find(struct nccl *nccl)
{
	const struct {
		const char *name;
		void *place;
	} names[] = {
		{"ncclCommInitAll", &nccl->init},
		{"ncclCommDestroy", &nccl->destroy},
		{"ncclGroupStart", &nccl->group_start},
		{"ncclGroupEnd", &nccl->group_end},
		{"ncclAllReduce", &nccl->all_reduce},
		{"ncclReduceScatter", &nccl->reduce_scatter},
		{"ncclAllGather", &nccl->all_gather},
		{"ncclBroadcast", &nccl->broadcast},
	};
	nccl->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; nccl->library && i < sizeof(names) / sizeof(names[0]); i++) {
		void *symbol = dlsym(nccl->library, names[i].name);
		if (!symbol)
			return false;
		memcpy(names[i].place, &symbol, sizeof(symbol));
	}
	return nccl->library != NULL;
}

void nccl_close(struct nccl *nccl)
{
	if (!nccl)
		return;
	for (int i = 0; i < nccl->count; i++) {
		if (nccl->communicators[i])
			nccl->destroy(nccl->communicators[i]);
		cudaSetDevice(i);
		if (nccl->streams[i])
			cudaStreamDestroy(nccl->streams[i]);
		cudaFree(nccl->buffers[i]);
	}
	if (nccl->library)
		dlclose(nccl->library);
	free(nccl);
}

struct nccl *nccl_open(int gpus_count, char *why)
{
	struct nccl *nccl = (struct nccl *)calloc(1, sizeof(*nccl));
	snprintf(why, GPU_WHY, "NCCL is not installed (libnccl.so.2)");
	if (!nccl || !find(nccl)) {
		nccl_close(nccl);
		return NULL;
	}
	snprintf(why, GPU_WHY, "NCCL could not be started on all GPUs");
	nccl->count = gpus_count > GPUS_MOST ? GPUS_MOST : gpus_count;
	bool good = nccl->init(nccl->communicators, nccl->count, NULL) == 0;
	for (int i = 0; i < nccl->count && good; i++)
		good = cudaSetDevice(i) == cudaSuccess &&
		       cudaStreamCreateWithFlags(&nccl->streams[i], cudaStreamNonBlocking) ==
			       cudaSuccess &&
		       cudaMalloc(&nccl->buffers[i], BUFFER_B) == cudaSuccess;
	if (good)
		return nccl;
	cudaGetLastError();
	nccl_close(nccl);
	return NULL;
}

/* In place, as in the second column of nccl-tests: the size is that of the whole buffer, of which
 * each rank owns a part. */
static int enqueue(struct nccl *nccl, const struct gpu_collective *what, int rank)
{
	size_t count = what->size_B / sizeof(float), part = count / (size_t)nccl->count;
	float *buffer = (float *)nccl->buffers[rank], *own = buffer + part * (size_t)rank;
	void *communicator = nccl->communicators[rank];
	cudaStream_t stream = nccl->streams[rank];
	if (strcmp(what->collective, "all_reduce") == 0)
		return nccl->all_reduce(buffer, buffer, count, FLOAT32, SUM, communicator, stream);
	if (strcmp(what->collective, "all_gather") == 0)
		return nccl->all_gather(own, buffer, part, FLOAT32, communicator, stream);
	if (strcmp(what->collective, "reduce_scatter") == 0)
		return nccl->reduce_scatter(buffer, own, part, FLOAT32, SUM, communicator, stream);
	return nccl->broadcast(buffer, buffer, count, FLOAT32, 0, communicator, stream);
}

static bool wait_all(struct nccl *nccl)
{
	double deadline_s = clock_now_s() + DEADLINE_S;
	for (int i = 0; i < nccl->count; i++) {
		cudaError_t state;
		while ((state = cudaStreamQuery(nccl->streams[i])) == cudaErrorNotReady)
			if (clock_now_s() > deadline_s)
				return false;
		if (state != cudaSuccess)
			return false;
	}
	return true;
}

int nccl_run(struct nccl *nccl, const struct gpu_collective *what, double *time_s, char *why)
{
	int status = 0;
	if (what->size_B > BUFFER_B) {
		snprintf(why, GPU_WHY, "there is not enough memory for a collective of that size");
		return GPU_WAIVED;
	}
	double start_s = clock_now_s();
	for (size_t i = 0; i < what->repeats && status == 0; i++) {
		status = nccl->group_start();
		for (int rank = 0; rank < nccl->count && status == 0; rank++)
			status = enqueue(nccl, what, rank);
		if (status == 0)
			status = nccl->group_end();
	}
	if (status == 0 && wait_all(nccl)) {
		*time_s = (clock_now_s() - start_s) / (double)what->repeats;
		return GPU_OK;
	}
	snprintf(why, GPU_WHY, "NCCL failed with status %d or did not end in time", status);
	return GPU_FAILED;
}
