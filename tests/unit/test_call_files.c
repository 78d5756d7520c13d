/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading recordings: call files and traces of PyTorch's profiler. Invalid content is
 * refused with its line. */
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/arena.h"
#include "sim/base/diag.h"
#include "sim/traces/call_file.h"
#include "sim/traces/functions.h"
#include "sim/traces/readers.h"
#include "sim/traces/replay.h"
#include "tests/much_memory.h"
#include "tests/test.h"

static struct arena *arena;
static struct diag *diag;

static void begin(void)
{
	arena = arena_new();
	diag = diag_new(arena);
}

static FILE *file_of(const char *text)
{
	FILE *file = tmpfile();
	fputs(text, file);
	rewind(file);
	return file;
}

/* ---- call files ---- */

static const struct recorded_calls *read_text(const char *text)
{
	char path[] = "/tmp/farwire-test-XXXXXX";
	int fd = mkstemp(path);
	FILE *file = fdopen(fd, "w");
	fputs(text, file);
	fclose(file);
	const struct recorded_calls *recorded = call_file_read(arena, diag, path);
	unlink(path);
	return recorded;
}

#define HEAD "{\"format\":\"farwire-calls\",\"version\":1,\"tool\":\"t\"}\n"
#define CALL "{\"call\":\"cudaMalloc\",\"start_s\":1,\"end_s\":2,\"size_B\":8,\"later\":[{}]}\n"
#define END  "{\"end\":true}\n"

static void refuses(const char *text, const char *said)
{
	begin();
	CHECK(read_text(text) == NULL);
	CHECK(diag_count(diag) == 1);
	const char *error = diag_count(diag) ? diag_at(diag, 0) : "nothing";
	if (!CHECK(strstr(error, said) != NULL))
		printf("  no '%s' in: %s\n", said, error);
	arena_free(arena);
}

static void invalid_call_files_are_refused_with_their_line(void)
{
	refuses("", "is empty");
	refuses("not JSON", ":1: the line is not JSON");
	refuses("{\"format\":\"farwire-samples\",\"version\":1}\n", "not farwire-calls");
	refuses("{\"format\":\"farwire-calls\",\"version\":2}\n", "version 2");
	refuses(CALL END, ":1: the first line does not name the format");
	refuses(HEAD CALL, "cut off");
	refuses(HEAD CALL "{\"call\":\"cudaMalloc\",\"sta",
		":3: the line is not JSON: the file ends inside a text (the recording was cut "
		"off)");
	refuses(HEAD END, "contains no CUDA call (record");
	refuses(HEAD CALL END CALL, ":4: there are lines after the end line");
	refuses(HEAD HEAD CALL END, ":2: this is a second header line");
	refuses(HEAD CALL "{\"end\":true,\"lines\":2}\n", "some are missing");
	refuses(HEAD CALL "{\"end\":true,\"lines\":0}\n", "some are missing");
	refuses(HEAD CALL "{\"end\":true,\"dropped\":9}\n", "lost 9 records");
	refuses(HEAD "[1]\n" END, ":2: the line must be one JSON object");
	refuses(HEAD "{}\n" END, "the line must be a call, a step or the end line");
	refuses(HEAD "{\"call\":\"cudaFree\",\"start_s\":1}\n" END,
		"the call needs start_s and end_s");
	refuses(HEAD "{\"call\":\"cudaFree\",\"start_s\":2,\"end_s\":1}\n" END,
		":2: the call ends before it begins");
	refuses(HEAD "{\"call\":\"cudaFree\",\"start_s\":NaN,\"end_s\":1}\n" END,
		"start_s must be a finite number");
	refuses(HEAD "{\"call\":\"cudaFree\",\"start_s\":-1,\"end_s\":1}\n" END,
		"start_s must be from 0 to 1e+09 (got -1)");
	refuses(HEAD "{\"call\":7,\"start_s\":1,\"end_s\":1}\n" END, "call must be a string");
	refuses(HEAD "{\"call\":\"cudaFree\",\"start_s\":1,\"end_s\":1,\"thread\":1e9}\n" END,
		"thread must be from 0 to 4095 (got 1e+09)");
	refuses(HEAD "{\"call\":\"c\",\"start_s\":1,\"end_s\":1,\"copy\":\"up\"}\n" END,
		"must be h2d, d2h");
	refuses(HEAD "{\"call\":\"c\",\"start_s\":1,\"end_s\":1,\"copy\":\"h2d\"}\n" END,
		"the copy has no size_B");
	refuses(HEAD "{\"step\":1}\n" END, "the step has no t_s");
	refuses(HEAD CALL "{\"end\":1}\n", ":3: end must be true or false");
}

