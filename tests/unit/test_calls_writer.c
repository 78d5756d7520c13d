/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's writer with artificial records. The lines must follow docs/formats.md in any order
 * in which calls and kernels arrive. */
#include "calib/trace/calls_writer.h"

#include <stdlib.h>

#include "calib/trace/calls_writer.c"
#include "tests/test.h"

static char *text;
static size_t text_B;
static struct calls_writer *writer;

static void begin(void)
{
	writer = calls_writer_new(open_memstream(&text, &text_B), "a \"program\"", 1000);
	CHECK(writer != NULL);
}

/* Returns the n-th line. */
static const char *line(int n)
{
	static char copy[1024];
	const char *at = text;
	while (n-- > 0 && at)
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
	snprintf(copy, sizeof copy, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
	return copy;
}

static void end(uint64_t dropped)
{
	CHECK(calls_writer_close(writer, dropped));
}

static struct trace_call call_of(const char *function, uint32_t correlation)
{
	return (struct trace_call){.function = function,
				   .start_ns = 2000,
				   .end_ns = 6500,
				   .correlation = correlation,
				   .thread = 1,
				   .stream = TRACE_NO_STREAM};
}

static struct trace_gpu kernel_of(uint32_t correlation)
{
	return (struct trace_gpu){.work = TRACE_KERNEL,
				  .start_ns = 1000000001000,
				  .end_ns = 1000000002500,
				  .correlation = correlation,
				  .stream = 7,
				  .label = "k\n"};
}

#define LAUNCHED                                                                                   \
	"{\"thread\":1,\"call\":\"cudaLaunchKernel\",\"start_s\":0.000001000,"                     \
	"\"end_s\":0.000005500,\"stream\":7,\"kernel_s\":0.000001500,"                             \
	"\"gpu_start_s\":1000.000000000,\"label\":\"k\\u000a\"}"

static void call_and_kernel_join_in_either_order(void)
{
	struct trace_call call = call_of("cudaLaunchKernel_v7000", 4);
	struct trace_gpu gpu = kernel_of(4);
	begin();
	calls_writer_call(writer, &call);
	calls_writer_gpu(writer, &gpu);
	call.correlation = gpu.correlation = 5;
	call.function = "cudaLaunchKernel_ptsz";
	calls_writer_gpu(writer, &gpu);
	calls_writer_call(writer, &call);
	call.correlation = 6; /* matched by the number of the inner call */
	call.inner_correlation = gpu.correlation = 7;
	calls_writer_call(writer, &call);
	calls_writer_gpu(writer, &gpu);
	call.correlation = 8;
	call.inner_correlation = gpu.correlation = 9;
	calls_writer_gpu(writer, &gpu);
	calls_writer_call(writer, &call);
	end(0);
	CHECK(strstr(line(0), "\"version\":1,") && strstr(line(0), "a \\\"program\\\""));
	for (int i = 1; i <= 4; i++)
		CHECK_TEXT(line(i), LAUNCHED);
	CHECK_TEXT(line(5),
		   "{\"end\":true,\"lines\":4,\"memory_B\":0,\"dropped\":0,\"orphans\":0}");
	free(text);
}

/* Launches without a kernel are written at the end. Kernels without a launch are not written. */
static void launches_without_kernels_are_written_at_the_end(void)
{
	struct trace_call call = call_of("cudaLaunchKernel", 4);
	struct trace_gpu gpu = kernel_of(40);
	begin();
	calls_writer_call(writer, &call);
	calls_writer_gpu(writer, &gpu);
	call = call_of("cuStreamQuery", 5);
	call.ready = TRACE_READY_NO;
	call.stream = 13;
	calls_writer_call(writer, &call);
	end(3);
	CHECK(strstr(line(1), "\"cuStreamQuery\"") && strstr(line(1), "\"stream\":13"));
	CHECK(strstr(line(1), "\"ready\":false") != NULL);
	CHECK(strstr(line(2), "\"cudaLaunchKernel\"") && !strstr(line(2), "kernel_s"));
	CHECK_TEXT(line(3),
		   "{\"end\":true,\"lines\":2,\"memory_B\":0,\"dropped\":3,\"orphans\":1}");
	free(text);
}

static void copies_events_and_memory_have_their_fields(void)
{
	struct trace_call call = call_of("cudaMemcpyAsync_v3020", 1);
	struct trace_gpu gpu = {.work = TRACE_COPY,
				.start_ns = 500, /* before time zero */
				.end_ns = 1500,
				.size_B = 4096,
				.correlation = 1,
				.stream = 7,
				.copy = "h2d",
				.memory = "pageable"};
	begin();
	call.size_B = 4096; /* written once */
	calls_writer_call(writer, &call);
	calls_writer_gpu(writer, &gpu);
	for (uint64_t handle = 100; handle < 104; handle++) {
		call = call_of("cudaEventRecord_v3020", 0);
		call.event = handle - handle % 2;
		calls_writer_call(writer, &call);
	}
	for (int i = 0; i < 4; i++) { /* 100, 300, 200, 350 bytes are allocated */
		static const uint64_t addresses[] = {1000, 2000, 1000, 1000},
				      sizes_B[] = {100, 200, 0, 150};
		call = call_of(i != 2 ? "cudaMalloc_ptds" : "cudaFree_v3020_ptsz", 0);
		call.address = addresses[i];
		call.size_B = sizes_B[i];
		calls_writer_call(writer, &call);
	}
	calls_writer_mark(writer, 3, 1000001000, 1);
	calls_writer_device(writer, "A GPU");
	end(0);
	CHECK_TEXT(line(1),
		   "{\"thread\":1,\"call\":\"cudaMemcpyAsync\",\"start_s\":0.000001000,"
		   "\"end_s\":0.000005500,\"stream\":7,\"copy\":\"h2d\",\"size_B\":4096,"
		   "\"memory\":\"pageable\",\"copy_s\":0.000001000,\"gpu_start_s\":0.000000000}");
	CHECK(strstr(line(3), "\"event\":0") && strstr(line(4), "\"event\":1"));
	CHECK_PART(line(8), "\"call\":\"cudaFree\",");
	CHECK_PART(line(9), "\"call\":\"cudaMalloc\",");
	CHECK_TEXT(line(10), "{\"step\":3,\"thread\":1,\"t_s\":1.000000000}");
	CHECK_TEXT(line(11), "{\"end\":true,\"lines\":10,\"memory_B\":350,\"dropped\":0,"
			     "\"orphans\":0,\"gpu\":\"A GPU\"}");
	free(text);
}

/* A memset and a call of a library wait for their GPU work; "Set" and "Ctx" start none. A second
 * record of one call is an orphan, as is a record without a number. */
static void calls_that_start_work_wait_for_it(void)
{
	static const char *const names[] = {"cuMemsetD8Async", "cudaSetDevice", "someLibraryCall",
					    "cuCtxGetCurrent"};
	struct trace_gpu gpu = kernel_of(3);
	struct trace_call freed = call_of("cudaFree", 0);
	begin();
	for (uint32_t i = 0; i < 4; i++) {
		struct trace_call call = call_of(names[i], i + 1);
		calls_writer_call(writer, &call);
	}
	calls_writer_gpu(writer, &gpu);
	gpu.correlation = 0;
	calls_writer_gpu(writer, &gpu);
	gpu = kernel_of(1);
	gpu.label = "a\\b\x7f";
	calls_writer_gpu(writer, &gpu);
	gpu.correlation = 9;
	calls_writer_gpu(writer, &gpu);
	calls_writer_gpu(writer, &gpu);
	freed.address = 1000; /* an address without an allocation */
	calls_writer_call(writer, &freed);
	end(0);
	static const char *const order[] = {"cudaSetDevice", "cuCtxGetCurrent", "someLibraryCall",
					    "cuMemsetD8Async", "cudaFree"};
	for (int i = 0; i < 5; i++)
		CHECK_PART(line(i + 1), order[i]);
	CHECK_PART(line(4), "\"label\":\"a\\\\b\\u007f\"");
	CHECK_TEXT(line(6),
		   "{\"end\":true,\"lines\":5,\"memory_B\":0,\"dropped\":0,\"orphans\":3}");
	free(text);
}

/* Many calls that wait at the same time must neither be lost nor mixed up. */
static void twenty_thousand_waiting_calls_are_all_matched(void)
{
	enum { COUNT = 20000 };
	begin();
	for (uint32_t i = 1; i <= COUNT; i++) {
		struct trace_call call = call_of("cudaLaunchKernel", i);
		call.start_ns = 1000 + i;
		calls_writer_call(writer, &call);
	}
	for (uint32_t i = 0; i < COUNT; i++) {
		struct trace_gpu gpu = kernel_of(1 + i * 7 % COUNT);
		gpu.end_ns = gpu.start_ns + gpu.correlation;
		calls_writer_gpu(writer, &gpu);
	}
	end(0);
	int same = 0;
	for (const char *at = text; (at = strstr(at, "\"start_s\":0.0000")) != NULL; at++) {
		const char *kernel = strstr(at, "\"kernel_s\":0.0000");
		same += kernel && strtol(at + 16, NULL, 10) == strtol(kernel + 17, NULL, 10);
	}
	CHECK(same == COUNT);
	free(text);
}

static const struct test tests[] = {TEST(call_and_kernel_join_in_either_order),
				    TEST(launches_without_kernels_are_written_at_the_end),
				    TEST(copies_events_and_memory_have_their_fields),
				    TEST(calls_that_start_work_wait_for_it),
				    TEST(twenty_thousand_waiting_calls_are_all_matched)};

int main(void)
{
	return TEST_MAIN(tests);
}
