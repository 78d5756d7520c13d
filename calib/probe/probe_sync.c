/* SPDX-License-Identifier: Apache-2.0 */
/* Probe A4: the time to launch a kernel and wait for it, minus the kernel's duration. */
#include "calib/probe/probe.h"

static const char *const modes[] = {
	[GPU_WAIT_SPIN] = "spin", [GPU_WAIT_YIELD] = "yield", [GPU_WAIT_BLOCK] = "block"};

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	static const double kernels_s[] = {0, 10e-6, 100e-6, 1e-3};
	for (size_t mode = 0; mode < sizeof(modes) / sizeof(modes[0]); mode++)
		for (size_t i = 0; i < sizeof(kernels_s) / sizeof(kernels_s[0]); i++) {
			plan_add(plan, &(struct plan_point){
					       .is = {{"mode", modes[mode]}},
					       .x = {{"kernel_s", kernels_s[i]}},
					       .interval_ratio = 0.02,
				       });
		}
}

static int begin(struct bench *bench, const struct plan_point *point)
{
	enum gpu_wait mode = GPU_WAIT_SPIN;
	while (strcmp(modes[mode], plan_point_word(point, "mode")) != 0)
		mode++;
	int code = bench_finish(bench);
	if (code != GPU_OK)
		return code;
	return bench_code(bench, bench->gpu, bench->gpu->api->wait_mode(bench->gpu, mode));
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	double kernel_s = plan_point_number(point, "kernel_s", 0);
	const struct gpu_call launch = {.kind = GPU_LAUNCH, .spin_s = kernel_s};
	double start_s = bench_now_s(bench);
	int code = bench_call(bench, &launch);
	GPU_THEN(code, bench_call(bench, &(struct gpu_call){.kind = GPU_SYNC}));
	*value = fmax(0, bench_since_s(bench, bench->gpu, start_s) - kernel_s);
	return code;
}

static void end(struct bench *bench)
{
	bench->gpu->api->wait_mode(bench->gpu, GPU_WAIT_SPIN);
}

const struct probe probe_sync = {
	.id = "A4",
	.test = "sync",
	.help = "time to launch a kernel and wait for it, minus its duration",
	.add = add,
	.begin = begin,
	.sample = sample,
	.end = end,
};
