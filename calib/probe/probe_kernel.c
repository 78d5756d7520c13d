/* SPDX-License-Identifier: Apache-2.0 */
/* Probe A3: timing between kernels, and between kernels and the host, measured by kernels that
 * store their begin and end. */
#include "calib/probe/probe.h"

#define CHAIN_COUNT 32
/* Duration of concurrent kernels: long compared with the time to start 128 of them. */
#define SPIN_S     2e-3
#define END_SPIN_S 50e-6

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	static const char *const whats[] = {"gap", "floor", "start", "end"};
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		plan_add(plan, &(struct plan_point){
				       .is = {{"what", whats[i]}},
				       .interval_ratio = 0.02,
			       });
	}
	for (int kernels = 1; kernels <= 128; kernels *= 2) {
		plan_add(plan, &(struct plan_point){
				       .is = {{"what", "concurrent"}},
				       .x = {{"kernels", kernels}},
				       .unit = "1",
			       });
	}
}

static int stamps(struct bench *bench, int slot, double *begin_s, double *end_s)
{
	return bench_code(bench, bench->gpu,
			  bench->gpu->api->stamps(bench->gpu, slot, begin_s, end_s));
}

static int release_and_finish(struct bench *bench, int code)
{
	int released = bench_release(bench);
	int finished = bench_finish(bench);
	return code != GPU_OK ? code : released != GPU_OK ? released : finished;
}

/* Measures a chain of kernels in one stream: the mean gap between them, or their mean duration. */
static int sample_chain(struct bench *bench, bool gap, double *value)
{
	double sum_s = 0, begin_s = 0, end_s = 0;
	int code = bench_block(bench);
	for (int i = 0; i < CHAIN_COUNT && code == GPU_OK; i++)
		code = bench_call(bench, &(struct gpu_call){.kind = GPU_STAMP, .slot = i});
	code = release_and_finish(bench, code);
	for (int i = 0; i < CHAIN_COUNT && code == GPU_OK; i++) {
		double last_s = end_s;
		code = stamps(bench, i, &begin_s, &end_s);
		if (!gap)
			sum_s += end_s - begin_s;
		else if (i > 0)
			sum_s += begin_s - last_s;
	}
	*value = sum_s / (gap ? CHAIN_COUNT - 1 : CHAIN_COUNT);
	return code;
}

/* Measures the time from the launch's return to the kernel's begin (0 if it begins earlier), or
 * from its end to the return of the waiting host. */
static int sample_host(struct bench *bench, bool start, double *value)
{
	double begin_s = 0, end_s = 0;
	struct gpu_call launch = {.kind = GPU_STAMP, .spin_s = start ? 0 : END_SPIN_S};
	int code = bench_code(bench, bench->gpu, bench->gpu->api->sync_clocks(bench->gpu));
	GPU_THEN(code, bench_finish(bench));
	GPU_THEN(code, bench_call(bench, &launch));
	double seen_s = bench_now_s(bench);
	if (code == GPU_OK && !start) {
		code = bench_call(bench, &(struct gpu_call){.kind = GPU_SYNC});
		seen_s = bench_now_s(bench);
	}
	GPU_THEN(code, bench_finish(bench));
	GPU_THEN(code, stamps(bench, 0, &begin_s, &end_s));
	seen_s -= bench->clock_cost_s;
	*value = fmax(0, start ? begin_s - seen_s : seen_s - end_s);
	return code;
}

/* Measures the time from the first begin to the last end of n kernels in n streams, divided by the
 * duration of one. */
static int sample_concurrent(struct bench *bench, int kernels, double *value)
{
	double first_s = 0, last_s = 0, one_s = 1;
	int code = bench_block(bench);
	GPU_THEN(code, bench_call(bench, &(struct gpu_call){.kind = GPU_RECORD,
							    .event = GPU_EVENT_PLAIN}));
	for (int i = 1; i <= kernels && code == GPU_OK; i++) {
		code = bench_call(bench, &(struct gpu_call){.kind = GPU_WAIT_EVENT,
							    .event = GPU_EVENT_PLAIN,
							    .stream = i});
		GPU_THEN(code, bench_call(bench, &(struct gpu_call){.kind = GPU_STAMP,
								    .slot = i,
								    .stream = i,
								    .spin_s = SPIN_S}));
	}
	code = release_and_finish(bench, code);
	for (int i = 1; i <= kernels && code == GPU_OK; i++) {
		double begin_s = 0, end_s = 0;
		code = stamps(bench, i, &begin_s, &end_s);
		if (i == 1) {
			first_s = begin_s;
			one_s = end_s - begin_s;
		}
		if (begin_s < first_s)
			first_s = begin_s;
		if (i == 1 || end_s > last_s)
			last_s = end_s;
	}
	*value = (last_s - first_s) / one_s;
	return code;
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	const char *what = plan_point_word(point, "what");
	if (strcmp(what, "gap") == 0 || strcmp(what, "floor") == 0)
		return sample_chain(bench, what[0] == 'g', value);
	if (strcmp(what, "start") == 0 || strcmp(what, "end") == 0)
		return sample_host(bench, what[0] == 's', value);
	return sample_concurrent(bench, (int)plan_point_number(point, "kernels", 1), value);
}

const struct probe probe_kernel = {
	.id = "A3",
	.test = "kernel",
	.help = "gap, start, end and duration of kernels, concurrency",
	.add = add,
	.sample = sample,
};