/* A file that is cut anywhere, or in which any byte is changed, must give an error or another
 * recording. */
static void cut_or_changed_call_files_never_crash(void)
{
	static const char whole[] =
		HEAD "{\"step\":1,\"t_s\":0.5,\"thread\":1}\n" CALL
		     "{\"call\":\"cudaMemcpy\",\"start_s\":1.5e0,\"end_s\":2,\"copy\":\"h2d\","
		     "\"size_B\":8,\"memory\":\"pinned\",\"ready\":true,\"label\":\"\\u00e9\"}\n"
		     "{\"end\":true,\"lines\":3}\n";
	char text[sizeof whole];
	uint32_t random = 1;
	begin();
	CHECK(read_text(whole) != NULL);
	for (size_t length = 0; length < sizeof whole - 2;
	     length++) { /* without the last newline it is still complete */
		memcpy(text, whole, length);
		text[length] = '\0';
		if (!CHECK(read_text(text) == NULL))
			printf("  cut after %zu bytes\n", length);
	}
	for (size_t i = 0; i < 4 * sizeof whole; i++) {
		memcpy(text, whole, sizeof whole);
		random = random * 1664525 + 1013904223;
		text[i % (sizeof whole - 1)] = (char)(1 + (random >> 16) % 255);
		size_t errors = diag_count(diag);
		const struct recorded_calls *recorded = read_text(text);
		CHECK(recorded ? recorded->call_count > 0 : diag_count(diag) == errors + 1);
	}
	arena_free(arena);
}

/* Calls are sorted by thread and time; inner calls pass their kernel to the outer call. */
static void calls_are_sorted_and_kernels_move_to_the_outer_call(void)
{
	begin();
	const struct recorded_calls *recorded = read_text(
		HEAD "{\"thread\":9,\"call\":\"cudaB\",\"start_s\":5,\"end_s\":6}\n"
		     "{\"thread\":4,\"call\":\"cuInner\",\"start_s\":2.2,\"end_s\":2.4,"
		     "\"stream\":3,\"kernel_s\":0.5,\"label\":\"k\"}\n"
		     "{\"step\":2,\"t_s\":7,\"thread\":4}\n"
		     "{\"step\":1,\"t_s\":0.5,\"thread\":9}\n"
		     "{\"thread\":4,\"call\":\"cudaOuter\",\"start_s\":2,\"end_s\":3}\n"
		     "{\"thread\":9,\"call\":\"cudaA\",\"start_s\":1,\"end_s\":5.000000001}\n" END);
	CHECK(recorded && recorded->call_count == 3 && recorded->thread_count == 2);
	if (recorded && recorded->call_count == 3) {
		const struct recorded_call *calls = recorded->calls;
		CHECK_TEXT(calls[0].function, "cudaA");
		CHECK_TEXT(calls[1].function, "cudaB");
		CHECK(calls[1].start_s >= calls[0].end_s);
		CHECK_TEXT(calls[2].function, "cudaOuter");
		CHECK(calls[0].thread == 0 && calls[2].thread == 1 && calls[2].stream == 3);
		CHECK_NEAR(calls[2].gpu_s, 0.5, 0);
		CHECK_TEXT(calls[2].label, "k");
		CHECK(recorded->marks[0].step == 1 && recorded->marks[0].thread == 0);
		CHECK(recorded->marks[1].step == 2 && recorded->marks[1].thread == 1);
	}
	arena_free(arena);
}

