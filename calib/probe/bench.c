/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/probe/probe.h"
#include "calib/sample/stats.h"

#define CLOCK_READS_COUNT 201

double bench_since_s(const struct bench *bench, struct probe_gpu *gpu, double start_s)
{
	double time_s = gpu->api->now_s(gpu) - start_s - bench->clock_cost_s;
	return time_s > 0 ? time_s : 0;
}

double bench_now_s(struct bench *bench)
{
	return bench->gpu->api->now_s(bench->gpu);
}

int bench_code(struct bench *bench, const struct probe_gpu *gpu, int code)
{
	if (code != GPU_OK)
		snprintf(bench->why, sizeof(bench->why), "%s", gpu->why);
	return code;
}

int bench_call(struct bench *bench, const struct gpu_call *call)
{
	return bench_code(bench, bench->gpu, bench->gpu->api->call(bench->gpu, call));
}

int bench_finish(struct bench *bench)
{
	return bench_code(bench, bench->gpu, bench->gpu->api->finish(bench->gpu));
}

int bench_block(struct bench *bench)
{
	return bench_code(bench, bench->gpu, bench->gpu->api->block(bench->gpu, 0, BENCH_BLOCK_S));
}

int bench_release(struct bench *bench)
{
	return bench_code(bench, bench->gpu, bench->gpu->api->release(bench->gpu));
}

int bench_open(struct bench *bench, struct probe_gpu *gpu)
{
	double steps_s[CLOCK_READS_COUNT];
	bench->gpu = gpu;
	gpu->api->describe(gpu, &bench->facts);
	double last_s = bench_now_s(bench);
	for (size_t i = 0; i < CLOCK_READS_COUNT; i++) {
		double now_s = bench_now_s(bench);
		steps_s[i] = now_s - last_s;
		last_s = now_s;
	}
	stats_sort(steps_s, CLOCK_READS_COUNT);
	bench->clock_cost_s = stats_median_sorted(steps_s, CLOCK_READS_COUNT);
	return bench_finish(bench);
}

int bench_work(struct bench *bench, const struct gpu_work *work)
{
	bench->count = work->repeats;
	return bench_code(bench, bench->gpu, bench->gpu->api->work_make(bench->gpu, work));
}

int bench_square(struct bench *bench)
{
	const size_t side = 2048;
	return bench_work(bench, &(struct gpu_work){.kind = GPU_GEMM,
						    .type = "fp32",
						    .m = side,
						    .n = side,
						    .k = side,
						    .repeats = 1});
}

int bench_sample_work(struct bench *bench, const struct plan_point *point, double *value)
{
	int code = bench_span(bench, &(struct gpu_call){.kind = GPU_WORK}, 1, value);
	*value /= (double)bench->count;
	return code;
}

int bench_time(struct bench *bench, const struct gpu_call *call, double *time_s)
{
	double start_s = bench_now_s(bench);
	int code = bench->gpu->api->call(bench->gpu, call);
	*time_s = bench_since_s(bench, bench->gpu, start_s);
	return bench_code(bench, bench->gpu, code);
}

int bench_span(struct bench *bench, const struct gpu_call *call, size_t repeats, double *time_s)
{
	const struct gpu_call from = {.kind = GPU_RECORD, .stream = call->stream, .event = 0};
	const struct gpu_call to = {.kind = GPU_RECORD, .stream = call->stream, .event = 1};
	int code = bench->gpu->api->block(bench->gpu, call->stream, BENCH_BLOCK_S);
	*time_s = 0;
	GPU_THEN(code, bench->gpu->api->call(bench->gpu, &from));
	for (size_t i = 0; i < repeats && code == GPU_OK; i++)
		code = bench->gpu->api->call(bench->gpu, call);
	GPU_THEN(code, bench->gpu->api->call(bench->gpu, &to));
	bench_code(bench, bench->gpu, code);
	/* The stream must not stay blocked after an error. */
	if (bench->gpu->api->release(bench->gpu) != GPU_OK ||
	    bench->gpu->api->finish(bench->gpu) != GPU_OK)
		return bench_code(bench, bench->gpu, GPU_FAILED);
	GPU_THEN(code,
		 bench_code(bench, bench->gpu, bench->gpu->api->elapsed(bench->gpu, 0, 1, time_s)));
	*time_s /= (double)repeats;
	return code;
}
