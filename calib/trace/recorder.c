/* SPDX-License-Identifier: Apache-2.0 */
/* libfarwire-trace.so records the CUDA calls of the program that loads it.
 *
 * CUDA's driver loads the library named by CUDA_INJECTION64_PATH and calls InitializeInjection.
 * Then CUPTI reports each runtime and driver call on the thread that makes it, and GPU work in
 * buffers. Each thread writes its calls into its own chunk and passes full chunks to the writer
 * thread. While the program waits, nothing is allocated and nothing is written. If all chunks are
 * full, calls are dropped and counted, and the last line of the file has their number.
 *
 * Environment: FARWIRE_TRACE_FILE (required), FARWIRE_TRACE_BUFFERS (number of chunks of 4096
 * calls, default 256), FARWIRE_CUPTI (path of CUPTI).
 */
#include "calib/trace/recorder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* CUPTI is loaded at run time. A machine may have several versions, and the program may have loaded
 * its own, which must then be used. CUPTI_FUNCTION(name, parameters) is what the recorder calls. */
#define CUPTI_FUNCTIONS(CUPTI_FUNCTION)                                                            \
	CUPTI_FUNCTION(cuptiSubscribe, (CUpti_SubscriberHandle * subscriber,                       \
					CUpti_CallbackFunc callback, void *userdata))              \
	CUPTI_FUNCTION(cuptiEnableDomain, (uint32_t enable, CUpti_SubscriberHandle subscriber,     \
					   CUpti_CallbackDomain domain))                           \
	CUPTI_FUNCTION(cuptiActivityRegisterCallbacks,                                             \
		       (CUpti_BuffersCallbackRequestFunc request,                                  \
			CUpti_BuffersCallbackCompleteFunc complete))                               \
	CUPTI_FUNCTION(cuptiActivityEnable, (CUpti_ActivityKind kind))                             \
	CUPTI_FUNCTION(cuptiActivityFlushAll, (uint32_t flag))                                     \
	CUPTI_FUNCTION(cuptiActivityGetNextRecord,                                                 \
		       (uint8_t * buffer, size_t size_B, CUpti_Activity * *record))                \
	CUPTI_FUNCTION(cuptiActivityGetNumDroppedRecords,                                          \
		       (CUcontext context, uint32_t stream, size_t * dropped))                     \
	CUPTI_FUNCTION(cuptiGetVersion, (uint32_t * version))                                      \
	CUPTI_FUNCTION(cuptiGetTimestamp, (uint64_t * timestamp))                                  \
	CUPTI_FUNCTION(cuptiGetStreamIdEx, (CUcontext context, CUstream stream,                    \
					    uint8_t per_thread, uint32_t * stream_id))

struct cupti {
#define CUPTI_FUNCTION(name, parameters) CUptiResult(CUPTIAPI *name) parameters;
	CUPTI_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
};