/* ---- functions ---- */

static const struct {
	const char *name;
	enum call_kind kind;
	enum function_host host;
} rows[] = {
	{"cudaLaunchKernelExC", CALL_LAUNCH, HOST_ROW},
	{"cuLaunchKernel", CALL_LAUNCH, HOST_ROW},
	{"cudaGraphLaunch", CALL_LAUNCH, HOST_OWN},
	{"cudaMallocAsync", CALL_MALLOC, HOST_OWN},
	{"cudaMalloc", CALL_MALLOC, HOST_ROW},
	{"cuMemFree", CALL_FREE, HOST_ROW},
	{"cudaGetDevice", CALL_GET_DEVICE, HOST_ROW},
	{"cudaGetDeviceProperties", CALL_GET_ATTRIBUTE, HOST_ROW},
	{"cudaStreamIsCapturing", CALL_IS_CAPTURING, HOST_ROW},
	{"cudaEventCreateWithFlags", CALL_CREATE_HANDLE, HOST_ROW},
	{"cuCtxSynchronize", CALL_DEVICE_SYNCHRONIZE, HOST_ROW},
	{"cudaFreeAsync", CALL_MALLOC, HOST_OWN},
	{"cuCtxPopCurrent", CALL_SET_DEVICE, HOST_ROW},
	{"cudaEventElapsedTime", CALL_GET_VALUE, HOST_OWN},
	{"cuMemGetInfo_v2", CALL_GET_VALUE, HOST_OWN},
	{"cudaPointerGetAttributes", CALL_GET_VALUE, HOST_ROW},
	{"cudaFuncGetAttributes", CALL_GET_ATTRIBUTE, HOST_ROW},
	{"cudaFuncSetAttribute", CALL_LIBRARY, HOST_OWN},
	{"cudnnCreateTensorDescriptor", CALL_CREATE_HANDLE, HOST_OWN},
	{"cudnnSetTensorNdDescriptor", CALL_LIBRARY, HOST_OWN},
	{"cudnnBackendSetAttribute", CALL_LIBRARY, HOST_OWN},
	{"cudnnGetConvolutionForwardWorkspaceSize", CALL_GET_VALUE, HOST_OWN},
	{"cudnnFindConvolutionForwardAlgorithm", CALL_MALLOC, HOST_OWN},
	{"cudnnConvolutionForward", CALL_LAUNCH, HOST_OWN},
	{"cublasLtMatmulDescCreate", CALL_CREATE_HANDLE, HOST_OWN},
	{"cublasLtMatmulAlgoGetHeuristic", CALL_GET_VALUE, HOST_OWN},
	{"cublasSetStream_v2", CALL_LIBRARY, HOST_OWN},
	{"cublasGetMatrix", CALL_MALLOC, HOST_OWN},
	{"cublasGemmEx", CALL_LAUNCH, HOST_OWN},
	{"hipblasSgemm", CALL_LAUNCH, HOST_OWN},
	{"cusparseSpMM_bufferSize", CALL_GET_VALUE, HOST_OWN},
	{"cusolverDnSgetrf", CALL_LAUNCH, HOST_OWN},
	{"curandGenerateUniform", CALL_LAUNCH, HOST_OWN},
	{"cufftPlan1d", CALL_MALLOC, HOST_OWN},
	{"cufftExecC2C", CALL_LAUNCH, HOST_OWN},
	{"cuModuleLoadData", CALL_MALLOC, HOST_OWN},
	{"cuModuleGetFunction", CALL_GET_VALUE, HOST_OWN},
	{"cuLibraryGetKernel", CALL_GET_VALUE, HOST_OWN},
	{"cuKernelGetParamInfo", CALL_GET_ATTRIBUTE, HOST_ROW},
	{"cuStreamGetCaptureInfo_v2", CALL_IS_CAPTURING, HOST_ROW},
	{"cuStreamBeginCapture_v2", CALL_LIBRARY, HOST_OWN},
	{"__cudaPushCallConfiguration", CALL_GET_DEVICE, HOST_ROW},
	{"__cudaRegisterFunction", CALL_LIBRARY, HOST_OWN},
	{"cudnnBackendFinalize", CALL_GET_VALUE, HOST_OWN},
	{"cudnnGetVersion", CALL_GET_ATTRIBUTE, HOST_OWN},
	{"cublasGetStatusString", CALL_GET_ATTRIBUTE, HOST_OWN},
	{"cublasLtMatmulAlgoCheck", CALL_GET_VALUE, HOST_OWN},
	{"cublasLtMatmul", CALL_LAUNCH, HOST_OWN},
	{"ncclBcast", CALL_BROADCAST, HOST_ROW},
	{"ncclReduce", CALL_LAUNCH, HOST_ROW},
	{"ncclGetUniqueId", CALL_GET_VALUE, HOST_OWN},
	{"ncclCommInitRank", CALL_MALLOC, HOST_OWN},
};

