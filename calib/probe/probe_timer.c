/* SPDX-License-Identifier: Apache-2.0 */
/* Probe T0: the cost of reading the host's clock, the step of the GPU's timer, and the drift
 * between the two clocks. */
#include <string.h>

#include "calib/probe/probe.h"

#define READS_COUNT 100

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	static const char *const whats[] = {"host_read", "gpu_read", "offset"};
	for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
		plan_add(plan, &(struct plan_point){
				       .is = {{"what", whats[i]}},
				       .interval_ratio = 0.05,
			       });
	}
}

static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	struct gpu *gpu = bench->gpu;
	const char *what = plan_point_word(point, "what");
	if (strcmp(what, "gpu_read") == 0)
		return bench_code(bench, gpu, gpu->api->timer_step(gpu, value));
	if (strcmp(what, "offset") == 0)
		return bench_code(bench, gpu, gpu->api->sync_clocks(gpu, value));
	double start_s = bench_now_s(bench), now_s = start_s;
	for (size_t i = 0; i < READS_COUNT; i++)
		now_s = bench_now_s(bench);
	*value = (now_s - start_s) / READS_COUNT;
	return GPU_OK;
}

const struct probe probe_timer = {
	.id = "T0",
	.test = "timer",
	.help = "cost of the host's clock, step of the GPU's timer, drift between both clocks",
	.add = add,
	.sample = sample,
};
