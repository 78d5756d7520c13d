/* SPDX-License-Identifier: Apache-2.0 */
/* A CUPTI for machines without a GPU. It plays a script of calls and of GPU work on its own clock.
 * tests/recorded/trace.sh builds it as libcupti.so and, with -DPROGRAM, as the program that is
 * recorded.
 *
 * The script, in microseconds of a step of 1000:
 *
 *   0                mark of the step
 *   10, 20, 30, 40   launches of 4 us each, with kernels of 100 us on stream 13
 *   60               a copy of 1 MiB from pinned memory to the GPU
 *   70               a memset
 *   80, 90, 100      an event is recorded on stream 13, queried (not ready) and queried again
 *                    (ready)
 *   110              stream 14 waits for the event
 *   120              a graph of 50 us
 *   130              stream 13 is synchronised until 900
 *   910              a copy to pageable memory
 *
 * Before the first step, four kinds of calls allocate 20 MiB each, and four others free them.
 * Stream 13 is recorded, queried and waited for by the remaining calls, copies of each kind are
 * made, and a range is pushed. 64 MiB are allocated until after the last step. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef PROGRAM

typedef void play_fn(int steps);

static play_fn *play;

static void *other_thread(void *ctx)
{
	play(2);
	return NULL;
}

/* PROGRAM STEPS [threads]: loads the injected library like CUDA's driver. */
int main(int argc, char **argv)
{
	const char *injected = getenv("CUDA_INJECTION64_PATH");
	void *recorder = injected ? dlopen(injected, RTLD_NOW) : NULL;
	void *cupti = dlopen(getenv("FAKE_CUPTI"), RTLD_NOW);
	int (*begin)(void);
	if (!recorder || !cupti || argc < 2) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	void *found = dlsym(recorder, "InitializeInjection");
	memcpy(&begin, &found, sizeof found);
	found = dlsym(cupti, "fake_play");
	memcpy(&play, &found, sizeof found);
	int steps = atoi(argv[1]);
	if (steps == 0) /* a program that makes no calls */
		return 0;
	if (!begin())
		return 0;
	pthread_t thread;
	if (argc > 2 && pthread_create(&thread, NULL, other_thread, NULL) == 0)
		pthread_join(thread, NULL);
	play(steps);
	if (steps > 1000) /* a crash */
		abort();
	return 7; /* farwire-trace returns this code */
}

#else

#include <cupti.h>

static CUpti_CallbackFunc callback;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t *buffer;
static size_t buffer_B, used_B;
static uint32_t correlations;
static _Thread_local uint64_t now_ns = 5000000;

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc fn, void *ctx)
{
	callback = fn;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
			      CUpti_CallbackDomain domain)
{
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc asked,
					   CUpti_BuffersCallbackCompleteFunc full)
{
	request = asked;
	complete = full;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
	*version = CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	*timestamp = now_ns;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
	*id = stream ? (uint32_t)(uintptr_t)stream : 7;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped)
{
	static bool told;
	const char *planted = getenv("FAKE_DROPPED");
	*dropped = planted && !told ? strtoul(planted, NULL, 10) : 0;
	told = true;
	return CUPTI_SUCCESS;
}

/* ---- records ---- */

static size_t record_size(CUpti_ActivityKind kind)
{
	switch (kind) {
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return sizeof(CUpti_ActivityKernel10);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
		return sizeof(CUpti_ActivityMemcpy6);
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return sizeof(CUpti_ActivityMemcpyPtoP4);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return sizeof(CUpti_ActivityMemset4);
	case CUPTI_ACTIVITY_KIND_DEVICE:
		return sizeof(CUpti_ActivityDevice5);
	default:
		return sizeof(CUpti_ActivityGraphTrace2);
	}
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid_B, CUpti_Activity **record)
{
	uint8_t *next = bytes;
	if (*record)
		next = (uint8_t *)*record + record_size((*record)->kind);
	if (next >= bytes + valid_B)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)(void *)next;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
	pthread_mutex_lock(&lock);
	uint8_t *full = buffer;
	size_t valid_B = used_B;
	buffer = NULL;
	used_B = 0;
	pthread_mutex_unlock(&lock);
	if (full)
		complete(NULL, 0, full, buffer_B, valid_B);
	return CUPTI_SUCCESS;
}