static void function_names_map_to_kinds_of_calls(void)
{
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct recorded_call call = {.function = rows[i].name};
		struct function_use use = function_use(&call);
		if (!CHECK(use.kind == rows[i].kind && use.host == rows[i].host))
			printf("  %s\n", rows[i].name);
	}
	CHECK(function_copy("cuMemcpyHtoD") == COPY_H2D &&
	      function_copy("cuMemcpyDtoD") == COPY_D2D);
	CHECK(function_copy("cudaMemcpyPeer") == COPY_NONE && function_copy("myHtoD") == COPY_NONE);
	struct arena *names = arena_new();
	CHECK_TEXT(function_without_version(names, "cuMemcpyHtoD_v2"), "cuMemcpyHtoD");
	CHECK_TEXT(function_without_version(names, "my_v_v0"), "my_v");
	CHECK_TEXT(function_without_version(names, "my_v9"), "my");
	CHECK_TEXT(function_without_version(names, "my_v:_v/"), "my_v:_v/");
	arena_free(names);
	CHECK(function_is_cuda("cuInit") && function_is_cuda("cudaFree"));
	CHECK(!function_is_cuda("cublasCreate") && !function_is_cuda("cuda") &&
	      !function_is_cuda("launch"));
}

/* A library call has the kernels of all launches in it. An outer call that is a launch has one. */
static void kernels_of_a_library_call_add_up(void)
{
	begin();
	const struct recorded_calls *recorded = read_text(
		HEAD "{\"call\":\"cublasGemmEx\",\"start_s\":1,\"end_s\":2}\n"
		     "{\"call\":\"cudaLaunchKernel\",\"start_s\":1.1,\"end_s\":1.2,\"stream\":3,"
		     "\"kernel_s\":0.5,\"gpu_start_s\":1.2,\"label\":\"gemm\"}\n"
		     "{\"call\":\"cuLaunchKernel\",\"start_s\":1.12,\"end_s\":1.18,"
		     "\"kernel_s\":0.5,\"gpu_start_s\":1.2}\n"
		     "{\"call\":\"cudaLaunchKernel\",\"start_s\":1.3,\"end_s\":1.4,\"stream\":3,"
		     "\"kernel_s\":0.25,\"gpu_start_s\":1.7,\"label\":\"splitK\"}\n" END);
	if (CHECK(recorded && recorded->call_count == 1)) {
		CHECK_TEXT(recorded->calls[0].function, "cublasGemmEx");
		CHECK_TEXT(recorded->calls[0].label, "gemm");
		CHECK_NEAR(recorded->calls[0].gpu_s, 0.75, 1e-12);
		CHECK(recorded->calls[0].stream == 3);
	}
	arena_free(arena);
}