static void *library_open(void)
{
	static const char *const names[] = {"libcupti.so",
					    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
					    "/usr/local/cuda/lib64/libcupti.so"};
	const char *own = getenv("FARWIRE_CUPTI");
	char versioned[32];
	if (own && own[0])
		return dlopen(own, RTLD_NOW | RTLD_LOCAL);
	/* The version of the headers, which the program may have loaded already. */
	snprintf(versioned, sizeof versioned, "libcupti.so.%d", CUDA_VERSION / 1000);
	void *library = dlopen(versioned, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof names / sizeof names[0] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

/* Opens the library FARWIRE_CUPTI or, if that is not set, one of the usual names. Returns NULL or
 * an error message. */
static const char *cupti_open(struct cupti *cupti)
{
	void *library = library_open();
	if (!library)
		return "CUPTI was not found (set FARWIRE_CUPTI to libcupti.so's path)";
	void *found;
	/* POSIX guarantees that the result of dlsym can be a function. */
#define CUPTI_FUNCTION(name, parameters)                                                           \
	found = dlsym(library, #name);                                                             \
	if (!found)                                                                                \
		return "this version of CUPTI is too old because it has no " #name;                \
	memcpy(&cupti->name, &found, sizeof found);
	CUPTI_FUNCTIONS(CUPTI_FUNCTION)
#undef CUPTI_FUNCTION
	return NULL;
}

enum { CHUNK_RECORDS = 4096, CHUNKS_DEFAULT = 256, CHUNKS_MAX = 1 << 16 };
enum { ACTIVITY_BUFFER_B = 8 << 20, ACTIVITY_ALIGN_B = 8 };

enum { FUNCTIONS_MAX = 2048 };
struct parameters;

struct trace_record {
	bool mark;
	uint32_t step;
	struct trace_call call; /* a mark uses only thread and start_ns */
};

struct record_chunk {
	size_t count;
	struct record_chunk *next;
	struct trace_record records[CHUNK_RECORDS];
};

struct buffer { /* a full buffer of CUPTI */
	uint8_t *bytes;
	size_t size_B;
	struct buffer *next;
};

/* State of one thread of the program. */
struct thread {
	pthread_mutex_t lock; /* protects chunk, which the end of the program takes away */
	struct record_chunk *chunk;
	uint32_t index, depth, correlation, inner_correlation;
	uint64_t start_ns;
	struct thread *next;
};

/* Global state, because no caller can pass state to an injected library. */
static struct recorder {
	struct cupti cupti;
	uint32_t version; /* version of CUPTI */
	pid_t pid;
	struct calls_writer *writer;
	const char *path;
	pthread_t writer_thread;
	pthread_key_t thread_key;
	pthread_mutex_t lock; /* protects all fields below */
	pthread_cond_t work;
	struct record_chunk *free_chunks, *full_chunks, **full_end;
	struct buffer *full_buffers, **buffers_end;
	struct thread *threads;
	uint32_t thread_count;
	bool finished;
	atomic_bool recording;
	atomic_ullong dropped;
	atomic_uint steps;
	/* parameters of driver and runtime functions, by CUPTI's function number */
	_Atomic(const struct parameters *) parameters[2][FUNCTIONS_MAX];
} recorder = {.lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER};

/* ---- chunks ---- */

static struct record_chunk *chunk_take(void)
{
	pthread_mutex_lock(&recorder.lock);
	struct record_chunk *chunk = recorder.free_chunks;
	if (chunk)
		recorder.free_chunks = chunk->next;
	pthread_mutex_unlock(&recorder.lock);
	return chunk;
}

static void chunk_hand_over(struct record_chunk *chunk)
{
	pthread_mutex_lock(&recorder.lock);
	chunk->next = NULL;
	*recorder.full_end = chunk;
	recorder.full_end = &chunk->next;
	pthread_cond_signal(&recorder.work);
	pthread_mutex_unlock(&recorder.lock);
}

static bool chunks_make(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct record_chunk *chunk = calloc(1, sizeof *chunk);
		if (!chunk)
			return false;
		chunk->next = recorder.free_chunks;
		recorder.free_chunks = chunk;
	}
	return true;
}

/* ---- threads of the program ---- */

static void thread_ended(void *value)
{
	struct thread *thread = value;
	pthread_mutex_lock(&thread->lock);
	struct record_chunk *chunk = thread->chunk;
	thread->chunk = NULL;
	pthread_mutex_unlock(&thread->lock);
	if (chunk)
		chunk_hand_over(chunk);
}

static struct thread *thread_self(void)
{
	struct thread *thread = pthread_getspecific(recorder.thread_key);
	if (thread)
		return thread;
	thread = calloc(1, sizeof *thread);
	if (!thread || pthread_setspecific(recorder.thread_key, thread) != 0) {
		free(thread);
		return NULL;
	}
	pthread_mutex_init(&thread->lock, NULL);
	pthread_mutex_lock(&recorder.lock);
	thread->index = recorder.thread_count++;
	thread->next = recorder.threads;
	recorder.threads = thread;
	pthread_mutex_unlock(&recorder.lock);
	return thread;
}

static void thread_record(struct thread *thread, const struct trace_record *record)
{
	struct record_chunk *full = NULL;
	pthread_mutex_lock(&thread->lock);
	if (!thread->chunk && atomic_load(&recorder.recording))
		thread->chunk = chunk_take();
	struct record_chunk *chunk = thread->chunk;
	if (chunk) {
		chunk->records[chunk->count++] = *record;
		if (chunk->count == CHUNK_RECORDS) {
			full = chunk;
			thread->chunk = NULL;
		}
	}
	pthread_mutex_unlock(&thread->lock);
	if (!chunk)
		atomic_fetch_add(&recorder.dropped, 1);
	if (full)
		chunk_hand_over(full);
}

/* ---- calls ---- */

/* Positions of relevant parameters in a function's parameter list. Each parameter has a slot of
 * eight bytes, in the order of declaration; -1: none. */
struct parameters {
	const char *function; /* name of the function without its version suffix */
	int stream, event, size, address;
	bool address_out; /* the parameter is a pointer to the result */
};

static const struct parameters parameters_none = {"", -1, -1, -1, -1, false};

static const struct parameters *parameters_of(const char *name)
{
	static const struct parameters rows[] = {
		{"StreamSynchronize", 0, -1, -1, -1, false},
		{"StreamQuery", 0, -1, -1, -1, false},
		{"EventRecord", 1, 0, -1, -1, false},
		{"EventRecordWithFlags", 1, 0, -1, -1, false},
		{"StreamWaitEvent", 0, 1, -1, -1, false},
		{"EventQuery", -1, 0, -1, -1, false},
		{"EventSynchronize", -1, 0, -1, -1, false},
		{"Malloc", -1, -1, 1, 0, true},
		{"MallocManaged", -1, -1, 1, 0, true},
		{"MallocAsync", 2, -1, 1, 0, true},
		{"MemAlloc", -1, -1, 1, 0, true},
		{"MemAllocManaged", -1, -1, 1, 0, true},
		{"MemAllocAsync", 2, -1, 1, 0, true},
		{"Free", -1, -1, -1, 0, false},
		{"FreeAsync", 1, -1, -1, 0, false},
		{"MemFree", -1, -1, -1, 0, false},
		{"MemFreeAsync", 1, -1, -1, 0, false},
	};
	const char *stem = strncmp(name, "cuda", 4) == 0 ? name + 4 : name + 2;
	const char *end = strchr(stem, '_');
	size_t length = end ? (size_t)(end - stem) : strlen(stem);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		if (strlen(rows[i].function) == length &&
		    strncmp(rows[i].function, stem, length) == 0)
			return &rows[i];
	return &parameters_none;
}

/* Looks up the parameters once for each function. */
static const struct parameters *parameters_known(CUpti_CallbackDomain domain, CUpti_CallbackId id,
						 const char *name)
{
	if (id >= FUNCTIONS_MAX)
		return parameters_of(name);
	_Atomic(const struct parameters *) *known =
		&recorder.parameters[domain == CUPTI_CB_DOMAIN_RUNTIME_API][id];
	const struct parameters *found = atomic_load_explicit(known, memory_order_relaxed);
	if (!found) {
		found = parameters_of(name);
		atomic_store_explicit(known, found, memory_order_relaxed);
	}
	return found;
}

static uint64_t slot(const CUpti_CallbackData *data, int index)
{
	return index < 0 ? 0 : ((const uint64_t *)data->functionParams)[index];
}

static void take_parameters(struct trace_call *call, const struct parameters *at,
			    const CUpti_CallbackData *data, bool fine)
{
	uint32_t stream;
	call->event = slot(data, at->event);
	call->address = slot(data, at->address);
	call->size_B = slot(data, at->size);
	if (at->address_out && call->address)
		call->address = fine ? *(const uint64_t *)(uintptr_t)call->address : 0;
	if (at->stream < 0)
		return;
	CUstream handle = (CUstream)(uintptr_t)slot(data, at->stream);
	bool per_thread = strstr(data->functionName, "_pts") != NULL;
	if (recorder.cupti.cuptiGetStreamIdEx(data->context, handle, per_thread, &stream) ==
	    CUPTI_SUCCESS)
		call->stream = stream;
}

/* cudaErrorNotReady and CUDA_ERROR_NOT_READY have the same value. */
static enum trace_ready ready_of(const CUpti_CallbackData *data, int result)
{
	if (!strstr(data->functionName, "Query") || (result != 0 && result != 600))
		return TRACE_READY_UNKNOWN;
	return result == 0 ? TRACE_READY_YES : TRACE_READY_NO;
}

static void call_begins(struct thread *thread, const CUpti_CallbackData *data)
{
	if (thread->depth++ > 0) {
		if (data->correlationId != thread->correlation)
			thread->inner_correlation = data->correlationId;
		return;
	}
	thread->correlation = data->correlationId;
	thread->inner_correlation = 0;
	recorder.cupti.cuptiGetTimestamp(&thread->start_ns);
}

static void call_ends(struct thread *thread, const struct parameters *at,
		      const CUpti_CallbackData *data)
{
	if (thread->depth == 0 || --thread->depth > 0)
		return;
	struct trace_record record = {.call = {.function = data->functionName,
					       .start_ns = thread->start_ns,
					       .correlation = thread->correlation,
					       .inner_correlation = thread->inner_correlation,
					       .thread = thread->index,
					       .stream = TRACE_NO_STREAM}};
	recorder.cupti.cuptiGetTimestamp(&record.call.end_ns);
	int result = data->functionReturnValue ? *(const int *)data->functionReturnValue : 0;
	record.call.ready = ready_of(data, result);
	take_parameters(&record.call, at, data, result == 0);
	thread_record(thread, &record);
}

/* nvtxMarkA("step 3") or nvtxRangePushA("step 3") begins a step. */
static void nvtx_called(struct thread *thread, CUpti_CallbackId id, const CUpti_NvtxData *data)
{
	bool known = id == CUPTI_CBID_NVTX_nvtxMarkA || id == CUPTI_CBID_NVTX_nvtxRangePushA;
	const char *text =
		known && data->functionParams ? *(const char *const *)data->functionParams : NULL;
	if (!text || strncasecmp(text, "step", 4) != 0)
		return;
	size_t words = strcspn(text, "0123456789");
	struct trace_record record = {.mark = true, .call = {.thread = thread->index}};
	record.step = text[words] ? (uint32_t)strtoul(text + words, NULL, 10)
				  : atomic_fetch_add(&recorder.steps, 1);
	recorder.cupti.cuptiGetTimestamp(&record.call.start_ns);
	thread_record(thread, &record);
}

static void CUPTIAPI called(void *ctx, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *data)
{
	struct thread *thread = atomic_load(&recorder.recording) ? thread_self() : NULL;
	if (!thread)
		return;
	if (domain == CUPTI_CB_DOMAIN_NVTX)
		nvtx_called(thread, id, data);
	else if (((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_ENTER)
		call_begins(thread, data);
	else
		call_ends(thread,
			  parameters_known(domain, id,
					   ((const CUpti_CallbackData *)data)->functionName),
			  data);
}

/* Library calls do not count in depth, so the CUDA calls inside them are recorded, too. */
uint64_t farwire_library_called(const char *function, uint64_t start_ns)
{
	struct thread *thread = atomic_load(&recorder.recording) ? thread_self() : NULL;
	struct trace_record record = {
		.call = {.function = function, .start_ns = start_ns, .stream = TRACE_NO_STREAM}};
	if (!thread)
		return 0;
	record.call.thread = thread->index;
	recorder.cupti.cuptiGetTimestamp(&record.call.end_ns);
	if (function)
		thread_record(thread, &record);
	return record.call.end_ns;
}

/* ---- GPU work ---- */

static void CUPTIAPI buffer_requested(uint8_t **bytes, size_t *size_B, size_t *records_max)
{
	void *memory = NULL;
	*records_max = 0;
	*size_B = ACTIVITY_BUFFER_B;
	if (posix_memalign(&memory, ACTIVITY_ALIGN_B, ACTIVITY_BUFFER_B) != 0)
		*size_B = 0;
	*bytes = memory;
}

static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *bytes,
				      size_t size_B, size_t valid_B)
{
	size_t dropped = 0;
	(void)size_B;
	if (recorder.cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) ==
	    CUPTI_SUCCESS)
		atomic_fetch_add(&recorder.dropped, dropped);
	struct buffer *buffer = valid_B ? malloc(sizeof *buffer) : NULL;
	if (!buffer) {
		atomic_fetch_add(&recorder.dropped, valid_B > 0);
		free(bytes);
		return;
	}
	*buffer = (struct buffer){bytes, valid_B, NULL};
	pthread_mutex_lock(&recorder.lock);
	*recorder.buffers_end = buffer;
	recorder.buffers_end = &buffer->next;
	pthread_cond_signal(&recorder.work);
	pthread_mutex_unlock(&recorder.lock);
}

/* ---- the writer thread ---- */

static void write_chunk(const struct record_chunk *chunk)
{
	for (size_t i = 0; i < chunk->count; i++) {
		const struct trace_record *record = &chunk->records[i];
		if (record->mark)
			calls_writer_mark(recorder.writer, record->step, record->call.start_ns,
					  record->call.thread);
		else
			calls_writer_call(recorder.writer, &record->call);
	}
}

/* Writes all full chunks and buffers. The lock is held at entry and at return. */
static void write_all(void)
{
	while (recorder.full_chunks || recorder.full_buffers) {
		struct record_chunk *chunks = recorder.full_chunks;
		struct buffer *buffers = recorder.full_buffers;
		recorder.full_chunks = NULL;
		recorder.full_end = &recorder.full_chunks;
		recorder.full_buffers = NULL;
		recorder.buffers_end = &recorder.full_buffers;
		pthread_mutex_unlock(&recorder.lock);
		for (struct buffer *next; buffers; buffers = next) {
			next = buffers->next;
			CUpti_Activity *record = NULL;
			while (recorder.cupti.cuptiActivityGetNextRecord(
				       buffers->bytes, buffers->size_B, &record) == CUPTI_SUCCESS)
				activity_write(recorder.writer, record, recorder.version);
			free(buffers->bytes);
			free(buffers);
		}
		for (struct record_chunk *chunk = chunks; chunk; chunk = chunk->next)
			write_chunk(chunk);
		calls_writer_flush(recorder.writer);
		pthread_mutex_lock(&recorder.lock);
		for (struct record_chunk *next; chunks; chunks = next) {
			next = chunks->next;
			chunks->count = 0;
			chunks->next = recorder.free_chunks;
			recorder.free_chunks = chunks;
		}
	}
}

static void *writer_run(void *ctx)
{
	pthread_mutex_lock(&recorder.lock);
	for (;;) {
		write_all();
		if (recorder.finished)
			break;
		pthread_cond_wait(&recorder.work, &recorder.lock);
	}
	pthread_mutex_unlock(&recorder.lock);
	return NULL;
}

/* ---- begin and end ---- */

/* Runs at the end of the program. In a forked child it does nothing, because the child has no
 * writer thread. */
static void finish(void)
{
	if (getpid() != recorder.pid || !atomic_exchange(&recorder.recording, false))
		return;
	recorder.cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	pthread_mutex_lock(&recorder.lock);
	struct thread *threads = recorder.threads;
	pthread_mutex_unlock(&recorder.lock);
	for (; threads; threads = threads->next)
		thread_ended(threads);
	pthread_mutex_lock(&recorder.lock);
	recorder.finished = true;
	pthread_cond_signal(&recorder.work);
	pthread_mutex_unlock(&recorder.lock);
	pthread_join(recorder.writer_thread, NULL);
	if (!calls_writer_close(recorder.writer, atomic_load(&recorder.dropped)))
		fprintf(stderr, "farwire-trace: '%s' is incomplete: %s\n", recorder.path,
			strerror(errno));
}

/* Creates the file, or a second file next to it if another process of the program uses it. */
static FILE *file_open(const char *path)
{
	char own[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST) {
		snprintf(own, sizeof own, "%s.%ld", path, (long)getpid());
		fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0)
			fprintf(stderr,
				"farwire-trace: another process of the program is recorded in "
				"'%s'\n",
				own);
	}
	return fd < 0 ? NULL : fdopen(fd, "w");
}

static const char *enable(CUpti_SubscriberHandle subscriber)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
		CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_GRAPH_TRACE};
	const struct cupti *cupti = &recorder.cupti;
	if (cupti->cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed) !=
	    CUPTI_SUCCESS)
		return "CUPTI refuses activity records";
	/* older versions lack some of them */
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		cupti->cuptiActivityEnable(kinds[i]);
	if (cupti->cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API) != CUPTI_SUCCESS ||
	    cupti->cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API) != CUPTI_SUCCESS)
		return "CUPTI refuses to report calls";
	cupti->cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_NVTX);
	return NULL;
}

