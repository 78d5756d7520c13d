/* SPDX-License-Identifier: Apache-2.0 */
/* A small CUDA program that tests/recorded/trace_gpu.sh records on a real GPU. Its steps have
 * copies and kernels on two streams and NVTX marks. A thread copies the next input at the same
 * time. Exit code 77: there is no GPU. */
#include <cstdio>
#include <thread>

#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

enum { STEPS = 12, KERNELS = 40, INPUT_B = 1 << 20 };
static const long long KERNEL_NS = 200000;

/* The kernel ends by the GPU's own timer. */
__global__ void spin(long long ns)
{
	unsigned long long start, now;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now < start + (unsigned long long)ns);
}

#define DO(call)                                                                                   \
	do {                                                                                       \
		cudaError_t error = (call);                                                        \
		if (error != cudaSuccess) {                                                        \
			fprintf(stderr, #call ": %s\n", cudaGetErrorString(error));                \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

int main()
{
	int count = 0;
	if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
		return 77;
	cudaStream_t compute, copies;
	cudaEvent_t there;
	char *input, *host, words[32];
	int step_done = 0;
	DO(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
	DO(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
	DO(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));
	DO(cudaMalloc(&input, INPUT_B));
	DO(cudaMallocHost(&host, INPUT_B));
	for (int step = 0; step < STEPS; step++) {
		snprintf(words, sizeof words, "step %d", step + 1);
		nvtxMarkA(words);
		std::thread loader([&] {
			cudaMemcpyAsync(input, host, INPUT_B, cudaMemcpyHostToDevice, copies);
			cudaEventRecord(there, copies);
		});
		loader.join();
		DO(cudaStreamWaitEvent(compute, there, 0));
		for (int kernel = 0; kernel < KERNELS; kernel++)
			spin<<<1, 1, 0, compute>>>(KERNEL_NS);
		DO(cudaMemcpyAsync(&step_done, input, sizeof step_done, cudaMemcpyDeviceToHost,
				   compute));
		DO(cudaStreamSynchronize(compute));
	}
	return 0;
}