/* Copies of the driver have their direction in the name. A copy without bytes was
 * recorded into a graph, so it is not played as a copy. */
static void bytes_of_calls_are_kept(void)
{
	begin();
	const struct recorded_calls *recorded = read_text(
		HEAD "{\"call\":\"cuMemcpyHtoDAsync_v2\",\"start_s\":1,\"end_s\":2,"
		     "\"size_B\":64,\"compressibility\":2.5}\n"
		     "{\"call\":\"cuMemcpyDtoH_v2\",\"start_s\":3,\"end_s\":4,\"size_B\":8}\n"
		     "{\"call\":\"cuMemcpyDtoHAsync\",\"start_s\":5,\"end_s\":6}\n"
		     "{\"call\":\"cuLaunchKernel\",\"start_s\":7,\"end_s\":8,"
		     "\"arguments_B\":960}\n" END);
	if (CHECK(recorded && recorded->call_count == 4)) {
		const struct recorded_call *calls = recorded->calls;
		CHECK(function_use(&calls[0]).kind == CALL_MEMCPY_H2D_ASYNC);
		CHECK(function_use(&calls[1]).kind == CALL_MEMCPY_D2H);
		CHECK(calls[2].copy == COPY_NONE);
		CHECK_NEAR((double)calls[0].compressibility, 2.5, 0);
		CHECK_NEAR((double)calls[3].arguments_B, 960, 0);
		const struct replay_step step = {.end_s = 9};
		const struct calls_params params = {.arguments_B = 120};
		const struct program *program = replay_program(
			arena, &(struct replay_spec){
				       .recorded = recorded, .step = &step, .params = &params});
		const struct call_thread *thread = &program->threads[0];
		CHECK_NEAR((double)thread->items[1].call.compressibility, 2.5, 0);
		CHECK_NEAR((double)thread->items[1].call.arguments_B, 120, 0);
		CHECK_NEAR((double)thread->items[thread->count - 2].call.arguments_B, 960, 0);
	}
	arena_free(arena);
	refuses(HEAD "{\"call\":\"c\",\"start_s\":1,\"end_s\":1,\"compressibility\":256}\n" END,
		"compressibility must be from 0 to 255 (got 256)");
	refuses(HEAD "{\"call\":\"c\",\"start_s\":1,\"end_s\":1,\"arguments_B\":-1}\n" END,
		"arguments_B must be from 0 to 1e+09 (got -1)");
}

/* ---- traces of PyTorch's profiler ---- */

static const struct recorded_calls *read_kineto(const char *text)
{
	struct profile_counts counts;
	FILE *file = file_of(text);
	const struct recorded_calls *recorded =
		kineto_read(arena, diag, file, "trace.json", NULL, &counts);
	fclose(file);
	return recorded;
}

#define EVENT(cat, name, ts, dur, tid, args)                                                       \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid           \
	",\"ts\":17140612345678" ts ",\"dur\":" dur ",\"args\":{" args "}}"

