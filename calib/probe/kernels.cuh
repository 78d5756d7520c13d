/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernels of several files. Every waiting loop of a kernel ends by the GPU's timer,
 * whatever the host does. */
#ifndef FARWIRE_CALIB_PROBE_KERNELS_CUH
#define FARWIRE_CALIB_PROBE_KERNELS_CUH

#define KERNEL_SPIN_MOST_NS 5000000000ull
#define KERNEL_PINGS        16
#define KERNEL_ROW          1024

typedef unsigned long long nanoseconds;

/* Messages between host and GPU, in the host's memory. */
struct mailbox {
	volatile unsigned released; /* blockers up to this generation end */
	volatile unsigned ping;     /* written by the host */
	volatile unsigned pong;     /* written by the GPU */
	volatile nanoseconds pong_ns;
};

struct stamp {
	nanoseconds begin_ns, end_ns;
};

static __device__ __forceinline__ nanoseconds gpu_timer(void)
{
	nanoseconds now;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	return now;
}

static __device__ __forceinline__ void spin(nanoseconds time_ns)
{
	if (time_ns == 0)
		return;
	nanoseconds start = gpu_timer();
	if (time_ns > KERNEL_SPIN_MOST_NS)
		time_ns = KERNEL_SPIN_MOST_NS;
	while (gpu_timer() - start < time_ns)
		;
}

/* The kernel of ordinary launches. */
static __global__ void null_kernel(void)
{
}

#endif