/* The buffers are small, so that some are returned before the end. */
static void put_record(const void *record, CUpti_ActivityKind kind)
{
	size_t size_B = record_size(kind), records_max;
	pthread_mutex_lock(&lock);
	bool full = used_B + size_B > 4096;
	pthread_mutex_unlock(&lock);
	if (full)
		cuptiActivityFlushAll(0);
	pthread_mutex_lock(&lock);
	if (!buffer)
		request(&buffer, &buffer_B, &records_max);
	memcpy(buffer + used_B, record, size_B);
	used_B += size_B;
	pthread_mutex_unlock(&lock);
}

static void did_kernel(uint32_t correlation, uint64_t start_ns, uint64_t lasts_ns)
{
	CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					 .start = start_ns,
					 .end = start_ns + lasts_ns,
					 .streamId = 13,
					 .correlationId = correlation,
					 .name = "gemm \"64x64\""};
	put_record(&kernel, kernel.kind);
}

static void did_copy(uint32_t correlation, uint64_t start_ns, bool to_device)
{
	CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
				      .start = start_ns,
				      .end = start_ns + 40000,
				      .bytes = 1 << 20,
				      .streamId = 13,
				      .correlationId = correlation};
	copy.copyKind =
		to_device ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
	copy.srcKind =
		to_device ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
	copy.dstKind =
		to_device ? CUPTI_ACTIVITY_MEMORY_KIND_DEVICE : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
	put_record(&copy, copy.kind);
}

static void did_memset(uint32_t correlation, uint64_t start_ns)
{
	CUpti_ActivityMemset4 memset = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
					.start = start_ns,
					.end = start_ns + 5000,
					.streamId = 13,
					.correlationId = correlation};
	put_record(&memset, memset.kind);
}

static void did_graph(uint32_t correlation, uint64_t start_ns)
{
	CUpti_ActivityGraphTrace2 graph = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
					   .start = start_ns,
					   .end = start_ns + 50000,
					   .streamId = 14,
					   .correlationId = correlation};
	put_record(&graph, graph.kind);
}

/* ---- calls ---- */

/* Returns the number of a function. A new function gets the next free number. */
static CUpti_CallbackId id_of(const char *name)
{
	static const char *names[64];
	CUpti_CallbackId id = 0;
	pthread_mutex_lock(&lock);
	while (names[id] && strcmp(names[id], name) != 0)
		id++;
	names[id] = name;
	pthread_mutex_unlock(&lock);
	return id;
}

static void report(CUpti_CallbackDomain domain, bool begins, const char *name, uint32_t correlation,
		   const void *params, int result)
{
	int returned = result;
	CUpti_CallbackData data = {.callbackSite = begins ? CUPTI_API_ENTER : CUPTI_API_EXIT,
				   .functionName = name,
				   .functionParams = params,
				   .functionReturnValue = begins ? NULL : &returned,
				   .correlationId = correlation};
	callback(NULL, domain, id_of(name), &data);
}

/* Makes a call of the runtime with a call of the driver inside. Returns its correlation number. */
static uint32_t call(const char *name, const void *params, uint64_t start_ns, uint64_t lasts_ns,
		     int result)
{
	pthread_mutex_lock(&lock);
	uint32_t correlation = correlations += 2;
	pthread_mutex_unlock(&lock);
	now_ns = start_ns;
	report(CUPTI_CB_DOMAIN_RUNTIME_API, true, name, correlation, params, 0);
	now_ns = start_ns + lasts_ns / 4;
	report(CUPTI_CB_DOMAIN_DRIVER_API, true, "cuInside", correlation + 1, params, 0);
	now_ns = start_ns + lasts_ns / 2;
	report(CUPTI_CB_DOMAIN_DRIVER_API, false, "cuInside", correlation + 1, params, 0);
	now_ns = start_ns + lasts_ns;
	report(CUPTI_CB_DOMAIN_RUNTIME_API, false, name, correlation, params, result);
	return correlation;
}