/* Times are microseconds since 1970 in the year 2024. A double keeps quarters of them. */
static const char *const trace_events[] = {
	"{\"ph\":\"M\",\"name\":\"process_name\",\"args\":{\"labels\":{}}}",
	EVENT("kernel", "gemm", "40.125", "30.5", "7",
	      "\"correlation\":5,\"stream\":7,\"device\":0,\"grid\":[1,2,3]"),
	EVENT("cuda_runtime", "cudaLaunchKernel", "20.001", "4.250", "11",
	      "\"cbid\":211,\"correlation\":5"),
	EVENT("cuda_driver", "cuLaunchKernel", "21.001", "2", "11", "\"correlation\":6"),
	EVENT("cuda_runtime", "cudaMemcpyAsync", "30", "5", "\"loader\"", "\"correlation\":8"),
	EVENT("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", "60", "9", "7",
	      "\"correlation\":8,\"stream\":20,\"device\":1,\"bytes\":4096"),
	EVENT("cuda_runtime", "cudaEventRecord", "32", "1", "11", "\"correlation\":9"),
	EVENT("cuda_runtime", "cudaStreamWaitEvent", "34", "1", "11", "\"correlation\":10"),
	EVENT("cuda_sync", "Stream Wait Event", "34", "1", "20",
	      "\"correlation\":10,\"stream\":20,\"wait_on_stream\":7,"
	      "\"wait_on_cuda_event_record_corr_id\":9"),
	EVENT("cuda_runtime", "cudaEventRecord", "36", "1", "11", "\"correlation\":12"),
	EVENT("cuda_event", "Event Record", "37", "1", "7", "\"correlation\":12,\"stream\":7"),
	EVENT("cpu_op", "aten::mm", "10", "50", "11", "\"correlation\":5"),
	EVENT("user_annotation", "ProfilerStep#3", "10", "80", "11", ""),
	EVENT("gpu_user_annotation", "ProfilerStep#3", "40", "50", "7", ""),
	EVENT("kernel", "orphan", "80", "1", "7", "\"correlation\":99"),
};

static void kineto_trace_joins_calls_and_kernels(void)
{
	begin();
	const char *text = "{\"deviceProperties\":[{\"id\":0,\"name\":\"GPU 0\",\"x\":[1]},"
			   "{\"name\":\"GPU 1\"}],\"traceEvents\":[";
	for (size_t i = 0; i < sizeof trace_events / sizeof trace_events[0]; i++)
		text = arena_printf(arena, "%s%s%s", text, i ? "," : "", trace_events[i]);
	const struct recorded_calls *recorded = read_kineto(arena_printf(arena, "%s]}", text));
	diag_print(diag, stdout);
	CHECK(recorded && recorded->call_count == 5 && recorded->thread_count == 2);
	if (recorded && recorded->call_count == 5) {
		const struct recorded_call *calls = recorded->calls; /* time zero is 10 */
		CHECK_NEAR(calls[0].start_s, 10.001e-6, 1e-9);
		CHECK_NEAR(calls[0].end_s, 14.251e-6, 1e-9);
		CHECK_NEAR(calls[0].gpu_s, 30.5e-6, 1e-9);
		CHECK_NEAR(calls[0].gpu_start_s, 30.125e-6, 1e-9);
		CHECK_TEXT(calls[0].label, "gemm");
		CHECK(calls[1].event == 9 && calls[1].stream == 7);
		CHECK(calls[2].event == 9 && calls[2].stream == 20);
		CHECK(calls[3].event == 12 && calls[3].stream == 7);
		CHECK(calls[4].thread == 1 && calls[4].copy == COPY_H2D);
		CHECK(calls[4].memory == MEMORY_PAGEABLE && calls[4].stream > 20);
		CHECK_NEAR(calls[4].size_B, 4096, 0);
		CHECK(recorded->mark_count == 2 && recorded->marks[0].step == 3);
		CHECK(recorded->marks[1].step == 4); /* the end of step 3 */
		CHECK_NEAR(recorded->marks[1].t_s, 80e-6, 1e-9);
		CHECK_TEXT(recorded->gpu, "GPU 0");
	}
	arena_free(arena);
}

/* Numbers behind 2^53 are not exact in JSON, so they name no call. */
static void larger_correlations_are_ignored(void)
{
	begin();
	const char *text = "[" EVENT(
		"cuda_runtime", "cudaLaunchKernel", "20", "4", "11",
		"\"correlation\":9007199254740994") "," EVENT("kernel", "gemm", "40", "30", "7",
							      "\"correlation\":9007199254740994,"
							      "\"stream\":7") "]";
	const struct recorded_calls *recorded = read_kineto(text);
	if (CHECK(recorded && recorded->call_count == 1))
		CHECK(recorded->calls[0].gpu_s < 0);
	arena_free(arena);
}