static const char *begin(void)
{
	const char *chunks = getenv("FARWIRE_TRACE_BUFFERS");
	long chunk_count = chunks && chunks[0] ? strtol(chunks, NULL, 10) : CHUNKS_DEFAULT;
	uint64_t start_ns = 0;
	recorder.path = getenv("FARWIRE_TRACE_FILE");
	if (!recorder.path || !recorder.path[0])
		return "FARWIRE_TRACE_FILE is not set (start the program with farwire-trace)";
	if (chunk_count < 1 || chunk_count > CHUNKS_MAX)
		return "FARWIRE_TRACE_BUFFERS is not a number from 1 to 65536";
	const char *wrong = cupti_open(&recorder.cupti);
	if (wrong)
		return wrong;
	CUpti_SubscriberHandle subscriber;
	if (recorder.cupti.cuptiSubscribe(&subscriber, called, NULL) != CUPTI_SUCCESS)
		return "CUPTI refuses a subscriber (another profiler uses it, or there is no GPU)";
	FILE *out = file_open(recorder.path);
	if (!out)
		return "the file cannot be written";
	recorder.pid = getpid();
	recorder.full_end = &recorder.full_chunks;
	recorder.buffers_end = &recorder.full_buffers;
	const char *program = getenv("FARWIRE_TRACE_PROGRAM");
	recorder.cupti.cuptiGetVersion(&recorder.version);
	recorder.cupti.cuptiGetTimestamp(&start_ns);
	recorder.writer = calls_writer_new(out, program ? program : "", start_ns);
	if (!recorder.writer || !chunks_make((size_t)chunk_count) ||
	    pthread_key_create(&recorder.thread_key, thread_ended) != 0 ||
	    pthread_create(&recorder.writer_thread, NULL, writer_run, NULL) != 0)
		return "out of memory";
	if (atexit(finish) != 0)
		return "the exit handler cannot be registered";
	atomic_store(&recorder.recording, true);
	return enable(subscriber);
}

int InitializeInjection(void)
{
	const char *wrong = begin();
	if (!wrong)
		return 1;
	atomic_store(&recorder.recording, false);
	fprintf(stderr, "farwire-trace: nothing is recorded: %s\n", wrong);
	return 0;
}
