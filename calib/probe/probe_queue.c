/* SPDX-License-Identifier: Apache-2.0 */
/* Probe A2: the host's time in a launch while `depth` operations are in flight, including the
 * blocker in front. If the queue is full, the launch waits until the blocker times out, which is
 * clearly visible. */
#include "calib/probe/probe.h"

/* Longer than the time to fill the longest queue. */
#define HOLD_S 0.05

static void add(const struct bench *bench, struct plan *plan, struct plan_random *random)
{
	static const short depths[] = {16,   64,   256,  384,  512,  640,  768,  896,  960,  992,
				       1008, 1016, 1020, 1022, 1023, 1024, 1025, 1026, 1028, 1032,
				       1040, 1056, 1088, 1152, 1280, 1536, 2048, 3072, 4096};
	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		plan_add(plan, &(struct plan_point){
				       .x = {{"depth", depths[i]}},
				       .interval_ratio = 0.1,
			       });
	}
}

/* If an earlier launch had to wait, the one at `depth` would have to wait, too. */
static int sample(struct bench *bench, const struct plan_point *point, double *value)
{
	const struct gpu_call launch = {.kind = GPU_LAUNCH};
	size_t depth = (size_t)plan_point_number(point, "depth", 1);
	int code = bench_code(bench, bench->gpu, bench->gpu->api->block(bench->gpu, 0, HOLD_S));
	*value = 0;
	for (size_t i = 1; i <= depth && code == GPU_OK && *value < 0.5 * HOLD_S; i++)
		code = bench_time(bench, &launch, value);
	GPU_THEN(code, bench_release(bench));
	return code == GPU_OK ? bench_finish(bench) : code;
}

const struct probe probe_queue = {
	.id = "A2",
	.test = "queue",
	.help = "number of operations in flight at which a launch waits",
	.add = add,
	.sample = sample,
};