/* Checks that no more megabytes are read than the file has. */
static void watch_reading(void *ctx, size_t before, size_t done, size_t count)
{
	size_t *last = ctx;
	CHECK(before == 0 && done >= *last && done <= count);
	*last = done;
}

/* Counts the look-ups for a trace of `events` events. Each group of four has a launch, its kernel,
 * and two marks of a step (from two threads). The order is unfavourable: kernels are reversed, and
 * marks are far apart. */
static struct profile_counts count_looks(size_t events)
{
	struct profile_counts counts = {0};
	FILE *file = tmpfile();
	size_t count = events / 4;
	begin();
	if (!CHECK(file != NULL))
		return counts;
	fputs("[", file);
	for (size_t i = 0; i < count; i++) {
		fprintf(file,
			"%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
			"\"tid\":1,\"ts\":%zu,\"dur\":1,\"args\":{\"correlation\":%zu}},"
			"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"tid\":7,\"ts\":%zu,"
			"\"dur\":1,\"args\":{\"correlation\":%zu,\"stream\":7}}",
			i ? "," : "", 4 * i, i, 4 * (count - i), count - 1 - i);
		for (int thread = 1; thread <= 2; thread++)
			fprintf(file,
				",{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
				"\"ProfilerStep#%zu\",\"tid\":%d,\"ts\":%zu,\"dur\":4}",
				i * 65536 % 4294967291u, thread, 4 * i);
	}
	fputs("]", file);
	size_t read_MB = 0, size_B = (size_t)ftell(file);
	const struct profile_watch watch = {watch_reading, &read_MB, size_B};
	rewind(file);
	const struct recorded_calls *recorded =
		kineto_read(arena, diag, file, "trace.json", &watch, &counts);
	/* it is told after each 65536 events */
	CHECK(read_MB >= size_B * (events / 65536 * 65536) / events / 1000000 - (events > 65536));
	CHECK(recorded && recorded->call_count == count && recorded->mark_count == count + 1);
	CHECK(counts.events == 4 * count && counts.orphans == 0);
	fclose(file);
	arena_free(arena);
	return counts;
}

/* Four times the events take four times the look-ups, plus log2(4) = 2 for each kernel in the
 * binary search among calls. 50,000 events have 12,500 kernels with about 13 halvings each. Marks
 * take two to four look-ups, depending on the load of their table. */
static void long_traces_take_time_in_proportion(void)
{
	struct profile_counts small = count_looks(50000), large = count_looks(200000);
	CHECK(large.events == 200000 && small.looks > 0);
	CHECK(large.looks <= 4 * small.looks + 2 * 50000 + 10000);
	CHECK(large.looks <= 8 * large.events);
}

static void refuses_kineto(const char *text, const char *said)
{
	begin();
	CHECK(read_kineto(text) == NULL);
	const char *error = diag_count(diag) ? diag_at(diag, 0) : "nothing";
	if (!CHECK(strstr(error, said) != NULL))
		printf("  no '%s' in: %s\n", said, error);
	arena_free(arena);
}