static void play_step(int step, uint64_t t_ns)
{
	char words[32];
	const char *text = words;
	const uint64_t stream[] = {13}, record[] = {0xabc0, 13}, query[] = {0xabc0},
		       wait[] = {14, 0xabc0}, none[] = {0, 0, 0, 0, 0, 0, 0, 0};
	snprintf(words, sizeof words, "step %d", step);
	const CUpti_NvtxData mark = {.functionName = "nvtxMarkA", .functionParams = &text};
	now_ns = t_ns;
	callback(NULL, CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxMarkA, &mark);
	/* the outer and the inner call's number, before and after */
	for (uint32_t i = 0; i < 4; i++)
		did_kernel(call("cudaLaunchKernel_v7000", none, t_ns + 10000 + 10000 * i, 4000, 0) +
				   i % 2,
			   t_ns + 20000 + 100000 * i, 100000);
	did_copy(call("cudaMemcpyAsync_v3020", none, t_ns + 60000, 6000, 0), t_ns + 420000, true);
	did_memset(call("cudaMemsetAsync_v3020", none, t_ns + 70000, 4000, 0), t_ns + 460000);
	call("cudaEventRecord_v3020", record, t_ns + 80000, 2000, 0);
	call("cudaEventQuery_v3020", query, t_ns + 90000, 1000, 600);
	call("cudaEventQuery_v3020", query, t_ns + 100000, 1000, 0);
	call("cudaStreamWaitEvent_v3020", wait, t_ns + 110000, 2000, 0);
	did_graph(call("cudaGraphLaunch_v10000", none, t_ns + 120000, 9000, 0), t_ns + 470000);
	call("cudaStreamSynchronize_v3020", stream, t_ns + 130000, 770000, 0);
	did_copy(call("cudaMemcpy_v3020", none, t_ns + 910000, 60000, 0), t_ns + 920000, false);
}

static void play_memory(uint64_t t_ns)
{
	static const char *const allocations[] = {"cudaMallocAsync_v11020",
						  "cudaMallocManaged_v6000", "cuMemAlloc_v2",
						  "cuMemAllocAsync_ptsz"},
				 *const releases[] = {"cudaFreeAsync_v11020_ptds", "cudaFree_v3020",
						      "cuMemFree_v2", "cuMemFreeAsync"};
	for (int i = 0; i < 8; i++) {
		uint64_t address = 0x10000000 * (1 + (uint64_t)i % 4), stream = 13;
		const uint64_t allocate[] = {(uint64_t)(uintptr_t)&address, 20 << 20, stream},
			       release[] = {address, stream};
		call(i < 4 ? allocations[i] : releases[i % 4], i < 4 ? allocate : release, t_ns,
		     1000, 0);
	}
}

static void play_kinds(uint64_t t_ns)
{
	static const uint8_t kinds[] = {
		CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, CUPTI_ACTIVITY_MEMCPY_KIND_ATOH,
		CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP,
		CUPTI_ACTIVITY_MEMCPY_KIND_DTOD};
	const uint64_t stream[] = {13}, record[] = {0xabc0, 13, 0}, event[] = {0xabc0},
		       none[8] = {0};
	call("cudaEventRecordWithFlags_v11010", record, t_ns, 1000, 0);
	call("cudaStreamQuery_v3020", stream, t_ns, 1000, 600);
	call("cudaEventSynchronize_v3020", event, t_ns, 1000, 0);
	for (uint32_t i = 0; i < sizeof kinds; i++) {
		CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
					      .copyKind = kinds[i],
					      .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
					      .start = t_ns,
					      .end = t_ns + 2000,
					      .bytes = 100 + i,
					      .streamId = 13,
					      .correlationId =
						      call("cudaMemcpyAsync", none, t_ns, 1000, 0)};
		put_record(&copy, copy.kind);
	}
	CUpti_ActivityMemcpyPtoP4 peer = {
		.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
		.start = t_ns,
		.end = t_ns + 3000,
		.bytes = 200,
		.streamId = 15,
		.correlationId = call("cudaMemcpyPeerAsync_v4000", none, t_ns, 1000, 0)};
	put_record(&peer, peer.kind);
	const char *texts[] = {"Step 70", "no step"};
	for (int i = 0; i < 2; i++) {
		const CUpti_NvtxData push = {.functionName = "nvtxRangePushA",
					     .functionParams = &texts[i]};
		callback(NULL, CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_nvtxRangePushA, &push);
	}
}

void fake_play(int steps);
void fake_play(int steps)
{
	uint64_t address = 0x7f0000000000, started_ns = now_ns;
	const uint64_t allocate[] = {(uint64_t)(uintptr_t)&address, 64 << 20},
		       release[] = {address};
	const CUpti_ActivityDevice5 device = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
					      .name = "Fake GPU"};
	put_record(&device, device.kind);
	if (steps == 3)
		play_memory(started_ns), play_kinds(started_ns + 10000);
	call("cudaMalloc_v3020", allocate, started_ns + 100000, 50000, 0);
	started_ns += 1000000;
	for (int i = 0; i < steps; i++)
		play_step(i + 1, started_ns + 1000000 * (uint64_t)i);
	call("cudaFree_v3020", release, started_ns + 1000000 * (uint64_t)steps, 50000, 0);
}

#endif