static void invalid_kineto_traces_are_refused_with_their_line(void)
{
	refuses_kineto("", "is not a trace");
	refuses_kineto("{\"traceEvents\":[{\"ph\":\"X\",\n\"na",
		       "trace.json:2: the file is not JSON");
	refuses_kineto("{\"traceEvents\":{}}", "traceEvents must be an array");
	refuses_kineto("{\"traceEvents\":[1]}", "must be a JSON object");
	refuses_kineto("{\"schemaVersion\":1}", "contains no CUDA call (profile");
	refuses_kineto("7", "neither a JSON object nor an array");
	refuses_kineto("[" EVENT("cpu_op", "aten::mm", "10", "1", "1", "") "]", "no CUDA call");
	refuses_kineto("[" EVENT("cuda_runtime", "cudaFree", "10", "1", "1", "") "]",
		       "no work of the GPU");
	refuses_kineto("[" EVENT("cuda_runtime", "cudaFree", "10", "-1", "1", "") "]", "has no ts");
	refuses_kineto("[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaFree\",\"tid\":1,"
		       "\"ts\":9000000000000000,\"dur\":1}]",
		       "an event is too large");
	refuses_kineto("[" EVENT("cuda_runtime", "cudaFree", "10", "9000000000000000", "1", "") "]",
		       "an event is too large");
	refuses_kineto(
		"[" EVENT("gpu_memcpy", "Memcpy HtoD", "10", "1", "7", "\"bytes\":1e999") "]",
		"bytes of a copy is too large");
	refuses_kineto("{\"traceEvents\":[]} {}", "is not a trace");
	refuses_kineto("{\"deviceProperties\":[{\"name\":\n1}],\"traceEvents\":[]}",
		       "trace.json:2: each name in deviceProperties must be a string");
}

/* 4096 threads are accepted, 4097 are refused. */
static void more_than_4096_threads_are_refused(void)
{
	for (size_t count = 4096; count <= 4097; count++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);
		fputs("[" EVENT("kernel", "gemm", "40", "30", "7",
				"\"correlation\":5,\"stream\":7"),
		      out);
		for (size_t i = 0; i < count; i++)
			fprintf(out,
				",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":"
				"\"cudaLaunchKernel\","
				"\"tid\":%zu,\"ts\":20,\"dur\":4,\"args\":{\"correlation\":5}}",
				i);
		fputs("]", out);
		fclose(out);
		begin();
		bool there = read_kineto(text) != NULL;
		CHECK(there == (count == 4096));
		if (!there && CHECK(diag_count(diag) > 0))
			CHECK_PART(diag_at(diag, 0),
				   "trace.json:1: the trace has more than 4096 threads");
		free(text);
		arena_free(arena);
	}
}

/* Just below 8 GiB a file is read, above it is refused. */
static void more_than_8_gib_are_refused(void)
{
	static const char trace[] =
		"[" EVENT("cuda_runtime", "cudaLaunchKernel", "20", "4", "11",
			  "\"correlation\":5") "," EVENT("kernel", "gemm", "40", "30", "7",
							 "\"correlation\":5,\"stream\":7") "]";
	for (size_t i = 0; i < 4; i++) {
		size_t beyond = i & 1;
		begin();
		if (much_memory_used(arena, ((size_t)8 << 30) - (beyond ? 0 : 4 << 20))) {
			bool there = i < 2 ? read_text(HEAD CALL END) : read_kineto(trace);
			CHECK(there == !beyond && diag_count(diag) == beyond);
			if (beyond && CHECK(diag_count(diag) > 0))
				CHECK(strstr(diag_at(diag, 0), ":1: " RECORDED_TOO_LARGE));
		}
		arena_free(arena);
	}
}

static const struct test tests[] = {TEST(invalid_call_files_are_refused_with_their_line),
				    TEST(cut_or_changed_call_files_never_crash),
				    TEST(calls_are_sorted_and_kernels_move_to_the_outer_call),
				    TEST(function_names_map_to_kinds_of_calls),
				    TEST(kernels_of_a_library_call_add_up),
				    TEST(bytes_of_calls_are_kept),
				    TEST(kineto_trace_joins_calls_and_kernels),
				    TEST(larger_correlations_are_ignored),
				    TEST(long_traces_take_time_in_proportion),
				    TEST(invalid_kineto_traces_are_refused_with_their_line),
				    TEST(more_than_8_gib_are_refused),
				    TEST(more_than_4096_threads_are_refused)};

int main(void)
{
	return TEST_MAIN(tests);
}
